/* SPDX-License-Identifier: BSD-3-Clause */
/* What the LZ4 functions share, and how they move bytes between streams. The format is LZ4's block format
 * (lz4_Block_format.md): tokens, literals, 16-bit distances. */
#ifndef ASSASIN_OFFLOAD_LZ4_H
#define ASSASIN_OFFLOAD_LZ4_H

#include <assasin.h>

#define LZ4_WINDOW_LOG2 16 /* distances go up to 65,535 */

/* Whether the stream's end would come inside a block; in memory, so that all loads land in one place. */
static volatile uint32_t lz4_inside;

#ifdef ASSASIN_ANY_ALIGNMENT
/* `length` literals from the input to the output. */
#define LZ4_COPY(length)                                                                                               \
    {                                                                                                                  \
        uint32_t n = length;                                                                                           \
        for (; n >= 16; n -= 16) {                                                                                     \
            uint32_t a = ASSASIN_LOAD_U32(0, end), b = ASSASIN_LOAD_U32(0, end);                                       \
            uint32_t c = ASSASIN_LOAD_U32(0, end), d = ASSASIN_LOAD_U32(0, end);                                       \
            ASSASIN_STORE_U32(0, a);                                                                                   \
            ASSASIN_STORE_U32(0, b);                                                                                   \
            ASSASIN_STORE_U32(0, c);                                                                                   \
            ASSASIN_STORE_U32(0, d);                                                                                   \
        }                                                                                                              \
        for (; n >= 4; n -= 4) {                                                                                       \
            uint32_t a = ASSASIN_LOAD_U32(0, end);                                                                     \
            ASSASIN_STORE_U32(0, a);                                                                                   \
        }                                                                                                              \
        for (; n; n--) {                                                                                               \
            uint32_t a = ASSASIN_LOAD_U8(0, end);                                                                      \
            ASSASIN_STORE_U8(0, a);                                                                                    \
        }                                                                                                              \
    }
/* `length` bytes of the output once more, from `distance` back; they may overlap. */
#define LZ4_REPEAT(distance, length)                                                                                   \
    {                                                                                                                  \
        uint32_t n = length;                                                                                           \
        if (distance >= 8)                                                                                             \
            for (; n >= 8; n -= 8) {                                                                                   \
                uint32_t a = ASSASIN_PEEK_OUT_U32(0, distance), b = ASSASIN_PEEK_OUT_U32(0, distance - 4);             \
                ASSASIN_STORE_U32(0, a);                                                                               \
                ASSASIN_STORE_U32(0, b);                                                                               \
            }                                                                                                          \
        if (distance >= 4)                                                                                             \
            for (; n >= 4; n -= 4) {                                                                                   \
                uint32_t a = ASSASIN_PEEK_OUT_U32(0, distance);                                                        \
                ASSASIN_STORE_U32(0, a);                                                                               \
            }                                                                                                          \
        for (; n; n--) {                                                                                               \
            uint32_t a = ASSASIN_PEEK_OUT_U8(0, distance);                                                             \
            ASSASIN_STORE_U8(0, a);                                                                                    \
        }                                                                                                              \
    }
#else
/* Bytes, because words are hardly ever aligned here. */
#define LZ4_COPY(length)                                                                                               \
    for (uint32_t n = length; n; n--) {                                                                                \
        uint32_t a = ASSASIN_LOAD_U8(0, end);                                                                          \
        ASSASIN_STORE_U8(0, a);                                                                                        \
    }
#define LZ4_REPEAT(distance, length)                                                                                   \
    for (uint32_t n = length; n; n--) {                                                                                \
        uint32_t a = ASSASIN_PEEK_OUT_U8(0, distance);                                                                 \
        ASSASIN_STORE_U8(0, a);                                                                                        \
    }
#endif

#endif
