// SPDX-License-Identifier: BSD-3-Clause
/* Device self-tests: what they find, what ends them, and what the log keeps. */
#include "tests/admin.h"

#include <set>

using namespace harness;
using namespace admin;
using model::Geometry;
using model::Nand;

namespace {

constexpr uint32_t kShort = 1, kExtended = 2, kAbort = 15;
constexpr uint32_t kDram = 1, kMetadata = 2, kMedia = 3;
constexpr uint32_t kUnused = 15;

struct Result {
    uint32_t code, result, segment, valid;
    uint64_t lba;
    uint32_t nsid, sct, sc;
};

uint16_t start(Drive &d, uint32_t code, uint32_t nsid = kAll) {
    Sqe s = Drive::sqe(0x14, nsid);
    s[10] = code;
    return d.exec(0, s).status;
}

std::pair<uint32_t, uint32_t> progress(Drive &d) {
    auto p = logPage(d, 6, 564);
    return {p[0], p[1]};
}

Result result(Drive &d, uint32_t n) {
    auto p = logPage(d, 6, 564);
    const uint8_t *r = &p[4 + 28 * n];
    uint32_t nsid;
    std::memcpy(&nsid, r + 12, 4);
    return {static_cast<uint32_t>(r[0]) >> 4, r[0] & 15u, r[1], r[2], get64(p, 4 + 28 * n + 16), nsid, r[24], r[25]};
}

/** Wait for the end of the test under way. */
void finish(Drive &d) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < 1'000'000; i++) {
        auto [code, percent] = progress(d);
        if (code == 0) {
            return;
        }
        CHECK(percent >= last && percent <= 100);
        last = percent;
    }
    CHECK(false);
}

/** Make sector of block `lba` unreadable. */
void spoil(Drive &d, Nand &nand, uint32_t lba) {
    for (const auto &[key, page] : nand.pages()) {
        if (page.oob0 == lba) {
            d.dev.faults.readOf = [bad = key](uint32_t k) { return k == bad; };
        }
    }
}

} // namespace

TEST(selftest_passes_and_is_logged) {
    Nand nand(Geometry{});
    {
        Drive d(nand, 1, seed);
        d.start(2, 6);
        auto id = identify(d, 1, 0);
        CHECK_EQ(id[256] & 0x10, 0x10);
        CHECK_EQ(id[318], 1);
        CHECK(id[316] >= 1);
        CHECK_EQ(progress(d).first, 0u);
        CHECK_EQ(result(d, 0).result, kUnused);
        for (uint32_t lba = 0; lba < 256; lba += 32) {
            CHECK_EQ(d.write(lba, pattern(lba, 1, 32)).status, kOk);
        }
        CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
        CHECK_EQ(start(d, 0), kInvalidField);
        CHECK_EQ(start(d, 3), kInvalidField);
        CHECK_EQ(start(d, kShort, 9), kInvalidNs);
        CHECK_EQ(start(d, kAbort), kOk);
        uint64_t reads = nand.reads;
        CHECK_EQ(start(d, kShort, 1), kOk);
        CHECK_EQ(start(d, kShort, 1), kSelfTestInProgress);
        CHECK_EQ(progress(d).first, kShort);
        finish(d);
        Result r = result(d, 0);
        CHECK(r.code == kShort && r.result == 0 && r.segment == 0 && r.nsid == 1 && r.valid == 1);
        uint64_t sampled = nand.reads - reads;
        CHECK(sampled > 4 && sampled < 150);
        reads = nand.reads;
        CHECK_EQ(start(d, kExtended), kOk);
        finish(d);
        CHECK(nand.reads - reads > 256);
        r = result(d, 0);
        CHECK(r.code == kExtended && r.result == 0 && r.nsid == kAll);
        CHECK_EQ(result(d, 1).code, kShort);
        /* The controller alone, and a namespace without blocks: no medium. */
        reads = nand.reads;
        CHECK_EQ(start(d, kExtended, 0), kOk);
        finish(d);
        CHECK_EQ(start(d, kExtended, 2), kOk);
        finish(d);
        CHECK(nand.reads - reads < 32);
        for (uint32_t i = 0; i < 20; i++) {
            CHECK_EQ(start(d, kShort, 0), kOk);
            finish(d);
        }
        CHECK_EQ(result(d, 19).nsid, 0u);
        CHECK_EQ(start(d, kExtended, 3), kOk);
        finish(d);
        d.settle();
    }
    Drive d(nand, 1, seed);
    d.start(2, 6);
    Result r = result(d, 0);
    CHECK(r.code == kExtended && r.result == 0 && r.nsid == 3);
    CHECK_EQ(result(d, 1).code, kShort);
    CHECK_EQ(result(d, 19).code, kShort);
}

TEST(selftest_finds_what_cannot_be_read) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    for (uint32_t lba = 0; lba < 256; lba += 32) {
        CHECK_EQ(d.write(lba, pattern(lba, 1, 32)).status, kOk);
    }
    CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
    spoil(d, nand, 77);
    CHECK_EQ(start(d, kExtended, 1), kOk);
    finish(d);
    Result r = result(d, 0);
    CHECK(r.code == kExtended && r.result == 7 && r.segment == kMedia && (r.valid & 2) != 0 && r.lba == 77);
    CHECK(r.sct == 2 && r.sc == 0x81);
    CHECK_EQ(get64(logPage(d, 2, 512), 160), 1u);
    /* A block that its owner has declared unreadable is no fault, and neither is one written elsewhere. */
    Sqe lose = Drive::sqe(0x04, 1);
    lose[10] = 77;
    CHECK_EQ(d.exec(1, lose).status, kOk);
    CHECK_EQ(start(d, kExtended, 1), kOk);
    finish(d);
    CHECK_EQ(result(d, 0).result, 0u);
    d.settle();
    /* Metadata. */
    std::set<uint32_t> maps;
    for (const auto &[key, page] : nand.pages()) {
        if (page.oob0 - 0xf0000000u < 16) {
            maps.insert(key);
        }
    }
    CHECK(!maps.empty());
    d.dev.faults.readOf = [maps](uint32_t key) { return maps.contains(key); };
    CHECK_EQ(start(d, kShort, 0), kOk);
    finish(d);
    r = result(d, 0);
    CHECK(r.result == 7 && r.segment == kMetadata && (r.valid & 2) == 0);
}

TEST(selftest_ends_and_goes_on) {
    Nand nand(Geometry{});
    {
        Drive d(nand, 1, seed);
        d.start();
        for (uint32_t lba = 0; lba < 512; lba += 32) {
            CHECK_EQ(d.write(lba, pattern(lba, 1, 32)).status, kOk);
        }
        CHECK_EQ(start(d, kExtended), kOk);
        CHECK_EQ(start(d, kAbort), kOk);
        CHECK_EQ(progress(d).first, 0u);
        Result r = result(d, 0);
        CHECK(r.code == kExtended && r.result == 1);
        /* A reset ends the short test, and not the extended one. */
        CHECK_EQ(start(d, kShort), kOk);
        d.disable();
        d.start();
        CHECK_EQ(progress(d).first, 0u);
        r = result(d, 0);
        CHECK(r.code == kShort && r.result == 2);
        CHECK_EQ(start(d, kExtended), kOk);
        d.disable();
        d.start();
        CHECK_EQ(progress(d).first, kExtended);
        /* A format ends both. */
        CHECK_EQ(d.exec(0, Drive::sqe(0x80, 1)).status, kOk);
        r = result(d, 0);
        CHECK(r.code == kExtended && r.result == 4);
        for (uint32_t lba = 0; lba < 512; lba += 32) {
            CHECK_EQ(d.write(lba, pattern(lba, 1, 32)).status, kOk);
        }
        /* The host's commands go on meanwhile. */
        CHECK_EQ(start(d, kExtended), kOk);
        std::vector<uint8_t> got;
        uint32_t served = 0;
        while (progress(d).first != 0) {
            uint32_t lba = served * 37 % 480;
            CHECK_EQ(d.write(lba, pattern(lba, 1, 4)).status, kOk);
            CHECK_EQ(d.read(lba, 4, &got).status, kOk);
            CHECK(got == pattern(lba, 1, 4));
            served++;
        }
        CHECK(served > 3);
        CHECK_EQ(result(d, 0).result, 0u);
        /* So does a sanitize operation. */
        CHECK_EQ(start(d, kShort), kOk);
        Sqe s = Drive::sqe(0x84);
        s[10] = 2;
        CHECK_EQ(d.exec(0, s).status, kOk);
        d.settle();
        r = result(d, 0);
        CHECK(r.code == kShort && r.result == 9);
        for (uint32_t lba = 0; lba < 512; lba += 32) {
            CHECK_EQ(d.write(lba, pattern(lba, 1, 32)).status, kOk);
        }
        CHECK_EQ(start(d, kExtended, 1), kOk);
        CHECK_EQ(progress(d).first, kExtended);
        d.shutdown();
    }
    uint64_t reads;
    {
        /* It goes on after the power cycle, where it was. */
        Drive d(nand, 1, seed);
        d.start();
        reads = nand.reads;
        CHECK_EQ(progress(d).first, kExtended);
        d.run([&] { return nand.reads > reads + 100; });
        CHECK_EQ(d.write(600, pattern(600, 1)).status, kOk);
        CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
    }
    Drive d(nand, 1, seed);
    reads = nand.reads;
    d.start();
    CHECK_EQ(progress(d).first, kExtended);
    finish(d);
    CHECK(nand.reads - reads < 480);
    Result r = result(d, 0);
    CHECK(r.code == kExtended && r.result == 0 && r.nsid == 1);
    CHECK_EQ(start(d, kShort), kOk);
}
