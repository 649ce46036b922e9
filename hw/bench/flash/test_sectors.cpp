// SPDX-License-Identifier: BSD-3-Clause
#include "Support.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace flashbench;
using assasin::NandViolation;

namespace {

/** Counts array reads, and flips bits of what they bring. */
struct Errors : assasin::NandFaults {
    explicit Errors(const FlashBench &bench) : b(bench) {
    }
    void onRead(const assasin::NandAddress &, uint8_t *raw, unsigned) override {
        reads++;
        for (unsigned c = 0; c < 4; c++)
            for (unsigned n = 0; n < count[c]; n++)
                flip(raw, c, (first + n * step) % codewordBits());
    }
    /** Bit `bit` of codeword `c` of the page. */
    void flip(uint8_t *raw, unsigned c, unsigned bit) const {
        raw[c * (1028 + b.codec->parityBytes()) + bit / 8] ^= static_cast<uint8_t>(0x80 >> bit % 8);
    }
    /** Without the bytes behind the parity. */
    unsigned codewordBits() const {
        return 8 * 1028 + 14 * b.codec->t() - (b.codec->t() > 64 ? 7 : 0);
    }
    const FlashBench &b;
    unsigned reads = 0;
    unsigned count[4] = {};
    unsigned first = 3, step = 97;
};

struct Bench : FlashBench {
    explicit Bench(const assasin::PartFile &part) : FlashBench(part, seed()), errors(*this) {
        boot();
        faults = &errors;
    }
    Errors errors;
};

Completion readOk(FlashBench &b, unsigned way, uint32_t address, uint64_t key) {
    b.fillDram(kReadBuffer, std::vector<uint8_t>(kSector, 0xEE));
    Completion c = read(b, way, address);
    EXPECT_EQ(c.status, FLASH_STATUS_OK) << "sector address " << address;
    EXPECT_EQ(b.dram(kReadBuffer, kSector), pattern(key)) << "sector address " << address;
    return c;
}

} // namespace

TEST(Sectors, CodeInfoListsTheStrengths) {
    Bench b(testPart());
    EXPECT_EQ(b.readReg(FLASH_CODE_INFO), 0u);
    unsigned before = 0, n = 1;
    for (; n < 8 && b.readReg(FLASH_CODE_INFO + 4 * n); n++) {
        b.setCode(n); // compares the parity bytes
        EXPECT_GT(b.codec->t(), before);
        before = b.codec->t();
        EXPECT_EQ(b.readReg(FLASH_CODE), n);
    }
    for (unsigned beyond = n; beyond < 8; beyond++)
        EXPECT_EQ(b.readReg(FLASH_CODE_INFO + 4 * beyond), 0u);
    b.writeReg(FLASH_CODE, n); // does not exist
    EXPECT_EQ(b.readReg(FLASH_CODE) & FLASH_CODE_STRENGTH_MASK, 0u);
}

/** Every strength: written by the channel, read by the codec, and the other way round. */
TEST(Sectors, EveryStrengthReadsWhatItWrote) {
    Bench b(largePart());
    unsigned page = 0;
    for (unsigned n = 0; n < 8 && (n == 0 || b.readReg(FLASH_CODE_INFO + 4 * n)); n++) {
        b.setCode(n);
        if (b.codec->sectorBytes() * 4 > b.part.geometry.rawPageBytes())
            continue;
        b.put(0, 0, 1, page, 1000 + n);
        const uint32_t address = b.sector(0, 2, page, 0);
        ASSERT_EQ(program(b, 0, address, pattern(n), n, ~n).status, FLASH_STATUS_OK);
        std::vector<uint8_t> raw = b.raw(0, 0, 2, page), expected = encoded(b, address, pattern(n), n, ~n);
        raw.resize(expected.size());
        EXPECT_EQ(raw, expected) << "strength " << n;
        for (unsigned s = 0; s < 4; s++) {
            Completion c = readOk(b, 0, b.sector(0, 1, page, s), 1000 + n + s);
            EXPECT_EQ(c.data0, 1000 + n);
            EXPECT_EQ(c.data1, s);
        }
        readOk(b, 0, address, n);
        page++;
    }
}

TEST(Sectors, SectorsOfAPageInOneProgram) {
    Bench b(largePart());
    for (unsigned count = 1; count <= 4; count++) {
        std::vector<uint8_t> expected;
        for (unsigned s = 0; s < count; s++) {
            const uint32_t address = b.sector(1, 4, count, s);
            Completion c = program(b, 0, address, pattern(10 * count + s), s, count,
                                   s + 1 < count ? FLASH_CONFIRM_MORE : FLASH_CONFIRM_PAGE);
            ASSERT_EQ(c.status, FLASH_STATUS_OK);
            std::vector<uint8_t> sector = encoded(b, address, pattern(10 * count + s), s, count);
            expected.insert(expected.end(), sector.begin(), sector.end());
            // Other ways use the bus between the sectors.
            EXPECT_EQ(read(b, 1, b.sector(0, 0, 0)).status, FLASH_STATUS_ERASED);
        }
        expected.resize(b.part.geometry.rawPageBytes(), 0xFF);
        EXPECT_EQ(b.raw(0, 1, 4, count), expected) << count << " sectors";
        for (unsigned s = 0; s < 4; s++) {
            if (s < count)
                readOk(b, 0, b.sector(1, 4, count, s), 10 * count + s);
            else
                EXPECT_EQ(read(b, 0, b.sector(1, 4, count, s)).status, FLASH_STATUS_ERASED);
        }
    }
}

TEST(Sectors, APageThatIsBeingFilledTakesItsNextSectorOnly) {
    Bench b(largePart());
    auto start = [&] { return program(b, 0, b.sector(0, 1, 0, 0), pattern(1), 0, 0, FLASH_CONFIRM_MORE).status; };
    ASSERT_EQ(start(), FLASH_STATUS_OK);
    EXPECT_EQ(erase(b, 0, b.sector(0, 2, 0)), FLASH_STATUS_BAD_DESC);
    EXPECT_EQ(read(b, 0, b.sector(0, 2, 0)).status, FLASH_STATUS_BAD_DESC);
    EXPECT_EQ(program(b, 0, b.sector(0, 1, 0, 2), pattern(1)).status, FLASH_STATUS_BAD_DESC); // skips one
    EXPECT_EQ(program(b, 0, b.sector(0, 1, 1, 1), pattern(1)).status, FLASH_STATUS_BAD_DESC); // another page
    EXPECT_EQ(program(b, 0, b.sector(0, 1, 0, 1), pattern(2)).status, FLASH_STATUS_OK);
    readOk(b, 0, b.sector(0, 1, 0, 0), 1);
    readOk(b, 0, b.sector(0, 1, 0, 1), 2);
    // A way whose page is given up takes RESET.
    ASSERT_EQ(program(b, 0, b.sector(0, 1, 1, 0), pattern(1), 0, 0, FLASH_CONFIRM_MORE).status, FLASH_STATUS_OK);
    b.setTiming(b.timing.sdr(0));
    EXPECT_EQ(b.execute(make(FLASH_OP_RESET, 0)).status, FLASH_STATUS_OK);
    EXPECT_EQ(b.image->nextPage({0, 0, 0, 1}), 1u);
    EXPECT_EQ(erase(b, 0, b.sector(0, 2, 0)), FLASH_STATUS_OK);
}

/** Which reads find their sector in the page register. */
TEST(Sectors, PageRegisterIsReadOnce) {
    Bench b(largePart());
    for (unsigned page = 0; page < 2; page++)
        b.put(0, 0, 1, page, 100 * page);
    unsigned reads = 0;
    auto get = [&](unsigned page, unsigned s, bool array, bool fresh = false) {
        Descriptor d = make(FLASH_OP_READ, 0, b.sector(0, 1, page, s), kReadBuffer, kSector);
        d.fresh = fresh;
        Completion c = b.execute(d);
        EXPECT_EQ(c.status, FLASH_STATUS_OK);
        EXPECT_EQ(b.dram(kReadBuffer, kSector), pattern(100 * page + s)) << "page " << page << " sector " << s;
        reads += array;
        EXPECT_EQ(b.errors.reads, reads) << "page " << page << " sector " << s;
    };
    get(0, 0, true);
    get(0, 1, false);
    get(0, 2, false);
    get(0, 3, false);
    get(0, 3, true);  // the same again
    get(0, 1, true);  // back
    get(0, 3, false); // a gap
    get(1, 0, true);  // another page
    get(1, 2, false);
    get(1, 3, true, true); // FRESH
    get(0, 2, true);
    EXPECT_EQ(b.execute(make(FLASH_OP_READ_STATUS, 0)).status, FLASH_STATUS_OK);
    get(0, 3, true); // something else in between
    get(1, 0, true);
    ASSERT_EQ(b.execute(make(FLASH_OP_READ_RAW, 0, b.sector(0, 1, 1, 0), kReadBuffer, 8)).status, FLASH_STATUS_OK);
    reads++;
    get(1, 1, true);
    EXPECT_EQ(erase(b, 0, b.sector(0, 2, 0)), FLASH_STATUS_OK);
    get(1, 0, true);
    // The other LUN matters only when it is given a page, or when LUNs take turns.
    EXPECT_EQ(erase(b, 0, b.sector(1, 1, 0)), FLASH_STATUS_OK);
    get(1, 1, kLuns == 1);
    EXPECT_EQ(program(b, 0, b.sector(1, 1, 0), pattern(9)).status, FLASH_STATUS_OK);
    get(1, 2, true);
    // Other ways do not matter.
    EXPECT_EQ(read(b, 1, 0).status, FLASH_STATUS_ERASED);
    reads++;
    get(1, 3, false);
}

/** A queue full of sectors of one way: the next one is on the bus while the last one is checked and delivered. */
TEST(Sectors, SectorsOfOneWayFollowEachOther) {
    Bench b(largePart());
    b.put(0, 0, 1, 0, 5);
    for (unsigned s = 0; s < 4; s++)
        b.push(make(FLASH_OP_READ, 0, b.sector(0, 1, 0, s), kReadBuffer + s * kSector, kSector));
    uint64_t first = 0, last = 0;
    for (unsigned s = 0; s < 4; s++) {
        Completion c = b.wait();
        EXPECT_EQ(c.status, FLASH_STATUS_OK);
        (s ? last : first) = c.cycle;
        EXPECT_EQ(b.dram(kReadBuffer + s * kSector, kSector), pattern(5 + s));
    }
    assasin::NandCycles t = b.timing.nvddr2();
    const unsigned bus = t.tCS + t.tRPRE + b.codec->sectorBytes() / kPhyBytes * t.beat + t.tPST;
    EXPECT_LT(last - first, 3 * bus + 60);
}

TEST(Sectors, RawBytesOfAPage) {
    Bench b(largePart());
    b.put(0, 0, 1, 0, 5);
    std::vector<uint8_t> raw = b.raw(0, 0, 1, 0);
    for (auto [column, bytes] : {std::pair(0u, 4096u), {16384u, 8u}, {4096u, 1000u}, {18040u, 8u}, {8u, 13u}}) {
        b.fillDram(kReadBuffer, std::vector<uint8_t>(kSector, 0xEE));
        Descriptor d = make(FLASH_OP_READ_RAW, 0, b.sector(0, 1, 0, 2), kReadBuffer, bytes);
        d.oob0 = column;
        EXPECT_EQ(b.execute(d).status, FLASH_STATUS_OK);
        std::vector<uint8_t> expected(kSector, 0xEE);
        std::copy(raw.begin() + column, raw.begin() + column + bytes, expected.begin());
        EXPECT_EQ(b.dram(kReadBuffer, kSector), expected) << bytes << " bytes from column " << column;
    }
    EXPECT_EQ(b.readReg(FLASH_SECTORS_READ), 0u);
}

TEST(Sectors, ErrorsUpToTheStrengthAreCorrected) {
    Bench b(testPart());
    const unsigned t = b.codec->t();
    if (t == 0)
        GTEST_SKIP() << "no code";
    b.put(0, 0, 1, 0, 7);
    uint32_t sectors = 0, bits = 0;
    for (unsigned errors : {1u, 2u, t / 2, t - 1, t}) {
        for (unsigned first : {0u, 8191u, 8200u, b.errors.codewordBits() - 1}) {
            for (unsigned c = 0; c < 4; c++)
                b.errors.count[c] = c == 2 ? errors : errors / 2;
            b.errors.first = first;
            Completion c = readOk(b, 0, b.sector(0, 1, 0), 7);
            EXPECT_EQ(c.data0, 7u);
            EXPECT_EQ(c.data1, 0u);
            EXPECT_EQ(c.errors, errors);
            EXPECT_EQ(c.bits, errors + 3 * (errors / 2));
            EXPECT_EQ(c.failed, 0u);
            sectors++;
            bits += errors + 3 * (errors / 2);
        }
    }
    EXPECT_EQ(b.readReg(FLASH_SECTORS_READ), sectors);
    EXPECT_EQ(b.readReg(FLASH_BITS_CORRECTED), bits);
    EXPECT_EQ(b.readReg(FLASH_SECTORS_FAILED), 0u);
}

TEST(Sectors, MoreErrorsThanTheStrengthDeliverNothing) {
    Bench b(testPart());
    const unsigned t = b.codec->t();
    b.put(0, 0, 1, 0, 7);
    uint32_t failures = 0;
    for (unsigned mask = 1; mask < 16; mask++) {
        for (unsigned c = 0; c < 4; c++)
            b.errors.count[c] = mask >> c & 1 ? t + 1 : 0;
        b.errors.first = mask;
        // What more than t errors give, the codec in software knows.
        std::vector<uint8_t> raw = b.raw(0, 0, 1, 0);
        b.errors.onRead({}, raw.data(), raw.size());
        assasin::Sector expected = b.codec->decode(b.sector(0, 1, 0), b.setting, raw.data());
        b.fillDram(kReadBuffer, std::vector<uint8_t>(kSector, 0xEE));
        Completion c = read(b, 0, b.sector(0, 1, 0));
        EXPECT_TRUE(c.status == FLASH_STATUS_UNCORRECTABLE || c.status == FLASH_STATUS_MISMATCH) << c.status;
        EXPECT_EQ(c.status == FLASH_STATUS_UNCORRECTABLE, expected.status == assasin::SectorStatus::Uncorrectable);
        EXPECT_EQ(c.failed, expected.failed());
        EXPECT_EQ(b.dram(kReadBuffer, kSector), std::vector<uint8_t>(kSector, 0xEE));
        failures++;
        EXPECT_EQ(b.readReg(FLASH_SECTORS_FAILED), failures);
    }
    // The next read is not disturbed.
    std::fill(b.errors.count, b.errors.count + 4, 0);
    readOk(b, 0, b.sector(0, 1, 0), 7);
}

TEST(Sectors, StuckBitsAreNotData) {
    struct Stuck : assasin::NandFaults {
        void onRead(const assasin::NandAddress &, uint8_t *raw, unsigned bytes) override {
            std::fill(raw, raw + bytes, value);
        }
        uint8_t value = 0;
    } stuck;
    Bench b(testPart());
    b.put(0, 0, 1, 0, 7);
    b.faults = &stuck;
    for (uint8_t value : {0x00, 0x55, 0xFF}) {
        stuck.value = value;
        std::vector<uint8_t> raw(b.codec->sectorBytes(), value);
        assasin::Sector expected = b.codec->decode(b.sector(0, 1, 0), b.setting, raw.data());
        Completion c = read(b, 0, b.sector(0, 1, 0));
        EXPECT_EQ(c.status, value == 0xFF                                             ? FLASH_STATUS_ERASED
                            : expected.status == assasin::SectorStatus::Uncorrectable ? FLASH_STATUS_UNCORRECTABLE
                                                                                      : FLASH_STATUS_MISMATCH);
    }
}

TEST(Sectors, ErasedUpToTheLimit) {
    Bench b(testPart());
    b.writeReg(FLASH_ERASED_LIMIT, 10);
    for (unsigned zeros : {9u, 10u, 11u}) {
        b.errors.count[0] = 4;
        b.errors.count[1] = b.errors.count[2] = 0;
        b.errors.count[3] = zeros - 4;
        Completion c = read(b, 0, b.sector(0, 1, 0));
        EXPECT_EQ(c.status == FLASH_STATUS_ERASED, zeros <= 10) << zeros << " zero bits: status " << c.status;
        if (zeros <= 10) {
            EXPECT_EQ(c.bits, 0u);
        }
    }
}

TEST(Sectors, MismatchForeignAndMisplaced) {
    Bench b(testPart());
    b.put(0, 0, 1, 0, 7);
    const uint32_t address = b.sector(0, 1, 0);
    b.writeReg(FLASH_SEED, kSeed + 1); // another medium's scrambler
    EXPECT_EQ(read(b, 0, address).status, FLASH_STATUS_MISMATCH);
    b.writeReg(FLASH_SEED, kSeed);
    b.writeReg(FLASH_LAYOUT, (kLayout & ~0xFFu) | 0x02);
    EXPECT_EQ(read(b, 0, address).status, FLASH_STATUS_FOREIGN);
    b.writeReg(FLASH_LAYOUT, kLayout ^ 0xFFFFFF00u); // the firmware's part does not count
    EXPECT_EQ(read(b, 0, address).status, FLASH_STATUS_OK);
    b.writeReg(FLASH_LAYOUT, kLayout);
    // The page of another address: its scrambler differs.
    b.image->program({0, 0, 0, 2}, 0, b.raw(0, 0, 1, 0).data());
    EXPECT_EQ(read(b, 0, b.sector(0, 2, 0)).status, FLASH_STATUS_MISMATCH);
    // One byte changed, parity to match: the CRC sees it.
    std::vector<uint8_t> data = pattern(7), raw = b.raw(0, 0, 1, 0);
    data[100] ^= 1;
    std::vector<uint8_t> other = encoded(b, b.sector(0, 3, 0), data, 7, 0);
    std::vector<uint8_t> mine = encoded(b, b.sector(0, 3, 0), pattern(7), 7, 0);
    const unsigned word = 1028 + b.codec->parityBytes();
    std::copy(other.begin(), other.begin() + word, mine.begin()); // first codeword of one, the rest of the other
    mine.resize(raw.size(), 0xFF);
    b.image->program({0, 0, 0, 3}, 0, mine.data());
    b.fillDram(kReadBuffer, std::vector<uint8_t>(kSector, 0xEE));
    EXPECT_EQ(read(b, 0, b.sector(0, 3, 0)).status, FLASH_STATUS_MISMATCH);
    EXPECT_EQ(b.dram(kReadBuffer, kSector), std::vector<uint8_t>(kSector, 0xEE));
    EXPECT_EQ(b.readReg(FLASH_SECTORS_READ), 5u);
    EXPECT_EQ(b.readReg(FLASH_SECTORS_FAILED), 3u);
}

TEST(Sectors, TwoPlanesAreProgrammedTogether) {
    Bench b(largePart());
    uint64_t start = b.now;
    for (unsigned plane = 0; plane < 2; plane++)
        for (unsigned s = 0; s < 4; s++) {
            unsigned confirm = s < 3 ? FLASH_CONFIRM_MORE : plane ? FLASH_CONFIRM_PAGE : FLASH_CONFIRM_PLANE;
            Completion c = program(b, 1, b.sector(0, 4 + plane, 0, s), pattern(10 * plane + s), s, 0, confirm);
            ASSERT_EQ(c.status, FLASH_STATUS_OK);
            if (!plane)
                EXPECT_EQ(b.image->nextPage({0, 1, 0, 4}), 0u);
        }
    EXPECT_LT(b.now - start, 2u * 9000 + 8u * 6000);
    for (unsigned plane = 0; plane < 2; plane++)
        for (unsigned s = 0; s < 4; s++)
            readOk(b, 1, b.sector(0, 4 + plane, 0, s), 10 * plane + s);
}

/** CONFIRM CACHE: the next page is taken while one is programmed, whose failure shows with the next. */
TEST(Sectors, CachedProgramsOverlapAndReportLate) {
    struct Fail : assasin::NandFaults {
        bool programFails(const assasin::NandAddress &a) override {
            return a.page == 1;
        }
    } fail;
    assasin::PartFile part = testPart();
    part.cacheCommands = true;
    Bench b(part);
    b.faults = &fail;
    const unsigned expected[] = {FLASH_STATUS_OK, FLASH_STATUS_OK, FLASH_STATUS_FAIL, FLASH_STATUS_OK};
    uint64_t start = b.now;
    for (unsigned page = 0; page < 4; page++) {
        unsigned confirm = page < 3 ? FLASH_CONFIRM_CACHE : FLASH_CONFIRM_PAGE;
        Completion c = program(b, 0, b.sector(0, 1, page), pattern(page), page, 0, confirm);
        EXPECT_EQ(c.status, expected[page]) << "page " << page << ", status byte " << c.data0;
        if (page == 0)
            EXPECT_LT(b.now - start, 9000u); // tPROG
    }
    // A program of another block is not blamed.
    EXPECT_EQ(program(b, 0, b.sector(0, 2, 0), pattern(9)).status, FLASH_STATUS_OK);
    for (unsigned page : {0u, 2u, 3u})
        readOk(b, 0, b.sector(0, 1, page), page);
}

/** Steps of another part: a prefix before a read, and a part that takes another command to confirm. */
TEST(Sectors, OtherStepsReachTheBus) {
    Bench b(testPart());
    b.put(0, 0, 1, 0, 7);
    readOk(b, 0, b.sector(0, 1, 0), 7);
    auto step = [](unsigned kind, unsigned byte = 0, unsigned end = FLASH_END_NEXT) {
        return kind << FLASH_STEPS_KIND_SHIFT | byte << FLASH_STEPS_BYTE_SHIFT | end << FLASH_STEPS_END_SHIFT;
    };
    const uint32_t list[] = {step(FLASH_STEP_COMMAND, 0xA2), step(FLASH_STEP_COMMAND, 0x00), step(FLASH_STEP_COLUMN),
                             step(FLASH_STEP_ROW), step(FLASH_STEP_COMMAND, 0x30, FLASH_END_BUSY)};
    for (unsigned i = 0; i < 5; i++)
        b.writeReg(FLASH_STEPS + 4 * (59 + i), list[i]);
    static const uint32_t phases[16] = FLASH_DEFAULT_PHASES;
    b.writeReg(FLASH_PHASES + 4 * FLASH_OP_READ, (phases[FLASH_OP_READ] & ~FLASH_PHASES_FIRST_MASK) | 59);
    try {
        read(b, 0, b.sector(0, 1, 0));
        ADD_FAILURE() << "the part does not know A2h";
    } catch (const NandViolation &violation) {
        EXPECT_NE(std::string(violation.what()).find("A2h"), std::string::npos) << violation.what();
    }
}
