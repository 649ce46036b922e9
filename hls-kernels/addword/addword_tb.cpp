// SPDX-License-Identifier: BSD-3-Clause
// Against additions of words in memory.
#include "addword.h"
#include "assasin_testbench.h"

static void compare(const bytes_t &input, uint32_t addend, const std::string &what) {
    bytes_t expected;
    std::size_t at = 0;
    for (; at + 4 <= input.size(); at += 4)
        append_word(expected, word_at(input, at) + addend);
    expected.insert(expected.end(), input.begin() + at, input.end());
    hls::stream<beat_t> in("in"), out("out");
    to_stream(input, in);
    addword(in, out, addend);
    Checks::check(in.empty(), what + ": input is left");
    Checks::check(from_stream(out) == expected, what + ": words");
}

int main() {
    Random random(6);
    for (unsigned size = 0; size < 40; size++)
        compare(random.bytes(size), uint32_t(random.next()), std::to_string(size) + " bytes");
    compare(bytes_t(16, 0xff), 1, "overflow");
    compare(random.bytes(10000), 0x80000000, "10,000 bytes");
    return Checks::report();
}
