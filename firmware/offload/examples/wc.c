/* SPDX-License-Identifier: BSD-3-Clause */
/* wc: lines, words and bytes of a stream, as wc(1) counts them in the C locale: three 32-bit words. */
#include <assasin.h>

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    uint32_t lines = 0, words = 0, was_space = 1;
    for (;;) {
        uint32_t c = ASSASIN_LOAD_U8(0, end);
        uint32_t space = c == ' ' || c - '\t' < 5; /* \t \n \v \f \r */
        lines += c == '\n';
        words += was_space & (space ^ 1);
        was_space = space;
    }
end:
    ASSASIN_STORE_U32(0, lines);
    ASSASIN_STORE_U32(0, words);
    ASSASIN_STORE_U32(0, ASSASIN_IN_HEAD(0));
    ASSASIN_RETURN(0);
}
