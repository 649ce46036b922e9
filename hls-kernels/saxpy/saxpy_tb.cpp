// SPDX-License-Identifier: BSD-3-Clause
// Against the same arithmetic in double precision, rounded: a product of two floats is exact there, and so is all but
// the last bit of a sum whose rounding can matter to a float (2 * 24 + 2 <= 53), so one rounding each is the float's
// own.
#include "assasin_testbench.h"
#include "saxpy.h"
#include <cmath>
#include <cstring>

static uint32_t bits_of(float value) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    return word;
}

static float value_of(uint32_t word) {
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
}

static uint32_t expected(float alpha, uint32_t b, uint32_t c) {
    const float product = float(double(alpha) * double(value_of(b)));
    return bits_of(float(double(product) + double(value_of(c))));
}

/// A number of an exponent that neither overflows nor becomes subnormal in one multiplication and addition.
static uint32_t number(Random &random) {
    return uint32_t(random.next() >> 40) << 31 | (97 + random.below(60)) << 23 | random.below(1 << 23);
}

static void compare(const bytes_t &b, const bytes_t &c, float alpha, const std::string &what) {
    hls::stream<beat_t> b_in("b"), c_in("c"), out("out");
    to_stream(b, b_in);
    to_stream(c, c_in);
    saxpy(b_in, c_in, out, alpha);
    const bytes_t result = from_stream(out);
    Checks::check(b_in.empty() && c_in.empty(), what + ": input is left");
    // A beat of the shorter vector may be cut off on either side.
    const std::size_t count = std::min(b.size(), c.size()) / 4;
    Checks::check(result.size() == 4 * count, what + ": " + std::to_string(result.size()) + " bytes");
    bool equal = result.size() == 4 * count;
    for (std::size_t i = 0; equal && i < count; i++)
        equal = word_at(result, 4 * i) == expected(alpha, word_at(b, 4 * i), word_at(c, 4 * i));
    Checks::check(equal, what + ": values");
}

static bytes_t vector_of(Random &random, unsigned count) {
    bytes_t out;
    for (unsigned i = 0; i < count; i++)
        append_word(out, number(random));
    return out;
}

int main() {
    Random random(2);
    for (unsigned count = 0; count < 20; count++)
        compare(vector_of(random, count), vector_of(random, count), value_of(number(random)),
                std::to_string(count) + " values");
    for (unsigned b = 0; b < 5; b++)
        for (unsigned c = 0; c < 5; c++)
            compare(vector_of(random, 3 * b), vector_of(random, 2 * c), 3.5f, "vectors of different lengths");
    for (unsigned cut = 1; cut < 8; cut++) {
        bytes_t vector = vector_of(random, 6);
        vector.resize(vector.size() - cut);
        compare(vector, vector, -1.25f, "cut off by " + std::to_string(cut));
    }
    for (float alpha : {0.0f, -0.0f, 1.0f, -2.0f, 1e10f})
        compare(vector_of(random, 5000), vector_of(random, 5000), alpha, "5,000 values");
    const float infinity = value_of(0x7f800000);
    bytes_t special;
    for (float value : {0.0f, -0.0f, infinity, -infinity, 1.0f, -1.0f})
        append_word(special, bits_of(value));
    compare(special, special, 2.0f, "zeros and infinities");
    return Checks::report();
}
