/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions: loading them, and which build of one a drive's cores run. */
#include "drive.h"

#include <assasin_contract.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int assasin_function_load(struct assasin_drive *drive, uint16_t slot, const void *elf, size_t bytes) {
    /* Whole dwords travel. */
    uint8_t *image = calloc(bytes / 4 + 1, 4);
    if (!image)
        return drive_fail(drive, ENOMEM, "out of memory");
    size_t size = assasin_function_image(elf, bytes, image);
    int rc;
    if (size == 0 || size > SCOMP_MAX_ELF) {
        rc = drive_fail(
            drive, EINVAL,
            "loading a function: the ELF file has %zu bytes without its debug information, the drive takes 1..%u", size,
            SCOMP_MAX_ELF);
    } else {
        struct assasin_command command = {.dw = {SCOMP_OPCODE_ADMIN_FUNC_LOAD, [10] = slot, [11] = (uint32_t)size}};
        rc = drive_execute(drive, ASSASIN_ADMIN, &command, image, (size + 3) / 4 * 4, "loading a function", NULL);
    }
    free(image);
    return rc;
}

int assasin_slots(struct assasin_drive *drive, uint32_t ids[ASSASIN_SLOTS], uint32_t *count) {
    struct scomp_perf perf;
    static_assert(sizeof(perf.slot_id) == ASSASIN_SLOTS * sizeof(ids[0]), "slots of a drive");
    int rc = assasin_log_page(drive, SCOMP_LOG_PERF, &perf, sizeof(perf));
    if (rc)
        return rc;
    memcpy(ids, perf.slot_id, sizeof(perf.slot_id));
    *count = perf.slots;
    return 0;
}

static uint32_t crc32(uint32_t crc, const char *text) {
    for (; *text; text++) {
        crc ^= (uint8_t)*text;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return crc;
}

uint32_t assasin_kernel_id(const char *name, const char *version) {
    return ~crc32(crc32(crc32(UINT32_MAX, name), "/"), version);
}

int assasin_kernel_load(struct assasin_drive *drive, uint16_t slot, uint32_t id, uint8_t inputs, uint8_t scalars) {
    struct scomp_kernel kernel = {
        .magic = SCOMP_KERNEL_MAGIC, .version = 1, .inputs = inputs, .scalars = scalars, .id = id};
    struct assasin_command command = {.dw = {SCOMP_OPCODE_ADMIN_FUNC_LOAD, [10] = slot, [11] = sizeof(kernel)}};
    char what[64];
    snprintf(what, sizeof(what), "loading kernel 0x%08x", (unsigned)id);
    return drive_execute(drive, ASSASIN_ADMIN, &command, &kernel, sizeof(kernel), what, NULL);
}

int assasin_function_unload(struct assasin_drive *drive, uint16_t slot) {
    struct assasin_command command = {.dw = {SCOMP_OPCODE_ADMIN_FUNC_UNLOAD, [10] = slot}};
    return drive_execute(drive, ASSASIN_ADMIN, &command, NULL, 0, "unloading a function", NULL);
}

int assasin_core_arch(struct assasin_drive *drive, uint32_t *arch) {
    struct scomp_perf perf;
    int rc = assasin_log_page(drive, SCOMP_LOG_PERF, &perf, sizeof(perf));
    if (!rc)
        *arch = perf.arch;
    return rc;
}

const char *assasin_offload_variant(uint32_t arch) {
    switch (arch) {
    case CORE_ARCH_SB:
    case CORE_ARCH_SB_CACHE:
        return "sb";
    case CORE_ARCH_SB_X:
        return "sbx";
    case CORE_ARCH_SP:
        return "sp";
    case CORE_ARCH_BASELINE:
    case CORE_ARCH_PREFETCH:
        return "mem";
    default:
        return NULL;
    }
}
