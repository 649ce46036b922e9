/* SPDX-License-Identifier: BSD-3-Clause */
/* lz4_decompress: a stream of LZ4 blocks, each behind its length, or an LZ4 frame of them, to what they were made of.
 * The output stream itself is the window: a match is read back from it. Every length and distance is checked before it
 * is used. The content checksum of a frame is left to the host. */
#include "lz4.h"
#include <offloads.h>

/* The descriptor of a frame: FLG, BD, what FLG says, and a byte of checksum. */
enum flag { FRAME_DICTIONARY = 1, FRAME_RESERVED = 2, FRAME_SUM = 4, FRAME_SIZE = 8, FRAME_BLOCK_SUMS = 16 };
enum flag_field { FRAME_ALONE = 32, FRAME_VERSION = 0xc0, FRAME_VERSION_1 = 0x40 };
enum frame { NO_FRAME, IN_FRAME, BEHIND_FRAME };

/* What is needed behind the end of the stream lies in memory, so that all loads land in one place. */
static volatile enum frame frame;
static uint8_t descriptor[10];
static uint32_t descriptor_bytes;

/* xxHash32, seed 0, of the descriptor, which is shorter than 16 bytes. */
static uint32_t __attribute__((noinline)) descriptor_sum(void) {
    uint32_t h = 374761393u + descriptor_bytes, i = 0;
    for (; i + 4 <= descriptor_bytes; i += 4) {
        const uint8_t *p = descriptor + i;
        h += (p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24) * 3266489917u;
        h = (h << 17 | h >> 15) * 668265263u;
    }
    for (; i < descriptor_bytes; i++) {
        h += descriptor[i] * 374761393u;
        h = (h << 11 | h >> 21) * 2654435761u;
    }
    h = (h ^ h >> 15) * 2246822519u;
    h = (h ^ h >> 13) * 3266489917u;
    return (h ^ h >> 16) >> 8 & 0xff;
}

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
    uint32_t start = 0;
    for (;;) {
        lz4_inside = frame == IN_FRAME;
        uint32_t header = ASSASIN_LOAD_U32(0, end);
        lz4_inside = 1;
        if (header == LZ4_FRAME_MAGIC && ASSASIN_IN_HEAD(0) == 4) {
            descriptor[0] = (uint8_t)ASSASIN_LOAD_U8(0, end);
            descriptor_bytes = descriptor[0] & FRAME_SIZE ? 10 : 2;
            for (uint32_t i = 1; i < descriptor_bytes; i++)
                descriptor[i] = (uint8_t)ASSASIN_LOAD_U8(0, end);
            uint32_t unknown = FRAME_VERSION | FRAME_BLOCK_SUMS | FRAME_RESERVED | FRAME_DICTIONARY;
            if ((descriptor[0] & unknown) != FRAME_VERSION_1)
                ASSASIN_RETURN(LZ4_OTHER_FRAME);
            uint32_t sum = ASSASIN_LOAD_U8(0, end);
            if (sum != descriptor_sum())
                goto corrupt;
            frame = IN_FRAME;
            continue;
        }
        if (frame == BEHIND_FRAME)
            ASSASIN_RETURN(LZ4_OTHER_FRAME);
        if (frame == IN_FRAME && header == 0) {
            const uint8_t *size = descriptor + 2;
            if (descriptor[0] & FRAME_SUM)
                (void)ASSASIN_LOAD_U32(0, end);
            if (descriptor[0] & FRAME_SIZE &&
                (size[0] | size[1] << 8 | size[2] << 16 | (uint32_t)size[3] << 24) != ASSASIN_OUT_HEAD(0))
                goto corrupt;
            frame = BEHIND_FRAME;
            continue;
        }
        uint32_t left = header & ~LZ4_STORED;
        if (header & LZ4_STORED) {
            LZ4_COPY(left)
            continue;
        }
        if (frame == NO_FRAME || descriptor[0] & FRAME_ALONE)
            start = ASSASIN_OUT_HEAD(0);
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
