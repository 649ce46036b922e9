// SPDX-License-Identifier: BSD-3-Clause
/* A drive whose superblocks do not come back: it says so early, becomes read-only, stays readable, and lends its
 * reserve. */
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
/** 16 superblocks of 128 pages: ten of them for data, three for metadata, one is the reserve. */
const Geometry kSmall{2, 2, 1, 1, 16, 32};
constexpr uint32_t kSuperblock = 128, kCapacity = 10 * kSuperblock;

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
    /** Single blocks of the first `blocks` at random until one is refused. Returns how many were written. */
    uint32_t wear(Drive &d, uint32_t blocks) {
        for (uint32_t n = 0;; n++) {
            uint16_t status = write(d, static_cast<uint32_t>(rng() % blocks));
            if (status != kOk) {
                CHECK_EQ(status, kReadOnly);
                return n;
            }
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

TEST(full_is_said_early) {
    Used u(seed);
    Drive d(u.nand, 1, seed);
    d.start();
    CHECK_EQ(d.capacity(), kCapacity);
    CHECK_EQ(setFeature(d, 0x0b, 0xff), kOk);
    constexpr uint32_t kUsed = kCapacity * 55 / 100;
    u.fill(d, kUsed);
    CHECK_EQ(smart(d).spare, 100);
    CHECK_EQ(smart(d).warning, 0);
    CHECK_EQ(smart(d).threshold, 25);

    uint16_t aer = d.submit(0, Drive::sqe(0x0c));
    uint32_t after = 0; /* writes since the spare fell below the threshold */
    uint8_t spare = 100;
    model::Completion c{};
    for (;;) {
        uint32_t lba = static_cast<uint32_t>(u.rng() % kUsed);
        c = d.write(lba, pattern(lba, ++u.version));
        if (c.status != kOk) {
            break;
        }
        u.versions[lba] = u.version;
        Smart s = smart(d);
        CHECK(s.spare <= spare);
        spare = s.spare;
        if (spare > 0) {
            CHECK_EQ(s.warning, spare < s.threshold ? kWarnSpare : 0);
        }
        after += spare < s.threshold;
        if (after == 2) {
            /* The write that found little room has reported it. */
            CHECK_EQ(d.wait(0, aer).dw0, kEventSpare);
            smart(d, false);
            aer = d.submit(0, Drive::sqe(0x0c));
        }
    }
    CHECK_EQ(c.status, kReadOnly);
    CHECK(c.dnr);
    CHECK(after >= kSuperblock * 2 / 4 - 1);
    CHECK_EQ(d.wait(0, aer).dw0, kEventReliability);
    CHECK_EQ(smart(d).spare, 0);
    CHECK_EQ(smart(d).warning, kWarnSpare | kWarnReadOnly);

    /* It stays so, and everything but writes works. */
    for (uint32_t i = 0; i < 50; i++) {
        CHECK_EQ(u.write(d, i), kReadOnly);
    }
    u.verify(d);
    CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
    CHECK_EQ(d.trim(3, 5).status, kOk);
    CHECK_EQ(d.exec(1, range(0x08, 20, 7)).status, kOk);
    std::fill_n(u.versions.begin() + 3, 5, 0);
    std::fill_n(u.versions.begin() + 20, 7, 0);
    u.verify(d);
    CHECK_EQ(u.write(d, 3), kReadOnly);
    d.shutdown();
}

TEST(full_lends_its_reserve) {
    Used u(seed);
    std::optional<Drive> d(std::in_place, u.nand, 1, seed);
    d->start();
    u.fill(*d, kCapacity);
    u.wear(*d, kCapacity);
    /* Half of what is left for every reset, and for every power cycle. */
    uint32_t left = kSuperblock;
    for (uint32_t round = 0; round < 4; round++) {
        bool reset = round % 2 == 0;
        if (reset) {
            d->disable();
        } else {
            d->shutdown();
            d.reset();
            d.emplace(u.nand, 1, seed + round);
        }
        d->start();
        CHECK_EQ(smart(*d).warning, kWarnSpare);
        uint32_t lent = u.wear(*d, kCapacity);
        /* Overwriting may have emptied a superblock on the way. */
        CHECK(lent >= left / 2 && (lent == left / 2 || lent >= kSuperblock));
        CHECK_EQ(smart(*d).warning, kWarnSpare | kWarnReadOnly);
        left -= left / 2;
    }
    u.verify(*d);
    /* A reset while it lends lends nothing more. */
    d->disable();
    d->start();
    CHECK_EQ(u.write(*d, 1), kOk);
    d->disable();
    d->start();
    CHECK_EQ(u.wear(*d, kCapacity), left / 2 - 1);
    d.reset();

    /* Power that goes again and again ends the reserve, and the drive still boots, reads and takes trims. */
    for (uint32_t round = 0; round < 12; round++) {
        d.emplace(u.nand, 1, seed + round);
        d->start();
        u.wear(*d, kCapacity);
        d.reset();
    }
    d.emplace(u.nand, 1, seed);
    d->start();
    u.verify(*d);
    CHECK_EQ(d->trim(0, kCapacity).status, kOk);
    std::fill(u.versions.begin(), u.versions.end(), 0);
    CHECK_EQ(u.write(*d, 77), kOk);
    CHECK_EQ(smart(*d).spare, 100);
    CHECK_EQ(smart(*d).warning, 0);
    u.verify(*d);
}

TEST(full_and_written_in_order_is_healthy) {
    /* Every block of the drive again and again in order, with a page of the log lost here and there: no warning. */
    Used u(seed);
    Drive d(u.nand, 1, seed);
    d.start();
    for (uint32_t pass = 0; pass < 4; pass++) {
        for (uint32_t lba = 0; lba < kCapacity; lba += 32) {
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
