/* SPDX-License-Identifier: BSD-3-Clause */
/* filter: TPC-H Q6 over fixed-width lineitem tuples (struct lineitem_tuple). Returns price and discount of the rows
 * that the predicate in the arguments (struct filter_args) lets through; the host multiplies and adds. A tuple cut off
 * by the stream's end is ignored. */
#include <assasin.h>
#include <offloads.h>

/** Exit code when the arguments are not one struct filter_args. */
#define BAD_ARGUMENTS 1

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    if (assasin_task()->args_bytes != sizeof(struct filter_args))
        ASSASIN_RETURN(BAD_ARGUMENTS);
    const struct filter_args *args = assasin_args();
    /* One unsigned comparison tests a range: x - low < width. */
    uint32_t date = (uint32_t)args->shipdate_from, dates = (uint32_t)args->shipdate_to - date;
    uint32_t discount_low = (uint32_t)args->discount_low, discounts = (uint32_t)args->discount_high - discount_low;
    int32_t quantity_to = args->quantity_to;
    if (args->shipdate_to <= args->shipdate_from || args->discount_high < args->discount_low)
        dates = 0; /* an empty range lets nothing through */

    for (;;) {
        (void)ASSASIN_LOAD_U32(0, end); /* orderkey */
        (void)ASSASIN_LOAD_U32(0, end); /* partkey */
        (void)ASSASIN_LOAD_U32(0, end); /* suppkey */
        uint32_t shipdate = ASSASIN_LOAD_U32(0, end);
        int32_t quantity = ASSASIN_LOAD_S32(0, end);
        uint32_t extendedprice = ASSASIN_LOAD_U32(0, end);
        uint32_t discount = ASSASIN_LOAD_U32(0, end);
        (void)ASSASIN_LOAD_U32(0, end); /* tax: the whole tuple has been there when a row is emitted */
        if (shipdate - date < dates && quantity < quantity_to && discount - discount_low <= discounts) {
            ASSASIN_STORE_U32(0, extendedprice);
            ASSASIN_STORE_U32(0, discount);
        }
    }
end:
    ASSASIN_RETURN(0);
}
