// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// For test benches, here and in Vitis HLS (C simulation and co-simulation): bytes to and from a slot's streams, random
/// bytes, and counts of checks. A test bench ends with `return Checks::report();`.
#ifndef ASSASIN_TESTBENCH_H
#define ASSASIN_TESTBENCH_H

#include "assasin_slot.h"
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

typedef std::vector<uint8_t> bytes_t;

/// Counts of what has been checked.
struct Checks {
    static int &passed() {
        static int count = 0;
        return count;
    }
    static int &failed() {
        static int count = 0;
        return count;
    }
    /// Counts `good`; says `what` when it is not.
    static void check(bool good, const std::string &what) {
        if (good) {
            passed()++;
        } else {
            failed()++;
            std::printf("FAILED: %s\n", what.c_str());
        }
    }
    /// Prints the counts. \return what main returns: 0 when checks were made and all of them passed
    static int report() {
        std::printf("%d passed, %d failed\n", passed(), failed());
        return passed() > 0 && failed() == 0 ? 0 : 1;
    }
};

/// Puts bytes on a stream as the slot does.
inline void to_stream(const bytes_t &bytes, hls::stream<beat_t> &stream) {
    std::size_t at = 0;
    do {
        ap_uint<64> data = 0;
        unsigned count = 0;
        for (; count < BEAT_BYTES && at < bytes.size(); count++, at++)
            data.range(8 * count + 7, 8 * count) = bytes[at];
        stream.write(make_beat(data, count, at == bytes.size()));
    } while (at < bytes.size());
}

/// Takes the bytes of a kernel's output off a stream. What a slot would not take is a failed check.
inline bytes_t from_stream(hls::stream<beat_t> &stream) {
    bytes_t bytes;
    bool last = false;
    while (!last) {
        if (stream.empty()) {
            Checks::check(false, "the output ends without a beat that has last");
            return bytes;
        }
        const beat_t beat = stream.read();
        const unsigned keep = beat.keep.to_uint();
        last = beat.last.to_uint() != 0;
        if ((keep & (keep + 1)) != 0 || (!last && keep != 0xff))
            Checks::check(false, "a beat's keep has a gap, or is not whole before the last one");
        for (unsigned i = 0; i < BEAT_BYTES && (keep >> i & 1); i++)
            bytes.push_back(uint8_t(beat.data.range(8 * i + 7, 8 * i).to_uint()));
    }
    Checks::check(stream.empty(), "there are beats behind the last one");
    return bytes;
}

/// Pseudo-random numbers, the same on every machine (xorshift, Marsaglia 2003).
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed * 2 + 1) {
    }
    uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    /// A number below `limit`.
    uint32_t below(uint32_t limit) {
        return uint32_t((next() >> 11) % limit);
    }
    bytes_t bytes(std::size_t count) {
        bytes_t out(count);
        for (std::size_t i = 0; i < count; i++)
            out[i] = uint8_t(next() >> 24);
        return out;
    }

  private:
    uint64_t state_;
};

/// A little-endian word out of bytes, and behind bytes.
inline uint32_t word_at(const bytes_t &bytes, std::size_t at) {
    return uint32_t(bytes[at]) | uint32_t(bytes[at + 1]) << 8 | uint32_t(bytes[at + 2]) << 16 |
           uint32_t(bytes[at + 3]) << 24;
}
inline void append_word(bytes_t &bytes, uint32_t word) {
    for (int i = 0; i < 4; i++)
        bytes.push_back(uint8_t(word >> (8 * i)));
}

#endif
