// SPDX-License-Identifier: BSD-3-Clause
// The flash channel's RTL against the emulated NAND: bench and surroundings are hw/bench/flash's.
#include "FlashBench.h"

#include <gtest/gtest.h>

using namespace flashbench;

namespace {

constexpr unsigned kOk = FLASH_STATUS_OK, kErased = FLASH_STATUS_ERASED;

class Emulator : public ::testing::Test {
  protected:
    Emulator() : bench(assasin::PartFile::load(EMULATOR_PART), 1, 5.0) {
    }

    Descriptor at(unsigned op, unsigned way, uint32_t row, uint32_t address) {
        Descriptor d;
        d.op = op;
        d.way = way;
        d.w1 = row;
        d.w2 = address;
        d.bytes = bytes;
        return d;
    }
    std::vector<uint8_t> fill(uint32_t address) {
        std::vector<uint8_t> data(bytes);
        for (uint8_t &b : data)
            b = static_cast<uint8_t>(bench.random());
        bench.fillDram(address, data);
        return data;
    }

    FlashBench bench;
    static constexpr unsigned bytes = kSector;
};

TEST_F(Emulator, BootsAsTheFirmwareDoes) {
    bench.setSteps();
    for (unsigned way = 0; way < kWays; way++) {
        ASSERT_EQ(bench.execute(at(FLASH_OP_RESET, way, 0, 0)).status, kOk);
        EXPECT_EQ(bench.execute(at(FLASH_OP_READ_ID, way, 0x20, 0)).data0, 0x49464E4Fu);
        EXPECT_EQ(bench.execute(at(FLASH_OP_READ_ID, way, 0x00, 0)).data0, 0x3200022Cu);
    }
    Descriptor d = at(FLASH_OP_PARAM_PAGE, 0, 0, kDramBase + 0x1000);
    d.bytes = 768;
    ASSERT_EQ(bench.execute(d).status, kOk);
    // The page that the virtual board's model makes of the same part file.
    auto page = bench.part.parameterPage();
    auto got = bench.dram(kDramBase + 0x1000, 768);
    for (unsigned i = 0; i < 768; i++)
        ASSERT_EQ(got[i], page[i % 256]) << i;
    bench.boot();
    EXPECT_EQ(bench.execute(at(FLASH_OP_GET_FEATURE, 1, 0x01, 0)).data0, 0x20u | bench.part.timingMode);
    EXPECT_EQ(bench.execute(at(FLASH_OP_READ_STATUS, 1, 0, 0)).data0, 0xE0u);
}

TEST_F(Emulator, ErasesProgramsAndReads) {
    bench.boot();
    for (unsigned way = 0; way < kWays; way++) {
        const uint32_t block = bench.row(0, 5 + way, 0), to = kDramBase + 0x400000;
        ASSERT_EQ(bench.execute(at(FLASH_OP_ERASE, way, block, 0)).status, kOk);
        EXPECT_EQ(bench.execute(at(FLASH_OP_READ, way, block | 63, to)).status, kErased) << "the block's last page";
        auto data = fill(kDramBase);
        Descriptor d = at(FLASH_OP_PROGRAM, way, block, kDramBase);
        d.oob0 = 0x11223344 + way;
        d.oob1 = 0xAABBCCDD;
        ASSERT_EQ(bench.execute(d).status, kOk);
        Completion c = bench.execute(at(FLASH_OP_READ, way, block, to));
        EXPECT_EQ(c.data0, 0x11223344 + way);
        EXPECT_EQ(c.data1, 0xAABBCCDDu);
        EXPECT_EQ(bench.dram(to, bytes), data);
        EXPECT_EQ(bench.execute(at(FLASH_OP_READ, way, block | 1, to)).status, kErased) << "the page after it";
    }
}

TEST_F(Emulator, WaysInterleave) {
    bench.boot();
    const unsigned pages = 4;
    std::vector<std::vector<uint8_t>> expected;
    std::vector<Descriptor> descriptors;
    for (unsigned way = 0; way < kWays; way++)
        ASSERT_EQ(bench.execute(at(FLASH_OP_ERASE, way, bench.row(0, 127, 0), 0)).status, kOk);
    for (unsigned i = 0; i < pages * kWays; i++) {
        expected.push_back(fill(kDramBase + 0x10000 * i));
        descriptors.push_back(at(FLASH_OP_PROGRAM, i % kWays, bench.row(0, 127, i / kWays), kDramBase + 0x10000 * i));
        descriptors.back().tag = i;
    }
    for (const Descriptor &d : descriptors)
        bench.push(d);
    for (unsigned i = 0; i < descriptors.size(); i++)
        ASSERT_EQ(bench.wait().status, kOk);
    for (Descriptor &d : descriptors) {
        d.op = FLASH_OP_READ;
        d.w2 += 0x800000;
        bench.push(d);
    }
    for (unsigned i = 0; i < descriptors.size(); i++)
        ASSERT_EQ(bench.wait().status, kOk);
    for (unsigned i = 0; i < descriptors.size(); i++)
        ASSERT_EQ(bench.dram(kDramBase + 0x800000 + 0x10000 * i, bytes), expected[i]) << i;
}

TEST_F(Emulator, MemoryErrorsAndAddressesOutsideFail) {
    bench.boot();
    bench.nand->writeFails = true;
    fill(kDramBase);
    EXPECT_EQ(bench.execute(at(FLASH_OP_PROGRAM, 0, 0, kDramBase)).status, static_cast<unsigned>(FLASH_STATUS_FAIL));
    bench.nand->writeFails = false;
    EXPECT_EQ(bench.execute(at(FLASH_OP_ERASE, 1, 1u << 13, 0)).status, static_cast<unsigned>(FLASH_STATUS_FAIL))
        << "past the end";
    EXPECT_EQ(bench.execute(at(FLASH_OP_PROGRAM, 0, 0, kDramBase)).status, kOk);
}

} // namespace
