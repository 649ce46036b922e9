// SPDX-License-Identifier: BSD-3-Clause
/* Ways on chip enables of another order, and chip enables without a package. */
#include "Support.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace flashbench;

namespace {

/** Chip enable of every way, four bits each. */
void setMap(FlashBench &b, const std::vector<unsigned> &enables) {
    uint64_t map = 0;
    for (unsigned way = 0; way < enables.size(); way++)
        map |= static_cast<uint64_t>(enables[way]) << way * 4;
    b.writeReg(FLASH_WAY_MAP0, static_cast<uint32_t>(map));
    b.writeReg(FLASH_WAY_MAP1, static_cast<uint32_t>(map >> 32));
}

uint64_t mapOf(FlashBench &b) {
    return b.readReg(FLASH_WAY_MAP0) | static_cast<uint64_t>(b.readReg(FLASH_WAY_MAP1)) << 32;
}

} // namespace

TEST(Enables, MapAfterReset) {
    FlashBench b(testPart(), seed());
    uint64_t expected = 0;
    for (unsigned way = 0; way < kWays; way++)
        expected |= static_cast<uint64_t>(way) << way * 4;
    EXPECT_EQ(mapOf(b), expected);
}

TEST(Enables, EveryWayDrivesTheOneItIsGiven) {
    FlashBench b(testPart(), seed());
    std::vector<unsigned> enables(kWays);
    for (unsigned way = 0; way < kWays; way++)
        enables[way] = way;
    std::shuffle(enables.begin(), enables.end(), b.random);
    setMap(b, enables);
    uint64_t map = mapOf(b);
    b.boot();
    for (unsigned way = 0; way < kWays; way++) {
        EXPECT_EQ(map >> way * 4 & 15, enables[way]);
        b.put(enables[way], 0, 1, 0, 100 + enables[way]);
    }
    // All at once: each looks at its own R/B, or the model stops at a command to a busy chip.
    for (unsigned way = 0; way < kWays; way++) {
        Descriptor d = make(FLASH_OP_READ, way, b.sector(0, 1, 0), kReadBuffer + way * kSector, kSector);
        d.tag = way;
        b.push(d);
    }
    for (unsigned i = 0; i < kWays; i++) {
        Completion c = b.wait();
        EXPECT_EQ(c.status, FLASH_STATUS_OK);
        EXPECT_EQ(c.way, c.tag);
        EXPECT_EQ(c.data0, 100 + enables[c.way]);
    }
    for (unsigned way = 0; way < kWays; way++)
        EXPECT_EQ(b.dram(kReadBuffer + way * kSector, kSector), pattern(100 + enables[way]));
    // Programs and erases, the slow ones of several ways together.
    for (unsigned way = 0; way < kWays; way++) {
        ASSERT_EQ(program(b, way, b.sector(0, 2, 0), pattern(way), way, 7).status, FLASH_STATUS_OK);
        EXPECT_EQ(b.raw(enables[way], 0, 2, 0)[0], encoded(b, b.sector(0, 2, 0), pattern(way), way, 7)[0]);
    }
    for (unsigned way = 0; way < kWays; way++)
        b.push(make(FLASH_OP_ERASE, way, b.sector(0, 2, 0)));
    for (unsigned way = 0; way < kWays; way++)
        EXPECT_EQ(b.wait().status, FLASH_STATUS_OK);
}

TEST(Enables, NothingAnswersInSdr) {
    assasin::PartFile part = testPart();
    part.reliability.set("absent", "0.1");
    FlashBench b(part, seed());
    b.setSteps();
    EXPECT_EQ(b.execute(make(FLASH_OP_RESET, 1)).status, FLASH_STATUS_OK);
    for (uint32_t address : {0x00u, 0x20u}) {
        Completion id = b.execute(make(FLASH_OP_READ_ID, 1, address));
        EXPECT_EQ(id.status, FLASH_STATUS_OK);
        EXPECT_EQ(id.data0, 0xFFFFFFFFu);
        EXPECT_EQ(id.data1, 0xFFFFFFFFu);
    }
    EXPECT_EQ(b.execute(make(FLASH_OP_RESET, 0)).status, FLASH_STATUS_OK);
    EXPECT_EQ(b.execute(make(FLASH_OP_READ_ID, 0, 0x20)).data0, 0x49464E4Fu);
}

/* Data out that no strobe comes with ends, and leaves nothing behind in the data of others. */
TEST(Enables, NoStrobeEndsInTimeout) {
    assasin::PartFile part = testPart();
    part.reliability.set("absent", "0.1");
    for (unsigned latency : {1u, 4u, 15u}) {
        FlashBench b(part, seed(), 1.0, latency);
        b.boot();
        b.put(0, 0, 1, 0, 50);
        b.put(0, 1, 1, 0, 51);
        b.put(2, 0, 1, 0, 52);
        EXPECT_EQ(b.execute(make(FLASH_OP_READ_STATUS, 1)).status, FLASH_STATUS_TIMEOUT);
        EXPECT_EQ(b.execute(make(FLASH_OP_READ_ID, 1, 0x20)).status, FLASH_STATUS_TIMEOUT);
        EXPECT_EQ(b.execute(make(FLASH_OP_GET_FEATURE, 1, 0x01)).status, FLASH_STATUS_TIMEOUT);
        EXPECT_EQ(erase(b, 1, b.sector(0, 1, 0)), FLASH_STATUS_TIMEOUT);
        b.fillDram(kReadBuffer, std::vector<uint8_t>(kSector, 0xEE));
        EXPECT_EQ(read(b, 1, b.sector(0, 1, 0)).status, FLASH_STATUS_TIMEOUT);
        EXPECT_EQ(program(b, 1, b.sector(0, 1, 0), pattern(1)).status, FLASH_STATUS_TIMEOUT);
        EXPECT_EQ(b.execute(make(FLASH_OP_READ_RAW, 1, b.sector(0, 1, 0), kReadBuffer, 64)).status,
                  FLASH_STATUS_TIMEOUT);
        EXPECT_EQ(b.dram(kReadBuffer, kSector), std::vector<uint8_t>(kSector, 0xEE)) << "nothing is delivered";
        // Behind each other, in the midst of others'.
        struct Read {
            unsigned way, lun, key;
        };
        const Read reads[] = {{0, 0, 50}, {1, 0, 0}, {0, 1, 51}, {1, 1, 0}, {2, 0, 52}, {1, 0, 0}, {0, 0, 50}};
        for (unsigned i = 0; i < std::size(reads); i++) {
            Descriptor d =
                make(FLASH_OP_READ, reads[i].way, b.sector(reads[i].lun, 1, 0), kReadBuffer + i * kSector, kSector);
            d.tag = i;
            b.push(d);
        }
        for (unsigned i = 0; i < std::size(reads); i++) {
            Completion c = b.wait();
            const Read &r = reads[c.tag];
            EXPECT_EQ(c.status, r.way == 1 ? FLASH_STATUS_TIMEOUT : FLASH_STATUS_OK) << "read " << c.tag;
            if (r.way != 1) {
                EXPECT_EQ(b.dram(kReadBuffer + c.tag * kSector, kSector), pattern(r.key)) << "read " << c.tag;
            }
        }
    }
}
