/* SPDX-License-Identifier: BSD-3-Clause */
/** \file Physical region pages: how an NVMe command names its data. */
#ifndef ASSASIN_SRC_PRP_H
#define ASSASIN_SRC_PRP_H

#include <stddef.h>
#include <stdint.h>

/**
 * Describes `bytes` bytes at bus address `bus` (contiguous, 4-byte aligned).
 * \param list room for one page (512 entries) of PRP list, itself at bus address `list_bus`.
 * \param prp receives PRP1 and PRP2.
 * \return 0; -EINVAL nothing, or `bus` is not 4-byte aligned; -EMSGSIZE more than one list page describes.
 */
int prp_build(uint64_t bus, size_t bytes, uint64_t *list, uint64_t list_bus, uint64_t prp[2]);

#endif
