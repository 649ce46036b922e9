/* SPDX-License-Identifier: BSD-3-Clause */
/* hamming: a code page for every two data pages (analytics.h). With two output streams the code page waits in the
 * scratchpad until the page that it goes behind is complete. */
#include <analytics.h>
#include <assasin.h>

#define TWO_WORDS(code)                                                                                                \
    {                                                                                                                  \
        uint32_t a = ASSASIN_LOAD_U32(0, end), c = ASSASIN_LOAD_U32(0, end);                                           \
        uint32_t b = ASSASIN_LOAD_U32(1, end), d = ASSASIN_LOAD_U32(1, end);                                           \
        ASSASIN_STORE_U32(0, a);                                                                                       \
        ASSASIN_STORE_U32(1, b);                                                                                       \
        ASSASIN_STORE_U32(0, c);                                                                                       \
        ASSASIN_STORE_U32(1, d);                                                                                       \
        code(a ^ b) code(c ^ d)                                                                                        \
    }
#define SEND(v) ASSASIN_STORE_U32(2, v);
#define PUT(v)  *p++ = v;

static uint32_t page[HAMMING_PAGE / 4];

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_IN(1);
    ASSASIN_OUT(0);
    ASSASIN_OUT(1);
    ASSASIN_OUT(2);
    uint32_t outputs = assasin_task()->streams_out, behind_b = 0;
    if (assasin_task()->streams_in != 2 || outputs < 2 || outputs > 3)
        ASSASIN_RETURN(ANALYTICS_BAD_ARGUMENTS);
    if (outputs == 3)
        for (;;) {
            TWO_WORDS(SEND) TWO_WORDS(SEND)
        }
    for (;;) {
        for (uint32_t *p = page; p != page + HAMMING_PAGE / 4;) {
            TWO_WORDS(PUT) TWO_WORDS(PUT)
        }
        if (behind_b)
            for (const uint32_t *p = page; p != page + HAMMING_PAGE / 4; p++)
                ASSASIN_STORE_U32(1, *p);
        else
            for (const uint32_t *p = page; p != page + HAMMING_PAGE / 4; p++)
                ASSASIN_STORE_U32(0, *p);
        behind_b = !behind_b;
    }
end:;
    uint32_t head = ASSASIN_IN_HEAD(0);
    if (head % HAMMING_PAGE || ASSASIN_IN_HEAD(1) != head || !ASSASIN_ENDS_AT(0, head) || !ASSASIN_ENDS_AT(1, head))
        ASSASIN_RETURN(ANALYTICS_TRUNCATED);
    ASSASIN_RETURN(0);
}
