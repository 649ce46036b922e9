// SPDX-License-Identifier: BSD-3-Clause
// A tuple is four beats: order and part, supplier and ship date, quantity and price, discount and tax.
#include "q6filter.h"

void q6filter(hls::stream<beat_t> &tuples_in, hls::stream<beat_t> &rows_out, ap_int<32> shipdate_from,
              ap_int<32> shipdate_to, ap_int<32> discount_low, ap_int<32> discount_high, ap_int<32> quantity_to) {
#pragma HLS INTERFACE mode = axis port = tuples_in
#pragma HLS INTERFACE mode = axis port = rows_out
#pragma HLS INTERFACE mode = s_axilite port = shipdate_from
#pragma HLS INTERFACE mode = s_axilite port = shipdate_to
#pragma HLS INTERFACE mode = s_axilite port = discount_low
#pragma HLS INTERFACE mode = s_axilite port = discount_high
#pragma HLS INTERFACE mode = s_axilite port = quantity_to
#pragma HLS INTERFACE mode = s_axilite port = return
    ap_uint<2> position = 0;
    ap_int<32> shipdate = 0, quantity = 0, price = 0;
    bool last;
    do {
#pragma HLS PIPELINE II = 1
        const beat_t beat = tuples_in.read();
        const ap_int<32> low = beat.data.range(31, 0), high = beat.data.range(63, 32);
        if (position == 1)
            shipdate = high;
        if (position == 2) {
            quantity = low;
            price = high;
        }
        const bool qualifies = shipdate >= shipdate_from && shipdate < shipdate_to && low >= discount_low &&
                               low <= discount_high && quantity < quantity_to;
        if (position == 3 && beat.keep[7] && qualifies)
            rows_out.write(make_beat((ap_uint<32>(low), ap_uint<32>(price)), 8, false));
        position++;
        last = beat.last;
    } while (!last);
    rows_out.write(make_beat(0, 0, true));
}
