/* SPDX-License-Identifier: BSD-3-Clause */
/* sum: the sum of a column of 32-bit values (struct sum_result). Eight words at a time, so that no addition waits for
 * its load. */
#include <analytics.h>
#include <assasin.h>

#define GROUP 32
#define WORDS8                                                                                                         \
    {                                                                                                                  \
        uint32_t a = ASSASIN_LOAD_U32(0, end), b = ASSASIN_LOAD_U32(0, end);                                           \
        uint32_t c = ASSASIN_LOAD_U32(0, end), d = ASSASIN_LOAD_U32(0, end);                                           \
        uint32_t e = ASSASIN_LOAD_U32(0, end), f = ASSASIN_LOAD_U32(0, end);                                           \
        uint32_t g = ASSASIN_LOAD_U32(0, end), h = ASSASIN_LOAD_U32(0, end);                                           \
        sum += a;                                                                                                      \
        sum += b;                                                                                                      \
        sum += c;                                                                                                      \
        sum += d;                                                                                                      \
        sum += e;                                                                                                      \
        sum += f;                                                                                                      \
        sum += g;                                                                                                      \
        sum += h;                                                                                                      \
        ASSASIN_KEEP(sum);                                                                                             \
    }

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    uint32_t sum = 0;
    ASSASIN_KEEP(sum);
    for (;;) {
        WORDS8 WORDS8 WORDS8 WORDS8
    }
end:;
    /* Words of the last group that were loaded before the end came are looked up again. */
    uint32_t head = ASSASIN_IN_HEAD(0), length = ASSASIN_IN_END(0);
    for (uint32_t at = head & ~(GROUP - 1u); at != head; at += 4)
        sum += ASSASIN_PEEK_IN_U32(0, length - at);
    ASSASIN_STORE_U32(0, head / 4);
    ASSASIN_STORE_U32(0, sum);
    ASSASIN_RETURN(0);
}
