// SPDX-License-Identifier: BSD-3-Clause
// Stores of the firmware processor to DRAM: those to one line leave together, and nothing else sees that.
#include "UncoreBench.h"
#include "assasin_contract.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace uncorebench;

namespace {

constexpr uint32_t LINE = 64;
constexpr uint32_t AT = DramModel::BASE + 0x10000;

class StoreGather : public ::testing::Test {
  protected:
    StoreGather() : bench(seed()) {
        bench.release();
        bench.dram.hesitation = bench.rng() % 40;
    }

    uint32_t get(uint32_t addr) {
        uint32_t word;
        std::memcpy(&word, bench.dram.at(addr), 4);
        return word;
    }

    UncoreBench bench;
};

// Stores of all sizes to a few lines; whatever is done besides them finds all of them in DRAM.
TEST_F(StoreGather, WhatComesNextFindsAllStoresInDram) {
    auto &rng = bench.rng;
    std::vector<uint8_t> mirror(bench.dram.at(AT), bench.dram.at(AT) + 16 * LINE);
    uint32_t at = AT;
    for (unsigned i = 0; i < 8000; i++) {
        const unsigned size = rng() % 4 ? 2 : rng() % 3;
        // Runs in one line, in order and not, and now and then another line.
        at = rng() % 12 == 0 ? AT + rng() % 16 * LINE + rng() % LINE
                             : (at & ~(LINE - 1)) + (rng() % 3 == 0 ? rng() % LINE : (at + 4) % LINE);
        at &= ~((1u << size) - 1);
        const unsigned what = rng() % 16;
        if (what == 0) {
            const auto got = bench.access(at & ~3u, false, 0, 2);
            uint32_t want;
            std::memcpy(&want, &mirror[(at & ~3u) - AT], 4);
            ASSERT_EQ(got.data, want) << "access " << i;
        } else if (what == 1) {
            // The answer of a register's load comes when the stores before it are in DRAM.
            bench.load(ASSASIN_SYS_BASE + SYS_CACHE_FIRST);
            ASSERT_TRUE(std::equal(mirror.begin(), mirror.end(), bench.dram.at(AT))) << "access " << i;
        } else if (what == 2) {
            for (unsigned idle = rng() % 40; idle > 0; idle--)
                bench.tick();
        } else {
            const uint32_t data = rng();
            ASSERT_FALSE(bench.access(at, true, data, size).error);
            std::memcpy(&mirror[at - AT], &data, 1u << size);
        }
    }
}

// Sixteen words of a line cost the time of one burst, and no beat more than the line has.
TEST_F(StoreGather, WordsOfALineLeaveInOneBurst) {
    bench.dram.hesitation = 0;
    bench.dram.writeLatency = 300;
    bench.load(ASSASIN_SYS_BASE + SYS_CACHE_FIRST);
    const uint64_t beats = bench.dram.writeBeats;
    unsigned cycles = 0;
    for (uint32_t word = 0; word < LINE / 4; word++)
        cycles += bench.access(AT + word * 4, true, 0x1000 + word, 2).cycles;
    cycles += bench.access(AT + LINE, true, 1, 2).cycles;
    EXPECT_EQ(bench.dram.writeBeats - beats, LINE / 8);
    EXPECT_LT(cycles, 2 * bench.dram.writeLatency);
    for (uint32_t word = 0; word < LINE / 4; word++)
        EXPECT_EQ(get(AT + word * 4), 0x1000 + word);
}

// Only what is between the first and the last word goes over the bus, and bytes that were not stored stay.
TEST_F(StoreGather, ABurstIsAsLongAsItsWords) {
    for (uint32_t i = 0; i < LINE; i += 4)
        std::memcpy(bench.dram.at(AT + i), "keep", 4);
    bench.load(ASSASIN_SYS_BASE + SYS_CACHE_FIRST);
    const uint64_t beats = bench.dram.writeBeats;
    bench.access(AT + 40, true, 0x44, 0);
    bench.access(AT + 18, true, 0x2222, 1);
    bench.load(ASSASIN_SYS_BASE + SYS_CACHE_FIRST);
    EXPECT_EQ(bench.dram.writeBeats - beats, 4u) << "bytes 16 to 47";
    std::vector<uint8_t> want(LINE);
    for (uint32_t i = 0; i < LINE; i += 4)
        std::memcpy(&want[i], "keep", 4);
    want[40] = 0x44;
    want[18] = want[19] = 0x22;
    EXPECT_TRUE(std::equal(want.begin(), want.end(), bench.dram.at(AT)));
}

// A store that nothing follows leaves by itself.
TEST_F(StoreGather, AStoreDoesNotStay) {
    bench.store(AT, 0x600df00d);
    EXPECT_TRUE(bench.until([&] { return get(AT) == 0x600df00d; }));
}

// A reset of the firmware loses no store that was answered, and the port is usable afterwards.
TEST_F(StoreGather, AResetOfTheFirmwareLeavesThePortUsable) {
    for (uint32_t word = 0; word < 5; word++)
        bench.store(AT + word * 4, word + 1);
    bench.hostWrite(BAR_CTRL + CTRL_RESET, 1);
    ASSERT_TRUE(bench.until([&] { return bench.top.io_hold; }));
    bench.release();
    bench.store(AT + LINE, 0x12345678);
    EXPECT_EQ(bench.load(AT + LINE), 0x12345678u);
    for (uint32_t word = 0; word < 5; word++)
        EXPECT_EQ(get(AT + word * 4), word + 1);
}

} // namespace
