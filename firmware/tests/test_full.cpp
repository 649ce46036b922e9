// SPDX-License-Identifier: BSD-3-Clause
/* A drive whose superblocks go bad: it says so, becomes read-only and stays readable. */
#include "tests/admin.h"

#include <algorithm>

using namespace harness;
using namespace admin;
using model::Geometry;
using model::Nand;

namespace {

constexpr uint8_t kWarnSpare = 0x01, kWarnReadOnly = 0x08;
/** DW0 of events about health: spare below threshold, reliability. */
constexpr uint32_t kEventSpare = 1 | 2 << 8 | 2 << 16, kEventReliability = 1 | 0 << 8 | 2 << 16;
/** 16 superblocks of 128 pages: three for metadata, four that the log needs to go on, nine for data and their spare
 * share. */
const Geometry kSmall{2, 2, 1, 1, 16, 32};
constexpr uint32_t kSuperblock = 128, kCapacity = 9 * kSuperblock * 93 / 100;

struct Smart {
    uint8_t warning, spare, threshold;
};

/** @param retain events stay masked */
Smart smart(Drive &d, bool retain = true) {
    auto page = logPage(d, 2, 512, retain);
    return {page[0], page[3], page[4]};
}

Sqe range(uint8_t opcode, uint32_t lba, uint32_t count) {
    Sqe s = Drive::sqe(opcode, 1);
    s[10] = lba;
    s[12] = count - 1;
    return s;
}

/** A medium and what every block of it must hold. */
struct Used {
    explicit Used(uint32_t seed) : rng(seed), versions(kCapacity, 0) {
    }
    Nand nand{kSmall};
    std::mt19937 rng;
    std::vector<uint32_t> versions;
    uint32_t version = 0;

    uint16_t write(Drive &d, uint32_t lba) {
        uint16_t status = d.write(lba, pattern(lba, ++version)).status;
        if (status == kOk) {
            versions[lba] = version;
        }
        return status;
    }
    void fill(Drive &d, uint32_t blocks) {
        for (uint32_t lba = 0; lba < blocks; lba++) {
            CHECK_EQ(write(d, lba), kOk);
        }
    }
    void verify(Drive &d) {
        std::vector<uint8_t> got;
        for (uint32_t lba = 0; lba < kCapacity; lba++) {
            CHECK_EQ(d.read(lba, 1, &got).status, kOk);
            CHECK(got == pattern(lba, versions[lba]));
        }
    }
};

} // namespace

TEST(full_of_bad_superblocks_is_read_only) {
    /* Superblocks go bad one by one on a full drive: the spare is said to be gone, then writes end, and everything else
     * goes on. */
    Used u(seed);
    std::optional<Drive> d(std::in_place, u.nand, 1, seed);
    d->start();
    CHECK_EQ(d->capacity(), kCapacity);
    CHECK_EQ(setFeature(*d, 0x0b, 0xff), kOk);
    u.fill(*d, kCapacity);
    CHECK_EQ(smart(*d).spare, 100);
    CHECK_EQ(smart(*d).warning, 0);
    CHECK_EQ(smart(*d).threshold, 25);
    uint16_t aer = d->submit(0, Drive::sqe(0x0c));
    d->dev.faults.erase = 0.1;
    uint16_t status = kOk;
    for (uint32_t i = 0; status == kOk; i++) {
        CHECK(i < 10 * kCapacity);
        status = u.write(*d, static_cast<uint32_t>(u.rng() % kCapacity));
    }
    CHECK_EQ(status, kReadOnly);
    uint32_t event = d->wait(0, aer).dw0;
    CHECK(event == kEventSpare || event == kEventReliability);
    CHECK_EQ(smart(*d).spare, 0);
    CHECK_EQ(smart(*d).warning, kWarnSpare | kWarnReadOnly);
    for (uint32_t i = 0; i < 50; i++) {
        CHECK_EQ(u.write(*d, i), kReadOnly);
    }
    u.verify(*d);
    CHECK_EQ(d->exec(1, Drive::sqe(0x00, 1)).status, kOk);
    d->shutdown();
    /* So it is at the next power-on; what is deallocated makes room. */
    d.reset();
    d.emplace(u.nand, 1, seed);
    d->start();
    u.verify(*d);
    CHECK_EQ(smart(*d).warning, kWarnSpare | kWarnReadOnly);
    CHECK_EQ(d->trim(0, kCapacity / 2).status, kOk);
    CHECK_EQ(d->exec(1, range(0x08, kCapacity / 2 + 20, 7)).status, kOk);
    std::fill_n(u.versions.begin(), kCapacity / 2, 0);
    std::fill_n(u.versions.begin() + kCapacity / 2 + 20, 7, 0);
    u.verify(*d);
    CHECK_EQ(smart(*d).warning, kWarnSpare);
    CHECK_EQ(u.write(*d, 3), kOk);
    u.verify(*d);
}

TEST(full_and_written_in_order_is_healthy) {
    /* Every block of the drive again and again in order, with a page of the log lost here and there: no warning. */
    Used u(seed);
    Drive d(u.nand, 1, seed);
    d.start();
    for (uint32_t pass = 0; pass < 4; pass++) {
        for (uint32_t lba = 0; lba + 32 <= kCapacity; lba += 32) {
            if (u.rng() % 4 == 0) {
                CHECK_EQ(d.trim(lba, 32).status, kOk);
            }
            u.version++;
            CHECK_EQ(d.write(lba, pattern(lba, u.version, 32)).status, kOk);
            CHECK_EQ(smart(d).warning, 0);
        }
    }
    CHECK(u.nand.programs > 4u * kCapacity);
}
