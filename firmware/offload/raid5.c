/* SPDX-License-Identifier: BSD-3-Clause */
/* raid5: stripes k data streams (two to five, equal length) over k + 1 members with rotating parity, left-symmetric as
 * Linux has it by default: in row r of one chunk a stream the parity goes to member k - r mod (k + 1), the data of
 * stream j to the j-th member behind it, cyclically. A lost member is the XOR of the others: raid4. */
#include "raid.h"

/* One row: load a word of every stream, store them and their parity to the members named. */
#define ROW(k, r, loads, stores)                                                                                       \
    case (k)*8 + (r):                                                                                                  \
        for (left = chunk; left; left -= 4) {                                                                          \
            loads stores                                                                                               \
        }                                                                                                              \
        break;
#define LOAD(j)               uint32_t d##j = ASSASIN_LOAD_U32(j, end);
#define PUT(m, v)             ASSASIN_STORE_U32(m, v);
#define ROW2(k, r, p, m0, m1) ROW(k, r, LOAD(0) LOAD(1), PUT(m0, d0) PUT(m1, d1) PUT(p, d0 ^ d1))
#define ROW3(k, r, p, m0, m1, m2)                                                                                      \
    ROW(k, r, LOAD(0) LOAD(1) LOAD(2), PUT(m0, d0) PUT(m1, d1) PUT(m2, d2) PUT(p, d0 ^ d1 ^ d2))
#define ROW4(k, r, p, m0, m1, m2, m3)                                                                                  \
    ROW(k, r, LOAD(0) LOAD(1) LOAD(2) LOAD(3),                                                                         \
        PUT(m0, d0) PUT(m1, d1) PUT(m2, d2) PUT(m3, d3) PUT(p, d0 ^ d1 ^ d2 ^ d3))
#define ROW5(k, r, p, m0, m1, m2, m3, m4)                                                                              \
    ROW(k, r, LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4),                                                                 \
        PUT(m0, d0) PUT(m1, d1) PUT(m2, d2) PUT(m3, d3) PUT(m4, d4) PUT(p, d0 ^ d1 ^ d2 ^ d3 ^ d4))

#define TAKE(stream)                                                                                                   \
    v = ASSASIN_TAKE_U8(stream);                                                                                       \
    parity ^= v;                                                                                                       \
    to = (member + 1 + stream) % (k + 1);                                                                              \
    BYTE_TO_ALL
#define BYTE_TO(m)                                                                                                     \
    if (to == m)                                                                                                       \
        ASSASIN_STORE_U8(m, v);
#define BYTE_TO_ALL BYTE_TO(0) BYTE_TO(1) BYTE_TO(2) BYTE_TO(3) BYTE_TO(4) BYTE_TO(5)

int compute(void) {
    RAID_IN_ALL;
    ASSASIN_OUT(0);
    ASSASIN_OUT(1);
    ASSASIN_OUT(2);
    ASSASIN_OUT(3);
    ASSASIN_OUT(4);
    ASSASIN_OUT(5);
    const struct raid5_args *args = assasin_args();
    const struct scomp_task *task = assasin_task();
    uint32_t k = task->streams_in;
    if (task->args_bytes != sizeof *args || k < 2 || k > 5 || task->streams_out != k + 1)
        ASSASIN_RETURN(RAID_BAD_ARGUMENTS);
    uint32_t chunk = args->chunk;
    if (chunk == 0 || chunk % 4)
        ASSASIN_RETURN(RAID_BAD_ARGUMENTS);
    uint32_t row = 0, left;
    for (;;) {
        switch (k * 8 + row) {
            ROW2(2, 0, 2, 0, 1)
            ROW2(2, 1, 1, 2, 0)
            ROW2(2, 2, 0, 1, 2)
            ROW3(3, 0, 3, 0, 1, 2)
            ROW3(3, 1, 2, 3, 0, 1)
            ROW3(3, 2, 1, 2, 3, 0)
            ROW3(3, 3, 0, 1, 2, 3)
            ROW4(4, 0, 4, 0, 1, 2, 3)
            ROW4(4, 1, 3, 4, 0, 1, 2)
            ROW4(4, 2, 2, 3, 4, 0, 1)
            ROW4(4, 3, 1, 2, 3, 4, 0)
            ROW4(4, 4, 0, 1, 2, 3, 4)
            ROW5(5, 0, 5, 0, 1, 2, 3, 4)
            ROW5(5, 1, 4, 5, 0, 1, 2, 3)
            ROW5(5, 2, 3, 4, 5, 0, 1, 2)
            ROW5(5, 3, 2, 3, 4, 5, 0, 1)
            ROW5(5, 4, 1, 2, 3, 4, 5, 0)
            ROW5(5, 5, 0, 1, 2, 3, 4, 5)
        }
        row = row == k ? 0 : row + 1;
    }
end:;
    uint32_t length;
    RAID_LENGTH(k, length);
    /* What is left of a word in every stream. */
    for (uint32_t rest = length - ASSASIN_IN_HEAD(0), member = k - row; rest; rest--) {
        uint32_t v = ASSASIN_TAKE_U8(0), parity = v, to = (member + 1) % (k + 1);
        BYTE_TO_ALL
        RAID_OTHERS(k, TAKE)
        v = parity;
        to = member;
        BYTE_TO_ALL
    }
    ASSASIN_RETURN(0);
}
