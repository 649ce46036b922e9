/* SPDX-License-Identifier: BSD-3-Clause */
/* dedup: for every block of DEDUP_BLOCK bytes its fingerprint and the first block of the piece that has the same
 * (struct dedup_record); with a second output stream also the contents of the blocks that are new. The fingerprint is
 * MurmurHash3_x86_128 with seed 0: 128 bits, not proof against an adversary. */
#include <assasin.h>
#include <offloads.h>
#include <stdbool.h>

#define SLOTS (2 * DEDUP_UNIQUE)

static uint32_t block[DEDUP_BLOCK / 4];
static uint32_t known[DEDUP_UNIQUE][4], first_block[DEDUP_UNIQUE];
static uint16_t slot[SLOTS]; /* open addressing: index + 1 of what is known, 0: free */
static uint32_t unique;

static inline uint32_t rotl(uint32_t v, uint32_t n) {
    return v << n | v >> (32 - n);
}

#define C1                   0x239b961bu
#define C2                   0xab0e9789u
#define C3                   0x38b34ae5u
#define C4                   0xa1e38b93u
#define SCRAMBLE(k, c, r, d) (rotl((k) * (c), r) * (d))
#define MIX16(k1, k2, k3, k4)                                                                                          \
    h1 = (rotl(h1 ^ SCRAMBLE(k1, C1, 15, C2), 19) + h2) * 5 + 0x561ccd1b;                                              \
    h2 = (rotl(h2 ^ SCRAMBLE(k2, C2, 16, C3), 17) + h3) * 5 + 0x0bcaa747;                                              \
    h3 = (rotl(h3 ^ SCRAMBLE(k3, C3, 17, C4), 15) + h4) * 5 + 0x96cd1c35;                                              \
    h4 = (rotl(h4 ^ SCRAMBLE(k4, C4, 18, C1), 13) + h1) * 5 + 0x32ac3b17;

static uint32_t final_mix(uint32_t h) {
    h = (h ^ h >> 16) * 0x85ebca6b;
    h = (h ^ h >> 13) * 0xc2b2ae35;
    return h ^ h >> 16;
}

static void finish(uint32_t h[4], uint32_t bytes) {
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < 4; i++)
            h[i] = pass ? final_mix(h[i]) : h[i] ^ bytes;
        h[0] += h[1] + h[2] + h[3];
        h[1] += h[0];
        h[2] += h[0];
        h[3] += h[0];
    }
}

/* Of a block that is not whole; what is behind it in `block` is 0. */
static void fingerprint_part(uint32_t h[4], uint32_t bytes) {
    uint32_t h1 = 0, h2 = 0, h3 = 0, h4 = 0, at = 0;
    for (; at + 16 <= bytes; at += 16) {
        MIX16(block[at / 4], block[at / 4 + 1], block[at / 4 + 2], block[at / 4 + 3])
    }
    if (at < bytes) {
        h1 ^= SCRAMBLE(block[at / 4], C1, 15, C2);
        h2 ^= SCRAMBLE(block[at / 4 + 1], C2, 16, C3);
        h3 ^= SCRAMBLE(block[at / 4 + 2], C3, 17, C4);
        h4 ^= SCRAMBLE(block[at / 4 + 3], C4, 18, C1);
    }
    h[0] = h1, h[1] = h2, h[2] = h3, h[3] = h4;
    finish(h, bytes);
}

/* The first block with this fingerprint; `number` when there is none, which is remembered while there is room. */
static uint32_t look_up(const uint32_t h[4], uint32_t number) {
    uint32_t at = h[0] % SLOTS;
    for (; slot[at]; at = (at + 1) % SLOTS) {
        const uint32_t *k = known[slot[at] - 1];
        if (k[0] == h[0] && k[1] == h[1] && k[2] == h[2] && k[3] == h[3])
            return first_block[slot[at] - 1];
    }
    if (unique < DEDUP_UNIQUE) {
        for (unsigned i = 0; i < 4; i++)
            known[unique][i] = h[i];
        first_block[unique] = number;
        slot[at] = (uint16_t)++unique;
    }
    return number;
}

/* Reports block `number` with fingerprint h. */
#define REPORT(number, h)                                                                                              \
    first = look_up(h, number);                                                                                        \
    ASSASIN_STORE_U32(0, number);                                                                                      \
    ASSASIN_STORE_U32(0, first);                                                                                       \
    ASSASIN_STORE_U32(0, (h)[0]);                                                                                      \
    ASSASIN_STORE_U32(0, (h)[1]);                                                                                      \
    ASSASIN_STORE_U32(0, (h)[2]);                                                                                      \
    ASSASIN_STORE_U32(0, (h)[3]);

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    ASSASIN_OUT(1);
    uint32_t outputs = assasin_task()->streams_out, h[4], first;
    if (outputs < 1 || outputs > 2)
        ASSASIN_RETURN(DEDUP_BAD_ARGUMENTS);
    for (;;) {
        uint32_t *to = block, h1 = 0, h2 = 0, h3 = 0, h4 = 0;
        ASSASIN_KEEP(outputs);
        while (to != block + DEDUP_BLOCK / 4) {
            uint32_t k1 = ASSASIN_LOAD_U32(0, end);
            to[0] = k1;
            uint32_t k2 = ASSASIN_LOAD_U32(0, end);
            to[1] = k2;
            uint32_t k3 = ASSASIN_LOAD_U32(0, end);
            to[2] = k3;
            uint32_t k4 = ASSASIN_LOAD_U32(0, end);
            to[3] = k4;
            to += 4;
            MIX16(k1, k2, k3, k4)
        }
        h[0] = h1, h[1] = h2, h[2] = h3, h[3] = h4;
        finish(h, DEDUP_BLOCK);
        uint32_t number = ASSASIN_IN_HEAD(0) / DEDUP_BLOCK - 1;
        REPORT(number, h)
        if (outputs == 2 && first == number)
            for (const uint32_t *from = block; from != block + DEDUP_BLOCK / 4; from += 4) {
                ASSASIN_STORE_U32(1, from[0]);
                ASSASIN_STORE_U32(1, from[1]);
                ASSASIN_STORE_U32(1, from[2]);
                ASSASIN_STORE_U32(1, from[3]);
            }
    }
end:;
    uint32_t length = ASSASIN_IN_END(0), have = ASSASIN_IN_HEAD(0) % DEDUP_BLOCK;
    uint8_t *bytes = (uint8_t *)block;
    for (uint32_t rest = length - ASSASIN_IN_HEAD(0); rest; rest--)
        bytes[have++] = (uint8_t)ASSASIN_TAKE_U8(0);
    if (have) {
        for (uint32_t i = have; i % 16; i++)
            bytes[i] = 0;
        fingerprint_part(h, have);
        uint32_t number = length / DEDUP_BLOCK;
        REPORT(number, h)
        if (outputs == 2 && first == number)
            for (uint32_t i = 0; i < have; i++)
                ASSASIN_STORE_U8(1, bytes[i]);
    }
    ASSASIN_RETURN(0);
}
