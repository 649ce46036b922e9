// SPDX-License-Identifier: BSD-3-Clause
/* Parity over dies: what a page or a die held that is lost is made of the others, and nothing else is. */
#include "tests/harness.h"

#include <set>

#include "assasin_contract.h"

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

/** Four dies of one sector a page; of two planes and four sectors; and eight dies in two LUNs. */
const Geometry kSmall{2, 2, 1, 1, 48, 16};
const Geometry kPlanes{2, 1, 2, 2, 48, 8, 16384, 2208};
const Geometry kEight{2, 2, 2, 1, 24, 16};

constexpr uint32_t kParity = 0x90000000u, kParityWords = 0x40000000u;

const Loaded kOn{0, IDENTITY_FLAG_PARITY_ON, 0}, kOff{0, IDENTITY_FLAG_PARITY_OFF, 0};

bool parity(const model::Page &page) {
    return page.oob0 - kParity < kParityWords;
}

bool says(const Drive &d, const std::string &text) {
    return d.dev.console.find(text) != std::string::npos;
}

/** A drive whose medium, if new, is formatted with parity. */
struct With : Drive {
    With(Nand &nand, uint32_t seed, const model::Faults &faults = {}, uint64_t cutAt = UINT64_MAX)
        : Drive(nand, 1, seed, 0, {}, {}, faults, cutAt, kOn) {
        start();
    }
};

/** The newest version of every block. */
struct Written {
    std::map<uint32_t, uint32_t> newest;
    uint32_t version = 0;

    void write(Drive &d, uint32_t lba) {
        CHECK_EQ(d.write(lba, pattern(lba, ++version)).status, kOk);
        newest[lba] = version;
    }
    void check(Drive &d) const {
        std::vector<uint8_t> got;
        for (auto &[lba, last] : newest) {
            CHECK_EQ(d.read(lba, 1, &got).status, kOk);
            CHECK(got == pattern(lba, last));
        }
    }
};

void flush(Drive &d) {
    CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
}

/** The die that holds neither root blocks nor the first pages of areas is the last one. */
struct Die {
    unsigned channel, way, lun;
    explicit Die(const Geometry &g) : channel(g.channels - 1), way(g.ways - 1), lun(g.luns - 1) {
    }
    bool has(Nand &nand, uint32_t key) const {
        assasin::NandAddress at = nand.address(key);
        return at.channel == channel && at.way == way && at.lun == lun;
    }
};

/** All programs, erases and reads of the log on a die fail while `dead`. Metadata can be read, and are written. */
struct Dying {
    Nand &nand;
    Die die;
    bool dead = false;
    uint32_t reads = 0;

    explicit Dying(Nand &n) : nand(n), die(n.geo) {
    }
    model::Faults faults() {
        model::Faults f;
        f.programOf = [this](uint32_t key, uint32_t oob0) {
            return dead && die.has(nand, key) && (oob0 < 0xe0000000u || oob0 == 0xfffffffeu);
        };
        f.eraseOf = [this](uint32_t key) { return dead && die.has(nand, key); };
        f.readOf = [this](uint32_t key) {
            bool of = dead && die.has(nand, key) && log(key);
            reads += of;
            return of;
        };
        return f;
    }
    bool log(uint32_t key) {
        try {
            uint32_t oob0 = nand.page(key).oob0;
            return oob0 < 0xe0000000u || oob0 == 0xfffffffeu;
        } catch (...) {
            return false;
        }
    }
};

} // namespace

TEST(parity_of_whole_stripes) {
    /* What the medium holds of every stripe that is full sums up to zeros. */
    for (const Geometry &g : {kSmall, kPlanes, kEight}) {
        Nand nand(g);
        With d(nand, seed);
        Written w;
        for (uint32_t i = 0; i < 600; i++) {
            w.write(d, i);
        }
        flush(d);
        w.check(d);
        d.shutdown();
        d.settle();
        uint32_t pages = (1u << nand.lunShift()) - 1;
        std::map<uint32_t, std::vector<uint8_t>> sums;
        std::set<uint32_t> with;
        for (const auto &[key, page] : nand.pages()) {
            if (page.oob0 >= 0xe0000000u && page.oob0 != 0xfffffffeu) {
                continue;
            }
            auto &sum = sums[key & pages];
            sum.resize(4096);
            for (size_t i = 0; i < 4096; i++) {
                sum[i] ^= page.data[i];
            }
            if (parity(page)) {
                CHECK(with.insert(key & pages).second);
            }
        }
        CHECK(with.size() > 600 / (g.channels * g.ways * g.luns));
        for (const auto &[stripe, sum] : sums) {
            CHECK(with.contains(stripe));
            CHECK(sum == std::vector<uint8_t>(4096));
        }
    }
}

TEST(parity_rebuilds_any_page) {
    /* Of a medium at rest any one sector is lost: nobody notices. */
    for (const Geometry &g : {kSmall, kPlanes, kEight}) {
        Nand nand(g);
        Written w;
        {
            With d(nand, seed);
            for (uint32_t i = 0; i < 200; i++) {
                w.write(d, i * 7 % 130);
            }
            d.shutdown();
        }
        uint32_t lost = 0, hits = 0;
        for (const auto &[key, page] : nand.pages()) {
            auto at = w.newest.find(page.oob0);
            if (at == w.newest.end() || page.data != pattern(at->first, at->second) || lost >= 60) {
                continue;
            }
            Nand medium(nand);
            model::Faults faults;
            faults.readOf = [&, victim = key](uint32_t read) {
                hits += read == victim;
                return read == victim;
            };
            With d(medium, seed, faults);
            std::vector<uint8_t> got;
            hits = 0;
            CHECK_EQ(d.read(at->first, 1, &got).status, kOk);
            CHECK(got == pattern(at->first, at->second));
            CHECK(hits > 0);
            lost++;
            /* Its superblock is emptied: nobody meets the sector again. */
            d.settle();
            hits = 0;
            w.check(d);
            CHECK_EQ(hits, 0u);
        }
        CHECK_EQ(lost, 60u);
    }
}

TEST(parity_dead_die_at_rest) {
    for (const Geometry &g : {kSmall, kPlanes, kEight}) {
        Nand nand(g);
        Written w;
        Dying dying(nand);
        {
            With d(nand, seed, dying.faults());
            for (uint32_t i = 0; i < 500; i++) {
                w.write(d, i * 7 % 330);
            }
            /* While it is in use, with stripes that are not full. */
            flush(d);
            dying.dead = true;
            w.check(d);
            CHECK(dying.reads > 0);
        }
        Nand other(g);
        Dying at(other);
        Written v;
        {
            With d(other, seed);
            for (uint32_t i = 0; i < 500; i++) {
                v.write(d, i * 7 % 330);
            }
            d.shutdown();
        }
        at.dead = true;
        With d(other, seed + 1, at.faults());
        v.check(d);
        CHECK(at.reads > 0);
    }
}

TEST(parity_dead_die_under_load) {
    /* A die dies while the drive is written: it is left out, all that it held moves, and nothing is lost. */
    for (const Geometry &g : {kSmall, kPlanes, kEight}) {
        Nand nand(g);
        Written w;
        Dying dying(nand);
        {
            With d(nand, seed, dying.faults());
            uint32_t span = d.capacity() / 3;
            for (uint32_t i = 0; i < span; i++) {
                w.write(d, i);
            }
            dying.dead = true;
            for (uint32_t i = 0; i < 4 * span; i++) {
                w.write(d, i * 13 % span);
            }
            CHECK(says(d, "is dead"));
            d.settle();
            w.check(d);
            CHECK(!says(d, "cannot be read: it is lost"));
            flush(d);
            dying.reads = 0;
            w.check(d);
            d.shutdown();
        }
        With d(nand, seed + 1, dying.faults());
        w.check(d);
        CHECK(!says(d, "cannot be read: it is lost"));
    }
}

TEST(parity_after_cuts) {
    /* Power goes at any moment of a stripe. What is found then is safe again when the drive has been idle. */
    for (const Geometry &g : {kSmall, kPlanes}) {
        Nand before(g);
        Written w;
        {
            With d(before, seed);
            for (uint32_t i = 0; i < 150; i++) {
                w.write(d, i);
            }
            flush(d);
            d.shutdown();
        }
        for (uint32_t round = 0; round < 24; round++) {
            Nand nand(before);
            Written now = w;
            std::map<uint32_t, std::set<uint32_t>> may;
            try {
                With d(nand, seed + round, {}, UINT64_MAX);
                d.dev.cutAt = d.dev.now + 2000 + round * 1777;
                for (uint32_t i = 0;; i = (i + 1) % 150) {
                    may[i].insert(now.version + 1);
                    now.write(d, i);
                    if (g.pageBytes > 4096) {
                        continue;
                    }
                    may[i] = {now.version};
                }
            } catch (const model::PowerCut &) {
                model::current = nullptr;
            }
            Written found;
            {
                With d(nand, seed + round);
                std::vector<uint8_t> got;
                for (uint32_t i = 0; i < 150; i++) {
                    CHECK_EQ(d.read(i, 1, &got).status, kOk);
                    std::set<uint32_t> versions = may[i];
                    versions.insert(now.newest[i]);
                    versions.insert(w.newest[i]);
                    for (uint32_t v : versions) {
                        if (got == pattern(i, v)) {
                            found.newest[i] = v;
                        }
                    }
                    CHECK(found.newest.contains(i));
                }
                d.settle();
                d.shutdown();
            }
            Dying dying(nand);
            dying.die.channel = round % g.channels;
            dying.die.way = round / 2 % g.ways;
            dying.dead = true;
            With d(nand, seed + round, dying.faults());
            found.check(d);
        }
    }
}

TEST(parity_mount_with_a_dead_die) {
    /* All of a die is gone when power comes, metadata too: the data are there, and are moved to the others. Then a
     * second die fails reads: of what was moved nothing is lost by that. */
    Nand before(kEight);
    Written w;
    {
        With d(before, seed);
        for (uint32_t i = 0; i < 400; i++) {
            w.write(d, i * 7 % 300);
        }
        d.shutdown();
    }
    for (uint32_t die = 0; die < 8; die++) {
        Nand nand(before);
        Written now = w;
        assasin::Reliability &r = nand.cells().reliability();
        r.dieDies = true;
        r.deadChannel = die % 2;
        r.deadWay = die / 2 % 2;
        r.deadLun = die / 4;
        {
            With d(nand, seed + die);
            now.check(d);
            CHECK(!says(d, "cannot be read: it is lost"));
            for (uint32_t i = 0; i < 600; i++) {
                now.write(d, i * 11 % 300);
            }
            flush(d);
            now.check(d);
            CHECK(!says(d, "cannot be read: it is lost"));
            CHECK(says(d, "is dead"));
        }
        With again(nand, seed + die);
        now.check(again);
        CHECK(!says(again, "cannot be read: it is lost"));
    }
}

TEST(parity_two_dead_dies) {
    /* What only parity of both would have is lost, and said to be; nothing else is. */
    Nand nand(kEight);
    Written w;
    {
        With d(nand, seed);
        for (uint32_t i = 0; i < 300; i++) {
            w.write(d, i);
        }
        d.shutdown();
    }
    Dying one(nand), two(nand);
    two.die.channel = 0;
    one.dead = two.dead = true;
    model::Faults faults = one.faults();
    auto first = faults.readOf, second = two.faults().readOf;
    faults.readOf = [=](uint32_t key) { return first(key) || second(key); };
    With d(nand, seed + 1, faults);
    uint32_t lost = 0;
    std::vector<uint8_t> got;
    for (auto &[lba, last] : w.newest) {
        uint16_t status = d.read(lba, 1, &got).status;
        CHECK(status == kOk || status == kReadError);
        CHECK(status != kOk || got == pattern(lba, last));
        lost += status != kOk;
    }
    /* A quarter of the pages are on the two, of which a few stripes have their parity. */
    CHECK(lost >= 40 && lost <= 80);
}

TEST(parity_trims_are_rebuilt_at_a_mount) {
    /* The log behind the checkpoint is on a die that died with the power: writes and trims are found all the same. */
    Nand nand(kSmall);
    Written w;
    Dying dying(nand);
    {
        With d(nand, seed);
        for (uint32_t i = 0; i < 64; i++) {
            w.write(d, i);
        }
        for (uint32_t i = 0; i < 40; i += 4) {
            CHECK_EQ(d.trim(i, 1).status, kOk);
            w.newest[i] = 0;
            w.write(d, 100 + i);
            w.write(d, 101 + i);
        }
        /* The last stripes have no parity when power goes. */
        for (uint32_t i = 200; i < 216; i++) {
            CHECK_EQ(d.write(i, pattern(i, 0)).status, kOk);
        }
    }
    dying.dead = true;
    With d(nand, seed + 1, dying.faults());
    CHECK(dying.reads > 0);
    w.check(d);
}

TEST(parity_needs_dies) {
    {
        Nand nand(Geometry{1, 2, 1, 1, 40, 16});
        Drive d(nand, 1, seed, 0, {}, {}, {}, UINT64_MAX, kOn);
        CHECK(says(d, "too few dies for the parity that is asked for"));
        CHECK(nand.pages().empty());
    }
    Nand nand(Geometry{1, 2, 1, 1, 40, 16});
    Drive d(nand, 1, seed);
    d.start();
    CHECK(d.capacity() > 0);
}

TEST(parity_takes_a_die) {
    /* By itself a format chooses it from eight dies on; it stays as the medium has it, whatever is asked for later. */
    auto capacity = [&](Nand &nand, Loaded loaded, uint32_t arg = 0) {
        Drive d(nand, 1, seed, arg, {}, {}, {}, UINT64_MAX, loaded);
        d.start();
        uint32_t cap = d.capacity();
        d.shutdown();
        return cap;
    };
    Nand four(Geometry{2, 2, 1, 1, 400, 16}), eight(Geometry{2, 2, 2, 1, 400, 16}),
        plain(Geometry{2, 2, 2, 1, 400, 16});
    uint32_t without = capacity(four, {});
    /* Areas of checkpoints take more superblocks where these are smaller. */
    CHECK_EQ(without, (400u - 5 - 4) * 4 * 16 * 93 / 100);
    CHECK_EQ(capacity(four, kOn), without);
    uint32_t usual = capacity(eight, {}), off = capacity(plain, kOff);
    CHECK_EQ(off, (400u - 5 - 4) * 8 * 16 * 93 / 100);
    CHECK_EQ(usual, (400u - 5 - 4) * 7 * 16 * 93 / 100);
    CHECK_EQ(capacity(eight, kOff), usual);
}

/** Cycles of the model's clock for all of a drive's data, read in order, 32 blocks at a time, with and without one die.
 */
TEST(bench_parity_dead_die_scan) {
    const Geometry g{2, 4, 1, 1, 48, 16};
    Nand nand(g);
    {
        With d(nand, seed);
        for (uint32_t lba = 0; lba < 2048; lba += 32) {
            CHECK_EQ(d.write(lba, pattern(lba, 1, 32)).status, kOk);
        }
        d.shutdown();
    }
    for (bool dead : {false, true}) {
        Nand medium(nand);
        Dying dying(medium);
        dying.dead = dead;
        With d(medium, seed, dying.faults());
        uint64_t from = d.dev.now;
        std::vector<uint8_t> got;
        for (uint32_t lba = 0; lba < 2048; lba += 32) {
            CHECK_EQ(d.read(lba, 32, &got).status, kOk);
            CHECK(got == pattern(lba, 1, 32));
        }
        printf("scan of 2048 blocks, 8 dies, %s: %llu cycles\n", dead ? "one dead" : "all alive",
               static_cast<unsigned long long>(d.dev.now - from));
    }
}

/** Cycles of the model's clock a block written in order at depth 1 x 32 blocks, with and without parity. */
TEST(bench_parity_writes) {
    for (const Loaded &asked : {kOff, kOn}) {
        Nand nand(Geometry{2, 4, 1, 1, 96, 16});
        Drive d(nand, 1, seed, 0, {}, {}, {}, UINT64_MAX, asked);
        d.start();
        uint64_t from = d.dev.now;
        uint64_t programs = nand.programs;
        for (uint32_t lba = 0; lba < 4096; lba += 32) {
            CHECK_EQ(d.write(lba, pattern(lba, 1, 32)).status, kOk);
        }
        printf("write of 4096 blocks, 8 dies, parity %s: %llu cycles, %llu programs\n",
               asked.flags == kOn.flags ? "on" : "off", static_cast<unsigned long long>(d.dev.now - from),
               static_cast<unsigned long long>(nand.programs - programs));
    }
}
