/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions: loading them, and which build of one a drive's cores run. */
#include "drive.h"

#include <assasin_contract.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int assasin_function_load(struct assasin_drive *drive, uint16_t slot, const void *elf, size_t bytes) {
    if (bytes == 0 || bytes > SCOMP_MAX_ELF)
        return drive_fail(drive, EINVAL, "loading a function: the ELF file has %zu bytes, the drive takes 1..%u", bytes,
                          SCOMP_MAX_ELF);
    struct assasin_command command = {.dw = {SCOMP_OPCODE_ADMIN_FUNC_LOAD, [10] = slot, [11] = (uint32_t)bytes}};
    /* Whole dwords travel. */
    size_t padded = (bytes + 3) / 4 * 4;
    uint8_t *copy = calloc(1, padded);
    if (!copy)
        return drive_fail(drive, ENOMEM, "out of memory");
    memcpy(copy, elf, bytes);
    int rc = drive_execute(drive, ASSASIN_ADMIN, &command, copy, padded, "loading a function", NULL);
    free(copy);
    return rc;
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
