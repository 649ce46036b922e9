// SPDX-License-Identifier: BSD-3-Clause
// The flash channel's RTL, the PHY and its pins against the packages' model: bench and surroundings are
// hw/bench/flash's.
#include "FlashBench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace flashbench;

namespace {

constexpr double kClockNs = 1.25 * PHY_SAMPLES;

class Phy : public ::testing::Test {
  protected:
    Phy() : bench(assasin::PartFile::load(PHY_PART), 1, kClockNs) {
        bench.setSteps();
    }

    /** The part's timing with what the PHY asks for on top of it, as the firmware works it out. */
    assasin::NandCycles timing() {
        assasin::NandCycles t = bench.timing.nvddr2();
        uint32_t margin = bench.readReg(FLASH_PHY_MARGIN);
        t.tPST += margin >> FLASH_PHY_MARGIN_TPST_SHIFT & FLASH_PHY_MARGIN_TPST_MASK;
        t.tCS += margin >> FLASH_PHY_MARGIN_TCS_SHIFT & FLASH_PHY_MARGIN_TCS_MASK;
        t.tWB += margin >> FLASH_PHY_MARGIN_TWB_SHIFT & FLASH_PHY_MARGIN_TWB_MASK;
        const unsigned byte = margin >> FLASH_PHY_MARGIN_BYTE_SHIFT & FLASH_PHY_MARGIN_BYTE_MASK;
        t.beat = std::max(t.beat, (byte + 7) / 8);
        return t;
    }

    void boot() {
        bench.boot();
        bench.setTiming(timing());
    }

    std::vector<uint8_t> pattern(unsigned bytes) {
        std::vector<uint8_t> data(bytes);
        for (uint8_t &b : data)
            b = static_cast<uint8_t>(bench.random());
        return data;
    }

    void program(unsigned way, uint32_t row, uint32_t address, uint32_t oob0, uint32_t oob1) {
        Descriptor d;
        d.op = FLASH_OP_PROGRAM;
        d.way = way;
        d.w1 = row;
        d.w2 = address;
        d.bytes = kSector;
        d.oob0 = oob0;
        d.oob1 = oob1;
        ASSERT_EQ(bench.execute(d).status, static_cast<unsigned>(FLASH_STATUS_OK));
    }

    /** Status of a read of the first sector. */
    unsigned firstSector() {
        Descriptor d;
        d.op = FLASH_OP_READ;
        d.w1 = bench.row(0, 0, 0);
        d.w2 = kDramBase + 0x800000;
        d.bytes = kSector;
        return bench.execute(d).status;
    }

    FlashBench bench;
};

TEST_F(Phy, IdentifiesInSdr) {
    Descriptor d;
    for (unsigned way = 0; way < kWays; way++) {
        d.op = FLASH_OP_RESET;
        d.way = way;
        ASSERT_EQ(bench.execute(d).status, static_cast<unsigned>(FLASH_STATUS_OK));
        d.op = FLASH_OP_READ_ID;
        d.w1 = 0x20;
        EXPECT_EQ(bench.execute(d).data0, 0x49464E4Fu) << "ONFI";
        d.w1 = 0;
        Completion c = bench.execute(d);
        uint64_t id = c.data0 | static_cast<uint64_t>(c.data1) << 32;
        for (unsigned i = 0; i < 8; i++)
            EXPECT_EQ(static_cast<uint8_t>(id >> 8 * i), i < bench.part.id.size() ? bench.part.id[i] : 0) << i;
        d.op = FLASH_OP_READ_STATUS;
        EXPECT_EQ(bench.execute(d).data0 & 0xE0, 0xE0u);
    }
}

TEST_F(Phy, ReadsTheParameterPageInSdr) {
    Descriptor d;
    d.op = FLASH_OP_RESET;
    bench.execute(d);
    d.op = FLASH_OP_PARAM_PAGE;
    d.w2 = kDramBase + 0x1000;
    d.bytes = 768;
    ASSERT_EQ(bench.execute(d).status, static_cast<unsigned>(FLASH_STATUS_OK));
    auto page = bench.part.parameterPage();
    auto got = bench.dram(kDramBase + 0x1000, 768);
    for (unsigned i = 0; i < 768; i++)
        ASSERT_EQ(got[i], page[i % 256]) << i;
}

TEST_F(Phy, FeaturesInBothInterfaces) {
    Descriptor d;
    d.op = FLASH_OP_RESET;
    bench.execute(d);
    for (bool fast : {false, true}) {
        if (fast) {
            boot();
            d.op = FLASH_OP_READ_ID; // bytes that come twice
            d.w1 = 0;
            const Completion c = bench.execute(d);
            const uint64_t id = c.data0 | static_cast<uint64_t>(c.data1) << 32;
            for (unsigned i = 0; i < 8; i++)
                EXPECT_EQ(static_cast<uint8_t>(id >> 8 * i), bench.part.id[i]) << i;
        }
        d.op = FLASH_OP_SET_FEATURE;
        d.w1 = 0x80;
        d.w2 = fast ? 0x11223344 : 0xA5C31E7F;
        ASSERT_EQ(bench.execute(d).status, static_cast<unsigned>(FLASH_STATUS_OK));
        d.op = FLASH_OP_GET_FEATURE;
        EXPECT_EQ(bench.execute(d).data0, d.w2) << (fast ? "NV-DDR2" : "SDR");
    }
}

TEST_F(Phy, ProgramsReadsAndErasesPages) {
    boot();
    const unsigned bytes = kSector;
    for (unsigned way = 0; way < kWays; way++) {
        auto data = pattern(bytes);
        const uint32_t row = bench.row(0, way, 0), from = kDramBase + 0x10000 * way,
                       to = kDramBase + 0x800000 + 0x10000 * way;
        bench.fillDram(from, data);
        program(way, row, from, 0x12345678 + way, 0x9ABCDEF0);
        Descriptor d;
        d.op = FLASH_OP_READ;
        d.way = way;
        d.w1 = row;
        d.w2 = to;
        d.bytes = bytes;
        Completion c = bench.execute(d);
        EXPECT_EQ(c.status, static_cast<unsigned>(FLASH_STATUS_OK));
        EXPECT_EQ(c.data0, 0x12345678 + way);
        EXPECT_EQ(c.data1, 0x9ABCDEF0u);
        EXPECT_EQ(bench.dram(to, bytes), data) << "way " << way;
        d.op = FLASH_OP_ERASE;
        EXPECT_EQ(bench.execute(d).status, static_cast<unsigned>(FLASH_STATUS_OK));
        d.op = FLASH_OP_READ;
        EXPECT_EQ(bench.execute(d).status, static_cast<unsigned>(FLASH_STATUS_ERASED)) << "way " << way;
    }
}

// All ways at once: array times and transfers of different ways overlap, the bus changes hands without a pause.
TEST_F(Phy, WaysInterleave) {
    boot();
    const unsigned bytes = kSector, pages = 6;
    std::map<unsigned, std::vector<uint8_t>> expected;
    std::vector<Descriptor> descriptors;
    for (unsigned page = 0; page < pages; page++) {
        for (unsigned way = 0; way < kWays; way++) {
            const unsigned tag = page * kWays + way;
            auto data = pattern(bytes);
            bench.fillDram(kDramBase + 0x10000 * tag, data);
            expected[tag] = data;
            Descriptor d;
            d.op = FLASH_OP_PROGRAM;
            d.way = way;
            d.tag = tag;
            d.w1 = bench.row(0, 3, page);
            d.w2 = kDramBase + 0x10000 * tag;
            d.bytes = bytes;
            descriptors.push_back(d);
        }
    }
    for (const Descriptor &d : descriptors)
        bench.push(d);
    for (size_t i = 0; i < descriptors.size(); i++)
        ASSERT_EQ(bench.wait().status, static_cast<unsigned>(FLASH_STATUS_OK));
    for (Descriptor &d : descriptors) {
        d.op = FLASH_OP_READ;
        d.w2 = kDramBase + 0x800000 + 0x10000 * d.tag;
        bench.push(d);
    }
    const uint64_t start = bench.now;
    for (size_t i = 0; i < descriptors.size(); i++)
        ASSERT_EQ(bench.wait().status, static_cast<unsigned>(FLASH_STATUS_OK));
    for (auto &[tag, data] : expected)
        ASSERT_EQ(bench.dram(kDramBase + 0x800000 + 0x10000 * tag, bytes), data) << "page " << tag;
    const double mbs = 1e3 * bytes * descriptors.size() / (static_cast<double>(bench.now - start) * kClockNs);
    std::printf("read %.1f MB/s of page data, bytes %u to %u clocks after RE\n", mbs, bench.nand->shortestLatency,
                bench.nand->longestLatency);
    // A byte every DATA_RATE clocks less what latches, preambles, metadata and parity take.
    EXPECT_GT(mbs, 0.80 * 1e3 / (timing().beat * kClockNs));
}

TEST_F(Phy, ResetBringsSdrBack) {
    boot();
    Descriptor d;
    d.op = FLASH_OP_RESET;
    d.way = 1;
    ASSERT_EQ(bench.execute(d).status, static_cast<unsigned>(FLASH_STATUS_OK));
    // Back to the reset values of the timing registers, as the firmware has them at boot.
    bench.setTiming(assasin::NandCycles{100, 100, 200, 100, 100, 100, 200, 400, 500, 100});
    d.op = FLASH_OP_READ_ID;
    d.w1 = 0x20;
    EXPECT_EQ(bench.execute(d).data0, 0x49464E4Fu);
    // The others still speak NV-DDR2.
    d.way = 0;
    EXPECT_EQ(bench.execute(d).data0, 0x49464E4Fu);
}

TEST_F(Phy, TellsWhatItNeeds) {
    const uint32_t margin = bench.readReg(FLASH_PHY_MARGIN);
    EXPECT_EQ(margin >> FLASH_PHY_MARGIN_BYTE_SHIFT & FLASH_PHY_MARGIN_BYTE_MASK, 8u * PHY_BYTE_SAMPLES / PHY_SAMPLES);
    EXPECT_EQ(margin >> FLASH_PHY_MARGIN_DIFFERENTIAL_SHIFT & FLASH_PHY_MARGIN_DIFFERENTIAL_MASK, 1u);
}

TEST_F(Phy, WithComplementaryDqsAPageIsRead) {
    boot();
    bench.put(0, 0, 0, 0, 100);
    EXPECT_EQ(firstSector(), static_cast<unsigned>(FLASH_STATUS_OK));
}

// A part that drives DQS alone: DQS_c floats, and what the receiver makes of the two is no strobe.
TEST_F(Phy, WithoutComplementaryDqsNothingIsRead) {
    bench.configuration = 0;
    boot();
    bench.put(0, 0, 0, 0, 100);
    EXPECT_NE(firstSector(), static_cast<unsigned>(FLASH_STATUS_OK));
}

// The part offers 200 MT/s. A PHY made for 100 MT/s takes bytes too late at that rate.
TEST_F(Phy, FasterThanThePhyNothingIsRead) {
    if (PHY_BYTE_SAMPLES <= PHY_SAMPLES)
        GTEST_SKIP() << "the channel has no faster byte";
    boot();
    auto data = pattern(kSector);
    bench.fillDram(kDramBase, data);
    program(0, bench.row(0, 0, 0), kDramBase, 1, 2);
    assasin::NandCycles t = timing();
    t.beat = bench.timing.nvddr2().beat;
    bench.setTiming(t);
    EXPECT_NE(firstSector(), static_cast<unsigned>(FLASH_STATUS_OK));
}

TEST_F(Phy, ABrokenBusIsNoticed) {
    boot();
    assasin::NandCycles t = timing();
    t.tPST = 1;
    bench.setTiming(t);
    Descriptor d;
    d.op = FLASH_OP_READ_STATUS;
    EXPECT_ANY_THROW(bench.execute(d)) << "a postamble cut short";
}

} // namespace
