// SPDX-License-Identifier: BSD-3-Clause
/* Cases of the torture program: those that were mended, and some new ones, with the cuts at many moments. */
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

#include "tests/harness.h"
#include "torture/native.h"

using namespace torture;

namespace {

/** A drive on which every read fails, and its medium. */
struct Unreadable : Host {
    std::set<uint32_t> holds; /**< versions of block 0 */
    bool says = false;        /**< and the other ones are known to be gone */
    uint32_t last = 0;

    uint32_t capacity() override {
        return 1;
    }
    bool writeCache() override {
        return true;
    }
    uint32_t submit(const Command &, const std::vector<uint8_t> &) override {
        return ++last;
    }
    std::vector<Ended> wait() override {
        return {{last, harness::kReadError, {}}};
    }
    void reset() override {
    }
    void shutdown() override {
    }
    void idle(uint64_t) override {
    }
    std::optional<bool> onMedium(uint32_t, const std::vector<uint32_t> &versions) override {
        return std::any_of(versions.begin(), versions.end(), [&](uint32_t v) { return holds.count(v) != 0; });
    }
    bool gone(uint32_t, uint32_t version) override {
        return says && holds.count(version) == 0;
    }
};

/** Whether a block that cannot be read is a finding. Version 1 was flushed, version 2 in the write cache when power
 * went. */
bool isFinding(bool fades, std::set<uint32_t> holds, bool says) {
    auto h = std::make_unique<History>();
    h->fades = fades;
    h->oracle.emplace(1, true);
    h->oracle->submit(0, 1, 1);
    h->oracle->complete(0, 1, 2, true, true);
    h->oracle->submit(0, 2, 3);
    h->oracle->complete(0, 2, 4, true, false);
    h->oracle->cut();
    Unreadable host;
    host.holds = std::move(holds);
    host.says = says;
    Load load(host, *h, 1);
    try {
        load.verify();
        return false;
    } catch (const Failure &e) {
        return e.kind == Failure::Lost;
    }
}

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

TEST(torture_unreadable_blocks) {
    CHECK(isFinding(false, {}, true));
    /* The medium lost all that the block may hold, or has it. */
    CHECK(!isFinding(true, {}, false));
    CHECK(isFinding(true, {1, 2}, false));
    CHECK(isFinding(true, {1}, false));
    CHECK(isFinding(true, {2}, false));
    /* The drive says that version 2 is lost: version 1 is not what the host was told. */
    CHECK(!isFinding(true, {1}, true));
    CHECK(isFinding(true, {1, 2}, true));
    CHECK(isFinding(false, {1}, true));
}
