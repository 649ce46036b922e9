// SPDX-License-Identifier: BSD-3-Clause
// Radix 2, decimation in time. Each pass over a row is a process of its own between two buffers, so that as many rows
// as there are passes are under way at the same time (DATAFLOW); a pass does a butterfly a cycle.
#include "fft1d.h"
#include <cmath>

namespace {

const int N = FFT1D_POINTS;

struct complex_t {
    float re, im;
};

union word_t {
    uint32_t bits;
    float value;
};

int bit_reversed(int i) {
#pragma HLS INLINE
    ap_uint<FFT1D_LOG2> straight = i, reversed;
    for (int bit = 0; bit < FFT1D_LOG2; bit++) {
#pragma HLS UNROLL
        reversed[bit] = straight[FFT1D_LOG2 - 1 - bit];
    }
    return reversed.to_int();
}

/// e^(-2 pi i k / N) for k < N / 2. Constant for the compiler, which makes a ROM of it.
void twiddles(complex_t table[N / 2]) {
    for (int k = 0; k < N / 2; k++) {
        const double angle = -2.0 * 3.14159265358979323846 * k / N;
        table[k].re = float(std::cos(angle));
        table[k].im = float(std::sin(angle));
    }
}

void drop_rest(hls::stream<beat_t> &in, bool ended) {
    while (!ended) {
#pragma HLS PIPELINE II = 1
        ended = in.read().last;
    }
}

void read_row(hls::stream<beat_t> &in, complex_t row[N], bool first, bool last) {
    static bool ended;
    if (first)
        ended = false;
    for (int i = 0; i < N; i++) {
#pragma HLS PIPELINE II = 1
        word_t re, im;
        re.bits = im.bits = 0;
        if (!ended) {
            const beat_t beat = in.read();
            if (beat.keep[3])
                re.bits = beat.data.range(31, 0).to_uint();
            if (beat.keep[7])
                im.bits = beat.data.range(63, 32).to_uint();
            ended = beat.last;
        }
        const complex_t value = {re.value, im.value};
        row[bit_reversed(i)] = value;
    }
    if (last)
        drop_rest(in, ended);
}

/// Pass PASS, from 1: butterflies over 2^(PASS - 1) points.
template <int PASS> void butterflies(const complex_t in[N], complex_t out[N]) {
    complex_t table[N / 2];
    twiddles(table);
    for (int k = 0; k < N / 2; k++) {
#pragma HLS PIPELINE II = 1
        const int distance = 1 << (PASS - 1);
        const int low = k & (distance - 1);
        const int i = (k - low) << 1 | low;
        const complex_t w = table[low << (FFT1D_LOG2 - PASS)];
        const complex_t a = in[i], b = in[i + distance];
        const complex_t t = {w.re * b.re - w.im * b.im, w.re * b.im + w.im * b.re};
        const complex_t sum = {a.re + t.re, a.im + t.im}, difference = {a.re - t.re, a.im - t.im};
        out[i] = sum;
        out[i + distance] = difference;
    }
}

void write_row(const complex_t row[N], hls::stream<beat_t> &out, bool last) {
    for (int i = 0; i < N; i++) {
#pragma HLS PIPELINE II = 1
        word_t re, im;
        re.value = row[i].re;
        im.value = row[i].im;
        out.write(make_beat((ap_uint<32>(im.bits), ap_uint<32>(re.bits)), 8, last && i == N - 1));
    }
}

void transform(hls::stream<beat_t> &in, hls::stream<beat_t> &out, ap_uint<32> rows) {
    for (ap_uint<32> row = 0; row < rows; row++) {
#pragma HLS DATAFLOW
        complex_t p0[N], p1[N], p2[N], p3[N], p4[N], p5[N], p6[N], p7[N], p8[N], p9[N], p10[N];
        read_row(in, p0, row == 0, row == rows - 1);
        butterflies<1>(p0, p1);
        butterflies<2>(p1, p2);
        butterflies<3>(p2, p3);
        butterflies<4>(p3, p4);
        butterflies<5>(p4, p5);
        butterflies<6>(p5, p6);
        butterflies<7>(p6, p7);
        butterflies<8>(p7, p8);
        butterflies<9>(p8, p9);
        butterflies<10>(p9, p10);
        write_row(p10, out, row == rows - 1);
    }
}

} // namespace

void fft1d(hls::stream<beat_t> &rows_in, hls::stream<beat_t> &rows_out, ap_uint<32> rows) {
#pragma HLS INTERFACE mode = axis port = rows_in
#pragma HLS INTERFACE mode = axis port = rows_out
#pragma HLS INTERFACE mode = s_axilite port = rows
#pragma HLS INTERFACE mode = s_axilite port = return
    if (rows == 0) {
        drop_rest(rows_in, false);
        rows_out.write(make_beat(0, 0, true));
    } else {
        transform(rows_in, rows_out, rows);
    }
}
