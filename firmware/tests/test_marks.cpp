// SPDX-License-Identifier: BSD-3-Clause
/* Parts with blocks that came bad from the factory: few of them, many, nearly all, and some where the drive's own
 * superblocks would lie. */
#include "tests/harness.h"

#include <map>

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

/** Like the modules of real boards, but of short blocks, so that the log goes through many superblocks of four blocks
 * each. */
const Geometry kShort{2, 1, 1, 2, 600, 16, 16384, 2208, false, 0x1f};
const Geometry kL05b{2, 2, 1, 2, 1096, 512, 16384, 2208, false, 0x1f};
const Geometry kHynix{2, 2, 2, 2, 2092, 256, 16384, 1664, false, 0x1f};

bool says(const Drive &d, const std::string &text) {
    return d.dev.console.find(text) != std::string::npos;
}

/** Superblocks with blocks that came bad, and how many each has. */
using Bad = std::map<uint32_t, uint32_t>;

Bad badOf(Nand &nand) {
    Bad bad;
    const Geometry &g = nand.geo;
    for (uint32_t at = 0; at < g.channels * g.ways * g.luns * g.planes * g.blocks; at++) {
        uint32_t block = at % (g.planes * g.blocks), lun = at / (g.planes * g.blocks) % g.luns;
        uint32_t die = at / (g.planes * g.blocks * g.luns);
        if (nand.cells().factoryBad({die / g.ways, die % g.ways, lun, block, 0})) {
            bad[block / g.planes]++;
        }
    }
    return bad;
}

/** Bad blocks, but for those of superblock 0, which holds the root blocks alone. */
uint32_t blocksOf(const Bad &bad) {
    uint32_t blocks = 0;
    for (auto [superblock, count] : bad) {
        blocks += superblock > 0 ? count : 0;
    }
    return blocks;
}

/** `g` with a share of bad blocks that fall such that `is` likes it. */
Geometry where(Geometry g, double share, const std::function<bool(const Bad &)> &is) {
    g.factoryBad = share;
    for (g.chance = 1; g.chance < 2000; g.chance++) {
        Nand nand(g);
        if (is(badOf(nand))) {
            return g;
        }
    }
    throw Failure("no such medium");
}

/** Faults that only look: no block that came bad is programmed or erased, which would take its mark away. */
model::Faults watch(Nand &nand, uint32_t &touched) {
    model::Faults faults;
    auto look = [&nand, &touched](uint32_t key) {
        assasin::NandAddress at = nand.address(key);
        touched += nand.cells().factoryBad(at);
        return false;
    };
    faults.eraseOf = look;
    faults.programOf = [look](uint32_t key, uint32_t) { return look(key); };
    return faults;
}

/** Write the blocks of `places` in pieces of 32. */
void writeAt(Drive &d, const std::vector<uint32_t> &places, uint32_t version) {
    for (uint32_t lba : places) {
        CHECK_EQ(d.write(lba, pattern(lba, version, 32)).status, kOk);
    }
}

void checkAt(Drive &d, const std::vector<uint32_t> &places, uint32_t version, bool orOlder = false) {
    std::vector<uint8_t> got;
    for (uint32_t lba : places) {
        CHECK_EQ(d.read(lba, 32, &got).status, kOk);
        for (uint32_t i = 0; i < 32; i++) {
            std::vector<uint8_t> one(got.begin() + i * 4096, got.begin() + (i + 1) * 4096);
            CHECK(one == pattern(lba + i, version) || (orOlder && one == pattern(lba + i, version - 1)));
        }
    }
}

uint16_t flush(Drive &d) {
    return d.exec(1, Drive::sqe(0x00, 1)).status;
}

/** Format, write, lose power in the middle of more writes, mount, read, shut down and mount again. */
void live(const Geometry &g, uint32_t seed, uint32_t writes) {
    Nand nand(g);
    Bad bad = badOf(nand);
    uint32_t touched = 0, cap, marked = blocksOf(bad), all = g.channels * g.ways * g.luns * g.planes * g.blocks;
    model::Faults faults = watch(nand, touched);
    std::vector<uint32_t> places;
    {
        Drive d(nand, 1, seed, 0, {}, {}, faults);
        CHECK(marked == 0 || says(d, "ftl: " + std::to_string(marked) + " of " + std::to_string(all) +
                                         " blocks came bad: they are left out"));
        d.start();
        cap = d.capacity();
        /* 7 % of what the good blocks hold are kept back, or what it takes to write. */
        uint64_t good = uint64_t{all - marked} * g.pages * (g.pageBytes / 4096);
        CHECK(cap <= good * 93 / 100);
        /* From eight dies on, one of them is parity's. */
        uint64_t dies = uint64_t{g.channels} * g.ways * g.luns;
        CHECK(cap >= good * 85 / 100 * (dies >= 8 ? dies - 1 : dies) / dies);
        for (uint32_t i = 0; i < writes; i++) {
            places.push_back(static_cast<uint32_t>(static_cast<uint64_t>(cap - 32) * i / (writes - 1)));
        }
        writeAt(d, places, 1);
        CHECK_EQ(flush(d), kOk);
        checkAt(d, places, 1);
        d.dev.cutAt = d.dev.now + 200'000 + seed * 1000;
        bool cut = false;
        try {
            for (uint32_t i = 0; i < 20; i++) {
                writeAt(d, places, 2);
            }
        } catch (const model::PowerCut &) {
            d.dev.tearInFlight();
            cut = true;
        }
        CHECK(cut);
    }
    {
        Drive d(nand, 1, seed + 1, 0, {}, {}, faults);
        CHECK(says(d, "ftl: recovered "));
        d.start();
        CHECK_EQ(d.capacity(), cap);
        checkAt(d, places, 2, true);
        writeAt(d, places, 3);
        d.shutdown();
    }
    Drive d(nand, 1, seed + 2, 0, {}, {}, faults);
    CHECK(says(d, "clean medium"));
    d.start();
    CHECK_EQ(d.capacity(), cap);
    checkAt(d, places, 3);
    writeAt(d, places, 4);
    CHECK_EQ(flush(d), kOk);
    checkAt(d, places, 4);
    CHECK_EQ(touched, 0u);
}

/** Formatting is refused with these words, and nothing is erased or programmed. */
void refused(const Geometry &g, uint32_t seed, const std::string &line, const std::string &fault) {
    Nand nand(g);
    Drive d(nand, 1, seed);
    CHECK(says(d, line));
    CHECK(says(d, "no namespace: " + fault));
    CHECK_EQ(nand.erases + nand.programs, 0u);
    d.start();
    CHECK_EQ(d.capacity(), 0u);
}

} // namespace

TEST(marks_few_many_and_nearly_all_blocks_bad) {
    /* 60 pieces of 32 blocks fill some eight superblocks. */
    live(where(kShort, 0.01, [](const Bad &bad) { return bad.size() > 4; }), seed, 60);
    live(where(kShort, 0.16, [](const Bad &bad) { return bad.size() > 250; }), seed, 60);
    live(where(kShort, 0.6, [](const Bad &bad) { return blocksOf(bad) > 1400; }), seed, 60);
}

TEST(marks_where_checkpoints_and_roots_lie) {
    live(where(kShort, 0.16, [](const Bad &bad) { return bad.count(0) == 0 && bad.count(1) && bad.count(3); }), seed,
         60);
    live(where(kShort, 0.16, [](const Bad &bad) { return bad.count(0) == 0 && bad.count(8) && bad.count(9); }), seed,
         60);
    /* The first blocks of their packages come good; other candidates for root records may not: they are not used. */
    live(where(kShort, 0.16, [](const Bad &bad) { return bad.count(0) == 1; }), seed, 60);
    live(where(kShort, 0.001, [](const Bad &bad) { return bad.size() == 1 && bad.count(0); }), seed, 60);
}

TEST(marks_that_leave_too_few_superblocks) {
    refused(where(kShort, 0.99, [](const Bad &bad) { return blocksOf(bad) < 2395; }), seed,
            "superblocks 1 to 599 have too few", "too few good blocks where checkpoints have to be");
}

TEST(marks_of_real_modules) {
    for (Geometry g : {kL05b, kHynix}) {
        g.factoryBad = 0.01;
        g.chance = seed;
        live(g, seed, 40);
    }
}

TEST(marks_power_cut_in_a_format) {
    Geometry g = where(kShort, 0.16, [](const Bad &bad) { return bad.count(1) && bad.count(4); });
    uint64_t whole;
    {
        Nand nand(g);
        whole = Drive(nand, 1, seed).dev.now;
    }
    uint32_t cuts = 0;
    std::vector<uint32_t> places{0, 5000};
    for (uint64_t part = 1; part < 24; part++) {
        Nand nand(g);
        uint32_t touched = 0;
        model::Faults faults = watch(nand, touched);
        try {
            /* The checkpoint comes last. */
            Drive d(nand, 1, seed, 0, {}, {}, faults, whole - whole * part * part / 1200);
        } catch (const model::PowerCut &) {
            cuts++;
        }
        {
            Drive d(nand, 1, seed + 1, 0, {}, {}, faults);
            d.start();
            writeAt(d, places, 1);
            CHECK_EQ(flush(d), kOk);
        }
        Drive d(nand, 1, seed + 2, 0, {}, {}, faults);
        d.start();
        checkAt(d, places, 1);
        CHECK_EQ(touched, 0u);
    }
    CHECK(cuts > 12);
}
