// SPDX-License-Identifier: BSD-3-Clause
/* Boot, identify, queues, reads and writes one at a time. */
#include "tests/harness.h"

using namespace harness;
using model::Geometry;
using model::Nand;

TEST(boot_blank) {
    Nand nand(Geometry{});
    Drive d(nand);
    CHECK(d.dev.console.find("blank medium") != std::string::npos);
    d.start();
    CHECK(d.capacity() > 0);
}

TEST(read_write) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start();
    uint32_t cap = d.capacity();
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(5, 3, &got).status, kOk);
    CHECK(got == pattern(0, 0, 3));
    CHECK_EQ(d.write(5, pattern(5, 1, 32)).status, kOk);
    CHECK_EQ(d.read(5, 32, &got).status, kOk);
    CHECK(got == pattern(5, 1, 32));
    CHECK_EQ(d.write(cap - 1, pattern(cap - 1, 1)).status, kOk);
    CHECK_EQ(d.read(cap - 1, 1, &got).status, kOk);
    CHECK(got == pattern(cap - 1, 1));
    CHECK_EQ(d.write(cap - 1, pattern(cap - 1, 1, 2)).status, kLbaRange);
    CHECK_EQ(d.read(cap, 1, &got).status, kLbaRange);
    CHECK_EQ(d.read(UINT64_MAX, 1, &got).status, kLbaRange);
    CHECK_EQ(d.read(UINT64_MAX - 3, 8, &got).status, kLbaRange);
    CHECK_EQ(d.read(0x100000000ull, 1, &got).status, kLbaRange);
    CHECK_EQ(d.trim(6, 2).status, kOk);
    CHECK_EQ(d.read(5, 4, &got).status, kOk);
    std::vector<uint8_t> want = pattern(5, 1, 4);
    std::fill(want.begin() + 4096, want.begin() + 3 * 4096, 0);
    CHECK(got == want);
}

TEST(survives_shutdown) {
    Nand nand(Geometry{});
    for (uint32_t round = 1; round < 8; round++) {
        Drive d(nand, 2, seed + round);
        d.start();
        std::vector<uint8_t> got;
        for (uint32_t i = 0; i < round - 1; i++) {
            CHECK_EQ(d.read(i * 40, 32, &got).status, kOk);
            CHECK(got == pattern(i * 40, i + 1, 32));
        }
        CHECK_EQ(d.write((round - 1) * 40, pattern((round - 1) * 40, round, 32)).status, kOk);
        d.shutdown();
        CHECK(d.dev.console.find("checkpoint failed") == std::string::npos);
        CHECK(round == 1 || d.dev.console.find("clean medium") != std::string::npos);
    }
}

TEST(survives_kill_at_idle) {
    Nand nand(Geometry{});
    for (uint32_t round = 1; round < 12; round++) {
        Drive d(nand, 2, seed + round);
        d.start();
        std::vector<uint8_t> got;
        for (uint32_t i = 0; i < round - 1; i++) {
            CHECK_EQ(d.read(i * 40, 32, &got).status, kOk);
            CHECK(got == pattern(i * 40, i + 1, 32));
        }
        CHECK_EQ(d.write((round - 1) * 40, pattern((round - 1) * 40, round, 32)).status, kOk);
    }
}

TEST(format_forgets) {
    Nand nand(Geometry{});
    for (uint32_t round = 0; round < 4; round++) {
        Drive d(nand, 2, seed + round, 1);
        d.start();
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(0, 32, &got).status, kOk);
        CHECK(got == pattern(0, 0, 32));
        for (uint32_t i = 0; i < 3; i++) {
            CHECK_EQ(d.write(i * 32, pattern(i * 32, round + 1, 32)).status, kOk);
        }
        if (round & 1) {
            d.shutdown();
        }
    }
    /* Killed right after formatting: the earlier life's pages must not come back. */
    { Drive d(nand, 2, seed, 1); }
    Drive d(nand);
    d.start();
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(0, 32, &got).status, kOk);
    CHECK(got == pattern(0, 0, 32));
}

TEST(other_geometry_is_refused) {
    Nand nand(Geometry{});
    {
        Drive d(nand);
        d.start();
        CHECK_EQ(d.write(0, pattern(0, 1, 4)).status, kOk);
        d.shutdown();
    }
    nand.geo.blocks = 32;
    Drive d(nand);
    CHECK(d.dev.console.find("another geometry") != std::string::npos);
    d.start();
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(0, 1, &got).status, 0x82);
    /* The controller serves what needs no medium. */
    CHECK_EQ(d.capacity(), 0u);
}

TEST(geometries) {
    for (Geometry g : {Geometry{1, 1, 1, 1, 32, 32}, Geometry{1, 2, 1, 1, 16, 16}, Geometry{3, 3, 2, 2, 16, 8},
                       Geometry{8, 4, 2, 2, 32, 16}, Geometry{16, 16, 1, 1, 16, 4}}) {
        Nand nand(g);
        for (uint32_t round = 0; round < 3; round++) {
            Drive d(nand, 1, seed + round);
            d.start();
            uint32_t cap = d.capacity();
            std::vector<uint8_t> got;
            for (uint32_t i = 0; i < 20; i++) {
                uint32_t lba = i * (cap - 8) / 20;
                if (round > 0) {
                    CHECK_EQ(d.read(lba, 4, &got).status, kOk);
                    CHECK(got == pattern(lba, round, 4));
                }
                CHECK_EQ(d.write(lba, pattern(lba, round + 1, 4)).status, kOk);
            }
            if (round == 0) {
                d.shutdown();
            }
        }
    }
}
