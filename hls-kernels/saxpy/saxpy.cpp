// SPDX-License-Identifier: BSD-3-Clause
// XSSD's saxpy (section 4.2): two values of each vector a cycle.
#include "saxpy.h"

static float to_float(ap_uint<32> word) {
#pragma HLS INLINE
    union {
        uint32_t bits;
        float value;
    } both;
    both.bits = word.to_uint();
    return both.value;
}

static ap_uint<32> to_bits(float value) {
#pragma HLS INLINE
    union {
        uint32_t bits;
        float value;
    } both;
    both.value = value;
    return ap_uint<32>(both.bits);
}

void saxpy(hls::stream<beat_t> &b_in, hls::stream<beat_t> &c_in, hls::stream<beat_t> &a_out, float alpha) {
#pragma HLS INTERFACE mode = axis port = b_in
#pragma HLS INTERFACE mode = axis port = c_in
#pragma HLS INTERFACE mode = axis port = a_out
#pragma HLS INTERFACE mode = s_axilite port = alpha
#pragma HLS INTERFACE mode = s_axilite port = return
    bool b_last, c_last;
    do {
#pragma HLS PIPELINE II = 1
        const beat_t b = b_in.read();
        const beat_t c = c_in.read();
        const ap_uint<32> low = to_bits(alpha * to_float(b.data.range(31, 0)) + to_float(c.data.range(31, 0)));
        const ap_uint<32> high = to_bits(alpha * to_float(b.data.range(63, 32)) + to_float(c.data.range(63, 32)));
        const ap_uint<8> there = b.keep & c.keep;
        b_last = b.last;
        c_last = c.last;
        a_out.write(make_beat((high, low), there[7] ? 8 : there[3] ? 4 : 0, b_last || c_last));
    } while (!b_last && !c_last);
    // What the longer vector has left.
    while (!b_last) {
#pragma HLS PIPELINE II = 1
        b_last = b_in.read().last;
    }
    while (!c_last) {
#pragma HLS PIPELINE II = 1
        c_last = c_in.read().last;
    }
}
