// SPDX-License-Identifier: BSD-3-Clause
/* What the health log counts over power cycles, and events about superblocks that go bad. */
#include "tests/admin.h"

using namespace harness;
using namespace admin;
using model::Geometry;
using model::Nand;

namespace {

constexpr size_t kPowerCycles = 112, kUnsafeShutdowns = 144;

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

TEST(health_reports_retired_superblocks) {
    /* 16 superblocks, two of which are spare beside the reserve. Erases fail: the event comes without a look at the
     * health log. */
    Nand nand(Geometry{2, 2, 1, 1, 16, 32});
    Drive d(nand, 1, seed);
    d.start();
    CHECK_EQ(setFeature(d, 0x0b, 0xff), kOk);
    uint16_t aer = d.submit(0, Drive::sqe(0x0c));
    d.settle();
    CHECK(!d.take(0, aer).has_value());
    d.dev.faults.erase = 0.3;
    std::optional<model::Completion> event;
    for (uint32_t lba = 0; !event && lba < 1000; lba++) {
        /* So many at once may leave no room for this very write. */
        uint16_t status = d.write(lba, pattern(lba, 1)).status;
        event = d.take(0, aer);
        CHECK(status == kOk || (event.has_value() && status == kReadOnly));
    }
    CHECK(event.has_value());
    CHECK_EQ(event->dw0, 1u | 2 << 8 | 2 << 16);
    CHECK(d.dev.console.find("retired") != std::string::npos);
    auto page = logPage(d, 2, 512);
    CHECK_EQ(page[0], 1);
    CHECK(page[3] < page[4]);
}
