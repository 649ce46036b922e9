// SPDX-License-Identifier: BSD-3-Clause
/* What test_nvme.cpp leaves: health over power cycles, events of every kind, Format, Compare, Verify, subsystem reset,
 * command sets, and submission entries of any content. */
#include "tests/admin.h"
#include "tests/scomp.h"

#include <algorithm>
#include <cstdio>

using namespace harness;
using namespace admin;
using model::Geometry;
using model::Nand;

TEST(health_survives_power_cycles) {
    Nand nand(Geometry{});
    for (uint32_t cycle = 0; cycle < 3; cycle++) {
        Drive d(nand);
        d.start();
        auto before = logPage(d, 2, 512);
        CHECK_EQ(get64(before, 64), cycle);
        CHECK_EQ(get64(before, 80), cycle);
        CHECK_EQ(get64(before, 112), cycle + 1u);
        CHECK_EQ(get64(before, 176), cycle);
        CHECK_EQ(get64(before, 144), cycle == 2 ? 1u : 0u);
        CHECK_EQ(d.write(5, pattern(5, cycle, 1)).status, kOk);
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(5, 1, &got).status, kOk);
        auto c = d.read(UINT64_MAX, 1, &got);
        CHECK_EQ(c.status, kLbaRange);
        CHECK(c.dnr && c.more);
        if (cycle != 1) {
            d.shutdown();
        } else {
            /* Counted up to here, then the power goes. */
            CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
            CHECK_EQ(d.write(6, pattern(6, cycle, 1)).status, kOk);
        }
    }
    /* The write that no checkpoint followed is not counted. */
    Drive d(nand);
    d.enable();
    CHECK_EQ(get64(logPage(d, 2, 512), 80), 3u);
}

TEST(shutdown_without_writes_is_counted) {
    Nand nand(Geometry{});
    for (uint32_t cycle = 0; cycle < 3; cycle++) {
        Drive d(nand);
        d.enable();
        CHECK_EQ(get64(logPage(d, 2, 512), 112), cycle + 1u);
        d.shutdown();
    }
}

TEST(error_log_names_the_parameter) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start();
    Sqe s = blocks(0x02, 0, 1);
    s[12] |= 1u << 24;
    CHECK_EQ(d.exec(1, s).status, kInvalidField);
    auto errors = logPage(d, 1, 64);
    CHECK_EQ(get64(errors, 8) >> 32 & 0xffff, kInvalidField << 1);
    CHECK_EQ(get64(errors, 8) >> 48, 48u);
    CHECK_EQ(errors[24], 1);
    /* A namespace that is not there, in a log page command. */
    Sqe bad = Drive::sqe(0x02, 7);
    bad[10] = 2;
    CHECK_EQ(d.exec(0, bad).status, kInvalidNs);
    CHECK(logPage(d, 4, 4096) == std::vector<uint8_t>(4096));
}

TEST(temperature_event) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start();
    uint16_t aer = d.submit(0, Drive::sqe(0x0c));
    CHECK_EQ(setFeature(d, 4, 300), kOk);
    d.settle();
    CHECK(!d.take(0, aer).has_value());
    CHECK_EQ(logPage(d, 2, 512)[0], 2);
    CHECK_EQ(setFeature(d, 0x0b, 0xff), kOk);
    CHECK_EQ(d.wait(0, aer).dw0, 1u | 1 << 8 | 2 << 16);
    /* Reported once while it lasts; again when it comes back, but only after the log was read. */
    aer = d.submit(0, Drive::sqe(0x0c));
    CHECK_EQ(setFeature(d, 4, 310), kOk);
    CHECK_EQ(setFeature(d, 4, 350), kOk);
    CHECK_EQ(setFeature(d, 4, 320 | 1 << 20), kOk);
    d.settle();
    CHECK(!d.take(0, aer).has_value());
    CHECK_EQ(setFeature(d, 4, 0 | 1 << 20), kOk);
    logPage(d, 2, 512, true);
    CHECK_EQ(setFeature(d, 4, 320 | 1 << 20), kOk);
    d.settle();
    CHECK(!d.take(0, aer).has_value());
    CHECK_EQ(setFeature(d, 4, 0 | 1 << 20), kOk);
    CHECK_EQ(logPage(d, 2, 512)[0], 0);
    CHECK_EQ(setFeature(d, 4, 320 | 1 << 20), kOk);
    CHECK_EQ(d.wait(0, aer).dw0, 1u | 1 << 8 | 2 << 16);
}

TEST(feature_namespaces) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start();
    CHECK_EQ(setFeature(d, 0x0b, 0, 1), kNotNamespace);
    CHECK_EQ(setFeature(d, 0x0b, 0, 5), kInvalidNs);
    CHECK_EQ(setFeature(d, 5, 7, 1), kOk);
    CHECK_EQ(setFeature(d, 5, 9, kAll), kOk);
    CHECK_EQ(setFeature(d, 5, 9, 0), kInvalidNs);
    Sqe s = Drive::sqe(0x0a, 1);
    s[10] = 5;
    CHECK_EQ(d.exec(0, s).dw0, 9u);
    s[1] = kAll;
    CHECK_EQ(d.exec(0, s).status, kInvalidNs);
    /* The host's clock, as set and going on. */
    s = Drive::sqe(0x09);
    s[10] = 0x0e;
    CHECK_EQ(give(d, 0, s, {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0, 0}).status, kOk);
    s = Drive::sqe(0x0a);
    s[10] = 0x0e;
    Buffer b = d.buffer(8);
    Drive::setPrp(s, b);
    CHECK_EQ(d.exec(0, s).status, kOk);
    CHECK_EQ(get64(d.get(b), 0) >> 16, 0x0002ba987654ull);
}

TEST(format) {
    Nand nand(Geometry{});
    {
        Drive d(nand);
        d.start();
        for (uint32_t i = 0; i < 8; i++) {
            CHECK_EQ(d.write(i * 16, pattern(i * 16, 1, 16)).status, kOk);
        }
        Sqe s = Drive::sqe(0x80, 1);
        s[10] = 1;
        CHECK_EQ(d.exec(0, s).status, kFormatInvalid);
        s[10] = 1 << 5;
        CHECK_EQ(d.exec(0, s).status, kFormatInvalid);
        s[10] = 2 << 9;
        CHECK_EQ(d.exec(0, s).status, kInvalidField);
        s[10] = 0;
        s[1] = 9;
        CHECK_EQ(d.exec(0, s).status, kInvalidNs);
        s[1] = kAll;
        s[10] = 1 << 9;
        uint16_t cid = d.submit(0, s);
        auto meanwhile = d.exec(1, blocks(0x02, 0, 1));
        CHECK(meanwhile.status == 0x84 || d.take(0, cid).has_value());
        d.settle();
        std::vector<uint8_t> got;
        for (uint32_t i = 0; i < 8; i++) {
            CHECK_EQ(d.read(i * 16, 16, &got).status, kOk);
            CHECK(got == pattern(0, 0, 16));
        }
        CHECK_EQ(d.write(3, pattern(3, 2, 1)).status, kOk);
    }
    /* Power went without a shutdown: formatted it stays. */
    Drive d(nand);
    d.start();
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(3, 1, &got).status, kOk);
    CHECK(got == pattern(3, 2, 1));
    CHECK_EQ(d.read(16, 16, &got).status, kOk);
    CHECK(got == pattern(0, 0, 16));
}

TEST(compare_and_verify) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start();
    auto data = pattern(10, 1, 32);
    CHECK_EQ(d.write(10, data).status, kOk);
    CHECK_EQ(give(d, 1, blocks(0x05, 10, 32), data).status, kOk);
    CHECK_EQ(give(d, 1, blocks(0x05, 10, 32), data, 1028).status, kOk);
    for (size_t at : {size_t{0}, size_t{4095}, size_t{70000}, data.size() - 1}) {
        auto other = data;
        other[at] ^= 1;
        auto c = give(d, 1, blocks(0x05, 10, 32), other);
        CHECK_EQ(c.status, kCompareFailure);
        CHECK(c.dnr);
    }
    CHECK_EQ(give(d, 1, blocks(0x05, 60, 2), pattern(0, 0, 2)).status, kOk);
    CHECK_EQ(give(d, 1, blocks(0x05, 60, 2), pattern(1, 1, 2)).status, kCompareFailure);
    CHECK_EQ(d.exec(1, blocks(0x05, 10, 33)).status, kInvalidField);
    CHECK_EQ(d.exec(1, blocks(0x05, d.capacity() - 1, 2)).status, kLbaRange);
    /* Several at once, with one that names memory nobody has. */
    std::vector<std::pair<uint16_t, uint16_t>> cids;
    for (uint32_t i = 0; i < 12; i++) {
        Sqe s = blocks(0x05, 10, 4);
        auto part = pattern(10, i % 3 == 1 ? 2 : 1, 4);
        Buffer b = d.buffer(4 * 4096);
        d.put(b, part.data());
        Drive::setPrp(s, b);
        if (i == 5) {
            s[7] = 0x7fff;
        }
        cids.emplace_back(d.submit(1, s), i == 5 ? kDataTransfer : i % 3 == 1 ? kCompareFailure : kOk);
    }
    for (auto [cid, status] : cids) {
        CHECK_EQ(d.wait(1, cid).status, status);
    }
    CHECK_EQ(d.exec(1, blocks(0x0c, 0, d.capacity())).status, kOk);
    CHECK_EQ(d.exec(1, blocks(0x0c, 1, d.capacity())).status, kLbaRange);
    d.dev.faults.read = 1;
    CHECK_EQ(d.exec(1, blocks(0x0c, 10, 1)).status, kReadError);
    CHECK_EQ(give(d, 1, blocks(0x05, 10, 1), pattern(10, 1, 1)).status, kReadError);
    d.dev.faults.read = 0;
    CHECK_EQ(get64(logPage(d, 2, 512), 160), 2u);
}

TEST(nsid_rules) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start();
    for (uint8_t opcode : {0x01, 0x02, 0x05, 0x08, 0x09, 0x0c}) {
        CHECK_EQ(d.exec(1, Drive::sqe(opcode, 0)).status, kInvalidNs);
        CHECK_EQ(d.exec(1, Drive::sqe(opcode, 2)).status, kInvalidNs);
        CHECK_EQ(d.exec(1, Drive::sqe(opcode, kAll)).status, kInvalidField);
    }
    CHECK_EQ(d.exec(1, Drive::sqe(0x00, kAll)).status, kOk);
    CHECK_EQ(d.exec(1, Drive::sqe(0x00, 0)).status, kInvalidNs);
}

TEST(aborts_what_waits) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start();
    /* More verifies than there are page buffers for: the last ones wait. */
    std::vector<uint16_t> cids;
    for (uint32_t i = 0; i < 20; i++) {
        cids.push_back(d.submit(1, blocks(0x0c, 0, 256)));
    }
    for (uint32_t i = 0; i < 256; i += 32) {
        CHECK_EQ(d.write(i, pattern(i, 1, 32)).status, kOk);
    }
    for (uint16_t cid : cids) {
        CHECK_EQ(d.wait(1, cid).status, kOk);
    }
    cids.clear();
    for (uint32_t i = 0; i < 20; i++) {
        cids.push_back(d.submit(1, blocks(0x0c, 0, 256)));
    }
    Sqe abort = Drive::sqe(0x08);
    abort[10] = 1 | static_cast<uint32_t>(cids[14]) << 16;
    CHECK_EQ(d.exec(0, abort).dw0, 0u);
    for (uint16_t cid : cids) {
        CHECK_EQ(d.wait(1, cid).status, cid == cids[14] ? kAborted : kOk);
    }
}

TEST(subsystem_reset) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start();
    CHECK_EQ(d.write(0, pattern(0, 1, 8)).status, kOk);
    for (uint32_t i = 0; i < 20; i++) {
        d.submit(1, blocks(0x02, 0, 8));
    }
    for (uint32_t i = 0; i < 5; i++) {
        d.step();
    }
    d.dev.hostNssr();
    d.disable();
    d.start();
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(0, 8, &got).status, kOk);
    CHECK(got == pattern(0, 1, 8));
}

TEST(vanished_queue_is_fatal) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start();
    d.dev.queueGone();
    d.settle();
    CHECK_EQ(d.dev.hostCsts() & 3, 3u);
    /* Nothing is taken any more, whatever the entries seem to say. */
    d.submit(1, blocks(0x02, 0, 1));
    d.settle();
    d.disable();
    CHECK_EQ(d.dev.hostCsts() & 3, 0u);
    d.start();
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(0, 1, &got).status, kOk);
}

TEST(command_sets) {
    Nand nand(Geometry{});
    Drive d(nand);
    d.start(2, 6);
    CHECK_EQ(identify(d, 1, 0)[516], 3);
    auto list = identify(d, 2, 0);
    CHECK(list[0] == 1 && list[4] == 2 && list[8] == 3 && list[12] == 0);
    for (uint32_t nsid = 1; nsid <= 3; nsid++) {
        auto desc = identify(d, 3, nsid);
        CHECK(desc[0] == 1 && desc[1] == 8 && desc[12] == 4 && desc[13] == 1);
        uint32_t csi = nsid == 1 ? 0 : nsid + 1;
        CHECK_EQ(desc[16], csi);
        CHECK_EQ(identify(d, 8, nsid)[14], 1);
        identify(d, 5, nsid, csi);
        identify(d, 5, nsid, csi == 0 ? 3 : 0, kCommandSet);
        identify(d, 6, 0, csi);
        CHECK_EQ(identify(d, 7, 0, csi)[0], nsid);
    }
    identify(d, 0, 2, 0, kCommandSet);
    identify(d, 0, 4, 0, kInvalidNs);
    identify(d, 6, 0, 2, kInvalidField);
    CHECK_EQ(identify(d, 0x1c, 0)[0], 0x19);
    Sqe profile = Drive::sqe(0x09);
    profile[10] = 0x19;
    CHECK_EQ(d.exec(0, profile).status, kOk);
    Sqe effects = Drive::sqe(0x02);
    effects[10] = 5 | 1023u << 16;
    effects[14] = 4u << 24;
    Buffer b = d.buffer(4096);
    Drive::setPrp(effects, b);
    CHECK_EQ(d.exec(0, effects).status, kOk);
    CHECK_EQ(d.get(b)[1024 + 4], 3);
    /* Zoned namespaces are defined, but not offered: none of their commands is supported. */
    effects[14] = 2u << 24;
    CHECK_EQ(d.exec(0, effects).status, kOk);
    auto none = d.get(b);
    CHECK(std::all_of(none.begin() + 1024, none.begin() + 2048, [](uint8_t byte) { return byte == 0; }));
    effects[14] = 5u << 24;
    CHECK_EQ(d.exec(0, effects).status, kInvalidField);
}

/** Entries of any content on all queues, with resets among them: no violation of the hardware, nothing hangs, and the
 * drive serves afterwards. */
TEST(entry_fuzz) {
    printf("entry_fuzz seed %u\n", seed);
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    std::mt19937 rng(seed);
    auto pick = [&] { return static_cast<uint32_t>(rng()); };
    for (uint32_t round = 0; round < 4; round++) {
        d.start(3, round % 2 ? 6 : 0);
        CHECK_EQ(scomp::load(d, 1, scomp::kernelElf(model::kCount)).status, kOk);
        for (uint32_t i = 0; i < 1500; i++) {
            Sqe s{};
            uint32_t q = pick() % 4;
            for (uint32_t &w : s) {
                uint32_t kind = pick() % 4;
                w = kind == 0 ? pick() : kind == 1 ? pick() % 256 : kind == 2 ? 1u << pick() % 32 : 0;
            }
            /* Mostly no fused operation and no SGL, mostly a namespace that is there, mostly memory that is. */
            s[0] = pick() % 256 | (pick() % 16 ? 0 : pick() & 0xff00);
            s[1] = pick() % 4 ? pick() % 4 : s[1];
            if (pick() % 8) {
                Drive::setPrp(s, d.buffer(131072, pick() % 3 ? 0 : pick() % 4096, pick() % 2));
            }
            uint8_t opcode = static_cast<uint8_t>(s[0]);
            if (q == 0 && (opcode == 0x00 || opcode == 0x04) && (s[10] & 0xffff) <= 3) {
                s[10] |= 8;
            }
            d.submit(q, s);
            for (uint32_t k = pick() % 200; k > 0; k--) {
                d.step();
            }
        }
        for (uint32_t k = 0; k < 20'000; k++) {
            d.step();
        }
        if (round == 2) {
            d.dev.hostNssr();
        }
        d.disable();
    }
    d.start();
    std::vector<uint8_t> got;
    CHECK_EQ(d.write(7, pattern(7, 9, 4)).status, kOk);
    CHECK_EQ(d.read(7, 4, &got).status, kOk);
    CHECK(got == pattern(7, 9, 4));
}
