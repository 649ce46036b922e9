/* SPDX-License-Identifier: BSD-3-Clause */
/* stat: count, sum, minimum and maximum of a column of 32-bit signed values (struct stat_result). */
#include <assasin.h>
#include <offloads.h>

/* Adding 2^31 maps the signed values onto the unsigned ones in order, so that the 64-bit sum needs only a carry. */
#define BIAS 0x80000000u

/* New extremes are rare, and a taken branch costs cycles: the update lies behind the loop. Without ASSASIN_KEEP the
 * compiler sees a plain minimum and puts the update into the loop with a branch around it. */
#define RARELY(condition, target, value)                                                                               \
    if (__builtin_expect_with_probability(condition, 0, 1.0)) {                                                        \
        target = value;                                                                                                \
        ASSASIN_KEEP(target);                                                                                          \
    }

#define ELEMENT                                                                                                        \
    {                                                                                                                  \
        uint32_t v = ASSASIN_LOAD_U32(0, end) + BIAS;                                                                  \
        low += v;                                                                                                      \
        ASSASIN_KEEP(low);                                                                                             \
        high += low < v;                                                                                               \
        RARELY(v < min, min, v)                                                                                        \
        RARELY(v > max, max, v)                                                                                        \
    }
#define ELEMENTS4 ELEMENT ELEMENT ELEMENT ELEMENT

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    uint32_t low = 0, high = 0, min = UINT32_MAX, max = 0;
    for (;;) {
        ELEMENTS4 ELEMENTS4
    }
end:;
    uint32_t count = ASSASIN_IN_HEAD(0) / sizeof(uint32_t);
    uint64_t sum = ((uint64_t)high << 32 | low) - (uint64_t)count * BIAS;
    ASSASIN_STORE_U32(0, count);
    ASSASIN_STORE_U32(0, min - BIAS);
    ASSASIN_STORE_U32(0, max - BIAS);
    ASSASIN_STORE_U32(0, 0);
    ASSASIN_STORE_U32(0, sum);
    ASSASIN_STORE_U32(0, sum >> 32);
    ASSASIN_RETURN(0);
}
