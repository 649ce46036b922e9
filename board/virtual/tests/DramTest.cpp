// SPDX-License-Identifier: BSD-3-Clause
#include "dram/Dram.h"

#include <cstring>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace {

using assasin::Axi4Wires;
using assasin::Dram;
using assasin::DramParams;

DramParams params(double bytesPerCycle = 8.0) {
    DramParams p;
    p.size = 1 << 20;
    p.readLatency = 40;
    p.writeLatency = 10;
    p.bytesPerCycle = bytesPerCycle;
    return p;
}

/// Issues one read burst and counts the cycles to its first and its last beat.
struct ReadTiming {
    uint64_t first = 0;
    uint64_t last = 0;
};

ReadTiming timeRead(Dram &dram, unsigned beats) {
    Axi4Wires w;
    ReadTiming t;
    w.arValid = true;
    w.arLen = uint8_t(beats - 1);
    w.rReady = true;
    unsigned got = 0;
    for (uint64_t now = 0; got < beats && now < 100000; now++) {
        dram.drive(w, now);
        const bool taken = w.arValid && w.arReady;
        if (w.rValid) {
            if (got++ == 0) {
                t.first = now;
            }
            t.last = now;
            EXPECT_EQ(w.rLast, got == beats);
        }
        dram.sample(w, now);
        if (taken) {
            w.arValid = false;
        }
    }
    EXPECT_EQ(got, beats);
    return t;
}

TEST(Dram, LatencyAndFullBandwidth) {
    Dram dram(params(8.0));
    const ReadTiming t = timeRead(dram, 256);
    EXPECT_EQ(t.first, 40u);
    EXPECT_EQ(t.last - t.first, 255u);
    EXPECT_TRUE(dram.idle());
}

TEST(Dram, BandwidthBelowTheBus) {
    Dram dram(params(2.0));
    const ReadTiming t = timeRead(dram, 256);
    EXPECT_EQ(t.last - t.first, 255u * 4);
}

TEST(Dram, FractionalBandwidthAverages) {
    Dram dram(params(5.0));
    const ReadTiming t = timeRead(dram, 200);
    EXPECT_NEAR(double(t.last - t.first), 199 * 8 / 5.0, 2);
}

TEST(Dram, RandomTrafficKeepsContentsAndOrder) {
    Dram dram(params());
    std::mt19937_64 random(1);
    std::vector<uint8_t> expected(params().size, 0);
    struct Read {
        uint8_t id;
        std::vector<uint64_t> beats;
    };
    struct Write {
        uint32_t addr;
        std::vector<uint64_t> data;
        std::vector<uint8_t> strb;
    };
    // one half of the memory is written while the other is read, so that order between the two does not matter
    for (int round = 0; round < 40; round++) {
        const uint32_t half = round & 1 ? 0 : 1u << 19;
        std::deque<Read> reads;
        std::deque<Write> writes;
        std::deque<uint8_t> answers;
        unsigned toRead = 30, toWrite = 30;
        size_t readBeat = 0, writeBeat = 0, writesAddressed = 0;
        Axi4Wires w;
        Read nextRead;
        Write nextWrite;
        std::deque<uint8_t> writeIds;
        for (uint64_t now = uint64_t(round) * 100000, end = now + 50000;; now++) {
            ASSERT_LT(now, end);
            if (!w.arValid && toRead > 0 && random() % 4 == 0) {
                w.arValid = true;
                w.arAddr = half + uint32_t(random() % 8000) * 64;
                w.arLen = uint8_t(random() % 8);
                w.arId = uint8_t(random() % 16);
                toRead--;
            }
            if (!w.awValid && toWrite > 0 && random() % 4 == 0) {
                w.awValid = true;
                nextWrite = Write();
                nextWrite.addr = w.awAddr = (half ^ 1u << 19) + uint32_t(random() % 8000) * 64;
                w.awLen = uint8_t(random() % 8);
                w.awId = uint8_t(random() % 16);
                for (int i = 0; i <= w.awLen; i++) {
                    nextWrite.data.push_back(random());
                    nextWrite.strb.push_back(random() % 2 ? 0xFF : uint8_t(random()));
                }
                toWrite--;
            }
            w.wValid = writesAddressed > 0;
            if (w.wValid) {
                w.wData = writes.front().data[writeBeat];
                w.wStrb = writes.front().strb[writeBeat];
                w.wLast = writeBeat + 1 == writes.front().data.size();
            }
            w.rReady = random() % 3 != 0;
            w.bReady = random() % 2 != 0;
            dram.drive(w, now);
            if (w.arValid && w.arReady) {
                Read r;
                r.id = w.arId;
                r.beats.resize(w.arLen + 1u);
                std::memcpy(r.beats.data(), &expected[w.arAddr], r.beats.size() * 8);
                reads.push_back(r);
            }
            if (w.rValid && w.rReady) {
                ASSERT_FALSE(reads.empty());
                EXPECT_EQ(w.rId, reads.front().id);
                EXPECT_EQ(w.rData, reads.front().beats[readBeat]);
                if (++readBeat == reads.front().beats.size()) {
                    EXPECT_TRUE(w.rLast);
                    reads.pop_front();
                    readBeat = 0;
                }
            }
            if (w.bValid && w.bReady) {
                ASSERT_FALSE(answers.empty());
                EXPECT_EQ(w.bId, answers.front());
                answers.pop_front();
            }
            if (w.wValid && w.wReady) {
                const Write &x = writes.front();
                for (unsigned i = 0; i < 8; i++) {
                    if (w.wStrb >> i & 1) {
                        expected[x.addr + writeBeat * 8 + i] = uint8_t(w.wData >> (8 * i));
                    }
                }
                if (++writeBeat == x.data.size()) {
                    answers.push_back(writeIds.front());
                    writeIds.pop_front();
                    writes.pop_front();
                    writesAddressed--;
                    writeBeat = 0;
                }
            }
            const bool arTaken = w.arValid && w.arReady, awTaken = w.awValid && w.awReady;
            dram.sample(w, now);
            if (arTaken) {
                w.arValid = false;
            }
            if (awTaken) {
                w.awValid = false;
                writes.push_back(nextWrite);
                writeIds.push_back(w.awId);
                writesAddressed++;
            }
            if (toRead + toWrite == 0 && !w.arValid && !w.awValid && reads.empty() && writes.empty() &&
                answers.empty()) {
                break;
            }
        }
        EXPECT_TRUE(dram.idle());
    }
    EXPECT_EQ(std::memcmp(dram.data(), expected.data(), expected.size()), 0);
}

TEST(Dram, WrongLastStopsTheRun) {
    Dram dram(params());
    Axi4Wires w;
    w.awValid = true;
    w.awLen = 1;
    dram.drive(w, 0);
    dram.sample(w, 0);
    w.awValid = false;
    w.wValid = true;
    w.wLast = true;
    dram.drive(w, 1);
    ASSERT_TRUE(w.wReady);
    EXPECT_THROW(dram.sample(w, 1), std::runtime_error);
}

TEST(Dram, AddressPastTheEndStopsTheRun) {
    Dram dram(params());
    Axi4Wires w;
    w.arValid = true;
    w.arAddr = 0x80000000 + (1 << 20);
    dram.drive(w, 0);
    dram.sample(w, 0);
    EXPECT_THROW(dram.drive(w, 100), std::runtime_error);
}

TEST(Dram, RefusesOddSizes) {
    DramParams p = params();
    p.size = 3 << 20;
    EXPECT_THROW(Dram d(p), std::invalid_argument);
}

} // namespace
