/* SPDX-License-Identifier: BSD-3-Clause */
/* replicate: every output stream (one to eight) gets a copy of the input stream. Four words at a time, so that no store
 * waits for the load before it. */
#include <assasin.h>
#include <offloads.h>

#define TO(stream, width, v)                                                                                           \
    if (stream < n)                                                                                                    \
        ASSASIN_STORE_##width(stream, v);
#define TO_ALL(width, v)                                                                                               \
    TO(0, width, v)                                                                                                    \
    TO(1, width, v) TO(2, width, v) TO(3, width, v) TO(4, width, v) TO(5, width, v) TO(6, width, v) TO(7, width, v)
#define FOUR(stream)                                                                                                   \
    ASSASIN_STORE_U32(stream, a);                                                                                      \
    ASSASIN_STORE_U32(stream, b);                                                                                      \
    ASSASIN_STORE_U32(stream, c);                                                                                      \
    ASSASIN_STORE_U32(stream, d);
#ifdef ASSASIN_LITTLE_UNROLLING
#undef FOUR
#define FOUR(stream) ASSASIN_STORE_U32(stream, a);
#define LOOP(streams, all)                                                                                             \
    case streams:                                                                                                      \
        for (;;) {                                                                                                     \
            uint32_t a = ASSASIN_LOAD_U32(0, end);                                                                     \
            all                                                                                                        \
        }
#else
#define LOOP(streams, all)                                                                                             \
    case streams:                                                                                                      \
        ASSASIN_KEEP(n);                                                                                               \
        for (;;) {                                                                                                     \
            uint32_t a = ASSASIN_LOAD_U32(0, end), b = ASSASIN_LOAD_U32(0, end);                                       \
            uint32_t c = ASSASIN_LOAD_U32(0, end), d = ASSASIN_LOAD_U32(0, end);                                       \
            all                                                                                                        \
        }
#endif

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT_ALL;
    uint32_t n = assasin_task()->streams_out;
    switch (n) {
        LOOP(1, FOUR(0))
        LOOP(2, FOUR(0) FOUR(1))
        LOOP(3, FOUR(0) FOUR(1) FOUR(2))
        LOOP(4, FOUR(0) FOUR(1) FOUR(2) FOUR(3))
        LOOP(5, FOUR(0) FOUR(1) FOUR(2) FOUR(3) FOUR(4))
        LOOP(6, FOUR(0) FOUR(1) FOUR(2) FOUR(3) FOUR(4) FOUR(5))
        LOOP(7, FOUR(0) FOUR(1) FOUR(2) FOUR(3) FOUR(4) FOUR(5) FOUR(6))
        LOOP(8, FOUR(0) FOUR(1) FOUR(2) FOUR(3) FOUR(4) FOUR(5) FOUR(6) FOUR(7))
    default:
        ASSASIN_RETURN(REPLICATE_BAD_ARGUMENTS);
    }
end:;
    /* Words that were loaded before the end came are looked up again. */
    uint32_t length = ASSASIN_IN_END(0);
    uint32_t rest = length - ASSASIN_IN_HEAD(0), back;
    while ((back = length - ASSASIN_OUT_HEAD(0)) > rest) {
        uint32_t v = ASSASIN_PEEK_IN_U32(0, back);
        TO_ALL(U32, v)
    }
    while (rest--) {
        uint32_t v = ASSASIN_TAKE_U8(0);
        TO_ALL(U8, v)
    }
    ASSASIN_RETURN(0);
}
