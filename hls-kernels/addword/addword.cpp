// SPDX-License-Identifier: BSD-3-Clause
#include "addword.h"

void addword(hls::stream<beat_t> &data_in, hls::stream<beat_t> &data_out, ap_uint<32> addend) {
#pragma HLS INTERFACE mode = axis port = data_in
#pragma HLS INTERFACE mode = axis port = data_out
#pragma HLS INTERFACE mode = s_axilite port = addend
#pragma HLS INTERFACE mode = s_axilite port = return
    bool last;
    do {
#pragma HLS PIPELINE II = 1
        beat_t beat = data_in.read();
        for (int word = 0; word < 2; word++) {
#pragma HLS UNROLL
            if (beat.keep[4 * word + 3]) {
                const ap_uint<32> sum = ap_uint<32>(beat.data.range(32 * word + 31, 32 * word)) + addend;
                beat.data.range(32 * word + 31, 32 * word) = sum;
            }
        }
        last = beat.last;
        data_out.write(beat);
    } while (!last);
}
