/* SPDX-License-Identifier: BSD-3-Clause */
/* nn_conv: convolution, ReLU and pooling of the dissertation's network (struct nn_conv_args). Keeps four rows of
 * pixels, what one row of pooled positions sees. */
#include <analytics.h>
#include <assasin.h>

#define TO(stream)                                                                                                     \
    if (stream < copies)                                                                                               \
        ASSASIN_STORE_U32(stream, value);

static int32_t pixel[4][NN_SIDE];

/* The convolution at the window whose upper left pixel is `p`. */
static inline __attribute__((always_inline)) int32_t window(const int32_t *p, const int32_t *w, uint32_t bias) {
    for (unsigned y = 0; y < 3; y++)
        for (unsigned x = 0; x < 3; x++)
            bias += (uint32_t)p[y * NN_SIDE + x] * (uint32_t)w[(3 * y + x) * NN_FILTERS];
    return (int32_t)bias;
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
    const struct nn_conv_args *args = assasin_args();
    uint32_t copies = assasin_task()->streams_out;
    if (assasin_task()->args_bytes != sizeof *args || args->shift > 31 || copies - 1 > 7)
        ASSASIN_RETURN(ANALYTICS_BAD_ARGUMENTS);
    for (;;) {
        for (unsigned y = 0; y < NN_SIDE; y++) {
            /* Rows 0 and 1 of the window rows move up when they are full and a pooled row has been done. */
            unsigned slot = y < 4 ? y : 2 + (y & 1);
            for (unsigned x = 0; x < NN_SIDE; x++)
                pixel[slot][x] = (int32_t)ASSASIN_LOAD_U8(0, end);
            if (y < 3 || !(y & 1))
                continue;
            for (const int32_t *p = pixel[0]; p < pixel[0] + 2 * NN_POOLED; p += 2)
                for (unsigned f = 0; f < NN_FILTERS; f++) {
                    const int32_t *w = &args->weight[0][f];
                    uint32_t bias = (uint32_t)args->bias[f];
                    int32_t value = 0, v;
                    v = window(p, w, bias);
                    value = v > value ? v : value;
                    v = window(p + 1, w, bias);
                    value = v > value ? v : value;
                    v = window(p + NN_SIDE, w, bias);
                    value = v > value ? v : value;
                    v = window(p + NN_SIDE + 1, w, bias);
                    value = v > value ? v : value;
                    value >>= args->shift;
                    TO(0) TO(1) TO(2) TO(3) TO(4) TO(5) TO(6) TO(7)
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
