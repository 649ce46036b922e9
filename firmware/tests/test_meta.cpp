// SPDX-License-Identifier: BSD-3-Clause
/* Metadata lie on two dies, and root records find another block when one fails: no single page, block or die takes the
 * drive along. */
#include "tests/harness.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

const Geometry kSmall{2, 2, 1, 1, 16, 32};
/** Root blocks of few pages: records go from block to block. */
const Geometry kShort{2, 2, 1, 1, 32, 8};
constexpr uint32_t kRoot = 0xfffffffd, kTable = 0xfffffffc;
constexpr char kUnreadable[] = "no namespace: metadata that the newest root record names cannot be read";

bool isMeta(uint32_t tag) {
    return tag >> 28 == 0xe || (tag >> 28 == 0xf && tag <= kTable);
}

bool says(const Drive &d, const std::string &text) {
    return d.dev.console.find(text) != std::string::npos;
}

uint16_t flush(Drive &d) {
    return d.exec(1, Drive::sqe(0x00, 1)).status;
}

unsigned dieOf(const Nand &nand, uint32_t key) {
    assasin::NandAddress at = nand.address(key);
    return at.channel + nand.geo.channels * (at.way + nand.geo.ways * at.lun);
}

uint32_t superblockOf(const Nand &nand, uint32_t key) {
    return nand.address(key).block / nand.geo.planes;
}

/** Versions that were acknowledged, by block. */
using Written = std::map<uint32_t, uint32_t>;

void put(Drive &d, Written &w, uint32_t lba, uint32_t version) {
    CHECK_EQ(d.write(lba, pattern(lba, version)).status, kOk);
    w[lba] = version;
}

/** Returns how many blocks read with an error where that is allowed. */
uint32_t verify(Drive &d, const Written &w, bool lossy = false) {
    uint32_t errors = 0;
    std::vector<uint8_t> got;
    for (auto [lba, version] : w) {
        uint16_t status = d.read(lba, 1, &got).status;
        if (lossy && status == kReadError) {
            errors++;
            continue;
        }
        CHECK_EQ(status, kOk);
        CHECK(got == pattern(lba, version));
    }
    return errors;
}

/** A medium with data and some checkpoints. */
Written prepare(Nand &nand, uint32_t seed, bool off) {
    Written w;
    Drive d(nand, 1, seed);
    d.start();
    for (uint32_t i = 0; i < 120; i++) {
        put(d, w, i * 97 % d.capacity(), i + 1);
        if (i % 40 == 39) {
            CHECK_EQ(flush(d), kOk);
        }
    }
    if (off) {
        d.shutdown();
    } else {
        CHECK_EQ(flush(d), kOk);
    }
    return w;
}

std::map<uint32_t, uint32_t> tags(const Nand &nand, const std::function<bool(uint32_t)> &is) {
    std::map<uint32_t, uint32_t> all;
    for (const auto &[key, page] : nand.pages()) {
        if (is(page.oob0)) {
            all[key] = page.oob0;
        }
    }
    return all;
}

model::Faults unreadable(std::set<uint32_t> keys) {
    model::Faults f;
    f.readOf = [keys = std::move(keys)](uint32_t key) { return keys.count(key) != 0; };
    return f;
}

/** Nothing of the dies of `dead` works. */
model::Faults deadDies(const Nand &nand, std::set<unsigned> dead) {
    model::Faults f;
    f.readOf = [&nand, dead](uint32_t key) { return dead.count(dieOf(nand, key)) != 0; };
    f.eraseOf = f.readOf;
    f.programOf = [of = f.readOf](uint32_t key, uint32_t) { return of(key); };
    return f;
}

} // namespace

TEST(meta_two_copies_on_two_dies) {
    for (const Geometry &g :
         {kSmall, Geometry{1, 2, 1, 1, 32, 16}, Geometry{3, 1, 1, 1, 32, 16}, Geometry{1, 1, 2, 2, 32, 16},
          Geometry{1, 1, 1, 2, 32, 32}, Geometry{1, 1, 1, 1, 64, 32}}) {
        Nand nand(g);
        prepare(nand, seed, true);
        bool one = g.channels * g.ways * g.luns == 1;
        /* What is told apart: dies, or blocks where there is one die. */
        auto place = [&](uint32_t key) { return one ? key >> nand.pageBits() : dieOf(nand, key); };
        std::map<std::pair<uint32_t, uint32_t>, std::set<uint32_t>> places;
        std::map<std::pair<uint32_t, uint32_t>, uint32_t> copies;
        for (const auto &[key, page] : nand.pages()) {
            if (page.oob0 == kRoot || (isMeta(page.oob0) && page.oob0 != kTable)) {
                auto id = std::make_pair(page.oob0, page.oob0 == kRoot ? page.oob1 : 0);
                places[id].insert(place(key));
                copies[id]++;
            }
        }
        CHECK(copies.size() > 3);
        for (const auto &[id, count] : copies) {
            CHECK_EQ(count % 2, 0u);
            CHECK(places[id].size() >= 2);
        }
    }
}

TEST(meta_one_page_unreadable) {
    /* Each page of metadata in turn: the drive has all of its data, and writes the page again. */
    for (bool off : {false, true}) {
        Nand nand(kSmall);
        Written w = prepare(nand, seed, off);
        uint32_t rescued = 0;
        auto all = tags(nand, [](uint32_t tag) { return isMeta(tag) || tag == kRoot; });
        for (auto [key, tag] : all) {
            Nand copy = nand;
            Written now = w;
            bool second;
            {
                Drive d(copy, 1, seed, 0, {}, {}, unreadable({key}));
                second = says(d, "were had from their second copies only");
                d.start();
                verify(d, now);
                put(d, now, 5, 9000);
                CHECK_EQ(flush(d), kOk);
            }
            rescued += second;
            if (second && tag != kTable) {
                /* Nothing needs what was there before any more. */
                std::set<uint32_t> old;
                for (auto [other, of] : all) {
                    if (of == tag) {
                        old.insert(other);
                    }
                }
                Drive d(copy, 1, seed + 1, 0, {}, {}, unreadable(old));
                CHECK(!says(d, "no namespace"));
                d.start();
                verify(d, now);
            }
        }
        CHECK(rescued >= 3);
    }
}

TEST(meta_rescued_page_is_written_again) {
    Nand nand(kSmall);
    Written w = prepare(nand, seed, true);
    auto old = tags(nand, isMeta);
    std::set<uint32_t> half, whole;
    for (auto [key, tag] : old) {
        whole.insert(key);
        /* The copy that is named, on the other half of the dies each other page. */
        if ((dieOf(nand, key) >= 2) == (nand.address(key).page % 2 != 0)) {
            half.insert(key);
        }
    }
    {
        Drive d(nand, 1, seed, 0, {}, {}, unreadable(half));
        CHECK(says(d, "were had from their second copies only"));
        d.start();
        verify(d, w);
    }
    Drive d(nand, 1, seed, 0, {}, {}, unreadable(whole));
    CHECK(!says(d, "no namespace"));
    d.start();
    verify(d, w);
}

TEST(meta_page_read_with_difficulty_is_written_again) {
    Nand nand(kSmall);
    Written w = prepare(nand, seed, true);
    auto old = tags(nand, isMeta);
    std::set<uint32_t> all, failed;
    for (auto [key, tag] : old) {
        all.insert(key);
    }
    {
        model::Faults once;
        once.readOf = [&](uint32_t key) { return all.count(key) != 0 && failed.insert(key).second; };
        Drive d(nand, 1, seed, 0, {}, {}, once);
        CHECK(says(d, "clean medium"));
        CHECK(!failed.empty());
        d.start();
        put(d, w, d.capacity() - 1, 9000);
        CHECK_EQ(flush(d), kOk);
    }
    Drive d(nand, 1, seed, 0, {}, {}, unreadable(all));
    CHECK(!says(d, "no namespace"));
    d.start();
    verify(d, w);
}

TEST(meta_of_a_die_unreadable) {
    for (const Geometry &g : {kSmall, Geometry{1, 2, 1, 1, 32, 16}, Geometry{1, 1, 2, 2, 32, 16}}) {
        Nand nand(g);
        Written w = prepare(nand, seed, true);
        auto all = tags(nand, [](uint32_t tag) { return isMeta(tag) || tag == kRoot; });
        for (unsigned die = 0; die < g.channels * g.ways * g.luns; die++) {
            std::set<uint32_t> keys;
            for (auto [key, tag] : all) {
                if (dieOf(nand, key) == die) {
                    keys.insert(key);
                }
            }
            CHECK(!keys.empty());
            Nand copy = nand;
            Written now = w;
            {
                Drive d(copy, 1, seed, 0, {}, {}, unreadable(keys));
                d.start();
                verify(d, now);
                for (uint32_t i = 0; i < 50; i++) {
                    put(d, now, i * 3, 9000 + i);
                }
                CHECK_EQ(flush(d), kOk);
                d.shutdown();
            }
            Drive d(copy, 1, seed + 1);
            d.start();
            verify(d, now);
        }
    }
}

TEST(meta_both_copies_unreadable) {
    Nand nand(kSmall);
    Written w = prepare(nand, seed, true);
    auto all = tags(nand, isMeta);
    std::set<uint32_t> kinds;
    for (auto [key, tag] : all) {
        kinds.insert(tag);
    }
    for (uint32_t kind : kinds) {
        std::set<uint32_t> keys;
        for (auto [key, tag] : all) {
            if (tag == kind) {
                keys.insert(key);
            }
        }
        uint64_t programs = nand.programs, erases = nand.erases;
        {
            Drive d(nand, 1, seed, 0, {}, {}, unreadable(keys));
            CHECK(says(d, kUnreadable));
            d.start();
            std::vector<uint8_t> got;
            CHECK(d.read(1, 1, &got).status != kOk);
            CHECK(d.write(1, pattern(1, 1)).status != kOk);
            d.shutdown();
        }
        CHECK_EQ(nand.programs, programs);
        CHECK_EQ(nand.erases, erases);
    }
    Drive d(nand, 1, seed);
    d.start();
    verify(d, w);
}

TEST(meta_old_copies_are_not_taken) {
    /* A block that is not erased keeps copies of an earlier use of the area, with the same tags at the same places.
     * When the newest ones cannot be read, the drive says so. */
    Nand nand(kSmall);
    Written w = prepare(nand, seed, true);
    Nand copy = nand;
    std::set<uint32_t> firsts;
    for (auto [key, tag] : tags(nand, isMeta)) {
        if (dieOf(nand, key) < 2) {
            firsts.insert(key);
        } else {
            model::Page page = nand.page(key);
            page.oob1--;
            copy.put(key, page);
        }
    }
    {
        Drive d(copy, 1, seed, 0, {}, {}, unreadable(firsts));
        CHECK(says(d, kUnreadable));
    }
    Drive d(copy, 1, seed);
    d.start();
    verify(d, w);
}

TEST(meta_mount_with_a_dead_die) {
    for (const Geometry &g : {kSmall, Geometry{1, 2, 1, 1, 40, 16}, Geometry{2, 1, 2, 2, 24, 16}}) {
        for (unsigned die = 0; die < g.channels * g.ways * g.luns; die++) {
            Nand nand(g);
            Written w = prepare(nand, seed, die % 2 == 0);
            model::Faults dead = deadDies(nand, {die});
            Written now;
            {
                Drive d(nand, 1, seed, 0, {}, {}, dead);
                CHECK(!says(d, "no namespace"));
                d.start();
                uint32_t errors = verify(d, w, true);
                CHECK(errors < w.size() * 3 / 4);
                for (uint32_t i = 0; i < 800; i++) {
                    put(d, now, i % 200, 5000 + i);
                    if (i % 100 == 99) {
                        CHECK_EQ(flush(d), kOk);
                    }
                }
                verify(d, now);
                if (die % 2) {
                    d.shutdown();
                }
            }
            Drive d(nand, 1, seed, 0, {}, {}, dead);
            CHECK(!says(d, "no namespace") && !says(d, "read only"));
            d.start();
            verify(d, now);
            put(d, now, 3, 1);
            CHECK_EQ(flush(d), kOk);
            verify(d, now);
        }
    }
}

TEST(meta_die_dies_while_roots_are_written) {
    /* At every few programs: what is acknowledged from then on is there after a power cycle. */
    for (unsigned die = 0; die < 4; die++) {
        for (uint32_t after = 0; after < 60; after += 7) {
            Nand nand(kShort);
            Written w, later;
            uint32_t programs = 0;
            bool dead = false;
            model::Faults of = deadDies(nand, {die}), f;
            f.programOf = [&](uint32_t key, uint32_t tag) {
                dead |= tag == kRoot && programs++ >= after;
                return dead && of.programOf(key, tag);
            };
            f.eraseOf = [&](uint32_t key) { return dead && of.eraseOf(key); };
            f.readOf = [&](uint32_t key) { return dead && of.readOf(key); };
            {
                Drive d(nand, 1, seed, 0, {}, {}, f);
                d.start();
                for (uint32_t i = 0; i < 60; i++) {
                    put(d, dead ? later : w, i, i + 1);
                    CHECK_EQ(flush(d), kOk);
                }
                CHECK(dead);
            }
            Drive d(nand, 1, seed, 0, {}, {}, f);
            CHECK(!says(d, "no namespace") && !says(d, "read only"));
            d.start();
            for (auto [lba, version] : later) {
                w.erase(lba);
            }
            verify(d, later);
            verify(d, w, true);
        }
    }
}

TEST(meta_die_dies_at_rest) {
    /* Whichever records are on it, and nothing is written since: the newest one is on another die. */
    for (unsigned die = 0; die < 4; die++) {
        for (uint32_t flushes : {1u, 12u, 25u}) {
            Nand nand(kShort);
            Written w;
            {
                Drive d(nand, 1, seed);
                d.start();
                for (uint32_t i = 0; i < flushes; i++) {
                    put(d, w, i % 8, i + 1);
                    CHECK_EQ(flush(d), kOk);
                }
            }
            Drive d(nand, 1, seed, 0, {}, {}, deadDies(nand, {die}));
            CHECK(!says(d, "no namespace") && !says(d, "read only"));
            CHECK(says(d, "recovered 0 pages"));
            d.start();
            CHECK(verify(d, w, true) < w.size() || w.size() < 4);
        }
    }
}

TEST(meta_last_block_with_the_newest_root_is_not_erased) {
    /* Two candidates are left, and the one that is written anew fails: the other one stays as it is. */
    Nand nand(kShort);
    Written w;
    uint32_t programs = 0, last = 0;
    model::Faults f;
    f.eraseOf = [&](uint32_t key) {
        last += programs > 8 && superblockOf(nand, key) == 0 && dieOf(nand, key) == 1;
        return superblockOf(nand, key) == 0 && dieOf(nand, key) >= 2;
    };
    f.programOf = [&](uint32_t key, uint32_t tag) { return tag == kRoot && dieOf(nand, key) == 0 && ++programs > 8; };
    {
        Drive d(nand, 1, seed, 0, {}, {}, f);
        d.start();
        for (uint32_t i = 0; i < 100; i++) {
            CHECK_EQ(d.write(i % 20, pattern(i % 20, i + 1)).status, kOk);
            if (flush(d) != kOk) {
                break;
            }
            w[i % 20] = i + 1;
        }
        CHECK(programs > 8);
        CHECK(says(d, "read only until the next power-on"));
        CHECK_EQ(last, 0u);
    }
    Drive d(nand, 1, seed + 1);
    CHECK(!says(d, "no namespace"));
    d.start();
    for (auto [lba, version] : w) {
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(lba, 1, &got).status, kOk);
        CHECK(got == pattern(lba, version) || got == pattern(lba, version + 20));
    }
}

TEST(meta_root_blocks_fail_one_after_the_other) {
    for (bool erase : {false, true}) {
        Nand nand(kShort);
        Written w;
        std::set<unsigned> bad;
        model::Faults f;
        auto fails = [&](uint32_t key) { return superblockOf(nand, key) == 0 && bad.count(dieOf(nand, key)) != 0; };
        if (erase) {
            f.eraseOf = fails;
        } else {
            f.programOf = [&](uint32_t key, uint32_t) { return fails(key); };
        }
        {
            Drive d(nand, 1, seed, 0, {}, {}, f);
            d.start();
            uint32_t version = 0;
            for (unsigned die : {1u, 2u}) {
                bad.insert(die);
                for (uint32_t i = 0; i < 50; i++) {
                    put(d, w, i, ++version);
                    CHECK_EQ(flush(d), kOk);
                }
                CHECK(says(d, "is left out: " + std::string(erase ? "it was not erased" : "it takes no records")));
            }
            d.shutdown();
        }
        {
            /* Those that failed are known: nothing is in doubt. */
            Drive d(nand, 1, seed, 0, {}, {}, f);
            CHECK(says(d, "clean medium"));
            d.start();
            verify(d, w);
            /* One is left: it takes records until it is full. */
            bad.insert(3);
            uint16_t status = kOk;
            for (uint32_t i = 0; i < 200 && status == kOk; i++) {
                uint32_t lba = i % 40;
                if (d.write(lba, pattern(lba, 7000 + i)).status != kOk) {
                    break;
                }
                status = flush(d);
                w[lba] = 7000 + i;
            }
            CHECK(says(d, "read only until the next power-on"));
            verify(d, w);
        }
        Drive d(nand, 1, seed, 0, {}, {}, f);
        CHECK(!says(d, "no namespace"));
        d.start();
        verify(d, w);
    }
}

TEST(meta_power_cuts_while_roots_move) {
    uint32_t cuts = 0;
    uint64_t whole = 0;
    for (uint32_t step = 0; step < 60; step++) {
        Nand nand(kShort);
        Written w, newest;
        bool fails = step % 3 == 2;
        model::Faults f;
        f.eraseOf = [&](uint32_t key) { return fails && superblockOf(nand, key) == 0 && dieOf(nand, key) == 2; };
        try {
            Drive d(nand, 1, seed + step, 0, {}, {}, f);
            d.start();
            uint64_t begin = d.dev.now;
            d.dev.cutAt = step == 0 ? UINT64_MAX : begin + whole * step / 60;
            try {
                for (uint32_t i = 0; i < 40; i++) {
                    newest[i % 20] = i + 1;
                    put(d, w, i % 20, i + 1);
                    CHECK_EQ(flush(d), kOk);
                }
                whole = step == 0 ? d.dev.now - begin : whole;
            } catch (const model::PowerCut &) {
                d.dev.tearInFlight();
                cuts++;
            }
        } catch (const model::PowerCut &) {
            model::current = nullptr;
        }
        for (uint32_t boot = 0; boot < 2; boot++) {
            Drive d(nand, 1, seed + step + 100 + boot, 0, {}, {}, f);
            CHECK(!says(d, "no namespace") && !says(d, "read only"));
            d.start();
            std::vector<uint8_t> got;
            for (auto [lba, version] : newest) {
                CHECK_EQ(d.read(lba, 1, &got).status, kOk);
                CHECK(got == pattern(lba, version) || got == pattern(lba, w.count(lba) ? w[lba] : 0));
            }
            put(d, w, 30, step + boot + 1);
            CHECK_EQ(flush(d), kOk);
        }
    }
    CHECK(cuts > 40);
}

TEST(meta_format_with_bad_root_blocks) {
    for (unsigned mask = 1; mask < 16; mask++) {
        Nand nand(kSmall);
        /* Used before: what the blocks hold that are not erased is older. */
        prepare(nand, seed, mask % 2 == 0);
        model::Faults f;
        f.eraseOf = [&](uint32_t key) { return superblockOf(nand, key) == 0 && (mask >> dieOf(nand, key) & 1) != 0; };
        Written w;
        {
            Drive d(nand, 1, seed, 1u << SYS_BOOT_ARG_FORMAT_SHIFT, {}, {}, f);
            if (mask == 15) {
                CHECK(says(d, "no namespace: no root block can be erased"));
                continue;
            }
            d.start();
            for (uint32_t i = 0; i < 20; i++) {
                put(d, w, i, 3000 + i);
            }
            CHECK_EQ(flush(d), kOk);
            d.shutdown();
        }
        Drive d(nand, 1, seed + 1, 0, {}, {}, f);
        CHECK(says(d, "clean medium"));
        d.start();
        verify(d, w);
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(1003, 1, &got).status, kOk);
        CHECK(got == pattern(0, 0));
    }
}
