/* SPDX-License-Identifier: BSD-3-Clause */
/* Example of an offload of your own: how often each byte value occurs in the stream. */
#include <assasin.h>

static uint32_t count[256]; /* in the core's scratchpad */

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    for (;;)
        count[ASSASIN_LOAD_U8(0, end)]++; /* the next byte of input stream 0; when there is none, goto end */
end:
    for (unsigned i = 0; i < 256; i++)
        ASSASIN_STORE_U32(0, count[i]); /* to output stream 0 */
    ASSASIN_RETURN(0);
}
