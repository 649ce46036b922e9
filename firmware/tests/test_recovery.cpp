// SPDX-License-Identifier: BSD-3-Clause
/* What must hold whatever fails and whenever power goes: the newest checkpoint stays readable, nothing unreadable is
 * used, a mount and a shutdown have an end, and a long queue needs no deep stack. */
#include "tests/scomp.h"

#include <algorithm>
#include <cstdio>
#include <set>

using namespace harness;
using model::Geometry;
using model::Nand;
using model::Tear;

namespace {

const Geometry kSmall{2, 2, 1, 1, 16, 32, 4096, 224};
constexpr uint32_t kRoot = 0xfffffffd, kTable = 0xfffffffc, kTrim = 0xfffffffe;
constexpr uint32_t kRead = 0x02, kWrite = 0x01, kFlush = 0x00;

uint16_t flush(Drive &d) {
    return d.exec(1, Drive::sqe(kFlush, 1)).status;
}

bool says(const Drive &d, const std::string &text) {
    return d.dev.console.find(text) != std::string::npos;
}

bool isDir(uint32_t tag) {
    return tag >> 28 == 0xe;
}
bool isMap(uint32_t tag) {
    return tag >> 28 == 0xf && tag < kTable;
}
bool isMeta(uint32_t tag) {
    return isDir(tag) || isMap(tag) || tag == kTable;
}

/** Versions that were acknowledged, by block. */
using Written = std::map<uint32_t, uint32_t>;

void put(Drive &d, Written &w, uint32_t lba, uint32_t version) {
    CHECK_EQ(d.write(lba, pattern(lba, version)).status, kOk);
    w[lba] = version;
}

void verify(Drive &d, const Written &w) {
    std::vector<uint8_t> got;
    for (auto [lba, version] : w) {
        CHECK_EQ(d.read(lba, 1, &got).status, kOk);
        CHECK(got == pattern(lba, version));
    }
}

/** Read everything back, write, flush and shut down, and read it after one more boot. */
void goesOn(Nand &nand, Written w, uint32_t seed) {
    {
        Drive d(nand, 1, seed);
        CHECK(says(d, "drive: ") && !says(d, "no namespace"));
        d.start();
        verify(d, w);
        for (uint32_t lba = 0; lba < 20; lba++) {
            put(d, w, lba, 900'000 + lba);
        }
        CHECK_EQ(flush(d), kOk);
        put(d, w, 3, 900'100);
        CHECK_EQ(flush(d), kOk);
        d.shutdown();
    }
    Drive d(nand, 1, seed + 1);
    /* Behind the newest root record, or in the other block, may be what looks like a newer one: then the log is looked
     * at. */
    CHECK(says(d, "clean medium") || says(d, "recovered 0 pages"));
    d.start();
    verify(d, w);
}

/** Page address bits of a superblock's number. */
uint32_t superblockOf(const Nand &nand, uint32_t key) {
    return (key & ((1u << nand.lunShift()) - 1)) >> nand.pageBits() >> (nand.geo.planes > 1 ? 1 : 0);
}

/** Keys of the pages with a tag that `is` likes, the oldest content included. */
template <typename F> std::set<uint32_t> keys(const Nand &nand, F is) {
    std::set<uint32_t> all;
    for (auto &[key, page] : nand.pages()) {
        if (is(page.oob0)) {
            all.insert(key);
        }
    }
    return all;
}

} // namespace

TEST(recovery_failed_checkpoint_keeps_the_newest_area) {
    /* Flushes until one has moved to the other area, then one that fails, then power goes in the next. */
    uint32_t cuts = 0;
    for (uint32_t cut = 1000; cut < 120'000; cut += 3000) {
        Nand nand(kSmall);
        Written w;
        try {
            Drive d(nand, 1, seed);
            d.start();
            for (uint32_t i = 0, moves = 0; moves < 2; i++) {
                put(d, w, i % 40, i + 1);
                uint64_t before = nand.erases;
                CHECK_EQ(flush(d), kOk);
                moves += nand.erases >= before + 4 && i > 3;
            }
            put(d, w, 7, 1'000'000 + cut);
            d.dev.faults.programOf = [](uint32_t, uint32_t tag) { return isMeta(tag); };
            CHECK_EQ(flush(d), kWriteFault);
            d.dev.faults = {};
            d.dev.cutAt = d.dev.now + cut;
            try {
                CHECK_EQ(flush(d), kOk);
            } catch (const model::PowerCut &) {
                d.dev.tearInFlight();
                cuts++;
            }
        } catch (const model::PowerCut &) {
        }
        goesOn(nand, w, seed);
    }
    CHECK(cuts > 3);
}

TEST(recovery_bad_page_of_an_area) {
    /* A page of each area fails whenever it is programmed: checkpoints go round it. */
    Nand nand(kSmall);
    Written w;
    {
        Drive d(nand, 1, seed);
        d.start();
        std::map<uint32_t, uint32_t> seen;
        std::set<uint32_t> bad;
        d.dev.faults.programOf = [&](uint32_t key, uint32_t tag) {
            if (isMeta(tag) && ++seen[superblockOf(nand, key)] == 3) {
                bad.insert(key);
            }
            return bad.count(key) != 0;
        };
        for (uint32_t i = 0; i < 150; i++) {
            put(d, w, i % 40, i + 1);
            CHECK_EQ(flush(d), kOk);
        }
        CHECK_EQ(bad.size(), 2u);
    }
    goesOn(nand, w, seed);
}

TEST(recovery_cut_in_a_shutdown_from_a_clean_root) {
    uint32_t cuts = 0;
    for (uint32_t cut = 500; cut < 12'000; cut += 250) {
        Nand nand(kSmall);
        Written w;
        {
            Drive d(nand, 1, seed);
            d.start();
            put(d, w, 5, 1);
            d.shutdown();
        }
        {
            Drive d(nand, 1, seed + 1);
            CHECK(says(d, "clean medium"));
            d.start();
            d.settle();
            d.dev.cutAt = d.dev.now + cut;
            try {
                d.shutdown();
            } catch (const model::PowerCut &) {
                d.dev.tearInFlight();
                cuts++;
            }
        }
        goesOn(nand, w, seed);
    }
    CHECK(cuts > 3);
}

TEST(recovery_root_block_that_cannot_be_erased) {
    Nand nand(kSmall);
    Written w;
    std::vector<uint32_t> erased;
    {
        Drive d(nand, 1, seed);
        d.start();
        d.dev.faults.eraseOf = [&](uint32_t key) {
            bool root = superblockOf(nand, key) == 0;
            if (root) {
                erased.push_back(key);
            }
            return root;
        };
        uint16_t status = kOk;
        uint32_t i = 0;
        for (; status == kOk && i < 200; i++) {
            put(d, w, i % 40, i + 1);
            status = flush(d);
        }
        CHECK_EQ(status, kWriteFault);
        verify(d, w);
        CHECK_EQ(flush(d), kWriteFault);
        CHECK_EQ(flush(d), kWriteFault);
        /* It has given up: reads go on, writes say so. */
        CHECK_EQ(d.write(2, pattern(2, 7)).status, kWriteFault);
        CHECK_EQ(d.trim(2, 1).status, kWriteFault);
        verify(d, w);
    }
    /* Each block once, but for the last one with the newest record. */
    CHECK_EQ(erased.size(), 3u);
    CHECK_EQ((std::set<uint32_t>(erased.begin(), erased.end()).size()), 3u);
    {
        model::Faults faults;
        faults.eraseOf = [&](uint32_t key) { return superblockOf(nand, key) == 0; };
        Drive d(nand, 1, seed, 0, {}, {}, faults);
        CHECK(says(d, "read only"));
        d.start();
        verify(d, w);
    }
    goesOn(nand, w, seed);
}

/** Only writes, so that no checkpoint is asked for: the records that list superblocks fill a root block, and the other
 * one cannot be erased. The superblocks to be listed are not erased again and again. */
TEST(recovery_listings_that_cannot_be_written) {
    Nand nand(kSmall);
    Written w;
    Drive d(nand, 1, seed);
    d.start();
    uint32_t roots = 0, others = 0;
    d.dev.faults.eraseOf = [&](uint32_t key) {
        bool root = superblockOf(nand, key) == 0;
        roots += root;
        others += !root && roots > 0;
        return root;
    };
    uint16_t status = kOk;
    for (uint32_t i = 0; status == kOk && i < 100'000; i++) {
        uint32_t lba = i % 40;
        status = d.write(lba, pattern(lba, i + 1)).status;
        if (status == kOk) {
            w[lba] = i + 1;
        } else {
            w.erase(lba);
        }
    }
    CHECK(status != kOk);
    CHECK(roots > 0 && roots < 8);
    /* A superblock has some blocks. */
    CHECK(others < 10 * kSmall.channels * kSmall.ways);
    verify(d, w);
}

TEST(recovery_root_records_that_cannot_be_written) {
    for (uint32_t variant = 0; variant < 6; variant++) {
        Nand nand(kSmall);
        Written w;
        {
            Drive d(nand, 1, seed + variant);
            d.start();
            for (uint32_t i = 0; i < 5 + variant * 9; i++) {
                put(d, w, i % 40, i + 1);
                CHECK_EQ(flush(d), kOk);
            }
            put(d, w, 1, 5000);
            d.dev.faults.programOf = [](uint32_t, uint32_t tag) { return tag == kRoot; };
            CHECK_EQ(flush(d), kWriteFault);
            CHECK(says(d, "read only until the next power-on"));
            d.dev.faults = {};
            /* Which record a mount will find is not known: nothing may change. */
            uint64_t programs = nand.programs, erases = nand.erases;
            CHECK_EQ(flush(d), kWriteFault);
            CHECK_EQ(d.write(2, pattern(2, 7)).status, kWriteFault);
            CHECK_EQ(nand.programs, programs);
            CHECK_EQ(nand.erases, erases);
            verify(d, w);
        }
        {
            model::Faults faults;
            faults.programOf = [](uint32_t, uint32_t tag) { return tag == kRoot; };
            Drive d(nand, 1, seed, 0, {}, {}, faults);
            CHECK(says(d, "read only"));
            d.start();
            verify(d, w);
        }
        goesOn(nand, w, seed);
    }
}

TEST(recovery_gaps_between_root_records) {
    /* One root record's program fails, the page reads blank or damaged, and others follow: the newest is found. */
    for (uint32_t at = 0; at < 24; at++) {
        Nand nand(kSmall);
        Written w;
        uint32_t roots = 0;
        {
            Drive d(nand, 1, seed * 100 + at);
            d.start();
            d.dev.faults.programOf = [&](uint32_t, uint32_t tag) { return tag == kRoot && roots++ == at; };
            for (uint32_t i = 0; i <= at + 1; i++) {
                put(d, w, i % 40, i + 1);
                CHECK_EQ(flush(d), kOk);
            }
        }
        /* Had an older one been found, this superblock's pages would not be where its map says. */
        Drive d(nand, 1, seed);
        CHECK(says(d, "recovered 0 pages"));
        d.start();
        verify(d, w);
    }
}

TEST(recovery_uses_nothing_unreadable) {
    Nand nand(kSmall);
    Written w;
    {
        Drive d(nand, 1, seed);
        d.start();
        for (uint32_t i = 0; i < 60; i++) {
            put(d, w, i * 17 % 1000, i + 1);
        }
        CHECK_EQ(flush(d), kOk);
    }
    struct Kind {
        const char *name;
        bool (*is)(uint32_t tag);
    };
    const Kind kinds[] = {{"table", [](uint32_t tag) { return tag == kTable; }}, {"directory", isDir}, {"map", isMap}};
    for (const Kind &kind : kinds) {
        auto pages = keys(nand, kind.is);
        CHECK(!pages.empty());
        /* Cannot be read, ever: it says so, and no command goes to where nothing is (the model would not have it). */
        {
            model::Faults faults;
            faults.readOf = [&](uint32_t key) { return pages.count(key) != 0; };
            Nand copy = nand;
            Drive d(copy, 1, seed, 0, {}, {}, faults);
            CHECK(says(d, "no namespace: metadata that the newest root record names cannot be read"));
            d.start();
            std::vector<uint8_t> got;
            CHECK(d.read(1, 1, &got).status != kOk);
        }
        /* Once only: read again. */
        {
            std::set<uint32_t> failed;
            model::Faults faults;
            faults.readOf = [&](uint32_t key) { return pages.count(key) != 0 && failed.insert(key).second; };
            Nand copy = nand;
            Drive d(copy, 1, seed, 0, {}, {}, faults);
            CHECK(!failed.empty());
            d.start();
            verify(d, w);
        }
        /* Another page's words, or those of another time. */
        for (bool stamp : {false, true}) {
            Nand copy = nand;
            for (uint32_t key : pages) {
                model::Page page = copy.page(key);
                (stamp ? page.oob1 : page.oob0) ^= 1;
                copy.put(key, page);
            }
            Drive d(copy, 1, seed);
            CHECK(says(d, "no namespace: metadata that the newest root record names cannot be read"));
        }
    }
    /* The newest root record itself. */
    auto roots = keys(nand, [](uint32_t tag) { return tag == kRoot; });
    uint32_t newest = *std::max_element(roots.begin(), roots.end(),
                                        [&](uint32_t a, uint32_t b) { return nand.page(a).oob1 < nand.page(b).oob1; });
    {
        /* The one before, and the log: nothing was written over since. */
        model::Faults faults;
        uint32_t sequence = nand.page(newest).oob1;
        faults.readOf = [&](uint32_t key) { return roots.count(key) != 0 && nand.page(key).oob1 == sequence; };
        Nand copy = nand;
        Drive d(copy, 1, seed, 0, {}, {}, faults);
        d.start();
        verify(d, w);
    }
    {
        Nand copy = nand;
        for (uint32_t key : roots) {
            model::Page page = copy.page(key);
            page.data[3] = '1';
            copy.put(key, page);
        }
        Drive d(copy, 1, seed);
        CHECK(says(d, "no namespace: medium of an older firmware: format it"));
    }
    Drive d(nand, 1, seed);
    d.start();
    verify(d, w);
}

TEST(recovery_newest_root_records_that_become_unreadable) {
    /* Superblocks come back and are written again. Whatever root records cannot be read any more: the drive has all
     * that was acknowledged, or says that it has not. */
    uint32_t refused = 0, mounted = 0, older = 0;
    for (uint32_t writes = 2000; writes < 4000; writes += 230) {
        Nand nand(kSmall);
        Written w;
        {
            Drive d(nand, 1, seed);
            d.start();
            for (uint32_t i = 0; i < writes; i++) {
                put(d, w, i % 250, i + 1);
                if (i % 400 == 399) {
                    CHECK_EQ(flush(d), kOk);
                }
            }
            if (writes % 2) {
                d.shutdown();
            }
        }
        auto roots = keys(nand, [](uint32_t tag) { return tag == kRoot; });
        std::vector<uint32_t> order(roots.begin(), roots.end());
        std::sort(order.begin(), order.end(),
                  [&](uint32_t a, uint32_t b) { return nand.page(a).oob1 > nand.page(b).oob1; });
        for (size_t n = 1; n < 8 && n < order.size(); n++) {
            model::Faults faults;
            faults.readOf = [&](uint32_t key) { return std::find(&order[0], &order[n], key) != &order[n]; };
            Nand copy = nand;
            Drive d(copy, 1, seed, 0, {}, {}, faults);
            if (says(d, "no namespace: ")) {
                refused++;
                older += says(d, "an older one is not safe to use");
                continue;
            }
            mounted++;
            d.start();
            verify(d, w);
        }
    }
    printf("  refused %u times, %u of them for the log's sake, mounted %u times\n", refused, older, mounted);
    CHECK(older > 0 && mounted > 0);
}

TEST(recovery_reads_pages_of_the_log_again) {
    Nand nand(kSmall);
    Written w;
    {
        Drive d(nand, 1, seed);
        d.start();
        for (uint32_t i = 0; i < 100; i++) {
            put(d, w, i * 7 % 300, i + 1);
        }
        CHECK_EQ(d.trim(200, 50).status, kOk);
        for (uint32_t lba = 200; lba < 250; lba++) {
            w[lba] = 0;
        }
    }
    std::mt19937 rng(seed);
    std::set<uint32_t> failed;
    model::Faults faults;
    faults.readOf = [&](uint32_t key) { return rng() % 4 == 0 && failed.insert(key).second; };
    Drive d(nand, 1, seed, 0, {}, {}, faults);
    CHECK(failed.size() > 20);
    CHECK(says(d, "recovered 101 pages"));
    d.dev.faults = {};
    d.start();
    verify(d, w);
}

TEST(recovery_torn_data) {
    /* A block that was in programming when power went, and whose write nobody has acknowledged, is the old or the new
     * one: a page that is not whole is refused. */
    uint32_t torn = 0, cuts = 0;
    for (Tear tear : {Tear::NotBegun, Tear::Done, Tear::Weak, Tear::Blank, Tear::Half, Tear::Columns}) {
        for (uint32_t cut = 200; cut < 9000; cut += 400) {
            Nand nand(kSmall);
            Written w;
            bool acknowledged = false;
            {
                Drive d(nand, 1, seed);
                d.start();
                for (uint32_t lba = 0; lba < 12; lba++) {
                    put(d, w, lba, 1 + lba);
                }
                CHECK_EQ(flush(d), kOk);
                put(d, w, 6, 50);
                d.dev.tearAs = tear;
                d.dev.cutAt = d.dev.now + cut;
                try {
                    acknowledged = d.write(5, pattern(5, 99)).status == kOk;
                } catch (const model::PowerCut &) {
                    d.dev.tearInFlight();
                    cuts++;
                }
            }
            Drive d(nand, 1, seed + 1);
            d.start();
            std::vector<uint8_t> got;
            CHECK_EQ(d.read(5, 1, &got).status, kOk);
            bool old = got == pattern(5, 6), fresh = got == pattern(5, 99);
            CHECK(acknowledged ? fresh : old || fresh);
            torn += std::count_if(nand.cells().cuts.begin(), nand.cells().cuts.end(), [](const std::string &line) {
                return line.find("half done") != std::string::npos || line.find("columns") != std::string::npos;
            });
            w.erase(5);
            verify(d, w);
        }
    }
    CHECK(cuts > 20 && torn > 0);
}

TEST(recovery_torn_trim_record) {
    uint32_t left_out = 0;
    for (uint32_t cut = 20'000; cut < 110'000; cut += 1000) {
        Nand nand(kSmall);
        Written w;
        {
            Drive d(nand, 1, seed + cut);
            d.start();
            for (uint32_t lba = 0; lba < 40; lba++) {
                put(d, w, lba, 1 + lba);
            }
            /* Many ranges, so that the record's end is far from its beginning. */
            Buffer b = d.buffer(4096);
            std::vector<uint32_t> ranges(1024);
            for (uint32_t i = 0; i < 256; i++) {
                ranges[i * 4 + 1] = 1;
                ranges[i * 4 + 2] = i < 20 ? i : 500 + i;
            }
            d.put(b, reinterpret_cast<uint8_t *>(ranges.data()));
            Sqe s = Drive::sqe(0x09, 1);
            s[10] = 255;
            Drive::setPrp(s, b);
            s[11] = 4;
            d.dev.tearAs = Tear::Columns;
            d.dev.cutAt = d.dev.now + cut;
            try {
                CHECK_EQ(d.exec(1, s).status, kOk);
                for (uint32_t lba = 0; lba < 20; lba++) {
                    w[lba] = 0;
                }
                d.dev.tearAs.reset();
            } catch (const model::PowerCut &) {
                d.dev.tearInFlight();
            }
        }
        Drive d(nand, 1, seed);
        d.start();
        /* All of it or nothing. */
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(0, 1, &got).status, kOk);
        left_out += got != pattern(0, 0);
        for (uint32_t lba = 0; lba < 20 && got == pattern(0, 0); lba++) {
            w[lba] = 0;
        }
        verify(d, w);
    }
    CHECK(left_out > 0);
}

TEST(recovery_retired_superblock_and_a_failed_checkpoint) {
    /* A superblock goes bad, and so does the next checkpoint. */
    Nand nand(kSmall);
    Written w;
    {
        Drive d(nand, 1, seed);
        d.start();
        uint32_t bad = 0, failing = 0;
        d.dev.faults.eraseOf = [&](uint32_t key) {
            if (bad == 0 && nand.programs > 300) {
                bad = superblockOf(nand, key);
                failing = 9;
            }
            return bad != 0 && superblockOf(nand, key) == bad;
        };
        d.dev.faults.programOf = [&](uint32_t, uint32_t tag) { return isMeta(tag) && failing > 0 && failing-- > 0; };
        for (uint32_t i = 0; i < 2400; i++) {
            put(d, w, i % 300, i + 1);
        }
        CHECK(bad != 0);
        CHECK_EQ(failing, 0u);
        CHECK(says(d, "ftl: checkpoint failed"));
    }
    goesOn(nand, w, seed);
}

TEST(recovery_open_blocks_are_not_resumed) {
    /* Behind a cut nothing of the log goes to a block that held data then, until it has been erased: the page behind
     * the last good one may have been in programming, and looks blank or reads well without being either. */
    for (const Geometry &geometry :
         {Geometry{2, 2, 1, 1, 24, 16, 4096, 224}, Geometry{2, 1, 2, 2, 24, 8, 16384, 2208}}) {
        Nand nand(geometry);
        Written w;
        std::mt19937 rng(seed);
        std::set<uint32_t> held;
        uint32_t begun = 0, logged = 0;
        model::Faults faults;
        faults.programOf = [&](uint32_t key, uint32_t tag) {
            uint32_t block = key >> nand.pageBits() << nand.pageBits();
            if (key == block) {
                begun += held.erase(block);
            }
            if (tag < 1u << 28) {
                CHECK(held.count(block) == 0);
                logged++;
            }
            return false;
        };
        uint32_t version = 0;
        for (uint32_t life = 0; life < 15; life++) {
            held.clear();
            for (auto &[key, page] : nand.pages()) {
                held.insert(key >> nand.pageBits() << nand.pageBits());
            }
            std::set<uint32_t> cached;
            try {
                Drive d(nand, 1, static_cast<uint32_t>(rng()), 0, {}, {}, faults);
                d.start();
                d.dev.cutAt = d.dev.now + 20'000 + rng() % 3'000'000;
                try {
                    for (;;) {
                        auto lba = static_cast<uint32_t>(rng() % 200);
                        cached.insert(lba);
                        put(d, w, lba, ++version);
                        if (version % 32 == 0) {
                            CHECK_EQ(flush(d), kOk);
                            cached.clear();
                        }
                    }
                } catch (const model::PowerCut &) {
                    d.dev.tearInFlight();
                }
            } catch (const model::PowerCut &) {
            }
            for (uint32_t lba : cached) {
                w.erase(lba);
            }
        }
        CHECK(logged > 100);
        CHECK(begun > 0);
        goesOn(nand, w, seed);
    }
}

TEST(recovery_cut_in_a_mount) {
    /* Power goes again and again while the drive boots. */
    Nand nand(kSmall);
    Written w;
    std::mt19937 rng(seed);
    for (uint32_t life = 0; life < 12; life++) {
        {
            Drive d(nand, 1, static_cast<uint32_t>(rng()));
            d.start();
            verify(d, w);
            for (uint32_t i = 0; i < 30; i++) {
                put(d, w, static_cast<uint32_t>(rng() % 300), life * 100 + i + 1);
            }
        }
        for (uint32_t cut = 0; cut < 5; cut++) {
            try {
                Drive d(nand, 1, static_cast<uint32_t>(rng()), 0, {}, {}, {}, 2000 + rng() % 400'000);
            } catch (const model::PowerCut &) {
            }
        }
    }
    goesOn(nand, w, seed);
}

namespace {

/** A geometry, times and a clock like those of a profile of the virtual board. */
struct Profile {
    const char *name;
    Geometry geometry;
    uint32_t mhz;
    model::Times times;
};
const Profile kProfiles[] = {
    {"test", {2, 2, 1, 1, 16, 32, 4096, 224}, 1000, {5'000, 20'000, 50'000, 4'400}},
    {"paper", {2, 4, 2, 2, 2048, 512, 4096, 224}, 1000, {30'000, 300'000, 3'800'000, 4'400}},
    {"cosmosplus", {8, 2, 1, 2, 1096, 512, 16384, 2208, false, 0x1f}, 100, {7'500, 130'000, 500'000, 2'500}},
};

/** A load of single blocks, `depth` in flight, over `span` blocks. */
struct Writer {
    Drive &d;
    std::mt19937 rng;
    uint64_t longest = 0; /**< cycles from submission to completion */
    void run(uint32_t total, uint32_t span, uint32_t depth, bool sequential = false) {
        std::map<uint16_t, uint64_t> flying;
        Buffer b = d.buffer(4096);
        uint32_t n = 0;
        while (n < total || !flying.empty()) {
            while (n < total && flying.size() < depth) {
                Sqe s = Drive::sqe(kWrite, 1);
                Drive::setPrp(s, b);
                s[10] = sequential ? n % span : static_cast<uint32_t>(rng() % span);
                n++;
                flying[d.submit(1, s)] = d.dev.now;
            }
            size_t before = flying.size();
            d.run([&] {
                for (auto it = flying.begin(); it != flying.end();) {
                    auto c = d.take(1, it->first);
                    if (c) {
                        CHECK_EQ(c->status, kOk);
                        longest = std::max(longest, d.dev.now - it->second);
                        it = flying.erase(it);
                    } else {
                        ++it;
                    }
                }
                return flying.size() < before;
            });
        }
    }
};

uint32_t number(const Drive &d, const char *before) {
    size_t at = d.dev.console.find(before);
    CHECK(at != std::string::npos);
    return static_cast<uint32_t>(strtoul(d.dev.console.c_str() + at + strlen(before), nullptr, 10));
}

/** Milliseconds that the host is told to wait for RDY, for a shutdown. */
uint32_t patience(const Drive &d) {
    return (d.dev.capLo >> 24) * 500;
}
uint32_t shutdownPatience(Drive &d) {
    Buffer b = d.buffer(4096);
    Sqe s = Drive::sqe(0x06);
    Drive::setPrp(s, b);
    s[10] = 1;
    CHECK_EQ(d.exec(0, s).status, kOk);
    uint32_t us;
    std::memcpy(&us, &d.get(b)[88], 4);
    return us / 1000;
}

} // namespace

TEST(recovery_mount_and_shutdown_have_bounds) {
    for (const Profile &p : kProfiles) {
        uint32_t bootArg = p.mhz << SYS_BOOT_ARG_CLOCK_MHZ_SHIFT;
        Nand nand(p.geometry);
        uint64_t programs, user = 6144;
        uint32_t bound, shutdownBound, span;
        {
            Drive d(nand, 1, seed, bootArg, {}, p.times);
            bound = number(d, "a mount takes up to ");
            shutdownBound = number(d, "ms, a shutdown ");
            CHECK(patience(d) >= bound && patience(d) <= 127'500);
            d.start();
            CHECK(shutdownPatience(d) >= shutdownBound);
            /* The small one has no garbage collection to overwrite it at random. */
            bool small = d.capacity() < 10'000;
            span = small ? 600 : d.capacity();
            programs = nand.programs;
            Writer w{d, std::mt19937(seed)};
            w.run(static_cast<uint32_t>(user), span, 64, small);
            programs = nand.programs - programs;
            /* Fewer than none where the last writes are in the cache. */
            printf("  %s: %u ms promised; extra programs %.1f %%, longest write %.1f ms\n", p.name, bound,
                   100.0 * (static_cast<double>(programs) / static_cast<double>(user) - 1),
                   static_cast<double>(w.longest) / p.mhz / 1000);
            CHECK(programs < user + user / 5);
            d.dev.tearAs = Tear::Half;
            d.dev.cutAt = d.dev.now;
            try {
                d.settle();
            } catch (const model::PowerCut &) {
                d.dev.tearInFlight();
            }
        }
        /* The second mount finds the same: no checkpoint has ended meanwhile. */
        for (uint32_t boot = 0; boot < 2; boot++) {
            Drive d(nand, 1, seed, bootArg, {}, p.times);
            double ms = static_cast<double>(d.dev.now) / p.mhz / 1000;
            printf("  %s: boot %u after a cut: %.1f ms, %u pages of log\n", p.name, boot + 1, ms,
                   number(d, "ftl: recovered "));
            CHECK(ms < bound);
            CHECK(number(d, "ftl: recovered ") <= number(d, "ftl: up to ") + 64 + 64);
        }
        auto shutdown = [&](Drive &d, const char *when) {
            uint64_t before = d.dev.now;
            d.shutdown();
            double ms = static_cast<double>(d.dev.now - before) / p.mhz / 1000;
            printf("  %s: shutdown %s %.1f ms of %u\n", p.name, when, ms, shutdownBound);
            CHECK(ms < shutdownBound);
        };
        {
            /* The checkpoint that the mount left has hardly begun. */
            Drive d(nand, 1, seed, bootArg, {}, p.times);
            bool follows = d.dev.console.find("the checkpoint follows") != std::string::npos;
            d.start();
            shutdown(d, follows ? "beside the mount's checkpoint" : "behind the mount");
            CHECK(follows || span < 10'000);
        }
        {
            Drive d(nand, 1, seed, bootArg, {}, p.times);
            CHECK_EQ(number(d, "clean medium, ") > 0, true);
            d.start();
            if (span > 10'000) {
                Writer{d, std::mt19937(seed + 1)}.run(6144, span, 64);
            }
            shutdown(d, "behind writes");
        }
    }
}

/** What was written is in a checkpoint some minutes later, whether anything is asked of the drive meanwhile or not. */
TEST(recovery_old_log_has_a_checkpoint) {
    constexpr uint64_t kSecond = 1'000'000'000;
    for (bool idle : {true, false}) {
        for (uint32_t seconds : {250, 350}) {
            Nand nand(kSmall);
            {
                Drive d(nand, 1, seed);
                d.start();
                for (uint32_t lba = 0; lba < 20; lba++) {
                    CHECK_EQ(d.write(lba, pattern(lba, 1)).status, kOk);
                }
                d.settle();
                for (uint32_t i = 0; i < seconds; i++) {
                    d.settle();
                    d.dev.now += kSecond;
                    std::vector<uint8_t> data;
                    if (!idle) {
                        CHECK_EQ(d.read(i % 20, 1, &data).status, kOk);
                    }
                }
                d.settle();
                d.dev.cutAt = d.dev.now;
                d.dev.tearInFlight();
            }
            Drive d(nand, 1, seed);
            uint32_t recovered = number(d, "ftl: recovered ");
            CHECK(seconds < 300 ? recovered >= 20 : recovered == 0);
            d.start();
            for (uint32_t lba = 0; lba < 20; lba++) {
                std::vector<uint8_t> data;
                CHECK_EQ(d.read(lba, 1, &data).status, kOk);
                CHECK(data == pattern(lba, 1));
            }
        }
    }
}

/** While a checkpoint runs a write waits for a few programs, not for the checkpoint. */
TEST(recovery_checkpoints_do_not_stop_writes) {
    Profile p = kProfiles[1];
    Geometry &g = p.geometry;
    g.blocks = 128;
    /* How long an erase holds up its die is another matter. */
    p.times.erase = p.times.program;
    Nand nand(g);
    Drive d(nand, 1, seed, p.mhz << SYS_BOOT_ARG_CLOCK_MHZ_SHIFT, {}, p.times);
    d.start();
    Writer w{d, std::mt19937(seed)};
    w.run(8192, d.capacity(), 16);
    double programs = static_cast<double>(w.longest) / p.times.program;
    printf("  the longest write took %.1f program times\n", programs);
    CHECK(programs < 12);
}

TEST(recovery_long_queue_needs_no_deep_stack) {
    /* A drive whose superblocks went bad ends every write at once, one after the other when they are to one block. */
    auto depth = [&](uint32_t writes) {
        Nand nand(kSmall);
        Drive d(nand, 1, seed);
        d.start();
        uint32_t cap = d.capacity();
        std::mt19937 rng(seed);
        for (uint32_t i = 0;; i++) {
            uint32_t lba = i < cap ? i : static_cast<uint32_t>(rng() % cap);
            if (d.write(lba, pattern(lba, 1)).status != kOk) {
                break;
            }
            d.dev.faults.erase = i < cap ? 0 : 1;
            CHECK(i < 10'000);
        }
        Buffer b = d.buffer(4096);
        std::vector<uint16_t> cids;
        Sqe s = Drive::sqe(kWrite, 1);
        Drive::setPrp(s, b);
        s[10] = 5;
        /* A flush with something to write keeps them all until it ends. */
        CHECK_EQ(d.trim(cap - 1, 1).status, kOk);
        uint16_t f = d.submit(2, Drive::sqe(kFlush, 1));
        for (uint32_t n = 0; n < writes; n++) {
            cids.push_back(d.submit(1, s));
        }
        d.dev.stackDepth = 0;
        for (uint16_t cid : cids) {
            auto c = d.wait(1, cid);
            CHECK(c.status != kWriteFault);
        }
        d.wait(2, f);
        return d.dev.stackDepth;
    };
    size_t few = depth(4), many = depth(200);
    printf("  stack: %zu bytes for 4 writes, %zu for 200\n", few, many);
    CHECK(many < few + 1024);
}

TEST(recovery_many_flushes_need_no_deep_stack) {
    auto depth = [&](uint32_t flushes) {
        Nand nand(kSmall);
        Drive d(nand, 1, seed);
        d.start();
        CHECK_EQ(d.write(1, pattern(1, 1)).status, kOk);
        d.dev.stackDepth = 0;
        std::vector<uint16_t> cids;
        for (uint32_t n = 0; n < flushes; n++) {
            cids.push_back(d.submit(1, Drive::sqe(kFlush, 1)));
        }
        for (uint16_t cid : cids) {
            CHECK_EQ(d.wait(1, cid).status, kOk);
        }
        return d.dev.stackDepth;
    };
    size_t few = depth(3), many = depth(200);
    printf("  stack: %zu bytes for 3 flushes, %zu for 200\n", few, many);
    CHECK(many < few + 1024);
}
