// SPDX-License-Identifier: BSD-3-Clause
/* Blocks and dies that go bad in use: nothing is lost, nothing more is written to them, and the drive goes on. */
#include "tests/harness.h"

#include <set>
#include <tuple>
#include <utility>

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

const Geometry kSmall{2, 2, 1, 1, 40, 16};
const Geometry kPlanes{2, 1, 2, 2, 40, 8, 16384, 2208};

using Block = std::tuple<unsigned, unsigned, unsigned, unsigned>;

Block blockOf(Nand &nand, uint32_t key) {
    assasin::NandAddress at = nand.address(key);
    return {at.channel, at.way, at.lun, at.block};
}

bool says(const Drive &d, const std::string &text) {
    return d.dev.console.find(text) != std::string::npos;
}

uint16_t flush(Drive &d) {
    return d.exec(1, Drive::sqe(0x00, 1)).status;
}

/** What every block may hold: the last version that is acknowledged, and those after it. */
struct Written {
    std::map<uint32_t, uint32_t> durable, newest;

    uint16_t write(Drive &d, uint32_t lba, uint32_t version) {
        newest[lba] = version;
        return d.write(lba, pattern(lba, version)).status;
    }
    void flushed() {
        durable = newest;
    }
    void check(Drive &d) {
        std::vector<uint8_t> got;
        for (auto &[lba, last] : newest) {
            CHECK_EQ(d.read(lba, 1, &got).status, kOk);
            bool found = false;
            for (uint32_t v = durable[lba]; v <= last && !found; v++) {
                found = got == pattern(lba, v);
                if (found) {
                    durable[lba] = v;
                }
            }
            CHECK(found);
        }
        newest = durable;
    }
};

/** Programs and erases of the blocks of `dead` fail, and each is counted. */
struct Failing {
    Nand &nand;
    std::set<Block> programs, erases;
    uint32_t hits = 0;

    model::Faults faults() {
        model::Faults f;
        f.programOf = [this](uint32_t key, uint32_t) {
            bool fails = programs.count(blockOf(nand, key)) != 0;
            hits += fails;
            return fails;
        };
        f.eraseOf = [this](uint32_t key) {
            bool fails = erases.count(blockOf(nand, key)) != 0;
            hits += fails;
            return fails;
        };
        return f;
    }
};

/** Lives that end in a cut while blocks go bad now and then. */
void wearsOut(const Geometry &g, uint32_t seed) {
    Nand nand(g);
    std::mt19937 rng(seed);
    Written w;
    Failing failing{nand, {}, {}};
    uint32_t version = 0, blocks = g.planes * g.blocks, superblock = g.channels * g.ways * g.luns * g.planes;
    uint32_t span = superblock * g.pages * (g.pageBytes / 4096) * (g.blocks - 20) / 2;
    for (uint32_t life = 0; life < 8; life++) {
        try {
            Drive d(nand, 1, seed + life, 0, {}, {}, failing.faults());
            d.start();
            CHECK(d.capacity() > span);
            w.check(d);
            /* One block goes bad in a life, some with the first erase. */
            Block bad{rng() % g.channels, rng() % g.ways, rng() % g.luns, g.planes + rng() % (blocks - g.planes)};
            (rng() % 2 ? failing.programs : failing.erases).insert(bad);
            d.dev.cutAt = life % 3 == 2 ? UINT64_MAX : d.dev.now + 500'000 + rng() % 4'000'000;
            for (uint32_t i = 0; i < span; i++) {
                CHECK_EQ(w.write(d, static_cast<uint32_t>(rng() % span), ++version), kOk);
                if (i % 64 == 63) {
                    CHECK_EQ(flush(d), kOk);
                    w.flushed();
                }
            }
            w.check(d);
            d.shutdown();
            w.flushed();
        } catch (const model::PowerCut &) {
            model::current = nullptr;
        }
    }
    Drive d(nand, 1, seed);
    d.start();
    w.check(d);
}

/** The first key of the die's second superblock and on: whether `key` is of the die. */
bool ofDie(Nand &nand, uint32_t key, unsigned channel, unsigned way) {
    assasin::NandAddress at = nand.address(key);
    return at.channel == channel && at.way == way;
}

} // namespace

TEST(bad_blocks_one_by_one_with_cuts) {
    wearsOut(kSmall, seed);
    wearsOut(kPlanes, seed);
}

TEST(bad_program_leaves_its_block_out) {
    /* A block that does not take a program is not written again, not even after a power cycle, and its data move. */
    Nand nand(kSmall);
    Written w;
    Failing failing{nand, {}, {}};
    uint32_t version = 0;
    {
        Drive d(nand, 1, seed, 0, {}, {}, failing.faults());
        d.start();
        for (uint32_t i = 0; i < 200; i++) {
            CHECK_EQ(w.write(d, i, ++version), kOk);
        }
        /* The block that the last page went to. */
        std::optional<Block> last;
        for (const auto &[key, page] : nand.pages()) {
            if (page.oob0 == 199) {
                last = blockOf(nand, key);
            }
        }
        CHECK(last.has_value());
        failing.programs.insert(*last);
        for (uint32_t i = 0; i < 600; i++) {
            CHECK_EQ(w.write(d, i % 300, ++version), kOk);
        }
        CHECK(says(d, "is left out: a program failed"));
        CHECK_EQ(failing.hits, 1u);
        /* More than everything is written again. */
        for (uint32_t i = 0; i < 4000; i++) {
            CHECK_EQ(w.write(d, i % 300, ++version), kOk);
        }
        CHECK_EQ(failing.hits, 1u);
        w.flushed();
        w.check(d);
        d.shutdown();
    }
    Drive d(nand, 1, seed + 1, 0, {}, {}, failing.faults());
    d.start();
    w.check(d);
    for (uint32_t i = 0; i < 4000; i++) {
        CHECK_EQ(w.write(d, i % 300, ++version), kOk);
    }
    CHECK_EQ(failing.hits, 1u);
    w.flushed();
    w.check(d);
}

TEST(bad_erase_leaves_its_block_out) {
    Nand nand(kSmall);
    Written w;
    Failing failing{nand, {}, {}};
    uint32_t version = 0;
    for (unsigned n = 10; n < 40; n += 3) {
        failing.erases.insert({n % 2, n / 2 % 2, 0, n});
    }
    uint32_t cap;
    {
        Drive d(nand, 1, seed, 0, {}, {}, failing.faults());
        d.start();
        cap = d.capacity();
        for (uint32_t i = 0; i < 6000; i++) {
            CHECK_EQ(w.write(d, i % 400, ++version), kOk);
        }
        CHECK_EQ(failing.hits, failing.erases.size());
        CHECK(says(d, "is left out: it was not erased"));
        w.flushed();
        w.check(d);
        d.shutdown();
    }
    Drive d(nand, 1, seed + 1, 0, {}, {}, failing.faults());
    d.start();
    CHECK_EQ(d.capacity(), cap);
    w.check(d);
    for (uint32_t i = 0; i < 6000; i++) {
        CHECK_EQ(w.write(d, i % 400, ++version), kOk);
    }
    CHECK_EQ(failing.hits, failing.erases.size());
}

TEST(bad_die_is_left_out) {
    /* No program and no erase of a die goes well any more. What it holds can still be read: it moves to the others. */
    Nand nand(kSmall);
    Written w;
    uint32_t version = 0, touched = 0;
    bool dead = false;
    model::Faults faults;
    faults.programOf = [&](uint32_t key, uint32_t) {
        bool of = dead && ofDie(nand, key, 1, 1);
        touched += of;
        return of;
    };
    faults.eraseOf = [&](uint32_t key) { return faults.programOf(key, 0); };
    {
        Drive d(nand, 1, seed, 0, {}, {}, faults);
        d.start();
        for (uint32_t i = 0; i < 600; i++) {
            CHECK_EQ(w.write(d, i, ++version), kOk);
        }
        dead = true;
        for (uint32_t i = 0; i < 6000; i++) {
            CHECK_EQ(w.write(d, i % 600, ++version), kOk);
        }
        CHECK(says(d, "the die of channel 1, way 1, LUN 0 is dead"));
        uint32_t before = touched;
        for (uint32_t i = 0; i < 6000; i++) {
            CHECK_EQ(w.write(d, i % 600, ++version), kOk);
        }
        CHECK_EQ(touched, before);
        CHECK_EQ(flush(d), kOk);
        w.flushed();
        w.check(d);
    }
    uint32_t before = touched;
    Drive d(nand, 1, seed + 1, 0, {}, {}, faults);
    d.start();
    w.check(d);
    for (uint32_t i = 0; i < 6000; i++) {
        CHECK_EQ(w.write(d, i % 600, ++version), kOk);
    }
    w.flushed();
    w.check(d);
    CHECK_EQ(touched, before);
}

TEST(bad_blocks_hold_no_copies) {
    /* Blocks that are not erased keep what they held. A mount whose checkpoint found one of their superblocks open for
     * copies must not take that for copies. */
    Nand nand(kSmall);
    Written w;
    Failing failing{nand, {}, {}};
    std::mt19937 rng(seed);
    uint32_t version = 0, cap = 0;
    for (uint32_t life = 0; life < 12; life++) {
        try {
            Drive d(nand, 1, seed + life, 0, {}, {}, failing.faults());
            d.start();
            /* Blocks fail that have data already, in so few superblocks that there is room for writes. */
            for (uint32_t n = 0; life > 0 && n < 2; n++) {
                failing.erases.insert({rng() % 2, rng() % 2, 0, 8 + rng() % 16});
            }
            w.check(d);
            cap = life == 0 ? d.capacity() * 3 / 4 : cap;
            d.dev.cutAt = life == 0 ? UINT64_MAX : d.dev.now + 500'000 + rng() % 4'000'000;
            for (uint32_t i = 0; i < 2 * cap; i++) {
                uint32_t lba = i < cap && life == 0 ? i : static_cast<uint32_t>(rng() % cap);
                CHECK_EQ(w.write(d, lba, ++version), kOk);
                w.durable[lba] = version;
            }
        } catch (const model::PowerCut &) {
            model::current = nullptr;
        }
    }
    Drive d(nand, 1, seed);
    d.start();
    w.check(d);
}

TEST(bad_blocks_do_not_look_like_the_end_of_the_log) {
    /* A die is dead, and superblocks have one good block each: behind a program that fails there are others that were
     * on their way and went well. A mount finds them, though places of the bad block and the failed one follow each
     * other. */
    Nand medium(Geometry{1, 2, 1, 1, 40, 16});
    Failing failing{medium, {}, {}};
    for (uint32_t n = 6; n < 40; n++) {
        failing.erases.insert({0, 0, 0, n});
    }
    {
        Drive d(medium, 1, seed, 0, {}, {}, failing.faults());
        d.start();
        for (uint32_t i = 0; !says(d, "is dead"); i++) {
            CHECK(i < 2000);
            CHECK_EQ(d.write(i % 64, pattern(i % 64, 0)).status, kOk);
        }
        d.shutdown();
    }
    uint32_t failed = 0;
    for (uint32_t moment = 0; moment < 64; moment++) {
        Nand nand(medium);
        model::Faults faults;
        uint32_t programs = 0;
        faults.programOf = [&](uint32_t, uint32_t tag) {
            bool fails = tag < 64 && programs++ == moment;
            failed += fails;
            return fails;
        };
        {
            Drive d(nand, 1, seed, 0, {}, {}, faults);
            d.start();
            for (uint32_t lba = 0; lba < 64; lba += 32) {
                CHECK_EQ(d.write(lba, pattern(lba, 1, 32)).status, kOk);
            }
        }
        Drive d(nand, 1, seed + 1);
        d.start();
        std::vector<uint8_t> got;
        for (uint32_t lba = 0; lba < 64; lba += 32) {
            CHECK_EQ(d.read(lba, 32, &got).status, kOk);
            CHECK(got == pattern(lba, 1, 32));
        }
    }
    CHECK_EQ(failed, 64u);
}

TEST(bad_spent_drive_writes_what_is_cached) {
    /* Blocks that fail one by one leave too little room for the data: the drive becomes read-only. What it has taken
     * into its write cache is written all the same. */
    Nand nand(kPlanes);
    Written w;
    uint32_t version = 0, taken = 0;
    bool failing = false;
    model::Faults faults;
    faults.programOf = [&](uint32_t, uint32_t tag) { return tag < 1u << 28 && std::exchange(failing, false); };
    {
        Drive d(nand, 1, seed, 0, {}, {}, faults);
        d.start();
        for (uint32_t lba = 0; lba + 8 <= d.capacity(); lba += 8) {
            CHECK_EQ(d.write(lba, pattern(lba, ++version, 8)).status, kOk);
        }
        CHECK_EQ(flush(d), kOk);
        for (uint32_t i = 0;; i++) {
            CHECK(i < 10'000);
            failing = failing || i % 64 == 0;
            uint32_t lba = i % 64;
            if (d.write(lba, pattern(lba, ++version)).status != kOk) {
                break;
            }
            w.newest[lba] = version;
            taken++;
        }
        failing = false;
        CHECK(says(d, "is left out: a program failed"));
        CHECK(taken > 0);
        CHECK_EQ(d.write(0, pattern(0, ++version)).status, kReadOnly);
        CHECK_EQ(flush(d), kOk);
        w.flushed();
        w.check(d);
        d.shutdown();
    }
    Drive d(nand, 1, seed + 1, 0, {}, {}, faults);
    d.start();
    w.check(d);
}

TEST(bad_spare_share_as_asked_for) {
    uint32_t usual, more;
    {
        Nand nand(kSmall);
        Drive d(nand, 1, seed);
        d.start();
        usual = d.capacity();
    }
    Nand nand(kSmall);
    {
        Drive d(nand, 1, seed, 0, {}, {}, {}, UINT64_MAX, Loaded{0, 0, 40});
        d.start();
        more = d.capacity();
        /* Three superblocks are of metadata, and four of the log's to go on at all. */
        CHECK_EQ(more, (40u - 3 - 4) * 64 * 60 / 100);
        CHECK(more < usual);
        CHECK_EQ(d.write(0, pattern(0, 1)).status, kOk);
        d.shutdown();
    }
    /* It is the medium's: what the loader says later counts for the next format. */
    Drive d(nand, 1, seed);
    d.start();
    CHECK_EQ(d.capacity(), more);
}

TEST(bad_a_write_is_tried_in_block_after_block) {
    /* As long as there are good blocks: a write fault would be one of a drive that has nearly all of its room. */
    for (const Geometry &g : {kSmall, kPlanes}) {
        Nand nand(g);
        Drive d(nand, 1, seed);
        d.start();
        std::set<Block> failed;
        d.dev.faults.programOf = [&](uint32_t key, uint32_t tag) {
            return tag == 5 && failed.size() < 10 && failed.insert(blockOf(nand, key)).second;
        };
        CHECK_EQ(d.write(5, pattern(5, 1)).status, kOk);
        CHECK_EQ(flush(d), kOk);
        CHECK_EQ(failed.size(), 10u);
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(5, 1, &got).status, kOk);
        CHECK(got == pattern(5, 1));
        CHECK_EQ(d.write(6, pattern(6, 1)).status, kOk);
        CHECK_EQ(flush(d), kOk);
    }
}
