// SPDX-License-Identifier: BSD-3-Clause
// What the packages' cells do with time, use, loss of power and bad luck: each behaviour is measured.
#include "NandCells.h"
#include "UnitPart.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace assasin;

namespace {

PartFile mlcPart() {
    PartFile part = unitPart("UNIT-MLC", {1, 1, 64, 16, 4096, 224});
    part.reliability.randomShare = 0;
    return part;
}

using Raw = std::vector<uint8_t>;

/** The packages of one channel with two ways. */
struct Medium {
    explicit Medium(const PartFile &part, const std::string &path = "")
        : part(part), image(path, part, 1, 2), cells(image, this->part, faults) {
    }

    NandAddress at(unsigned block, unsigned page, unsigned way = 0) const {
        return {0, way, 0, block, page};
    }
    Raw data(unsigned block, unsigned page) const {
        std::mt19937_64 random(block * 1000 + page);
        Raw raw(part.geometry.rawPageBytes());
        for (uint8_t &byte : raw)
            byte = static_cast<uint8_t>(random());
        return raw;
    }
    void fill(unsigned block, unsigned pages = 16) {
        for (unsigned page = 0; page < pages; page++)
            EXPECT_TRUE(cells.program(at(block, page), data(block, page).data()));
    }
    Raw read(unsigned block, unsigned page, unsigned level = 0) {
        Raw raw(part.geometry.rawPageBytes());
        cells.read(at(block, page), raw.data(), level);
        return raw;
    }
    std::set<unsigned> wrong(const Raw &have, const Raw &sent) const {
        std::set<unsigned> bits;
        for (unsigned i = 0; i < have.size(); i++)
            for (unsigned k = 0; k < 8; k++)
                if ((have[i] ^ sent[i]) >> k & 1)
                    bits.insert(8 * i + k);
        return bits;
    }
    std::set<unsigned> errors(unsigned block, unsigned page, unsigned level = 0) {
        return wrong(read(block, page, level), data(block, page));
    }
    /** Errors in a block of 16 pages that is filled. */
    uint64_t errorsOf(unsigned block, unsigned level = 0) {
        uint64_t count = 0;
        for (unsigned page = 0; page < 16; page++)
            count += errors(block, page, level).size();
        return count;
    }
    double bits(unsigned pages) const {
        return 8.0 * part.geometry.rawPageBytes() * pages;
    }
    void wear(unsigned block, unsigned erases) {
        for (unsigned i = 0; i < erases; i++)
            cells.erase(at(block, 0));
    }

    const PartFile part;
    NandImage image;
    NandFaults faults;
    NandCells cells;
};

/** `count` lies within five deviations of what is expected. */
void expectNear(uint64_t count, double expected) {
    EXPECT_NEAR(static_cast<double>(count), expected, 5 * std::sqrt(expected) + 1);
}

TEST(Cells, PerfectPartReadsWhatWasSent) {
    Medium m(mlcPart());
    m.cells.age(100000);
    m.wear(3, 5000);
    m.fill(3);
    for (int i = 0; i < 200; i++)
        EXPECT_EQ(m.errorsOf(3), 0u);
    EXPECT_EQ(m.cells.damage().bitErrors, 0u);
}

TEST(Cells, ErrorRateFollowsWear) {
    PartFile part = mlcPart();
    part.reliability.setAll("rber=1e-4,wear-rber=4e-4,endurance=1000");
    Medium m(part);
    const unsigned erases[] = {0, 500, 1000, 2000};
    for (unsigned block = 0; block < 4; block++) {
        m.wear(block, erases[block]);
        m.fill(block);
        const double wear = erases[block] / 1000.0;
        expectNear(m.errorsOf(block), m.bits(16) * (1e-4 + 4e-4 * wear * wear));
    }
    EXPECT_GT(m.cells.damage().bitErrors, 0u);
}

TEST(Cells, ErrorRateFollowsTimeAndTheClockIsKept) {
    const TempFile file;
    PartFile part = mlcPart();
    part.reliability.setAll("retention-rber=1e-3,endurance=1000,wear=1000");
    {
        Medium m(part, file.path);
        m.cells.age(700);
        m.fill(1);
        EXPECT_EQ(m.errorsOf(1), 0u);
        m.cells.age(500);
        expectNear(m.errorsOf(1), m.bits(16) * 0.5e-3);
        m.fill(2);
    }
    Medium m(part, file.path);
    EXPECT_EQ(m.cells.hours(), 1200);
    m.cells.age(1500);
    expectNear(m.errorsOf(1), m.bits(16) * 2.0e-3);
    expectNear(m.errorsOf(2), m.bits(16) * 1.5e-3);
    // A fresh block loses a tenth of that.
    m.cells.reliability().wear = 0;
    expectNear(m.errorsOf(1), m.bits(16) * 2.0e-4);
}

TEST(Cells, ErrorRateFollowsReadsUntilTheErase) {
    PartFile part = mlcPart();
    part.reliability.setAll("disturb-rber=1e-2,endurance=1,wear=1");
    Medium m(part);
    m.cells.reliability().endurance = 1000;
    m.cells.reliability().wear = 1000;
    m.fill(5);
    for (int i = 0; i < 9984; i++) // and 16 by the measurement, half of them before a page's turn
        m.read(5, 7);
    expectNear(m.errorsOf(5), m.bits(16) * 1e-3);
    m.fill(6);
    EXPECT_LE(m.errorsOf(6), 10u); // another block
    m.cells.erase(m.at(5, 0));
    m.fill(5);
    EXPECT_LE(m.errorsOf(5), 10u);
}

TEST(Cells, SameCellsFailAgainAndMoreJoinThem) {
    PartFile part = mlcPart();
    part.reliability.setAll("rber=1e-3,retention-rber=1e-3,wear=3000");
    Medium m(part);
    m.fill(0);
    const std::set<unsigned> first = m.errors(0, 3);
    EXPECT_GT(first.size(), 10u);
    EXPECT_EQ(m.errors(0, 3), first);
    EXPECT_NE(m.errors(0, 4), first);
    m.cells.age(2000);
    const std::set<unsigned> later = m.errors(0, 3);
    EXPECT_GT(later.size(), 2 * first.size());
    std::set<unsigned> both;
    std::set_intersection(first.begin(), first.end(), later.begin(), later.end(), std::inserter(both, both.end()));
    EXPECT_GT(both.size(), first.size() * 9 / 10);
    // Another generation of the block has other weak cells.
    m.cells.erase(m.at(0, 0));
    m.fill(0);
    EXPECT_NE(m.errors(0, 3), first);
}

TEST(Cells, RandomShareChangesFromReadToRead) {
    PartFile part = mlcPart();
    part.reliability.setAll("rber=2e-3,random-share=0.25");
    Medium m(part);
    m.fill(0);
    std::map<unsigned, unsigned> seen;
    for (int i = 0; i < 100; i++)
        for (unsigned bit : m.errors(0, 0))
            seen[bit]++;
    uint64_t fixed = 0, random = 0;
    for (const auto &[bit, times] : seen) {
        fixed += times >= 90;
        random += times < 90 ? times : 0;
    }
    expectNear(fixed, m.bits(1) * 1.5e-3);
    expectNear(random, 100 * m.bits(1) * 0.5e-3);
}

TEST(Cells, PagesDiffer) {
    PartFile part = mlcPart();
    part.reliability.setAll("rber=1e-3,page-spread=0.5");
    Medium m(part);
    m.fill(0);
    size_t least = SIZE_MAX, most = 0;
    for (unsigned page = 0; page < 16; page++) {
        least = std::min(least, m.errors(0, page).size());
        most = std::max(most, m.errors(0, page).size());
    }
    EXPECT_GT(most, 2 * least);
}

TEST(Cells, ErasedPagesHaveFewZeros) {
    PartFile part = mlcPart();
    part.reliability.setAll("rber=1e-3,erased-share=0.1");
    Medium m(part);
    uint64_t zeros = 0;
    for (unsigned page = 0; page < 16; page++)
        zeros += m.wrong(m.read(9, page), Raw(part.geometry.rawPageBytes(), 0xFF)).size();
    expectNear(zeros, m.bits(16) * 1e-4);
}

TEST(Cells, OneRetryLevelIsBestForABlock) {
    PartFile part = mlcPart();
    part.reliability.setAll("rber=2e-3,retry-levels=8,retry-gain=0.2");
    Medium m(part);
    std::set<unsigned> levels;
    for (unsigned block = 0; block < 12; block++) {
        m.fill(block);
        uint64_t least = UINT64_MAX;
        unsigned best = 0;
        for (unsigned level = 0; level < 8; level++) {
            const uint64_t errors = m.errorsOf(block, level);
            if (errors < least) {
                least = errors;
                best = level;
            }
        }
        EXPECT_EQ(best, m.cells.bestLevel(m.at(block, 0)));
        EXPECT_NE(best, 0u);
        expectNear(least, m.bits(16) * 0.4e-3);
        expectNear(m.errorsOf(block, 0), m.bits(16) * 2e-3);
        levels.insert(best);
    }
    EXPECT_GT(levels.size(), 3u);
}

TEST(Cells, FactoryBadBlocksShowByTheirMarks) {
    PartFile part = mlcPart();
    part.geometry.blocksPerPlane = 1000;
    part.reliability.setAll("factory-bad=0.05,seed=11");
    auto marked = [](Medium &m, unsigned way) {
        std::set<unsigned> blocks;
        const unsigned spare = m.part.geometry.pageBytes;
        for (unsigned block = 0; block < 1000; block++) {
            Raw first(m.part.geometry.rawPageBytes()), last = first;
            m.cells.read(m.at(block, 0, way), first.data());
            m.cells.read(m.at(block, 15, way), last.data());
            const bool bad = first[0] == 0 && first[spare] == 0 && last[0] == 0 && last[spare] == 0;
            EXPECT_TRUE(bad || (first[0] == 0xFF && last[spare] == 0xFF));
            if (bad)
                blocks.insert(block);
        }
        return blocks;
    };
    Medium m(part);
    const std::set<unsigned> bad = marked(m, 0);
    expectNear(bad.size(), 50);
    EXPECT_NE(bad, marked(m, 1));
    for (unsigned block : bad) {
        EXPECT_FALSE(m.cells.erase(m.at(block, 0)));
        EXPECT_FALSE(m.cells.program(m.at(block, 0), m.data(block, 0).data()));
    }
    EXPECT_EQ(marked(m, 0), bad);
    EXPECT_EQ(bad.count(0), 0u);
    Medium same(part);
    EXPECT_EQ(marked(same, 0), bad);
    part.reliability.set("seed", "12");
    Medium other(part);
    EXPECT_NE(marked(other, 0), bad);
}

TEST(Cells, TheFirstBlockOfATargetComesGood) {
    PartFile part = mlcPart();
    part.reliability.setAll("factory-bad=1");
    EXPECT_EQ(part.parameterPage()[103], 128);
    EXPECT_EQ(part.parameterPage()[107], 1);
    Medium m(part);
    for (unsigned way = 0; way < 2; way++) {
        EXPECT_FALSE(m.cells.factoryBad(m.at(0, 0, way)));
        EXPECT_TRUE(m.cells.factoryBad(m.at(1, 0, way)));
    }
}

TEST(Cells, ImageKeepsItsFactoryBadBlocks) {
    const TempFile file;
    PartFile part = mlcPart();
    part.reliability.setAll("factory-bad=0.5");
    unsigned bad = 0;
    {
        Medium m(part, file.path);
        while (!m.cells.factoryBad(m.at(bad, 0)))
            bad++;
    }
    {
        Medium m(mlcPart(), file.path);
        EXPECT_TRUE(m.cells.factoryBad(m.at(bad, 0)));
    }
    part.reliability.setAll("factory-bad=0.25");
    try {
        Medium m(part, file.path);
        ADD_FAILURE() << "not refused";
    } catch (const std::runtime_error &error) {
        EXPECT_NE(std::string(error.what()).find("factory-bad=0.5"), std::string::npos) << error.what();
    }
}

TEST(Cells, FailuresGrowWithWear) {
    PartFile part = mlcPart();
    part.reliability.setAll("program-fail=0.4,erase-fail=0.4,endurance=1000");
    Medium m(part);
    auto measure = [&](double wear) {
        m.cells.reliability().wear = wear;
        unsigned programs = 0, erases = 0;
        for (unsigned block = 0; block < 64; block++)
            for (unsigned page = 0; page < 16; page++)
                programs += !m.cells.program(m.at(block, page), m.data(block, page).data());
        for (unsigned block = 0; block < 64; block++)
            erases += !m.cells.erase(m.at(block, 0));
        return std::pair(programs, erases);
    };
    const auto [freshPrograms, freshErases] = measure(0);
    expectNear(freshPrograms, 1024 * 0.04);
    expectNear(freshErases, 64 * 0.04);
    EXPECT_EQ(m.cells.damage().programFailures, freshPrograms);
    EXPECT_EQ(m.cells.damage().eraseFailures, freshErases);
    Medium old(part);
    old.cells.reliability().wear = 1000;
    unsigned failed = 0, forGood = 0;
    for (unsigned block = 0; block < 64; block++) {
        if (old.cells.erase(old.at(block, 0)))
            continue;
        failed++;
        old.cells.reliability().eraseFail = 0;
        forGood += !old.cells.erase(old.at(block, 0));
        old.cells.reliability().eraseFail = 0.4;
    }
    expectNear(failed, 64 * 0.4);
    EXPECT_GT(forGood, failed / 6);
    EXPECT_LT(forGood, failed);
}

TEST(Cells, BlocksWearOutForGood) {
    PartFile part = mlcPart();
    part.reliability.setAll("life=100");
    Medium m(part);
    std::set<unsigned> lives;
    for (unsigned block = 0; block < 16; block++) {
        unsigned life = 0;
        while (m.cells.erase(m.at(block, 0)))
            ASSERT_LT(life++, 300u);
        EXPECT_GE(life, 100u);
        EXPECT_LE(life, 200u);
        lives.insert(life);
        EXPECT_FALSE(m.cells.erase(m.at(block, 0)));
        EXPECT_FALSE(m.cells.program(m.at(block, 0), m.data(block, 0).data()));
    }
    EXPECT_GT(lives.size(), 8u);
}

TEST(Cells, ADieDiesAtItsTime) {
    PartFile part = mlcPart();
    part.reliability.setAll("dead-die=0.1.0,dead-after=20,dead-how=fail");
    Medium m(part);
    for (unsigned page = 0; page < 16; page++)
        EXPECT_TRUE(m.cells.program(m.at(0, page, 1), m.data(0, page).data()));
    Raw raw(part.geometry.rawPageBytes());
    for (unsigned page = 0; page < 4; page++) {
        m.cells.read(m.at(0, page, 1), raw.data());
        EXPECT_EQ(raw, m.data(0, page));
    }
    m.cells.read(m.at(0, 0, 1), raw.data());
    EXPECT_GT(m.wrong(raw, m.data(0, 0)).size(), m.bits(1) / 3);
    EXPECT_FALSE(m.cells.erase(m.at(1, 0, 1)));
    EXPECT_FALSE(m.cells.program(m.at(2, 0, 1), m.data(2, 0).data()));
    m.fill(0); // the die beside it
    EXPECT_EQ(m.errorsOf(0), 0u);
    m.cells.reliability().deadHow = DeadDie::Ones;
    m.cells.read(m.at(0, 0, 1), raw.data());
    EXPECT_EQ(raw, Raw(raw.size(), 0xFF));
}

// ---------------------------------------------------------------- operations that are cut short

PartFile tearingPart() {
    PartFile part = mlcPart();
    part.reliability.setAll("tearing=true");
    return part;
}

TEST(Cut, APageIsDoneOrTornOrNotBegunByChance) {
    Medium m(tearingPart());
    unsigned same = 0, blank = 0, other = 0;
    for (unsigned block = 0; block < 64; block++) {
        m.cells.beginProgram(m.at(block, 0), m.data(block, 0).data());
        m.cells.cutAll();
        const Raw raw = m.read(block, 0);
        const size_t ones = m.wrong(raw, Raw(raw.size(), 0)).size();
        if (raw == m.data(block, 0))
            same++;
        else if (8 * raw.size() - ones <= 40)
            blank++;
        else
            other++;
    }
    EXPECT_GT(same, 8u);
    EXPECT_GT(blank, 8u);
    EXPECT_GT(other, 8u);
    EXPECT_EQ(m.cells.damage().cut, 64u);
    EXPECT_EQ(m.cells.cuts.size(), 64u);
}

TEST(Cut, TheSeedRepeatsIt) {
    auto run = [](const char *seed, unsigned reads) {
        PartFile part = tearingPart();
        part.reliability.set("seed", seed);
        Medium m(part);
        Raw all;
        for (unsigned block = 0; block < 16; block++) {
            for (unsigned i = 0; i < reads; i++)
                m.read(40, 0);
            m.cells.beginProgram(m.at(block, 0, 1), m.data(block, 0).data());
            m.cells.cutAll();
            Raw raw(part.geometry.rawPageBytes());
            m.cells.read(m.at(block, 0, 1), raw.data());
            all.insert(all.end(), raw.begin(), raw.end());
        }
        return all;
    };
    EXPECT_EQ(run("5", 0), run("5", 3));
    EXPECT_NE(run("5", 0), run("6", 0));
}

TEST(Cut, AllBitsOrSomeOfAHalfDonePage) {
    Medium m(tearingPart());
    m.cells.cutAs = NandCut::Half;
    for (unsigned block = 0; block < 8; block++) {
        m.cells.beginProgram(m.at(block, 0), m.data(block, 0).data());
        m.cells.cutAll();
        const Raw sent = m.data(block, 0), have = m.read(block, 0);
        for (size_t i = 0; i < sent.size(); i++)
            ASSERT_EQ(have[i] & sent[i], sent[i]) << "a bit fell that was not to be programmed";
        EXPECT_GT(m.errors(block, 0).size(), 100u);
    }
}

TEST(Cut, SomeColumnsAreWhole) {
    // So data may be torn while the metadata beside them is whole, and the other way round.
    Medium m(tearingPart());
    m.cells.cutAs = NandCut::Columns;
    unsigned wholeEnd = 0, tornEnd = 0;
    for (unsigned block = 0; block < 32; block++) {
        m.cells.beginProgram(m.at(block, 0), m.data(block, 0).data());
        m.cells.cutAll();
        const Raw sent = m.data(block, 0), have = m.read(block, 0);
        unsigned whole = 0;
        for (size_t from = 0; from + 64 <= sent.size(); from += 64)
            whole += std::equal(sent.begin() + long(from), sent.begin() + long(from) + 64, have.begin() + long(from));
        EXPECT_GT(whole, 0u);
        EXPECT_LT(whole, sent.size() / 64);
        (std::equal(sent.begin() + 4096, sent.end(), have.begin() + 4096) ? wholeEnd : tornEnd)++;
    }
    EXPECT_GT(wholeEnd, 4u);
    EXPECT_GT(tornEnd, 4u);
}

TEST(Cut, AWeaklyProgrammedPageReadsWellAndThenBadly) {
    Medium m(tearingPart());
    m.cells.cutAs = NandCut::Weak;
    m.fill(0, 4);
    m.cells.beginProgram(m.at(0, 4), m.data(0, 4).data());
    m.cells.cutAll();
    for (int i = 0; i < 20; i++)
        EXPECT_EQ(m.errors(0, 4).size(), 0u);
    for (int i = 0; i < 300; i++)
        m.read(0, 0);
    const size_t some = m.errors(0, 4).size();
    for (int i = 0; i < 700; i++)
        m.read(0, 0);
    const size_t many = m.errors(0, 4).size();
    EXPECT_GT(many, 10 * some);
    expectNear(many, m.bits(1) * 0.03);
    EXPECT_EQ(m.errors(0, 3).size(), 0u);
    // Time does the same.
    m.cells.beginProgram(m.at(1, 0), m.data(1, 0).data());
    m.cells.cutAll();
    m.cells.age(24);
    expectNear(m.errors(1, 0).size(), m.bits(1) * 0.03);
}

TEST(Cut, ABlankLookingPageDoesNotHoldASecondProgram) {
    Medium m(tearingPart());
    unsigned lost = 0;
    for (unsigned block = 0; block < 32; block++) {
        m.cells.cutAs = NandCut::Blank;
        m.cells.beginProgram(m.at(block, 0), m.data(block, 7).data());
        m.cells.cutAll();
        const Raw raw = m.read(block, 0);
        EXPECT_LE(m.wrong(raw, Raw(raw.size(), 0xFF)).size(), 40u);
        EXPECT_EQ(m.cells.obstacle(m.at(block, 0)), NandCells::Obstacle::Damaged);
        const bool ok = m.cells.program(m.at(block, 0), m.data(block, 0).data());
        m.cells.age(24);
        lost += !ok || m.errors(block, 0).size() > 500;
    }
    EXPECT_EQ(lost, 32u);
}

TEST(Cut, PairsAreLostTogether) {
    PartFile part = tearingPart();
    part.reliability.set("pairing", "dist3");
    for (NandCut how : {NandCut::Blank, NandCut::Half, NandCut::Columns}) {
        for (const auto &[upper, lower] :
             {std::pair(2u, 0u), std::pair(4u, 1u), std::pair(8u, 5u), std::pair(15u, 13u)}) {
            Medium m(part);
            m.fill(0, upper);
            m.cells.cutAs = how;
            m.cells.beginProgram(m.at(0, upper), m.data(0, upper).data());
            m.cells.cutAll();
            for (unsigned page = 0; page < upper; page++)
                if (page == lower)
                    EXPECT_GT(m.errors(0, page).size(), m.bits(1) / 64);
                else
                    EXPECT_EQ(m.errors(0, page).size(), 0u) << page;
        }
        // A lower page tears alone.
        Medium m(part);
        m.fill(0, 5);
        m.cells.cutAs = how;
        m.cells.beginProgram(m.at(0, 5), m.data(0, 5).data());
        m.cells.cutAll();
        for (unsigned page = 0; page < 5; page++)
            EXPECT_EQ(m.errors(0, page).size(), 0u) << page;
    }
}

TEST(Cut, EveryPageOfAPairSchemeHasOneMate) {
    Reliability r;
    r.set("pairing", "dist3");
    for (unsigned pages : {16u, 256u, 512u}) {
        std::set<int> lower;
        unsigned uppers = 0;
        for (unsigned page = 0; page < pages; page++) {
            const int mate = r.lowerPage(page, pages);
            if (mate < 0)
                continue;
            uppers++;
            EXPECT_LT(mate, static_cast<int>(page));
            EXPECT_LT(r.lowerPage(static_cast<unsigned>(mate), pages), 0) << "page " << mate << " is upper and lower";
            EXPECT_TRUE(lower.insert(mate).second);
        }
        EXPECT_EQ(uppers, pages / 2);
        EXPECT_EQ(lower.size(), pages / 2);
    }
}

TEST(Cut, AHalfErasedBlockIsNeitherOldNorBlank) {
    Medium m(tearingPart());
    m.fill(0);
    m.cells.cutAs = NandCut::Half;
    m.cells.beginErase(m.at(0, 0));
    m.cells.cutAll();
    uint64_t damaged = 0;
    for (unsigned page = 0; page < 16; page++)
        damaged += !m.errors(0, page).empty();
    EXPECT_GT(damaged, 10u);
    EXPECT_EQ(m.cells.obstacle(m.at(0, 0)), NandCells::Obstacle::Damaged);
    unsigned held = 0;
    for (unsigned page = 0; page < 16; page++)
        held += m.cells.program(m.at(0, page), m.data(0, page).data()) && m.errors(0, page).empty();
    EXPECT_LT(held, 8u);
    // Erased again it is as good as before.
    EXPECT_TRUE(m.cells.erase(m.at(0, 0)));
    m.fill(0);
    m.cells.age(100);
    EXPECT_EQ(m.errorsOf(0), 0u);
}

TEST(Cut, AWeaklyErasedBlockReadsBlankAndHoldsBadly) {
    Medium m(tearingPart());
    m.fill(0);
    m.cells.cutAs = NandCut::Weak;
    m.cells.beginErase(m.at(0, 0));
    m.cells.cutAll();
    const Raw blank(m.part.geometry.rawPageBytes(), 0xFF);
    for (unsigned page = 0; page < 16; page++)
        EXPECT_EQ(m.read(0, page), blank);
    m.fill(0);
    EXPECT_EQ(m.errorsOf(0), 0u);
    m.cells.age(24);
    expectNear(m.errorsOf(0), m.bits(16) * 0.03);
    EXPECT_TRUE(m.cells.erase(m.at(0, 0)));
    m.fill(0);
    m.cells.age(24);
    EXPECT_EQ(m.errorsOf(0), 0u);
}

TEST(Cut, AFailedProgramTearsItsPage) {
    PartFile part = tearingPart();
    part.reliability.setAll("program-fail=1,endurance=1,wear=1");
    Medium m(part);
    EXPECT_FALSE(m.cells.program(m.at(0, 0), m.data(0, 0).data()));
    EXPECT_EQ(m.image.nextPage({0, 0, 0, 0}), 1u);
    EXPECT_GT(m.errors(0, 0).size(), 0u);
}

TEST(Cut, AKilledProcessIsALossOfPower) {
    for (const bool tearing : {false, true}) {
        const TempFile file;
        PartFile part = mlcPart();
        part.reliability.tearing = tearing;
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            Medium m(part, file.path);
            m.fill(0, 3);
            for (unsigned block = 1; block < 7; block++)
                m.cells.beginProgram(m.at(block, 0), m.data(block, 0).data());
            m.cells.beginErase(m.at(0, 0, 1));
            kill(getpid(), SIGKILL);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        Medium m(part, file.path);
        EXPECT_EQ(m.cells.cuts.size(), 7u);
        for (unsigned page = 0; page < 3; page++)
            EXPECT_EQ(m.errors(0, page).size(), 0u);
        unsigned begun = 0;
        for (unsigned block = 1; block < 7; block++)
            begun += m.image.nextPage({0, 0, 0, block});
        EXPECT_EQ(begun > 0, tearing);
        Medium second(part, "");
        EXPECT_TRUE(second.cells.cuts.empty());
    }
}

TEST(Keys, WrongOnesAreNamedWithWhatIsLegal) {
    auto why = [](const char *text) {
        Reliability r;
        try {
            r.setAll(text);
        } catch (const std::runtime_error &error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(why(""), "");
    EXPECT_EQ(why("rber=1e-4,factory-bad=0.02,seed=7,pairing=dist3,dead-die=1.2.0"), "");
    EXPECT_NE(why("rbre=1").find("there is no 'rbre': choose from rber, wear-rber"), std::string::npos);
    EXPECT_NE(why("rber=2").find("rber=2: choose a number, 0 to 0.45"), std::string::npos);
    EXPECT_NE(why("rber=").find("rber=: choose a number"), std::string::npos);
    EXPECT_NE(why("rber=1e-4x").find("rber=1e-4x"), std::string::npos);
    EXPECT_NE(why("rber").find("'rber': give KEY=VALUE"), std::string::npos);
    EXPECT_NE(why("seed=-1").find("seed=-1: choose a whole number"), std::string::npos);
    EXPECT_NE(why("pairing=x").find("none or dist3"), std::string::npos);
    EXPECT_NE(why("dead-die=1.2").find("CHANNEL.WAY.LUN"), std::string::npos);
    EXPECT_EQ(why("fitted=0+4,absent=0.4+15.15,absent=1.0"), "");
    EXPECT_EQ(why("fitted=all,absent=none"), "");
    for (const char *wrong : {"fitted=", "fitted=16", "fitted=0+", "fitted=0.1", "fitted=none"})
        EXPECT_NE(why(wrong).find("such as 0+4"), std::string::npos) << wrong;
    for (const char *wrong : {"absent=", "absent=1", "absent=1.16", "absent=1.2.3", "absent=1.2+", "absent=x.1"})
        EXPECT_NE(why(wrong).find("such as 0.1+1.3"), std::string::npos) << wrong;
    EXPECT_NE(why("tearing=1").find("true or false"), std::string::npos);
    EXPECT_NE(why("rber=nan").find("rber=nan"), std::string::npos);
}

} // namespace
