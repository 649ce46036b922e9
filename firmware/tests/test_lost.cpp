// SPDX-License-Identifier: BSD-3-Clause
/* Blocks that hold nothing: those declared unreadable by Write Uncorrectable, and deallocated ones. */
#include "tests/admin.h"
#include "tests/scomp.h"

#include <set>

using namespace harness;
using namespace admin;
using model::Geometry;
using model::Nand;

namespace {

uint16_t lose(Drive &d, uint32_t lba, uint32_t count) {
    return d.exec(1, blocks(0x04, lba, count)).status;
}

uint16_t readStatus(Drive &d, uint32_t lba, uint32_t count = 1) {
    std::vector<uint8_t> got;
    return d.read(lba, count, &got).status;
}

} // namespace

TEST(lost_blocks_stay_lost_until_written) {
    Nand nand(Geometry{});
    {
        Drive d(nand, 1, seed);
        d.start();
        CHECK_EQ(identify(d, 6, 0)[2], 5);
        CHECK_EQ(identify(d, 1, 0)[520] & 2, 2);
        CHECK_EQ(d.write(10, pattern(10, 1, 32)).status, kOk);
        CHECK_EQ(lose(d, 20, 3), kOk);
        CHECK_EQ(lose(d, 100, 32), kOk);
        CHECK_EQ(lose(d, 0, 33), kInvalidField);
        CHECK_EQ(lose(d, d.capacity() - 1, 2), kLbaRange);
        CHECK_EQ(readStatus(d, 10, 10), kOk);
        CHECK_EQ(readStatus(d, 23, 19), kOk);
        CHECK_EQ(readStatus(d, 10, 32), kReadError);
        auto errors = logPage(d, 1, 64);
        CHECK_EQ(get64(errors, 16), 20u);
        CHECK_EQ(d.exec(1, blocks(0x0c, 20, 1)).status, kReadError);
        CHECK_EQ(d.exec(1, blocks(0x0c, 10, 32)).status, kReadError);
        CHECK_EQ(give(d, 1, blocks(0x05, 22, 1), pattern(22, 1)).status, kReadError);
        CHECK_EQ(readStatus(d, 131), kReadError);
        CHECK_EQ(readStatus(d, 132), kOk);
        /* The medium is as good as before. */
        CHECK_EQ(get64(logPage(d, 2, 512), 160), 0u);
        CHECK_EQ(logPage(d, 2, 512)[0], 0);
        CHECK_EQ(d.write(21, pattern(21, 2)).status, kOk);
        CHECK_EQ(readStatus(d, 21), kOk);
        CHECK_EQ(d.trim(22, 1).status, kOk);
        CHECK_EQ(readStatus(d, 22), kOk);
    }
    /* The power went: the log tells. Then a checkpoint does. */
    for (uint32_t cycle = 0; cycle < 3; cycle++) {
        Drive d(nand, 1, seed + cycle);
        d.start();
        CHECK_EQ(readStatus(d, 20), kReadError);
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(21, 1, &got).status, kOk);
        CHECK(got == pattern(21, 2));
        CHECK_EQ(d.read(22, 1, &got).status, kOk);
        CHECK(got == pattern(0, 0));
        for (uint32_t lba = 100; lba < 132; lba++) {
            CHECK_EQ(readStatus(d, lba), kReadError);
        }
        if (cycle > 0) {
            d.shutdown();
        }
    }
}

TEST(lost_blocks_end_streams) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    CHECK_EQ(d.write(0, pattern(0, 1, 16)).status, kOk);
    CHECK_EQ(lose(d, 9, 1), kOk);
    CHECK_EQ(scomp::load(d, 0, scomp::kernelElf(model::kCount)).status, kOk);
    /* One stream, which is read ahead, and two. */
    for (uint32_t streams : {1u, 2u}) {
        CHECK_EQ(scomp::load(d, 0, scomp::kernelElf(streams == 1 ? model::kCopy : model::kWeave)).status, kOk);
        scomp::Stream whole{{{0, 9}}, 9 * 4096}, broken{{{0, 16}}, 16 * 4096};
        scomp::Job j;
        j.args = {0, 0, 0, 0};
        j.pieces = {scomp::Piece{streams == 1 ? std::vector{broken} : std::vector{whole, broken}}};
        uint32_t failed = 0;
        auto r = scomp::runJob(d, j, &failed);
        CHECK_EQ(failed, 1u);
        CHECK_EQ(r[0].last.status, SCOMP_STATUS_MEDIA);
        CHECK_EQ(r[0].last.tval, 9u);
        CHECK_EQ(r[0].last.stream, streams - 1);
        CHECK_EQ(r[0].last.position, 9u * 4096);
        j.pieces = {scomp::Piece{std::vector(streams, whole)}};
        r = scomp::runJob(d, j, &failed);
        CHECK_EQ(failed, 0u);
        CHECK_EQ(r[0].last.status, SCOMP_STATUS_OK);
    }
    CHECK_EQ(get64(logPage(d, 2, 512), 160), 0u);
}

TEST(lost_blocks_of_a_channel_that_is_not_there) {
    /* A map page that is whole names ways and channels that the board does not have: reads and streams of these blocks
     * end with an error, and all others are there. */
    Nand nand(Geometry{});
    {
        Drive d(nand, 1, seed);
        d.start();
        CHECK_EQ(d.write(0, pattern(0, 1, 16)).status, kOk);
        d.shutdown();
    }
    const std::map<uint32_t, uint32_t> wrong{{3, 15u << 28}, {5, 2u << 28}, {7, 2u << 24}, {9, 15u << 24}};
    uint32_t pages = 0;
    for (auto [key, page] : nand.pages()) {
        if (page.oob0 == 0xf0000000) {
            for (auto [lba, where] : wrong) {
                uint32_t entry;
                std::memcpy(&entry, &page.data[lba * 4], 4);
                entry = (entry & 0xffffff) | where;
                std::memcpy(&page.data[lba * 4], &entry, 4);
            }
            nand.put(key, page);
            pages++;
        }
    }
    CHECK_EQ(pages, 2u);
    Drive d(nand, 2, seed + 1);
    CHECK(d.dev.console.find("clean medium") != std::string::npos);
    d.start();
    CHECK_EQ(scomp::load(d, 0, scomp::kernelElf(model::kCopy)).status, kOk);
    for (uint32_t lba = 0; lba < 16; lba++) {
        bool lost = wrong.count(lba) != 0;
        CHECK_EQ(readStatus(d, lba), lost ? kReadError : kOk);
        scomp::Job j;
        j.args = {0, 0, 0, 0};
        j.pieces = {scomp::Piece{std::vector{scomp::Stream{{{lba & ~1u, 2}}, 2 * 4096}}}};
        uint32_t failed = 0;
        auto r = scomp::runJob(d, j, &failed);
        lost = wrong.count(lba & ~1u) + wrong.count(lba | 1u) != 0;
        CHECK_EQ(failed, lost ? 1u : 0u);
        CHECK_EQ(r[0].last.status, lost ? SCOMP_STATUS_MEDIA : SCOMP_STATUS_OK);
    }
    /* When they are written they are there again. */
    CHECK_EQ(d.write(0, pattern(0, 2, 16)).status, kOk);
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(0, 16, &got).status, kOk);
    CHECK(got == pattern(0, 2, 16));
}

TEST(lost_blocks_and_power_cuts) {
    /* Writes and Write Uncorrectable of the same blocks again and again, cut short: each block is as the last
     * acknowledged command left it, or as one that was under way. */
    for (uint32_t pageBytes : {4096u, 16384u}) {
        Nand nand(Geometry{2, 2, 1, 1, 16, 32, pageBytes, pageBytes == 4096 ? 224u : 2208u});
        std::mt19937 rng(seed);
        /* Versions that a block may have; 0: never written, UINT32_MAX: unreadable. */
        std::map<uint32_t, std::set<uint32_t>> may;
        uint32_t version = 0;
        for (uint32_t cycle = 0; cycle < 12; cycle++) {
            std::optional<Drive> d;
            try {
                d.emplace(nand, 1, static_cast<uint32_t>(rng()));
                d->start();
                CHECK_EQ(setFeature(*d, 6, 0), pageBytes == 4096 ? kInvalidField : kOk);
                for (uint32_t lba = 0; lba < 64; lba++) {
                    std::vector<uint8_t> got;
                    uint16_t status = d->read(lba, 1, &got).status;
                    uint32_t found = UINT32_MAX - 1;
                    for (uint32_t v : may[lba].empty() ? std::set<uint32_t>{0} : may[lba]) {
                        if (status == kReadError ? v == UINT32_MAX
                                                 : v != UINT32_MAX && got == pattern(v == 0 ? 0 : lba, v)) {
                            found = v;
                        }
                    }
                    CHECK(found != UINT32_MAX - 1);
                    may[lba] = {found};
                }
                d->dev.cutAt = d->dev.now + 20'000 + rng() % 400'000;
                for (;;) {
                    uint32_t lba = rng() % 60, count = 1 + rng() % 4;
                    bool loses = rng() % 2;
                    version++;
                    for (uint32_t i = 0; i < count; i++) {
                        may[lba + i].insert(loses ? UINT32_MAX : version);
                    }
                    CHECK_EQ(loses ? lose(*d, lba, count) : d->write(lba, pattern(lba, version, count)).status, kOk);
                    for (uint32_t i = 0; i < count; i++) {
                        may[lba + i] = {loses ? UINT32_MAX : version};
                    }
                }
            } catch (const model::PowerCut &) {
                d->dev.tearInFlight();
            }
        }
    }
}

TEST(deallocated_blocks_fail_when_asked_to) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start(2, 6);
    auto space = identify(d, 0, 1);
    CHECK_EQ(space[24] & 4, 4);
    CHECK_EQ(space[33], 9);
    CHECK_EQ(d.write(10, pattern(10, 1, 8)).status, kOk);
    CHECK_EQ(d.trim(12, 2).status, kOk);
    CHECK_EQ(readStatus(d, 10, 8), kOk);
    CHECK_EQ(setFeature(d, 5, 1u << 16, 1), kOk);
    CHECK_EQ(readStatus(d, 10, 8), kDeallocated);
    CHECK_EQ(readStatus(d, 10, 2), kOk);
    CHECK_EQ(readStatus(d, 13), kDeallocated);
    CHECK_EQ(d.exec(1, blocks(0x0c, 13, 1)).status, kDeallocated);
    CHECK_EQ(d.exec(1, blocks(0x0c, 14, 4)).status, kOk);
    CHECK_EQ(give(d, 1, blocks(0x05, 12, 1), pattern(0, 0)).status, kDeallocated);
    CHECK_EQ(d.write(13, pattern(13, 2)).status, kOk);
    CHECK_EQ(readStatus(d, 13), kOk);
    Sqe get = Drive::sqe(0x0a, 1);
    get[10] = 5;
    CHECK_EQ(d.exec(0, get).dw0, 1u << 16);
    CHECK_EQ(setFeature(d, 5, 0, 1), kOk);
    CHECK_EQ(readStatus(d, 12), kOk);
    /* A reset puts it back. */
    CHECK_EQ(setFeature(d, 5, 1u << 16, kAll), kOk);
    CHECK_EQ(readStatus(d, 12), kDeallocated);
    d.disable();
    d.start();
    CHECK_EQ(readStatus(d, 12), kOk);
}
