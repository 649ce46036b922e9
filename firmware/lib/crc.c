/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/crc.h"

uint16_t crc16_onfi(const uint8_t *p, uint32_t n) {
    uint32_t crc = 0x4f4e;
    while (n-- > 0) {
        crc ^= (uint32_t)*p++ << 8;
        for (int i = 0; i < 8; i++) {
            crc = (crc & 0x8000u) ? (crc << 1) ^ 0x8005u : crc << 1;
        }
        crc &= 0xffffu;
    }
    return (uint16_t)crc;
}

/** CRC-32C of each 4-bit value: small, and fast enough for one root record a checkpoint. */
static const uint32_t nibble[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t crc32c_word(uint32_t crc, uint32_t word) {
    crc = ~crc ^ word;
    for (int i = 0; i < 8; i++) {
        crc = (crc >> 4) ^ nibble[crc & 15];
    }
    return ~crc;
}
