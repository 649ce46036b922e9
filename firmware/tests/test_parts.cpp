// SPDX-License-Identifier: BSD-3-Clause
/* NAND parts that the drive was not made for: pages larger than a block of the drive, numbers of blocks that are no
 * power of two, parameter pages without the block of times; and those it has to refuse. */
#include "tests/admin.h"
#include "tests/scomp.h"

#include <algorithm>
#include <set>

extern "C" {
#include "lib/crc.h"
#include "media/onfi.h"
#include "platform/dram.h"
}

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

/** A small part like the modules of real boards. */
const Geometry kLarge{2, 2, 2, 2, 11, 16, 16384, 2208, false, 0x1f};
/** Micron L05B behind 8 channels of 2 ways: 2,192 blocks a LUN. */
const Geometry kL05b{8, 2, 1, 2, 1096, 512, 16384, 2208, false, 0x1f};

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
    for (uint32_t lba = 0, cap = d.capacity(); lba < cap; lba += 32) {
        uint32_t n = std::min(32u, cap - lba);
        CHECK_EQ(d.read(lba, n, &got).status, kOk);
        CHECK(got == pattern(lba, version, n));
    }
}

/** A parameter page with a good CRC and nothing of interest but what `put` adds. */
onfi_param parsed(const std::function<void(uint8_t *)> &put) {
    uint8_t page[ONFI_PARAM_BYTES] = {'O', 'N', 'F', 'I'};
    put(page);
    uint16_t crc = crc16_onfi(page, 254);
    page[254] = static_cast<uint8_t>(crc);
    page[255] = static_cast<uint8_t>(crc >> 8);
    onfi_param p;
    CHECK(onfi_parse(page, &p));
    return p;
}

} // namespace

TEST(parts_large_pages_hold_a_whole_drive) {
    Nand nand(kLarge);
    {
        Drive d(nand, 1, seed);
        CHECK(says(d, "4 sectors a page, each of 4 codewords of which 70 bits can be corrected, 4600 B"));
        d.start();
        writeAll(d, 1);
        checkAll(d, 1);
        d.shutdown();
    }
    {
        Drive d(nand, 1, seed + 1);
        CHECK(says(d, "clean medium"));
        d.start();
        checkAll(d, 1);
        writeAll(d, 2);
        CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
        CHECK_EQ(d.write(0, pattern(0, 2, 32)).status, kOk);
    }
    Drive d(nand, 1, seed + 2);
    CHECK(says(d, "recovered"));
    d.start();
    checkAll(d, 2);
    /* The log has come round: data is also on the blocks whose number is above the power of two below. */
    std::set<uint32_t> beyond;
    for (auto &[key, page] : nand.pages()) {
        uint32_t row = key & 0xffffff;
        uint32_t block = (row & ((1u << nand.lunShift()) - 1)) >> nand.pageBits();
        if (block >= 16) {
            beyond.insert(row >> nand.lunShift() << 8 | block);
        }
    }
    CHECK_EQ(beyond.size(), 2u * (22 - 16));
}

TEST(parts_functions_read_large_pages) {
    using namespace scomp;
    Nand nand(kLarge);
    Drive d(nand, 2, seed);
    d.start();
    fill(d, 0, 200);
    CHECK_EQ(load(d, 0, kernelElf(model::kCount)).status, kOk);
    Job j;
    j.pieces = {Piece{{Stream{{{3, 90}, {120, 61}}, 151 * 4096 - 77}}}};
    uint32_t failed = 1;
    auto r = runJob(d, j, &failed);
    CHECK_EQ(failed, 0u);
    auto in = pattern(3, 1, 90);
    auto more = pattern(120, 1, 61);
    in.insert(in.end(), more.begin(), more.end());
    auto [n, sum] = countSum(in, 151 * 4096 - 77);
    CHECK_EQ(word(r[0].out[0], 0), n);
    CHECK_EQ(word(r[0].out[0], 4), sum);
}

TEST(parts_of_real_modules) {
    struct Module {
        Geometry geometry;
        uint32_t blocks; /**< capacity */
        const char *console;
    };
    const Module modules[] = {
        /* 7 per cent of all pages but those of parity are kept back, beside what metadata, the log and pages that stay
         * blank take. */
        {kL05b, 1096u * (8 * 2 - 1) * 2 * 512 * 4 / 100 * 93,
         "8 channels x 2 ways x 1 LUNs x 2 planes x 1096 blocks x 512 pages x 16384+2208 B"},
        /* 64 chip enables of two LUNs: as much as the map holds. */
        {{8, 8, 2, 2, 1096, 512, 16384, 2208, false, 0x1f}, DRAM_MAP_SIZE / 4, "4 sectors a page"},
        /* More blocks a plane than superblocks. */
        {{8, 8, 2, 1, 4096 + 88, 256, 16384, 1664, false, 0x1f}, 0, "4184 blocks a plane; the first 4096 are used"},
    };
    for (const Module &m : modules) {
        Nand nand(m.geometry);
        const uint32_t places[] = {0, 1'000'003, 7'654'321, 0xffffffff};
        for (uint32_t life = 1; life <= 3; life++) {
            Drive d(nand, 1, seed + life);
            CHECK(says(d, m.console));
            d.start();
            uint32_t cap = d.capacity();
            CHECK(m.blocks == 0 || (cap < m.blocks + 100 && cap >= m.blocks / 100 * 97));
            std::vector<uint8_t> got;
            for (uint32_t place : places) {
                uint32_t lba = std::min(place, cap - 32);
                if (life > 1) {
                    CHECK_EQ(d.read(lba, 32, &got).status, kOk);
                    CHECK(got == pattern(lba, life - 1, 32));
                }
                CHECK_EQ(d.write(lba, pattern(lba, life, 32)).status, kOk);
            }
            /* What a write cache holds is lost without power. */
            CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
            if (life == 1) {
                d.shutdown();
            }
        }
    }
}

TEST(parts_that_do_not_fit_are_refused) {
    struct Part {
        Geometry geometry;
        const char *console;
    };
    const Part refused[] = {
        {{2, 2, 1, 1, 16, 32, 2048, 64}, "bytes a page: 2048; this firmware needs at least 4096"},
        {{2, 2, 1, 1, 16, 32, 4096, 183},
         "pages of 4096 + 183 B, but 1 sectors of 4280 B need 4280 B with the weakest code (24 bits a codeword)"},
        {{2, 2, 1, 1, 16, 32, 16384, 735}, "but 4 sectors of 4280 B need 17120 B"},
        {{2, 2, 1, 1, 16, 48, 4096, 224}, "pages a block: 48; this firmware takes powers of two up to 32768"},
        {{2, 2, 1, 1, 16, 65536, 4096, 224}, "pages a block: 65536;"},
        {{2, 2, 1, 1, 16, 16384, 16384, 2208}, "pages a block: 16384; this firmware takes powers of two up to 8192"},
        {{2, 2, 3, 1, 16, 32, 4096, 224}, "LUNs a chip enable: 3; the channel takes powers of two up to 8"},
        {{2, 2, 1, 32, 16, 32, 4096, 224}, "plane address bits: 5; this firmware takes up to 4"},
        {{2, 2, 1, 2, 0, 32, 4096, 224}, "blocks a LUN: 0;"},
        {{2, 2, 8, 1, 2192, 1024, 16384, 2208}, "bits of a sector address: 27; a physical page address holds 24"},
        {{2, 2, 1, 1, 16, 32, 16384, 2208, false, 0}, "MODEL offers no NV-DDR2 timing mode"},
        {{2, 2, 1, 1, 5, 32, 16384, 2208}, "5 superblocks; at least"},
    };
    for (const Part &part : refused) {
        Nand nand(part.geometry);
        Drive d(nand, 1, seed);
        CHECK(says(d, part.console));
        CHECK(says(d, "no namespace"));
        d.start();
        CHECK_EQ(d.capacity(), 0u);
    }
}

/* ONFI 4.0, table of NV-DDR2 timing modes: shortest cycle of two bytes, ns. */
TEST(parts_default_timing_of_every_mode) {
    const double cycles[] = {30, 25, 15, 12, 10, 7.5, 6, 5, 3.75, 3, 2.5};
    const double tDQSRE = 25, tRPRE = 25, tRPSTH = 15, tWPST = 6.5, tWPSTH = 25;
    for (uint32_t mode = 0; mode <= 10; mode++) {
        auto p = parsed([&](uint8_t *page) {
            uint32_t modes = (2u << mode) - 1;
            page[142] = static_cast<uint8_t>(modes);
            page[162] = static_cast<uint8_t>(modes >> 8);
        });
        CHECK_EQ(p.timing_mode, mode);
        CHECK_EQ(p.beat_ps, static_cast<uint32_t>(cycles[mode] * 500));
        CHECK(p.t_pst >= tDQSRE + cycles[mode] / 2 + tRPSTH && p.t_pst >= tWPST + tWPSTH);
        CHECK(p.t_pst <= 60);
        CHECK(p.t_rpre >= tRPRE + tDQSRE);
        CHECK(p.t_wc >= 25 && p.t_cs >= 40 && p.t_wb >= 100 && p.t_rr >= 20 && p.t_whr >= 80);
        CHECK_EQ(p.t_adl, 400u);
        CHECK_EQ(p.t_ccs, 300u);
    }
}

TEST(parts_timing_of_the_parameter_page) {
    /* What the part asks for beyond the defaults, as far as the channel's registers go. */
    auto slow = parsed([](uint8_t *page) {
        page[142] = 0x15;
        page[139] = 0xf4, page[140] = 0x01;
        page[154] = 0xff, page[155] = 0xff;
    });
    CHECK_EQ(slow.timing_mode, 4u);
    CHECK_EQ(slow.t_ccs, 500u);
    CHECK_EQ(slow.t_adl, 4000u);
    CHECK_EQ(parsed([](uint8_t *) {}).timing_mode, ONFI_NO_MODE);
    /* The block of times goes before all that. */
    auto own = parsed([](uint8_t *page) {
        page[142] = 0x01;
        page[164] = 0x51, page[165] = 0xa5;
        page[166] = 17;
        page[186] = 6;
    });
    CHECK_EQ(own.t_wc, 17u);
    CHECK_EQ(own.timing_mode, 6u);
}

/* Byte 180 is Micron's; another maker's there may be anything. */
TEST(parts_read_levels_of_the_parameter_page) {
    struct Part {
        uint8_t maker, levels;
        bool block; /**< this project's */
        uint32_t beside;
    };
    const Part parts[] = {
        {0x2c, 5, false, 4}, {0x2c, 1, false, 0}, {0x2c, 0, false, 0}, {0x2c, 255, false, 15},
        {0x45, 5, false, 0}, {0x45, 5, true, 4},  {0x2c, 3, true, 2},  {0xad, 0, false, 7}, /* of the firmware's list */
        {0xad, 3, true, 7},
    };
    for (const Part &part : parts) {
        Geometry g = kLarge;
        g.maker = part.maker;
        g.readLevels = part.levels;
        g.timingBlock = part.block;
        Nand nand(g);
        Drive d(nand, 1, seed);
        d.start();
        CHECK_EQ(d.write(0, pattern(0, 1, 32)).status, kOk);
        CHECK_EQ(d.exec(1, Drive::sqe(0x00, 1)).status, kOk);
        auto media = [&] {
            auto page = admin::logPage(d, SCOMP_LOG_MEDIA, sizeof(scomp_media));
            scomp_media m;
            std::memcpy(&m, page.data(), sizeof m);
            return m;
        };
        CHECK_EQ(media().retry_levels, part.beside);
        /* Too many errors at the normal level; the best other one has a tenth of them. */
        auto &cells = nand.cells().reliability();
        cells.retryLevels = part.beside + 1;
        cells.retryGain = 0.1;
        cells.rber = 1.2e-2;
        std::vector<uint8_t> got;
        uint16_t status = d.read(0, 32, &got).status;
        if (part.beside == 0) {
            CHECK_EQ(status, kReadError);
            CHECK_EQ(media().rescued, 0u);
        } else {
            CHECK_EQ(status, kOk);
            CHECK(got == pattern(0, 1, 32));
            /* Scrub and refresh read, too. */
            CHECK(media().rescued >= 32u);
        }
    }
}

TEST(parts_boot_in_the_fastest_mode_they_offer) {
    for (uint32_t modes : {0x1u, 0x1fu, 0x15u, 0x7ffu}) {
        Geometry g = kLarge;
        g.modes = modes;
        Nand nand(g);
        Drive d(nand, 1, seed);
        d.start();
        CHECK(d.capacity() > 0);
    }
}
