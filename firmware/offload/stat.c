/* SPDX-License-Identifier: BSD-3-Clause */
/* stat: count, sum, minimum and maximum of a column of 32-bit signed values (struct stat_result). A group of values at
 * a time, so that none waits for its load. */
#include <assasin.h>
#include <offloads.h>

#define GROUP 64u /* bytes */
/* While all values lie between -NARROW and NARROW, the sum of the values of a round fits 32 bits. */
#define ROUND  8u /* groups */
#define NARROW (1 << 24)
_Static_assert((uint64_t)NARROW *ROUND *GROUP / 4 <= 1ull << 31, "the sum of a round overflows");

#define ALL(DO) DO(a) DO(b) DO(c) DO(d) DO(e) DO(f) DO(g) DO(h) DO(i) DO(j) DO(k) DO(l) DO(m) DO(n) DO(o) DO(p)
#define LOAD(v) v = ASSASIN_LOAD_U32(0, end);
#define ADD(v)  round += v;
/* Leaves before anything of the group has been added. */
#define CHECK(v)                                                                                                       \
    if (__builtin_expect_with_probability(v < low || v > high, 0, 1.0))                                                \
        goto extreme;
/* New extremes are rare too. Without ASSASIN_KEEP the compiler sees a plain minimum and puts the update into the way.
 */
#define SELDOM(condition, target, v)                                                                                   \
    if (__builtin_expect_with_probability(condition, 0, 1.0)) {                                                        \
        target = v;                                                                                                    \
        ASSASIN_KEEP(target);                                                                                          \
    }
/* The sum modulo 2^32 and the sum of the upper halves are enough to tell the sum of up to 2^16 values. */
#define EXACT(v)                                                                                                       \
    {                                                                                                                  \
        modulo += (uint32_t)v;                                                                                         \
        upper += v >> 16;                                                                                              \
        SELDOM(v < min, min, v)                                                                                        \
        SELDOM(v > max, max, v)                                                                                        \
    }
#define EXACT_SUM (((int64_t)upper << 16) + (modulo - ((uint32_t)upper << 16)))

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    int32_t a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
    int32_t min = INT32_MAX, max = INT32_MIN, round = 0;
    int64_t sum = 0;
    ASSASIN_KEEP(min);
    ASSASIN_KEEP(max);
    ASSASIN_KEEP(round);
    /* What lies from low to high needs no closer look: nothing at first, and once values are not narrow. */
    int32_t low = INT32_MAX, high = INT32_MIN;
    uint32_t groups = ROUND;
    for (;;) {
        ALL(LOAD)
        ALL(CHECK)
        ALL(ADD)
        ASSASIN_KEEP(round);
        if (--groups)
            continue;
    next:
        sum += round;
        round = 0;
        ASSASIN_KEEP(round);
        groups = ROUND;
    }
    /* Behind the loop, since branches forward are predicted not taken. */
extreme : {
    uint32_t modulo = 0;
    int32_t upper = 0;
    ALL(EXACT)
    sum += EXACT_SUM;
    if (min >= -NARROW && max <= NARROW) {
        low = min;
        high = max;
    } else {
        low = INT32_MAX;
        high = INT32_MIN;
    }
    goto next;
}
end:;
    /* Values of the last group that were loaded before the end came are looked up again. */
    uint32_t head = ASSASIN_IN_HEAD(0), length = ASSASIN_IN_END(0), count = head / sizeof(uint32_t);
    uint32_t modulo = 0;
    int32_t upper = 0;
    for (uint32_t at = head & ~(GROUP - 1u); at != count * sizeof(uint32_t); at += sizeof(uint32_t)) {
        int32_t v = (int32_t)ASSASIN_PEEK_IN_U32(0, length - at);
        EXACT(v)
    }
    sum += round + EXACT_SUM;
    ASSASIN_STORE_U32(0, count);
    ASSASIN_STORE_U32(0, min);
    ASSASIN_STORE_U32(0, max);
    ASSASIN_STORE_U32(0, 0);
    ASSASIN_STORE_U32(0, sum);
    ASSASIN_STORE_U32(0, sum >> 32);
    ASSASIN_RETURN(0);
}
