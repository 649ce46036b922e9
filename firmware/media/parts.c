// SPDX-License-Identifier: BSD-3-Clause
#include "media/parts.h"

#include "platform/regs.h"

static const uint32_t default_steps[] = FLASH_DEFAULT_STEPS;
static const uint32_t default_phases[16] = FLASH_DEFAULT_PHASES;
_Static_assert(sizeof default_steps / 4 == FLASH_DEFAULT_STEP_COUNT, "default steps");

const struct nand_steps nand_default_steps = {
    .steps = default_steps, .count = FLASH_DEFAULT_STEP_COUNT, .phases = default_phases};

/* Hynix: drive strength. */
static const struct nand_feature hynix_features[] = {{0x10, 0x08}};

/** The first entry that fits counts; the last one fits every part. */
static const struct nand_part parts[] = {
    /* Hynix: read levels at the address of Micron's, as the model of the part has them. */
    {.id = 0xad,
     .mask = 0xff,
     .steps = &nand_default_steps,
     .retry_feature = 0x89,
     .retry_levels = 7,
     .configuration = FEATURE_DQS_C | FEATURE_RE_C,
     .features = hynix_features,
     .feature_count = sizeof hynix_features / sizeof *hynix_features},
    /* Feature 89h is Micron's, and that of the model of every part. */
    {.steps = &nand_default_steps, .retry_feature = 0x89},
};

const struct nand_part *nand_part_find(uint32_t id) {
    const struct nand_part *p = parts;
    while ((id & p->mask) != p->id) {
        p++;
    }
    return p;
}
