// SPDX-License-Identifier: BSD-3-Clause
/* Summaries of the log: a mount reads them instead of the sectors that they stand for, and finds the same, whichever of
 * them cannot be read, whichever programs failed, and whenever power goes. */
#include "tests/harness.h"

#include <algorithm>
#include <random>

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

/** Superblocks of 1,024 sectors: four chunks. */
const Geometry kLong{2, 4, 1, 1, 16, 128, 4096, 224};
/** Of 1,024 in pages of four sectors, in two planes. */
const Geometry kLarge{2, 2, 1, 2, 24, 32, 16384, 2208};
constexpr uint32_t kSummary = 0xfffffffb;

using Written = std::map<uint32_t, uint32_t>;

/** Write four blocks, which are durable then. */
void put(Drive &d, Written &w, uint32_t lba, uint32_t version) {
    std::vector<uint8_t> data;
    for (uint32_t i = 0; i < 4; i++) {
        std::vector<uint8_t> block = pattern(lba + i, version);
        data.insert(data.end(), block.begin(), block.end());
        w[lba + i] = version;
    }
    Buffer b = d.buffer(static_cast<uint32_t>(data.size()));
    d.put(b, data.data());
    Sqe s = Drive::sqe(0x01, 1);
    Drive::setPrp(s, b);
    s[10] = lba;
    s[12] = 1u << 30 | 3;
    CHECK_EQ(d.exec(1, s).status, kOk);
    d.freeHost();
}

void verify(Drive &d, const Written &w) {
    std::vector<uint8_t> got;
    for (auto [lba, version] : w) {
        CHECK_EQ(d.read(lba, 1, &got).status, kOk);
        CHECK(got == pattern(lba, version));
    }
}

/** Keys of the summaries. */
std::vector<uint32_t> summaries(const Nand &nand) {
    std::vector<uint32_t> keys;
    for (auto &[key, page] : nand.pages()) {
        if (page.oob0 == kSummary) {
            keys.push_back(key);
        }
    }
    return keys;
}

/** Pages of the log that the last mount found. */
uint32_t recovered(const Drive &d) {
    size_t at = d.dev.console.find("ftl: recovered ");
    CHECK(at != std::string::npos);
    return static_cast<uint32_t>(std::stoul(d.dev.console.substr(at + 15)));
}

/** So many blocks, some again and again, in no order; then power goes. */
Written fill(Nand &nand, uint32_t seed, uint32_t writes) {
    Written w;
    Drive d(nand, 1, seed);
    d.start();
    std::mt19937 rng(seed);
    for (uint32_t i = 0; i < writes / 4; i++) {
        put(d, w, rng() % 150 * 4, i + 1);
    }
    return w;
}

} // namespace

TEST(summary_mount_reads_few_sectors) {
    for (const Geometry &g : {kLong, kLarge}) {
        Nand nand(g);
        Written w = fill(nand, seed, 850);
        CHECK(summaries(nand).size() >= 2);
        uint64_t before = nand.reads;
        Drive d(nand, 1, seed);
        uint64_t reads = nand.reads - before;
        CHECK(recovered(d) >= 500);
        CHECK(reads < recovered(d) * 4 / 5);
        d.start();
        verify(d, w);
    }
}

TEST(summary_that_cannot_be_read) {
    /* Each of them in turn, and all. */
    Nand full(kLong);
    Written w = fill(full, seed, 850);
    std::vector<uint32_t> all = summaries(full);
    CHECK(all.size() >= 2);
    for (size_t spoilt = 0; spoilt <= all.size(); spoilt++) {
        Nand nand = full;
        model::Faults faults;
        faults.readOf = [&](uint32_t key) {
            return spoilt < all.size() ? key == all[spoilt] : std::count(all.begin(), all.end(), key) > 0;
        };
        Drive d(nand, 1, seed, 0, {}, {}, faults);
        d.start();
        verify(d, w);
    }
}
