/* SPDX-License-Identifier: BSD-3-Clause */
/* select: the wanted columns of binary tuples (struct select_args). The tuple becomes threaded code: pieces that pass
 * over up to eight words or take up to four, each of which jumps to the next. */
#include <analytics.h>
#include <assasin.h>

#define PASS     (void)ASSASIN_LOAD_U32(0, end);
#define GET(v)   uint32_t v = ASSASIN_LOAD_U32(0, end);
#define PUT(v)   ASSASIN_STORE_U32(0, v);
#define GO       goto **next++;
#define MAX_PASS 8
#define MAX_TAKE 4

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    static const void *const pass[MAX_PASS] = {&&pass1, &&pass2, &&pass3, &&pass4, &&pass5, &&pass6, &&pass7, &&pass8};
    static const void *const take[MAX_TAKE] = {&&take1, &&take2, &&take3, &&take4};
    const void *code[33];
    const struct select_args *args = assasin_args();
    if (assasin_task()->args_bytes != sizeof *args || args->words - 1 > 31 || !args->mask ||
        (args->words < 32 && args->mask >> args->words))
        ASSASIN_RETURN(ANALYTICS_BAD_ARGUMENTS);
    const void **next = code;
    for (unsigned word = 0; word < args->words;) {
        uint32_t wanted = args->mask >> word & 1;
        unsigned run = 1;
        while (run < (wanted ? MAX_TAKE : MAX_PASS) && word + run < args->words &&
               (args->mask >> (word + run) & 1) == wanted)
            run++;
        *next++ = (wanted ? take : pass)[run - 1];
        word += run;
    }
    *next = &&again;
again:
    next = code;
    GO pass8 : PASS pass7 : PASS pass6 : PASS pass5 : PASS pass4 : PASS pass3 : PASS pass2 : PASS pass1 : PASS GO take1
        : {GET(a) PUT(a)} GO take2 : {GET(a) GET(b) PUT(a) PUT(b)} GO take3
        : {GET(a) GET(b) GET(c) PUT(a) PUT(b) PUT(c)} GO take4
        : {GET(a) GET(b) GET(c) GET(d) PUT(a) PUT(b) PUT(c) PUT(d)} GO end
        : ASSASIN_RETURN(ASSASIN_IN_END(0) % (4 * args->words) ? ANALYTICS_TRUNCATED : 0);
}
