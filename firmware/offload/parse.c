/* SPDX-License-Identifier: BSD-3-Clause */
/* parse: `.tbl` text to binary columns: column k of the output goes to output stream k (include/tbl.h). */
#include <assasin.h>

#define TBL_LIMIT assasin_task()->streams_out
#define TBL_OUTPUTS                                                                                                    \
    ASSASIN_OUT(0);                                                                                                    \
    ASSASIN_OUT(1);                                                                                                    \
    ASSASIN_OUT(2);                                                                                                    \
    ASSASIN_OUT(3);                                                                                                    \
    ASSASIN_OUT(4);                                                                                                    \
    ASSASIN_OUT(5);                                                                                                    \
    ASSASIN_OUT(6);                                                                                                    \
    ASSASIN_OUT(7);
#define COLUMN(k)                                                                                                      \
    if (outputs > k) {                                                                                                 \
        ASSASIN_STORE_U32(k, row[k]);                                                                                  \
        if (is_text >> k & 1)                                                                                          \
            for (const uint32_t *p = (const uint32_t *)text_at[k], *e = p + (row[k] + 3) / 4; p < e; p++)              \
                ASSASIN_STORE_U32(k, *p);                                                                              \
    }
#define TBL_EMIT COLUMN(0) COLUMN(1) COLUMN(2) COLUMN(3) COLUMN(4) COLUMN(5) COLUMN(6) COLUMN(7)

#include "tbl_rows.h"
