// SPDX-License-Identifier: BSD-3-Clause
/* What the health log counts over power cycles, and events about blocks that go bad. */
#include "tests/admin.h"

#include <set>

using namespace harness;
using namespace admin;
using model::Geometry;
using model::Nand;

namespace {

constexpr size_t kPowerCycles = 112, kUnsafeShutdowns = 144, kMediaErrors = 160;

struct Counts {
    uint64_t cycles, unsafe;
    bool operator==(const Counts &) const = default;
};

Counts counts(Drive &d) {
    auto page = logPage(d, 2, 512);
    return {get64(page, kPowerCycles), get64(page, kUnsafeShutdowns)};
}

} // namespace

TEST(health_counts_cuts_without_writes) {
    Nand nand(Geometry{});
    /* Shut down or not, in this order; a shutdown that the host went on after is none. */
    enum { Cut, Shutdown, Resumed };
    uint32_t unsafe = 0, cycles = 0;
    for (int end : {Cut, Cut, Cut, Shutdown, Shutdown, Cut, Resumed, Shutdown, Resumed, Cut}) {
        Drive d(nand, 1, seed + cycles);
        d.enable();
        CHECK(counts(d) == (Counts{++cycles, unsafe}));
        d.settle();
        if (end != Cut) {
            d.shutdown();
        }
        if (end == Resumed) {
            d.disable();
            d.enable();
            d.settle();
        }
        unsafe += end != Shutdown;
    }
}

TEST(health_counts_a_shutdown_right_after_power_on) {
    /* The record of the power-on is being written when the host announces that power will go. */
    Nand nand(Geometry{});
    for (uint32_t cycle = 0; cycle < 3; cycle++) {
        Drive d(nand, 1, seed + cycle);
        d.dev.hostWriteAdmin(model::Device::kHostBase, model::Device::kHostBase + 4096, 31 | 31 << 16);
        d.shutdown();
    }
    Drive d(nand, 1, seed);
    d.enable();
    CHECK(counts(d) == (Counts{4, 0}));
}

TEST(health_counts_cuts_after_writes) {
    Nand nand(Geometry{});
    for (uint32_t cycle = 0; cycle < 5; cycle++) {
        Drive d(nand, 1, seed + cycle);
        d.start();
        CHECK(counts(d) == (Counts{cycle + 1, cycle}));
        CHECK_EQ(d.write(cycle, pattern(cycle, 1)).status, kOk);
    }
}

TEST(health_reports_bad_blocks) {
    /* 16 superblocks, two of which are spare beside the reserve. Erases fail: the event comes without a look at the
     * health log. */
    Nand nand(Geometry{2, 2, 1, 1, 16, 32});
    Drive d(nand, 1, seed);
    d.start();
    CHECK_EQ(setFeature(d, 0x0b, 0xff), kOk);
    uint16_t aer = d.submit(0, Drive::sqe(0x0c));
    d.settle();
    CHECK(!d.take(0, aer).has_value());
    d.dev.faults.erase = 0.15;
    std::optional<model::Completion> event;
    /* As many writes as it takes: which erases fail is chance. */
    for (uint32_t n = 0; !event && n < 4000; n++) {
        const uint32_t lba = n % 1000;
        CHECK_EQ(d.write(lba, pattern(lba, 1)).status, kOk);
        event = d.take(0, aer);
    }
    CHECK(event.has_value());
    CHECK_EQ(event->dw0, 1u | 2 << 8 | 2 << 16);
    CHECK(d.dev.console.find("is left out: it was not erased") != std::string::npos);
    auto page = logPage(d, 2, 512);
    CHECK_EQ(page[0], 1);
    CHECK(page[3] < page[4]);
}

TEST(health_counts_lost_sectors_through_cuts) {
    Nand nand(Geometry{});
    for (uint32_t cycle = 0; cycle < 3; cycle++) {
        Drive d(nand, 1, seed + cycle);
        d.start();
        CHECK_EQ(get64(logPage(d, 2, 512), kMediaErrors), cycle * 4);
        CHECK_EQ(d.write(5, pattern(5, 1)).status, kOk);
        std::set<uint32_t> copies;
        for (const auto &[key, page] : nand.pages()) {
            if (page.oob0 == 5) {
                copies.insert(key);
            }
        }
        d.dev.faults.readOf = [copies](uint32_t key) { return copies.contains(key); };
        std::vector<uint8_t> got;
        for (uint32_t i = 0; i < 4; i++) {
            CHECK_EQ(d.read(5, 1, &got).status, kReadError);
        }
        CHECK_EQ(get64(logPage(d, 2, 512), kMediaErrors), cycle * 4 + 4);
        d.settle();
    }
}

TEST(health_says_what_share_of_the_erases_is_used) {
    /* A part whose blocks are good for twenty erases. */
    Geometry g{2, 2, 1, 1, 16, 32};
    g.endurance = 20;
    Nand nand(g);
    uint64_t erases = 0;
    for (uint32_t cycle = 0; cycle < 2; cycle++) {
        Drive d(nand, 1, seed);
        d.start();
        for (uint32_t pass = 0; pass < 10; pass++) {
            for (uint32_t lba = 0; lba < 960; lba += 32) {
                CHECK_EQ(d.write(lba, pattern(lba, pass, 32)).status, kOk);
            }
        }
        erases = nand.erases;
        uint32_t used = logPage(d, 2, 512)[5];
        /* Of 64 blocks; those of the root records and of the checkpoints count less. */
        CHECK(used > 0 && used <= erases * 100 / (64 * 20) && used + 20 >= erases * 100 / (64 * 20));
        d.shutdown();
    }
}
