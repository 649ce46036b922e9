/* SPDX-License-Identifier: BSD-3-Clause */
/* lz4_decompress: a stream of LZ4 blocks (struct lz4_block_header before each), to what they were made of. The output
 * stream itself is the window: a match is read back from it. Every length and distance is checked before it is used. */
#include "lz4.h"
#include <offloads.h>

/* A length of 15 goes on in bytes that are added, until one that is not 255. */
#define LENGTH(length, base)                                                                                           \
    length = (base);                                                                                                   \
    if (length == 15) {                                                                                                \
        uint32_t more;                                                                                                 \
        do {                                                                                                           \
            if (left == 0)                                                                                             \
                goto corrupt;                                                                                          \
            more = ASSASIN_LOAD_U8(0, end);                                                                            \
            left--;                                                                                                    \
            length += more;                                                                                            \
        } while (more == 255);                                                                                         \
    }

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    if (ASSASIN_RING_LOG2 < LZ4_WINDOW_LOG2)
        ASSASIN_RETURN(LZ4_NO_WINDOW);
    for (;;) {
        lz4_inside = 0;
        uint32_t header = ASSASIN_LOAD_U32(0, end);
        lz4_inside = 1;
        uint32_t left = header & ~LZ4_STORED;
        if (header & LZ4_STORED) {
            LZ4_COPY(left)
            continue;
        }
        uint32_t start = ASSASIN_OUT_HEAD(0);
        while (left) {
            uint32_t token = ASSASIN_LOAD_U8(0, end), length, distance;
            left--;
            LENGTH(length, token >> 4)
            if (length > left)
                goto corrupt;
            left -= length;
            LZ4_COPY(length)
            if (left == 0)
                break; /* the last sequence has only literals */
            if (left < 2)
                goto corrupt;
            distance = ASSASIN_LOAD_U8(0, end);
            distance |= ASSASIN_LOAD_U8(0, end) << 8;
            left -= 2;
            if (distance == 0 || distance > ASSASIN_OUT_HEAD(0) - start)
                goto corrupt;
            LENGTH(length, token & 15)
            length += 4;
            LZ4_REPEAT(distance, length)
            if (left == 0)
                goto corrupt; /* a block ends with literals */
        }
    }
corrupt:
    ASSASIN_RETURN(LZ4_CORRUPT);
end:
    ASSASIN_RETURN(lz4_inside || ASSASIN_IN_HEAD(0) != ASSASIN_IN_END(0) ? LZ4_TRUNCATED : 0);
}
