// SPDX-License-Identifier: BSD-3-Clause
/* Sanitize: nothing of the user's stays on the medium, whatever happens meanwhile, and the status log says how it
 * stands. */
#include "tests/admin.h"
#include "tests/secrets.h"

using namespace harness;
using namespace admin;
using namespace secrets;
using model::Geometry;
using model::Nand;

namespace {

constexpr uint32_t kExit = 1, kBlockErase = 2, kOverwrite = 3, kCryptographic = 4, kUnrestricted = 8,
                   kNoDealloc = 0x200;
constexpr uint32_t kEventCompleted = 6 | 1 << 8 | 0x81 << 16;

struct Status {
    uint32_t progress, state;
    bool erased;
    uint32_t dw10;
};

Status status(Drive &d) {
    auto p = logPage(d, 0x81, 512);
    uint32_t state = p[2] | p[3] << 8;
    return {static_cast<uint32_t>(p[0] | p[1] << 8), state & 7, (state & 0x100) != 0,
            p[4] | static_cast<uint32_t>(p[5]) << 8};
}

uint16_t sanitize(Drive &d, uint32_t dw10) {
    Sqe s = Drive::sqe(0x84);
    s[10] = dw10;
    return d.exec(0, s).status;
}

bool zeros(Drive &d) {
    std::vector<uint8_t> got;
    for (uint32_t lba = 0; lba < kBlocks; lba += 32) {
        CHECK_EQ(d.read(lba, 32, &got).status, kOk);
        if (got != pattern(0, 0, 32)) {
            return false;
        }
    }
    return true;
}

/** Wait for the end; what the log said before it. */
void finish(Drive &d, Status *last = nullptr) {
    for (;;) {
        Status s = status(d);
        /* 65,535 says that there is no operation. */
        CHECK_EQ(s.progress == 0xffff, s.state != 2);
        if (s.state != 2) {
            return;
        }
        if (last != nullptr) {
            CHECK(s.progress >= last->progress);
            *last = s;
        }
    }
}

} // namespace

TEST(sanitize_erases_the_medium) {
    Nand nand(kSmall);
    std::vector<uint8_t> got;
    {
        Drive d(nand, 1, seed);
        d.start(2, 6);
        auto id = identify(d, 1, 0);
        CHECK_EQ(get64(id, 328) & 0xffffffff, 0x60000002u);
        Status s = status(d);
        CHECK_EQ(s.state, 0u);
        CHECK_EQ(s.progress, 0xffffu);
        fill(d);
        CHECK(onMedium(nand) > kBlocks);
        CHECK_EQ(sanitize(d, kOverwrite), kInvalidField);
        CHECK_EQ(sanitize(d, kCryptographic), kInvalidField);
        CHECK_EQ(sanitize(d, kBlockErase | kNoDealloc), kInvalidField);
        CHECK_EQ(sanitize(d, 0), kInvalidField);
        CHECK_EQ(sanitize(d, kExit), kOk);
        CHECK_EQ(status(d).state, 0u);
        CHECK_EQ(d.read(0, 32, &got).status, kOk);
        CHECK(got == secret(0, 32));

        uint16_t aer = d.submit(0, Drive::sqe(0x0c));
        /* Reads and writes under way end one way or the other before anything is erased. */
        std::vector<uint16_t> cids;
        for (uint32_t i = 0; i < 32; i++) {
            Buffer b = d.buffer(32 * 4096);
            auto data = secret(i, 32);
            d.put(b, data.data());
            Sqe io = Drive::sqe(i % 2 ? 0x01 : 0x02, 1);
            Drive::setPrp(io, b);
            io[10] = i * 10;
            io[12] = 31;
            cids.push_back(d.submit(1, io));
        }
        CHECK_EQ(sanitize(d, kBlockErase), kOk);
        s = status(d);
        CHECK(s.state == 2 && !s.erased && s.dw10 == kBlockErase);
        CHECK_EQ(d.read(0, 1, &got).status, kSanitizeInProgress);
        CHECK_EQ(d.write(0, secret(0, 1)).status, kSanitizeInProgress);
        CHECK_EQ(d.trim(0, 1).status, kSanitizeInProgress);
        CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
        CHECK_EQ(d.exec(1, Drive::sqe(0x02, 2)).status, kSanitizeInProgress);
        CHECK_EQ(sanitize(d, kBlockErase), kSanitizeInProgress);
        CHECK_EQ(d.exec(0, Drive::sqe(0x80, 1)).status, kSanitizeInProgress);
        Sqe test = Drive::sqe(0x14, 1);
        test[10] = 1;
        CHECK_EQ(d.exec(0, test).status, kSanitizeInProgress);
        CHECK_EQ(d.exec(0, Drive::sqe(0xc1)).status, kSanitizeInProgress);
        CHECK_EQ(setFeature(d, 0x0b, 0xff), kOk);
        identify(d, 1, 0);
        logPage(d, 2, 512);
        Status last{0, 2, false, 0};
        finish(d, &last);
        CHECK(last.progress > 0x4000);
        for (uint16_t cid : cids) {
            uint16_t end = d.wait(1, cid).status;
            CHECK(end == kOk || end == kSanitizeInProgress);
        }
        s = status(d);
        CHECK(s.state == 1 && s.erased && s.progress == 0xffff);
        CHECK_EQ(d.wait(0, aer).dw0, kEventCompleted);
        CHECK_EQ(onMedium(nand), 0u);
        CHECK(zeros(d));
        /* Nor is it in the drive's memory. */
        CHECK(d.dev.console.find("may hold") == std::string::npos);
        CHECK(status(d).erased);
        CHECK_EQ(d.write(5, pattern(5, 1, 32)).status, kOk);
        CHECK(!status(d).erased);
        CHECK_EQ(status(d).state, 1u);
    }
    Drive d(nand, 1, seed + 1);
    d.start();
    Status s = status(d);
    CHECK(s.state == 1 && !s.erased);
    CHECK_EQ(d.read(5, 32, &got).status, kOk);
    CHECK(got == pattern(5, 1, 32));
}

TEST(sanitize_goes_on_after_power_cuts) {
    uint32_t resumed = 0;
    uint64_t takes = 0;
    for (uint32_t round = 0; round < 24; round++) {
        Nand nand(kSmall);
        std::mt19937 rng(seed * 100 + round);
        bool accepted = false, erased = false;
        uint32_t cuts = 0;
        for (uint32_t cycle = 0; cycle < 4 && !erased; cycle++) {
            bool boots = cycle == 0;
            try {
                Drive d(nand, 1, static_cast<uint32_t>(rng()));
                boots = true;
                d.start();
                if (cycle == 0) {
                    fill(d);
                    d.settle();
                }
                uint64_t start = d.dev.now;
                if (round > 0 && cycle < 3) {
                    d.dev.cutAt = start + takes * (rng() % 1000) / 1000;
                }
                Status before = status(d);
                CHECK(!accepted || before.state != 0);
                if (before.state == 2) {
                    resumed++;
                    std::vector<uint8_t> got;
                    uint16_t read = d.read(0, 1, &got).status;
                    CHECK(read == kSanitizeInProgress || (read == kOk && got == pattern(0, 0)));
                } else if (before.state == 0) {
                    CHECK_EQ(sanitize(d, kBlockErase), kOk);
                    accepted = true;
                }
                finish(d);
                takes = round == 0 ? d.dev.now - start : takes;
                d.dev.cutAt = UINT64_MAX;
                erased = true;
                CHECK_EQ(status(d).state, 1u);
                CHECK(status(d).erased);
                CHECK_EQ(onMedium(nand), 0u);
                CHECK(zeros(d));
                CHECK_EQ(d.write(9, pattern(9, 2, 32)).status, kOk);
            } catch (const model::PowerCut &) {
                CHECK(boots);
                cuts++;
                if (model::current != nullptr) {
                    model::current->tearInFlight();
                }
            }
        }
        CHECK(erased);
    }
    CHECK(resumed >= 8);
}

TEST(sanitize_goes_on_over_resets_and_shutdowns) {
    Nand nand(kSmall);
    std::vector<uint8_t> got;
    {
        Drive d(nand, 1, seed);
        d.start();
        fill(d);
        CHECK_EQ(sanitize(d, kBlockErase), kOk);
        uint64_t erases = nand.erases;
        d.run([&] { return nand.erases > erases + 4; });
        d.dev.hostWriteCc(0);
        d.run([&] { return (d.dev.hostCsts() & 1) == 0; });
        d.start();
        CHECK_EQ(status(d).state, 2u);
        CHECK_EQ(d.read(0, 1, &got).status, kSanitizeInProgress);
        /* A shutdown does not wait for all of it. */
        uint64_t before = nand.erases;
        d.shutdown();
        CHECK(nand.erases - before <= 8u);
        d.settle();
        CHECK(nand.erases - before <= 8u);
        CHECK(onMedium(nand) > 0u);
        /* The power stays on. */
        d.disable();
        d.start();
        CHECK_EQ(status(d).state, 2u);
        d.run([&] { return nand.erases > before + 4; });
        d.shutdown();
    }
    Drive d(nand, 1, seed);
    d.start();
    CHECK_EQ(status(d).state, 2u);
    finish(d);
    CHECK(status(d).erased);
    CHECK_EQ(onMedium(nand), 0u);
    CHECK(zeros(d));
}

TEST(sanitize_that_fails_says_so) {
    for (uint32_t exit : {0u, kUnrestricted}) {
        Nand nand(kSmall);
        /* One block that no erase empties any more. */
        uint32_t stuck = 0;
        auto broken = [&](uint32_t key) { return key == stuck; };
        {
            Drive d(nand, 1, seed);
            d.start();
            fill(d);
            d.settle();
            for (const auto &p : nand.pages()) {
                if (std::equal(std::begin(kMark), std::end(kMark), p.second.data.begin())) {
                    stuck = p.first & ~31u;
                    break;
                }
            }
            CHECK(stuck != 0);
            d.dev.faults.eraseOf = broken;
            uint16_t aer = d.submit(0, Drive::sqe(0x0c));
            CHECK_EQ(sanitize(d, kBlockErase | exit), kOk);
            finish(d);
            CHECK_EQ(d.wait(0, aer).dw0, kEventCompleted);
            Status s = status(d);
            CHECK(s.state == 3 && !s.erased);
            uint32_t left = onMedium(nand);
            CHECK(left > 0 && left <= 32);
            std::vector<uint8_t> got;
            CHECK_EQ(d.read(0, 1, &got).status, kSanitizeFailed);
            CHECK_EQ(d.exec(0, Drive::sqe(0x80, 1)).status, kSanitizeFailed);
        }
        {
            /* After a power cycle it is as before, and the block, which is left out of use by now, is tried again. */
            Drive d(nand, 1, seed);
            d.start();
            d.dev.faults.eraseOf = broken;
            std::vector<uint8_t> got;
            CHECK_EQ(status(d).state, 3u);
            CHECK_EQ(d.read(0, 1, &got).status, kSanitizeFailed);
            CHECK_EQ(sanitize(d, kBlockErase | exit), kOk);
            finish(d);
            CHECK_EQ(status(d).state, 3u);
            Sqe format = Drive::sqe(0x80, 1);
            format[10] = 1 << 9;
            CHECK_EQ(d.exec(0, format).status, kSanitizeFailed);
            if (exit != 0) {
                CHECK_EQ(sanitize(d, kExit), kOk);
                CHECK_EQ(d.read(0, 1, &got).status, kOk);
                CHECK(got == pattern(0, 0));
                CHECK_EQ(d.write(0, pattern(0, 3)).status, kOk);
                CHECK_EQ(status(d).state, 3u);
                /* A format does not say that it has erased what it has not. */
                CHECK(d.exec(0, format).status != kOk);
                CHECK(onMedium(nand) > 0);
            } else {
                CHECK_EQ(sanitize(d, kExit), kSanitizeFailed);
                CHECK_EQ(sanitize(d, kBlockErase | kUnrestricted), kSanitizeFailed);
                CHECK_EQ(d.read(0, 1, &got).status, kSanitizeFailed);
            }
        }
        Drive d(nand, 1, seed);
        d.start();
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(0, 1, &got).status, exit != 0 ? kOk : kSanitizeFailed);
        /* This time it goes well. */
        CHECK_EQ(sanitize(d, kBlockErase), kOk);
        finish(d);
        CHECK_EQ(status(d).state, 1u);
        CHECK_EQ(onMedium(nand), 0u);
        CHECK_EQ(d.read(0, 1, &got).status, kOk);
        CHECK_EQ(d.write(0, pattern(0, 3)).status, kOk);
    }
}

TEST(sanitize_stops_offloads_waits_and_large_pages) {
    /* Parts with a write cache: what it holds is gone too. */
    Nand nand(Geometry{2, 2, 1, 1, 16, 32, 16384, 2208});
    Drive d(nand, 1, seed);
    d.start();
    for (uint32_t lba = 0; lba < 1001; lba += 7) {
        CHECK_EQ(d.write(lba, secret(lba, 7)).status, kOk);
    }
    CHECK_EQ(sanitize(d, kBlockErase), kOk);
    finish(d);
    d.settle();
    CHECK_EQ(status(d).state, 1u);
    CHECK(status(d).erased);
    CHECK_EQ(onMedium(nand), 0u);
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(994, 7, &got).status, kOk);
    CHECK(got == pattern(0, 0, 7));
}

TEST(sanitize_wipes_local_memory) {
    /* What was copied or written there, all over the namespace, whatever the host does meanwhile. */
    constexpr uint64_t kBytes = 64ull << 20;
    enum { kNothing, kReset, kShutdown };
    for (uint32_t meanwhile : {kNothing, kReset, kShutdown}) {
        Nand nand(kSmall);
        Drive d(nand, 1, seed);
        d.start(2, 6);
        fill(d);
        std::vector<uint64_t> places{0, 4096, (1u << 21) - 4096, 1u << 21, kBytes / 2 + 65536, kBytes - 8192};
        auto memory = [](uint8_t opcode, uint64_t at) {
            Sqe s = Drive::sqe(opcode, 2);
            s[10] = static_cast<uint32_t>(at);
            s[11] = static_cast<uint32_t>(at >> 32);
            s[12] = 4096;
            return s;
        };
        auto held = [&](uint64_t at) {
            Sqe s = memory(0x02, at);
            Buffer b = d.buffer(4096);
            Drive::setPrp(s, b);
            CHECK_EQ(d.exec(1, s).status, kOk);
            return d.get(b);
        };
        for (uint64_t at : places) {
            CHECK_EQ(give(d, 1, memory(0x05, at), secret(3, 1)).status, kOk);
        }
        /* One block by the drive itself. */
        std::vector<uint8_t> range(32);
        range[0] = 1;
        range[8] = 9;
        Sqe copy = memory(0x01, kBytes - 4096);
        copy[2] = 4096;
        copy[12] = 2 << 8;
        CHECK_EQ(give(d, 1, copy, range).status, kOk);
        places.push_back(kBytes - 4096);
        CHECK(held(kBytes - 4096) == secret(9, 1));
        CHECK_EQ(sanitize(d, kBlockErase), kOk);
        if (meanwhile != kNothing) {
            if (meanwhile == kShutdown) {
                d.shutdown();
            }
            d.disable();
            d.start(2, 6);
        }
        finish(d);
        CHECK_EQ(status(d).state, 1u);
        CHECK_EQ(onMedium(nand), 0u);
        for (uint64_t at : places) {
            CHECK(held(at) == pattern(0, 0));
        }
        CHECK_EQ(give(d, 1, memory(0x05, 4096), secret(3, 1)).status, kOk);
        CHECK(held(4096) == secret(3, 1));
    }
}

TEST(sanitize_keeps_the_marks_of_blocks_that_came_bad) {
    Geometry g = kSmall;
    g.blocks = 64;
    g.factoryBad = 0.02;
    g.chance = seed;
    Nand nand(g);
    uint32_t capacity;
    {
        Drive d(nand, 1, seed);
        d.start();
        capacity = d.capacity();
        CHECK(d.dev.console.find("they are left out") != std::string::npos);
        for (uint32_t lba = 0; lba + 32 < capacity; lba += 32) {
            CHECK_EQ(d.write(lba, secret(lba, 32)).status, kOk);
        }
        CHECK_EQ(sanitize(d, kBlockErase), kOk);
        finish(d);
        CHECK_EQ(status(d).state, 1u);
        CHECK_EQ(onMedium(nand), 0u);
    }
    /* A format finds as many as the first one did. */
    Drive d(nand, 1, seed, 1);
    d.start();
    CHECK_EQ(d.capacity(), capacity);
}
