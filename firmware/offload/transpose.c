/* SPDX-License-Identifier: BSD-3-Clause */
/* transpose: tuples to columns. Word k of every tuple goes to output stream k. A whole tuple is loaded before any of it
 * is stored, so that all columns stay equally long and no store waits for its load. */
#include <analytics.h>
#include <assasin.h>
#include <repeat.h>

#define GET(k) uint32_t v##k = ASSASIN_LOAD_U32(0, end);
#define PUT(k) ASSASIN_STORE_U32(k, v##k);
#define TUPLE(each)                                                                                                    \
    { each(GET) each(PUT) }
#define LOOP(n)                                                                                                        \
    case n:                                                                                                            \
        for (;;) {                                                                                                     \
            TUPLE(EACH##n) TUPLE(EACH##n) TUPLE(EACH##n) TUPLE(EACH##n)                                                \
        }

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT_ALL;
    uint32_t words = assasin_task()->streams_out;
    ASSASIN_KEEP(words);
    switch (words) {
        LOOP(1)
        LOOP(2)
        LOOP(3)
        LOOP(4)
        LOOP(5)
        LOOP(6)
        LOOP(7)
        LOOP(8)
    default:
        ASSASIN_RETURN(ANALYTICS_BAD_ARGUMENTS);
    }
end:
    ASSASIN_RETURN(ASSASIN_IN_END(0) % (4 * assasin_task()->streams_out) ? ANALYTICS_TRUNCATED : 0);
}
