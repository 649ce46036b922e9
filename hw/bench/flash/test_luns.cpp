// SPDX-License-Identifier: BSD-3-Clause
#include "Support.h"

#include <gtest/gtest.h>

using namespace flashbench;

namespace {

/** Pushes without waiting. */
void start(FlashBench &b, Descriptor d, unsigned tag) {
    d.tag = tag;
    b.push(d);
}

/** What the packages have done. */
assasin::NandCounts counts(const FlashBench &b) {
    assasin::NandCounts sum;
    b.nand->addCounts(sum);
    return sum;
}

/** A page of each LUN of way 0, sector s of LUN n holds pattern(10 * n + s), and a stream whose ring holds one sector.
 */
void bootWithShortRing(FlashBench &b) {
    b.boot();
    b.rings[kNumber][0].pages = 1;
    for (unsigned lun = 0; lun < 2; lun++)
        b.put(0, lun, 0, 0, 10 * lun);
}

/** Reads sector s of that page of `lun` to sector `position` of the stream, without waiting. */
void stream(FlashBench &b, unsigned lun, unsigned s, unsigned position) {
    Descriptor d = make(FLASH_OP_READ, 0, b.sector(lun, 0, 0, s), position * kSector, kSector);
    d.stream = true;
    d.core = kNumber;
    start(b, d, position);
}

} // namespace

TEST(Luns, EraseAtTheSameTime) {
    if (kLuns == 1)
        GTEST_SKIP() << "LUNs take turns";
    FlashBench b(testPart(), seed());
    b.boot();
    const uint64_t from = b.now;
    for (unsigned lun = 0; lun < 2; lun++)
        start(b, make(FLASH_OP_ERASE, 1, b.sector(lun, 2, 0)), lun);
    for (unsigned lun = 0; lun < 2; lun++)
        EXPECT_EQ(b.wait().status, FLASH_STATUS_OK);
    EXPECT_LT(b.now - from, 12000u + 2500u);
    for (unsigned lun = 0; lun < 2; lun++)
        EXPECT_EQ(b.image->eraseCount({0, 1, lun, 2}), 1u);
}

TEST(Luns, AReadIsDoneWhileTheOtherLunErases) {
    if (kLuns == 1)
        GTEST_SKIP() << "LUNs take turns";
    FlashBench b(testPart(), seed());
    b.boot();
    b.put(0, 1, 1, 0, 7);
    const uint64_t from = b.now;
    start(b, make(FLASH_OP_ERASE, 0, b.sector(0, 2, 0)), 1);
    start(b, make(FLASH_OP_READ, 0, b.sector(1, 1, 0), kReadBuffer, kSector), 2);
    Completion c = b.wait();
    EXPECT_EQ(c.tag, 2u);
    EXPECT_EQ(c.status, FLASH_STATUS_OK);
    EXPECT_EQ(b.dram(kReadBuffer, kSector), pattern(7));
    EXPECT_LT(b.now - from, 12000u);
    EXPECT_EQ(b.wait().status, FLASH_STATUS_OK);
}

/** What is for the whole way runs alone, whatever waits for the other LUN. */
TEST(Luns, TheWholeWayWaitsForBoth) {
    if (kLuns == 1)
        GTEST_SKIP() << "LUNs take turns";
    FlashBench b(testPart(), seed());
    b.boot();
    b.put(0, 1, 1, 0, 7);
    start(b, make(FLASH_OP_ERASE, 0, b.sector(1, 2, 0)), 1);
    start(b, make(FLASH_OP_GET_FEATURE, 0, 0x01), 2);
    b.ticks(1000);
    start(b, make(FLASH_OP_READ, 0, b.sector(1, 1, 0), kReadBuffer, kSector), 3);
    for (unsigned tag = 1; tag <= 3; tag++) {
        Completion c = b.wait();
        EXPECT_EQ(c.tag, tag);
        EXPECT_EQ(c.status, FLASH_STATUS_OK);
    }
    // Up to then it keeps no other LUN waiting: neither the one whose page it waits for nor those of other ways.
    ASSERT_EQ(program(b, 1, b.sector(1, 3, 0), pattern(1), 0, 0, FLASH_CONFIRM_PLANE).status, FLASH_STATUS_OK);
    ASSERT_EQ(read(b, 0, b.sector(0, 1, 0)).status, FLASH_STATUS_ERASED);
    start(b, make(FLASH_OP_GET_FEATURE, 1, 0x01), 4);
    b.ticks(1000);
    EXPECT_EQ(read(b, 0, b.sector(1, 1, 0)).status, FLASH_STATUS_OK);
    EXPECT_EQ(program(b, 1, b.sector(1, 2, 0), pattern(2)).status, FLASH_STATUS_OK);
    EXPECT_EQ(b.wait().tag, 4u);
    // RESET gives up the page that LUN 1 is being given.
    ASSERT_EQ(program(b, 0, b.sector(1, 3, 0), pattern(1), 0, 0, FLASH_CONFIRM_PLANE).status, FLASH_STATUS_OK);
    start(b, make(FLASH_OP_ERASE, 0, b.sector(0, 4, 0)), 4);
    b.ticks(20000);
    EXPECT_FALSE(b.top->io_pending); // 10h comes first
    EXPECT_EQ(program(b, 0, b.sector(1, 2, 0), pattern(2)).status, FLASH_STATUS_OK);
    EXPECT_EQ(b.wait().tag, 4u);
    for (unsigned block : {2u, 3u})
        EXPECT_EQ(read(b, 0, b.sector(1, block, 0)).status, FLASH_STATUS_OK);
    ASSERT_EQ(program(b, 0, b.sector(1, 3, 1), pattern(1), 0, 0, FLASH_CONFIRM_PLANE).status, FLASH_STATUS_OK);
    b.setTiming(b.timing.sdr(0));
    EXPECT_EQ(b.execute(make(FLASH_OP_RESET, 0)).status, FLASH_STATUS_OK);
    EXPECT_EQ(erase(b, 0, b.sector(0, 4, 0)), FLASH_STATUS_OK);
}

/** A page that waits for room in its stream does not keep the other LUN's program waiting: what the stream needs before
 * it may be behind that program. */
TEST(Luns, AProgramDoesNotWaitForAStream) {
    if (kLuns == 1)
        GTEST_SKIP() << "LUNs take turns";
    FlashBench b(largePart(), seed());
    bootWithShortRing(b);
    // LUN 0's page waits in its register, first as the array brought it, then behind a sector that was taken from it.
    for (unsigned first : {0u, 3u}) {
        if (first > 0) {
            EXPECT_EQ(read(b, 0, b.sector(0, 0, 0, 0)).status, FLASH_STATUS_OK);
            stream(b, 0, 1, first + 1);
        } else {
            stream(b, 0, 0, first + 1);
        }
        b.ticks(20000);
        EXPECT_FALSE(b.top->io_pending);
        b.fillDram(kDramBase, pattern(99));
        start(b, make(FLASH_OP_PROGRAM, 0, b.sector(1, 2, first / 3), kDramBase, kSector), 100);
        b.ticks(20000);
        stream(b, 1, 0, first);
        stream(b, 0, 2, first + 2);
        std::map<unsigned, Completion> ended;
        while (ended.size() < 4) {
            const Completion c = b.wait();
            EXPECT_EQ(c.status, FLASH_STATUS_OK) << c.tag;
            ended[c.tag] = c;
            if (c.tag != 100)
                b.rings[kNumber][0].head++;
        }
        auto &pages = b.rings[kNumber][0].complete;
        EXPECT_EQ(pages[first], pattern(10));
        EXPECT_EQ(pages[first + 1], pattern(first > 0 ? 1 : 0));
        EXPECT_EQ(pages[first + 2], pattern(2));
    }
}

/** Nor does it keep a command for the whole way waiting, which the way's other queue stands behind. */
TEST(Luns, TheWholeWayDoesNotWaitForAStream) {
    if (kLuns == 1)
        GTEST_SKIP() << "LUNs take turns";
    FlashBench b(largePart(), seed());
    bootWithShortRing(b);
    unsigned position = 0;
    for (unsigned op : {FLASH_OP_GET_FEATURE, FLASH_OP_READ_ID, FLASH_OP_RESET}) {
        // RESET leaves the package in SDR, where a beat brings one byte whatever the PHY's width: sectors cannot be
        // read.
        if (op == FLASH_OP_RESET && kPhyBytes > 1)
            continue;
        // LUN 1's page waits in its register, first as the array brought it, then behind a sector that was taken from
        // it. At last the command comes while the array still reads the page.
        for (unsigned first : {0u, 1u, 0u}) {
            const bool early = position % 9 == 6; // the third of each command
            if (first > 0) {
                EXPECT_EQ(read(b, 0, b.sector(1, 0, 0, 0)).status, FLASH_STATUS_OK);
            }
            stream(b, 1, first, position + 1);
            b.ticks(early ? 500 : 20000);
            EXPECT_FALSE(b.top->io_pending);
            if (op == FLASH_OP_RESET)
                b.setTiming(b.timing.sdr(0));
            start(b, make(op, 0, op == FLASH_OP_GET_FEATURE ? 0x01 : 0), 100);
            Completion c = b.wait();
            EXPECT_EQ(c.tag, 100u);
            EXPECT_EQ(c.status, FLASH_STATUS_OK);
            stream(b, 0, 0, position);
            stream(b, 1, 2, position + 2);
            for (unsigned i = 0; i < 3; i++) {
                c = b.wait();
                EXPECT_EQ(c.tag, position + i);
                EXPECT_EQ(c.status, FLASH_STATUS_OK);
                b.rings[kNumber][0].head++;
            }
            auto &pages = b.rings[kNumber][0].complete;
            EXPECT_EQ(pages[position], pattern(0));
            EXPECT_EQ(pages[position + 1], pattern(10 + first));
            EXPECT_EQ(pages[position + 2], pattern(12));
            position += 3;
        }
    }
}

/** READ_STATUS is behind the program of its LUN, and tells of its plane. */
TEST(Luns, StatusOfAPlane) {
    if (kLuns == 1)
        GTEST_SKIP() << "LUNs take turns";
    struct Fail : assasin::NandFaults {
        bool programFails(const assasin::NandAddress &a) override {
            return a.lun == 1 && a.block == 4;
        }
    } fail;
    FlashBench b(testPart(), seed());
    b.boot();
    b.faults = &fail;
    b.fillDram(kDramBase, pattern(1));
    start(b, make(FLASH_OP_ERASE, 0, b.sector(0, 2, 0)), 1);
    for (unsigned plane : {0u, 1u}) {
        Descriptor d = make(FLASH_OP_PROGRAM, 0, b.sector(1, 4 + plane, 0), kDramBase, kSector);
        d.confirm = plane == 0 ? FLASH_CONFIRM_PLANE : FLASH_CONFIRM_PAGE;
        start(b, d, 2 + plane);
    }
    for (unsigned plane : {0u, 1u})
        start(b, make(FLASH_OP_READ_STATUS, 0, b.sector(1, 4 + plane, 0)), 4 + plane);
    std::map<unsigned, Completion> ended;
    std::vector<unsigned> order;
    for (unsigned i = 0; i < 5; i++) {
        Completion c = b.wait();
        ended[c.tag] = c;
        if (c.tag != 1)
            order.push_back(c.tag);
        EXPECT_EQ(c.status, FLASH_STATUS_OK) << c.tag; // the program's own status is of plane 1
    }
    EXPECT_EQ(order, (std::vector<unsigned>{2, 3, 4, 5}));
    EXPECT_EQ(ended[4].data0, 0xE1u);
    EXPECT_EQ(ended[5].data0, 0xE0u);
    b.faults = &b.noFaults;
}

namespace {

/** Both LUNs of a way read or erase at the same time, and R/B rises in the cycle that the test chooses. */
struct BothWork : assasin::NandFaults {
    BothWork(FlashBench &b, unsigned op, unsigned way) : b(b), op(op), way(way) {
        b.faults = this;
    }
    ~BothWork() override {
        b.faults = &b.noFaults;
    }

    uint64_t extraBusy(unsigned, unsigned ofWay) override {
        return ofWay == way ? readyAt - b.now - b.timing.nvddr2().tWB - b.part.array.tR : 0;
    }

    /** Starts both, with tags 0 and 1; R/B rises `ready` cycles later. */
    void begin(uint64_t ready) {
        // The channel looks at the time of each LUN once in 256 cycles.
        while (b.now % 256 != 0)
            b.tick();
        from = b.now;
        readyAt = from + ready;
        statuses = counts(b).statuses;
        b.fillDram(kReadBuffer, std::vector<uint8_t>(2 * kSector));
        for (unsigned lun = 0; lun < 2; lun++)
            if (op == FLASH_OP_READ)
                start(b, make(op, way, b.sector(lun, 0, 0), kReadBuffer + lun * kSector, kSector), lun);
            else
                start(b, make(op, way, b.sector(lun, 2, 0)), lun);
    }

    void expectDone() {
        for (unsigned lun = 0; lun < 2 && op == FLASH_OP_READ; lun++) {
            EXPECT_EQ(b.dram(kReadBuffer + lun * kSector, kSector), pattern(10 * lun)) << "LUN " << lun;
        }
    }

    /** How often the channel has looked whether one of them is ready. An erase's own status is none of that. */
    uint64_t looks() const {
        return counts(b).statuses - statuses - (op == FLASH_OP_ERASE ? 2 : 0);
    }

    FlashBench &b;
    const unsigned op, way;
    uint64_t from = 0, readyAt = 0, statuses = 0;
};

} // namespace

/** While another way's sector is on the bus, R/B rises in the cycle in which a look is planned: when the bus is free
 * the LUN has requested its next phase, and the look does not serve that request. */
TEST(Luns, ALookServesNoRequest) {
    if (kLuns == 1)
        GTEST_SKIP() << "LUNs take turns";
    assasin::PartFile part = testPart();
    part.array.tBERS = part.array.tR;
    FlashBench b(part, seed());
    b.boot();
    // In units of 256 cycles: both LUNs are worth a look when the other way's sector is on the bus, and after kAgain
    // more a look is planned whatever the bus does.
    constexpr unsigned kWait = 20, kAgain = 3;
    b.writeReg(FLASH_WAIT0, kWait << FLASH_WAIT0_READ_SHIFT);
    b.writeReg(FLASH_WAIT1, kWait << FLASH_WAIT1_ERASE_SHIFT | kAgain << FLASH_WAIT1_AGAIN_SHIFT);
    for (unsigned way = 0; way < 2; way++)
        for (unsigned lun = 0; lun < 2; lun++)
            b.put(way, lun, 0, 0, 10 * lun);
    // The turn of looks goes on behind the die that had data out last: way 0's LUN 1 comes after way 1, way 1's LUN 0
    // after way 0.
    for (unsigned way = 0; way < 2; way++)
        for (unsigned op : {FLASH_OP_READ, FLASH_OP_ERASE}) {
            BothWork both(b, op, way);
            // With an idle bus the look begins at once: it tells the cycle.
            both.begin(10000);
            b.ticks(4000);
            while (b.phy.ceN >> way & 1 && b.now < both.readyAt)
                b.tick();
            ASSERT_LT(b.now, both.readyAt) << "no look";
            const uint64_t look = b.now - both.from + 256 * kAgain;
            for (unsigned i = 0; i < 2; i++)
                EXPECT_EQ(b.wait().status, FLASH_STATUS_OK);
            both.expectDone();

            std::vector<uint64_t> looks;
            for (uint64_t ready = look - 12; ready < look + 4; ready++) {
                SCOPED_TRACE("way " + std::to_string(way) + ", operation " + std::to_string(op) +
                             ": R/B rises in cycle " + std::to_string(ready) + ", the look could begin in cycle " +
                             std::to_string(look));
                both.begin(ready);
                start(b, make(FLASH_OP_READ, 1 - way, b.sector(0, 0, 0), kReadBuffer + 2 * kSector, kSector), 2);
                for (unsigned i = 0; i < 3; i++) {
                    Completion c{};
                    ASSERT_NO_THROW(c = b.wait(30000));
                    EXPECT_EQ(c.status, FLASH_STATUS_OK) << c.tag;
                }
                both.expectDone();
                looks.push_back(both.looks());
            }
            // R/B rises before the look is chosen, in the end after it: all cycles in between have been tried.
            EXPECT_EQ(looks.front(), 0u);
            EXPECT_EQ(looks.back(), 1u);
        }
}

TEST(Planes, AreReadTogether) {
    FlashBench b(largePart(), seed());
    b.boot();
    for (unsigned plane = 0; plane < 2; plane++)
        b.put(1, 1, 4 + plane, 0, 10 * plane);
    const uint64_t from = b.now, before = counts(b).reads;
    Descriptor d = make(FLASH_OP_READ, 1, b.sector(1, 4, 0, 1), kReadBuffer, kSector);
    d.confirm = FLASH_CONFIRM_PLANE;
    EXPECT_EQ(b.execute(d).status, FLASH_STATUS_OK);
    // Between the two nothing else is read.
    EXPECT_EQ(read(b, 1, b.sector(1, 4, 0, 2)).status, FLASH_STATUS_BAD_DESC);
    for (auto [plane, s] : {std::pair(1u, 0u), {0u, 1u}, {1u, 1u}, {1u, 3u}, {0u, 2u}, {0u, 3u}}) {
        EXPECT_EQ(read(b, 1, b.sector(1, 4 + plane, 0, s)).status, FLASH_STATUS_OK);
        EXPECT_EQ(b.dram(kReadBuffer, kSector), pattern(10 * plane + s)) << plane << " " << s;
    }
    EXPECT_EQ(counts(b).reads - before, 2u);
    EXPECT_LT(b.now - from, 4000u + 1000u + 6u * 6000u);
    // A read of one plane leaves nothing of the other.
    EXPECT_EQ(read(b, 1, b.sector(1, 4, 0, 0)).status, FLASH_STATUS_OK);
    EXPECT_EQ(read(b, 1, b.sector(1, 5, 0, 3)).status, FLASH_STATUS_OK);
    EXPECT_EQ(counts(b).reads - before, 4u);
}

namespace {

/** Operations a second on two ways, the LUNs in turn. */
double rate(unsigned op, bool oneLun, unsigned operations, double *polls) {
    assasin::PartFile part = paperPart();
    FlashBench b(part, 1);
    b.skipSleep = true;
    b.boot();
    b.setGeometry(12, 0, oneLun);
    for (unsigned way = 0; way < 2; way++)
        for (unsigned lun = 0; lun < 2; lun++)
            for (unsigned page = 0; op == FLASH_OP_READ && page < 16; page++)
                b.put(way, lun, 0, page, page);
    unsigned done = 0, next[2] = {}, inWay[2] = {};
    const uint64_t from = b.now;
    const uint64_t before = counts(b).statuses;
    while (done < operations) {
        for (unsigned way = 0; way < 2; way++)
            if (inWay[way] < 8) {
                const unsigned n = next[way]++;
                Descriptor d =
                    make(op, way, b.sector(n & 1, 0, op == FLASH_OP_READ ? n / 2 % 16 : n / 2), kDramBase, kSector);
                if (op == FLASH_OP_PROGRAM && n / 2 >= part.geometry.pagesPerBlock)
                    throw BenchError("the block is full");
                b.push(d);
                inWay[way]++;
            }
        Completion c;
        while (b.pop(c)) {
            if (c.status != FLASH_STATUS_OK)
                throw BenchError("status " + std::to_string(c.status));
            inWay[c.way]--;
            done++;
        }
        b.tick();
    }
    *polls = double(counts(b).statuses - before) / done;
    return double(done) / (b.now - from) * 1e9;
}

} // namespace

TEST(Luns, TwoDoMoreThanOne) {
    if (kWays != 4)
        GTEST_SKIP() << "measured on one channel";
    for (unsigned op : {FLASH_OP_READ, FLASH_OP_PROGRAM}) {
        double polls, before;
        const double one = rate(op, true, op == FLASH_OP_READ ? 60 : 16, &before);
        const double two = rate(op, false, op == FLASH_OP_READ ? 120 : 32, &polls);
        std::printf(
            "    two ways of two LUNs: %.0f %s a second, %.0f with one LUN at a time; %.2f status bytes each (%.2f)\n",
            two, op == FLASH_OP_READ ? "reads" : "programs", one, polls, before);
        EXPECT_GT(two, 1.6 * one);
    }
}
