/* SPDX-License-Identifier: BSD-3-Clause */
/* grep: the lines that contain a fixed string, which is the arguments' bytes, 1 to 64 of them without a newline.
 *
 * Output 0: how often the string occurs, overlapping places counted, then the number of lines with it: two 32-bit
 * words, as `grep -c -F` has the second. The automaton of Knuth, Morris and Pratt looks at every byte once. */
#include <assasin.h>

#define LONGEST 64

enum grep_exit { GREP_OK, GREP_BAD_PATTERN };

static uint8_t pattern[LONGEST + 1];
static uint8_t back[LONGEST + 1]; /* how much of the pattern still fits where position i did not */

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    const uint8_t *args = assasin_args();
    uint32_t length = assasin_task()->args_bytes;
    if (length < 1 || length > LONGEST)
        ASSASIN_RETURN(GREP_BAD_PATTERN);
    for (uint32_t i = 0; i < length; i++) {
        pattern[i] = args[i];
        if (args[i] == '\n')
            ASSASIN_RETURN(GREP_BAD_PATTERN);
    }
    for (uint32_t i = 1, fit = 0; i < length; i++) {
        while (fit && pattern[i] != pattern[fit])
            fit = back[fit];
        fit += pattern[i] == pattern[fit];
        back[i + 1] = (uint8_t)fit;
    }
    uint32_t places = 0, lines = 0, in_line = 0, fit = 0;
    for (;;) {
        uint32_t c = ASSASIN_LOAD_U8(0, end);
        while (fit && c != pattern[fit])
            fit = back[fit];
        fit += c == pattern[fit];
        if (fit == length) {
            places++;
            in_line = 1;
            fit = back[fit];
        }
        if (c == '\n') {
            lines += in_line;
            in_line = 0;
        }
    }
end:
    ASSASIN_STORE_U32(0, places);
    ASSASIN_STORE_U32(0, lines + in_line);
    ASSASIN_RETURN(GREP_OK);
}
