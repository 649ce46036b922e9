// SPDX-License-Identifier: BSD-3-Clause
// Against a search of the bytes: no beats, windows or bits.
#include "assasin_testbench.h"
#include "fgrep8.h"
#include <algorithm>

static uint64_t places(const bytes_t &text, const bytes_t &key) {
    uint64_t count = 0;
    for (auto at = text.begin(); (at = std::search(at, text.end(), key.begin(), key.end())) != text.end(); ++at)
        count++;
    return count;
}

static void compare(const bytes_t &text, const bytes_t &key, const std::string &what) {
    hls::stream<beat_t> in("in"), out("out");
    to_stream(text, in);
    fgrep8(in, out, word_at(key, 0), word_at(key, 4));
    const bytes_t result = from_stream(out);
    Checks::check(in.empty(), what + ": input is left");
    Checks::check(result.size() == 8, what + ": the result is not one count");
    if (result.size() == 8)
        Checks::check((word_at(result, 0) | uint64_t(word_at(result, 4)) << 32) == places(text, key), what + ": count");
}

int main() {
    Random random(1);
    const bytes_t key = {'A', 'S', 'S', 'A', 'S', 'I', 'N', '!'};
    for (unsigned size = 0; size < 40; size++)
        compare(random.bytes(size), key, std::to_string(size) + " random bytes");
    for (unsigned at = 0; at < 24; at++) { // every offset in a beat, the end of the stream at every offset behind it
        for (unsigned rest = 0; rest < 9; rest++) {
            bytes_t text = random.bytes(at);
            text.insert(text.end(), key.begin(), key.end());
            const bytes_t more = random.bytes(rest);
            text.insert(text.end(), more.begin(), more.end());
            compare(text, key, "one at " + std::to_string(at) + ", " + std::to_string(rest) + " bytes behind it");
        }
    }
    for (unsigned size = 0; size < 30; size++)
        compare(bytes_t(size, 'x'), bytes_t(8, 'x'), "overlapping places in " + std::to_string(size) + " bytes");
    for (unsigned size = 0; size < 20; size++) // what is before the first byte must not count
        compare(bytes_t(size, 0), bytes_t(8, 0), "zeros, " + std::to_string(size));
    for (int i = 0; i < 20; i++) { // two letters: many places
        bytes_t text = random.bytes(2000 + i), pattern = random.bytes(8);
        for (auto &c : text)
            c = 'a' + (c & 1);
        for (auto &c : pattern)
            c = 'a' + (c & 1);
        compare(text, pattern, "two letters, " + std::to_string(i));
    }
    return Checks::report();
}
