/* SPDX-License-Identifier: BSD-3-Clause */
/* lz4_compress: the stream in blocks of LZ4_BLOCK bytes, each compressed by itself into LZ4's block format, or stored
 * where that is not shorter (struct lz4_block_header). Greedy, one candidate for each hash of four bytes; steps grow
 * where nothing is found. */
#include <assasin.h>
#include <offloads.h>
#include <stdbool.h>

#define HASH_LOG2     12
#define MIN_MATCH     4
#define LAST_LITERALS 5  /* the format's rules for the end of a block */
#define MATCH_LIMIT   12 /* no match begins in the last twelve bytes */

static uint32_t block_words[LZ4_BLOCK / 4], packed_words[LZ4_BLOCK / 4];
static uint16_t last_at[1 << HASH_LOG2]; /* position + 1 in the block, 0: none */
#define block  ((uint8_t *)block_words)
#define packed ((uint8_t *)packed_words)

/* Four bytes at any address. */
static inline uint32_t word_at(const uint8_t *p) {
    const uint32_t *w = (const uint32_t *)((uintptr_t)p & ~(uintptr_t)3);
    uint32_t shift = (uintptr_t)p % 4 * 8;
    return shift ? w[0] >> shift | w[1] << (32 - shift) : w[0];
}

static uint8_t *put_length(uint8_t *to, uint32_t length) {
    for (; length >= 255; length -= 255)
        *to++ = 255;
    *to++ = (uint8_t)length;
    return to;
}

/* One sequence. Returns NULL when it would not leave the result shorter than the block. match 0: the last one. */
static uint8_t *put_sequence(uint8_t *to, const uint8_t *limit, const uint8_t *literals, uint32_t count,
                             uint32_t distance, uint32_t match) {
    if ((uint32_t)(limit - to) < count + count / 255 + match / 255 + 6)
        return NULL;
    uint32_t more = match ? match - MIN_MATCH : 0;
    *to++ = (uint8_t)((count < 15 ? count : 15) << 4 | (more < 15 ? more : 15));
    if (count >= 15)
        to = put_length(to, count - 15);
    while (count--)
        *to++ = *literals++;
    if (match) {
        *to++ = (uint8_t)distance;
        *to++ = (uint8_t)(distance >> 8);
        if (more >= 15)
            to = put_length(to, more - 15);
    }
    return to;
}

/* Compresses `bytes` bytes of the block. Returns the length in `packed`, 0: not shorter. */
static uint32_t compress(uint32_t bytes) {
    for (uint32_t *p = (uint32_t *)last_at; p < (uint32_t *)(last_at + (1 << HASH_LOG2)); p++)
        *p = 0;
    const uint8_t *anchor = block, *end = block + bytes, *limit = packed + bytes;
    uint8_t *to = packed;
    if (bytes > MATCH_LIMIT) {
        const uint8_t *stop = end - MATCH_LIMIT, *p = block;
        uint32_t misses = 1u << 6;
        while (p < stop) {
            uint32_t v = word_at(p);
            uint16_t *slot = &last_at[v * 2654435761u >> (32 - HASH_LOG2)];
            const uint8_t *candidate = block + *slot - 1;
            bool known = *slot != 0;
            *slot = (uint16_t)(p - block + 1);
            if (!known || word_at(candidate) != v) {
                p += misses++ >> 6;
                continue;
            }
            misses = 1u << 6;
            while (p > anchor && candidate > block && p[-1] == candidate[-1])
                p--, candidate--;
            uint32_t length = MIN_MATCH, most = (uint32_t)(end - LAST_LITERALS - p);
            while (length < most && p[length] == candidate[length])
                length++;
            to = put_sequence(to, limit, anchor, (uint32_t)(p - anchor), (uint32_t)(p - candidate), length);
            if (!to)
                return 0;
            p += length;
            anchor = p;
        }
    }
    to = put_sequence(to, limit, anchor, (uint32_t)(end - anchor), 0, 0);
    return to ? (uint32_t)(to - packed) : 0;
}

/* Compresses and sends what is in the block. */
#define SEND(count)                                                                                                    \
    {                                                                                                                  \
        uint32_t raw = count, size = compress(raw);                                                                    \
        const uint32_t *from = size ? packed_words : block_words;                                                      \
        PUT_WORD(size ? size : raw | LZ4_STORED)                                                                       \
        for (size = size ? size : raw; size >= 4; size -= 4) {                                                         \
            uint32_t v = *from++;                                                                                      \
            PUT_WORD(v)                                                                                                \
        }                                                                                                              \
        for (const uint8_t *rest = (const uint8_t *)from; size; size--, rest++)                                        \
            ASSASIN_STORE_U8(0, *rest);                                                                                \
    }
#ifdef ASSASIN_ANY_ALIGNMENT
#define PUT_WORD(v) ASSASIN_STORE_U32(0, v);
#else
#define PUT_WORD(v)                                                                                                    \
    {                                                                                                                  \
        uint32_t word = v;                                                                                             \
        ASSASIN_STORE_U8(0, word);                                                                                     \
        ASSASIN_STORE_U8(0, word >> 8);                                                                                \
        ASSASIN_STORE_U8(0, word >> 16);                                                                               \
        ASSASIN_STORE_U8(0, word >> 24);                                                                               \
    }
#endif

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    for (;;) {
        uint32_t *to = block_words;
        while (to != block_words + LZ4_BLOCK / 4) {
            uint32_t a = ASSASIN_LOAD_U32(0, end);
            *to++ = a;
            ASSASIN_KEEP(to);
        }
        SEND(LZ4_BLOCK)
    }
end:;
    uint32_t length = ASSASIN_IN_END(0), rest = length - ASSASIN_IN_HEAD(0);
    uint32_t have = ASSASIN_IN_HEAD(0) % LZ4_BLOCK;
    while (rest--)
        block[have++] = (uint8_t)ASSASIN_TAKE_U8(0);
    if (have)
        SEND(have)
    ASSASIN_RETURN(0);
}
