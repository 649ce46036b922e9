// SPDX-License-Identifier: BSD-3-Clause
/* Media that the drive cannot use, or no longer: each is a state that it tells of, it touches nothing that could still
 * be saved, and what can be read is read. */
#include "tests/admin.h"

#include <algorithm>

using namespace harness;
using namespace admin;
using model::Geometry;
using model::Nand;

namespace {

const Geometry kSmall{2, 2, 1, 1, 16, 32};
constexpr uint32_t kBlocks = 300;
constexpr uint8_t kWarnReliability = 0x04, kWarnReadOnly = 0x08;

bool says(const Drive &d, const std::string &text) {
    return d.dev.console.find(text) != std::string::npos;
}

void fill(Drive &d, uint32_t version) {
    for (uint32_t lba = 0; lba < kBlocks; lba += 25) {
        CHECK_EQ(d.write(lba, pattern(lba, version, 25)).status, kOk);
    }
}

/** Every block but those of `except` holds `version`. */
void verify(Drive &d, uint32_t version, const std::vector<uint32_t> &except = {}) {
    std::vector<uint8_t> got;
    for (uint32_t lba = 0; lba < kBlocks; lba++) {
        if (std::find(except.begin(), except.end(), lba) == except.end()) {
            CHECK_EQ(d.read(lba, 1, &got).status, kOk);
            CHECK(got == pattern(lba, version));
        }
    }
}

/** A medium with data, shut down. */
void prepare(Nand &nand, uint32_t seed) {
    Drive d(nand, 1, seed);
    d.start();
    fill(d, 1);
    d.shutdown();
}

/** The drive has no namespace, and says why; the commands of a host end with a status. */
void refuses(Drive &d, const std::string &why) {
    CHECK(says(d, "no namespace: " + why));
    d.start();
    CHECK_EQ(d.capacity(), 0u);
    std::vector<uint8_t> got;
    CHECK(d.read(0, 1, &got).status != kOk);
    CHECK(d.write(0, pattern(0, 9)).status != kOk);
    CHECK(d.exec(1, Drive::sqe(0x00, 1)).status != kOk);
    logPage(d, 2, 512);
    d.shutdown();
}

} // namespace

TEST(refused_sectors_of_other_blocks) {
    /* Two sectors have changed places: the map names another block's for each. */
    Nand nand(kSmall);
    prepare(nand, seed);
    uint32_t key[2] = {0, 0};
    for (const auto &[at, page] : nand.pages()) {
        for (uint32_t i = 0; i < 2; i++) {
            key[i] = page.oob0 == 40 + i * 77 ? at : key[i];
        }
    }
    model::Page one = nand.page(key[0]), other = nand.page(key[1]);
    nand.put(key[0], other);
    nand.put(key[1], one);
    Drive d(nand, 1, seed + 1);
    d.start();
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(40, 1, &got).status, kReadError);
    CHECK_EQ(d.read(117, 1, &got).status, kReadError);
    verify(d, 1, {40, 117});
    CHECK_EQ(d.write(40, pattern(40, 1)).status, kOk);
    CHECK_EQ(d.write(117, pattern(117, 1)).status, kOk);
    verify(d, 1);
}

TEST(refused_writes_when_all_dies_are_bad) {
    /* No program and no erase of any die goes well any more: writes end with a status, what is there stays readable,
     * and the health log and an event say so. */
    Nand nand(kSmall);
    bool bad = false;
    model::Faults faults;
    faults.programOf = [&](uint32_t, uint32_t) { return bad; };
    faults.eraseOf = [&](uint32_t) { return bad; };
    {
        Drive d(nand, 1, seed, 0, {}, {}, faults);
        d.start();
        fill(d, 1);
        CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
        CHECK_EQ(setFeature(d, 0x0b, 0xff), kOk);
        uint16_t aer = d.submit(0, Drive::sqe(0x0c));
        bad = true;
        for (uint32_t i = 0; i < 40; i++) {
            uint16_t status = d.write(i, pattern(i, 2)).status;
            CHECK(status == kWriteFault || status == kReadOnly);
        }
        CHECK_EQ(d.wait(0, aer).dw0 & 0xffu, 1u);
        CHECK((logPage(d, 2, 512, true)[0] & (kWarnReadOnly | kWarnReliability)) != 0);
        verify(d, 1);
        d.shutdown();
    }
    {
        Drive d(nand, 1, seed + 1, 0, {}, {}, faults);
        d.start();
        CHECK(d.capacity() > 0);
        verify(d, 1);
        CHECK(d.write(0, pattern(0, 2)).status != kOk);
        CHECK((logPage(d, 2, 512, true)[0] & kWarnReadOnly) != 0);
        verify(d, 1);
    }
    /* It was the supply, say: all of it is there. */
    bad = false;
    Drive d(nand, 1, seed + 2, 0, {}, {}, faults);
    d.start();
    verify(d, 1);
}

TEST(refused_medium_that_cannot_be_read) {
    /* Nothing can be read: the drive says so and leaves the medium as it is; once it can be, all is there. */
    Nand nand(kSmall);
    prepare(nand, seed);
    uint64_t programs = nand.programs, erases = nand.erases;
    bool bad = true;
    model::Faults faults;
    faults.readOf = [&](uint32_t) { return bad; };
    {
        Drive d(nand, 1, seed + 1, 0, {}, {}, faults);
        refuses(d, "the root blocks are written, but no root record can be read");
    }
    CHECK_EQ(nand.programs, programs);
    CHECK_EQ(nand.erases, erases);
    bad = false;
    Drive d(nand, 1, seed + 2, 0, {}, {}, faults);
    d.start();
    verify(d, 1);
}

TEST(refused_format_of_bad_dies) {
    /* Nothing can be erased, or programmed, from the first power-on. What the failed programs have left is no drive's:
     * it takes a format to be one. */
    for (bool erase : {false, true}) {
        Nand nand(kSmall);
        bool bad = true;
        model::Faults faults;
        if (erase) {
            faults.eraseOf = [&](uint32_t) { return bad; };
        } else {
            faults.programOf = [&](uint32_t, uint32_t) { return bad; };
        }
        {
            Drive d(nand, 1, seed, 0, {}, {}, faults);
            refuses(d, erase ? "no root block can be erased" : "formatting failed");
        }
        bad = false;
        if (!erase) {
            Drive d(nand, 1, seed + 1, 0, {}, {}, faults);
            refuses(d, "the root blocks are written, but no root record can be read");
        }
        Drive d(nand, 1, seed + 2, erase ? 0 : 1u << SYS_BOOT_ARG_FORMAT_SHIFT, {}, {}, faults);
        d.start();
        CHECK(d.capacity() > 0);
        fill(d, 1);
        verify(d, 1);
    }
}
