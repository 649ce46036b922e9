// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * What parts do beyond ONFI, or otherwise: by the first bytes of READ ID at address 00h.
 */
#ifndef ASSASIN_FW_PARTS_H
#define ASSASIN_FW_PARTS_H

#include <stdint.h>

/** The words of FLASH.STEPS and FLASH.PHASES: prefixes and command bytes of a part are lists of its own. */
struct nand_steps {
    const uint32_t *steps;
    uint32_t count;
    const uint32_t *phases; /**< 16 */
};
extern const struct nand_steps nand_default_steps;

/** SET FEATURES: the NV-DDR2 configuration, P1 of which turns complementary signals and the external VREFQ on. */
#define FEATURE_CONFIGURATION 0x02u
#define FEATURE_VREFQ         0x01u
#define FEATURE_DQS_C         0x02u
#define FEATURE_RE_C          0x04u

/** A SET FEATURES that a part needs before its fast data interface. */
struct nand_feature {
    uint8_t address;
    uint8_t p1; /**< P2 to P4 are 0 */
};

struct nand_part {
    uint32_t id;   /**< first four bytes of READ ID, the first lowest */
    uint32_t mask; /**< bits of them that tell the part; 0: every part */
    const struct nand_steps *steps;
    uint8_t retry_feature; /**< SET FEATURES address of the read level */
    uint8_t retry_levels;  /**< levels beside the normal one, 0; 0: as many as the parameter page says */
    uint8_t configuration; /**< P1 of feature 02h; 0: what parameter page and PHY ask for */
    uint8_t feature_count;
    const struct nand_feature *features; /**< set in this order after RESET, before that and the data interface */
};

/** The entry of the part that names itself `id`. There is always one. */
const struct nand_part *nand_part_find(uint32_t id);

#endif
