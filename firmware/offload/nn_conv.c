/* SPDX-License-Identifier: BSD-3-Clause */
/* nn_conv: convolution, ReLU and pooling of the dissertation's network (struct nn_conv_args). Keeps four rows of
 * pixels, what one row of pooled positions sees. The 16 pixels of a position stay in registers for all filters; every
 * weight is loaded once a position, for the four windows that are pooled. */
#include <analytics.h>
#include <assasin.h>

#define TO(stream)                                                                                                     \
    if (copies > stream)                                                                                               \
        ASSASIN_STORE_U32(stream, value);

/* Weight `tap` at its four pixels; multiplications first, so that no addition waits. */
#define TAP(tap, pa, pb, pc, pd)                                                                                       \
    {                                                                                                                  \
        uint32_t t = w[(tap)*NN_FILTERS];                                                                              \
        uint32_t ta = t * pa, tb = t * pb, tc = t * pc, td = t * pd;                                                   \
        a += ta;                                                                                                       \
        b += tb;                                                                                                       \
        c += tc;                                                                                                       \
        d += td;                                                                                                       \
    }

static uint32_t pixel[4][NN_SIDE];

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT_ALL;
    const struct nn_conv_args *args = assasin_args();
    uint32_t copies = assasin_task()->streams_out;
    if (assasin_task()->args_bytes != sizeof *args || args->shift > 31 || copies - 1 > 7)
        ASSASIN_RETURN(ANALYTICS_BAD_ARGUMENTS);
    for (;;) {
        for (unsigned y = 0; y < NN_SIDE; y++) {
            /* Rows 0 to 3 fill all four slots; later pairs of rows come into the last two. */
            unsigned slot = y < 4 ? y : 2 + (y & 1);
            for (unsigned x = 0; x < NN_SIDE; x++)
                pixel[slot][x] = ASSASIN_LOAD_U8(0, end);
            if (y < 3 || !(y & 1))
                continue;
            for (const uint32_t *p = pixel[0]; p < pixel[0] + 2 * NN_POOLED; p += 2) {
                uint32_t p00 = p[0], p01 = p[1], p02 = p[2], p03 = p[3];
                p += NN_SIDE;
                uint32_t p10 = p[0], p11 = p[1], p12 = p[2], p13 = p[3];
                p += NN_SIDE;
                uint32_t p20 = p[0], p21 = p[1], p22 = p[2], p23 = p[3];
                p += NN_SIDE;
                uint32_t p30 = p[0], p31 = p[1], p32 = p[2], p33 = p[3];
                p -= 3 * NN_SIDE;
                const uint32_t *w = (const uint32_t *)args->weight[0];
                for (const uint32_t *bias = (const uint32_t *)args->bias;
                     bias != (const uint32_t *)args->bias + NN_FILTERS; bias++, w++) {
                    uint32_t a = *bias, b = a, c = a, d = a;
                    TAP(0, p00, p01, p10, p11)
                    TAP(1, p01, p02, p11, p12)
                    TAP(2, p02, p03, p12, p13)
                    TAP(3, p10, p11, p20, p21)
                    TAP(4, p11, p12, p21, p22)
                    TAP(5, p12, p13, p22, p23)
                    TAP(6, p20, p21, p30, p31)
                    TAP(7, p21, p22, p31, p32)
                    TAP(8, p22, p23, p32, p33)
                    int32_t value = (int32_t)a > 0 ? (int32_t)a : 0;
                    value = (int32_t)b > value ? (int32_t)b : value;
                    value = (int32_t)c > value ? (int32_t)c : value;
                    value = (int32_t)d > value ? (int32_t)d : value;
                    value >>= args->shift;
                    TO(0) TO(1) TO(2) TO(3) TO(4) TO(5) TO(6) TO(7)
                }
            }
            for (unsigned x = 0; x < NN_SIDE; x++) {
                pixel[0][x] = pixel[2][x];
                pixel[1][x] = pixel[3][x];
            }
        }
    }
end:
    ASSASIN_RETURN(ASSASIN_IN_END(0) % (NN_SIDE * NN_SIDE) ? ANALYTICS_TRUNCATED : 0);
}
