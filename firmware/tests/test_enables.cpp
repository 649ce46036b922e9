// SPDX-License-Identifier: BSD-3-Clause
/* Chip enables without a package, and packages that the drive cannot use: modules of real boards fit 2 of 8. */
#include "tests/harness.h"

#include <algorithm>
#include <set>

using namespace harness;
using model::Answer;
using model::Geometry;
using model::Nand;

namespace {

/** Eight chip enables a channel. */
const Geometry kBoard{2, 8, 1, 1, 16, 32};

/** Chip enables of channel `ch` that have a package. */
void fit(Nand &nand, uint32_t ch, std::initializer_list<uint32_t> enables) {
    uint32_t mask = 0;
    for (uint32_t e : enables) {
        mask |= 1u << e;
    }
    nand.cells().reliability().absent[ch] = static_cast<uint16_t>(~mask);
}

void fitAll(Nand &nand, std::initializer_list<uint32_t> enables) {
    for (uint32_t ch = 0; ch < nand.geo.channels; ch++) {
        fit(nand, ch, enables);
    }
}

bool says(const Drive &d, const std::string &text) {
    return d.dev.console.find(text) != std::string::npos;
}

void writeAll(Drive &d, uint32_t version) {
    for (uint32_t lba = 0, cap = d.capacity(); lba < cap; lba += 32) {
        uint32_t n = std::min(32u, cap - lba);
        CHECK_EQ(d.write(lba, pattern(lba, version, n)).status, kOk);
    }
}

void checkAll(Drive &d, uint32_t version) {
    std::vector<uint8_t> got;
    CHECK(d.capacity() > 0);
    for (uint32_t lba = 0, cap = d.capacity(); lba < cap; lba += 32) {
        uint32_t n = std::min(32u, cap - lba);
        CHECK_EQ(d.read(lba, n, &got).status, kOk);
        CHECK(got == pattern(lba, version, n));
    }
}

/** Chip enables that hold anything, channel << 4 | number. */
std::set<uint32_t> holding(const Nand &nand) {
    std::set<uint32_t> all;
    for (const auto &[key, page] : nand.pages()) {
        all.insert(key >> 24);
    }
    return all;
}

/** Format, fill, shut down. */
void formatted(Nand &nand, uint32_t seed) {
    Drive d(nand, 1, seed);
    d.start();
    writeAll(d, 1);
    d.shutdown();
}

/** The drive does not take the medium, says `text` of it, serves commands, and changes nothing. */
void checkRefused(Nand &nand, uint32_t seed, const std::string &text) {
    uint64_t programs = nand.programs, erases = nand.erases;
    Drive d(nand, 1, seed);
    CHECK(says(d, "drive: no namespace: medium of another geometry: start with the right one or format it"));
    if (!says(d, text)) {
        throw Failure("the console does not say '" + text + "':\n" + d.dev.console);
    }
    d.start();
    CHECK_EQ(d.capacity(), 0u);
    CHECK_EQ(nand.programs, programs);
    CHECK_EQ(nand.erases, erases);
}

} // namespace

TEST(enables_of_a_module_that_fits_two_of_eight) {
    for (uint32_t second : {4u, 1u}) {
        uint32_t capacity = 0;
        {
            Nand two(Geometry{2, 2, 1, 1, 16, 32});
            Drive d(two, 1, seed);
            CHECK(!says(d, "chip enables"));
            d.start();
            capacity = d.capacity();
        }
        Nand nand(kBoard);
        fitAll(nand, {0, second});
        {
            Drive d(nand, 1, seed);
            CHECK(says(d, second == 4 ? "nand: channels 0-1: chip enables 0 4 used; 1 2 3 5 6 7 absent\n"
                                      : "nand: channels 0-1: chip enables 0 1 used; 2 3 4 5 6 7 absent\n"));
            CHECK(says(d, "2 channels x 2 ways x 1 LUNs"));
            d.start();
            CHECK_EQ(d.capacity(), capacity);
            writeAll(d, 1);
            checkAll(d, 1);
            d.shutdown();
        }
        CHECK(holding(nand) == (std::set<uint32_t>{0x00, second, 0x10, 0x10 | second}));
        {
            Drive d(nand, 1, seed + 1);
            CHECK(says(d, "clean medium"));
            d.start();
            checkAll(d, 1);
            writeAll(d, 2);
            CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
        }
        Drive d(nand, 1, seed + 2);
        CHECK(says(d, "recovered"));
        d.start();
        checkAll(d, 2);
    }
}

TEST(enables_differ_from_channel_to_channel) {
    Nand nand(Geometry{3, 16, 1, 1, 16, 32});
    fit(nand, 0, {1, 9, 15});
    fit(nand, 1, {3, 12});
    fit(nand, 2, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
    {
        Drive d(nand, 1, seed);
        CHECK(says(d, "nand: channel 0: chip enables 1 9 used; 15 left over; 0 2 3"));
        CHECK(says(d, "nand: channel 1: chip enables 3 12 used; 0 1 2"));
        CHECK(says(d, "nand: channel 2: chip enables 0 1 used; 2 3 4 5 6 7 8 9 10 11 12 13 14 15 left over\n"));
        d.start();
        writeAll(d, 1);
        d.shutdown();
    }
    CHECK(holding(nand) == (std::set<uint32_t>{0x01, 0x09, 0x13, 0x1c, 0x20, 0x21}));
    Drive d(nand, 1, seed + 1);
    d.start();
    checkAll(d, 1);
}

TEST(enables_without_a_module) {
    for (bool all : {false, true}) {
        Nand nand(kBoard);
        fitAll(nand, {0, 4});
        fit(nand, 1, {});
        if (all) {
            fit(nand, 0, {});
        }
        Drive d(nand, 1, seed);
        CHECK(
            says(d, all ? "drive: no namespace: no package answers" : "drive: no namespace: a channel has no package"));
        CHECK(says(d, all ? "nand: channels 0-1: chip enables 0 1 2 3 4 5 6 7 absent\n"
                          : "nand: channel 1: chip enables 0 1 2 3 4 5 6 7 absent\n"));
        d.start();
        CHECK_EQ(d.capacity(), 0u);
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(0, 1, &got).status, 0x82);
    }
}

TEST(enables_with_other_parts_and_bad_packages) {
    struct Case {
        Answer answer;
        const char *console;
    };
    for (const Case &c : {Case{Answer::Other, "4 of another part"}, Case{Answer::Garbage, "4 without ONFI"},
                          Case{Answer::Busy, "4 busy for ever"}}) {
        Nand nand(kBoard);
        fitAll(nand, {0, 4, 6});
        nand.answers[0x14] = c.answer;
        {
            Drive d(nand, 1, seed);
            CHECK(says(d, "nand: channel 0: chip enables 0 4 used; 6 left over; 1 2 3 5 7 absent\n"));
            CHECK(says(d, "nand: channel 1: chip enables 0 6 used; "));
            CHECK(says(d, c.console));
            d.start();
            writeAll(d, 1);
            d.shutdown();
        }
        CHECK(holding(nand) == (std::set<uint32_t>{0x00, 0x04, 0x10, 0x16}));
        Drive d(nand, 1, seed + 1);
        d.start();
        checkAll(d, 1);
    }
}

TEST(enables_of_a_medium_are_needed_again) {
    for (auto fault : {Answer::Package /* absent */, Answer::Garbage, Answer::Busy, Answer::Other}) {
        for (uint32_t place : {0x14u, 0x10u, 0x00u, 0x04u}) {
            Nand nand(kBoard);
            fitAll(nand, {0, 4});
            formatted(nand, seed);
            auto &absent = nand.cells().reliability().absent;
            auto was = absent;
            if (fault == Answer::Package) {
                absent[place >> 4] = static_cast<uint16_t>(absent[place >> 4] | 1u << (place & 15));
            } else {
                nand.answers[place] = fault;
            }
            /* Where the first package is of another part, it is the others that are. */
            if (fault == Answer::Other && place == 0) {
                Drive d(nand, 1, seed);
                CHECK(says(d, "drive: no namespace: a channel has no package"));
            } else {
                checkRefused(nand, seed,
                             "ftl: channel " + std::to_string(place >> 4) +
                                 ": it is on chip enables 0 4; not in use: " + std::to_string(place & 15));
            }
            absent = was;
            nand.answers.clear();
            Drive d(nand, 1, seed + 1);
            CHECK(says(d, "clean medium"));
            d.start();
            checkAll(d, 1);
        }
    }
}

TEST(enables_of_a_medium_are_no_others) {
    {
        /* One more in every channel: another number of ways. */
        Nand nand(kBoard);
        fitAll(nand, {0, 4});
        formatted(nand, seed);
        fitAll(nand, {0, 1, 4});
        checkRefused(nand, seed, "channel 0: it is on chip enables 0 4; in use and none of it: 1");
    }
    {
        /* As many, but others. */
        Nand nand(kBoard);
        fitAll(nand, {0, 4});
        formatted(nand, seed);
        fit(nand, 1, {0, 5});
        checkRefused(nand, seed, "channel 1: it is on chip enables 0 4; not in use: 4; in use and none of it: 5");
    }
    {
        /* The package of channel 0 that comes first is a blank one. */
        Nand nand(kBoard);
        fitAll(nand, {4});
        formatted(nand, seed);
        fit(nand, 0, {0, 4});
        checkRefused(nand, seed, "channel 0: it is on chip enables 4; not in use: 4; in use and none of it: 0");
    }
}

/* All places where this geometry has root records are blank, and the medium is not. */
TEST(enables_and_root_records_elsewhere) {
    Nand nand(Geometry{4, 8, 1, 1, 16, 32});
    fitAll(nand, {7});
    formatted(nand, seed);
    uint32_t first = 7u << 24;
    CHECK(nand.pages().count(first) != 0 && nand.pages().count(1u << 28 | first) != 0);
    nand.beginErase(first);
    CHECK(nand.endErase(first, false));
    fitAll(nand, {0, 1, 2, 3, 4, 5, 6, 7});
    checkRefused(nand, seed, "channel 1: it is on chip enables 7; in use and none of it: 0 1 2 3 4 5 6");
    {
        Drive d(nand, 1, seed, 1u << SYS_BOOT_ARG_FORMAT_SHIFT);
        d.start();
        writeAll(d, 2);
        d.shutdown();
    }
    Drive d(nand, 1, seed);
    d.start();
    checkAll(d, 2);
}

/* Formatted without a chip enable that is there again: the medium from before may have the greater numbers. */
TEST(enables_of_two_media_that_took_turns) {
    Nand nand(kBoard);
    fitAll(nand, {0, 4});
    formatted(nand, seed);
    for (uint32_t i = 1; i < 20; i++) {
        Drive d(nand, 1, seed + i);
        d.start();
        CHECK_EQ(d.write(i, pattern(i, 1)).status, kOk);
        d.shutdown();
    }
    fit(nand, 1, {0});
    checkRefused(nand, seed, "channel 1: it is on chip enables 0 4; not in use: 4");
    {
        Drive d(nand, 1, seed, 1u << SYS_BOOT_ARG_FORMAT_SHIFT);
        d.start();
        writeAll(d, 2);
        d.shutdown();
    }
    fitAll(nand, {0, 4});
    checkRefused(nand, seed, "another");
    fit(nand, 1, {0});
    Drive d(nand, 1, seed + 1);
    CHECK(says(d, "clean medium"));
    d.start();
    checkAll(d, 2);
}
