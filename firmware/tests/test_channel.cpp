/* SPDX-License-Identifier: BSD-3-Clause */
/* The flash channel of the device model, driven without firmware. */
#include <algorithm>

#include "tests/harness.h"

using namespace harness;
using model::Geometry;
using model::Nand;

namespace {

const Geometry kQuarters{1, 1, 1, 2, 4, 8, 16384, 2208};
constexpr uint32_t kDram = 0x80000000u;

struct Result {
    uint32_t status, d0, d1, errors, code, tag;
};

/** A device that has been brought up. */
struct Channel {
    explicit Channel(Nand &nand, uint32_t layout = 1) : dev(nand, 1, 1), sectorBits(nand.sectorBits()) {
        set(FLASH_GEOMETRY, (12 + sectorBits) << FLASH_GEOMETRY_PAGE_LOG2_SHIFT |
                                sectorBits << FLASH_GEOMETRY_SECTOR_LOG2_SHIFT |
                                nand.geo.spare << FLASH_GEOMETRY_SPARE_SHIFT |
                                (nand.lunShift() - sectorBits) << FLASH_GEOMETRY_LUN_SHIFT_SHIFT |
                                (nand.geo.luns > 1 ? 1u : 0u) << FLASH_GEOMETRY_LUN_BITS_SHIFT);
        set(FLASH_CODE, sectorBits ? 4 : 1);
        while (get(FLASH_CODE) >> FLASH_CODE_BUSY_SHIFT) {
        }
        set(FLASH_LAYOUT, layout);
        set(FLASH_SEED, 77);
        exec(FLASH_OP_SET_FEATURE, 2, 0x06);
        exec(FLASH_OP_SET_FEATURE, 1, 0x28);
    }
    void set(uint32_t r, uint32_t v) {
        dev.write(ASSASIN_FLASH_BASE + r, v);
    }
    uint32_t get(uint32_t r) {
        return dev.read(ASSASIN_FLASH_BASE + r);
    }
    /** Push a descriptor without waiting for it. */
    void push(uint32_t op, uint32_t w1, uint32_t w2, uint32_t w3 = 4096, uint32_t oob0 = 0, uint32_t bits = 0) {
        set(FLASH_OOB0, oob0);
        set(FLASH_OOB1, oob0 + 1);
        set(FLASH_W0, op | bits);
        set(FLASH_W1, w1);
        set(FLASH_W2, w2);
        set(FLASH_W3, w3);
    }
    /** The next completion. */
    Result wait() {
        uint32_t cpl;
        while (((cpl = get(FLASH_CPL)) >> FLASH_CPL_VALID_SHIFT) == 0) {
            dev.wfi();
        }
        Result r{cpl >> FLASH_CPL_STATUS_SHIFT & FLASH_CPL_STATUS_MASK,
                 get(FLASH_CPL_DATA),
                 get(FLASH_CPL_DATA1),
                 cpl >> FLASH_CPL_ERRORS_SHIFT & FLASH_CPL_ERRORS_MASK,
                 get(FLASH_CPL_CODE),
                 cpl >> FLASH_CPL_TAG_SHIFT & FLASH_CPL_TAG_MASK};
        set(FLASH_CPL_POP, 0);
        return r;
    }
    Result exec(uint32_t op, uint32_t w1, uint32_t w2, uint32_t w3 = 4096, uint32_t oob0 = 0, uint32_t bits = 0) {
        push(op, w1, w2, w3, oob0, bits);
        return wait();
    }
    Result program(uint32_t sector, uint32_t lba, uint32_t confirm = FLASH_CONFIRM_PAGE) {
        auto data = pattern(lba, 1);
        for (uint32_t i = 0; i < 4096; i += 4) {
            uint32_t v;
            std::memcpy(&v, &data[i], 4);
            dev.dramWrite(kDram + i, v);
        }
        return exec(FLASH_OP_PROGRAM, sector, kDram, 4096 | confirm << FLASH_W3_CONFIRM_SHIFT, lba);
    }
    Result read(uint32_t sector, uint32_t lba, uint32_t bits = 0) {
        for (uint32_t i = 0; i < 4096; i += 4) {
            dev.dramWrite(kDram + 8192 + i, 0x12345678);
        }
        return exec(FLASH_OP_READ, sector, kDram + 8192, 4096, lba, 1u << FLASH_W0_CHECK_SHIFT | bits);
    }
    /** What read() delivered. */
    std::vector<uint8_t> got() {
        std::vector<uint8_t> v(4096);
        for (uint32_t i = 0; i < 4096; i += 4) {
            uint32_t w = dev.dramRead(kDram + 8192 + i);
            std::memcpy(&v[i], &w, 4);
        }
        return v;
    }
    bool untouched() {
        auto v = got();
        return std::all_of(v.begin(), v.end(),
                           [](uint8_t b) { return b == 0x12 || b == 0x34 || b == 0x56 || b == 0x78; });
    }
    model::Device dev;
    uint32_t sectorBits;
};

bool refused(const std::function<void()> &f) {
    try {
        f();
    } catch (const model::Violation &) {
        return true;
    }
    return false;
}

} // namespace

TEST(channel_sectors_of_a_page) {
    Nand nand(kQuarters);
    Channel c(nand);
    for (uint32_t s = 0; s < 3; s++) {
        CHECK_EQ(c.program(4 + s, 100 + s, s < 2 ? FLASH_CONFIRM_MORE : FLASH_CONFIRM_PAGE).status, FLASH_STATUS_OK);
    }
    for (uint32_t s = 0; s < 3; s++) {
        Result r = c.read(4 + s, 100 + s);
        CHECK_EQ(r.status, FLASH_STATUS_OK);
        CHECK_EQ(r.d0, 100 + s);
        CHECK_EQ(r.d1, 101 + s);
        CHECK(c.got() == pattern(100 + s, 1));
    }
    /* The page was confirmed without its last sector, and the next one is not programmed. */
    CHECK_EQ(c.read(7, 103).status, FLASH_STATUS_ERASED);
    CHECK(c.untouched());
    CHECK_EQ(c.read(8, 104).status, FLASH_STATUS_ERASED);
    CHECK_EQ(c.read(5, 7).status, FLASH_STATUS_MISDIRECTED);
    CHECK(c.untouched());
    CHECK_EQ(c.get(FLASH_SECTORS_READ), 4u);
    /* Out of the page register, unless FRESH is set. */
    c.read(4, 100);
    uint64_t start = c.dev.now;
    c.read(5, 101);
    uint64_t hit = c.dev.now - start;
    c.read(4, 100);
    start = c.dev.now;
    c.read(5, 101, 1u << FLASH_W0_FRESH_SHIFT);
    CHECK(c.dev.now - start > hit + c.dev.times.read / 2);
    CHECK(refused([&] { c.program(9, 1); }));
}

TEST(channel_pages_that_are_not_finished_are_refused) {
    auto after = [](const std::function<void(Channel &)> &f) {
        Nand nand(kQuarters);
        Channel c(nand);
        CHECK_EQ(c.program(0, 1, FLASH_CONFIRM_MORE).status, FLASH_STATUS_OK);
        return refused([&] { f(c); });
    };
    CHECK(after([](Channel &c) { c.read(0, 1); }));
    CHECK(after([](Channel &c) { c.program(2, 2); }));
    CHECK(after([](Channel &c) { c.program(5, 2); }));
    CHECK(after([](Channel &c) { c.exec(FLASH_OP_ERASE, 0, 0); }));
    CHECK(!after([](Channel &c) { c.program(1, 2); }));
}

TEST(channel_planes_and_cache) {
    Nand nand(kQuarters);
    Channel c(nand);
    uint32_t block = 1u << nand.pageBits();
    CHECK_EQ(c.program(0, 10, FLASH_CONFIRM_PLANE).status, FLASH_STATUS_OK);
    CHECK(nand.pages().empty());
    CHECK_EQ(c.program(block, 11).status, FLASH_STATUS_OK);
    CHECK_EQ(nand.pages().size(), 2u);
    for (uint32_t page = 1; page < 5; page++) {
        uint32_t confirm = page < 4 ? FLASH_CONFIRM_CACHE : FLASH_CONFIRM_PAGE;
        c.dev.faults.programOf = [](uint32_t, uint32_t lba) { return lba == 22; };
        uint32_t status = c.program(page << 2, 20 + page, confirm).status;
        /* The failure of a cache program shows with the next one. */
        CHECK_EQ(status, page == 3 ? FLASH_STATUS_FAIL : FLASH_STATUS_OK);
    }
    for (uint32_t page : {1u, 3u, 4u}) {
        CHECK_EQ(c.read(page << 2, 20 + page).status, FLASH_STATUS_OK);
    }
    CHECK(c.read(2 << 2, 22).status != FLASH_STATUS_OK);
    CHECK(refused([&] {
        c.program(5 << 2, 1, FLASH_CONFIRM_PLANE);
        c.program(6 << 2, 1);
    }));
}

TEST(channel_status_of_each_plane) {
    /* Of a package with one LUN the status of a program tells of all planes, else of its own row's. */
    for (uint32_t luns : {1u, 2u}) {
        Geometry g = kQuarters;
        g.luns = luns;
        Nand nand(g);
        Channel c(nand);
        uint32_t block = 1u << nand.pageBits();
        c.dev.faults.programOf = [](uint32_t, uint32_t lba) { return lba == 10; };
        CHECK_EQ(c.program(0, 10, FLASH_CONFIRM_PLANE).status, FLASH_STATUS_OK);
        CHECK_EQ(c.program(block, 11).status, luns == 1 ? FLASH_STATUS_FAIL : FLASH_STATUS_OK);
        if (luns > 1) {
            CHECK_EQ(c.exec(FLASH_OP_READ_STATUS, 0, 0, 0).d0 & 1, 1u);
            CHECK_EQ(c.exec(FLASH_OP_READ_STATUS, block, 0, 0).d0 & 1, 0u);
            /* Another program of the LUN clears it. */
            CHECK_EQ(c.program(4, 12).status, FLASH_STATUS_OK);
            CHECK_EQ(c.exec(FLASH_OP_READ_STATUS, 0, 0, 0).d0 & 1, 0u);
        }
    }
}

TEST(channel_luns_work_at_the_same_time) {
    Nand nand(Geometry{1, 1, 2, 1, 4, 8});
    Channel c(nand);
    auto tag = [](uint32_t n) { return n << FLASH_W0_TAG_SHIFT; };
    const uint32_t lun1 = 1u << nand.lunShift();
    uint64_t from = c.dev.now;
    c.exec(FLASH_OP_ERASE, 0, 0, 0);
    const uint64_t one = c.dev.now - from;
    from = c.dev.now;
    c.push(FLASH_OP_ERASE, 0, 0, 0);
    c.push(FLASH_OP_ERASE, lun1, 0, 0);
    c.wait();
    c.wait();
    CHECK(c.dev.now - from < one + one / 2);
    /* READ_STATUS is behind the program that it asks about, and overtakes the other LUN's erase; what is for the whole
     * way waits for both. */
    c.dev.faults.programOf = [](uint32_t, uint32_t lba) { return lba == 10; };
    c.push(FLASH_OP_ERASE, 0, 0, 0, 0, tag(1));
    c.push(FLASH_OP_PROGRAM, lun1, kDram, 4096, 10, tag(2));
    c.push(FLASH_OP_READ_STATUS, lun1, 0, 0, 0, tag(3));
    c.push(FLASH_OP_SET_FEATURE, 0x89, 0, 0, 0, tag(4));
    Result program = c.wait(), status = c.wait();
    CHECK_EQ(program.tag, 2u);
    CHECK_EQ(program.status, FLASH_STATUS_FAIL);
    CHECK_EQ(status.tag, 3u);
    CHECK_EQ(status.status, FLASH_STATUS_OK);
    CHECK_EQ(status.d0 & 1, 1u);
    CHECK_EQ(c.wait().tag, 1u);
    CHECK_EQ(c.wait().tag, 4u);
}

TEST(channel_corrects_and_counts) {
    Nand nand(Geometry{1, 1, 1, 1, 4, 8});
    Channel c(nand);
    CHECK_EQ(c.program(0, 5).status, FLASH_STATUS_OK);
    nand.cells().reliability().rber = 4e-4;
    uint32_t bits = 0, sectors = 0;
    for (uint32_t i = 0; i < 20; i++) {
        Result r = c.read(0, 5, 1u << FLASH_W0_FRESH_SHIFT);
        CHECK_EQ(r.status, FLASH_STATUS_OK);
        CHECK(c.got() == pattern(5, 1));
        uint32_t found = r.code >> FLASH_CPL_CODE_BITS_SHIFT & FLASH_CPL_CODE_BITS_MASK;
        CHECK(r.errors > 0 && r.errors <= 24 && found >= r.errors && found <= 4 * r.errors);
        bits += found;
        sectors++;
    }
    CHECK_EQ(c.get(FLASH_BITS_CORRECTED), bits);
    CHECK_EQ(c.get(FLASH_SECTORS_READ), sectors);
    CHECK_EQ(c.get(FLASH_SECTORS_FAILED), 0u);
    nand.cells().reliability().rber = 0.02;
    Result r = c.read(0, 5, 1u << FLASH_W0_FRESH_SHIFT);
    CHECK_EQ(r.status, FLASH_STATUS_UNCORRECTABLE);
    CHECK_EQ(r.code >> FLASH_CPL_CODE_FAILED_SHIFT, 15u);
    CHECK_EQ(r.d1, 5u);
    CHECK(c.untouched());
    CHECK_EQ(c.get(FLASH_SECTORS_FAILED), 1u);
    /* As they lie in the array, errors included. */
    nand.cells().reliability().rber = 0;
    auto encoded = nand.readPage(0, 0).raw;
    CHECK_EQ(c.exec(FLASH_OP_READ_RAW, 0, kDram + 8192, 1024, 64).status, FLASH_STATUS_OK);
    auto raw = c.got();
    CHECK(std::equal(raw.begin(), raw.begin() + 1024, encoded.begin() + 64));
}

TEST(channel_refuses_other_layouts_seeds_and_addresses) {
    Nand nand(Geometry{1, 1, 1, 1, 4, 8});
    Channel c(nand);
    CHECK_EQ(c.program(0, 5).status, FLASH_STATUS_OK);
    CHECK_EQ(c.program(1, 6).status, FLASH_STATUS_OK);
    c.set(FLASH_LAYOUT, 2);
    CHECK_EQ(c.read(0, 5).status, FLASH_STATUS_FOREIGN);
    CHECK(c.untouched());
    c.set(FLASH_LAYOUT, 0x101);
    CHECK_EQ(c.read(1, 6).status, FLASH_STATUS_OK);
    c.set(FLASH_SEED, 78);
    CHECK_EQ(c.read(0, 5).status, FLASH_STATUS_MISMATCH);
    CHECK(c.untouched());
    c.set(FLASH_SEED, 77);
    c.dev.misdirected = {{0, 1}};
    CHECK_EQ(c.read(0, 5, 1u << FLASH_W0_FRESH_SHIFT).status, FLASH_STATUS_MISMATCH);
    CHECK(refused([&] { c.set(FLASH_CODE, 5); }));
    c.set(FLASH_CODE, 2);
    CHECK(refused([&] { c.read(0, 5); }));
}

/** A sector that needs no decoding reads as one that is decoded, whatever has happened to it. */
TEST(channel_whole_sectors_read_as_decoded) {
    Geometry geo;
    geo.channels = geo.ways = 1;
    geo.pageBytes = 8192;
    geo.spare = 448;
    Nand nand(geo);
    std::mt19937 rng(seed);
    const assasin::SectorCodec &codec = Nand::codec(24);
    const assasin::SectorCodec::Setting setting{0x1234, 1}, other{0x1234, 2};
    uint32_t corrected = 0, clean = 0, bad = 0;
    for (uint32_t round = 0; round < 40; round++) {
        nand.beginErase(0);
        nand.endErase(0, false);
        for (uint32_t page = 0; page < 4; page++) {
            std::vector<uint8_t> raw(nand.rawPageBytes(), 0xff);
            uint32_t sectors = 1 + rng() % 2;
            for (uint32_t s = 0; s < sectors; s++) {
                std::vector<uint8_t> data(4096);
                std::generate(data.begin(), data.end(), std::ref(rng));
                codec.encode(page * 2 + s, rng() % 8 ? setting : other, data.data(), page * 2 + s, round,
                             raw.data() + s * codec.sectorBytes());
            }
            bool blank = nand.beginProgram(page * 2, raw, false);
            bool held = nand.endProgram(page * 2, rng() % 8 == 0);
            for (uint32_t s = 0; s < sectors && held && blank; s++) {
                nand.setWhole(page * 2 + s, codec.t());
            }
            if (!held) {
                break;
            }
        }
        if (rng() % 8 == 0) {
            nand.beginErase(0);
            nand.cut(std::nullopt);
        }
        for (uint32_t n = 0; n < 30; n++) {
            nand.cells().reliability().rber = n % 3 == 0 ? 0 : n % 3 == 1 ? 3e-5 : 2e-3;
            uint32_t key = rng() % 8;
            Nand::PageRegister reg = nand.readPage(key, 0);
            std::optional<uint32_t> expected;
            if (rng() % 2) {
                expected = rng() % 4 ? key : key ^ 1;
            }
            uint32_t limit = rng() % 2 ? 256 : 64;
            assasin::Sector a = nand.decode(key, reg, codec, setting, expected, limit);
            assasin::Sector b =
                codec.decode(key, setting, reg.raw.data() + key % 2 * codec.sectorBytes(), expected, limit);
            CHECK(a.status == b.status);
            CHECK(a.data == b.data);
            CHECK(a.errors == b.errors);
            CHECK_EQ(a.oob0, b.oob0);
            CHECK_EQ(a.oob1, b.oob1);
            CHECK_EQ(a.layout, b.layout);
            corrected += b.bits() > 0;
            clean += b.status == assasin::SectorStatus::Ok && b.bits() == 0;
            bad += b.status != assasin::SectorStatus::Ok;
        }
    }
    CHECK(corrected > 50 && clean > 50 && bad > 50);
}
