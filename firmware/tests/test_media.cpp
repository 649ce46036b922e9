// SPDX-License-Identifier: BSD-3-Clause
/* Sectors that cannot be read, or only when they are read again: what host reads, functions and the logs make of it. */
#include "tests/admin.h"
#include "tests/scomp.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

extern "C" {
#include "assasin_contract.h"
}

using namespace harness;
using namespace admin;
using namespace scomp;
using model::Geometry;
using model::Nand;

namespace {

constexpr uint32_t kT = 24; /**< of pages of 4,096 + 224 bytes */

/** Key of the sector that holds `lba`. */
uint32_t sectorOf(const Nand &nand, uint32_t lba) {
    uint32_t key = 0, newest = 0;
    for (const auto &[k, page] : nand.pages()) {
        if ((page.oob0 & ~0x40000000u) == lba && page.oob1 >= newest) {
            key = k;
            newest = page.oob1;
        }
    }
    CHECK(key != 0);
    return key;
}

/** Change the raw bytes of the page of `key`, the sector's first being `bytes`[0]. */
void spoil(Nand &nand, uint32_t key, const std::function<void(uint8_t *bytes, uint32_t length)> &how) {
    auto &image = nand.cells().image();
    assasin::NandAddress at = nand.address(key);
    assasin::NandImage::BlockId id{at.channel, at.way, at.lun, at.block};
    std::vector<uint8_t> raw(nand.rawPageBytes());
    image.read(id, at.page, raw.data());
    uint32_t length = Nand::codec(nand.format.t).sectorBytes();
    how(raw.data() + (key & ((1u << nand.sectorBits()) - 1)) * length, length);
    image.rewrite(id, at.page, raw.data());
    nand.dropWhole(key);
}

/** Invert `bits` bits of every codeword of a sector. */
void flip(Nand &nand, uint32_t key, uint32_t bits) {
    spoil(nand, key, [&](uint8_t *bytes, uint32_t length) {
        for (uint32_t c = 0; c < 4; c++) {
            for (uint32_t i = 0; i < bits; i++) {
                bytes[c * (length / 4) + 7 + i * 13] ^= static_cast<uint8_t>(1u << (i + c) % 8);
            }
        }
    });
}

scomp_media media(Drive &d) {
    auto page = logPage(d, SCOMP_LOG_MEDIA, sizeof(scomp_media));
    scomp_media m;
    std::memcpy(&m, page.data(), sizeof m);
    return m;
}

uint64_t total(const uint64_t *channels) {
    uint64_t sum = 0;
    for (uint32_t c = 0; c < 16; c++) {
        sum += channels[c];
    }
    return sum;
}

Sqe verify(uint32_t lba, uint32_t count) {
    Sqe s = Drive::sqe(0x0c, 1);
    s[10] = lba;
    s[12] = count - 1;
    return s;
}

/** Every command that reads `lba` fails, names it, and the neighbours can be read. */
void checkLost(Drive &d, uint32_t lba, uint32_t status) {
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(lba - 3, 8, &got).status, kReadError);
    auto errors = logPage(d, 1, 64);
    CHECK_EQ(get64(errors, 16), lba);
    CHECK_EQ(errors[24], 1u);
    CHECK_EQ(errors[28], SCOMP_LOG_MEDIA);
    scomp_media m = media(d);
    CHECK_EQ(m.error_lba[0], lba);
    CHECK_EQ(m.error_found[0] >> 28, status);
    CHECK_EQ(d.exec(1, verify(lba, 1)).status, kReadError);
    Sqe compare = Drive::sqe(0x05, 1);
    compare[10] = lba;
    CHECK_EQ(give(d, 1, compare, pattern(lba, 1)).status, kReadError);
    CHECK_EQ(d.read(lba - 3, 3, &got).status, kOk);
    CHECK(got == pattern(lba - 3, 1, 3));
    CHECK_EQ(d.read(lba + 1, 4, &got).status, kOk);
    CHECK(got == pattern(lba + 1, 1, 4));
}

} // namespace

TEST(media_errors_up_to_t_are_corrected_and_counted) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    fill(d, 0, 64);
    scomp_media before = media(d);
    CHECK_EQ(before.code_t, kT);
    CHECK_EQ(before.sector_bytes, 4280u);
    CHECK_EQ(before.layout, 2u);
    flip(nand, sectorOf(nand, 5), kT);
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(0, 32, &got).status, kOk);
    CHECK(got == pattern(0, 1, 32));
    scomp_media after = media(d);
    CHECK_EQ(total(after.sectors_read) - total(before.sectors_read), 32u);
    CHECK_EQ(total(after.bits_corrected) - total(before.bits_corrected), 4 * kT);
    CHECK_EQ(total(after.sectors_failed), 0u);
    CHECK_EQ(after.retries, 0u);
    CHECK_EQ(after.lost, 0u);
}

TEST(media_errors_above_t_in_every_codeword) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    fill(d, 0, 64);
    flip(nand, sectorOf(nand, 20), kT + 1);
    checkLost(d, 20, FLASH_STATUS_UNCORRECTABLE);
    scomp_media m = media(d);
    CHECK_EQ(m.lost, 3u);
    CHECK_EQ(m.error_found[0] >> 16 & 15, 15u);
    CHECK(m.retries >= 3 * (2 + m.retry_levels));
    CHECK_EQ(m.rescued, 0u);
    CHECK_EQ(get64(logPage(d, 2, 512), 160), 3u);
    CHECK(d.dev.console.find("block 20 lost: ") != std::string::npos);
    /* Written again, it is somewhere else. */
    CHECK_EQ(d.write(20, pattern(20, 2)).status, kOk);
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(20, 1, &got).status, kOk);
    CHECK(got == pattern(20, 2));
}

TEST(media_bits_that_are_stuck) {
    for (uint32_t value : {0x00u, 0xffu}) {
        Nand nand(Geometry{});
        Drive d(nand, 1, seed);
        d.start();
        fill(d, 0, 64);
        spoil(nand, sectorOf(nand, 33), [&](uint8_t *bytes, uint32_t length) { std::fill_n(bytes, length, value); });
        /* Zeros are a codeword of every linear code: the checksum tells. */
        checkLost(d, 33, value == 0xff ? FLASH_STATUS_ERASED : FLASH_STATUS_MISMATCH);
    }
}

TEST(media_of_another_layout_or_seed) {
    for (bool layout : {true, false}) {
        Nand nand(Geometry{});
        Drive d(nand, 1, seed);
        d.start();
        fill(d, 0, 64);
        uint32_t key = sectorOf(nand, 20);
        auto page = nand.page(key);
        auto was = nand.format.setting;
        (layout ? nand.format.setting.layout : nand.format.setting.seed) ^= 3;
        nand.put(key, page);
        nand.format.setting = was;
        checkLost(d, 20, layout ? FLASH_STATUS_FOREIGN : FLASH_STATUS_MISMATCH);
    }
}

TEST(media_wholly_of_another_layout_or_scrambler) {
    for (bool layout : {true, false}) {
        Nand nand(Geometry{});
        {
            Drive d(nand, 1, seed);
            d.start();
            fill(d, 0, 64);
            d.shutdown();
        }
        auto all = nand.pages();
        (layout ? nand.format.setting.layout : nand.format.setting.seed) ^= 2;
        for (const auto &[key, page] : all) {
            nand.put(key, page);
        }
        uint64_t programs = nand.programs, erases = nand.erases;
        {
            Drive d(nand, 1, seed);
            CHECK(d.dev.console.find(layout ? "no namespace: medium of another layout version: start with the firmware "
                                              "that wrote it, or format it"
                                            : "no namespace: the root blocks are written, but no root record can be "
                                              "read: damaged, or written with another code or scrambler; format the "
                                              "medium") != std::string::npos);
            d.start();
            CHECK_EQ(d.capacity(), 0u);
            CHECK_EQ(nand.programs, programs);
            CHECK_EQ(nand.erases, erases);
        }
        Drive d(nand, 1, seed, 1u << SYS_BOOT_ARG_FORMAT_SHIFT);
        d.start();
        fill(d, 0, 64);
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(0, 32, &got).status, kOk);
        CHECK(got == pattern(0, 1, 32));
    }
}

TEST(media_counts_follow_wear_time_and_reads) {
    /* What the log page says of a medium is what the medium does (board/virtual/nand/README.md). */
    struct Case {
        const char *what;
        std::function<void(assasin::Reliability &)> set;
        double hours;
        uint32_t passes;
        double expected; /**< 0: by reads, which the firmware's own count too */
    };
    const Case cases[] = {
        {"fresh", [](assasin::Reliability &r) { r.rber = 1e-4; }, 0, 1, 1e-4},
        {"worn", [](assasin::Reliability &r) { r.rber = 1e-4, r.wearRber = 8e-4, r.wear = r.endurance; }, 0, 1, 9e-4},
        {"old", [](assasin::Reliability &r) { r.retentionRber = 1e-3; }, 2000, 1, 2e-4},
        {"old and worn", [](assasin::Reliability &r) { r.retentionRber = 1e-3, r.wear = r.endurance; }, 500, 1, 5e-4},
        {"read often", [](assasin::Reliability &r) { r.disturbRber = 5; }, 0, 5, 0},
    };
    for (const Case &c : cases) {
        Nand nand(Geometry{});
        Drive d(nand, 1, seed);
        d.start();
        fill(d, 0, 192);
        c.set(nand.cells().reliability());
        nand.cells().age(c.hours);
        std::set<uint32_t> keys;
        for (const auto &[key, page] : nand.pages()) {
            if (page.oob0 < 192) {
                keys.insert(key);
            }
        }
        double expected = 0, rate = 0;
        for (uint32_t pass = 0; pass < c.passes; pass++) {
            expected = 0;
            for (uint32_t key : keys) {
                expected += nand.cells().errorRate(nand.address(key)) / static_cast<double>(keys.size());
            }
            scomp_media before = media(d);
            std::vector<uint8_t> got;
            for (uint32_t lba = 0; lba < 192; lba += 32) {
                CHECK_EQ(d.read(lba, 32, &got).status, kOk);
                CHECK(got == pattern(lba, 1, 32));
            }
            scomp_media after = media(d);
            /* Scrub reads too, and what fades is copied. */
            uint64_t sectors = total(after.sectors_read) - total(before.sectors_read);
            CHECK(sectors >= 192 && sectors < 2 * 192);
            rate = static_cast<double>(total(after.bits_corrected) - total(before.bits_corrected)) /
                   (static_cast<double>(sectors) * after.sector_bytes * 8);
        }
        printf("  %s: %.2e of %.2e\n", c.what, rate, expected);
        CHECK(c.expected == 0 ? expected > 5e-4 : std::abs(expected / c.expected - 1) < 0.1);
        CHECK(std::abs(rate / expected - 1) < 0.2);
    }
}

TEST(media_weak_page_reads_well_and_then_badly) {
    uint32_t fresh = 0, lost = 0, refused = 0;
    for (uint32_t cut = 200; cut < 9000; cut += 400) {
        Nand nand(Geometry{});
        {
            Drive d(nand, 1, seed);
            d.start();
            fill(d, 0, 12);
            CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
            CHECK_EQ(d.write(6, pattern(6, 1)).status, kOk);
            d.dev.tearAs = model::Tear::Weak;
            d.dev.cutAt = d.dev.now + cut;
            try {
                d.write(5, pattern(5, 99));
            } catch (const model::PowerCut &) {
                d.dev.tearInFlight();
            }
        }
        bool is = false;
        std::vector<uint8_t> got;
        {
            Drive d(nand, 1, seed + 1);
            d.start();
            CHECK_EQ(d.read(5, 1, &got).status, kOk);
            is = got == pattern(5, 99);
            CHECK(is || got == pattern(5, 1));
            fresh += is;
            d.shutdown();
        }
        nand.cells().age(100);
        Drive d(nand, 1, seed + 2);
        d.start();
        if (d.dev.console.find("no namespace: ") != std::string::npos) {
            refused++;
            continue;
        }
        if (d.read(5, 1, &got).status == kOk) {
            CHECK(got == pattern(5, is ? 99 : 1));
        } else {
            CHECK(is);
            checkLost(d, 5, FLASH_STATUS_UNCORRECTABLE);
            lost++;
        }
    }
    printf("  the new block %u times, lost later %u times; %u media refused\n", fresh, lost, refused);
    /* The mount has it written anew, but a page may fade before its turn. */
    CHECK(fresh > 0 && lost <= fresh);
}

TEST(media_pages_that_share_cells_keep_what_was_flushed) {
    /* A cut takes the page that is being programmed, and none that was flushed. */
    for (uint32_t blocks = 40; blocks < 64; blocks++) {
        Nand nand(Geometry{});
        nand.cells().reliability().pairing = assasin::NandPairing::Dist3;
        {
            Drive d(nand, 1, seed);
            d.start();
            fill(d, 0, blocks);
            CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
            d.dev.tearAs = model::Tear::Half;
            d.dev.cutAt = d.dev.now + 2500;
            try {
                d.write(100, pattern(100, 1));
            } catch (const model::PowerCut &) {
                d.dev.tearInFlight();
            }
        }
        Drive d(nand, 1, seed + 1);
        d.start();
        std::vector<uint8_t> got;
        for (uint32_t lba = 0; lba < blocks; lba++) {
            CHECK_EQ(d.read(lba, 1, &got).status, kOk);
            CHECK(got == pattern(lba, 1));
        }
    }
}

TEST(media_die_that_dies) {
    /* Channel 1, way 1, in the middle of everything: what is on it is lost and said to be, the rest is there. */
    for (assasin::DeadDie how : {assasin::DeadDie::Fail, assasin::DeadDie::Ones, assasin::DeadDie::Busy}) {
        Nand nand(Geometry{});
        {
            Drive d(nand, 2, seed);
            d.start();
            fill(d, 0, 200);
            CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
            std::set<uint32_t> there;
            for (const auto &[key, page] : nand.pages()) {
                if (key >> 24 == 0x11 && page.oob0 < 200) {
                    there.insert(page.oob0);
                }
            }
            CHECK(there.size() >= 49);
            assasin::Reliability &r = nand.cells().reliability();
            r.deadHow = how;
            r.deadChannel = 1;
            r.deadWay = 1;
            r.dieDies = true;
            std::vector<uint8_t> got;
            for (uint32_t lba = 0; lba < 200; lba++) {
                /* One that is busy for ever takes 2^24 cycles for every read. */
                if (how == assasin::DeadDie::Busy && there.count(lba) && lba > 20) {
                    continue;
                }
                uint16_t status = d.read(lba, 1, &got).status;
                CHECK_EQ(status, there.count(lba) ? kReadError : kOk);
                if (status == kOk) {
                    CHECK(got == pattern(lba, 1));
                } else {
                    CHECK_EQ(media(d).error_lba[0], lba);
                    CHECK_EQ(media(d).error_address[0] >> 24, 0x11u);
                }
            }
            Job j;
            j.pieces = {Piece{{Stream{{{3, 90}}, 90 * 4096}}}};
            uint32_t failed = 9;
            auto result = runJob(d, j, &failed);
            CHECK_EQ(failed, 1u);
            CHECK_EQ(result[0].last.status, SCOMP_STATUS_MEDIA);
            CHECK_EQ(result[0].last.tval, *there.lower_bound(3));
            CHECK_EQ(result[0].last.position, (*there.lower_bound(3) - 3) * 4096);
            /* Written again, on the others. */
            for (uint32_t lba = 0; lba < 20; lba++) {
                CHECK_EQ(d.write(lba, pattern(lba, 2)).status, kOk);
            }
            for (uint32_t lba = 0; lba < 20; lba++) {
                CHECK_EQ(d.read(lba, 1, &got).status, kOk);
                CHECK(got == pattern(lba, 2));
            }
            /* Every superblock has blocks on it: they are left out, and the drive goes on. */
            for (uint32_t i = 0; i < 4000; i++) {
                CHECK_EQ(d.write(i % 200, pattern(i % 200, 3)).status, kOk);
            }
            CHECK(d.dev.console.find("the die of channel 1, way 1, LUN 0 is dead") != std::string::npos);
        }
        /* A mount says what it finds, and ends. */
        Drive d(nand, 1, seed + 1);
        CHECK(d.dev.console.find("drive: ") != std::string::npos);
        d.start();
        std::vector<uint8_t> got;
        for (uint32_t lba = 0; d.capacity() > 0 && lba < 20; lba++) {
            uint16_t status = d.read(lba, 1, &got).status;
            CHECK(status == kReadError || (status == kOk && (got == pattern(lba, 2) || got == pattern(lba, 3))));
        }
    }
}

TEST(media_degraded_is_a_critical_warning) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    fill(d, 0, 64);
    flip(nand, sectorOf(nand, 20), kT + 1);
    CHECK_EQ(setFeature(d, 0x0b, 0xff), kOk);
    uint16_t aer = d.submit(0, Drive::sqe(0x0c));
    for (uint32_t i = 0; i < 15; i++) {
        CHECK_EQ(d.exec(1, verify(20, 1)).status, kReadError);
    }
    CHECK_EQ(logPage(d, 2, 512)[0], 0u);
    CHECK(!d.take(0, aer).has_value());
    CHECK_EQ(d.exec(1, verify(20, 1)).status, kReadError);
    /* SMART / health status: NVM subsystem reliability; log page 2. */
    CHECK_EQ(d.wait(0, aer).dw0, 0x020001u);
    CHECK_EQ(logPage(d, 2, 512)[0], 4u);
}

TEST(media_read_levels_rescue_blocks) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 200);
    CHECK_EQ(load(d, 0, kernelElf(model::kCount)).status, kOk);
    auto &cells = nand.cells().reliability();
    cells.retryLevels = 8;
    cells.retryGain = 0.1;
    cells.rber = 6e-3;
    std::vector<uint8_t> got;
    for (uint32_t lba = 0; lba < 64; lba += 16) {
        CHECK_EQ(d.read(lba, 16, &got).status, kOk);
        CHECK(got == pattern(lba, 1, 16));
    }
    scomp_media m = media(d);
    /* Those of scrub and of the copies of what fades come on top. */
    CHECK(m.rescued >= 64);
    CHECK(m.retries > 64);
    CHECK_EQ(m.lost, 0u);
    /* Streams, also one that runs ahead of its ring. */
    Job j;
    j.pieces = {Piece{{Stream{{{3, 90}, {120, 61}}, 151 * 4096 - 77}}}, Piece{{Stream{{{10, 100}}, 100 * 4096}}}};
    uint32_t failed = 9;
    auto r = runJob(d, j, &failed);
    CHECK_EQ(failed, 0u);
    auto in = pattern(3, 1, 90);
    auto more = pattern(120, 1, 61);
    in.insert(in.end(), more.begin(), more.end());
    CHECK_EQ(word(r[0].out[0], 0), 151u * 4096 - 77);
    CHECK_EQ(word(r[0].out[0], 4), countSum(in, 151 * 4096 - 77).second);
    CHECK_EQ(word(r[1].out[0], 4), countSum(pattern(10, 1, 100), 409600).second);
    /* Several that run ahead together. */
    for (uint32_t round = 0; round < 3; round++) {
        Job three;
        for (uint32_t p = 0; p < 3; p++) {
            three.pieces.push_back(Piece{{Stream{{{p, 90}}, 90 * 4096}, Stream{{{100 + p, 20}}, 20 * 4096},
                                          Stream{{{130 + p, 15}}, 15 * 4096 - 5}},
                                         {}});
        }
        auto found = runJob(d, three);
        for (uint32_t p = 0; p < 3; p++) {
            CHECK_EQ(found[p].last.status, SCOMP_STATUS_OK);
            for (uint32_t i = 0; i < 3; i++) {
                const auto &stream = three.pieces[p].streams[i];
                auto bytes = pattern(stream.extents[0].lba, 1, stream.extents[0].count);
                CHECK_EQ(word(found[p].out[0], 8 * i), stream.bytes);
                CHECK_EQ(word(found[p].out[0], 8 * i + 4), countSum(bytes, stream.bytes).second);
            }
        }
    }
    /* The levels are back to normal. */
    cells.rber = 0;
    uint64_t retries = media(d).retries;
    CHECK_EQ(d.read(0, 32, &got).status, kOk);
    CHECK_EQ(media(d).retries, retries);
}

TEST(media_errors_that_come_and_go) {
    Nand nand(Geometry{});
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 200);
    CHECK_EQ(load(d, 0, kernelElf(model::kCopy)).status, kOk);
    auto &cells = nand.cells().reliability();
    cells.rber = 2.2e-3; /* some 19 of 24 bits a codeword, other ones with every read */
    cells.randomShare = 1;
    std::vector<uint8_t> got;
    for (uint32_t lba = 0; lba < 64; lba += 16) {
        CHECK_EQ(d.read(lba, 16, &got).status, kOk);
        CHECK(got == pattern(lba, 1, 16));
    }
    Job j;
    j.pieces = {Piece{{Stream{{{3, 90}}, 90 * 4096}}}};
    auto r = runJob(d, j);
    CHECK(r[0].last.status == SCOMP_STATUS_OK);
    CHECK(r[0].out[0] == pattern(3, 1, 90));
    CHECK(media(d).rescued > 0);
}

TEST(media_stream_over_a_lost_page) {
    for (uint32_t streams : {1u, 2u}) {
        Nand nand(Geometry{});
        Drive d(nand, 4, seed);
        d.start();
        fill(d, 0, 300);
        CHECK_EQ(load(d, 0, kernelElf(streams == 1 ? model::kCopy : model::kWeave)).status, kOk);
        flip(nand, sectorOf(nand, 120 + 40), kT + 1);
        Job j;
        Stream good{{{0, 60}}, 60 * 4096}, bad{{{3, 90}, {120, 61}}, 151 * 4096};
        j.args = {0, 0, 0, 0};
        j.pieces = {Piece{streams == 1 ? std::vector{bad} : std::vector{good, bad}},
                    Piece{streams == 1 ? std::vector{good} : std::vector{good, good}}};
        uint32_t failed = 9;
        auto r = runJob(d, j, &failed);
        CHECK_EQ(failed, 1u);
        CHECK_EQ(r[1].last.status, SCOMP_STATUS_OK);
        CHECK_EQ(r[0].last.status, SCOMP_STATUS_MEDIA);
        CHECK_EQ(r[0].last.cause, FLASH_STATUS_UNCORRECTABLE);
        CHECK_EQ(r[0].last.tval, 160u);
        CHECK_EQ(r[0].last.stream, streams - 1);
        CHECK_EQ(r[0].last.position, (90u + 40) * 4096);
        if (streams == 1) {
            /* What came out is right as far as it goes, and does not go beyond the lost page. */
            auto in = pattern(3, 1, 90);
            auto more = pattern(120, 1, 40);
            in.insert(in.end(), more.begin(), more.end());
            CHECK(r[0].out[0].size() <= in.size());
            CHECK(std::equal(r[0].out[0].begin(), r[0].out[0].end(), in.begin()));
        }
        CHECK_EQ(media(d).error_lba[0], 160u);
        std::vector<uint8_t> got;
        CHECK_EQ(d.read(0, 32, &got).status, kOk);
        /* The same job over readable blocks. */
        CHECK_EQ(d.trim(160, 1).status, kOk);
        r = runJob(d, j, &failed);
        CHECK_EQ(failed, 0u);
        d.disable();
    }
}

TEST(media_without_a_code) {
    Nand nand(Geometry{});
    nand.ecc = {};
    Drive d(nand, 1, seed);
    CHECK(d.dev.console.find("no code in this chip: sectors are protected by their CRC only") != std::string::npos);
    d.start();
    fill(d, 0, 64);
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(0, 32, &got).status, kOk);
    CHECK(got == pattern(0, 1, 32));
    flip(nand, sectorOf(nand, 20), 1);
    checkLost(d, 20, FLASH_STATUS_MISMATCH);
    CHECK_EQ(media(d).code_t, 0u);
}

TEST(media_block_is_measured) {
    Nand nand(Geometry{});
    Drive d(nand, 1, seed);
    d.start();
    fill(d, 0, 200);
    uint32_t key = sectorOf(nand, 20);
    scomp_media m = media(d);
    auto look = [&](uint32_t way, uint32_t row, uint32_t step, uint32_t bytes = sizeof(scomp_block)) {
        Sqe s = Drive::sqe(SCOMP_OPCODE_ADMIN_NAND_BLOCK);
        Buffer b = d.buffer(sizeof(scomp_block));
        Drive::setPrp(s, b);
        s[10] = way;
        s[11] = row;
        s[12] = step;
        s[14] = bytes;
        auto c = d.exec(0, s);
        scomp_block found{};
        auto v = d.get(b);
        std::memcpy(&found, v.data(), sizeof found);
        return std::pair{c.status, found};
    };
    uint32_t row = key & 0xffffff & ~(m.block_sectors - 1);
    uint64_t programs = nand.programs, erases = nand.erases;
    auto [status, clean] = look(key >> 24, row, 1);
    CHECK_EQ(status, kOk);
    CHECK(clean.sectors_read > 0);
    CHECK_EQ(clean.sectors_read + clean.sectors_erased, m.block_sectors);
    CHECK_EQ(clean.bits, 0u);
    CHECK_EQ(clean.marks_failed, 0u);
    flip(nand, key, 7);
    auto [status2, some] = look(key >> 24, row, 1);
    CHECK_EQ(status2, kOk);
    CHECK_EQ(some.sectors_read, clean.sectors_read);
    CHECK_EQ(some.bits, 28u);
    CHECK_EQ(some.worst, 7u);
    flip(nand, key, 7);
    flip(nand, key, kT + 1);
    auto [status3, lost] = look(key >> 24, row, 1);
    CHECK_EQ(status3, kOk);
    CHECK_EQ(lost.sectors_failed, 1u);
    CHECK_EQ(lost.address, key & 0xffffff);
    CHECK_EQ(lost.status, FLASH_STATUS_UNCORRECTABLE);
    /* Nothing was repeated, and nothing written. */
    CHECK_EQ(media(d).retries, 0u);
    CHECK_EQ(nand.programs, programs);
    CHECK_EQ(nand.erases, erases);
    CHECK_EQ(look(key >> 24, row, 0).second.sectors_read, 0u);
    CHECK_EQ(look(0xff, row, 1).first, kInvalidField);
    CHECK_EQ(look(0, row + 1, 1).first, kInvalidField);
    CHECK_EQ(look(0, 0xffffff & ~(m.block_sectors - 1), 1).first, kInvalidField);
    CHECK_EQ(look(0, 0, m.block_sectors + 1).first, kInvalidField);
    CHECK_EQ(look(0, 0, 1, 32).first, kInvalidField);
}
