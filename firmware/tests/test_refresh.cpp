// SPDX-License-Identifier: BSD-3-Clause
/* Refresh and scrub: data that fade are written anew before they can no longer be read. */
#include "tests/admin.h"

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

uint32_t refreshed(const Drive &d) {
    uint32_t n = 0;
    for (size_t at = 0; (at = d.dev.console.find("is written anew", at)) != std::string::npos; at++) {
        n++;
    }
    return n;
}

void verify(Drive &d, uint32_t from, uint32_t blocks) {
    std::vector<uint8_t> got;
    for (uint32_t lba = from; lba < from + blocks; lba += 32) {
        CHECK_EQ(d.read(lba, 32, &got).status, kOk);
        CHECK(got == pattern(lba, 1, 32));
    }
}

/**
 * Blocks that nobody writes fade while power is off, step by step and in the end far beyond what the code corrects:
 * each step adds 1e-4 to the rate of raw errors of what was written before, and 24 of them make nine codewords of a
 * hundred fail (docs/medium.md). In each life `reads` times the first 32 of them are read.
 */
uint32_t fade(const Geometry &g, uint32_t blocks, uint32_t steps, uint32_t seed, bool clean, bool all, uint32_t reads) {
    Nand nand(g);
    std::optional<Drive> d(std::in_place, nand, 1, seed);
    d->start(1);
    for (uint32_t lba = 0; lba < blocks; lba += 32) {
        CHECK_EQ(d->write(lba, pattern(lba, 1, 32)).status, kOk);
    }
    nand.cells().reliability().retentionRber = 1e-3;
    uint32_t n = 0;
    for (uint32_t step = 0; step < steps; step++) {
        if (clean) {
            d->shutdown();
        } else {
            CHECK_EQ(d->exec(1, Drive::sqe(0x00, 1)).status, kOk);
        }
        d.reset();
        nand.cells().age(1'000);
        d.emplace(nand, 1, seed + step);
        d->start(1);
        if (all) {
            verify(*d, 0, blocks);
        }
        for (uint32_t i = 0; i < reads; i++) {
            verify(*d, 0, 32);
        }
        d->settle();
        n += refreshed(*d);
    }
    verify(*d, 0, blocks);
    printf("  %u superblocks written anew\n", n);
    return n;
}

} // namespace

TEST(refresh_of_what_is_read) {
    /* 256 blocks lie in 8 superblocks, the last of which stays open over each clean shutdown. */
    for (bool clean : {true, false}) {
        uint32_t n = fade(Geometry{1, 1, 1, 1, 32, 32}, 256, 24, seed, clean, true, 0);
        CHECK(n >= 8);
        CHECK(n <= 64);
    }
}

TEST(refresh_of_what_nobody_reads) {
    /* Scrub finds what fades outside the blocks that the host reads. */
    uint32_t n = fade(Geometry{1, 1, 1, 1, 32, 32}, 256, 24, seed, true, false, 40);
    CHECK(n >= 8);
}

TEST(refresh_of_what_is_disturbed) {
    /* Reads of some blocks disturb the others of their superblock, in one power-on. */
    Nand nand(Geometry{1, 1, 1, 1, 32, 32});
    Drive d(nand, 1, seed);
    d.start(1);
    for (uint32_t lba = 0; lba < 256; lba += 32) {
        CHECK_EQ(d.write(lba, pattern(lba, 1, 32)).status, kOk);
    }
    /* Each thousand reads of a block add 1e-4 to its sectors' rate of errors. */
    nand.cells().reliability().disturbRber = 0.1;
    std::vector<uint8_t> got;
    for (uint32_t i = 0; i < 24'000; i++) {
        CHECK_EQ(d.read(3 + i % 2, 1, &got).status, kOk);
        d.freeHost();
    }
    uint32_t n = refreshed(d);
    printf("  %u superblocks written anew\n", n);
    verify(d, 0, 256);
    CHECK(n >= 1);
    CHECK(n <= 24'000 / (64 * 32) + 1);
}
