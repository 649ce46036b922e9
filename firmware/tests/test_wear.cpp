// SPDX-License-Identifier: BSD-3-Clause
/* Wear: superblocks are erased about equally often, whatever is written. */
#include "tests/admin.h"

#include <algorithm>

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

/** Its superblocks are single blocks, so a block's erases are its superblock's. */
const Geometry kBlocks{1, 1, 1, 1, 64, 32};

struct Erases {
    uint32_t least = UINT32_MAX, most = 0;
    double mean = 0;
    double amplification = 0; /**< sectors programmed that hold data, for each that the host wrote */
};

/**
 * Fill a drive, then write `count` blocks, of which a share `hotWrites` go to the first share `hot` of the capacity,
 * and every other block never. Erases of the superblocks that have held data, and the cost.
 */
Erases wear(uint32_t seed, double hot, double hotWrites, uint32_t count) {
    Nand nand(kBlocks);
    Drive d(nand, 1, seed);
    d.start(1);
    std::mt19937 rng(seed);
    std::vector<uint32_t> erases(kBlocks.blocks);
    std::vector<bool> data(kBlocks.blocks);
    uint64_t programs = 0;
    auto block = [](uint32_t key) { return (key & 0xffffff) / kBlocks.pages; };
    d.dev.faults.eraseOf = [&](uint32_t key) {
        erases[block(key)]++;
        return false;
    };
    d.dev.faults.programOf = [&](uint32_t key, uint32_t tag) {
        if (tag < 0x80000000) {
            data[block(key)] = true;
            programs++;
        }
        return false;
    };
    Buffer b = d.buffer(32 * 4096);
    Sqe s = Drive::sqe(0x01, 1);
    Drive::setPrp(s, b);
    uint32_t blocks = d.capacity();
    for (uint32_t lba = 0; lba < blocks; lba += 32) {
        s[10] = lba;
        s[12] = std::min(32u, blocks - lba) - 1;
        CHECK_EQ(d.exec(1, s).status, kOk);
    }
    s[12] = 0;
    auto often = static_cast<uint32_t>(blocks * hot);
    programs = 0;
    std::vector<uint16_t> cids;
    for (uint32_t left = count; left > 0;) {
        cids.clear();
        for (uint32_t n = 0; n < 32 && left > 0; n++, left--) {
            bool toHot = static_cast<double>(rng()) < hotWrites * 4294967296.0;
            s[10] = static_cast<uint32_t>(rng() % (toHot ? often : blocks));
            cids.push_back(d.submit(1, s));
        }
        for (uint16_t cid : cids) {
            CHECK_EQ(d.wait(1, cid).status, kOk);
        }
    }
    Erases e;
    uint32_t n = 0;
    for (uint32_t i = 0; i < kBlocks.blocks; i++) {
        if (data[i]) {
            e.least = std::min(e.least, erases[i]);
            e.most = std::max(e.most, erases[i]);
            e.mean += erases[i];
            n++;
        }
    }
    e.mean /= n;
    e.amplification = static_cast<double>(programs) / count;
    printf("  %u superblocks, %.1f erases on average, %u to %u; %.2f sectors programmed for each that was written\n", n,
           e.mean, e.least, e.most, e.amplification);
    return e;
}

void level(const Erases &e) {
    CHECK(e.mean > 40);
    CHECK(e.most - e.least <= std::max(20.0, e.mean / 20));
}

} // namespace

TEST(wear_is_levelled_under_data_that_never_change) {
    level(wear(seed, 0.2, 1, 40'000));
}

TEST(wear_is_level_where_all_data_change) {
    level(wear(seed, 1, 1, 16'000));
}
