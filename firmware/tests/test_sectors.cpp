// SPDX-License-Identifier: BSD-3-Clause
/* Parts whose pages hold several sectors: whole pages, the write cache with its flush rule, and what happens to the
 * sectors of a page one by one. */
#include "tests/admin.h"
#include "tests/scomp.h"

#include <algorithm>
#include <set>

using namespace harness;
using namespace admin;
using model::Geometry;
using model::Nand;

namespace {

const Geometry kFour{2, 2, 1, 1, 16, 16, 16384, 2208};
const Geometry kTwo{2, 1, 2, 1, 16, 16, 8192, 640};
constexpr uint32_t kFlush = 0x00, kWrite = 0x01, kRead = 0x02, kCompare = 0x05, kZeroes = 0x08, kVerify = 0x0c;
constexpr uint32_t kFua = 1u << 30;
constexpr uint32_t kFeatCache = 0x06;

uint16_t flush(Drive &d) {
    return d.exec(1, Drive::sqe(kFlush, 1)).status;
}

/** Submit a command with data for `blocks` blocks from `lba` on. */
uint16_t submit(Drive &d, uint8_t opcode, uint32_t lba, uint32_t blocks, const Buffer &b, uint32_t flags = 0) {
    Sqe s = Drive::sqe(opcode, 1);
    Drive::setPrp(s, b);
    s[10] = lba;
    s[12] = (blocks - 1) | flags;
    return d.submit(1, s);
}

uint16_t write(Drive &d, uint32_t lba, uint32_t version, uint32_t flags = 0, uint32_t blocks = 1) {
    Buffer b = d.buffer(blocks * 4096);
    d.put(b, pattern(lba, version, blocks).data());
    return d.wait(1, submit(d, kWrite, lba, blocks, b, flags)).status;
}

bool holds(Drive &d, uint32_t lba, uint32_t version, uint32_t blocks = 1) {
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(lba, blocks, &got).status, kOk);
    return got == pattern(lba, version, blocks);
}

/** Programs of user pages: those whose first OOB word names a block. */
struct Programs {
    explicit Programs(Drive &d) {
        d.dev.faults.programOf = [this](uint32_t key, uint32_t tag) {
            if (tag < 0x10000000) {
                sectors++;
                pages.insert(key >> 2);
            }
            return false;
        };
    }
    uint32_t sectors = 0;
    std::set<uint32_t> pages; /**< of four sectors */
};

} // namespace

TEST(sectors_hold_the_whole_capacity) {
    for (const Geometry &g : {kFour, kTwo}) {
        Nand nand(g);
        uint32_t cap;
        {
            Drive d(nand, 1, seed);
            d.start();
            cap = d.capacity();
            uint32_t sectors = g.channels * g.ways * g.luns * g.planes * g.blocks * g.pages * g.pageBytes / 4096;
            CHECK(cap > sectors / 2);
            /* One block after the other: pages fill up all the same. */
            std::set<uint32_t> pages;
            d.dev.faults.programOf = [&](uint32_t key, uint32_t tag) {
                if (tag < 0x10000000) {
                    pages.insert(key >> nand.sectorBits());
                }
                return false;
            };
            for (uint32_t lba = 0; lba < cap; lba++) {
                CHECK_EQ(write(d, lba, 1 + lba % 100), kOk);
            }
            CHECK_EQ(flush(d), kOk);
            CHECK_EQ(pages.size(), (cap + (1u << nand.sectorBits()) - 1) >> nand.sectorBits());
        }
        Drive d(nand, 1, seed + 1);
        d.start();
        for (uint32_t lba = 0; lba < cap; lba++) {
            CHECK(holds(d, lba, 1 + lba % 100));
        }
    }
}

TEST(sectors_flush_rule) {
    Nand nand(kFour);
    {
        Drive d(nand, 1, seed);
        d.start();
        CHECK_EQ(write(d, 50, 1, 0, 8), kOk);
        CHECK_EQ(flush(d), kOk);
        Programs programs(d);
        /* Fewer than a page: taken, readable, on no page. */
        for (uint32_t i = 0; i < 3; i++) {
            CHECK_EQ(write(d, 50 + i, 2), kOk);
        }
        d.settle();
        CHECK_EQ(programs.sectors, 0u);
        CHECK(holds(d, 50, 2, 3));
        /* Written again, it takes no more room. */
        CHECK_EQ(write(d, 51, 3), kOk);
        d.settle();
        CHECK_EQ(programs.sectors, 0u);
        CHECK(holds(d, 51, 3));
        /* The fourth. */
        CHECK_EQ(write(d, 60, 2), kOk);
        d.settle();
        CHECK_EQ(programs.sectors, 4u);
        CHECK_EQ(programs.pages.size(), 1u);
        /* A flush writes one block in a page of its own; without anything to write it programs nothing. */
        CHECK_EQ(write(d, 61, 2), kOk);
        CHECK_EQ(flush(d), kOk);
        CHECK_EQ(programs.sectors, 5u);
        CHECK_EQ(flush(d), kOk);
        CHECK_EQ(programs.sectors, 5u);
        /* So does FUA, and takes along what is there. */
        CHECK_EQ(write(d, 62, 2), kOk);
        CHECK_EQ(write(d, 63, 2, kFua), kOk);
        CHECK_EQ(programs.sectors, 7u);
        /* A read with FUA brings what is on the medium: it has to get there first. */
        CHECK_EQ(write(d, 64, 2), kOk);
        Buffer b = d.buffer(4096);
        CHECK_EQ(d.wait(1, submit(d, kRead, 64, 1, b, kFua)).status, kOk);
        CHECK(d.get(b) == pattern(64, 2));
        CHECK_EQ(programs.sectors, 8u);
        /* These are lost. */
        CHECK_EQ(write(d, 56, 9), kOk);
        CHECK_EQ(write(d, 65, 9), kOk);
    }
    Drive d(nand, 1, seed + 1);
    d.start();
    CHECK(holds(d, 50, 2) && holds(d, 51, 3) && holds(d, 52, 2) && holds(d, 53, 1, 4));
    for (uint32_t lba = 60; lba < 65; lba++) {
        CHECK(holds(d, lba, 2));
    }
    CHECK(holds(d, 56, 1));
    CHECK(holds(d, 65, 0));
}

TEST(sectors_shutdown_writes_the_cache_out) {
    Nand nand(kFour);
    {
        Drive d(nand, 1, seed);
        d.start();
        CHECK_EQ(write(d, 5, 1), kOk);
        d.shutdown();
    }
    {
        Drive d(nand, 1, seed + 1);
        CHECK(d.dev.console.find("clean medium") != std::string::npos);
        d.start();
        CHECK(holds(d, 5, 1));
        /* A reset of the controller alone loses nothing. */
        CHECK_EQ(write(d, 6, 1), kOk);
        d.disable();
        d.start();
        CHECK(holds(d, 6, 1));
        CHECK_EQ(flush(d), kOk);
    }
    Drive d(nand, 1, seed + 2);
    d.start();
    CHECK(holds(d, 5, 1) && holds(d, 6, 1));
}

TEST(sectors_cache_is_offered_where_there_is_one) {
    for (bool four : {true, false}) {
        Nand nand(four ? kFour : Geometry{});
        Drive d(nand, 1, seed);
        d.start();
        Buffer b = d.buffer(4096);
        Sqe s = Drive::sqe(0x06);
        Drive::setPrp(s, b);
        s[10] = 1;
        CHECK_EQ(d.exec(0, s).status, kOk);
        CHECK_EQ(d.get(b)[525], four ? 7 : 6);
        Sqe get = Drive::sqe(0x0a);
        get[10] = kFeatCache;
        auto c = d.exec(0, get);
        CHECK_EQ(c.status, four ? kOk : kInvalidField);
        if (!four) {
            CHECK_EQ(setFeature(d, kFeatCache, 0), kInvalidField);
            continue;
        }
        CHECK_EQ(c.dw0, 1u);
        Programs programs(d);
        CHECK_EQ(write(d, 1, 1), kOk);
        CHECK_EQ(programs.sectors, 0u);
        /* Off: what it holds is written, and every write ends on the medium. */
        CHECK_EQ(setFeature(d, kFeatCache, 0), kOk);
        CHECK_EQ(programs.sectors, 1u);
        CHECK_EQ(d.exec(0, get).dw0, 0u);
        CHECK_EQ(write(d, 2, 1), kOk);
        CHECK_EQ(programs.sectors, 2u);
        CHECK_EQ(write(d, 8, 1, 0, 8), kOk);
        CHECK_EQ(programs.sectors, 10u);
        CHECK_EQ(programs.pages.size(), 4u);
        CHECK_EQ(setFeature(d, kFeatCache, 1), kOk);
        CHECK_EQ(write(d, 3, 1), kOk);
        CHECK_EQ(programs.sectors, 10u);
        CHECK(holds(d, 1, 1) && holds(d, 2, 1) && holds(d, 3, 1) && holds(d, 8, 1, 8));
    }
}

TEST(sectors_everybody_sees_the_cache) {
    using namespace scomp;
    Nand nand(kFour);
    Drive d(nand, 2, seed);
    d.start();
    std::vector<uint8_t> got;
    CHECK_EQ(write(d, 10, 1), kOk);
    Buffer b = d.buffer(4096);
    d.put(b, pattern(10, 1).data());
    CHECK_EQ(d.wait(1, submit(d, kCompare, 10, 1, b)).status, kOk);
    CHECK_EQ(write(d, 10, 2), kOk);
    CHECK_EQ(d.wait(1, submit(d, kCompare, 10, 1, b)).status, kCompareFailure);
    CHECK_EQ(write(d, 11, 3), kOk);
    Sqe s = Drive::sqe(kVerify, 1);
    s[10] = 8;
    s[12] = 7;
    CHECK_EQ(d.exec(1, s).status, kOk);
    /* Trims and zeroes come behind what was acknowledged before them. */
    CHECK_EQ(d.trim(11, 1).status, kOk);
    CHECK(holds(d, 11, 0));
    CHECK_EQ(write(d, 12, 1), kOk);
    s = Drive::sqe(kZeroes, 1);
    s[10] = 12;
    CHECK_EQ(d.exec(1, s).status, kOk);
    CHECK(holds(d, 12, 0));
    CHECK_EQ(flush(d), kOk);
    CHECK(holds(d, 11, 0) && holds(d, 12, 0) && holds(d, 10, 2));
    /* A function reads it from the medium. */
    CHECK_EQ(write(d, 20, 4, 0, 3), kOk);
    CHECK_EQ(scomp::load(d, 0, kernelElf(model::kCopy)).status, kOk);
    Job j;
    j.pieces = {Piece{{Stream{{{20, 3}}, 3 * 4096}}, {}}};
    CHECK(runJob(d, j)[0].out[0] == pattern(20, 4, 3));
}

TEST(sectors_cache_has_an_end) {
    /* One write at a time to a medium so slow that none of the first is programmed: they are answered while there is
     * room for them, and then as room is made. */
    Nand nand(kFour);
    model::Times slow;
    slow.program = 3'000'000;
    Drive d(nand, 1, seed, 0, {}, slow);
    d.start();
    CHECK_EQ(write(d, 0, 1), kOk);
    CHECK_EQ(flush(d), kOk);
    uint64_t begin = d.dev.now;
    uint32_t answered = 0;
    for (uint32_t lba = 0; lba < 600; lba++) {
        CHECK_EQ(write(d, lba, 2), kOk);
        answered += d.dev.now < begin + 2'900'000;
    }
    CHECK(answered >= 100 && answered <= 128);
    Programs programs(d);
    CHECK_EQ(flush(d), kOk);
    for (uint32_t lba = 0; lba < 600; lba++) {
        CHECK(holds(d, lba, 2));
    }
    /* Always the same block. */
    for (uint32_t i = 0; i < 400; i++) {
        CHECK_EQ(write(d, 7, 10 + i), kOk);
    }
    CHECK(holds(d, 7, 409));
    CHECK_EQ(flush(d), kOk);
    CHECK(holds(d, 7, 409));
}

TEST(sectors_lost_by_the_cache_are_reported) {
    /* Nothing can be programmed any more: a flush says that it is so, once, and the drive goes on. */
    Nand nand(kFour);
    Drive d(nand, 1, seed);
    d.start();
    CHECK_EQ(write(d, 5, 1, 0, 4), kOk);
    CHECK_EQ(flush(d), kOk);
    d.dev.faults.programOf = [](uint32_t, uint32_t tag) { return tag == 5; };
    CHECK_EQ(write(d, 5, 2), kOk);
    CHECK_EQ(flush(d), kWriteFault);
    CHECK(d.dev.console.find("block 5 is lost") != std::string::npos);
    d.dev.faults = {};
    CHECK_EQ(flush(d), kOk);
    CHECK(holds(d, 5, 1));
    CHECK_EQ(write(d, 5, 3), kOk);
    CHECK_EQ(flush(d), kOk);
    CHECK(holds(d, 5, 3));
}

TEST(sectors_that_wait_behind_the_cache_end_without_room) {
    /* Blocks go bad on a full drive until nothing more is written: cached writes then keep their places without a page,
     * and those that have to be durable, of the same blocks, are refused all the same. */
    Nand nand(kFour);
    Drive d(nand, 1, seed);
    d.start();
    uint32_t cap = d.capacity();
    for (uint32_t lba = 0; lba < cap; lba++) {
        CHECK_EQ(write(d, lba, 1), kOk);
    }
    CHECK_EQ(flush(d), kOk);
    std::mt19937 rng(seed);
    d.dev.faults.erase = 0.1;
    uint32_t refused = 0;
    for (uint32_t round = 0; refused < 60; round++) {
        CHECK(round < 10 * cap);
        /* Not often as many as a page takes: the cached ones wait for more. */
        std::vector<uint16_t> cids;
        for (uint32_t i = 0; i < 12; i++) {
            uint32_t lba = static_cast<uint32_t>(rng() % 3 == 0 ? rng() % cap : 7 + rng() % 2);
            Buffer b = d.buffer(4096);
            d.put(b, pattern(lba, round + 2).data());
            cids.push_back(submit(d, kWrite, lba, 1, b, rng() % 2 == 0 ? kFua : 0));
        }
        for (uint16_t cid : cids) {
            uint16_t status = d.wait(1, cid).status;
            CHECK(status == kOk || status == kReadOnly);
            refused += status == kReadOnly;
        }
        d.freeHost();
    }
    std::vector<uint8_t> got;
    for (uint32_t lba = 0; lba < cap; lba++) {
        CHECK_EQ(d.read(lba, 1, &got).status, kOk);
    }
}

TEST(sectors_trimmed_one_by_one_and_recovered) {
    Nand nand(kFour);
    std::vector<uint32_t> want(200, 0);
    std::mt19937 rng(seed);
    for (uint32_t life = 0; life < 6; life++) {
        Drive d(nand, 1, seed + life);
        d.start();
        for (uint32_t lba = 0; lba < 200; lba++) {
            CHECK(holds(d, lba, want[lba]));
        }
        for (uint32_t i = 0; i < 60; i++) {
            uint32_t lba = static_cast<uint32_t>(rng() % 199);
            if (rng() % 3 == 0) {
                CHECK_EQ(d.trim(lba, 1).status, kOk);
                want[lba] = 0;
            } else {
                want[lba] = life * 100 + i + 1;
                CHECK_EQ(write(d, lba, want[lba]), kOk);
            }
            if (rng() % 5 == 0) {
                CHECK_EQ(flush(d), kOk);
            }
        }
        CHECK_EQ(flush(d), kOk);
    }
}

TEST(sectors_power_cut_at_every_step) {
    /* Two pages of data, a lone block, a trim and a flush, cut everywhere: what was flushed is there, of the rest each
     * block is old or new. */
    uint32_t cuts = 0;
    for (const Geometry &g : {kFour, kTwo}) {
        for (uint64_t at = 300; at < 40'000; at += 1700) {
            Nand nand(g);
            bool cut = false;
            uint32_t flushed = 1, done = 1;
            {
                Drive d(nand, 1, seed);
                d.start();
                CHECK_EQ(write(d, 0, 1, 0, 16), kOk);
                CHECK_EQ(flush(d), kOk);
                d.dev.cutAt = d.dev.now + at;
                try {
                    for (uint32_t v = 2; v < 6; v++) {
                        CHECK_EQ(write(d, 0, v, 0, 7), kOk);
                        CHECK_EQ(write(d, 9, v), kOk);
                        done = v;
                        CHECK_EQ(flush(d), kOk);
                        flushed = v;
                    }
                } catch (const model::PowerCut &) {
                    d.dev.tearInFlight();
                    cut = true;
                    cuts++;
                }
            }
            Drive d(nand, 1, seed + 1);
            d.start();
            for (uint32_t lba : {0, 1, 2, 3, 4, 5, 6, 9}) {
                uint32_t low = flushed, high = cut ? done + 1 : flushed;
                bool some = false;
                for (uint32_t v = low; v <= high; v++) {
                    some |= holds(d, lba, v);
                }
                CHECK(some);
            }
            CHECK(holds(d, 7, 1, 2) && holds(d, 10, 1, 6));
        }
    }
    CHECK(cuts > 20);
}

TEST(sectors_of_roots_that_nobody_can_read) {
    /* Another code than the medium was written with: refused, not formatted. */
    Nand nand(kFour);
    {
        Drive d(nand, 1, seed);
        d.start();
        CHECK_EQ(write(d, 1, 1), kOk);
        d.shutdown();
    }
    nand.ecc = {24, 40};
    uint64_t programs = nand.programs;
    Drive d(nand, 1, seed);
    CHECK(d.dev.console.find("no namespace: the root blocks are written, but no root record can be read") !=
          std::string::npos);
    CHECK_EQ(nand.programs, programs);
}
