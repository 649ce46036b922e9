/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Checksums.
 */
#ifndef ASSASIN_FW_CRC_H
#define ASSASIN_FW_CRC_H

#include <stdint.h>

/** CRC-16 of the ONFI parameter page: polynomial 0x8005, start 0x4F4E, most significant bit first, over `n` bytes at
 * `p`. */
uint16_t crc16_onfi(const uint8_t *p, uint32_t n);

/** CRC-32C (Castagnoli, reflected), continued from `crc` (0 to start) over one little-endian word. */
uint32_t crc32c_word(uint32_t crc, uint32_t word);

#endif
