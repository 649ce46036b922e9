// SPDX-License-Identifier: BSD-3-Clause
#include "BchCode.h"
#include "SectorCodec.h"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace assasin;

namespace {

using Bytes = std::vector<uint8_t>;

Bytes randomBytes(std::mt19937_64 &rng, size_t n) {
    Bytes v(n);
    for (uint8_t &b : v)
        b = static_cast<uint8_t>(rng());
    return v;
}

/** Flips `count` different bits of the first `bits`. */
void flip(std::mt19937_64 &rng, uint8_t *p, size_t bits, unsigned count) {
    std::set<size_t> at;
    while (at.size() < count)
        at.insert(rng() % bits);
    for (size_t i : at)
        p[i / 8] ^= static_cast<uint8_t>(0x80 >> i % 8);
}

constexpr SectorCodec::Setting kSetting{0x12345678, 0xABCDEF01};
constexpr uint32_t kAddress = 0x54321;

struct Encoded {
    explicit Encoded(const SectorCodec &codec, uint64_t seed = 1) : rng(seed), data(randomBytes(rng, 4096)) {
        raw.resize(codec.sectorBytes());
        codec.encode(kAddress, kSetting, data.data(), 77, 88, raw.data());
    }
    std::mt19937_64 rng;
    Bytes data, raw;
};

} // namespace

TEST(BchCode, DegreesAreThoseOfTheMediumsFormat) {
    for (unsigned t : {1u, 24u, 40u, 55u, 64u})
        EXPECT_EQ(BchCode(t).degree(), 14 * t) << t;
    for (unsigned t : {65u, 70u, 75u})
        EXPECT_EQ(BchCode(t).degree(), 14 * t - 7) << t;
    EXPECT_EQ(SectorCodec(24).sectorBytes(), 4280u);
    EXPECT_EQ(SectorCodec(55).sectorBytes(), 4500u);
    EXPECT_EQ(SectorCodec(70).sectorBytes(), 4600u);
    EXPECT_EQ(SectorCodec(24, 4).parityBytes(), 44u);
    EXPECT_EQ(SectorCodec(0).sectorBytes(), 4112u);
    EXPECT_THROW(BchCode(0), std::invalid_argument);
    EXPECT_THROW(BchCode(76), std::invalid_argument);
}

TEST(BchCode, EveryErrorOfUpToTwoBitsOfAShortWordIsCorrected) {
    BchCode code(2);
    std::mt19937_64 rng(2);
    Bytes word = randomBytes(rng, 12);
    word.resize(12 + code.parityBytes());
    code.encode(word.data(), 12, &word[12]);
    unsigned bits = 12 * 8 + code.degree();
    auto flipped = [&](Bytes w, unsigned i) {
        w[i / 8] ^= static_cast<uint8_t>(0x80 >> i % 8);
        return w;
    };
    for (unsigned a = 0; a < bits; a++) {
        Bytes one = flipped(word, a);
        ASSERT_EQ(code.decode(one.data(), 12, &one[12]), 1);
        ASSERT_EQ(one, word);
        for (unsigned b = 0; b < a; b++) {
            Bytes two = flipped(flipped(word, a), b);
            ASSERT_EQ(code.decode(two.data(), 12, &two[12]), 2);
            ASSERT_EQ(two, word);
        }
    }
}

TEST(BchCode, CorrectsUpToTErrorsAndLeavesWordsAloneThatItCannotCorrect) {
    std::mt19937_64 rng(3);
    for (unsigned t : {1u, 3u, 8u, 24u, 40u, 55u, 64u, 65u, 70u, 75u}) {
        BchCode code(t);
        for (unsigned round = 0; round < 40; round++) {
            size_t bytes = round % 4 ? 1028 : 1 + rng() % code.maxMessageBytes();
            Bytes word = randomBytes(rng, bytes);
            word.resize(bytes + code.parityBytes());
            code.encode(word.data(), bytes, &word[bytes]);
            size_t bits = 8 * bytes + code.degree();
            unsigned count = static_cast<unsigned>(std::min<size_t>(round < 2 ? t : rng() % (t + 1), bits));
            Bytes bad = word;
            flip(rng, bad.data(), bits, count);
            ASSERT_EQ(code.decode(bad.data(), bytes, &bad[bytes]), static_cast<int>(count)) << t;
            ASSERT_EQ(bad, word) << t;
            if (t < 24 || bytes < 1028)
                continue; // of the words this far from a codeword, some lie near another
            bad = word;
            flip(rng, bad.data(), bits, t + 1 + static_cast<unsigned>(rng() % 8));
            Bytes before = bad;
            ASSERT_EQ(code.decode(bad.data(), bytes, &bad[bytes]), -1) << t;
            ASSERT_EQ(bad, before) << t;
        }
    }
}

TEST(BchCode, BitsBehindTheParityAreNotLookedAt) {
    BchCode code(70); // 973 bits in 122 bytes
    std::mt19937_64 rng(4);
    Bytes word = randomBytes(rng, 1028);
    word.resize(1028 + 122);
    code.encode(word.data(), 1028, &word[1028]);
    EXPECT_EQ(word.back() & 7, 0);
    word.back() |= 7;
    EXPECT_EQ(code.decode(word.data(), 1028, &word[1028]), 0);
}

TEST(SectorCodec, BytesOfASectorAreThoseOfTheFormat) {
    // Worked out by hand from docs/medium.md: first word of an all-zero sector without a code is the scrambler's.
    SectorCodec codec(0);
    Bytes data(4096, 0), raw(codec.sectorBytes());
    codec.encode(5, {7, 1}, data.data(), 0, 0, raw.data());
    uint64_t s = (uint64_t{7 ^ 0x9E3779B9u} << 32 | (5 ^ 0x7F4A7C15u));
    auto step = [&] { s ^= s << 13, s ^= s >> 7, s ^= s << 17; };
    for (int i = 0; i < 4; i++)
        step();
    uint32_t meta[4];
    for (unsigned c = 0; c < 4; c++) {
        for (unsigned i = 0; i < 1024; i++) {
            ASSERT_EQ(raw[c * 1028 + i], s >> (i % 8 * 8) & 255) << c << ' ' << i;
            if (i % 8 == 7)
                step();
        }
        meta[c] = 0;
        for (unsigned i = 0; i < 4; i++)
            meta[c] |= static_cast<uint32_t>((raw[c * 1028 + 1024 + i] ^ (s >> (8 * i))) & 255) << (8 * i);
        step();
    }
    EXPECT_EQ(meta[0], 0u);
    EXPECT_EQ(meta[1], 0u);
    EXPECT_EQ(meta[3], 1u);
    uint32_t crc = ~0u;
    Bytes covered(4096 + 12, 0);
    covered[4096 + 8] = 1;
    for (uint8_t byte : covered) {
        crc ^= byte;
        for (int i = 0; i < 8; i++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    EXPECT_EQ(meta[2], ~crc);
}

TEST(SectorCodec, ReadsBackWhatItWroteAndCountsWhatItCorrected) {
    for (unsigned t : {24u, 40u, 55u, 70u}) {
        SectorCodec codec(t, 2);
        Encoded e(codec, t);
        Sector s = codec.decode(kAddress, kSetting, e.raw.data(), 77u ^ 1u << 30);
        EXPECT_EQ(s.status, SectorStatus::Ok);
        EXPECT_TRUE(std::equal(e.data.begin(), e.data.end(), s.data.begin()));
        EXPECT_EQ(s.oob0, 77u);
        EXPECT_EQ(s.oob1, 88u);
        EXPECT_EQ(s.layout, kSetting.layout);
        EXPECT_EQ(s.bits(), 0u);
        unsigned counts[4] = {t, 0, 1, t / 2};
        for (unsigned c = 0; c < 4; c++)
            flip(e.rng, &e.raw[c * codec.sectorBytes() / 4], 1028 * 8 + 14 * t - 7, counts[c]);
        s = codec.decode(kAddress, kSetting, e.raw.data());
        EXPECT_EQ(s.status, SectorStatus::Ok);
        EXPECT_TRUE(std::equal(e.data.begin(), e.data.end(), s.data.begin()));
        for (unsigned c = 0; c < 4; c++)
            EXPECT_EQ(s.errors[c], static_cast<int>(counts[c]));
        EXPECT_EQ(s.mostErrors(), t);
        EXPECT_EQ(s.bits(), t + 1 + t / 2);
        EXPECT_EQ(s.failed(), 0u);
    }
}

TEST(SectorCodec, RefusesInTheOrderOfTheFormat) {
    SectorCodec codec(24);
    Encoded e(codec);
    EXPECT_EQ(codec.decode(kAddress, kSetting, e.raw.data(), 78).status, SectorStatus::Misdirected);
    EXPECT_EQ(codec.decode(kAddress, {kSetting.seed, kSetting.layout ^ 0x80}, e.raw.data(), 78).status,
              SectorStatus::Foreign);
    EXPECT_EQ(codec.decode(kAddress, {kSetting.seed, kSetting.layout ^ 0x100}, e.raw.data()).status, SectorStatus::Ok);
    EXPECT_EQ(codec.decode(kAddress + 1, kSetting, e.raw.data()).status, SectorStatus::Mismatch);
    EXPECT_EQ(codec.decode(kAddress, {kSetting.seed + 1, kSetting.layout}, e.raw.data()).status,
              SectorStatus::Mismatch);
    Bytes bad = e.raw;
    flip(e.rng, &bad[2 * 1070], 1070 * 8, 25);
    flip(e.rng, &bad[0], 1070 * 8, 3);
    Sector s = codec.decode(kAddress + 1, kSetting, bad.data());
    EXPECT_EQ(s.status, SectorStatus::Uncorrectable);
    EXPECT_EQ(s.failed(), 4u);
    EXPECT_EQ(s.bits(), 3u);
    auto stuck = [&](uint8_t byte) {
        return codec.decode(kAddress, kSetting, Bytes(codec.sectorBytes(), byte).data()).status;
    };
    EXPECT_EQ(stuck(0x55), SectorStatus::Uncorrectable);
    EXPECT_EQ(stuck(0x00), SectorStatus::Mismatch); // zeros are a codeword of every linear code
}

TEST(SectorCodec, ASectorOfTwoWritesIsRefusedThoughEachCodewordIsWhole) {
    SectorCodec codec(24);
    Encoded one(codec, 1), two(codec, 2);
    for (unsigned whole = 1; whole < 4; whole++) {
        Bytes torn = one.raw;
        std::copy(two.raw.begin() + whole * 1070, two.raw.end(), torn.begin() + whole * 1070);
        EXPECT_EQ(codec.decode(kAddress, kSetting, torn.data()).status, SectorStatus::Mismatch) << whole;
    }
}

TEST(SectorCodec, ErasedUpToTheLimitOfZeroBits) {
    SectorCodec codec(24);
    std::mt19937_64 rng(5);
    for (unsigned zeros : {0u, 1u, 255u, 256u, 257u, 300u}) {
        Bytes raw(codec.sectorBytes(), 0xFF);
        flip(rng, raw.data(), raw.size() * 8, zeros);
        SectorStatus expected = zeros <= 256 ? SectorStatus::Erased : SectorStatus::Uncorrectable;
        EXPECT_EQ(codec.decode(kAddress, kSetting, raw.data()).status, expected) << zeros;
    }
}
