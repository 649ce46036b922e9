// SPDX-License-Identifier: BSD-3-Clause
// Crossbar, DRAM reader and writer: random traffic against a scoreboard, fairness, throughput, resets in the middle of
// traffic.
#include "UncoreBench.h"
#include "assasin_contract.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

using namespace uncorebench;

namespace {

/// One packet as it was sent, or is being received.
struct Packet {
    uint8_t dst, stream;
    uint32_t addr;
    unsigned bytes;
    bool toStream, mark;
    std::vector<uint64_t> data;
    bool operator==(const Packet &o) const {
        return dst == o.dst && addr == o.addr && bytes == o.bytes && toStream == o.toStream && mark == o.mark &&
               (!toStream || stream == o.stream) && data == o.data;
    }
};

class Xbar : public ::testing::Test {
  protected:
    Xbar() : bench(seed()) {
        bench.release();
        bench.arrived = [this](unsigned port, const Beat &b) { take(port, b); };
    }

    void send(Source &source, const Packet &p) {
        for (size_t i = 0; i < p.data.size(); i++) {
            Beat b;
            b.data = p.data[i];
            b.last = i + 1 == p.data.size();
            b.dst = p.dst;
            b.addr = p.addr;
            b.bytes = static_cast<uint8_t>(p.bytes);
            b.toStream = p.toStream;
            b.stream = p.stream;
            b.mark = p.mark;
            source.beats.push_back(b);
        }
    }

    // The source's number is in the top byte of every beat, so that the scoreboard knows whose packet it looks at.
    Packet make(unsigned source, uint8_t dst, uint32_t addr, unsigned bytes, bool toStream) {
        Packet p{dst, static_cast<uint8_t>(bench.rng() % 8), addr, bytes, toStream, bench.rng() % 2 == 0, {}};
        for (unsigned i = 0; i < (bytes + 7) / 8; i++) {
            p.data.push_back(uint64_t(source) << 56 | (uint64_t(bench.rng()) << 20 & 0x00ffffffffffffffull) | i);
        }
        return p;
    }

    void take(unsigned port, const Beat &b) {
        Packet &p = receiving[port];
        if (p.data.empty()) {
            p = {b.dst, b.stream, b.addr, b.bytes, b.toStream, b.mark, {}};
        }
        ASSERT_EQ(p.addr, b.addr) << "packets are mixed at port " << port;
        p.data.push_back(b.data);
        beats[port]++;
        if (!b.last) {
            return;
        }
        ASSERT_EQ(p.data.size(), (p.bytes + 7) / 8);
        const Packet done = p;
        p.data.clear();
        packets[port]++;
        served[{port, done.data[0] >> 56}]++;
        if (check) {
            auto &queue = expected[{port, done.data[0] >> 56}];
            ASSERT_FALSE(queue.empty()) << "a packet nobody sent at port " << port;
            ASSERT_TRUE(queue.front() == done) << "wrong or out of order packet at port " << port;
            queue.pop_front();
        }
    }

    size_t outstanding() const {
        size_t n = 0;
        for (const auto &[key, queue] : expected) {
            n += queue.size();
        }
        return n;
    }

    bool quiet() {
        for (const Source &s : bench.pages) {
            if (!s.beats.empty()) {
                return false;
            }
        }
        for (const Source &s : bench.drains) {
            if (!s.beats.empty()) {
                return false;
            }
        }
        return bench.dram.idle();
    }

    UncoreBench bench;
    bool check = true;
    std::map<unsigned, Packet> receiving;
    std::map<std::pair<unsigned, uint64_t>, std::deque<Packet>> expected;
    std::map<unsigned, uint64_t> beats, packets;
    std::map<std::pair<unsigned, uint64_t>, uint64_t> served;
};

constexpr unsigned READER = 100; // source number of the DRAM reader

TEST_F(Xbar, RandomTraffic) {
    auto &rng = bench.rng;
    bench.sinkHesitation = rng() % 40;
    bench.dram.hesitation = rng() % 60;
    bench.dram.writeLatency = 1 + rng() % 60;
    std::map<uint32_t, uint8_t> memory;
    uint32_t slot = 0; // next 64-byte slot of DRAM to write; the lower half is for reading
    const uint32_t readBase = DramModel::BASE, writeBase = DramModel::BASE + DramModel::SIZE / 2;
    for (uint32_t i = 0; i < 65536; i++) {
        *bench.dram.at(readBase + i) = static_cast<uint8_t>(rng());
    }
    const auto dramPacket = [&](unsigned source, Source &from) {
        const Packet p = make(source, DST_DRAM, writeBase + 64 * slot++, 1 + rng() % 64, false);
        for (unsigned i = 0; i < p.bytes; i++) {
            memory[p.addr + i] = static_cast<uint8_t>(p.data[i / 8] >> (8 * (i % 8)));
        }
        send(from, p);
    };
    const auto readPackets = [&](unsigned port, uint8_t dst, uint32_t src, uint32_t addr, unsigned bytes) {
        for (unsigned done = 0; done < bytes; done += 64) {
            Packet p{dst, 0, addr + done, std::min(64u, bytes - done), false, done + 64 >= bytes, {}};
            for (unsigned i = 0; i < p.bytes; i += 8) {
                uint64_t word;
                std::memcpy(&word, bench.dram.at(src + done + i), 8);
                p.data.push_back(word);
            }
            expected[{port, READER}].push_back(p);
        }
    };
    // The reader's data carry its number as well.
    for (uint32_t i = 7; i < 65536; i += 8) {
        *bench.dram.at(readBase + i) = READER;
    }
    for (unsigned round = 0; round < 40; round++) {
        for (unsigned i = 0; i < CHANNELS; i++) {
            bench.pages[i].hesitation = rng() % 80;
            for (unsigned n = rng() % 12; n > 0; n--) {
                if (rng() % 3 == 0) {
                    dramPacket(i, bench.pages[i]);
                } else {
                    const unsigned core = rng() % CORES;
                    const Packet p = make(i, static_cast<uint8_t>(core), rng() & ~7u, 1 + rng() % 64, rng() % 2);
                    expected[{core, i}].push_back(p);
                    send(bench.pages[i], p);
                }
            }
            if (rng() % 2) {
                const uint32_t src = readBase + 64 * (rng() % 512);
                const unsigned bytes = 1 + rng() % 4096;
                readPackets(CORES + i, static_cast<uint8_t>(CORES + i), src, 0, bytes);
                bench.fetch(i, src, static_cast<uint16_t>(bytes));
            }
        }
        for (unsigned i = 0; i < CORES; i++) {
            bench.drains[i].hesitation = rng() % 80;
            for (unsigned n = rng() % 12; n > 0; n--) {
                if (rng() % 3 == 0) {
                    dramPacket(16 + i, bench.drains[i]);
                } else {
                    // To any core, itself included: the hardware does not care which trees the firmware builds.
                    const unsigned core = rng() % CORES;
                    const Packet p = make(16 + i, static_cast<uint8_t>(core), rng() & ~7u, 1 + rng() % 64, rng() % 2);
                    expected[{core, 16 + i}].push_back(p);
                    send(bench.drains[i], p);
                }
            }
        }
        const uint32_t space = bench.load(ASSASIN_HDMA_BASE + HDMA_SPACE) >> HDMA_SPACE_COPY_SHIFT;
        if (rng() % 2 && (space & 0xff) > 0) {
            const uint32_t src = readBase + 64 * (rng() % 512);
            const unsigned core = rng() % CORES, bytes = 1 + rng() % 8192;
            const uint32_t offset = 8 * (rng() % 1024);
            readPackets(core, static_cast<uint8_t>(core), src, offset, bytes);
            bench.store(ASSASIN_HDMA_BASE + HDMA_COPY_SRC, src);
            bench.store(ASSASIN_HDMA_BASE + HDMA_COPY_DST, offset | core << HDMA_COPY_DST_CORE_SHIFT);
            bench.store(ASSASIN_HDMA_BASE + HDMA_COPY_PUSH, bytes);
        }
        bench.ticks(rng() % 400);
    }
    ASSERT_TRUE(bench.until([&] { return outstanding() == 0 && quiet(); })) << outstanding() << " packets are lost";
    bench.ticks(200);
    for (const auto &[addr, value] : memory) {
        ASSERT_EQ(*bench.dram.at(addr), value) << "DRAM at " << std::hex << addr;
    }
    // Bytes of a slot behind the packet's end are not touched.
    for (uint32_t a = writeBase; a < writeBase + 64 * slot; a++) {
        if (!memory.count(a)) {
            ASSERT_EQ(*bench.dram.at(a), 0);
        }
    }
}

TEST_F(Xbar, SharesADestinationFairly) {
    check = false;
    // Channel 0 sends long packets, the others shorter ones: turns are per packet.
    for (unsigned i = 0; i < CHANNELS; i++) {
        for (unsigned n = 0; n < 400; n++) {
            send(bench.pages[i], make(i, 1, 64 * n, i == 0 ? 64 : 24, true));
        }
    }
    bench.ticks(2000);
    const auto [least, most] = std::minmax({served[{1, 0}], served[{1, 1}], served[{1, 2}]});
    EXPECT_GT(least, 50u);
    EXPECT_LE(most - least, 1u);
}

// Drains to a core get their turns like channels and copies.
TEST_F(Xbar, SharesACoreAmongDrainsAndChannelsFairly) {
    check = false;
    for (unsigned n = 0; n < 400; n++) {
        for (unsigned i = 0; i < CHANNELS; i++) {
            send(bench.pages[i], make(i, 2, 64 * n, 64, true));
        }
        for (unsigned i = 0; i < CORES; i++) {
            send(bench.drains[i], make(16 + i, 2, 64 * n, i == 1 ? 16 : 64, true));
        }
    }
    bench.ticks(4000);
    std::vector<uint64_t> turns;
    for (const auto &[key, n] : served) {
        if (key.first == 2) {
            turns.push_back(n);
        }
    }
    ASSERT_EQ(turns.size(), CHANNELS + CORES);
    const auto [least, most] = std::minmax_element(turns.begin(), turns.end());
    EXPECT_GT(*least, 60u);
    EXPECT_LE(*most - *least, 1u);
}

// A ring of cores that all send to their neighbours: each link moves a beat every cycle, and none waits for another.
TEST_F(Xbar, RingOfCoresMovesABeatACycle) {
    check = false;
    for (unsigned n = 0; n < 200; n++) {
        for (unsigned i = 0; i < CORES; i++) {
            send(bench.drains[i], make(16 + i, static_cast<uint8_t>((i + 1) % CORES), 64 * n, 64, true));
        }
    }
    bench.ticks(20);
    const auto before = beats;
    bench.ticks(1000);
    for (unsigned i = 0; i < CORES; i++) {
        EXPECT_GE(beats[i] - before.at(i), 990u);
    }
}

// What cores that do not take anything hold up is only what goes to them.
TEST_F(Xbar, DrainsToDramPassCoresThatWait) {
    check = false;
    bench.dram.hesitation = 0;
    bench.sinkHesitation = 100;
    for (unsigned n = 0; n < 100; n++) {
        send(bench.drains[0], make(16, 1, 64 * n, 64, true));
        send(bench.drains[1], make(17, DST_DRAM, DramModel::BASE + 64 * n, 64, false));
        send(bench.pages[0], make(0, DST_DRAM, DramModel::BASE + 65536 + 64 * n, 64, false));
    }
    ASSERT_TRUE(bench.until([&] { return bench.drains[1].beats.empty() && bench.pages[0].beats.empty(); }, 3000));
    EXPECT_FALSE(bench.drains[0].beats.empty());
}

TEST_F(Xbar, SharesDramFairly) {
    check = false;
    bench.dram.hesitation = 0;
    for (unsigned n = 0; n < 400; n++) {
        for (unsigned i = 0; i < CHANNELS; i++) {
            send(bench.pages[i], make(i, DST_DRAM, DramModel::BASE + 64 * n, 64, false));
        }
        for (unsigned i = 0; i < CORES; i++) {
            send(bench.drains[i], make(16 + i, DST_DRAM, DramModel::BASE + 64 * n, 64, false));
        }
    }
    bench.ticks(3000);
    std::vector<uint64_t> sent;
    for (const Source &s : bench.pages) {
        sent.push_back(s.sent / 8);
    }
    for (const Source &s : bench.drains) {
        sent.push_back(s.sent / 8);
    }
    const auto [least, most] = std::minmax_element(sent.begin(), sent.end());
    EXPECT_GT(*least, 40u);
    EXPECT_LE(*most - *least, 1u);
}

TEST_F(Xbar, WritesDramAtABeatACycle) {
    check = false;
    bench.dram.hesitation = 0;
    bench.dram.writeLatency = 60;
    for (unsigned n = 0; n < 300; n++) {
        send(bench.pages[0], make(0, DST_DRAM, DramModel::BASE + 64 * n, 64, false));
        send(bench.drains[0], make(1, DST_DRAM, DramModel::BASE + 65536 + 64 * n, 64, false));
    }
    bench.ticks(100);
    const uint64_t before = bench.dram.writeBeats;
    bench.ticks(2000);
    EXPECT_GE(bench.dram.writeBeats - before, 1960u);
}

TEST_F(Xbar, ReadsDramAtNearlyABeatACycle) {
    check = false;
    bench.dram.hesitation = 0;
    bench.dram.readLatency = 100;
    for (unsigned n = 0; n < 4; n++) {
        for (unsigned i = 0; i < CHANNELS; i++) {
            bench.fetch(i, DramModel::BASE + 4096 * n, 4096);
        }
    }
    bench.ticks(300);
    const uint64_t before = bench.dram.readBeats;
    bench.ticks(2000);
    EXPECT_GE(bench.dram.readBeats - before, 1940u);
}

TEST_F(Xbar, CoresDoNotDisturbEachOther) {
    check = false;
    for (unsigned n = 0; n < 200; n++) {
        for (unsigned i = 0; i < CHANNELS; i++) {
            send(bench.pages[i], make(i, static_cast<uint8_t>(i), 64 * n, 64, true));
        }
    }
    bench.ticks(20);
    const auto before = beats;
    bench.ticks(1000);
    for (unsigned i = 0; i < CHANNELS; i++) {
        EXPECT_GE(beats[i] - before.at(i), 990u);
    }
}

// A read that is asked for when a packet has left its source sees the packet, however late DRAM takes it.
TEST_F(Xbar, ReadsSeeEarlierPackets) {
    check = false;
    bench.dram.writeLatency = 300;
    bench.dram.readLatency = 1;
    for (unsigned n = 0; n < 40; n++) {
        const uint32_t addr = DramModel::BASE + 4096 * n;
        const Packet p = make(0, DST_DRAM, addr, 64, false);
        send(bench.drains[n % CORES], p);
        ASSERT_TRUE(bench.until([&] { return bench.drains[n % CORES].beats.empty(); }));
        if (n % 2 == 0) {
            ASSERT_EQ(bench.load(addr + 60), static_cast<uint32_t>(p.data[7] >> 32));
        } else {
            const std::vector<uint8_t> data = bench.deviceRead(addr, 64);
            ASSERT_EQ(std::memcmp(data.data(), p.data.data(), 64), 0);
        }
    }
}

// Firmware reset at any moment: what was under way ends somehow, afterwards everything works and DRAM saw whole bursts
// only.
TEST_F(Xbar, SurvivesResetInTraffic) {
    for (unsigned round = 0; round < 30; round++) {
        check = false;
        for (unsigned n = 0; n < 30; n++) {
            for (unsigned i = 0; i < CHANNELS; i++) {
                const bool dram = bench.rng() % 2;
                send(bench.pages[i], make(i, dram ? DST_DRAM : bench.rng() % CORES, DramModel::BASE + 64 * n,
                                          1 + bench.rng() % 64, !dram));
            }
            const bool dram = bench.rng() % 2;
            send(bench.drains[n % CORES], make(20, dram ? DST_DRAM : bench.rng() % CORES, DramModel::BASE + 64 * n,
                                               1 + bench.rng() % 64, !dram));
        }
        bench.fetch(round % CHANNELS, DramModel::BASE, 4096);
        bench.ticks(bench.rng() % 300);
        bench.hostWrite(BAR_CTRL + CTRL_RESET, 1);
        for (Source &s : bench.pages) {
            s.beats.clear();
        }
        for (Source &s : bench.drains) {
            s.beats.clear();
        }
        for (auto &f : bench.fetches) {
            f.clear();
        }
        ASSERT_TRUE(bench.until([&] { return bench.top.io_board_asleep != 0; }, 20000)) << "reset leaves work behind";
        receiving.clear();
        expected.clear();
        bench.release();
        check = true;
        for (unsigned i = 0; i < CHANNELS; i++) {
            const Packet p = make(i, static_cast<uint8_t>(i), 0, 64, true);
            expected[{i, i}].push_back(p);
            send(bench.pages[i], p);
        }
        const Packet p = make(20, DST_DRAM, DramModel::BASE + 64 * round, 64, false);
        send(bench.drains[0], p);
        ASSERT_TRUE(bench.until([&] { return outstanding() == 0 && quiet(); }, 5000));
        bench.ticks(20);
        ASSERT_EQ(std::memcmp(bench.dram.at(p.addr), p.data.data(), 64), 0);
    }
}

} // namespace
