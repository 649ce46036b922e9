// SPDX-License-Identifier: BSD-3-Clause
#include "SectorBench.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <gtest/gtest.h>

#include <chrono>

using namespace sectorbench;

namespace {

uint64_t seed() {
    static const uint64_t value = [] {
        const char *text = std::getenv("SECTOR_SEED");
        uint64_t s = text ? std::strtoull(text, nullptr, 0) : std::random_device{}();
        std::printf("SECTOR_SEED=%llu\n", static_cast<unsigned long long>(s));
        return s;
    }();
    return value;
}

/** Values of register CODE that the path has. */
std::vector<unsigned> codes() {
    std::vector<unsigned> all;
    for (unsigned i = 0; i <= strengths().size(); i++)
        all.push_back(i);
    return all;
}

void flip(Bytes &raw, size_t bit) {
    raw[bit / 8] ^= static_cast<uint8_t>(0x80 >> bit % 8);
}

/** Inverts `n` different bits of codeword `c`, of its first `bytes` bytes. */
void damage(SectorBench &b, Bytes &raw, unsigned c, unsigned n, unsigned bytes) {
    std::vector<size_t> done;
    while (done.size() < n) {
        size_t bit = b.below(8 * bytes);
        if (std::find(done.begin(), done.end(), bit) != done.end())
            continue;
        done.push_back(bit);
        flip(raw, size_t(c) * (raw.size() / 4) * 8 + bit);
    }
}

/** Bytes of a codeword with meaning: the message and the parity bits' bytes. */
unsigned meant(const SectorBench &b) {
    return 1028 + (b.t() ? assasin::BchCode(b.t()).degree() / 8 : 0);
}

/** A sector as it was programmed. */
Read whole(SectorBench &b, unsigned way) {
    Read r;
    r.way = way;
    r.address = b.below(1u << 24);
    r.oob0 = static_cast<uint32_t>(b.random());
    r.to = 0x80000000u | b.below(1u << 20) << 6;
    r.raw = b.encode(r.address, b.randomBytes(kSector), r.oob0, static_cast<uint32_t>(b.random()));
    return r;
}

void shake(SectorBench &b) {
    const unsigned often[] = {100, 100, 90, 50, 20};
    b.outReady = often[b.below(5)];
    b.completionReady = often[b.below(5)];
    b.fetchReady = often[b.below(5)];
    b.feed = often[b.below(5)];
    b.beatGap = b.chance(50) ? 0 : b.below(70);
    b.post = 1 + b.below(3);
    b.select = 1 + b.below(3);
    b.preamble = 1 + b.below(3);
}

} // namespace

TEST(Reading, CleanSectorsAreDelivered) {
    for (unsigned code : codes()) {
        SectorBench b(seed(), code);
        for (unsigned i = 0; i < 8; i++)
            b.read(whole(b, i % kWays));
        b.drain();
        EXPECT_EQ(b.completions, 8u);
    }
}

TEST(Reading, ErrorsUpToTheStrengthAreCorrected) {
    for (unsigned code : codes()) {
        if (!code)
            continue;
        SectorBench b(seed() + code, code);
        for (unsigned i = 0; i < 12; i++) {
            Read r = whole(b, i % kWays);
            for (unsigned c = 0; c < 4; c++)
                damage(b, r.raw, c, i == 0 ? 1 : i == 1 ? b.t() : b.below(b.t() + 1), meant(b));
            b.read(r);
        }
        b.drain();
    }
}

TEST(Reading, TooManyErrorsAreReported) {
    for (unsigned code : codes()) {
        if (!code)
            continue;
        SectorBench b(seed() + code, code);
        for (unsigned i = 0; i < 8; i++) {
            Read r = whole(b, i % kWays);
            for (unsigned c = 0; c < 4; c++)
                damage(b, r.raw, c, b.chance(50) ? b.t() + 1 + b.below(30) : b.below(b.t() + 1), meant(b));
            b.read(r);
            b.read(whole(b, i % kWays));
        }
        b.drain();
    }
}

TEST(Reading, EveryBitOfMetadataAndEdgesIsCorrected) {
    for (unsigned code : codes()) {
        if (!code || (code > 1 && code < codes().back()))
            continue;
        SectorBench b(seed() + code, code);
        // Six errors a codeword: all metadata bits, the first and last bits of the data, and parity.
        std::vector<unsigned> bits;
        for (unsigned i = 0; i < 32; i++)
            bits.push_back(8 * 1024 + i);
        for (unsigned i = 0; i < 64; i++) {
            bits.push_back(i);
            bits.push_back(8 * 1023 - 56 + i);
            bits.push_back(8 * 1028 + i);
        }
        for (unsigned i = 0; i < bits.size(); i += 6) {
            Read r = whole(b, 0);
            for (unsigned c = 0; c < 4; c++)
                for (unsigned k = i; k < std::min<size_t>(i + 6, bits.size()); k++)
                    flip(r.raw, c * (r.raw.size() / 4) * 8 + bits[k]);
            b.read(r);
        }
        b.drain();
    }
}

TEST(Reading, Statuses) {
    for (unsigned code : codes()) {
        SectorBench b(seed(), code);
        Read good = whole(b, 1);
        b.read(good);
        // The name is compared but for the mark.
        for (uint32_t difference : {0u, 1u << 30, 1u, 1u << 31, 1u << 29}) {
            Read r = good;
            r.check = good.oob0 ^ difference;
            b.read(r);
        }
        // Another sector's data under this address.
        Read other = good;
        other.address ^= 1;
        b.read(other);
        // Another layout: in the version, which counts, and in the firmware's part, which does not.
        for (uint32_t difference : {1u, 0x80u, 0x100u, 0x80000000u}) {
            auto setting = b.setting;
            b.setting.layout ^= difference;
            Read r = whole(b, 2);
            b.setting = setting;
            b.read(r);
            r.check = r.oob0 ^ 2;
            b.read(r);
        }
        // Given up, whatever lies there.
        Read dropped = good;
        dropped.toStream = dropped.drop = true;
        b.read(dropped);
        dropped.raw.assign(dropped.raw.size(), 0xFF);
        b.read(dropped);
        dropped.raw = b.randomBytes(static_cast<unsigned>(good.raw.size()));
        b.read(dropped);
        // Erased, up to the limit.
        for (unsigned zeros : {0u, 1u, 255u, 256u, 257u}) {
            Read r = good;
            r.raw.assign(r.raw.size(), 0xFF);
            for (unsigned i = 0; i < zeros; i++)
                flip(r.raw, i * (r.raw.size() * 8 / 300) + i % 8);
            b.read(r);
        }
        // Random bytes, all zeros, half programmed.
        Read junk = good;
        junk.raw = b.randomBytes(static_cast<unsigned>(good.raw.size()));
        b.read(junk);
        junk.raw.assign(junk.raw.size(), 0);
        b.read(junk);
        junk.raw = good.raw;
        std::fill(junk.raw.begin() + junk.raw.size() / 2, junk.raw.end(), 0xFF);
        b.read(junk);
        // Blank codewords in front of programmed ones.
        for (unsigned zeros : {0u, 1u, 200u}) {
            junk.raw = good.raw;
            std::fill(junk.raw.begin(), junk.raw.begin() + junk.raw.size() / 2, 0xFF);
            for (unsigned i = 0; i < zeros; i++)
                flip(junk.raw, 13 * i);
            b.read(junk);
        }
        b.read(good);
        b.drain();
        // A limit beyond what a codeword of a programmed sector has.
        b.erasedLimit = 6000;
        b.read(good);
        b.drain();
        b.erasedLimit = 0;
        Read r = good;
        r.raw.assign(r.raw.size(), 0xFF);
        b.read(r);
        flip(r.raw, 77);
        b.read(r);
        b.drain();
    }
}

TEST(Reading, DestinationsAndCounts) {
    SectorBench b(seed(), codes().back());
    for (unsigned bytes : {1u, 7u, 8u, 9u, 63u, 64u, 65u, 511u, 2048u, 4088u, 4089u, 4095u, 4096u}) {
        Read r = whole(b, b.below(kWays));
        r.bytes = bytes;
        b.read(r);
        r.toStream = true;
        r.to = b.below(1u << 20) << 12;
        r.core = b.below(2);
        r.stream = b.below(8);
        r.tail = b.chance(50);
        b.read(r);
    }
    b.drain();
}

TEST(Reading, RawDataAndAnswers) {
    SectorBench b(seed(), codes().back());
    for (unsigned bytes : {1u, 8u, 64u, 65u, 768u, 1000u, 4096u}) {
        for (bool wide : {false, true})
            b.readRaw(b.below(kWays), b.randomBytes(bytes), 0x80000000u | b.below(1u << 20) << 6, wide);
        for (uint8_t status : {0xE0, 0xE1, 0xE2, 0xE3, 0x60, 0x61, 0x80})
            for (unsigned mask : {1u, 2u, 3u})
                b.answer(b.below(kWays), {status}, true, mask);
        b.answer(b.below(kWays), {0x61}, false);
        b.answer(b.below(kWays), b.randomBytes(4), false);
        b.answer(b.below(kWays), b.randomBytes(8), false);
        b.read(whole(b, 0));
    }
    b.drain();
    EXPECT_EQ(b.completions, 7u * (2 + 7 * 3 + 3 + 1));
}

TEST(Programming, BeatsAreThoseOfTheCodecInSoftware) {
    for (unsigned code : codes()) {
        SectorBench b(seed() + code, code);
        std::vector<Bytes> expected;
        for (unsigned bytes : {4096u, 4096u, 1u, 8u, 63u, 64u, 4095u, 4089u, 2000u}) {
            Program p;
            p.way = b.below(kWays);
            p.address = b.below(1u << 24);
            p.data = b.randomBytes(bytes);
            p.oob0 = static_cast<uint32_t>(b.random());
            p.oob1 = static_cast<uint32_t>(b.random());
            b.program(p);
            expected.push_back(b.encode(p.address, p.data, p.oob0, p.oob1));
        }
        b.drain();
        ASSERT_EQ(b.programmed.size(), expected.size());
        for (size_t i = 0; i < expected.size(); i++) {
            ASSERT_EQ(b.programmed[i].size(), expected[i].size());
            for (size_t k = 0; k < expected[i].size(); k++)
                ASSERT_EQ(b.programmed[i][k], expected[i][k]) << "code " << code << " sector " << i << " byte " << k;
        }
    }
}

TEST(Mixed, RandomTrafficOfAllKinds) {
    uint64_t cycles = 0, digest = 0;
    for (unsigned round = 0; round < 12; round++) {
        std::vector<unsigned> all = codes();
        SectorBench b(seed() + 100 * round, all[round % all.size()]);
        b.latency = 1 + (round < 2 ? 14 * round : b.below(15));
        b.setting = {static_cast<uint32_t>(b.random()), static_cast<uint32_t>(b.random())};
        std::vector<Bytes> expected;
        for (unsigned i = 0; i < 40; i++) {
            shake(b);
            const unsigned way = b.below(kWays);
            switch (b.below(6)) {
            case 0: {
                Program p;
                p.way = way;
                p.address = b.below(1u << 24);
                p.data = b.randomBytes(b.chance(70) ? kSector : 1 + b.below(kSector));
                p.oob0 = static_cast<uint32_t>(b.random());
                p.oob1 = static_cast<uint32_t>(b.random());
                b.program(p);
                expected.push_back(b.encode(p.address, p.data, p.oob0, p.oob1));
                break;
            }
            case 1:
                b.answer(way, {static_cast<uint8_t>(b.random())}, b.chance(70), 1 + b.below(3));
                break;
            case 2:
                b.readRaw(way, b.randomBytes(1 + b.below(b.chance(20) ? kSector : 300)),
                          0x80000000u | b.below(1u << 20) << 6, b.chance(50));
                break;
            default: {
                Read r = whole(b, way);
                for (unsigned c = 0; c < 4 && b.t(); c++)
                    if (b.chance(60))
                        damage(b, r.raw, c, b.below(b.t() + (b.chance(10) ? 10 : 1)), meant(b));
                if (b.chance(30))
                    r.check = r.oob0;
                r.toStream = b.chance(50);
                if (r.toStream) {
                    r.to = b.below(1u << 20) << 12;
                    r.core = b.below(2);
                    r.stream = b.below(8);
                    r.tail = b.chance(50);
                    r.drop = b.chance(10);
                }
                if (b.chance(20))
                    r.bytes = 1 + b.below(kSector);
                b.read(r);
            }
            }
            for (unsigned wait = b.below(3000); wait; wait--)
                b.tick();
        }
        b.drain();
        ASSERT_EQ(b.programmed.size(), expected.size());
        for (size_t i = 0; i < expected.size(); i++)
            ASSERT_EQ(b.programmed[i], expected[i]) << "round " << round << " sector " << i;
        cycles += b.now;
        digest = digest * 31 + b.digest;
    }
    // `run` compares them of a path with and without clock gates.
    RecordProperty("shown", std::to_string(cycles) + " cycles, digest " + std::to_string(digest));
}

TEST(Speed, LatencyOfACleanSector) {
    SectorBench b(seed(), codes().size() > 1 ? 1 : 0);
    b.read(whole(b, 0));
    b.drain();
    std::printf("clean sector: completed %llu cycles after its last beat\n",
                static_cast<unsigned long long>(b.lastComplete - b.lastBeat));
    EXPECT_LE(b.lastComplete - b.lastBeat, 1100u);
}

TEST(Speed, ThroughputByErrorRate) {
    for (unsigned code : codes()) {
        for (double rate : {0.0, 1e-4, 1e-3}) {
            if (!code && rate > 0)
                continue;
            SectorBench b(seed(), code);
            b.latency = 4;
            const unsigned sectors = 12;
            uint64_t beats = 0;
            for (unsigned i = 0; i < sectors; i++) {
                Read r = whole(b, i % kWays);
                std::binomial_distribution<unsigned> errors(8 * meant(b), rate);
                for (unsigned c = 0; c < 4; c++)
                    damage(b, r.raw, c, errors(b.random), meant(b));
                beats += r.raw.size() / kPhyBytes;
                b.read(r);
            }
            const uint64_t start = b.now;
            const auto begin = std::chrono::steady_clock::now();
            b.drain();
            const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            const double share = 100.0 * beats / (b.lastBeat - start);
            std::printf("t = %u, error rate %g: %.1f %% of the bus's rate, %llu beats held up, %.0f kHz\n", b.t(), rate,
                        share, static_cast<unsigned long long>(b.stalled), (b.now - start) / seconds / 1000);
            // On a bus of one byte a cycle the decoder keeps up; between phases the bench leaves a few cycles.
            if (kPhyBytes == 1) {
                EXPECT_EQ(b.stalled, 0u);
                EXPECT_GE(share, 98.0);
            }
        }
    }
}

TEST(Speed, BlankSectorsPassTheDecoder) {
    for (unsigned code : codes()) {
        SectorBench b(seed() + code, code);
        b.latency = 4;
        for (unsigned i = 0; i < 12; i++) {
            Read r = whole(b, i % kWays);
            r.raw.assign(r.raw.size(), 0xFF);
            for (unsigned zeros = b.below(b.erasedLimit + 1); zeros; zeros--)
                flip(r.raw, b.below(static_cast<unsigned>(8 * r.raw.size())));
            b.read(r);
        }
        b.drain();
        EXPECT_EQ(b.completions, 12u);
        EXPECT_EQ(b.stalled, 0u);
        EXPECT_LE(b.lastComplete - b.lastBeat, 100u);
    }
}

TEST(Speed, Simulation) {
    // The model alone: idle, and with the beats of clean sectors, one a cycle.
    SectorBench b(seed(), codes().size() > 1 ? 1 : 0);
    auto rate = [&](bool beats) {
        const unsigned cycles = 400'000;
        const std::clock_t begin = std::clock();
        for (unsigned i = 0; i < cycles; i++) {
            b.top->clock = 0;
            b.top->eval();
            if (beats)
                b.bareBeat();
            b.top->clock = 1;
            b.top->eval();
        }
        return cycles / (double(std::clock() - begin) / CLOCKS_PER_SEC) / 1000;
    };
    b.drain();
    const double idle = rate(false), busy = rate(true);
    std::printf("t = %u: model alone %.0f kHz idle (%.0f ns), %.0f kHz reading clean sectors (%.0f ns)\n", b.t(), idle,
                1e6 / idle, busy, 1e6 / busy);
}
