/* SPDX-License-Identifier: BSD-3-Clause */
/* saxpy: A = alpha * B + C over vectors of IEEE 754 single precision (struct saxpy_args): XSSD's saxpy on a core.
 * Streams 0 and 1 are B and C; it ends with the shorter one. The cores have no floating point unit: libgcc multiplies
 * and adds, each rounded to nearest even. */
#include <assasin.h>
#include <offloads.h>
#include <string.h>

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_IN(1);
    ASSASIN_OUT(0);
    if (assasin_task()->args_bytes != sizeof(struct saxpy_args) || assasin_task()->streams_in != 2)
        ASSASIN_RETURN(SAXPY_BAD_ARGUMENTS);
    const struct saxpy_args *args = assasin_args();
    float alpha = args->alpha;
    for (;;) {
        uint32_t b_bits = ASSASIN_LOAD_U32(0, end), c_bits = ASSASIN_LOAD_U32(1, end), a_bits;
        float a, b, c;
        memcpy(&b, &b_bits, sizeof b);
        memcpy(&c, &c_bits, sizeof c);
        a = alpha * b;
        a = a + c;
        memcpy(&a_bits, &a, sizeof a_bits);
        ASSASIN_STORE_U32(0, a_bits);
    }
end:
    ASSASIN_RETURN(0);
}
