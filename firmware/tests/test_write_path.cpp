// SPDX-License-Identifier: BSD-3-Clause
/* Sequential writes on parts whose pages are one sector: more pages under way than there are buffers, whatever becomes
 * of some of them. */
#include "tests/harness.h"

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

constexpr uint32_t kCommands = 40, kBlocks = 32;

/** Write kCommands times kBlocks blocks, all in flight together; each third command's data begin within a host page. */
void writeAll(Drive &d, uint32_t version) {
    std::vector<uint16_t> cids;
    for (uint32_t i = 0; i < kCommands; i++) {
        Buffer b = d.buffer(kBlocks * 4096, i % 3 == 2 ? 1024 : 0, i % 2 == 1);
        d.put(b, pattern(i * kBlocks, version, kBlocks).data());
        Sqe s = Drive::sqe(0x01, 1);
        Drive::setPrp(s, b);
        s[10] = i * kBlocks;
        s[12] = kBlocks - 1;
        cids.push_back(d.submit(1, s));
    }
    for (uint16_t cid : cids) {
        CHECK_EQ(d.wait(1, cid).status, kOk);
    }
    d.freeHost();
}

void checkAll(Drive &d, uint32_t version) {
    for (uint32_t i = 0; i < kCommands; i++) {
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(i * kBlocks, kBlocks, &got).status, kOk);
        CHECK(got == pattern(i * kBlocks, version, kBlocks));
        d.freeHost();
    }
}

void writesUnderWay(const Geometry &geometry, uint32_t seed) {
    Nand nand(geometry);
    uint32_t failed = 0;
    {
        Drive d(nand, 1, seed);
        d.start(1);
        writeAll(d, 1);
        checkAll(d, 1);
        writeAll(d, 2);
        checkAll(d, 2);
        /* Now and then the program of a block's page fails: its row ends, and the block is left out. */
        d.dev.faults.programOf = [&failed, n = 0u](uint32_t, uint32_t tag) mutable {
            bool fails = tag < 0x10000000 && ++n % 397 == 0;
            failed += fails;
            return fails;
        };
        writeAll(d, 3);
        checkAll(d, 3);
    }
    CHECK(failed >= 2);
    /* Power was lost: everything was acknowledged. */
    Drive d(nand, 1, seed + 1);
    d.start(1);
    checkAll(d, 3);
    writeAll(d, 4);
    checkAll(d, 4);
}

} // namespace

TEST(write_path_more_pages_than_buffers) {
    writesUnderWay({4, 2, 1, 1, 64, 64}, seed);
}

TEST(write_path_more_pages_than_buffers_one_channel) {
    writesUnderWay({1, 4, 1, 1, 64, 64}, seed);
}

TEST(write_path_more_pages_than_buffers_of_planes) {
    writesUnderWay({4, 4, 2, 2, 16, 64}, seed);
}
