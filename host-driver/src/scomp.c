/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions: loading them, and which build of one a drive's cores run. */
#include "built_for.h"
#include "drive.h"

#include <assasin_contract.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Loads `bytes` bytes of a function. Returns the function's name. */
static int load(struct assasin_drive *drive, void *data, size_t bytes, size_t padded, const char *what) {
    struct assasin_completion completion;
    int rc = 0;
    /* A session that was idle for long may have lost its place: then another is opened. */
    for (unsigned attempt = 0; attempt < 2; attempt++) {
        rc = session_open(drive);
        if (rc)
            return rc;
        struct assasin_command command = {.dw = {SCOMP_OPCODE_ADMIN_FUNC_LOAD, [11] = (uint32_t)bytes}};
        session_name(drive, &command);
        rc = drive_execute(drive, ASSASIN_ADMIN, &command, data, padded, what, &completion);
        if (!rc || !session_lost(drive))
            break;
    }
    return rc ? rc : (int)(completion.dw0 & 0xFFFF);
}

/* Refuses what the drive's cores cannot run, by name: they would only trap. */
static int check_cores(struct assasin_drive *drive, const void *elf, size_t bytes) {
    const char *machine = elf_foreign_machine(elf, bytes);
    if (machine)
        return drive_fail(drive, EINVAL,
                          "loading a function: the ELF file is for %s, the drive's cores are 32-bit RISC-V; build an "
                          "offload with: make -C firmware/offload SRC=FILE.c",
                          machine);
    uint32_t variant = elf_variant(elf, bytes), arch;
    if (!variant)
        return 0;
    int rc = assasin_core_arch(drive, &arch);
    uint32_t mine = arch_variant(rc ? 0 : arch);
    if (rc || !mine || arch_runs(arch, variant))
        return rc;
    if (variant_has_vectors(variant))
        return drive_fail(drive, EINVAL,
                          "loading a function: the ELF file was built for '%s' cores (%s), whose vector instructions "
                          "this drive's '%s' cores (%s) do not have",
                          variant_name(variant), variant_configs(variant), variant_name(mine), variant_configs(mine));
    return drive_fail(drive, EINVAL,
                      "loading a function: the ELF file was built for '%s' cores (%s), this drive has '%s' cores (%s): "
                      "take build/offload/%s/NAME.elf, which make -C firmware/offload SRC=NAME.c builds too",
                      variant_name(variant), variant_configs(variant), variant_name(mine), variant_configs(mine),
                      variant_name(mine));
}

int assasin_function_load(struct assasin_drive *drive, const void *elf, size_t bytes) {
    int unfit = check_cores(drive, elf, bytes);
    if (unfit)
        return unfit;
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
        rc = load(drive, image, size, (size + 3) / 4 * 4, "loading a function");
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

int assasin_kernel_load(struct assasin_drive *drive, uint32_t id, uint8_t inputs, uint8_t scalars) {
    struct scomp_kernel kernel = {
        .magic = SCOMP_KERNEL_MAGIC, .version = 1, .inputs = inputs, .scalars = scalars, .id = id};
    char what[64];
    snprintf(what, sizeof(what), "loading kernel 0x%08x", (unsigned)id);
    return load(drive, &kernel, sizeof(kernel), sizeof(kernel), what);
}

int assasin_function_unload(struct assasin_drive *drive, uint16_t function) {
    struct assasin_command command = {.dw = {SCOMP_OPCODE_ADMIN_FUNC_UNLOAD, [10] = function}};
    session_name(drive, &command);
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
    uint32_t variant = arch_library(arch);
    return variant ? variant_name(variant) : NULL;
}
