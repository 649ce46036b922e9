// SPDX-License-Identifier: BSD-3-Clause
/* Loads of many commands on drives that are small or full, whose programs fail, and that lose power: each trial is a
 * case of the torture program. */
#include <algorithm>

#include "tests/harness.h"
#include "torture/native.h"

using namespace torture;

namespace {

constexpr Part kSmall{};
/** Pages larger than the drive's blocks, two LUNs of two planes. */
constexpr Part kLarge{.luns = 2, .planes = 2, .blocks = 11, .pages = 16, .pageBytes = 16384, .spare = 2208};
/** Planes are programmed together where that takes longer than the data in of the channel's other pages. */
constexpr Part kPlanes{.planes = 2, .pages = 16, .program = 20'000};
constexpr Part kPlanesOfSectors{
    .luns = 2, .planes = 2, .blocks = 11, .pages = 16, .pageBytes = 16384, .spare = 2208, .program = 200'000};
/** Two LUNs of a way, which work at the same time. */
constexpr Part kLuns{.luns = 2, .pages = 16};
constexpr Part kLunsOfPlanes{.ways = 1, .luns = 2, .planes = 2, .pages = 16, .program = 20'000};

/** Makes the lives of one case. */
class Trial {
  public:
    Trial(const Part &part, uint32_t seed, const std::string &media = "tearing=true") : rng(seed) {
        c.seed = seed;
        c.part = part;
        c.media = media;
        if (!media.empty()) {
            c.media += ",seed=" + std::to_string(seed);
        }
    }
    Case c;
    std::mt19937_64 rng;

    Life &add(Shape shape, uint32_t commands, uint32_t depth = 16) {
        shape.sectors = c.part.pageBytes / 4096;
        Life life;
        life.seed = static_cast<uint32_t>(rng());
        life.depth = depth;
        for (uint32_t i = 0; i < commands; i++) {
            life.commands.push_back(randomCommand(shape, rng));
        }
        c.lives.push_back(life);
        return c.lives.back();
    }
    /** What the last life has left is compared, too. */
    Counts &run() {
        add({.blocks = 1}, 0);
        Counts &counts = *sharedCounts();
        try {
            play(c, counts);
        } catch (const std::exception &e) {
            c.save("build/torture-failed.case");
            throw harness::Failure(e.what() + std::string("; the case: build/torture-failed.case"));
        }
        return counts;
    }
    uint32_t capacity() const {
        const Part &p = c.part;
        model::Nand nand({p.channels, p.ways, p.luns, p.planes, p.blocks, p.pages, p.pageBytes, p.spare});
        harness::Drive d(nand);
        d.start();
        return d.capacity();
    }
};

/** All blocks in use: none of them is refused, and once it is emptied the drive takes data again. */
void full(const Part &part, uint32_t commands, uint32_t seed) {
    Trial t(part, seed);
    uint32_t blocks = t.capacity();
    for (uint32_t life = 0; life < 6; life++) {
        t.add({.blocks = blocks, .writes = 80, .flushes = 1}, commands, 32).end = t.rng() % 2 ? Life::Off : Life::Idle;
    }
    Life &last = t.add({.blocks = 1}, 0, 1);
    for (uint32_t lba = 0; lba < blocks; lba += 64) {
        last.commands.push_back({Command::Trim, lba, std::min(64u, blocks - lba), false});
    }
    t.add({.blocks = 1}, 0).commands = {{Command::Write, 17, 32, false}, {Command::Read, 17, 32, false}};
    CHECK_EQ(t.run().refused.load(), 0u);
}

void powerCuts(const Part &part, uint32_t variants, uint32_t seed) {
    for (uint32_t variant = 0; variant < variants; variant++) {
        Trial t(part, seed * 3 + variant);
        for (uint32_t life = 0; life < 15; life++) {
            t.add({.blocks = 300}, 1500).cut = t.rng() % 2'000'000;
        }
        Counts &counts = t.run();
        CHECK(counts.cuts >= 15);
    }
}

/** Programs and erases that fail. */
void failures(const Part &part, uint32_t seed) {
    Trial t(part, seed, "tearing=true,program-fail=0.005,erase-fail=0.002");
    for (uint32_t life = 0; life < 8; life++) {
        t.add({.blocks = 300}, 300, 32).end = t.rng() % 2 ? Life::Off : Life::Idle;
    }
    t.run();
}

/** Pieces that write to flash beside host I/O, on a medium that superblocks have to come back on. */
void pieces(const Part &part, uint32_t seed) {
    Trial t(part, seed);
    for (uint32_t life = 0; life < 14; life++) {
        Life &l = t.add({.blocks = 300, .offloads = true, .offloadBase = 400, .offloadBlocks = 70}, 500);
        l.end = t.rng() % 2 ? Life::Off : Life::Idle;
        if (t.rng() % 3 != 0) {
            l.cut = t.rng() % 3'000'000;
        }
    }
    t.run();
}

} // namespace

TEST(torture_shutdown_and_kill) {
    Trial t(kSmall, seed);
    for (uint32_t life = 0; life < 12; life++) {
        t.add({.blocks = 400}, static_cast<uint32_t>(t.rng() % 400), 32).end = t.rng() % 2 ? Life::Off : Life::Idle;
    }
    t.run();
}

TEST(torture_full) {
    full(kSmall, 1200, seed);
}

TEST(torture_full_large_pages) {
    full(kLarge, 4800, seed);
}

TEST(torture_full_planes) {
    full(kPlanes, 1200, seed);
}

TEST(torture_full_luns) {
    full(kLuns, 1200, seed);
    full(kLunsOfPlanes, 1200, seed);
}

TEST(torture_overwrite_reclaims) {
    /* Far more written than the medium holds, always the same blocks: superblocks that hold nothing come back. */
    Trial t(kSmall, seed);
    uint64_t written = 0;
    for (const Command &k : t.add({.blocks = 64, .writes = 90, .flushes = 0}, 2500, 32).commands) {
        written += k.kind == Command::Write ? k.blocks : 0;
    }
    CHECK(written > uint64_t{kSmall.blocks} * kSmall.pages * kSmall.channels * kSmall.ways);
    CHECK_EQ(t.run().refused.load(), 0u);
}

TEST(torture_deep_queue) {
    /* More than the firmware holds at once, all on few blocks. */
    Trial t({.channels = 4, .luns = 2, .planes = 2, .pages = 16}, seed);
    t.add({.blocks = 200, .flushes = 1}, 1500, 250);
    t.run();
}

TEST(torture_power_cut) {
    powerCuts(kSmall, 3, seed);
}

TEST(torture_power_cut_large_pages) {
    powerCuts(kLarge, 2, seed);
}

TEST(torture_power_cuts_planes) {
    powerCuts(kPlanes, 1, seed);
    powerCuts(kPlanesOfSectors, 1, seed);
}

TEST(torture_power_cuts_luns) {
    powerCuts(kLuns, 1, seed);
    powerCuts(kLunsOfPlanes, 1, seed);
}

TEST(torture_faults) {
    failures({.blocks = 64}, seed);
}

TEST(torture_faults_luns) {
    failures({.ways = 1, .luns = 2, .planes = 2, .blocks = 32, .program = 20'000}, seed);
}

TEST(torture_reset) {
    /* Resets with commands in flight, some of them of a controller that is enabled again before the firmware looks. */
    Trial t(kSmall, seed);
    for (uint32_t life = 0; life < 5; life++) {
        Shape shape{.blocks = 300, .resets = true};
        Life &l = t.add(shape, 0, 32);
        for (uint32_t i = 0; i < 5; i++) {
            for (uint64_t n = 20 + t.rng() % 60; n > 0; n--) {
                l.commands.push_back(randomCommand(shape, t.rng));
            }
            l.commands.push_back({Command::Reset, 0, 0, false});
        }
    }
    t.run();
}

TEST(torture_pieces) {
    pieces({.blocks = 64, .pages = 16}, seed);
}

TEST(torture_pieces_large_pages) {
    pieces({.blocks = 32, .pages = 8, .pageBytes = 16384, .spare = 2208}, seed);
}
