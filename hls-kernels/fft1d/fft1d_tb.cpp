// SPDX-License-Identifier: BSD-3-Clause
// Against the transform's definition in double precision, and against transforms that are known in closed form.
#include "assasin_testbench.h"
#include "fft1d.h"
#include <cmath>
#include <complex>
#include <cstring>

typedef std::complex<double> point_t;
typedef std::vector<point_t> row_t;

static const int N = FFT1D_POINTS;
static const double PI = 3.14159265358979323846;

static row_t definition(const row_t &row) {
    static row_t root;
    if (root.empty())
        for (int i = 0; i < N; i++)
            root.push_back(std::polar(1.0, -2 * PI * i / N));
    row_t out(N);
    for (int k = 0; k < N; k++)
        for (int n = 0; n < N; n++)
            out[k] += row[n] * root[(long(k) * n) % N];
    return out;
}

static void append_float(bytes_t &bytes, double value) {
    const float single = float(value);
    uint32_t word;
    std::memcpy(&word, &single, sizeof word);
    append_word(bytes, word);
}

static double float_at(const bytes_t &bytes, std::size_t at) {
    const uint32_t word = word_at(bytes, at);
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
}

/// Runs `input` as `rows` rows and compares with `expected`; the error may be 10^-6 of the row's norm.
static void compare(const bytes_t &input, unsigned rows, const std::vector<row_t> &expected, const std::string &what) {
    hls::stream<beat_t> in("in"), out("out");
    to_stream(input, in);
    fft1d(in, out, rows);
    Checks::check(in.empty(), what + ": input is left");
    const bytes_t result = from_stream(out);
    Checks::check(result.size() == std::size_t(8 * N) * rows, what + ": " + std::to_string(result.size()) + " bytes");
    if (result.size() != std::size_t(8 * N) * rows)
        return;
    for (unsigned r = 0; r < rows; r++) {
        double error = 0, norm = 0;
        for (int i = 0; i < N; i++) {
            const std::size_t at = 8 * (std::size_t(r) * N + i);
            error += std::norm(point_t(float_at(result, at), float_at(result, at + 4)) - expected[r][i]);
            norm += std::norm(expected[r][i]);
        }
        Checks::check(error <= 1e-12 * norm, what + ": row " + std::to_string(r));
    }
}

static bytes_t bytes_of(const std::vector<row_t> &rows) {
    bytes_t out;
    for (const row_t &row : rows) {
        for (const point_t &p : row) {
            append_float(out, p.real());
            append_float(out, p.imag());
        }
    }
    return out;
}

static row_t noise(Random &random) {
    row_t row(N);
    for (point_t &p : row) // numbers that a float holds exactly
        p = point_t(int(random.below(1 << 20)) - (1 << 19), int(random.below(1 << 20)) - (1 << 19)) / 1024.0;
    return row;
}

int main() {
    Random random(5);
    compare(bytes_t(), 0, {}, "no row");
    row_t impulse(N), ones(N, 1.0);
    impulse[0] = 1;
    compare(bytes_of({impulse}), 1, {ones}, "impulse");
    row_t constant(N);
    constant[0] = N;
    compare(bytes_of({ones}), 1, {constant}, "constant");
    for (int k : {1, 5, 512, 1023}) { // a wave is one line of the spectrum
        row_t wave(N), line(N);
        for (int n = 0; n < N; n++)
            wave[n] = std::polar(1.0, 2 * PI * ((long(k) * n) % N) / N);
        line[k] = N;
        compare(bytes_of({wave}), 1, {line}, "wave " + std::to_string(k));
    }
    std::vector<row_t> rows, transformed;
    for (int i = 0; i < 3; i++) {
        rows.push_back(noise(random));
        transformed.push_back(definition(rows.back()));
    }
    compare(bytes_of(rows), 3, transformed, "three rows of noise");
    // Half a row: the other half counts as zeros, and so do rows behind it.
    row_t half = rows[0];
    std::fill(half.begin() + N / 2, half.end(), point_t());
    bytes_t cut = bytes_of({half});
    cut.resize(cut.size() / 2);
    compare(cut, 2, {definition(half), row_t(N)}, "half a row");
    compare(bytes_t(), 1, {row_t(N)}, "an empty stream");
    compare(bytes_of(rows), 1, {transformed[0]}, "more input than rows");
    compare(bytes_of({half}), 0, {}, "input, but no row");
    return Checks::report();
}
