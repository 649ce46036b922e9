/* SPDX-License-Identifier: BSD-3-Clause */
/* linreg: the sums that a linear regression needs (struct linreg_args). */
#include <analytics.h>
#include <assasin.h>

#define MAX_SUMS ((LINREG_MAX_COLUMNS + 1) * (LINREG_MAX_COLUMNS + 2) / 2)

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    const struct linreg_args *args = assasin_args();
    if (assasin_task()->args_bytes != sizeof *args || args->columns - 1 >= LINREG_MAX_COLUMNS)
        ASSASIN_RETURN(ANALYTICS_BAD_ARGUMENTS);
    int64_t sums[MAX_SUMS] = {0};
    int32_t row[LINREG_MAX_COLUMNS + 1];
    int32_t *const behind = row + 1 + args->columns;
    row[0] = 1;
    for (;;) {
        for (int32_t *p = row + 1; p != behind; p++)
            *p = ASSASIN_LOAD_S32(0, end);
        int64_t *sum = sums;
        for (const int32_t *p = row; p != behind; p++)
            for (const int32_t *q = p; q != behind; q++)
                *sum++ += (int64_t)*p * *q;
    }
end:
    if (ASSASIN_IN_END(0) % (4 * args->columns))
        ASSASIN_RETURN(ANALYTICS_TRUNCATED);
    for (uint32_t i = 0; i < (args->columns + 1) * (args->columns + 2) / 2; i++) {
        ASSASIN_STORE_U32(0, sums[i]);
        ASSASIN_STORE_U32(0, sums[i] >> 32);
    }
    ASSASIN_RETURN(0);
}
