// SPDX-License-Identifier: BSD-3-Clause
// DRAM port: tiles, drains, copies and firmware share one AXI4 port.
#include "UncoreBench.h"
#include "assasin_contract.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace uncorebench;

namespace {

constexpr uint32_t LINE = 64;
constexpr uint32_t REGION = 1u << 16; ///< of DRAM, a tile

class DramPort : public ::testing::Test {
  protected:
    DramPort() : bench(seed()) {
        bench.release();
    }

    uint32_t region(unsigned tile) const {
        return DramModel::BASE + tile * REGION;
    }

    std::vector<uint64_t> words(unsigned n) {
        std::vector<uint64_t> data(n);
        for (uint64_t &word : data) {
            word = uint64_t(bench.rng()) << 32 | bench.rng();
        }
        return data;
    }

    bool tilesIdle() const {
        return std::all_of(bench.tiles.begin(), bench.tiles.end(), [](const TileModel &t) { return t.idle(); });
    }

    uint64_t counter(uint32_t low) {
        const uint64_t value = bench.load(ASSASIN_SYS_BASE + low);
        return value | uint64_t(bench.load(ASSASIN_SYS_BASE + low + 4)) << 32;
    }

    UncoreBench bench;
};

// Every tile writes and reads its own region, while drains, copies to cores and the firmware use the port as well.
TEST_F(DramPort, EverybodyGetsItsOwnData) {
    auto &rng = bench.rng;
    bench.dram.hesitation = rng() % 50;
    std::vector<std::vector<uint64_t>> mirror(CORES, std::vector<uint64_t>(REGION / 8));
    for (unsigned round = 0; round < 60; round++) {
        for (unsigned t = 0; t < CORES; t++) {
            TileModel &tile = bench.tiles[t];
            tile.hesitation = rng() % 60;
            for (unsigned n = rng() % 6; n > 0; n--) {
                const unsigned beats = rng() % 3 ? 8 : 1 + rng() % 8;
                const uint32_t line = rng() % (REGION / LINE);
                const uint8_t strb = rng() % 4 ? 0xFF : static_cast<uint8_t>(rng());
                const std::vector<uint64_t> data = words(beats);
                tile.write(region(t) + line * LINE, data, strb);
                for (unsigned i = 0; i < beats; i++) {
                    for (unsigned byte = 0; byte < 8; byte++) {
                        if (strb >> byte & 1) {
                            std::memcpy(reinterpret_cast<uint8_t *>(&mirror[t][line * 8 + i]) + byte,
                                        reinterpret_cast<const uint8_t *>(&data[i]) + byte, 1);
                        }
                    }
                }
            }
        }
        // AXI4 orders reads and writes of one master only through the answers.
        const uint32_t word = DramModel::BASE + 5 * REGION + 4 * round;
        bench.store(word, round * 0x01010101u);
        ASSERT_EQ(bench.load(word), round * 0x01010101u);
        ASSERT_TRUE(bench.until([&] { return tilesIdle(); })) << "round " << round;
        for (unsigned t = 0; t < CORES; t++) {
            for (unsigned n = rng() % 8; n > 0; n--) {
                bench.tiles[t].read(region(t) + LINE * (rng() % (REGION / LINE)), rng() % 3 ? 8 : 1 + rng() % 8);
            }
            Beat b;
            b.last = true;
            b.dst = DST_DRAM;
            b.addr = DramModel::BASE + 6 * REGION + LINE * rng() % 1024;
            b.bytes = 8;
            bench.drains[t].beats.push_back(b);
        }
        bench.fetch(round % CHANNELS, DramModel::BASE + 7 * REGION, 1024);
        ASSERT_TRUE(bench.until([&] { return tilesIdle(); })) << "round " << round;
        for (unsigned t = 0; t < CORES; t++) {
            for (const auto &[addr, data] : bench.tiles[t].result) {
                for (size_t i = 0; i < data.size(); i++) {
                    ASSERT_EQ(data[i], mirror[t][(addr - region(t)) / 8 + i]) << "tile " << t << std::hex << addr;
                }
            }
            bench.tiles[t].result.clear();
        }
    }
}

TEST_F(DramPort, TilesShareReadsAndWritesFairlyAtABeatACycleEach) {
    bench.dram.hesitation = 0;
    bench.dram.readLatency = bench.dram.writeLatency = 40;
    for (unsigned t = 0; t < CORES; t++) {
        for (unsigned n = 0; n < 400; n++) {
            bench.tiles[t].read(region(t) + LINE * n, 8);
            bench.tiles[t].write(region(t) + LINE * n, std::vector<uint64_t>(8, t));
        }
    }
    bench.ticks(400);
    const uint64_t reads = bench.dram.readBeats, writes = bench.dram.writeBeats;
    std::vector<uint64_t> readBefore, writeBefore, readTurns, writeTurns;
    for (const TileModel &t : bench.tiles) {
        readBefore.push_back(t.readBursts);
        writeBefore.push_back(t.writeBursts);
    }
    bench.ticks(2000);
    EXPECT_GE(bench.dram.readBeats - reads, 1980u);
    EXPECT_GE(bench.dram.writeBeats - writes, 1980u);
    for (unsigned t = 0; t < CORES; t++) {
        readTurns.push_back(bench.tiles[t].readBursts - readBefore[t]);
        writeTurns.push_back(bench.tiles[t].writeBursts - writeBefore[t]);
    }
    for (const auto &turns : {readTurns, writeTurns}) {
        const auto [least, most] = std::minmax_element(turns.begin(), turns.end());
        EXPECT_LE(*most - *least, 2u);
    }
}

// A tile that reads without pause leaves the others their turns: the firmware's load waits for at most one burst of
// each.
TEST_F(DramPort, BusyTilesDoNotStarveTheFirmware) {
    bench.dram.hesitation = 0;
    bench.dram.readLatency = 10;
    for (unsigned t = 0; t < CORES; t++) {
        for (unsigned n = 0; n < 400; n++) {
            bench.tiles[t].read(region(t) + LINE * n, 8);
        }
    }
    bench.ticks(100);
    for (unsigned n = 0; n < 10; n++) {
        // Behind what the tiles have under way already.
        EXPECT_LE(bench.access(DramModel::BASE + 4 * n, false, 0, 2).cycles, CORES * 9 * 8u + 60u);
    }
}

TEST_F(DramPort, CountsBytes) {
    const auto agree = [&] {
        // The counters are read through the register bus, which moves nothing on the DRAM port.
        ASSERT_TRUE(bench.until([&] { return tilesIdle() && bench.dram.idle(); }));
        EXPECT_EQ(counter(SYS_DRAM_READ_LO), bench.dram.readBeats * 8);
        EXPECT_EQ(counter(SYS_DRAM_WRITE_LO), bench.dram.writeBeats * 8);
    };
    agree();
    bench.store(DramModel::BASE, 1);
    bench.load(DramModel::BASE);
    agree();
    EXPECT_EQ(bench.dram.writeBeats, 1u);
    for (unsigned n = 0; n < 50; n++) {
        bench.tiles[n % CORES].read(region(0) + LINE * n, 8);
        bench.tiles[n % CORES].write(region(1) + LINE * n, words(8));
    }
    agree();
    EXPECT_GE(bench.dram.readBeats, 400u);
}

TEST_F(DramPort, AwakeWhileATileWaits) {
    bench.dram.readLatency = 500;
    bench.top.io_firmware_sleeping = 1;
    ASSERT_TRUE(bench.until([&] { return bench.top.io_board_asleep != 0; }));
    bench.tiles[2].read(region(2), 8);
    bench.ticks(20);
    for (unsigned n = 0; n < 400; n++) {
        ASSERT_FALSE(bench.top.io_board_asleep);
        bench.tick();
    }
    EXPECT_TRUE(bench.until([&] { return bench.top.io_board_asleep != 0; }));
}

} // namespace
