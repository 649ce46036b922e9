/* SPDX-License-Identifier: BSD-3-Clause */
/* raid4: the XOR of two to eight streams of equal length: parity of data streams, or a lost stream out of the others
 * and the parity. Where a load is one instruction, two words of each stream at a
 * time, so that no exclusive or uses what the load before it has read. */
#include "raid.h"

#ifdef ASSASIN_LITTLE_UNROLLING
#define NEXT(stream) x ^= ASSASIN_LOAD_U32(stream, end);
#define LOOP(streams, all)                                                                                             \
    case streams:                                                                                                      \
        for (;;) {                                                                                                     \
            x = ASSASIN_LOAD_U32(0, end);                                                                              \
            all ASSASIN_STORE_U32(0, x);                                                                               \
        }
#else
#define NEXT(stream)                                                                                                   \
    {                                                                                                                  \
        uint32_t u = ASSASIN_LOAD_U32(stream, end), v = ASSASIN_LOAD_U32(stream, end);                                 \
        x ^= u;                                                                                                        \
        y ^= v;                                                                                                        \
    }
#define LOOP(streams, all)                                                                                             \
    case streams:                                                                                                      \
        ASSASIN_KEEP(n);                                                                                               \
        for (;;) {                                                                                                     \
            x = ASSASIN_LOAD_U32(0, end);                                                                              \
            ASSASIN_KEEP(x);                                                                                           \
            uint32_t y = ASSASIN_LOAD_U32(0, end);                                                                     \
            all ASSASIN_STORE_U32(0, x);                                                                               \
            ASSASIN_STORE_U32(0, y);                                                                                   \
        }
#endif
#define WORD(stream) x ^= ASSASIN_TAKE_U32(stream);
#define BYTE(stream) x ^= ASSASIN_TAKE_U8(stream);

int compute(void) {
    RAID_IN_ALL;
    ASSASIN_OUT(0);
    uint32_t n = assasin_task()->streams_in, x = 0;
    ASSASIN_KEEP(x);
    switch (n) {
        LOOP(2, NEXT(1))
        LOOP(3, NEXT(1) NEXT(2))
        LOOP(4, NEXT(1) NEXT(2) NEXT(3))
        LOOP(5, NEXT(1) NEXT(2) NEXT(3) NEXT(4))
        LOOP(6, NEXT(1) NEXT(2) NEXT(3) NEXT(4) NEXT(5))
        LOOP(7, NEXT(1) NEXT(2) NEXT(3) NEXT(4) NEXT(5) NEXT(6))
        LOOP(8, NEXT(1) NEXT(2) NEXT(3) NEXT(4) NEXT(5) NEXT(6) NEXT(7))
    default:
        ASSASIN_RETURN(RAID_BAD_ARGUMENTS);
    }
end:;
    uint32_t length;
    RAID_LENGTH(n, length);
    uint32_t rest = length - ASSASIN_OUT_HEAD(0);
    if (ASSASIN_IN_HEAD(0) != ASSASIN_OUT_HEAD(0)) { /* x has the last word of stream 0 */
        RAID_OTHERS(n, WORD)
        ASSASIN_STORE_U32(0, x);
        rest -= 4;
    }
    while (rest--) {
        x = ASSASIN_TAKE_U8(0);
        RAID_OTHERS(n, BYTE)
        ASSASIN_STORE_U8(0, x);
    }
    ASSASIN_RETURN(0);
}
