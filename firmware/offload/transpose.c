/* SPDX-License-Identifier: BSD-3-Clause */
/* transpose: tuples to columns. Word k of every tuple goes to output stream k. A whole tuple is loaded before any of it
 * is stored, so that all columns stay equally long and no store waits for its load. */
#include <analytics.h>
#include <assasin.h>

#define GET(k) uint32_t v##k = ASSASIN_LOAD_U32(0, end);
#define PUT(k) ASSASIN_STORE_U32(k, v##k);
#define EACH1(do)                                                                                                      \
    do                                                                                                                 \
    (0)
#define EACH2(do) EACH1(do) do(1)
#define EACH3(do) EACH2(do) do(2)
#define EACH4(do) EACH3(do) do(3)
#define EACH5(do) EACH4(do) do(4)
#define EACH6(do) EACH5(do) do(5)
#define EACH7(do) EACH6(do) do(6)
#define EACH8(do) EACH7(do) do(7)
#define TUPLE(each)                                                                                                    \
    { each(GET) each(PUT) }
#define LOOP(n)                                                                                                        \
    case n:                                                                                                            \
        for (;;) {                                                                                                     \
            TUPLE(EACH##n) TUPLE(EACH##n) TUPLE(EACH##n) TUPLE(EACH##n)                                                \
        }

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    ASSASIN_OUT(1);
    ASSASIN_OUT(2);
    ASSASIN_OUT(3);
    ASSASIN_OUT(4);
    ASSASIN_OUT(5);
    ASSASIN_OUT(6);
    ASSASIN_OUT(7);
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
