// SPDX-License-Identifier: BSD-3-Clause
// Drives CodecBench with the codewords that vectors.py writes to standard input, and compares what the units find with
// what it expects.
#include "VCodecBench.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr unsigned kBeat = CODEC_BEAT_BYTES;
constexpr unsigned kTableCycles = 9000;

struct Codeword {
    char flag = '-';
    std::vector<uint8_t> message, parity;
    std::vector<unsigned> flips, errors;
    int count = 0;
    uint8_t id = 0;
};

std::vector<uint8_t> bytesOf(const std::string &hex) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

Codeword parse(const std::string &line) {
    std::istringstream in(line);
    Codeword codeword;
    std::string message, parity, word;
    in >> codeword.flag >> message >> parity;
    codeword.message = bytesOf(message);
    codeword.parity = bytesOf(parity);
    while (in >> word && word != ":")
        codeword.flips.push_back(static_cast<unsigned>(std::stoul(word)));
    in >> codeword.count;
    for (unsigned bit; in >> bit;)
        codeword.errors.push_back(bit);
    return codeword;
}

class Bench {
  public:
    Bench() {
        top_.reset = 1;
        for (int i = 0; i < 4; i++)
            tick();
        top_.reset = 0;
    }

    void begin(unsigned strength, unsigned t, const std::string &name) {
        end();
        name_ = "t = " + std::to_string(t) + ": " + name;
        t_ = t;
        if (strength != top_.io_strength) {
            top_.io_strength = strength;
            top_.io_build = 1;
            tick();
            top_.io_build = 0;
            unsigned cycles = 0;
            while (top_.io_building && ++cycles < kTableCycles)
                tick();
            expect(cycles < kTableCycles, "the tables are not finished in time");
        }
        sent_ = rateCodewords_ = rateCycles_ = 0;
        failures_ = 0;
        open_ = true;
    }

    void end() {
        idle();
        if (!open_)
            return;
        (failures_ ? failed_ : passed_)++;
        std::printf("%s: %s, %u codewords\n", failures_ ? "FAILED" : "ok", name_.c_str(), sent_);
        if (rateCodewords_)
            std::printf("   %.1f cycles a codeword, %.1f on the bus\n", double(rateCycles_) / rateCodewords_,
                        double(busCycles_));
        for (const auto &[count, times] : latency_)
            std::printf("   %3d errors: %5u cycles, longest %5u\n", count, times.sum / times.number, times.longest);
        latency_.clear();
        open_ = false;
    }

    void send(Codeword codeword) {
        sent_++;
        tallies_[t_].add(codeword.flips.size(), t_);
        codeword.id = id_++;
        if (codeword.flag == 'e')
            encode(codeword);
        if (codeword.flag == 'a')
            idle();
        slow_ = codeword.flag == 's';
        const uint64_t start = cycle_;
        std::vector<uint8_t> bytes = codeword.message;
        const size_t parityBytes = (codeword.parity.size() + kBeat - 1) / kBeat * kBeat;
        bytes.insert(bytes.end(), codeword.parity.begin(), codeword.parity.end());
        // What lies behind the parity may be anything.
        const size_t used = bytes.size();
        bytes.resize(codeword.message.size() + parityBytes);
        for (size_t i = used; i < bytes.size(); i++)
            bytes[i] = static_cast<uint8_t>(random_());
        if (unsigned spare = degree(codeword.parity.size()) % 8)
            bytes[used - 1] |= random_() & ((1u << (8 - spare)) - 1);
        for (unsigned bit : codeword.flips)
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
        bool zero = true;
        top_.io_decoding = 1;
        for (size_t i = 0; i < bytes.size(); i += kBeat) {
            const uint32_t beat = beatAt(bytes, i);
            if (i < codeword.message.size()) {
                message(beat, i == 0);
                continue;
            }
            if (i == codeword.message.size())
                waitForRoom();
            top_.io_data = beat & kMask;
            top_.eval();
            zero &= top_.io_error == 0;
            parity(beat);
        }
        top_.io_decoding = 0;
        top_.eval();
        expect(top_.io_clean == zero, "`clean` is not whether the errors' remainder is 0");
        expect(top_.io_clean == (codeword.count == 0), "`clean` is not whether there are errors");
        busCycles_ = bytes.size() / kBeat;
        if (!top_.io_clean) {
            expected_.push_back(codeword);
            takenAt_[codeword.id] = cycle_;
        }
        // What becomes of the remainder is said in the cycle in which the next message may begin.
        (top_.io_clean ? top_.io_forget : top_.io_keep) = 1;
        top_.io_id = codeword.id;
        if (codeword.flag == 'r') {
            rateCodewords_++;
            rateCycles_ += cycle_ - start;
        }
    }

    int finish() {
        end();
        for (const auto &[t, tally] : tallies_)
            std::printf("t = %u: %lu codewords: %lu without errors, %lu with 1 to t - 1, %lu with t, %lu with more\n",
                        t, tally.none + tally.fewer + tally.most + tally.more, tally.none, tally.fewer, tally.most,
                        tally.more);
        std::printf("%u passed, %u failed\n", passed_, failed_);
        return failed_ != 0;
    }

  private:
    struct Times {
        unsigned sum = 0, number = 0, longest = 0;
    };

    /** Codewords by how many of their bits are wrong. */
    struct Tally {
        unsigned long none = 0, fewer = 0, most = 0, more = 0;
        void add(size_t errors, unsigned t) {
            (errors == 0 ? none : errors < t ? fewer : errors == t ? most : more)++;
        }
    };

    unsigned degree(size_t parityBytes) const {
        // 14 t, or 14 t - 7 from t = 65 on (docs/medium.md)
        const unsigned bits = 14 * t_ - (t_ >= 65 ? 7 : 0);
        expect((bits + 7) / 8 == parityBytes, "parity has another length than docs/medium.md says");
        return bits;
    }

    static uint32_t beatAt(const std::vector<uint8_t> &bytes, size_t i) {
        uint32_t beat = 0;
        for (unsigned k = 0; k < kBeat; k++)
            beat |= uint32_t(bytes[i + k]) << (8 * k);
        return beat;
    }

    static constexpr uint32_t kMask = kBeat == 4 ? ~0u : (1u << (8 * kBeat % 32)) - 1;

    void message(uint32_t beat, bool first) {
        top_.io_message = 1;
        top_.io_clear = first;
        top_.io_data = beat & kMask;
        tick();
        top_.io_message = top_.io_clear = 0;
    }

    void parity(uint32_t beat) {
        top_.io_parity = 1;
        top_.io_data = beat & kMask;
        tick();
        top_.io_parity = 0;
    }

    /** Sends a codeword as a writer does and compares its parity. */
    void encode(const Codeword &codeword) {
        for (size_t i = 0; i < codeword.message.size(); i += kBeat)
            message(beatAt(codeword.message, i), i == 0);
        std::vector<uint8_t> found;
        const size_t parityBytes = (codeword.parity.size() + kBeat - 1) / kBeat * kBeat;
        for (size_t i = 0; i < parityBytes; i += kBeat) {
            top_.eval();
            for (unsigned k = 0; k < kBeat; k++)
                found.push_back(static_cast<uint8_t>(top_.io_top >> (8 * k)));
            parity(0);
        }
        std::vector<uint8_t> wanted = codeword.parity;
        wanted.resize(parityBytes, 0xff);
        expect(found == wanted, "the encoder's parity differs");
        top_.io_clear = 1;
        tick();
        top_.io_clear = 0;
    }

    void waitForRoom() {
        unsigned cycles = 0;
        for (top_.eval(); !top_.io_room && cycles < 100000; cycles++)
            tick();
        expect(cycles < 100000, "the decoder takes no codeword");
    }

    void idle() {
        unsigned cycles = 0;
        for (top_.eval(); (!expected_.empty() || !top_.io_quiet) && cycles < 200000; cycles++)
            tick();
        if (cycles == 200000)
            expect(false, "the decoder is not idle in 200000 cycles");
        expect(expected_.empty(), "a codeword has no result");
        expected_.clear();
        shown_.clear();
    }

    void tick() {
        top_.io_errorReady = !slow_ || random_() % 200 == 0;
        top_.eval();
        if (top_.io_errorValid && top_.io_errorReady) {
            expect(!expected_.empty() && expected_.front().id == top_.io_errorId, "an error of another codeword");
            shown_.push_back(top_.io_errorBit);
        }
        if (top_.io_resultValid)
            result();
        top_.clock = 1;
        top_.eval();
        top_.clock = 0;
        top_.eval();
        cycle_++;
        top_.io_keep = top_.io_forget = 0;
    }

    void result() {
        if (expected_.empty()) {
            expect(false, "a result without a codeword");
            return;
        }
        const Codeword codeword = expected_.front();
        expected_.pop_front();
        expect(codeword.id == top_.io_resultId, "a result of another codeword");
        expect(top_.io_resultFailed == (codeword.count < 0),
               "failed differs, expected count " + std::to_string(codeword.count));
        if (codeword.count >= 0) {
            std::sort(shown_.begin(), shown_.end());
            expect(int(top_.io_resultCount) == codeword.count,
                   "count " + std::to_string(top_.io_resultCount) + ", expected " + std::to_string(codeword.count));
            expect(shown_ == codeword.errors, "other bits than expected, of " + std::to_string(codeword.count));
        }
        shown_.clear();
        if (codeword.flag == 'a') {
            Times &times = latency_[int(codeword.flips.size())];
            const unsigned cycles = unsigned(cycle_ - takenAt_[codeword.id]);
            times.sum += cycles;
            times.number++;
            times.longest = std::max(times.longest, cycles);
        }
    }

    void expect(bool condition, const std::string &what) const {
        if (condition)
            return;
        if (failures_++ < 5)
            std::printf("   %s: codeword %u, cycle %llu: %s\n", name_.c_str(), sent_,
                        static_cast<unsigned long long>(cycle_), what.c_str());
    }

    VCodecBench top_;
    std::mt19937 random_{1};
    std::string name_ = "reset";
    unsigned t_ = 0;
    std::deque<Codeword> expected_;
    std::vector<unsigned> shown_;
    std::map<int, Times> latency_;
    std::map<unsigned, Tally> tallies_;
    std::array<uint64_t, 256> takenAt_{};
    uint64_t cycle_ = 0, rateCycles_ = 0, busCycles_ = 0;
    unsigned sent_ = 0, rateCodewords_ = 0, passed_ = 0, failed_ = 0;
    mutable unsigned failures_ = 0;
    uint8_t id_ = 0;
    bool open_ = false, slow_ = false;
};

} // namespace

int main() {
    Bench bench;
    std::string line;
    while (std::getline(std::cin, line)) {
        if (line[0] == '@') {
            std::istringstream in(line.substr(1));
            unsigned strength, t;
            std::string name;
            in >> strength >> t >> std::ws;
            std::getline(in, name);
            bench.begin(strength, t, name);
        } else {
            bench.send(parse(line));
        }
    }
    return bench.finish();
}
