#include "FlashBench.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

using namespace flashbench;
using assasin::NandViolation;
using assasin::PartFile;

namespace {

/** Core `core`, or the one that a channel-local channel reaches. */
constexpr unsigned anyCore(unsigned core) {
    return kLocal ? kNumber : core;
}

/** A package with two LUNs and two planes, small and quick; bus timing as in the paper's part. */
PartFile testPart() {
    PartFile part;
    part.name = "BENCH-2L2P";
    part.manufacturer = "ASSASIN";
    part.id = {0x2C, 0x64, 0x44, 0x4B, 0xA9, 0, 0, 0x5A};
    part.geometry = {2, 2, 8, 16, 2048, 64};
    part.array = {4000, 9000, 12000, 3000, 1000};
    part.nvddr2 = {25, 20, 100, 20, 30, 21, 80, 70, 300, 977};
    part.timingMode = 8;
    return part;
}

PartFile paperPart() {
    PartFile part = PartFile::load(std::string(FLASH_PARTS) + "/paper-mlc.toml");
    part.geometry.blocksPerPlane = 64; // the image of a bench stays small
    return part;
}

uint64_t seed() {
    static const uint64_t value = [] {
        const char *text = std::getenv("FLASH_SEED");
        uint64_t s = text ? std::strtoull(text, nullptr, 0) : std::random_device{}();
        std::printf("FLASH_SEED=%llu\n", static_cast<unsigned long long>(s));
        return s;
    }();
    return value;
}

/** Data that tells where it belongs. */
std::vector<uint8_t> pattern(uint64_t key, unsigned bytes) {
    std::mt19937_64 generator(key);
    std::vector<uint8_t> data(bytes);
    for (uint8_t &byte : data)
        byte = static_cast<uint8_t>(generator());
    return data;
}

Descriptor make(unsigned op, unsigned way, uint32_t w1 = 0, uint32_t w2 = 0, uint32_t bytes = 0) {
    Descriptor d;
    d.op = op;
    d.way = way;
    d.w1 = w1;
    d.w2 = w2;
    d.bytes = bytes;
    return d;
}

unsigned erase(FlashBench &b, unsigned way, uint32_t row) {
    return b.execute(make(FLASH_OP_ERASE, way, row)).status;
}

unsigned program(FlashBench &b, unsigned way, uint32_t row, const std::vector<uint8_t> &data, uint32_t oob0 = 0,
                 uint32_t oob1 = 0) {
    b.fillDram(kDramBase, data);
    Descriptor d = make(FLASH_OP_PROGRAM, way, row, kDramBase, data.size());
    d.oob0 = oob0;
    d.oob1 = oob1;
    return b.execute(d).status;
}

} // namespace

TEST(Operations, IdentifyInSdrModeZero) {
    FlashBench b(testPart(), seed());
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

TEST(Operations, ProgramReadErase) {
    FlashBench b(testPart(), seed());
    b.boot();
    const unsigned page = b.part.geometry.pageBytes;
    for (unsigned lun = 0; lun < 2; lun++) {
        uint32_t row = b.row(lun, 3, 0);
        ASSERT_EQ(erase(b, 1, row), FLASH_STATUS_OK);
        auto data = pattern(lun + 100, page);
        ASSERT_EQ(program(b, 1, row, data, 0x11112222, 0x33334444), FLASH_STATUS_OK);
        // Spare area: the OOB words, then FFh.
        std::vector<uint8_t> raw(b.part.geometry.rawPageBytes());
        ASSERT_TRUE(b.image->read({0, 1, lun, 3}, 0, raw.data()));
        for (unsigned i = 8; i < b.part.geometry.spareBytes; i++)
            EXPECT_EQ(raw[page + i], 0xFF);
        Completion c = b.execute(make(FLASH_OP_READ, 1, row, kDramBase + 0x10000, page));
        EXPECT_EQ(c.status, FLASH_STATUS_OK);
        EXPECT_EQ(c.data0, 0x11112222u);
        EXPECT_EQ(c.data1, 0x33334444u);
        EXPECT_EQ(b.dram(kDramBase + 0x10000, page), data);
    }
    // A read that names its page finds another one there; bit 30 is no part of the name.
    for (uint32_t name : {0x11112222u, 0x51112222u, 0x11112223u, 0x91112222u}) {
        Descriptor d = make(FLASH_OP_READ, 1, b.row(1, 3, 0), kDramBase + 0x20000, page);
        d.check = true;
        d.oob0 = name;
        Completion c = b.execute(d);
        const bool right = (name & ~0x40000000u) == 0x11112222u;
        EXPECT_EQ(c.status, right ? FLASH_STATUS_OK : FLASH_STATUS_MISDIRECTED) << std::hex << name;
        EXPECT_EQ(c.data0, 0x11112222u);
        EXPECT_EQ(c.data1, right ? 0x33334444u : name);
    }
    // The other LUN's page is untouched by an erase.
    ASSERT_EQ(erase(b, 1, b.row(0, 3, 0)), FLASH_STATUS_OK);
    b.execute(make(FLASH_OP_READ, 1, b.row(0, 3, 0), kDramBase, page));
    EXPECT_EQ(b.dram(kDramBase, page), std::vector<uint8_t>(page, 0xFF));
    b.execute(make(FLASH_OP_READ, 1, b.row(1, 3, 0), kDramBase, page));
    EXPECT_EQ(b.dram(kDramBase, page), pattern(101, page));
}

TEST(Operations, ShortProgramAndShortRead) {
    FlashBench b(testPart(), seed());
    b.boot();
    const unsigned page = b.part.geometry.pageBytes;
    unsigned number = 0;
    for (unsigned bytes : {1u, 8u, 13u, 64u, 1000u, page - 1}) {
        auto data = pattern(bytes, bytes);
        ASSERT_EQ(program(b, 0, b.row(0, 0, number), data), FLASH_STATUS_OK);
        std::vector<uint8_t> raw(b.part.geometry.rawPageBytes());
        ASSERT_TRUE(b.image->read({0, 0, 0, 0}, number, raw.data()));
        std::vector<uint8_t> expected(page, 0xFF);
        std::copy(data.begin(), data.end(), expected.begin());
        raw.resize(page);
        EXPECT_EQ(raw, expected) << bytes << " bytes programmed";
        b.fillDram(kDramBase, std::vector<uint8_t>(page, 0xEE));
        ASSERT_EQ(b.execute(make(FLASH_OP_READ, 0, b.row(0, 0, number), kDramBase, bytes)).status, FLASH_STATUS_OK);
        expected.assign(page, 0xEE);
        std::copy(data.begin(), data.end(), expected.begin());
        EXPECT_EQ(b.dram(kDramBase, page), expected) << bytes << " bytes read";
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
    auto data = pattern(1, b.part.geometry.pageBytes);
    EXPECT_EQ(program(b, 0, b.row(0, 5, 0), data), FLASH_STATUS_FAIL);
    EXPECT_EQ(program(b, 0, b.row(1, 4, 0), data), FLASH_STATUS_OK);
    EXPECT_EQ(erase(b, 0, b.row(1, 6, 0)), FLASH_STATUS_FAIL);
    EXPECT_EQ(erase(b, 0, b.row(1, 7, 0)), FLASH_STATUS_OK);
}

TEST(Operations, WriteProtected) {
    FlashBench b(testPart(), seed());
    b.boot();
    b.writeProtect = true;
    b.ticks(10);
    EXPECT_EQ(program(b, 0, b.row(0, 5, 0), pattern(1, b.part.geometry.pageBytes)), FLASH_STATUS_PROTECTED);
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
    const unsigned page = b.part.geometry.pageBytes;
    uint64_t before = b.readReg(FLASH_BUS_BUSY_LO);
    std::vector<Descriptor> bad;
    for (unsigned op = 9; op < 16; op++)
        bad.push_back(make(op, 0));
    bad.push_back(make(FLASH_OP_READ, 0, 0, kDramBase, 0));
    bad.push_back(make(FLASH_OP_READ, 0, 0, kDramBase, page + 1));
    bad.push_back(make(FLASH_OP_READ, 0, 0, kDramBase, 0x10000 + page));
    bad.push_back(make(FLASH_OP_READ, 0, 0, kDramBase + 8, page));
    bad.push_back(make(FLASH_OP_READ, 0, 0x1000000, kDramBase, page));
    bad.push_back(make(FLASH_OP_PROGRAM, 0, 0, kDramBase, 0));
    bad.push_back(make(FLASH_OP_PROGRAM, 0, 0, kDramBase, page + 1));
    bad.push_back(make(FLASH_OP_PROGRAM, 0, 0, kDramBase + 32, page));
    bad.push_back(make(FLASH_OP_PROGRAM, 0, 0xFF000000, kDramBase, page));
    bad.push_back(make(FLASH_OP_ERASE, 0, 0x1000000));
    bad.push_back(make(FLASH_OP_READ_ID, 0, 0x100));
    bad.push_back(make(FLASH_OP_GET_FEATURE, 0, 0x100));
    bad.push_back(make(FLASH_OP_SET_FEATURE, 0, 0x100));
    bad.push_back(make(FLASH_OP_PARAM_PAGE, 0, 0, kDramBase, 0));
    bad.push_back(make(FLASH_OP_PARAM_PAGE, 0, 0, kDramBase, 4097));
    bad.push_back(make(FLASH_OP_PARAM_PAGE, 0, 0, kDramBase + 4, 256));
    Descriptor d = make(FLASH_OP_READ, 0, 0, page / 2, page);
    d.stream = true;
    bad.push_back(d); // stream position inside a page
    d.w2 = 0;
    d.core = kCores;
    bad.push_back(d);
    if (kLocal) {
        d.core = 1 - kNumber; // a core that exists, but is another channel's
        bad.push_back(d);
    }
    d = make(FLASH_OP_PROGRAM, 0, 0, kDramBase, page);
    d.stream = true;
    bad.push_back(d);
    d = make(FLASH_OP_PARAM_PAGE, 0, 0, kDramBase, 256);
    d.stream = true;
    bad.push_back(d);
    if (kWays < 16)
        bad.push_back(make(FLASH_OP_READ, kWays, 0, kDramBase, page));
    unsigned tag = 0;
    for (Descriptor &each : bad) {
        each.tag = tag++;
        Completion c = b.execute(each);
        EXPECT_EQ(c.status, FLASH_STATUS_BAD_DESC) << "descriptor " << each.tag << " op " << each.op;
    }
    EXPECT_EQ(b.readReg(FLASH_BUS_BUSY_LO), before);
    // The way still works.
    EXPECT_EQ(b.execute(make(FLASH_OP_READ, 0, 0, kDramBase, page)).status, FLASH_STATUS_OK);
    b.setGeometry(b.pageLog2 + 8, 64);
    EXPECT_EQ(b.execute(make(FLASH_OP_READ, 0, 0, kDramBase, page)).status, FLASH_STATUS_BAD_DESC);
}

TEST(Operations, ContentsSurviveARestart) {
    std::string path =
        (std::filesystem::temp_directory_path() / ("flash-bench-" + std::to_string(getpid()) + ".img")).string();
    std::filesystem::remove(path);
    const unsigned page = testPart().geometry.pageBytes;
    for (bool second : {false, true}) {
        FlashBench b(testPart(), seed(), 1.0, 4, path);
        b.boot();
        if (!second) {
            EXPECT_EQ(program(b, 1, b.row(1, 2, 0), pattern(77, page), 0xAA, 0xBB), FLASH_STATUS_OK);
            continue;
        }
        Completion c = b.execute(make(FLASH_OP_READ, 1, b.row(1, 2, 0), kDramBase, page));
        EXPECT_EQ(c.data0, 0xAAu);
        EXPECT_EQ(c.data1, 0xBBu);
        EXPECT_EQ(b.dram(kDramBase, page), pattern(77, page));
    }
    PartFile other = testPart();
    other.geometry.blocksPerPlane *= 2;
    EXPECT_THROW(FlashBench(other, seed(), 1.0, 4, path), std::runtime_error);
    std::filesystem::remove(path);
}

TEST(Queues, SpaceAndOverflow) {
    FlashBench b(testPart(), seed());
    b.boot();
    const unsigned page = b.part.geometry.pageBytes;
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
    (void)page;
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
    EXPECT_GE(pushed, 24 * kWays);
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
    const unsigned page = b.part.geometry.pageBytes;
    b.rings[1][3].pages = 1;
    for (unsigned i = 0; i < 2; i++) { // pages 0 and 1 of a one-page ring, on ways 0 and 1
        Descriptor d = make(FLASH_OP_READ, i, 0, i * page, page);
        d.stream = true;
        d.core = 1;
        d.streamId = 3;
        d.tag = i;
        b.push(d);
    }
    EXPECT_EQ(b.wait().tag, 0u);
    b.ticks(20000);
    EXPECT_FALSE(b.top->io_pending); // page 1 waits
    if (kWays > 2) {
        Completion c = b.execute(make(FLASH_OP_READ, 2, 0, kDramBase, page));
        EXPECT_EQ(c.status, FLASH_STATUS_OK); // the bus does not
    }
    b.rings[1][3].head = 1;
    EXPECT_EQ(b.wait(10000).tag, 1u);
    EXPECT_EQ(b.rings[1][3].complete.size(), 2u);
}

TEST(Streams, DiscardGetsRidOfReadAhead) {
    FlashBench b(testPart(), seed());
    b.boot();
    const unsigned page = b.part.geometry.pageBytes;
    Descriptor d = make(FLASH_OP_READ, 0, 0, 100 * page, page); // far beyond the ring
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
    EXPECT_EQ(c.data0, 100 * page);
    EXPECT_EQ(c.data1, 0x123u);
    EXPECT_EQ(b.packets, packets);
    b.writeReg(FLASH_DISCARD, 0);
    EXPECT_EQ(b.execute(make(FLASH_OP_READ, 0, 0, kDramBase, page)).status, FLASH_STATUS_OK);
    EXPECT_EQ(b.packets, packets + page / 64);
}

TEST(Streams, TailOffLeavesThePageUnmarked) {
    FlashBench b(testPart(), seed());
    b.boot();
    Descriptor d = make(FLASH_OP_READ, 0, 0, 0, b.part.geometry.pageBytes);
    d.stream = true;
    d.tail = false;
    d.core = kNumber;
    EXPECT_EQ(b.execute(d).status, FLASH_STATUS_OK);
    EXPECT_EQ(b.rings[kNumber][0].filling.size(), 1u);
    EXPECT_TRUE(b.rings[kNumber][0].complete.empty());
}

namespace {

/** Random programs, reads and erases on all ways against a mirror of what the chips must hold. */
class Traffic {
  public:
    Traffic(FlashBench &bench, unsigned blocks) : b(bench), blocks_(blocks), ways_(kWays) {
        b.eachTick = [this] { consume(); };
    }

    void run(unsigned operations) {
        unsigned issued = 0;
        while (issued < operations || !open_.empty()) {
            if (issued < operations && open_.size() < 200 && issue())
                issued++;
            Completion c;
            while (b.pop(c))
                complete(c);
            b.ticks(b.below(300));
            if (++idle_ > 100000)
                throw BenchError("traffic is stuck");
        }
        b.eachTick = nullptr;
    }

    unsigned programs = 0, reads = 0, streamReads = 0, erases = 0;

  private:
    struct Block {
        std::vector<uint64_t> keys; // of the programmed pages
    };
    struct Open {
        Descriptor d;
        std::vector<uint8_t> expected; // reads
        uint64_t key = 0;
        bool erased = false;
        bool stream = false;
        unsigned core = 0, streamId = 0;
        uint32_t page = 0;
    };

    Block &block(unsigned way, uint32_t row) {
        return mirror_[way][row >> b.part.geometry.pageBits()];
    }

    static uint32_t buffer(unsigned tag) {
        return kDramBase + (tag % 512) * 0x4000;
    }

    bool issue() {
        idle_ = 0;
        const auto &g = b.part.geometry;
        unsigned way = b.below(kWays);
        if (b.space(way) == 0)
            return false;
        unsigned lun = b.below(g.luns);
        unsigned number = b.below(blocks_);
        uint32_t base = b.row(lun, number, 0);
        Block &blk = block(way, base);
        Open open;
        open.d.way = way;
        open.d.tag = tag_;
        if (open_.count(tag_))
            return false;
        unsigned dice = b.below(100);
        if (!blk.keys.empty() && dice < 6) {
            open.d.op = FLASH_OP_ERASE;
            open.d.w1 = base | b.below(g.pagesPerBlock);
            blk.keys.clear();
            erases++;
        } else if (blk.keys.size() < g.pagesPerBlock && dice < 45) {
            open.d.op = FLASH_OP_PROGRAM;
            open.d.w1 = base + blk.keys.size();
            open.d.w2 = buffer(tag_);
            open.d.bytes = g.pageBytes;
            open.key = b.random();
            open.d.oob0 = static_cast<uint32_t>(open.key);
            open.d.oob1 = static_cast<uint32_t>(open.key >> 32);
            b.fillDram(open.d.w2, pattern(open.key, g.pageBytes));
            blk.keys.push_back(open.key);
            programs++;
        } else {
            unsigned page = b.below(g.pagesPerBlock);
            open.d.op = FLASH_OP_READ;
            open.d.w1 = base + page;
            open.d.bytes = b.chance(20) ? 1 + b.below(g.pageBytes) : g.pageBytes;
            open.erased = page >= blk.keys.size();
            open.key = open.erased ? 0 : blk.keys[page];
            open.expected = open.erased ? std::vector<uint8_t>(g.pageBytes, 0xFF) : pattern(open.key, g.pageBytes);
            open.expected.resize(open.d.bytes);
            open.d.check = b.chance(50);
            open.d.oob0 = open.erased ? UINT32_MAX : static_cast<uint32_t>(open.key);
            if (b.chance(50)) {
                open.stream = open.d.stream = true;
                open.core = open.d.core = anyCore(b.below(kCores));
                open.streamId = open.d.streamId = b.below(kStreams);
                open.page = pushed_[open.core][open.streamId]++;
                open.d.w2 = open.page << b.pageLog2;
                streamReads++;
            } else {
                open.d.w2 = buffer(tag_);
                reads++;
            }
        }
        b.push(open.d);
        open_[tag_] = open;
        order_[way].push_back(tag_);
        tag_ = (tag_ + 1) % 4096;
        return true;
    }

    void complete(const Completion &c) {
        idle_ = 0;
        if (!open_.count(c.tag))
            throw BenchError("completion of an unknown tag");
        Open open = open_[c.tag];
        open_.erase(c.tag);
        if (order_[c.way].empty() || order_[c.way].front() != c.tag)
            throw BenchError("completions of way " + std::to_string(c.way) + " out of order");
        order_[c.way].pop_front();
        if (c.status != FLASH_STATUS_OK)
            throw BenchError("status " + std::to_string(c.status) + " of op " + std::to_string(open.d.op));
        if (open.d.op != FLASH_OP_READ)
            return;
        uint64_t oob = c.data0 | uint64_t(c.data1) << 32;
        if (oob != (open.erased ? ~uint64_t(0) : open.key))
            throw BenchError("OOB words differ");
        if (open.stream) {
            delivered_[open.core][open.streamId][open.page] = open.expected;
            check(open.core, open.streamId);
        } else if (b.dram(open.d.w2, open.d.bytes) != open.expected) {
            throw BenchError("data of tag " + std::to_string(c.tag) + " differ");
        }
    }

    /** A completed page has wholly arrived, even when it was consumed before its completion was read. */
    void check(unsigned core, unsigned stream) {
        auto &ring = b.rings[core][stream];
        auto &expected = delivered_[core][stream];
        for (auto it = expected.begin(); it != expected.end(); it = expected.erase(it)) {
            auto &pages = kept_[core][stream];
            const std::vector<uint8_t> *got = nullptr;
            if (pages.count(it->first))
                got = &pages[it->first];
            else if (ring.complete.count(it->first))
                got = &ring.complete[it->first];
            if (!got)
                throw BenchError("a stream page completed before it was delivered");
            if (*got != it->second)
                throw BenchError("data of a stream page differ");
            pages.erase(it->first);
        }
    }

    /** Cores consume whole pages in order, now and then. */
    void consume() {
        if (b.below(50))
            return;
        unsigned core = anyCore(b.below(kCores)), stream = b.below(kStreams);
        auto &ring = b.rings[core][stream];
        auto it = ring.complete.find(ring.head);
        if (it != ring.complete.end()) {
            kept_[core][stream][ring.head] = it->second;
            ring.complete.erase(it);
            ring.head++;
        }
    }

    FlashBench &b;
    unsigned blocks_;
    std::vector<std::map<uint32_t, Block>> mirror_ = std::vector<std::map<uint32_t, Block>>(kWays);
    std::map<unsigned, Open> open_;
    std::map<unsigned, std::deque<unsigned>> order_;
    std::map<unsigned, std::map<unsigned, uint32_t>> pushed_;
    std::map<unsigned, std::map<unsigned, std::map<uint32_t, std::vector<uint8_t>>>> delivered_, kept_;
    unsigned ways_;
    unsigned tag_ = 0;
    unsigned idle_ = 0;
};

void traffic(unsigned outReady, unsigned phyLatency, bool skip, double nsPerCycle, unsigned operations) {
    FlashBench b(testPart(), seed(), nsPerCycle, phyLatency);
    b.boot();
    b.outReadyPercent = outReady;
    b.fetchReadyPercent = 50;
    b.skipSleep = skip;
    Traffic t(b, 2);
    t.run(operations);
    std::printf("    %u programs, %u reads, %u stream reads, %u erases in %llu cycles (%llu slept)\n", t.programs,
                t.reads, t.streamReads, t.erases, static_cast<unsigned long long>(b.now),
                static_cast<unsigned long long>(b.slept));
    EXPECT_GT(t.programs, operations / 10);
    EXPECT_GT(t.streamReads, operations / 10);
}

} // namespace

TEST(Random, FreeCrossbar) {
    traffic(100, 4, false, 1.0, 1500);
}
TEST(Random, BusyCrossbarAndLongPhy) {
    traffic(10, 15, false, 1.0, 1000);
}
TEST(Random, ShortPhyHalfBusy) {
    traffic(60, 1, false, 1.0, 1000);
}
TEST(Random, ClockStopsWhileAsleep) {
    traffic(100, 3, true, 1.0, 1000);
}
TEST(Random, SlowClock) {
    traffic(90, 5, false, 10.0, 1500);
}

namespace {

/** Runs one operation with one timing register changed. \return the rule that was broken, "" when none. */
std::string ruleBroken(const assasin::NandCycles &host, unsigned op, std::string *text = nullptr) {
    PartFile part = testPart();
    part.nvddr2.tRR = 90; // longer than the channel's own way from R/B to the first beat
    FlashBench b(part, 1);
    b.boot();
    const unsigned page = part.geometry.pageBytes;
    try {
        erase(b, 0, 0);
        program(b, 0, 0, pattern(5, page));
        b.setTiming(host);
        if (op == FLASH_OP_PROGRAM)
            program(b, 0, 1, pattern(6, page));
        else
            b.execute(make(op, 0, 0, kDramBase, page));
        b.ticks(200);
    } catch (const NandViolation &violation) {
        if (text)
            *text = violation.what();
        return violation.rule;
    }
    return "";
}

} // namespace

/** One cycle less than the part needs stops the run and names the parameter; the exact value passes. */
TEST(Timing, Edges) {
    PartFile part = testPart();
    part.nvddr2.tRR = 90;
    const assasin::NandCycles exact = assasin::NandTiming(part, 1.0, kPhyBytes).nvddr2();
    for (unsigned op : {FLASH_OP_READ, FLASH_OP_PROGRAM, FLASH_OP_ERASE, FLASH_OP_READ_STATUS})
        EXPECT_EQ(ruleBroken(exact, op), "") << "operation " << op;

    struct Case {
        const char *rule;
        unsigned assasin::NandCycles::*field;
        unsigned op;
    };
    const Case cases[] = {{"tWC", &assasin::NandCycles::tWC, FLASH_OP_READ},
                          {"tWC", &assasin::NandCycles::tWC, FLASH_OP_PROGRAM},
                          {"tWC", &assasin::NandCycles::tWC, FLASH_OP_ERASE},
                          {"tCS", &assasin::NandCycles::tCS, FLASH_OP_READ},
                          {"tRPRE", &assasin::NandCycles::tRPRE, FLASH_OP_READ},
                          {"tPST", &assasin::NandCycles::tPST, FLASH_OP_READ},
                          {"tPST", &assasin::NandCycles::tPST, FLASH_OP_PROGRAM},
                          {"tWHR", &assasin::NandCycles::tWHR, FLASH_OP_READ_STATUS},
                          {"tWHR", &assasin::NandCycles::tWHR, FLASH_OP_ERASE},
                          {"tADL", &assasin::NandCycles::tADL, FLASH_OP_PROGRAM}};
    for (const Case &c : cases) {
        assasin::NandCycles less = exact;
        less.*c.field -= 1;
        std::string text;
        EXPECT_EQ(ruleBroken(less, c.op, &text), c.rule) << "operation " << c.op << ": " << text;
        EXPECT_NE(text.find("channel 0 way 0"), std::string::npos) << text;
    }
    if (exact.beat > 1) {
        assasin::NandCycles less = exact;
        less.beat -= 1;
        EXPECT_EQ(ruleBroken(less, FLASH_OP_READ), "data rate");
        EXPECT_EQ(ruleBroken(less, FLASH_OP_PROGRAM), "data rate");
    }
}

/** tWB and tRR guard a pin that the channel synchronises first: the largest value that fails must be close below the
 * part's. */
TEST(Timing, MarginOfThePhyIsShownAndNotAdded) {
    FlashBench b(testPart(), seed());
    b.boot();
    EXPECT_EQ(b.readReg(FLASH_PHY_MARGIN), 0u);
    auto readTime = [&] {
        uint64_t start = b.now;
        b.execute(make(FLASH_OP_READ, 0, 0, kDramBase, b.part.geometry.pageBytes));
        return b.now - start;
    };
    readTime();
    uint64_t before = readTime();
    b.phy.margin = 0x0F0601;
    b.tick();
    EXPECT_EQ(b.readReg(FLASH_PHY_MARGIN), 0x0F0601u);
    b.writeReg(FLASH_PHY_MARGIN, 0);
    EXPECT_EQ(b.readReg(FLASH_PHY_MARGIN), 0x0F0601u);
    EXPECT_EQ(readTime(), before);
}

TEST(Timing, EdgesOfReadyBusy) {
    PartFile part = testPart();
    part.nvddr2.tRR = 90;
    const assasin::NandCycles exact = assasin::NandTiming(part, 1.0, kPhyBytes).nvddr2();
    assasin::NandCycles less = exact;
    less.tWB -= 1;
    std::string text;
    EXPECT_EQ(ruleBroken(less, FLASH_OP_READ, &text), "busy") << text;
    less.tWB = less.tRR = 1; // early enough for the data phase to begin before the part shows busy
    EXPECT_EQ(ruleBroken(less, FLASH_OP_READ, &text), "tWB") << text;

    unsigned fails = 0;
    for (unsigned tRR = exact.tRR; tRR-- > 0 && !fails;) {
        less = exact;
        less.tRR = tRR;
        if (ruleBroken(less, FLASH_OP_READ, &text) == "tRR")
            fails = tRR;
    }
    EXPECT_GT(fails, exact.tRR - exact.tCS - 16) << text;
}

namespace {

/** Cycles a page on the bus, all ways reading all the time; and the share of the formula. */
double measure(FlashBench &b, unsigned ways, bool toStreams, unsigned pages) {
    const unsigned page = b.part.geometry.pageBytes;
    unsigned issued = 0, done = 0;
    std::vector<unsigned> inWay(kWays);
    uint64_t first = 0, busyBefore = 0;
    const unsigned warm = 4 * ways;
    std::vector<uint32_t> position(kCores);
    for (auto &core : b.rings)
        core[0].pages = 16;
    b.eachTick = [&] {
        for (auto &core : b.rings) // cores that keep up with the bus
            while (core[0].complete.count(core[0].head))
                core[0].complete.erase(core[0].head++);
    };
    auto drain = [&] {
        Completion c;
        while (b.pop(c)) {
            inWay[c.way]--;
            if (++done == warm) {
                first = b.now;
                busyBefore = b.readReg(FLASH_BUS_BUSY_LO);
            }
        }
    };
    while (done < warm + pages) {
        for (unsigned way = 0; way < ways; way++) {
            if (inWay[way] < 4) {
                Descriptor d = make(FLASH_OP_READ, way, issued % 1024, kDramBase + (issued % 256) * 0x4000, page);
                if (toStreams) {
                    d.stream = true;
                    d.core = anyCore(issued % kCores);
                    d.w2 = position[d.core]++ * page;
                }
                b.push(d);
                inWay[way]++;
                issued++;
            }
            drain();
        }
        b.tick();
        drain();
    }
    uint64_t cycles = b.now - first;
    double perPage = double(cycles) / (done - warm);
    double busy = double(b.readReg(FLASH_BUS_BUSY_LO) - uint32_t(busyBefore)) / (b.now - first);
    std::printf("    %u ways, %s: %.1f cycles a page, formula %u: %.2f %% of the bus limit; bus busy %.1f %%\n", ways,
                toStreams ? "streams" : "DRAM", perPage, b.formula(), 100.0 * b.formula() / perPage, 100 * busy);
    b.eachTick = nullptr;
    return b.formula() / perPage;
}

} // namespace

TEST(Throughput, ReadsReachTheBusLimit) {
    if (kWays < 8)
        GTEST_SKIP() << "needs eight ways";
    if (kPhyBytes > 1) { // a beat every cycle, tR short enough for eight ways to hide it
        PartFile part = paperPart();
        part.nvddr2.beatPs = 1000 / kPhyBytes;
        part.array.tR = 5000;
        FlashBench b(part, 1);
        b.boot();
        EXPECT_GE(measure(b, kWays, true, 512), 0.99);
        return;
    }
    for (bool toStreams : {false, true}) {
        for (unsigned ways : {8u, 16u}) {
            FlashBench b(paperPart(), 1);
            b.boot();
            EXPECT_GE(measure(b, ways, toStreams, 256), 0.99);
        }
    }
    // Crossbar shared with seven other channels: a packet waits, the bus does not.
    FlashBench b(paperPart(), 1);
    b.boot();
    b.outReadyPercent = 40;
    EXPECT_GE(measure(b, 16, true, 256), 0.99);
}

TEST(Throughput, SimulationSpeed) {
    if (kWays != 16) {
        GTEST_SKIP() << "measured on the full channel";
    }
    FlashBench b(paperPart(), 1);
    b.boot();
    auto start = std::chrono::steady_clock::now();
    uint64_t from = b.now;
    measure(b, kWays, false, 128);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("    %.0f kHz with bench and NAND model, reading\n", (b.now - from) / seconds / 1000);

    // Channel and model apart, each replaying what it saw in the bench.
    FlashBench r(paperPart(), 1);
    std::vector<FlashBench::Pins> pins;
    r.recorder = &pins;
    r.restart();
    r.boot();
    measure(r, kWays, false, 64);
    auto time = [&](const char *what, size_t n, auto body) {
        // The quickest tenth: the machine may have other work.
        double ns = 1e9;
        for (size_t part = 0; part < 10; part++) {
            auto t0 = std::chrono::steady_clock::now();
            for (size_t i = n * part / 10; i < n * (part + 1) / 10; i++)
                body(i);
            ns = std::min(ns, std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count() /
                                  (n / 10.0) * 1e9);
        }
        std::printf("    %-44s %7.1f ns a cycle\n", what, ns);
    };
    uint64_t mismatches = 0;
    FlashBench m(paperPart(), 1);
    assasin::PhyPort port;
    time("model, reading", pins.size(), [&](size_t i) {
        port = pins[i].phy;
        m.nand->cycle(i + 1, port);
        mismatches += port.dqInValid != pins[i].phy.dqInValid;
    });
    EXPECT_EQ(mismatches, 0u);
    uint64_t last = pins.size() + 1000000;
    port.we = port.re = port.dqOutValid = false;
    m.nand->cycle(last, port);
    time("model, idle", 5000000, [&](size_t i) { m.nand->cycle(last + i, port); });
    FlashBench c(paperPart(), 1);
    c.restart();
    time("channel, reading", pins.size(), [&](size_t i) {
        pins[i].drive(*c.top);
        c.top->clock = 0;
        c.top->eval();
        c.top->clock = 1;
        c.top->eval();
        mismatches += c.top->io_phy_re != pins[i].phy.re;
    });
    EXPECT_EQ(mismatches, 0u);
    FlashBench idle(paperPart(), 1);
    time("channel, idle", 1000000, [&](size_t) {
        idle.top->clock = 0;
        idle.top->eval();
        idle.top->clock = 1;
        idle.top->eval();
    });
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
