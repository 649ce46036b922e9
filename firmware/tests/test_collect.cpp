// SPDX-License-Identifier: BSD-3-Clause
/* Collection: a full drive takes overwrites for ever, at what cost, and what a power loss in the middle leaves. */
#include "platform/dram.h"
#include "tests/admin.h"

#include <algorithm>
#include <array>

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

const Geometry kSmall{2, 2, 1, 1, 16, 32};
const Geometry kSectors{2, 2, 1, 1, 16, 16, 16384, 2208};
const Geometry kPlanes{2, 1, 2, 2, 16, 16, 16384, 2208};

/** A medium and what every block of it must hold. */
struct Used {
    Used(const Geometry &g, uint32_t seed) : nand(g), rng(seed) {
    }
    Nand nand;
    std::mt19937 rng;
    std::vector<uint32_t> versions;
    uint32_t version = 0;

    void start(Drive &d) {
        d.start();
        versions.resize(d.capacity());
    }
    void write(Drive &d, uint32_t lba) {
        CHECK_EQ(d.write(lba, pattern(lba, ++version)).status, kOk);
        versions[lba] = version;
    }
    void fill(Drive &d) {
        for (uint32_t lba = 0; lba < versions.size(); lba++) {
            write(d, lba);
        }
    }
    uint32_t any() {
        return static_cast<uint32_t>(rng() % versions.size());
    }
    void verify(Drive &d) {
        std::vector<uint8_t> got;
        for (uint32_t lba = 0; lba < versions.size(); lba++) {
            CHECK_EQ(d.read(lba, 1, &got).status, kOk);
            CHECK(got == pattern(lba, versions[lba]));
        }
    }
};

/** Ten times the capacity at random on a full drive, then everything is there, also after a clean start. */
void overwrite(const Geometry &g, uint32_t seed, uint32_t times) {
    Used u(g, seed);
    std::optional<Drive> d(std::in_place, u.nand, 1, seed);
    u.start(*d);
    u.fill(*d);
    for (uint64_t i = 0; i < uint64_t{times} * u.versions.size(); i++) {
        u.write(*d, u.any());
    }
    u.verify(*d);
    d->shutdown();
    d.emplace(u.nand, 1, seed);
    u.start(*d);
    u.verify(*d);
    u.write(*d, 3);
}

} // namespace

TEST(collect_takes_overwrites_for_ever) {
    overwrite(kSmall, seed, 10);
}

TEST(collect_takes_overwrites_for_ever_sectors) {
    overwrite(kSectors, seed, 4);
}

TEST(collect_takes_overwrites_for_ever_planes) {
    overwrite(kPlanes, seed, 4);
}

TEST(collect_survives_power_cuts) {
    /* Power goes at any moment of overwriting a full drive: every block reads as the last write that ended, or the one
     * under way. */
    for (const Geometry &g : {kSmall, kSectors}) {
        Used u(g, seed);
        std::optional<Drive> d(std::in_place, u.nand, 1, seed);
        u.start(*d);
        u.fill(*d);
        for (uint32_t cut = 0; cut < 25; cut++) {
            uint32_t n = static_cast<uint32_t>(u.rng() % 300);
            for (uint32_t i = 0; i < n; i++) {
                uint32_t lba = u.any();
                auto data = pattern(lba, ++u.version);
                Buffer b = d->buffer(4096);
                d->put(b, data.data());
                Sqe s = Drive::sqe(0x01, 1);
                Drive::setPrp(s, b);
                s[10] = lba;
                s[12] = 1u << 30; /* FUA */
                CHECK_EQ(d->exec(1, s).status, kOk);
                u.versions[lba] = u.version;
            }
            d.reset();
            d.emplace(u.nand, 1, seed + cut);
            u.start(*d);
            u.verify(*d);
        }
    }
}

TEST(collect_gives_up_what_cannot_be_read) {
    /* A sector of a victim that cannot be read: its block is lost and says so, also after a power loss, until it is
     * written again; all others are there, and the superblock comes back. */
    Used u(kSmall, seed);
    std::optional<Drive> d(std::in_place, u.nand, 1, seed);
    u.start(*d);
    u.fill(*d);
    uint32_t bad = 0;
    for (auto &[key, page] : u.nand.pages()) {
        bad = page.oob0 == 5 ? key : bad;
    }
    CHECK(bad != 0);
    d->dev.faults.readOf = [&](uint32_t key) { return key == bad; };
    for (uint32_t i = 0; d->dev.console.find("ftl: block 5 at ") == std::string::npos; i++) {
        CHECK(i < 20'000);
        uint32_t lba = u.any();
        u.write(*d, lba == 5 ? 6 : lba);
    }
    d->dev.faults = {};
    /* The sector that says so is older than the log, as every copy is, and not by more than the medium holds: a mount
     * that finds it in a superblock that was written again could take it for the log's. */
    uint32_t newest = 0;
    for (auto &[key, page] : u.nand.pages()) {
        if (page.oob0 < u.versions.size() && (newest == 0 || static_cast<int32_t>(page.oob1 - newest) > 0)) {
            newest = page.oob1;
        }
    }
    uint32_t said = 0;
    for (uint32_t i = 0; i < 500; i++) {
        uint32_t lba = u.any();
        u.write(*d, lba == 5 ? 6 : lba);
        for (auto &[key, page] : i < 50 ? u.nand.pages() : std::map<uint32_t, model::Page>{}) {
            if (page.oob0 == 0x80000005) {
                CHECK(static_cast<int32_t>(newest - page.oob1) > 0);
                CHECK(newest - page.oob1 < 2 * 16 * 128);
                said++;
            }
        }
    }
    CHECK(said > 0);
    std::vector<uint8_t> got;
    for (uint32_t life = 0; life < 3; life++) {
        CHECK_EQ(d->read(5, 1, &got).status, kReadError);
        d.reset();
        d.emplace(u.nand, 1, seed + life);
        u.start(*d);
    }
    u.write(*d, 5);
    u.verify(*d);
}

TEST(collect_keeps_what_cannot_be_programmed) {
    /* No program of block 5's sector goes well: its superblock keeps it and is not emptied again and again, or a block
     * would go bad each time. */
    Used u(Geometry{2, 4, 2, 1, 48, 8}, seed);
    Drive d(u.nand, 1, seed);
    u.start(d);
    /* Room for the blocks that go bad. */
    u.versions.resize(d.capacity() / 2);
    u.fill(d);
    uint32_t failed = 0;
    d.dev.faults.programOf = [&](uint32_t, uint32_t tag) {
        failed += tag == 5;
        return tag == 5;
    };
    for (uint32_t i = 0; i < 6 * u.versions.size(); i++) {
        uint32_t lba = u.any();
        u.write(d, lba == 5 ? 6 : lba);
    }
    printf("  %u programs failed\n", failed);
    CHECK(failed > 0);
    CHECK(failed <= 32);
    u.verify(d);
    /* When it is written, its superblock becomes free like others. */
    d.dev.faults = {};
    u.write(d, 5);
    for (uint32_t i = 0; i < u.versions.size(); i++) {
        u.write(d, u.any());
    }
    u.verify(d);
}

TEST(collect_ends_without_root_records) {
    /* No root record can be written from some moment on: every command ends, whatever waits to be listed. */
    Used u(kSmall, seed);
    std::optional<Drive> first(std::in_place, u.nand, 1, seed);
    u.start(*first);
    u.fill(*first);
    first.reset();
    for (uint32_t moment = 0; moment < 40; moment++) {
        Nand nand(u.nand);
        Drive d(nand, 1, seed + moment);
        d.start();
        for (uint32_t i = 0; i < moment * 7; i++) {
            uint32_t lba = u.any();
            CHECK_EQ(d.write(lba, pattern(lba, 1)).status, kOk);
        }
        d.dev.faults.programOf = [](uint32_t, uint32_t tag) { return tag == 0xfffffffd; };
        std::array<uint16_t, 8> cids;
        uint16_t status = kOk;
        for (uint32_t i = 0; status == kOk && i < 10'000; i++) {
            for (uint16_t &cid : cids) {
                Sqe s = admin::blocks(0x01, u.any(), 1);
                Drive::setPrp(s, d.buffer(4096));
                cid = d.submit(1, s);
            }
            for (uint16_t cid : cids) {
                uint16_t ended = d.wait(1, cid).status;
                status = ended != kOk ? ended : status;
            }
        }
        CHECK(status != kOk);
        CHECK(d.trim(3, 1).status != kOk);
        CHECK(d.exec(1, Drive::sqe(0x00, 1)).status != kOk);
    }
}

TEST(collect_leaves_no_copies_behind_an_erase) {
    /* Sectors that were moved do not stay in the DRAM when Format erases all user data. */
    Used u(kSmall, seed);
    Drive d(u.nand, 1, seed);
    u.start(d);
    u.fill(d);
    for (uint32_t i = 0; i < u.versions.size(); i++) {
        u.write(d, u.any());
    }
    auto words = [&] {
        uint32_t n = 0;
        for (uint32_t at = 0; at < DRAM_COPIES_SIZE; at += 4) {
            n += d.dev.dramRead(DRAM_COPIES + at) != 0;
        }
        return n;
    };
    CHECK(words() > 0);
    Sqe s = Drive::sqe(0x80, 1);
    s[10] = 1 << 9;
    CHECK_EQ(d.exec(0, s).status, kOk);
    CHECK_EQ(words(), 0u);
}

TEST(collect_weak_copies_do_not_replace_their_originals) {
    /* A copy that was on its way when power went reads well at the mount and fades soon. What it is of is still there.
     */
    uint32_t copies = 0, cuts = 0;
    Used u(kSmall, seed);
    {
        /* With little to spare there is much to copy. */
        Drive d(u.nand, 1, seed, 0, {}, {}, {}, UINT64_MAX, Loaded{0, 0, 2});
        u.start(d);
        u.fill(d);
        for (uint32_t i = 0; i < 2 * u.versions.size(); i++) {
            u.write(d, u.any());
        }
        d.shutdown();
    }
    for (uint32_t i = 0; i < 40; i++) {
        Used now = u;
        uint32_t under_way = UINT32_MAX;
        {
            Drive d(now.nand, 1, seed + i);
            now.start(d);
            d.dev.tearAs = model::Tear::Weak;
            try {
                for (uint32_t n = 0;; n++) {
                    d.dev.cutAt = n == 200 ? d.dev.now + now.rng() % 50'000 : d.dev.cutAt;
                    under_way = now.any();
                    now.write(d, under_way);
                }
            } catch (const model::PowerCut &) {
                d.dev.tearInFlight();
                cuts++;
            }
            for (const auto &[key, page] : now.nand.pages()) {
                assasin::NandAddress at = now.nand.address(key);
                auto &image = now.nand.cells().image();
                bool weak =
                    image.page({at.channel, at.way, at.lun, at.block}, at.page).state == assasin::NandImage::kWeak;
                copies += weak && page.oob0 < now.versions.size() && page.oob0 != under_way;
            }
        }
        {
            Drive d(now.nand, 1, seed + i + 100);
            CHECK(d.dev.console.find("no namespace") == std::string::npos);
        }
        now.nand.cells().age(100);
        Drive d(now.nand, 1, seed + i + 200);
        now.start(d);
        std::vector<uint8_t> got;
        for (uint32_t lba = 0; lba < now.versions.size(); lba++) {
            if (lba == under_way) {
                continue;
            }
            CHECK_EQ(d.read(lba, 1, &got).status, kOk);
            CHECK(got == pattern(lba, now.versions[lba]));
        }
    }
    CHECK_EQ(cuts, 40u);
    printf("  %u weak copies\n", copies);
    CHECK(copies > 10);
}
