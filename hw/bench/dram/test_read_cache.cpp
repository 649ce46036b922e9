// SPDX-License-Identifier: BSD-3-Clause
// The firmware processor's read cache of DRAM.
#include "UncoreBench.h"
#include "assasin_contract.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace uncorebench;

namespace {

constexpr uint32_t MIB = 1u << 20;
constexpr uint32_t FIRST = DramModel::BASE + MIB; ///< of what is cached
constexpr uint32_t END = FIRST + 2 * MIB;
constexpr uint32_t SPAN = 64 * 64; ///< bytes of all lines: addresses so far apart share a place
constexpr unsigned HIT = 4;        ///< cycles from the request to the answer, at most

class ReadCache : public ::testing::Test {
  protected:
    ReadCache() : bench(seed()) {
        bench.release();
        bench.dram.hesitation = bench.rng() % 40;
        for (uint32_t i = 0; i < DramModel::SIZE; i += 4) {
            put(DramModel::BASE + i, bench.rng());
        }
        bench.store(ASSASIN_SYS_BASE + SYS_CACHE_FIRST, FIRST);
        bench.store(ASSASIN_SYS_BASE + SYS_CACHE_END, END);
    }

    uint32_t get(uint32_t addr) {
        uint32_t word;
        std::memcpy(&word, bench.dram.at(addr), 4);
        return word;
    }
    /// Somebody else writes.
    void put(uint32_t addr, uint32_t word) {
        std::memcpy(bench.dram.at(addr), &word, 4);
    }
    void flush() {
        bench.store(ASSASIN_SYS_BASE + SYS_CACHE_FLUSH, 1);
    }
    /// Loads, and says whether DRAM was read for it.
    bool missed(uint32_t addr, uint32_t &data) {
        const uint64_t before = bench.dram.readBeats;
        data = bench.load(addr);
        return bench.dram.readBeats != before;
    }
    bool missed(uint32_t addr) {
        uint32_t data;
        return missed(addr, data);
    }

    UncoreBench bench;
};

// Loads and stores of all sizes, in and around the window, mixed with writes of others that are followed by a flush.
TEST_F(ReadCache, LoadsAreWhatTheLastWriteLeft) {
    auto &rng = bench.rng;
    std::vector<uint8_t> mirror(bench.dram.at(DramModel::BASE), bench.dram.at(DramModel::BASE) + DramModel::SIZE);
    unsigned hits = 0;
    for (unsigned i = 0; i < 6000; i++) {
        // A few lines of the window, lines that share a place with them, and the window's edges.
        const uint32_t bases[] = {FIRST, FIRST + SPAN, FIRST + MIB, END - 128, FIRST - 64, END};
        const unsigned size = rng() % 4 ? 2 : rng() % 3;
        const uint32_t addr = bases[rng() % 6] + (rng() % 128 & ~((1u << size) - 1));
        uint8_t *const expected = &mirror[addr - DramModel::BASE];
        if (rng() % 100 == 0) {
            // The processor's last store may be on its way to the same word; a load that is not cached waits for it.
            bench.load(END);
            put(addr & ~3u, rng());
            std::memcpy(&mirror[(addr & ~3u) - DramModel::BASE], bench.dram.at(addr & ~3u), 4);
            flush();
        } else if (rng() % 3 == 0) {
            const uint32_t data = rng();
            ASSERT_FALSE(bench.access(addr, true, data, size).error);
            std::memcpy(expected, &data, 1u << size);
        } else {
            const uint64_t before = bench.dram.readBeats;
            const auto got = bench.access(addr, false, 0, size);
            ASSERT_FALSE(got.error);
            uint32_t want = 0;
            std::memcpy(&want, expected, 1u << size);
            ASSERT_EQ(size == 2 ? got.data : got.data & ((1u << (8u << size)) - 1), want)
                << std::hex << addr << " access " << std::dec << i;
            if (bench.dram.readBeats == before) {
                hits++;
                ASSERT_TRUE(addr >= FIRST && addr < END) << std::hex << addr;
                ASSERT_LE(got.cycles, HIT);
            }
        }
    }
    EXPECT_GT(hits, 500u);
}

// A line is read once, for all of its words, and stays until another one needs its place.
TEST_F(ReadCache, ALineIsReadOnce) {
    for (uint32_t line = FIRST; line < FIRST + SPAN; line += 64) {
        const uint64_t before = bench.dram.readBeats;
        const uint32_t start = bench.rng() % 16;
        for (uint32_t word = 0; word < 16; word++) {
            const uint32_t addr = line + (start + word) % 16 * 4;
            ASSERT_EQ(bench.load(addr), get(addr));
        }
        EXPECT_EQ(bench.dram.readBeats - before, 8u);
    }
    for (uint32_t line = FIRST; line < FIRST + SPAN; line += 64) {
        EXPECT_FALSE(missed(line)) << std::hex << line;
    }
    EXPECT_TRUE(missed(FIRST + SPAN));
    EXPECT_TRUE(missed(FIRST));
    EXPECT_FALSE(missed(FIRST + 64));
}

// A load that finds its line does not wait for the store before it, and one that does not sees what was stored.
TEST_F(ReadCache, StoresKeepItTrue) {
    bench.load(FIRST);
    bench.dram.writeLatency = 500;
    bench.store(FIRST + 8, 0x12345678);
    const auto found = bench.access(FIRST + 8, false, 0, 2);
    EXPECT_EQ(found.data, 0x12345678u);
    EXPECT_LE(found.cycles, HIT);
    bench.store(FIRST + SPAN + 8, 0x9abcdef0);
    EXPECT_EQ(bench.load(FIRST + SPAN + 8), 0x9abcdef0u);
}

TEST_F(ReadCache, WhatOthersWroteIsSeenBehindAFlush) {
    bench.load(FIRST + 4);
    put(FIRST + 4, 0x600df00d);
    EXPECT_NE(bench.load(FIRST + 4), 0x600df00du) << "not from the cache";
    flush();
    EXPECT_EQ(bench.load(FIRST + 4), 0x600df00du);
}

// Nothing is cached after reset: the window is empty again, and no line is left of the time before.
TEST_F(ReadCache, AResetOfTheFirmwareEmptiesIt) {
    bench.load(FIRST);
    bench.hostWrite(BAR_CTRL + CTRL_RESET, 1);
    ASSERT_TRUE(bench.until([&] { return bench.top.io_hold; }));
    bench.release();
    EXPECT_EQ(bench.load(ASSASIN_SYS_BASE + SYS_CACHE_FIRST), 0u);
    EXPECT_EQ(bench.load(ASSASIN_SYS_BASE + SYS_CACHE_END), 0u);
    EXPECT_TRUE(missed(FIRST));
    EXPECT_TRUE(missed(FIRST));
    put(FIRST, 0x600df00d);
    bench.store(ASSASIN_SYS_BASE + SYS_CACHE_FIRST, FIRST);
    bench.store(ASSASIN_SYS_BASE + SYS_CACHE_END, END);
    EXPECT_EQ(bench.load(FIRST), 0x600df00du);
}

// A beat that DRAM answers with an error faults the load, and the line is read again the next time.
TEST_F(ReadCache, ABadLineIsNotKept) {
    bench.dram.bad = FIRST + 16;
    EXPECT_TRUE(bench.access(FIRST, false, 0, 2).error);
    EXPECT_TRUE(bench.access(FIRST + 16, false, 0, 2).error);
    EXPECT_FALSE(bench.access(FIRST + 64, false, 0, 2).error);
    bench.dram.bad = 0;
    EXPECT_EQ(bench.load(FIRST + 16), get(FIRST + 16));
}

} // namespace
