/* SPDX-License-Identifier: BSD-3-Clause */
/* psf: Parse, Select and Filter of `.tbl` text as one pipeline. Stores the chosen columns of the rows that qualify
 * (include/tbl.h). */
#define TBL_LIMIT   TBL_MAX_SLOTS
#define TBL_OUTPUTS ASSASIN_OUT(0);
#define TBL_EMIT                                                                                                       \
    for (const uint32_t *p = row; p < heap; p++)                                                                       \
        ASSASIN_STORE_U32(0, *p);
#include "tbl_rows.h"
