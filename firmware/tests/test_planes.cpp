// SPDX-License-Identifier: BSD-3-Clause
/* Pages of several planes in one program: when they are, when they are not, and what a failure or a power cut leaves.
 */
#include "tests/harness.h"

#include <algorithm>
#include <set>

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

const Geometry kTwo{2, 2, 1, 2, 16, 16};
const Geometry kLuns{2, 2, 2, 2, 16, 16};
const Geometry kFour{1, 2, 1, 4, 16, 16};
const Geometry kSectors{2, 1, 2, 2, 16, 16, 16384, 2208};
const Geometry kOne{2, 2, 1, 1, 16, 16, 16384, 2208};
/** Programs take longer than the data in of the channel's other pages: planes are programmed together. */
model::Times slow() {
    model::Times times;
    times.program = 100'000;
    return times;
}
constexpr uint32_t kFua = 1u << 30;
constexpr uint32_t kBurst = 256;

uint16_t submit(Drive &d, uint32_t lba, uint32_t version, uint32_t blocks = 1, uint32_t flags = 0) {
    Buffer b = d.buffer(blocks * 4096);
    d.put(b, pattern(lba, version, blocks).data());
    Sqe s = Drive::sqe(0x01, 1);
    Drive::setPrp(s, b);
    s[10] = lba;
    s[12] = (blocks - 1) | flags;
    return d.submit(1, s);
}

uint16_t flush(Drive &d) {
    return d.exec(1, Drive::sqe(0x00, 1)).status;
}

/** Write blocks [0, kBurst) with as many commands in flight as the queue takes, and flush. */
void burst(Drive &d, uint32_t version) {
    std::vector<uint16_t> cids;
    for (uint32_t lba = 0; lba < kBurst; lba += 32) {
        cids.push_back(submit(d, lba, version, 32));
    }
    for (uint16_t cid : cids) {
        CHECK_EQ(d.wait(1, cid).status, kOk);
    }
    CHECK_EQ(flush(d), kOk);
    d.freeHost();
}

bool holds(Drive &d, uint32_t lba, uint32_t version) {
    std::vector<uint8_t> got;
    CHECK_EQ(d.read(lba, 1, &got).status, kOk);
    return got == pattern(lba, version, 1);
}

/** Programs of user pages, by the way and the time at which they end. */
struct Programs {
    Programs(Drive &drive, const Nand &medium, std::function<bool(uint32_t key, uint32_t lba)> fails = nullptr)
        : d(drive), nand(medium) {
        d.dev.faults.programOf = [this, fails](uint32_t key, uint32_t tag) {
            if (tag >= 0x10000000) {
                return false;
            }
            ended[{key >> 24, d.dev.now}].insert(key >> nand.sectorBits());
            return fails && fails(key, tag);
        };
    }
    /** Pages of programs of `n` pages. */
    size_t pagesOf(size_t n) const {
        size_t pages = 0;
        for (auto &[when, together] : ended) {
            pages += together.size() == n ? n : 0;
        }
        return pages;
    }
    Drive &d;
    const Nand &nand;
    std::map<std::pair<uint32_t, uint64_t>, std::set<uint32_t>> ended;
};

} // namespace

TEST(planes_of_a_burst_are_programmed_together) {
    for (const Geometry &g : {kTwo, kLuns, kFour, kSectors}) {
        Nand nand(g);
        {
            Drive d(nand, 1, seed, 0, {}, slow());
            d.start();
            burst(d, 1);
            Programs programs(d, nand);
            burst(d, 2);
            size_t all = 0;
            for (auto &[when, together] : programs.ended) {
                all += together.size();
                /* Same LUN, block and page; the planes from some one on. */
                uint32_t page = *together.begin(), step = 1u << (nand.pageBits() - nand.sectorBits());
                for (uint32_t other : together) {
                    CHECK_EQ(other, page);
                    page += step;
                }
            }
            CHECK_EQ(all, kBurst >> nand.sectorBits());
            CHECK(programs.pagesOf(g.planes) * 10 >= all * 7);
        }
        Drive d(nand, 1, seed + 1);
        d.start();
        for (uint32_t lba = 0; lba < kBurst; lba++) {
            CHECK(holds(d, lba, 2));
        }
    }
}

TEST(planes_halve_the_time_of_a_burst) {
    uint64_t took[2];
    for (bool together : {false, true}) {
        Geometry g = kTwo;
        g.multiPlane = together;
        Nand nand(g);
        Drive d(nand, 1, seed, 0, {}, slow());
        d.start();
        burst(d, 1);
        uint64_t start = d.dev.now;
        burst(d, 2);
        took[together] = d.dev.now - start;
    }
    CHECK(took[1] * 10 < took[0] * 6);
}

TEST(planes_a_lone_write_waits_for_nobody) {
    Nand nand(kTwo);
    model::Times times;
    times.program = 1'000'000;
    Drive d(nand, 1, seed, 0, {}, times);
    d.start();
    CHECK_EQ(d.write(0, pattern(0, 1)).status, kOk);
    /* Fewer than the other plane's pages need. */
    for (uint32_t blocks = 1; blocks < 5; blocks++) {
        uint64_t start = d.dev.now;
        CHECK_EQ(d.write(8, pattern(8, 1, blocks)).status, kOk);
        CHECK(d.dev.now - start < 1'400'000);
    }
    /* Nor when others come that fill no page: the same block over and over. */
    Nand four(kSectors);
    Drive e(four, 1, seed, 0, {}, times);
    e.start();
    burst(e, 1);
    uint64_t start = e.dev.now;
    uint16_t lone = submit(e, 3, 2, 1, kFua);
    for (uint32_t i = 0; i < 40; i++) {
        submit(e, 9, 2 + i);
    }
    CHECK_EQ(e.wait(1, lone).status, kOk);
    CHECK(e.dev.now - start < 2'400'000);
    CHECK_EQ(flush(e), kOk);
    CHECK(holds(e, 9, 41));
}

TEST(planes_of_a_part_without_multi_plane_programs) {
    for (Geometry g : {kTwo, kSectors}) {
        g.multiPlane = false;
        Nand nand(g);
        Drive d(nand, 1, seed, 0, {}, slow());
        d.start();
        Programs programs(d, nand);
        burst(d, 1);
        CHECK_EQ(programs.pagesOf(1), kBurst >> nand.sectorBits());
        for (uint32_t lba = 0; lba < kBurst; lba++) {
            CHECK(holds(d, lba, 1));
        }
    }
}

TEST(planes_where_the_bus_has_no_time_left) {
    /* Pages of four sectors take longer to be sent than to be programmed: one program a page. */
    Nand nand(kSectors);
    Drive d(nand, 1, seed);
    d.start();
    Programs programs(d, nand);
    burst(d, 1);
    CHECK_EQ(programs.pagesOf(1), kBurst >> nand.sectorBits());
}

TEST(planes_fail_one_by_one) {
    /* A page of either plane fails now and then, at any of its sectors: the medium has lost what it held, so all of it
     * is written again. What is written again goes well. */
    for (const Geometry &g : {kTwo, kLuns, kFour, kSectors, kOne}) {
        for (uint32_t plane = 0; plane < g.planes; plane++) {
            Nand nand(g);
            {
                /* Which pages fail is counted without those of parity. */
                Drive d(nand, 1, seed, 0, {}, slow(), {}, UINT64_MAX, {0, IDENTITY_FLAG_PARITY_OFF});
                d.start();
                burst(d, 1);
                uint32_t failed = 0, page = 0;
                std::set<uint32_t> written;
                Programs programs(d, nand, [&](uint32_t key, uint32_t lba) {
                    bool again = !written.insert(lba).second;
                    uint32_t sectors = 1u << nand.sectorBits(), sector = key & (sectors - 1);
                    if ((key >> nand.pageBits() & (g.planes - 1)) != plane) {
                        return false;
                    }
                    page += sector == 0;
                    bool fails = !again && page % 11 == 1 && sector == page / 11 % sectors;
                    failed += fails;
                    return fails;
                });
                burst(d, 2);
                CHECK(failed > 2 && programs.pagesOf(g.planes) > 0);
                for (uint32_t lba = 0; lba < kBurst; lba++) {
                    CHECK(holds(d, lba, 2));
                }
            }
            Drive d(nand, 1, seed + 1);
            d.start();
            for (uint32_t lba = 0; lba < kBurst; lba++) {
                CHECK(holds(d, lba, 2));
            }
        }
    }
}

TEST(planes_power_cut_in_a_burst) {
    /* Whatever the cut leaves of the pages of one program, each block is old or new, and the log goes on behind. */
    for (const Geometry &g : {kTwo, kLuns, kSectors}) {
        for (uint64_t at = 2'000; at < 1'200'000; at += 97'000) {
            Nand nand(g);
            for (uint32_t life = 0; life < 3; life++) {
                bool cut = false;
                {
                    Drive d(nand, 1, seed + life, 0, {}, slow());
                    d.start();
                    burst(d, 1);
                    d.dev.cutAt = d.dev.now + at;
                    try {
                        burst(d, 2);
                    } catch (const model::PowerCut &) {
                        d.dev.tearInFlight();
                        cut = true;
                    }
                }
                Drive d(nand, 1, seed + life + 10);
                d.start();
                for (uint32_t lba = 0; lba < kBurst; lba++) {
                    CHECK(holds(d, lba, 2) || (cut && holds(d, lba, 1)));
                }
            }
        }
    }
}
