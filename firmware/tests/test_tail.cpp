// SPDX-License-Identifier: BSD-3-Clause
/* A mount behind a power cut writes no checkpoint. Whatever pages that were in programming turn into afterwards, the
 * mounts that follow find what the first one found. */
#include "tests/harness.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <set>

using namespace harness;
using model::Geometry;
using model::Nand;
using model::Tear;

namespace {

/** Superblocks of 64 sectors, without summaries; of 1,024 sectors; of 1,024 in pages of four and two planes. */
const Geometry kShort{2, 2, 1, 1, 48, 16, 4096, 224};
const Geometry kLong{2, 4, 1, 1, 16, 128, 4096, 224};
const Geometry kLarge{2, 2, 1, 2, 24, 32, 16384, 2208};
constexpr uint32_t kSpan = 400;
constexpr uint32_t kTrim = 0xfffffffe;

/** What a read of each block gives; nothing: it cannot be read. */
using Found = std::vector<std::optional<std::vector<uint8_t>>>;

/**
 * Keys of the pages of the log that were programmed last. A trim record whose program had ended before the summary of
 * its chunk was written is read by every mount, and the summary tells no mount what it holds: where there are summaries
 * trim records stay readable.
 */
struct Last {
    bool summaries;
    std::deque<uint32_t> keys;
    void note(uint32_t key, uint32_t oob0) {
        if ((oob0 & 0x3fffffff) < 0x0fffffff || (oob0 == kTrim && !summaries)) {
            keys.push_back(key);
            if (keys.size() > 40) {
                keys.pop_front();
            }
        }
    }
};

using Keys = std::set<uint32_t>;

std::unique_ptr<Drive> mount(Nand &nand, uint32_t seed, const Keys &unreadable, Last *last = nullptr) {
    model::Faults faults;
    faults.readOf = [&unreadable](uint32_t key) { return unreadable.count(key) > 0; };
    if (last != nullptr) {
        faults.programOf = [last](uint32_t key, uint32_t oob0) {
            last->note(key, oob0);
            return false;
        };
    }
    return std::make_unique<Drive>(nand, 1, seed, 0, std::vector<model::Slot>{}, model::Times{}, faults);
}

/** What the drive would say if it went on. The medium stays as it is. */
Found look(const Nand &nand, uint32_t seed, const Keys &unreadable) {
    Nand copy = nand;
    auto d = mount(copy, seed, unreadable);
    d->start();
    Found found;
    for (uint32_t lba = 0; lba < kSpan; lba++) {
        std::vector<uint8_t> data;
        bool ok = d->read(lba, 1, &data).status == kOk;
        found.push_back(ok ? std::optional(data) : std::nullopt);
    }
    return found;
}

/** So many commands, a few of which are in flight when power goes. */
void write(Nand &nand, uint32_t seed, uint32_t commands, Last &last) {
    Keys none;
    std::mt19937 rng(seed);
    auto d = mount(nand, seed, none, &last);
    d->start();
    std::vector<uint16_t> flying;
    for (uint32_t i = 0; i < commands; i++) {
        uint32_t lba = static_cast<uint32_t>(rng() % (kSpan - 8));
        if (rng() % 40 == 0) {
            CHECK_EQ(d->trim(lba, 1 + rng() % 8).status, kOk);
            continue;
        }
        Buffer b = d->buffer(4096);
        d->put(b, pattern(lba, i + 1).data());
        Sqe s = Drive::sqe(0x01, 1);
        Drive::setPrp(s, b);
        s[10] = lba;
        s[12] = (rng() % 4 == 0 ? 1u << 30 : 0);
        flying.push_back(d->submit(1, s));
        if (flying.size() == 16) {
            for (uint16_t cid : flying) {
                d->wait(1, cid);
            }
            flying.clear();
            d->freeHost();
        }
    }
    d->dev.cutAt = d->dev.now + rng() % 4000;
    try {
        d->settle();
        while (true) {
            d->step();
        }
    } catch (const model::PowerCut &) {
        d->dev.tearInFlight();
    }
}

/** Some of the pages that were programmed last. */
Keys some(const Last &last, std::mt19937 &rng) {
    Keys keys;
    for (uint32_t key : last.keys) {
        if (rng() % 3 == 0) {
            keys.insert(key);
        }
    }
    return keys;
}

void same(const Found &before, const Found &now) {
    for (uint32_t lba = 0; lba < kSpan; lba++) {
        if (before[lba] && now[lba]) {
            CHECK(*before[lba] == *now[lba]);
        }
    }
}

} // namespace

TEST(tail_mounts_in_a_row_find_the_same) {
    uint32_t quick = 0;
    for (const Geometry &g : {kShort, kLong, kLarge}) {
        for (uint32_t round = 0; round < 8; round++) {
            std::mt19937 rng(seed * 1000 + round);
            Nand nand(g);
            Last last{g.blocks < 48, {}};
            /* The first life ends the format's own checkpoint; the second one's log is read. */
            write(nand, static_cast<uint32_t>(rng()), 40, last);
            write(nand, static_cast<uint32_t>(rng()), 200 + rng() % 1200, last);
            Keys unreadable = some(last, rng);
            {
                auto d = mount(nand, static_cast<uint32_t>(rng()), unreadable);
                quick += d->dev.console.find("the checkpoint follows") != std::string::npos;
            }
            Found first = look(nand, seed, unreadable);
            for (uint32_t life = 0; life < 4; life++) {
                unreadable = some(last, rng);
                same(first, look(nand, seed, unreadable));
                /* Ready, and power goes again. */
                auto d = mount(nand, static_cast<uint32_t>(rng()), unreadable);
            }
            /* Writes go on in the log that the tails are of. */
            Keys none;
            auto d = mount(nand, seed, none);
            d->start();
            for (uint32_t lba = 0; lba < 32; lba++) {
                CHECK_EQ(d->write(lba, pattern(lba, 9000 + lba)).status, kOk);
            }
            d.reset();
            Found after = look(nand, seed, none);
            for (uint32_t lba = 0; lba < 32; lba++) {
                first[lba] = g.pageBytes == 4096 ? pattern(lba, 9000 + lba) : after[lba];
            }
            same(first, after);
        }
    }
    CHECK(quick >= 12);
}

/** Cuts while the mount writes what it found, and while the checkpoint behind it runs. */
TEST(tail_cuts_in_a_mount_and_behind_it) {
    for (const Geometry &g : {kShort, kLong, kLarge}) {
        for (uint32_t round = 0; round < 6; round++) {
            std::mt19937 rng(seed * 2000 + round);
            Nand nand(g);
            Last last{g.blocks < 48, {}};
            write(nand, static_cast<uint32_t>(rng()), 40, last);
            write(nand, static_cast<uint32_t>(rng()), 200 + rng() % 1200, last);
            Keys none;
            Found first = look(nand, seed, none);
            for (uint32_t life = 0; life < 8; life++) {
                uint64_t cutAt = life % 2 == 0 ? UINT64_MAX : 2000 + rng() % 400'000;
                std::unique_ptr<Drive> d;
                try {
                    d = std::make_unique<Drive>(nand, 1, static_cast<uint32_t>(rng()), 0, std::vector<model::Slot>{},
                                                model::Times{}, model::Faults{}, cutAt);
                    d->start();
                    d->dev.cutAt = d->dev.now + rng() % 60'000;
                    while (true) {
                        d->step();
                    }
                } catch (const model::PowerCut &) {
                    if (d) {
                        d->dev.tearInFlight();
                    }
                }
            }
            same(first, look(nand, seed, none));
        }
    }
}
