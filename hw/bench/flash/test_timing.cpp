// SPDX-License-Identifier: BSD-3-Clause
#include "Support.h"

#include <algorithm>
#include <ctime>
#include <gtest/gtest.h>

using namespace flashbench;
using assasin::NandViolation;
using assasin::PartFile;

namespace {

/** Runs one operation with one timing register changed. \return the rule that was broken, "" when none. */
std::string ruleBroken(const assasin::NandCycles &host, unsigned op, std::string *text = nullptr) {
    PartFile part = testPart();
    part.nvddr2.tRR = 90; // longer than the channel's own way from R/B to the first beat
    FlashBench b(part, 1);
    b.boot();
    try {
        erase(b, 0, 0);
        program(b, 0, 0, pattern(5));
        b.setTiming(host);
        if (op == FLASH_OP_PROGRAM)
            program(b, 0, 1, pattern(6));
        else
            b.execute(make(op, 0, 0, kDramBase, kSector));
        b.ticks(200);
    } catch (const NandViolation &violation) {
        if (text)
            *text = violation.what();
        return violation.rule;
    }
    return "";
}

} // namespace

/** One cycle less than the part needs stops the run and names the parameter; the exact value passes. */
TEST(Timing, Edges) {
    PartFile part = testPart();
    part.nvddr2.tRR = 90;
    const assasin::NandCycles exact = assasin::NandTiming(part, 1.0, kPhyBytes).nvddr2();
    for (unsigned op : {FLASH_OP_READ, FLASH_OP_PROGRAM, FLASH_OP_ERASE, FLASH_OP_READ_STATUS})
        EXPECT_EQ(ruleBroken(exact, op), "") << "operation " << op;

    struct Case {
        const char *rule;
        unsigned assasin::NandCycles::*field;
        unsigned op;
    };
    const Case cases[] = {{"tWC", &assasin::NandCycles::tWC, FLASH_OP_READ},
                          {"tWC", &assasin::NandCycles::tWC, FLASH_OP_PROGRAM},
                          {"tWC", &assasin::NandCycles::tWC, FLASH_OP_ERASE},
                          {"tCS", &assasin::NandCycles::tCS, FLASH_OP_READ},
                          {"tRPRE", &assasin::NandCycles::tRPRE, FLASH_OP_READ},
                          {"tPST", &assasin::NandCycles::tPST, FLASH_OP_READ},
                          {"tPST", &assasin::NandCycles::tPST, FLASH_OP_PROGRAM},
                          {"tWHR", &assasin::NandCycles::tWHR, FLASH_OP_READ_STATUS},
                          {"tWHR", &assasin::NandCycles::tWHR, FLASH_OP_ERASE},
                          {"tADL", &assasin::NandCycles::tADL, FLASH_OP_PROGRAM}};
    for (const Case &c : cases) {
        assasin::NandCycles less = exact;
        less.*c.field -= 1;
        std::string text;
        EXPECT_EQ(ruleBroken(less, c.op, &text), c.rule) << "operation " << c.op << ": " << text;
        EXPECT_NE(text.find("channel 0 way 0"), std::string::npos) << text;
    }
    if (exact.beat > 1) {
        assasin::NandCycles less = exact;
        less.beat -= 1;
        EXPECT_EQ(ruleBroken(less, FLASH_OP_READ), "data rate");
        EXPECT_EQ(ruleBroken(less, FLASH_OP_PROGRAM), "data rate");
    }
}

/** tWB and tRR guard a pin that the channel synchronises first: the largest value that fails must be close below the
 * part's. */
TEST(Timing, MarginOfThePhyIsShownAndNotAdded) {
    FlashBench b(testPart(), seed());
    b.boot();
    EXPECT_EQ(b.readReg(FLASH_PHY_MARGIN), assasin::PhyPort::kDifferential);
    auto readTime = [&] {
        uint64_t start = b.now;
        b.execute(make(FLASH_OP_READ, 0, 0, kDramBase, kSector));
        return b.now - start;
    };
    readTime();
    uint64_t before = readTime();
    b.phy.margin = 0x900F0601;
    b.tick();
    EXPECT_EQ(b.readReg(FLASH_PHY_MARGIN), 0x900F0601u);
    b.writeReg(FLASH_PHY_MARGIN, 0);
    EXPECT_EQ(b.readReg(FLASH_PHY_MARGIN), 0x900F0601u);
    EXPECT_EQ(readTime(), before);
}

TEST(Timing, EdgesOfReadyBusy) {
    PartFile part = testPart();
    part.nvddr2.tRR = 90;
    const assasin::NandCycles exact = assasin::NandTiming(part, 1.0, kPhyBytes).nvddr2();
    assasin::NandCycles less = exact;
    less.tWB -= 1;
    std::string text;
    EXPECT_EQ(ruleBroken(less, FLASH_OP_READ, &text), "busy") << text;
    less.tWB = less.tRR = 1; // early enough for the data phase to begin before the part shows busy
    EXPECT_EQ(ruleBroken(less, FLASH_OP_READ, &text), "tWB") << text;

    unsigned fails = 0;
    for (unsigned tRR = exact.tRR; tRR-- > 0 && !fails;) {
        less = exact;
        less.tRR = tRR;
        if (ruleBroken(less, FLASH_OP_READ, &text) == "tRR")
            fails = tRR;
    }
    EXPECT_GT(fails, exact.tRR - exact.tCS - 16) << text;
}

namespace {

/** Fills 64 pages of every way. */
void fill(FlashBench &b) {
    for (unsigned way = 0; way < kWays; way++)
        for (unsigned page = 0; page < 64; page++)
            b.put(way, 0, 0, page, way * 64 + page);
}

/** All ways reading all the time. \return the share of the bus limit that is reached */
double measure(FlashBench &b, unsigned ways, bool toStreams, unsigned sectors) {
    unsigned issued = 0, done = 0;
    std::vector<unsigned> inWay(kWays), next(kWays);
    uint64_t first = 0, busyBefore = 0;
    const unsigned warm = 4 * ways;
    std::vector<uint32_t> position(kCores);
    for (auto &core : b.rings)
        core[0].pages = 16;
    b.eachTick = [&] {
        for (auto &core : b.rings) // cores that keep up with the bus
            while (core[0].complete.count(core[0].head))
                core[0].complete.erase(core[0].head++);
    };
    auto drain = [&] {
        Completion c;
        while (b.pop(c)) {
            if (c.status != FLASH_STATUS_OK)
                throw BenchError("status " + std::to_string(c.status));
            inWay[c.way]--;
            if (++done == warm) {
                first = b.now;
                busyBefore = b.readReg(FLASH_BUS_BUSY_LO);
            }
        }
    };
    while (done < warm + sectors) {
        for (unsigned way = 0; way < ways; way++) {
            if (inWay[way] < 4) {
                Descriptor d = make(FLASH_OP_READ, way, next[way]++ % (64 << b.sectorLog2),
                                    kDramBase + (issued % 256) * 0x4000, kSector);
                if (toStreams) {
                    d.stream = true;
                    d.core = anyCore(issued % kCores);
                    d.w2 = position[d.core]++ * kSector;
                }
                b.push(d);
                inWay[way]++;
                issued++;
            }
            drain();
        }
        b.tick();
        drain();
    }
    uint64_t cycles = b.now - first;
    double perSector = double(cycles) / (done - warm);
    double busy = double(b.readReg(FLASH_BUS_BUSY_LO) - uint32_t(busyBefore)) / (b.now - first);
    std::printf("    %u ways, %s: %.1f cycles a sector, formula %u: %.2f %% of the bus limit; bus busy %.1f %%\n", ways,
                toStreams ? "streams" : "DRAM", perSector, b.formula(), 100.0 * b.formula() / perSector, 100 * busy);
    b.eachTick = nullptr;
    return b.formula() / perSector;
}

} // namespace

TEST(Throughput, ReadsReachTheBusLimit) {
    if (kWays < 8)
        GTEST_SKIP() << "needs eight ways";
    if (kPhyBytes > 1) { // a beat every cycle, tR short enough for eight ways to hide it
        PartFile part = paperPart();
        part.nvddr2.beatPs = 1000 / kPhyBytes;
        part.array.tR = 5000;
        FlashBench b(part, 1);
        b.boot();
        fill(b);
        EXPECT_GE(measure(b, kWays, true, 512), 0.99);
        return;
    }
    for (bool toStreams : {false, true}) {
        for (unsigned ways : {8u, 16u}) {
            FlashBench b(paperPart(), 1);
            b.boot();
            fill(b);
            EXPECT_GE(measure(b, ways, toStreams, 256), 0.99);
        }
    }
    // Crossbar shared with seven other channels: a packet waits, the bus does not.
    FlashBench b(paperPart(), 1);
    b.boot();
    fill(b);
    b.outReadyPercent = 40;
    EXPECT_GE(measure(b, 16, true, 256), 0.99);
}

namespace {

/** Processor time of this process: the machine may have other work. */
double seconds() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

} // namespace

TEST(Throughput, SimulationSpeed) {
    if (kWays != 16) {
        GTEST_SKIP() << "measured on the full channel";
    }
    FlashBench b(paperPart(), 1);
    b.boot();
    fill(b);
    double start = seconds();
    uint64_t from = b.now;
    measure(b, kWays, false, 128);
    std::printf("    %.0f kHz with bench and NAND model, reading\n", (b.now - from) / (seconds() - start) / 1000);

    // Channel and model apart, each replaying what it saw in the bench.
    FlashBench r(paperPart(), 1);
    std::vector<FlashBench::Pins> pins;
    r.recorder = &pins;
    r.restart();
    r.boot();
    fill(r);
    measure(r, kWays, false, 64);
    auto time = [&](const char *what, size_t n, auto body) {
        // The quickest tenth.
        double ns = 1e9;
        for (size_t part = 0; part < 10; part++) {
            double t0 = seconds();
            for (size_t i = n * part / 10; i < n * (part + 1) / 10; i++)
                body(i);
            ns = std::min(ns, (seconds() - t0) / (n / 10.0) * 1e9);
        }
        std::printf("    %-44s %7.1f ns a cycle\n", what, ns);
    };
    uint64_t mismatches = 0;
    FlashBench m(paperPart(), 1);
    m.codec = std::make_unique<assasin::SectorCodec>(r.codec->t(), kPhyBytes);
    fill(m);
    assasin::PhyPort port;
    time("model, reading", pins.size(), [&](size_t i) {
        port = pins[i].phy;
        m.nand->cycle(i + 1, port);
        mismatches += port.dqInValid != pins[i].phy.dqInValid;
    });
    EXPECT_EQ(mismatches, 0u);
    uint64_t last = pins.size() + 1000000;
    port.we = port.re = port.dqOutValid = false;
    m.nand->cycle(last, port);
    time("model, idle", 5000000, [&](size_t i) { m.nand->cycle(last + i, port); });
    FlashBench c(paperPart(), 1);
    c.restart();
    time("channel, reading", pins.size(), [&](size_t i) {
        pins[i].drive(*c.top);
        c.top->clock = 0;
        c.top->eval();
        c.top->clock = 1;
        c.top->eval();
        mismatches += c.top->io_phy_re != pins[i].phy.re;
    });
    EXPECT_EQ(mismatches, 0u);
    FlashBench idle(paperPart(), 1);
    time("channel, idle", 1000000, [&](size_t) {
        idle.top->clock = 0;
        idle.top->eval();
        idle.top->clock = 1;
        idle.top->eval();
    });
}
