// SPDX-License-Identifier: BSD-3-Clause
/* Parts whose pages share cells in pairs: a program of an upper page that is cut short, or fails, takes the lower one
 * along. */
#include "tests/admin.h"

#include <algorithm>

using namespace harness;
using namespace admin;
using model::Geometry;
using model::Nand;

namespace {

/** Without a write cache, and with one. */
const Geometry kSmall{2, 2, 1, 1, 16, 32};
const Geometry kLarge{1, 2, 1, 1, 24, 16, 16384, 2208};
constexpr uint32_t kBlocks = 96;

uint16_t flush(Drive &d) {
    return d.exec(1, Drive::sqe(0x00, 1)).status;
}

void pair(Nand &nand) {
    nand.cells().reliability().set("pairing", "dist3");
}

uint32_t pageOf(const Nand &nand, uint32_t key) {
    return (key & ((1u << nand.pageBits()) - 1)) >> nand.sectorBits();
}

/** User data on pages that share their cells with an older one. */
uint32_t onUpperPages(Nand &nand) {
    assasin::Reliability r;
    r.set("pairing", "dist3");
    uint32_t n = 0;
    for (const auto &[key, page] : nand.pages()) {
        n += page.oob0 < kBlocks && r.lowerPage(pageOf(nand, key), nand.geo.pages) >= 0;
    }
    return n;
}

void fill(Drive &d, uint32_t version) {
    for (uint32_t lba = 0; lba < kBlocks; lba += 4) {
        CHECK_EQ(d.write(lba, pattern(lba, version, 4)).status, kOk);
    }
}

} // namespace

TEST(pairs_are_known_from_the_parameter_page) {
    /* Of a part without this project's block, by the bits that a cell holds. Without a write cache all that is written
     * is durable: upper pages stay blank. */
    for (bool block : {true, false}) {
        for (bool paired : {true, false}) {
            Geometry g = kSmall;
            g.timingBlock = block;
            Nand nand(g);
            if (paired) {
                pair(nand);
            }
            Drive d(nand, 1, seed);
            d.start();
            fill(d, 1);
            CHECK(paired ? onUpperPages(nand) == 0 : onUpperPages(nand) > kBlocks / 4);
            d.shutdown();
        }
    }
}

TEST(pairs_keep_flushed_blocks_through_cuts) {
    /* Upper pages are programmed, but not those of what was flushed: a cut at any moment leaves that. */
    uint32_t upper = 0;
    for (uint32_t i = 0; i < 24; i++) {
        Nand nand(kLarge);
        pair(nand);
        {
            Drive d(nand, 1, seed + i);
            d.start();
            fill(d, 1);
            CHECK_EQ(flush(d), kOk);
            for (uint32_t lba = 0; lba < 8 + i; lba++) {
                CHECK_EQ(d.write(lba, pattern(lba, 2)).status, kOk);
            }
            CHECK_EQ(flush(d), kOk);
            d.dev.cutAt = d.dev.now + 4000 * i;
            try {
                fill(d, 3);
                CHECK_EQ(flush(d), kOk);
            } catch (const model::PowerCut &) {
            }
            d.dev.tearAs = model::Tear::Half;
            d.dev.tearInFlight();
        }
        upper += onUpperPages(nand);
        Drive d(nand, 1, seed + i + 100);
        d.start();
        std::vector<uint8_t> got;
        for (uint32_t lba = 0; lba < kBlocks; lba++) {
            CHECK_EQ(d.read(lba, 1, &got).status, kOk);
            CHECK(got == pattern(lba, lba < 8 + i ? 2 : 1) || got == pattern(lba, 3));
        }
        d.shutdown();
    }
    CHECK(upper > 0);
}

TEST(pairs_tell_of_blocks_that_a_failed_program_takes) {
    /* Blocks of the write cache whose page shares cells with one whose program fails are gone: reads say so, the next
     * flush does, and no cut brings back what they held before. */
    Nand nand(kLarge);
    pair(nand);
    assasin::Reliability r;
    r.set("pairing", "dist3");
    bool fails = false;
    model::Faults faults;
    faults.programOf = [&](uint32_t key, uint32_t tag) {
        bool now = fails && tag < kBlocks && r.lowerPage(pageOf(nand, key), nand.geo.pages) >= 0;
        fails = fails && !now;
        return now;
    };
    std::vector<uint8_t> got;
    std::vector<uint32_t> lost;
    {
        Drive d(nand, 1, seed, 0, {}, {}, faults);
        d.start();
        fill(d, 1);
        CHECK_EQ(flush(d), kOk);
        fails = true;
        fill(d, 2);
        CHECK_EQ(flush(d), kWriteFault);
        CHECK_EQ(flush(d), kOk);
        CHECK(!fails);
        for (uint32_t lba = 0; lba < kBlocks; lba++) {
            uint16_t status = d.read(lba, 1, &got).status;
            if (status == kReadError) {
                lost.push_back(lba);
            } else {
                CHECK_EQ(status, kOk);
                CHECK(got == pattern(lba, 2));
            }
        }
        CHECK(!lost.empty() && lost.size() <= 4);
        d.dev.tearInFlight();
    }
    Drive d(nand, 1, seed + 1);
    d.start();
    for (uint32_t lba = 0; lba < kBlocks; lba++) {
        bool gone = std::find(lost.begin(), lost.end(), lba) != lost.end();
        CHECK_EQ(d.read(lba, 1, &got).status, gone ? kReadError : kOk);
        CHECK(gone || got == pattern(lba, 2));
    }
    for (uint32_t lba : lost) {
        CHECK_EQ(d.write(lba, pattern(lba, 3)).status, kOk);
        CHECK_EQ(d.read(lba, 1, &got).status, kOk);
        CHECK(got == pattern(lba, 3));
    }
    d.shutdown();
}
