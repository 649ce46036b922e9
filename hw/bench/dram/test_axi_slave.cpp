// SPDX-License-Identifier: BSD-3-Clause
// Device memory behind the XDMA's AXI4 port: a host that takes its time holds nobody else, and accesses of any shape
// are answered.
#include "UncoreBench.h"
#include "assasin_contract.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace uncorebench;

namespace {

constexpr uint32_t LINE = 64;
constexpr uint32_t HOST_REGION = DramModel::BASE + (4u << 16);
constexpr unsigned SHORT = 3000; ///< cycles that are plenty for what does not wait for the host
constexpr uint8_t FIXED = 0, INCR = 1, WRAP = 2;
constexpr uint8_t OKAY = 0, SLVERR = 2;

class AxiSlave : public ::testing::Test {
  protected:
    AxiSlave() : bench(seed()) {
        bench.release();
    }

    std::vector<uint8_t> random(unsigned n) {
        std::vector<uint8_t> v(n);
        for (uint8_t &b : v) {
            b = static_cast<uint8_t>(bench.rng());
        }
        return v;
    }

    bool tilesIdle() const {
        return std::all_of(bench.tiles.begin(), bench.tiles.end(), [](const TileModel &t) { return t.idle(); });
    }

    /// Every tile, a drain and the firmware write DRAM and read it back.
    void expectOthersGoOn() {
        for (unsigned t = 0; t < CORES; t++) {
            const uint64_t word = uint64_t(bench.rng()) << 32 | bench.rng();
            const uint32_t addr = DramModel::BASE + t * 65536;
            bench.tiles[t].write(addr, std::vector<uint64_t>(8, word));
            ASSERT_TRUE(bench.until([&] { return tilesIdle(); }, SHORT)) << "writes of tile " << t << " wait";
            bench.tiles[t].read(addr, 8);
            ASSERT_TRUE(bench.until([&] { return tilesIdle(); }, SHORT)) << "reads of tile " << t << " wait";
            ASSERT_EQ(bench.tiles[t].result.back().second, std::vector<uint64_t>(8, word));
        }
        const uint32_t word = bench.rng();
        bench.store(DramModel::BASE + 5 * 65536, word);
        ASSERT_EQ(bench.load(DramModel::BASE + 5 * 65536), word);
    }

    /// What DRAM or TCM holds, by accesses of full width.
    std::vector<uint8_t> contents(uint32_t addr, unsigned bytes) {
        bench.xdma.size = 3;
        bench.xdma.burstType = INCR;
        return bench.deviceRead(addr, bytes);
    }

    UncoreBench bench;
};

TEST_F(AxiSlave, WriteDataThatDoNotComeHoldNobody) {
    for (unsigned n = 0; n < 20; n++) {
        const auto data = random(8 + bench.rng() % 2000);
        const uint32_t at = HOST_REGION + bench.rng() % 60000;
        bench.xdma.maxBeats = 256;
        bench.xdma.write(at, data);
        bench.ticks(bench.rng() % 200);
        bench.xdma.holdW = true;
        bench.ticks(20);
        ASSERT_NO_FATAL_FAILURE(expectOthersGoOn());
        bench.xdma.holdW = false;
        ASSERT_TRUE(bench.until([&] { return !bench.xdma.busy(); }));
        EXPECT_EQ(bench.xdma.response, OKAY);
        ASSERT_EQ(contents(at, unsigned(data.size())), data);
    }
}

TEST_F(AxiSlave, ReadDataThatAreNotTakenHoldNobody) {
    for (unsigned n = 0; n < 20; n++) {
        const auto data = random(8 + bench.rng() % 30000);
        const uint32_t at = HOST_REGION + bench.rng() % 20000;
        bench.deviceWrite(at, data);
        bench.xdma.maxBeats = n % 2 ? 256 : 32;
        bench.xdma.read(at, unsigned(data.size()));
        bench.ticks(bench.rng() % 200);
        bench.xdma.holdR = true;
        bench.ticks(1000);
        ASSERT_NO_FATAL_FAILURE(expectOthersGoOn());
        bench.xdma.holdR = false;
        ASSERT_TRUE(bench.until([&] { return !bench.xdma.busy(); }));
        ASSERT_EQ(bench.xdma.readData, data);
    }
}

TEST_F(AxiSlave, ResponsesThatAreNotTakenHoldNobody) {
    for (unsigned n = 0; n < 20; n++) {
        const auto data = random(8 + bench.rng() % 200);
        bench.xdma.holdB = true;
        bench.xdma.write(HOST_REGION, data);
        bench.ticks(500);
        ASSERT_NO_FATAL_FAILURE(expectOthersGoOn());
        bench.xdma.holdB = false;
        ASSERT_TRUE(bench.until([&] { return !bench.xdma.busy(); }));
        ASSERT_EQ(contents(HOST_REGION, unsigned(data.size())), data);
    }
}

// With waits before everything that the host does, both directions at once.
TEST_F(AxiSlave, DataAreRightWhateverTheHostWaits) {
    constexpr unsigned SIZE = 1u << 16;
    std::vector<uint8_t> model = random(SIZE);
    bench.deviceWrite(HOST_REGION, model);
    for (unsigned n = 0; n < 150; n++) {
        bench.xdma.longest = bench.rng() % 3 == 0 ? 0 : bench.rng() % 30;
        bench.xdma.maxBeats = 1 + bench.rng() % 256;
        bench.dram.hesitation = bench.rng() % 60;
        // What is written is not read in the same round.
        const unsigned half = SIZE / 2, w = bench.rng() % 2 * half, r = half - w;
        const unsigned at = bench.rng() % (half - 3000), bytes = 1 + bench.rng() % 3000;
        const unsigned from = bench.rng() % (half - 3000), length = 1 + bench.rng() % 3000;
        const auto data = random(bytes);
        bench.xdma.write(HOST_REGION + w + at, data);
        bench.xdma.read(HOST_REGION + r + from, length);
        ASSERT_TRUE(bench.until([&] { return !bench.xdma.busy(); }, 1000000));
        std::copy(data.begin(), data.end(), model.begin() + w + at);
        ASSERT_EQ(bench.xdma.response, OKAY);
        ASSERT_EQ(std::memcmp(bench.xdma.readData.data(), &model[r + from], length), 0);
    }
    bench.xdma.longest = 0;
    ASSERT_EQ(contents(HOST_REGION, SIZE), model);
}

// Cycles for 64 KiB each way, in bursts of 32 beats, when nobody waits.
TEST_F(AxiSlave, MovesABeatACycle) {
    constexpr unsigned BYTES = 1u << 16;
    bench.xdma.hesitation = bench.dram.hesitation = 0;
    bench.dram.readLatency = 60;
    bench.xdma.exact = 32;
    const auto data = random(BYTES);
    const uint64_t start = bench.now;
    bench.deviceWrite(HOST_REGION, data);
    const uint64_t written = bench.now;
    ASSERT_EQ(bench.deviceRead(HOST_REGION, BYTES), data);
    const double in = double(BYTES) / double(written - start), out = double(BYTES) / double(bench.now - written);
    RecordProperty("bytes_per_cycle_in", std::to_string(in));
    RecordProperty("bytes_per_cycle_out", std::to_string(out));
    std::printf("to DRAM %.3f, from DRAM %.3f bytes a cycle\n", in, out);
    EXPECT_GE(in, 7.5);
    EXPECT_GE(out, 7.5);
}

// One beat may be narrower than the port. TCM takes bursts of such beats too.
TEST_F(AxiSlave, NarrowAccesses) {
    for (const uint32_t base : {HOST_REGION, 0x1000u}) {
        std::vector<uint8_t> model = random(1024);
        bench.xdma.size = 3;
        bench.deviceWrite(base, model);
        for (unsigned n = 0; n < 200; n++) {
            bench.xdma.size = static_cast<uint8_t>(bench.rng() % 4);
            bench.xdma.maxBeats = base == HOST_REGION ? 1 : 32;
            const unsigned at = bench.rng() % 900, bytes = 1 + bench.rng() % 100;
            if (bench.rng() % 2) {
                const auto data = random(bytes);
                bench.deviceWrite(base + at, data);
                std::copy(data.begin(), data.end(), model.begin() + at);
            } else {
                const auto got = bench.deviceRead(base + at, bytes);
                ASSERT_EQ(std::memcmp(got.data(), &model[at], bytes), 0) << "size " << unsigned(bench.xdma.size);
            }
            ASSERT_EQ(bench.xdma.response, OKAY);
        }
        ASSERT_EQ(contents(base, 1024), model);
    }
}

TEST_F(AxiSlave, BurstsThatAreNotServedAnswerSlverr) {
    struct Shape {
        uint8_t size, burst;
    };
    for (const uint32_t base : {HOST_REGION, 0x1000u}) {
        const auto before = random(2048);
        bench.deviceWrite(base, before);
        for (unsigned n = 0; n < 60; n++) {
            const Shape shapes[] = {{3, FIXED}, {3, WRAP}, {2, FIXED}, {2, WRAP}, {uint8_t(bench.rng() % 3), INCR}};
            const Shape shape = shapes[bench.rng() % (base == HOST_REGION ? 5 : 4)];
            bench.xdma.size = shape.size;
            bench.xdma.burstType = shape.burst;
            bench.xdma.exact = 256; // a burst of one beat would be served
            const unsigned at = bench.rng() % 128 * 8, bytes = 600;
            if (n % 2) {
                bench.xdma.read(base + at, bytes);
            } else {
                bench.xdma.write(base + at, random(bytes));
            }
            ASSERT_NO_FATAL_FAILURE(expectOthersGoOn());
            ASSERT_TRUE(bench.until([&] { return !bench.xdma.busy(); }));
            ASSERT_EQ(bench.xdma.response, SLVERR)
                << "size " << unsigned(shape.size) << ", burst " << unsigned(shape.burst);
        }
        ASSERT_EQ(contents(base, 2048), before);
    }
}

} // namespace
