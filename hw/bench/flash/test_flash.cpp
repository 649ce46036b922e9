// SPDX-License-Identifier: BSD-3-Clause
#include "Support.h"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>
#include <utility>

using namespace flashbench;
using assasin::PartFile;

TEST(Operations, IdentifyInSdrModeZero) {
    FlashBench b(testPart(), seed());
    b.setSteps();
    ASSERT_EQ(b.execute(make(FLASH_OP_RESET, 0)).status, FLASH_STATUS_OK);
    Completion id = b.execute(make(FLASH_OP_READ_ID, 0, 0x20));
    EXPECT_EQ(id.status, FLASH_STATUS_OK);
    EXPECT_EQ(id.data0, 0x49464E4Fu); // "ONFI"
    id = b.execute(make(FLASH_OP_READ_ID, 0, 0x00));
    EXPECT_EQ(id.data0, 0x4B44642Cu);
    EXPECT_EQ(id.data1, 0x5A0000A9u);
    EXPECT_EQ(b.execute(make(FLASH_OP_PARAM_PAGE, 0, 0, kDramBase + 0x1000, 768)).status, FLASH_STATUS_OK);
    std::vector<uint8_t> pages = b.dram(kDramBase + 0x1000, 768);
    auto expected = b.part.parameterPage();
    for (unsigned copy = 0; copy < 3; copy++)
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), pages.begin() + copy * 256)) << "copy " << copy;
    EXPECT_EQ(PartFile::crc16(pages.data(), 254), pages[254] | pages[255] << 8);
}

TEST(Operations, ParameterPageShortAndOddCounts) {
    FlashBench b(testPart(), seed());
    b.setSteps();
    b.execute(make(FLASH_OP_RESET, 0));
    for (unsigned bytes : {1u, 7u, 63u, 64u, 65u, 255u}) {
        b.fillDram(kDramBase, std::vector<uint8_t>(1024, 0xEE));
        ASSERT_EQ(b.execute(make(FLASH_OP_PARAM_PAGE, 0, 0, kDramBase, bytes)).status, FLASH_STATUS_OK);
        auto got = b.dram(kDramBase, 1024), expected = std::vector<uint8_t>(1024, 0xEE);
        auto page = b.part.parameterPage();
        std::copy(page.begin(), page.begin() + bytes, expected.begin());
        EXPECT_EQ(got, expected) << bytes << " bytes";
    }
}

TEST(Operations, Features) {
    FlashBench b(testPart(), seed());
    b.boot();
    EXPECT_EQ(b.execute(make(FLASH_OP_SET_FEATURE, 1, 0x10, 0x44332211)).status, FLASH_STATUS_OK);
    Completion c = b.execute(make(FLASH_OP_GET_FEATURE, 1, 0x10));
    EXPECT_EQ(c.status, FLASH_STATUS_OK);
    EXPECT_EQ(c.data0, 0x44332211u);
    EXPECT_EQ(b.execute(make(FLASH_OP_GET_FEATURE, 1, 0x01)).data0, 0x28u);
    EXPECT_EQ(b.execute(make(FLASH_OP_GET_FEATURE, 0, 0x10)).data0, 0u);
}

// What the channel gets from a part that does not drive DQS_c.
TEST(Operations, NothingIsReadWithoutComplementaryDqs) {
    for (bool complementary : {true, false}) {
        FlashBench b(testPart(), seed());
        b.configuration = complementary ? 0x06 : 0;
        b.boot();
        b.put(0, 0, 3, 0, 100);
        EXPECT_EQ(read(b, 0, b.sector(0, 3, 0)).status == FLASH_STATUS_OK, complementary);
    }
}

TEST(Operations, ProgramReadErase) {
    FlashBench b(testPart(), seed());
    b.boot();
    for (unsigned lun = 0; lun < 2; lun++) {
        uint32_t address = b.sector(lun, 3, 0);
        ASSERT_EQ(erase(b, 1, address), FLASH_STATUS_OK);
        auto data = pattern(lun + 100);
        ASSERT_EQ(program(b, 1, address, data, 0x11112222, 0x33334444).status, FLASH_STATUS_OK);
        // The sector is what the codec makes of it; the rest of the page is not written.
        std::vector<uint8_t> raw = b.raw(1, lun, 3, 0), expected = encoded(b, address, data, 0x11112222, 0x33334444);
        expected.resize(raw.size(), 0xFF);
        EXPECT_EQ(raw, expected);
        Completion c = read(b, 1, address);
        EXPECT_EQ(c.status, FLASH_STATUS_OK);
        EXPECT_EQ(c.data0, 0x11112222u);
        EXPECT_EQ(c.data1, 0x33334444u);
        EXPECT_EQ(c.errors, 0u);
        EXPECT_EQ(c.bits, 0u);
        EXPECT_EQ(b.dram(kReadBuffer, kSector), data);
    }
    // A read that names its sector finds another one there; bit 30 is no part of the name.
    for (uint32_t name : {0x11112222u, 0x51112222u, 0x11112223u, 0x91112222u}) {
        b.fillDram(kReadBuffer, std::vector<uint8_t>(kSector, 0xEE));
        Descriptor d = make(FLASH_OP_READ, 1, b.sector(1, 3, 0), kReadBuffer, kSector);
        d.check = true;
        d.oob0 = name;
        Completion c = b.execute(d);
        const bool right = (name & ~0x40000000u) == 0x11112222u;
        EXPECT_EQ(c.status, right ? FLASH_STATUS_OK : FLASH_STATUS_MISDIRECTED) << std::hex << name;
        EXPECT_EQ(c.data0, 0x11112222u);
        EXPECT_EQ(c.data1, right ? 0x33334444u : name);
        EXPECT_EQ(b.dram(kReadBuffer, kSector), right ? pattern(101) : std::vector<uint8_t>(kSector, 0xEE));
    }
    // The other LUN's page is untouched by an erase.
    ASSERT_EQ(erase(b, 1, b.sector(0, 3, 0)), FLASH_STATUS_OK);
    EXPECT_EQ(read(b, 1, b.sector(0, 3, 0)).status, FLASH_STATUS_ERASED);
    EXPECT_EQ(read(b, 1, b.sector(1, 3, 0)).status, FLASH_STATUS_OK);
    EXPECT_EQ(b.dram(kReadBuffer, kSector), pattern(101));
}

TEST(Operations, ShortProgramAndShortRead) {
    FlashBench b(testPart(), seed());
    b.boot();
    unsigned number = 0;
    for (unsigned bytes : {1u, 8u, 13u, 64u, 1000u, kSector - 1}) {
        auto data = pattern(bytes, bytes);
        const uint32_t address = b.sector(0, 0, number);
        ASSERT_EQ(program(b, 0, address, data).status, FLASH_STATUS_OK);
        std::vector<uint8_t> raw = b.raw(0, 0, 0, number), expected = encoded(b, address, data, 0, 0);
        raw.resize(expected.size());
        EXPECT_EQ(raw, expected) << bytes << " bytes programmed";
        b.fillDram(kReadBuffer, std::vector<uint8_t>(kSector, 0xEE));
        ASSERT_EQ(read(b, 0, address, bytes).status, FLASH_STATUS_OK);
        expected.assign(kSector, 0xEE);
        std::copy(data.begin(), data.end(), expected.begin());
        EXPECT_EQ(b.dram(kReadBuffer, kSector), expected) << bytes << " bytes read";
        number++;
    }
}

TEST(Operations, Status) {
    FlashBench b(testPart(), seed());
    b.boot();
    Completion c = b.execute(make(FLASH_OP_READ_STATUS, 1));
    EXPECT_EQ(c.status, FLASH_STATUS_OK);
    EXPECT_EQ(c.data0, 0xE0u);
}

TEST(Operations, ChipReportsFail) {
    struct Fail : assasin::NandFaults {
        bool programFails(const assasin::NandAddress &a) override {
            return a.block == 5;
        }
        bool eraseFails(const assasin::NandAddress &a) override {
            return a.block == 6;
        }
    } fail;
    FlashBench b(testPart(), seed());
    b.boot();
    b.faults = &fail;
    EXPECT_EQ(program(b, 0, b.row(0, 5, 0), pattern(1)).status, FLASH_STATUS_FAIL);
    EXPECT_EQ(program(b, 0, b.row(1, 4, 0), pattern(1)).status, FLASH_STATUS_OK);
    EXPECT_EQ(erase(b, 0, b.row(1, 6, 0)), FLASH_STATUS_FAIL);
    EXPECT_EQ(erase(b, 0, b.row(1, 7, 0)), FLASH_STATUS_OK);
}

TEST(Operations, WriteProtected) {
    FlashBench b(testPart(), seed());
    b.boot();
    b.writeProtect = true;
    b.ticks(10);
    EXPECT_EQ(program(b, 0, b.row(0, 5, 0), pattern(1)).status, FLASH_STATUS_PROTECTED);
    EXPECT_EQ(erase(b, 0, b.row(0, 5, 0)), FLASH_STATUS_PROTECTED);
    EXPECT_EQ(b.image->nextPage({0, 0, 0, 5}), 0u);
    EXPECT_EQ(b.image->eraseCount({0, 0, 0, 5}), 0u);
}

TEST(Operations, StuckChipTimesOutAndResetFreesIt) {
    if (kWays != 4 || kPhyBytes != 1) {
        GTEST_SKIP() << "2^25 cycles; one configuration runs it";
    }
    struct Stuck : assasin::NandFaults {
        uint64_t extraBusy(unsigned, unsigned way) override {
            return way == 1 ? uint64_t(1) << 40 : 0;
        }
    } stuck;
    FlashBench b(testPart(), seed());
    b.boot();
    b.faults = &stuck;
    uint64_t start = b.now;
    Descriptor d = make(FLASH_OP_ERASE, 1, 0);
    d.tag = 7;
    b.push(d);
    d.tag = 8;
    b.push(d); // waits behind it: must not reach the busy chip
    Completion c = b.wait(80000000);
    EXPECT_EQ(c.tag, 7u);
    EXPECT_EQ(c.status, FLASH_STATUS_TIMEOUT);
    EXPECT_GT(c.cycle - start, uint64_t(1) << 24);
    c = b.wait();
    EXPECT_EQ(c.tag, 8u);
    EXPECT_EQ(c.status, FLASH_STATUS_TIMEOUT);
    EXPECT_EQ(erase(b, 0, 0), FLASH_STATUS_OK); // the other ways go on
    b.faults = &b.noFaults;
    b.setTiming(b.timing.sdr(0));
    EXPECT_EQ(b.execute(make(FLASH_OP_RESET, 1)).status, FLASH_STATUS_OK);
    EXPECT_EQ(erase(b, 1, 0), FLASH_STATUS_OK);
}

TEST(Operations, BadDescriptorsTouchNothing) {
    FlashBench b(testPart(), seed());
    b.boot();
    uint64_t before = b.readReg(FLASH_BUS_BUSY_LO);
    std::vector<Descriptor> bad;
    for (unsigned op = 10; op < 16; op++)
        bad.push_back(make(op, 0));
    bad.push_back(make(FLASH_OP_READ, 0, 0, kDramBase, 0));
    bad.push_back(make(FLASH_OP_READ, 0, 0, kDramBase, kSector + 1));
    bad.push_back(make(FLASH_OP_READ, 0, 0, kDramBase, 0x10000 + kSector));
    bad.push_back(make(FLASH_OP_READ, 0, 0, kDramBase + 8, kSector));
    bad.push_back(make(FLASH_OP_READ, 0, 0x1000000, kDramBase, kSector));
    bad.push_back(make(FLASH_OP_PROGRAM, 0, 0, kDramBase, 0));
    bad.push_back(make(FLASH_OP_PROGRAM, 0, 0, kDramBase, kSector + 1));
    bad.push_back(make(FLASH_OP_PROGRAM, 0, 0, kDramBase + 32, kSector));
    bad.push_back(make(FLASH_OP_PROGRAM, 0, 0xFF000000, kDramBase, kSector));
    bad.push_back(make(FLASH_OP_ERASE, 0, 0x1000000));
    bad.push_back(make(FLASH_OP_READ_ID, 0, 0x100));
    bad.push_back(make(FLASH_OP_GET_FEATURE, 0, 0x100));
    bad.push_back(make(FLASH_OP_SET_FEATURE, 0, 0x100));
    bad.push_back(make(FLASH_OP_PARAM_PAGE, 0, 0, kDramBase, 0));
    bad.push_back(make(FLASH_OP_PARAM_PAGE, 0, 0, kDramBase, 4097));
    bad.push_back(make(FLASH_OP_PARAM_PAGE, 0, 0, kDramBase + 4, 256));
    Descriptor d = make(FLASH_OP_READ, 0, 0, kSector / 2, kSector);
    d.stream = true;
    bad.push_back(d); // stream position inside a sector
    d.w2 = 0;
    d.core = kCores;
    bad.push_back(d);
    if (kLocal) {
        d.core = 1 - kNumber; // a core that exists, but is another channel's
        bad.push_back(d);
    }
    d = make(FLASH_OP_PROGRAM, 0, 0, kDramBase, kSector);
    d.stream = true;
    bad.push_back(d);
    d = make(FLASH_OP_PARAM_PAGE, 0, 0, kDramBase, 256);
    d.stream = true;
    bad.push_back(d);
    if (kWays < 16)
        bad.push_back(make(FLASH_OP_READ, kWays, 0, kDramBase, kSector));
    d = make(FLASH_OP_READ, 0, 0, kDramBase, kSector);
    d.confirm = FLASH_CONFIRM_CACHE;
    bad.push_back(d);
    d = make(FLASH_OP_PROGRAM, 0, 0, kDramBase, kSector);
    d.confirm = FLASH_CONFIRM_MORE; // the last sector of a page has none behind it
    bad.push_back(d);
    bad.push_back(make(FLASH_OP_READ_RAW, 0, 0, kDramBase, 0));
    bad.push_back(make(FLASH_OP_READ_RAW, 0, 0, kDramBase, kSector + 1));
    bad.push_back(make(FLASH_OP_READ_RAW, 0, 0, kDramBase + 4, 8));
    bad.push_back(make(FLASH_OP_READ_RAW, 0, 0x1000000, kDramBase, 8));
    d = make(FLASH_OP_READ_RAW, 0, 0, kDramBase, 8);
    d.stream = true;
    bad.push_back(d);
    unsigned tag = 0;
    for (Descriptor &each : bad) {
        each.tag = tag++;
        Completion c = b.execute(each);
        EXPECT_EQ(c.status, FLASH_STATUS_BAD_DESC) << "descriptor " << each.tag << " op " << each.op;
    }
    EXPECT_EQ(b.readReg(FLASH_BUS_BUSY_LO), before);
    // The way still works.
    EXPECT_EQ(read(b, 0, 0).status, FLASH_STATUS_ERASED);
    for (auto [pageLog2, sectorLog2] : {std::pair(20u, 0u), {12u, 1u}, {14u, 3u}, {11u, 0u}}) {
        b.setGeometry(pageLog2, sectorLog2);
        EXPECT_EQ(read(b, 0, 0).status, FLASH_STATUS_BAD_DESC) << pageLog2 << " " << sectorLog2;
    }
}

TEST(Operations, ContentsSurviveARestart) {
    std::string path =
        (std::filesystem::temp_directory_path() / ("flash-bench-" + std::to_string(getpid()) + ".img")).string();
    std::filesystem::remove(path);
    for (bool second : {false, true}) {
        FlashBench b(testPart(), seed(), 1.0, 4, path);
        b.boot();
        if (!second) {
            EXPECT_EQ(program(b, 1, b.row(1, 2, 0), pattern(77), 0xAA, 0xBB).status, FLASH_STATUS_OK);
            continue;
        }
        Completion c = b.execute(make(FLASH_OP_READ, 1, b.row(1, 2, 0), kDramBase, kSector));
        EXPECT_EQ(c.data0, 0xAAu);
        EXPECT_EQ(c.data1, 0xBBu);
        EXPECT_EQ(b.dram(kDramBase, kSector), pattern(77, kSector));
    }
    PartFile other = testPart();
    other.geometry.blocksPerPlane *= 2;
    EXPECT_THROW(FlashBench(other, seed(), 1.0, 4, path), std::runtime_error);
    std::filesystem::remove(path);
}

TEST(Queues, SpaceAndOverflow) {
    FlashBench b(testPart(), seed());
    b.boot();
    EXPECT_EQ(b.space(1), 8u);
    Descriptor d = make(FLASH_OP_ERASE, 1, 0);
    for (unsigned i = 0; i < 8; i++) {
        d.tag = i;
        b.push(d);
    }
    EXPECT_EQ(b.space(1), 0u);
    EXPECT_EQ(b.space(0), 8u);
    d.tag = 99;
    b.push(d); // dropped
    for (unsigned i = 0; i < 8; i++) {
        Completion c = b.wait();
        EXPECT_EQ(c.tag, i);
        EXPECT_EQ(c.status, FLASH_STATUS_OK);
    }
    b.ticks(30000);
    EXPECT_FALSE(b.top->io_pending);
    EXPECT_EQ(b.space(1), 8u);
    // The other LUN has its own places, unless LUNs take turns.
    d.w1 = b.sector(1, 0, 0);
    b.push(d);
    EXPECT_EQ(b.space(1), kLuns == 1 ? 7u : 8u);
    EXPECT_EQ(b.space(1, 1), 7u);
    b.wait();
    EXPECT_EQ(b.space(1, 1), 8u);
}

/** A descriptor that is refused leaves its queue in any cycle around the one in which another way's last phase begins:
 * neither stays behind. */
TEST(Queues, TwoLeaveAtOnce) {
    if (kWays < 3)
        GTEST_SKIP() << "three ways are needed";
    FlashBench b(testPart(), seed());
    b.boot();
    // Cycles up to the data of way 2, which waits for that of way 1; way 0 is given what it refuses after `at`.
    auto run = [&](uint64_t at) {
        const uint64_t from = b.now;
        uint64_t data = 0;
        unsigned selections = 0;
        bool selected = false;
        for (unsigned way = 1; way <= 2; way++)
            b.push(make(FLASH_OP_READ, way, 0, kReadBuffer, kSector));
        b.eachTick = [&] {
            const bool low = !(b.phy.ceN >> 2 & 1);
            if (low && !selected && ++selections == 2)
                data = b.now - from;
            selected = low;
        };
        while (b.now - from < at)
            b.tick();
        b.push(make(15, 0));
        for (unsigned i = 0; i < 3; i++) {
            const Completion c = b.wait();
            EXPECT_EQ(c.status, c.way == 0 ? FLASH_STATUS_BAD_DESC : FLASH_STATUS_ERASED);
        }
        b.eachTick = nullptr;
        for (unsigned way = 0; way < 3; way++)
            EXPECT_EQ(b.space(way), 8u) << "way " << way << " after " << at << " cycles";
        return data;
    };
    const uint64_t data = run(0);
    for (uint64_t before = 0; before < 20; before++)
        EXPECT_EQ(run(data - before), data);
}

TEST(Queues, CompletionsWaitForALateFirmware) {
    FlashBench b(testPart(), seed());
    b.boot();
    // More bad descriptors than the completion queue holds; none may be lost.
    unsigned pushed = 0;
    for (unsigned round = 0; round < 40; round++)
        for (unsigned way = 0; way < kWays; way++)
            if (b.space(way) > 0) {
                Descriptor d = make(15, way);
                d.tag = pushed++;
                b.push(d);
            }
    b.ticks(200);
    EXPECT_GE(pushed, 16 * kWays);
    std::vector<bool> seen(pushed);
    for (unsigned i = 0; i < pushed; i++) {
        Completion c = b.wait();
        ASSERT_LT(c.tag, pushed);
        EXPECT_FALSE(seen[c.tag]);
        seen[c.tag] = true;
    }
    b.ticks(200);
    EXPECT_FALSE(b.top->io_pending);
}

TEST(Streams, PagesWaitForRoomAndDoNotBlockTheBus) {
    FlashBench b(testPart(), seed());
    b.boot();
    for (unsigned way = 0; way < 3; way++)
        b.put(way, 0, 0, 0, way);
    b.rings[1][3].pages = 1;
    for (unsigned i = 0; i < 2; i++) { // sectors 0 and 1 of a ring of one, on ways 0 and 1
        Descriptor d = make(FLASH_OP_READ, i, 0, i * kSector, kSector);
        d.stream = true;
        d.core = 1;
        d.streamId = 3;
        d.tag = i;
        b.push(d);
    }
    EXPECT_EQ(b.wait().tag, 0u);
    b.ticks(20000);
    EXPECT_FALSE(b.top->io_pending); // sector 1 waits
    if (kWays > 2) {
        Completion c = b.execute(make(FLASH_OP_READ, 2, 0, kDramBase, kSector));
        EXPECT_EQ(c.status, FLASH_STATUS_OK); // the bus does not
    }
    b.rings[1][3].head = 1;
    EXPECT_EQ(b.wait(10000).tag, 1u);
    EXPECT_EQ(b.rings[1][3].complete.size(), 2u);
}

TEST(Streams, DiscardGetsRidOfReadAhead) {
    FlashBench b(testPart(), seed());
    b.boot();
    b.put(0, 0, 0, 0, 1);
    Descriptor d = make(FLASH_OP_READ, 0, 0, 100 * kSector, kSector); // far beyond the ring
    d.stream = d.check = true;
    d.oob0 = 0x123;
    d.core = 1;
    b.push(d);
    b.ticks(20000);
    EXPECT_FALSE(b.top->io_pending);
    uint64_t packets = b.packets;
    b.writeReg(FLASH_DISCARD, 1 << 1);
    Completion c = b.wait(20000);
    EXPECT_EQ(c.status, FLASH_STATUS_DROPPED);
    EXPECT_EQ(c.data0, 100 * kSector);
    EXPECT_EQ(c.data1, 0x123u);
    EXPECT_EQ(b.packets, packets);
    b.writeReg(FLASH_DISCARD, 0);
    EXPECT_EQ(b.execute(make(FLASH_OP_READ, 0, 0, kDramBase, kSector)).status, FLASH_STATUS_OK);
    EXPECT_EQ(b.packets, packets + kSector / 64);
}

TEST(Streams, TailOffLeavesThePageUnmarked) {
    FlashBench b(testPart(), seed());
    b.boot();
    b.put(0, 0, 0, 0, 1);
    Descriptor d = make(FLASH_OP_READ, 0, 0, 0, kSector);
    d.stream = true;
    d.tail = false;
    d.core = kNumber;
    EXPECT_EQ(b.execute(d).status, FLASH_STATUS_OK);
    EXPECT_EQ(b.rings[kNumber][0].filling.size(), 1u);
    EXPECT_TRUE(b.rings[kNumber][0].complete.empty());
}

TEST(Sleep, AsleepOnlyWhenNothingMoves) {
    FlashBench b(testPart(), seed());
    b.boot();
    b.ticks(100);
    EXPECT_TRUE(b.top->io_asleep);
    b.push(make(FLASH_OP_ERASE, 0, 0));
    uint64_t asleep = 0, awake = 0;
    while (!b.top->io_pending) {
        b.tick();
        (b.top->io_asleep ? asleep : awake)++;
    }
    EXPECT_GT(asleep, 11000u); // tBERS is 12,000 cycles
    EXPECT_LT(awake, 1000u);
}
