// SPDX-License-Identifier: BSD-3-Clause
// XSSD's fgrep-8 (section 4.1) as a stream kernel: eight comparators look at the fifteen bytes that end with each beat.
#include "fgrep8.h"

void fgrep8(hls::stream<beat_t> &data_in, hls::stream<beat_t> &count_out, ap_uint<32> key_low, ap_uint<32> key_high) {
#pragma HLS INTERFACE mode = axis port = data_in
#pragma HLS INTERFACE mode = axis port = count_out
#pragma HLS INTERFACE mode = s_axilite port = key_low
#pragma HLS INTERFACE mode = s_axilite port = key_high
#pragma HLS INTERFACE mode = s_axilite port = return
    const ap_uint<64> key = (key_high, key_low);
    ap_uint<64> count = 0;
    ap_uint<56> before = 0; // the seven bytes before the beat
    bool first = true, last;
    do {
#pragma HLS PIPELINE II = 1
        const beat_t beat = data_in.read();
        const ap_uint<120> window = (beat.data, before);
        ap_uint<4> found = 0;
        for (int end = 0; end < 8; end++) { // the eight bytes that end with byte `end` of the beat
#pragma HLS UNROLL
            const ap_uint<64> bytes = window.range(8 * end + 63, 8 * end);
            // The first beat has nothing before it.
            if (beat.keep[end] && bytes == key && (!first || end == 7))
                found++;
        }
        count += found;
        before = beat.data.range(63, 8);
        first = false;
        last = beat.last;
    } while (!last);
    count_out.write(make_beat(count, 8, true));
}
