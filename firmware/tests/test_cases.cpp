// SPDX-License-Identifier: BSD-3-Clause
/* Cases of the torture program: those that were mended, and some new ones, with the cuts at many moments. */
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/harness.h"
#include "torture/native.h"

using namespace torture;

namespace {

void checkAround(const Case &c, const Explore &plan) {
    Explore explore = plan;
    explore.seconds = 120;
    std::string why;
    explore.found = [&](const Case &found, Failure::Kind kind, const std::string &what) {
        why = std::string(nameOf(kind)) + ": " + what + "\n" + found.text();
        return false;
    };
    play(c, *sharedCounts(), &explore);
    if (!why.empty()) {
        throw harness::Failure(why);
    }
}

} // namespace

TEST(torture_cases) {
    std::filesystem::path folder = std::filesystem::path(__FILE__).parent_path() / "cases";
    uint32_t cases = 0;
    for (const auto &file : std::filesystem::directory_iterator(folder)) {
        Explore explore;
        explore.forks = 8;
        explore.own = false;
        explore.lastOnly = true;
        checkAround(Case::load(file.path()), explore);
        cases++;
    }
    CHECK(cases > 0);
}

TEST(torture_seeds) {
    for (uint32_t i = 0; i < 2; i++) {
        Explore explore;
        explore.forks = 4;
        checkAround(generate(uint64_t{seed} * 100 + i, explore.mix), explore);
    }
}

TEST(torture_case_text) {
    Case c = generate(seed, Mix{});
    CHECK(Case::parse(c.text()).text() == c.text());
    for (const char *wrong :
         {"", "life depth=0", "life end=maybe", "read 1 1", "life\nwrite 1", "life\nwrite 1 65", "part ways=x"}) {
        bool refused = false;
        try {
            Case::parse(wrong);
        } catch (const BadInput &) {
            refused = true;
        }
        CHECK(refused);
    }
}

TEST(torture_oracle) {
    /* A cached write may go, a flushed one may not; a reset takes neither. */
    Oracle o(4, true);
    auto may = [&](uint32_t lba, uint32_t version) {
        const auto &all = o.may(lba);
        return std::any_of(all.begin(), all.end(), [&](const Oracle::Version &v) { return v.version == version; });
    };
    o.submit(0, 1, 1);
    CHECK(may(0, 1) && may(0, kZeros));
    o.complete(0, 1, 2, true, false);
    CHECK(may(0, 1) && !may(0, kZeros));
    Oracle before = o;
    o.cut();
    CHECK(may(0, 1) && may(0, kZeros));
    o = before;
    o.flushed(3);
    o.cut();
    CHECK(may(0, 1) && !may(0, kZeros));
    o.submit(1, 2, 5);
    o.complete(1, 2, 6, true, true);
    o.cut();
    CHECK(may(1, 2) && !may(1, kZeros));
}
