/* SPDX-License-Identifier: BSD-3-Clause */
/* nn_fc: some classes of the dense layer of the dissertation's network, weights stationary in the scratchpad (struct
 * nn_fc_args). */
#include <analytics.h>
#include <assasin.h>

static int32_t bias[NN_MAX_CLASSES];
/* The weights of a feature for both classes lie together. */
static int32_t weight[NN_FEATURES][NN_MAX_CLASSES];

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_IN(1);
    ASSASIN_OUT(0);
    const struct nn_fc_args *args = assasin_args();
    if (assasin_task()->args_bytes != sizeof *args || args->classes - 1 >= NN_MAX_CLASSES ||
        assasin_task()->streams_in != 2)
        ASSASIN_RETURN(ANALYTICS_BAD_ARGUMENTS);
    uint32_t classes = args->classes;
    ASSASIN_KEEP(classes);
    for (uint32_t c = 0; c < classes; c++) {
        bias[c] = ASSASIN_LOAD_S32(1, end);
        for (uint32_t i = 0; i < NN_FEATURES; i++)
            weight[i][c] = ASSASIN_LOAD_S32(1, end);
    }
    for (;;) {
        uint32_t a = (uint32_t)bias[0], b = (uint32_t)bias[1];
        for (const int32_t *w = weight[0]; w != weight[NN_FEATURES]; w += 4) {
            uint32_t v = ASSASIN_LOAD_U32(0, end), u = ASSASIN_LOAD_U32(0, end);
            a += v * (uint32_t)w[0];
            b += v * (uint32_t)w[1];
            a += u * (uint32_t)w[2];
            b += u * (uint32_t)w[3];
        }
        ASSASIN_STORE_U32(0, a);
        if (classes == 2)
            ASSASIN_STORE_U32(0, b);
    }
end:;
    uint32_t weights = classes * 4 * (NN_FEATURES + 1);
    if (ASSASIN_IN_HEAD(1) != weights || ASSASIN_IN_END(0) % (4 * NN_FEATURES) || !ASSASIN_ENDS_AT(1, weights))
        ASSASIN_RETURN(ANALYTICS_TRUNCATED);
    ASSASIN_RETURN(0);
}
