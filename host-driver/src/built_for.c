/* SPDX-License-Identifier: BSD-3-Clause */
#include "built_for.h"

#include <assasin_contract.h>
#include <elf.h>
#include <stdbool.h>
#include <string.h>

static bool is_elf(const void *elf, size_t bytes) {
    return bytes >= sizeof(Elf32_Ehdr) && !memcmp(elf, ELFMAG, SELFMAG);
}

const char *elf_foreign_machine(const void *elf, size_t bytes) {
    static const struct {
        uint16_t machine;
        const char *name;
    } machines[] = {{EM_X86_64, "x86-64"},
                    {EM_386, "x86"},
                    {EM_AARCH64, "64-bit Arm"},
                    {EM_ARM, "Arm"},
                    {EM_RISCV, "64-bit RISC-V"}};
    if (!is_elf(elf, bytes))
        return NULL;
    Elf32_Ehdr header; /* class and machine are at the same place in both classes */
    memcpy(&header, elf, sizeof(header));
    if (header.e_machine == EM_RISCV && header.e_ident[EI_CLASS] == ELFCLASS32)
        return NULL;
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        if (machines[i].machine == header.e_machine)
            return machines[i].name;
    return "another machine";
}

uint32_t elf_variant(const void *elf, size_t bytes) {
    struct {
        Elf32_Nhdr header;
        char name[8];
        uint32_t variant;
    } note;
    Elf32_Ehdr header;
    if (!is_elf(elf, bytes) || elf_foreign_machine(elf, bytes))
        return 0;
    memcpy(&header, elf, sizeof(header));
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf32_Phdr segment;
        size_t at = header.e_phoff + (size_t)i * sizeof(segment);
        if (header.e_phentsize != sizeof(segment) || at > bytes || bytes - at < sizeof(segment))
            return 0;
        memcpy(&segment, (const uint8_t *)elf + at, sizeof(segment));
        if (segment.p_type != PT_NOTE || segment.p_filesz < sizeof(note) || segment.p_offset > bytes ||
            bytes - segment.p_offset < sizeof(note))
            continue;
        memcpy(&note, (const uint8_t *)elf + segment.p_offset, sizeof(note));
        if (note.header.n_type == SCOMP_NOTE_VARIANT && note.header.n_namesz == sizeof(note.name) &&
            note.header.n_descsz == sizeof(note.variant) && !memcmp(note.name, "ASSASIN", sizeof(note.name)))
            return note.variant;
    }
    return 0;
}

/* Of what CORE_ARCH_* says. */
static const uint32_t run[] = SCOMP_CORES_RUN;
static const uint32_t own[] = SCOMP_CORES_VARIANT;
static const uint32_t library[] = SCOMP_CORES_LIBRARY;

static bool arch_known(uint32_t arch) {
    return arch < sizeof(run) / sizeof(run[0]);
}

uint32_t arch_variant(uint32_t arch) {
    return arch_known(arch) ? own[arch] : 0;
}

uint32_t arch_library(uint32_t arch) {
    return arch_known(arch) ? library[arch] : 0;
}

bool arch_runs(uint32_t arch, uint32_t variant) {
    return arch_known(arch) && variant < 32 && (run[arch] >> variant & 1);
}

bool variant_has_vectors(uint32_t variant) {
    return variant == SCOMP_VARIANT_V || variant == SCOMP_VARIANT_VP || variant == SCOMP_VARIANT_VF;
}

static const char *const variants[][2] = {
    [0] = {"?", "unknown"},
    [SCOMP_VARIANT_SB] = {"sb", "AssasinSb, AssasinSbCache, ChannelLocal"},
    [SCOMP_VARIANT_SBX] = {"sbx", "AssasinSbX"},
    [SCOMP_VARIANT_SP] = {"sp", "AssasinSp"},
    [SCOMP_VARIANT_MEM] = {"mem", "Baseline, Prefetch"},
    [SCOMP_VARIANT_V] = {"v", "AssasinV, AssasinVp, AssasinVf"},
    [SCOMP_VARIANT_VP] = {"vp", "AssasinVp, AssasinVf"},
    [SCOMP_VARIANT_VF] = {"vf", "AssasinVf"},
};

static uint32_t known(uint32_t variant) {
    return variant < sizeof(variants) / sizeof(variants[0]) ? variant : 0;
}

const char *variant_name(uint32_t variant) {
    return variants[known(variant)][0];
}

const char *variant_configs(uint32_t variant) {
    return variants[known(variant)][1];
}
