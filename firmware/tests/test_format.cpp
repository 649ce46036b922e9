// SPDX-License-Identifier: BSD-3-Clause
/* Format NVM with a user data erase: nothing of it stays on the medium, whatever happens meanwhile. */
#include "tests/admin.h"
#include "tests/secrets.h"

#include <set>

using namespace harness;
using namespace admin;
using namespace secrets;
using model::Geometry;
using model::Nand;

namespace {

constexpr uint32_t kErase = 1 << 9, kCryptographic = 2 << 9;

Sqe format(uint32_t settings) {
    Sqe s = Drive::sqe(0x80, 1);
    s[10] = settings;
    return s;
}

/** True when all reads zeros, false when all is as it was written. */
bool empty(Drive &d) {
    std::set<bool> seen;
    std::vector<uint8_t> got;
    for (uint32_t lba = 0; lba < kBlocks; lba += 32) {
        CHECK_EQ(d.read(lba, 32, &got).status, kOk);
        bool zeros = got == pattern(0, 0, 32);
        CHECK(zeros || got == secret(lba, 32));
        seen.insert(zeros);
    }
    CHECK_EQ(seen.size(), 1u);
    return *seen.begin();
}

} // namespace

TEST(format_erases_the_medium) {
    Nand nand(kSmall);
    std::vector<uint8_t> got;
    {
        Drive d(nand, 1, seed);
        d.start();
        fill(d);
        CHECK(onMedium(nand) > kBlocks);
        /* Nothing is encrypted, which FNA says too. */
        Buffer b = d.buffer(4096);
        Sqe id = Drive::sqe(0x06);
        id[10] = 1;
        Drive::setPrp(id, b);
        CHECK_EQ(d.exec(0, id).status, kOk);
        CHECK_EQ(d.get(b)[524], 0);
        CHECK_EQ(d.exec(0, format(kCryptographic)).status, kInvalidField);
        CHECK(!empty(d));

        uint64_t erases = nand.erases;
        uint16_t cid = d.submit(0, format(kErase));
        /* Meanwhile the controller answers: other admin commands at once, and block commands that they have to wait. */
        uint32_t answered = 0;
        std::optional<model::Completion> done;
        while (!done) {
            logPage(d, 2, 512);
            done = d.take(0, cid);
            if (!done) {
                answered++;
                uint16_t status = d.read(0, 1, &got).status;
                CHECK(status == 0x84 || (done = d.take(0, cid)).has_value());
            }
            if (answered > 1000) {
                break;
            }
        }
        CHECK(done.has_value());
        CHECK_EQ(done->status, kOk);
        CHECK(answered >= 3);
        CHECK_EQ(onMedium(nand), 0u);
        /* All superblocks but those of the metadata, four blocks each. */
        CHECK(nand.erases - erases >= 13u * 4u);
        CHECK(empty(d));
        CHECK_EQ(d.write(5, pattern(5, 1, 32)).status, kOk);
    }
    Drive d(nand, 1, seed + 1);
    d.start();
    CHECK_EQ(d.read(5, 32, &got).status, kOk);
    CHECK(got == pattern(5, 1, 32));
    CHECK_EQ(d.read(100, 32, &got).status, kOk);
    CHECK(got == pattern(0, 0, 32));
}

TEST(format_without_erase_only_deallocates) {
    Nand nand(kSmall);
    Drive d(nand, 1, seed);
    d.start();
    fill(d);
    CHECK_EQ(d.exec(0, format(0)).status, kOk);
    CHECK(empty(d));
    CHECK(onMedium(nand) > kBlocks);
    /* What was deallocated before is erased all the same. */
    CHECK_EQ(d.exec(0, format(kErase)).status, kOk);
    CHECK_EQ(onMedium(nand), 0u);
}

TEST(format_cut_short) {
    uint32_t before = 0, after = 0;
    uint64_t takes = UINT64_MAX; /* cycles, as the first round shows */
    for (uint32_t round = 0; round < 24; round++) {
        Nand nand(kSmall);
        std::mt19937 rng(seed * 100 + round);
        bool ended = false;
        {
            Drive d(nand, 1, static_cast<uint32_t>(rng()));
            d.start();
            fill(d);
            d.settle();
            uint64_t start = d.dev.now;
            if (round > 0) {
                /* Half of the cuts in the first quarter, where the drive is still the old one. */
                d.dev.cutAt = start + takes * (round % 2 ? 4 : 1) / 4 * (rng() % 1000) / 1000;
            }
            try {
                d.exec(0, format(kErase));
                ended = true;
                takes = d.dev.now - start;
            } catch (const model::PowerCut &) {
                d.dev.tearInFlight();
            }
        }
        Drive d(nand, 1, static_cast<uint32_t>(rng()));
        d.start();
        bool gone = empty(d);
        CHECK(gone || !ended);
        (gone ? after : before) += 1;
        /* The command did not complete, so the host repeats it. */
        CHECK_EQ(d.exec(0, format(kErase)).status, kOk);
        CHECK_EQ(onMedium(nand), 0u);
        CHECK_EQ(d.write(9, pattern(9, 2, 32)).status, kOk);
    }
    CHECK(before > 2 && after > 2);
}

TEST(format_goes_on_over_a_reset) {
    Nand nand(kSmall);
    Drive d(nand, 1, seed);
    d.start();
    fill(d);
    d.submit(0, format(kErase));
    uint64_t erases = nand.erases;
    d.run([&] { return nand.erases > erases + 4; });
    /* The reset does not wait for it. */
    d.dev.hostWriteCc(0);
    d.start();
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(0, 1, &got).status, 0x84);
    d.settle();
    CHECK_EQ(onMedium(nand), 0u);
    CHECK(empty(d));
    CHECK_EQ(d.write(9, pattern(9, 2, 32)).status, kOk);
}

TEST(format_tells_of_blocks_it_cannot_erase) {
    Nand nand(kSmall);
    {
        Drive d(nand, 1, seed);
        d.start();
        fill(d);
        d.dev.faults.erase = 0.05;
        uint32_t retired = 0;
        while (d.exec(0, format(kErase)).status == kOk) {
            CHECK(++retired < 100);
        }
        d.dev.faults = {};
        CHECK(d.dev.console.find("may hold old data") != std::string::npos);
        CHECK_EQ(d.write(9, pattern(9, 2, 32)).status, kOk);
    }
    Drive d(nand, 1, seed);
    d.start();
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(9, 32, &got).status, kOk);
    CHECK(got == pattern(9, 2, 32));
}

TEST(format_does_not_hold_up_a_shutdown) {
    Nand nand(kSmall);
    {
        Drive d(nand, 1, seed);
        d.start();
        fill(d);
        uint16_t cid = d.submit(0, format(kErase));
        uint64_t erases = nand.erases;
        d.run([&] { return nand.erases > erases + 12; });
        erases = nand.erases;
        d.shutdown();
        /* The superblock under way, and those of a checkpoint. */
        CHECK(nand.erases - erases <= 16u);
        CHECK_EQ(d.wait(0, cid).status, kAborted);
        CHECK(onMedium(nand) > 0);
    }
    Drive d(nand, 1, seed);
    d.start();
    CHECK(empty(d));
    CHECK_EQ(d.exec(0, format(kErase)).status, kOk);
    CHECK_EQ(onMedium(nand), 0u);
}
