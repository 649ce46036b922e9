/* SPDX-License-Identifier: BSD-3-Clause */
/* select: the wanted columns of binary tuples (struct select_args). The tuple is a list of runs: so many words to pass
 * over, then so many to take; a run of either kind costs one jump. */
#include <analytics.h>
#include <assasin.h>

#define MAX_RUNS 17
#define PASS     (void)ASSASIN_LOAD_U32(0, end);
#define TAKE     ASSASIN_STORE_U32(0, ASSASIN_LOAD_U32(0, end));
#define TAKE4                                                                                                          \
    {                                                                                                                  \
        uint32_t a = ASSASIN_LOAD_U32(0, end), b = ASSASIN_LOAD_U32(0, end);                                           \
        uint32_t c = ASSASIN_LOAD_U32(0, end), d = ASSASIN_LOAD_U32(0, end);                                           \
        ASSASIN_STORE_U32(0, a);                                                                                       \
        ASSASIN_STORE_U32(0, b);                                                                                       \
        ASSASIN_STORE_U32(0, c);                                                                                       \
        ASSASIN_STORE_U32(0, d);                                                                                       \
    }

struct run {
    uint32_t pass4, pass, take4, take; /* words; the 4s in groups of four */
};

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    struct run runs[MAX_RUNS] = {0};
    const struct select_args *args = assasin_args();
    if (assasin_task()->args_bytes != sizeof *args || args->words - 1 > 31 || !args->mask ||
        (args->words < 32 && args->mask >> args->words))
        ASSASIN_RETURN(ANALYTICS_BAD_ARGUMENTS);
    unsigned count = 0;
    for (unsigned word = 0; word < args->words; count++) {
        unsigned pass = 0, take = 0;
        for (; word < args->words && !(args->mask >> word & 1); word++)
            pass++;
        for (; word < args->words && args->mask >> word & 1; word++)
            take++;
        runs[count] = (struct run){pass / 4, pass % 4, take / 4, take % 4};
    }
    const struct run *const behind = runs + count;
    for (;;) {
        for (const struct run *r = runs; r != behind; r++) {
            for (uint32_t n = r->pass4; n; n--) {
                PASS PASS PASS PASS
            }
            switch (r->pass) {
            case 3:
                PASS              /* fall through */
                    case 2 : PASS /* fall through */
                             case 1 : PASS
            }
            for (uint32_t n = r->take4; n; n--)
                TAKE4
            switch (r->take) {
            case 3:
                TAKE              /* fall through */
                    case 2 : TAKE /* fall through */
                             case 1 : TAKE
            }
        }
    }
end:
    ASSASIN_RETURN(ASSASIN_IN_END(0) % (4 * args->words) ? ANALYTICS_TRUNCATED : 0);
}
