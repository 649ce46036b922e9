/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The fill engine.
 */
#ifndef ASSASIN_FW_FILL_H
#define ASSASIN_FW_FILL_H

#include <stdint.h>

/** Fill DRAM with zeros and wait. @param len multiple of 64 */
void dram_zero(uint32_t addr, uint32_t len);

#endif
