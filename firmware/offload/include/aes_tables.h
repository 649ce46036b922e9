/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Key expansion of AES-128 and the lookup tables of its rounds (FIPS 197), made on the core. Words are columns, row 0
 * in the low byte.
 */
#ifndef ASSASIN_OFFLOAD_AES_TABLES_H
#define ASSASIN_OFFLOAD_AES_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#define AES_ROUNDS 10

static uint8_t aes_sbox[256];
static uint32_t aes_key[4 * (AES_ROUNDS + 1)]; /**< round keys in the order of use */

static inline uint32_t aes_times_x(uint32_t v) {
    return (v << 1 ^ (v & 0x80 ? 0x11b : 0)) & 0xff;
}

/** v * (row 0, row 1, row 2, row 3 of `column`) in GF(2^8): the column of a matrix times v. */
static inline uint32_t aes_column(uint32_t v, uint32_t column) {
    uint32_t out = 0;
    for (unsigned bit = 0; bit < 4; bit++, v = aes_times_x(v))
        for (unsigned row = 0; row < 32; row += 8)
            if (column >> row >> bit & 1)
                out ^= v << row;
    return out;
}

/** The S-box: p runs through the powers of 3, q through their inverses. */
static inline void aes_make_sbox(void) {
    uint32_t p = 1, q = 1;
    do {
        p ^= aes_times_x(p);
        q ^= q << 1;
        q ^= q << 2;
        q ^= q << 4;
        q &= 0xff;
        if (q & 0x80)
            q ^= 9;
        uint32_t twice = q << 8 | q; /* rotations of a byte */
        aes_sbox[p] = (uint8_t)(q ^ twice >> 7 ^ twice >> 6 ^ twice >> 5 ^ twice >> 4 ^ 0x63);
    } while (p != 1);
    aes_sbox[0] = 0x63;
}

#define AES_MIX         0x03010102u /**< first column of MixColumns' matrix: 2, 1, 1, 3 */
#define AES_INVERSE_MIX 0x0b0d090eu /**< of its inverse: 14, 9, 13, 11 */

/** Fills aes_key; for decryption with the keys of the equivalent inverse cipher, in reverse order. Makes the S-box. */
static inline void aes_expand_key(const uint8_t key[16], bool decrypt) {
    aes_make_sbox();
    uint32_t w[4 * (AES_ROUNDS + 1)], constant = 1;
    for (unsigned i = 0; i < 4; i++)
        w[i] = key[4 * i] | (uint32_t)key[4 * i + 1] << 8 | (uint32_t)key[4 * i + 2] << 16 |
               (uint32_t)key[4 * i + 3] << 24;
    for (unsigned i = 4; i < 4 * (AES_ROUNDS + 1); i++) {
        uint32_t t = w[i - 1];
        if (i % 4 == 0) {
            t = aes_sbox[t >> 8 & 0xff] | (uint32_t)aes_sbox[t >> 16 & 0xff] << 8 | (uint32_t)aes_sbox[t >> 24] << 16 |
                (uint32_t)aes_sbox[t & 0xff] << 24;
            t ^= constant;
            constant = aes_times_x(constant);
        }
        w[i] = w[i - 4] ^ t;
    }
    for (unsigned r = 0; r <= AES_ROUNDS; r++)
        for (unsigned i = 0; i < 4; i++) {
            uint32_t v = w[4 * (decrypt ? AES_ROUNDS - r : r) + i];
            if (decrypt && r != 0 && r != AES_ROUNDS) {
                uint32_t mixed = 0;
                for (unsigned row = 0; row < 4; row++) {
                    uint32_t c = aes_column(v >> 8 * row & 0xff, AES_INVERSE_MIX);
                    mixed ^= row ? c << 8 * row | c >> (32 - 8 * row) : c;
                }
                v = mixed;
            }
            aes_key[4 * r + i] = v;
        }
}

static uint32_t aes_table[8][256];

/** Table i, of byte i of a column: 0 to 3 SubBytes and MixColumns (or their inverses), 4 to 7 SubBytes alone. */
static inline void aes_make_tables(bool decrypt) {
    for (unsigned v = 0; v < 256; v++) {
        uint32_t from = decrypt ? aes_sbox[v] : v, to = decrypt ? v : aes_sbox[v];
        uint32_t c = aes_column(to, decrypt ? AES_INVERSE_MIX : AES_MIX);
        for (unsigned i = 0; i < 4; i++, c = c << 8 | c >> 24) {
            aes_table[i][from] = c;
            aes_table[4 + i][from] = to << 8 * i;
        }
    }
}

#endif
