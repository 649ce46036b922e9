/* SPDX-License-Identifier: BSD-3-Clause */
/* What an ELF file is built for, as far as a drive's function must be told apart from other programs. */
#ifndef ASSASIN_SRC_BUILT_FOR_H
#define ASSASIN_SRC_BUILT_FOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Machine of an ELF file that is not one of 32-bit RISC-V, in words; NULL: it is, or it is no ELF file at all. */
const char *elf_foreign_machine(const void *elf, size_t bytes);

/* The SCOMP_VARIANT_* that the file's note names; 0: it has no such note. */
uint32_t elf_variant(const void *elf, size_t bytes);

/* The SCOMP_VARIANT_* of a CORE_ARCH_*, and the one whose build of this project's offloads it takes; 0: unknown. */
uint32_t arch_variant(uint32_t arch);
uint32_t arch_library(uint32_t arch);

/* Whether cores of a CORE_ARCH_* run what is built for a SCOMP_VARIANT_*. */
bool arch_runs(uint32_t arch, uint32_t variant);

/* Programs of the SCOMP_VARIANT_* use vector instructions. */
bool variant_has_vectors(uint32_t variant);

/* A SCOMP_VARIANT_* as folder of build/offload, and the configurations that it is for; "?" for none. */
const char *variant_name(uint32_t variant);
const char *variant_configs(uint32_t variant);

#endif
