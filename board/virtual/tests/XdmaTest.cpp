// SPDX-License-Identifier: BSD-3-Clause
// The XDMA endpoint against a chip made of the DRAM model: descriptors through the bypass ports, registers through
// AXI4-Lite.
#include "xdma/Xdma.h"

#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dram/Dram.h"
#include "tests/MemFd.h"

namespace {

using assasin::BypassWires;
using assasin::Dram;
using assasin::DramParams;
using assasin::HostMemory;
using assasin::PcieParams;
using assasin::PciFunction;
using assasin::Xdma;

constexpr uint64_t HOST_BASE = 0x40000000;
constexpr size_t HOST_SIZE = 1 << 20;
constexpr size_t DEVICE_SIZE = 1 << 20;

DramParams deviceParams() {
    DramParams p;
    p.size = DEVICE_SIZE;
    p.readLatency = 10;
    p.writeLatency = 5;
    return p;
}

PcieParams pcieParams() {
    PcieParams p;
    p.readLatency = 200;
    p.writeLatency = 100;
    return p;
}

/// Host memory, endpoint and a memory-only chip, with random stalls on the AXI4 port.
struct Bench : testing::Test {
    test::MemFd memory{HOST_SIZE};
    HostMemory host;
    PciFunction function;
    Dram device{deviceParams()};
    Xdma xdma{pcieParams(), host, function};
    std::mt19937_64 random{7};
    std::vector<std::pair<uint64_t, uint32_t>> messages;
    bool stalls = false;
    uint64_t now = 0;
    uint64_t done[2] = {0, 0}; ///< status pulses of H2C and C2H

    Bench() {
        pci_proxy_sysmem layout{};
        layout.gpa[0] = HOST_BASE;
        layout.size[0] = HOST_SIZE;
        const int fds[] = {memory.dupFd()};
        host.map(layout, fds, 1);
        function.onBusMaster = [this](bool on) { host.setEnabled(on); };
        function.onMessage = [this](uint64_t a, uint32_t d) { messages.emplace_back(a, d); };
        function.configWrite(BOARD_CFG_COMMAND, 6, 2);
    }

    void cycle() {
        xdma.drive();
        // the 4 KiB rule of AXI4
        if (xdma.mem.awValid) {
            EXPECT_LE(xdma.mem.awAddr % 4096 + (xdma.mem.awLen + 1u) * 8, 4096u);
            EXPECT_EQ(xdma.mem.awAddr % 8, 0u);
        }
        if (xdma.mem.arValid) {
            EXPECT_LE(xdma.mem.arAddr % 4096 + (xdma.mem.arLen + 1u) * 8, 4096u);
            EXPECT_EQ(xdma.mem.arAddr % 8, 0u);
        }
        assasin::Axi4Wires seen = xdma.mem;
        const bool stallAw = stalls && random() % 3 == 0, stallW = stalls && random() % 3 == 0;
        const bool stallAr = stalls && random() % 3 == 0, stallR = stalls && random() % 3 == 0;
        seen.awValid &= !stallAw;
        seen.wValid &= !stallW;
        seen.arValid &= !stallAr;
        seen.rReady &= !stallR;
        device.drive(seen, now);
        xdma.mem.awReady = seen.awReady && !stallAw;
        xdma.mem.wReady = seen.wReady && !stallW;
        xdma.mem.arReady = seen.arReady && !stallAr;
        xdma.mem.rValid = seen.rValid && !stallR;
        xdma.mem.rData = seen.rData;
        xdma.mem.rLast = seen.rLast;
        xdma.mem.rResp = seen.rResp;
        xdma.mem.bValid = seen.bValid;
        xdma.mem.bResp = seen.bResp;
        done[0] += xdma.h2cBypass.sts >> 3 & 1;
        done[1] += xdma.c2hBypass.sts >> 3 & 1;
        device.sample(seen, now);
        xdma.sample(now);
        now++;
    }

    void push(BypassWires &port, uint64_t src, uint64_t dst, uint32_t len) {
        port.load = true;
        port.srcAddr = src;
        port.dstAddr = dst;
        port.len = len;
        for (int i = 0; i < 100000 && port.load; i++) {
            xdma.drive();
            const bool taken = port.ready;
            cycle();
            if (taken) {
                port.load = false;
            }
        }
        ASSERT_FALSE(port.load) << "descriptor never taken";
    }

    void drain() {
        for (int i = 0; i < 200000 && !xdma.idle(); i++) {
            cycle();
        }
        ASSERT_TRUE(xdma.idle());
    }

    void run(bool on) {
        xdma.writeRegister(on ? 0x0008 : 0x000C, 1);
        xdma.writeRegister(on ? 0x1008 : 0x100C, 1);
    }
};
using XdmaTest = Bench;

TEST_F(XdmaTest, TakesDescriptorsOnlyWhileRunning) {
    xdma.drive();
    EXPECT_FALSE(xdma.h2cBypass.ready);
    EXPECT_FALSE(xdma.c2hBypass.ready);
    run(true);
    xdma.drive();
    EXPECT_TRUE(xdma.h2cBypass.ready);
    EXPECT_TRUE(xdma.c2hBypass.ready);
    EXPECT_EQ(xdma.h2cBypass.sts & 0x40, 0x40);
    run(false);
    xdma.drive();
    EXPECT_FALSE(xdma.h2cBypass.ready);
}

TEST_F(XdmaTest, RandomTransfersBothWaysMatch) {
    run(true);
    stalls = true;
    for (size_t i = 0; i < HOST_SIZE; i++) {
        memory.bytes()[i] = uint8_t(random());
    }
    for (size_t i = 0; i < DEVICE_SIZE; i++) {
        device.data()[i] = uint8_t(random());
    }
    std::vector<uint8_t> hostExpected(memory.bytes(), memory.bytes() + HOST_SIZE);
    std::vector<uint8_t> deviceExpected(device.data(), device.data() + DEVICE_SIZE);
    // H2C reads the lower half of host memory and writes the lower half of the device; C2H uses the upper halves
    const size_t half = HOST_SIZE / 2;
    const unsigned transfers = 60;
    for (unsigned i = 0; i < transfers; i++) {
        const uint32_t len = uint32_t(1 + random() % (i % 4 == 0 ? 16 : 9000));
        const uint64_t h = random() % (half - len), d = random() % (half - len);
        push(xdma.h2cBypass, HOST_BASE + h, d, len);
        std::memcpy(&deviceExpected[d], &hostExpected[h], len);
        const uint64_t h2 = half + random() % (half - len), d2 = half + random() % (half - len);
        push(xdma.c2hBypass, d2, HOST_BASE + h2, len);
        std::memcpy(&hostExpected[h2], &deviceExpected[d2], len);
    }
    drain();
    EXPECT_EQ(done[0], transfers);
    EXPECT_EQ(done[1], transfers);
    EXPECT_EQ(xdma.readRegister(0x0048), transfers);
    EXPECT_EQ(xdma.readRegister(0x1048), transfers);
    EXPECT_EQ(std::memcmp(memory.bytes(), hostExpected.data(), HOST_SIZE), 0);
    EXPECT_EQ(std::memcmp(device.data(), deviceExpected.data(), DEVICE_SIZE), 0);
    EXPECT_EQ(host.faults(), 0u);
}

TEST_F(XdmaTest, LatencyAndBandwidthComeFromTheProfile) {
    run(true);
    const uint64_t start = now;
    push(xdma.h2cBypass, HOST_BASE, 0, 64 * 1024);
    drain();
    const uint64_t cycles = now - start;
    EXPECT_GE(cycles, 200u + 64 * 1024 / 8);
    EXPECT_LE(cycles, (200u + 64 * 1024 / 8) * 105 / 100);
    const uint64_t start2 = now;
    push(xdma.c2hBypass, 0, HOST_BASE, 64 * 1024);
    drain();
    EXPECT_GE(now - start2, 100u + 64 * 1024 / 8);
    EXPECT_LE(now - start2, (100u + 64 * 1024 / 8) * 115 / 100);
}

TEST_F(XdmaTest, PulsesComeInOrderWithData) {
    run(true);
    push(xdma.h2cBypass, HOST_BASE, 0x1000, 4096);
    push(xdma.h2cBypass, HOST_BASE + 4096, 0x3000, 8);
    std::memset(memory.bytes(), 0x11, 4096);
    std::memset(memory.bytes() + 4096, 0x22, 8);
    for (int i = 0; i < 10000 && done[0] == 0; i++) {
        cycle();
    }
    EXPECT_EQ(device.data()[0x1FFF], 0x11);
    drain();
    EXPECT_EQ(done[0], 2u);
    EXPECT_EQ(device.data()[0x3007], 0x22);
}

TEST_F(XdmaTest, UnmappedHostMemory) {
    run(true);
    push(xdma.h2cBypass, 0x1000, 0x100, 64);
    push(xdma.h2cBypass, HOST_BASE, 0x200, 64); // taken before the error: it still ends
    bool stoppedBeforeDone = false;
    for (int i = 0; i < 5000 && done[0] == 0; i++) {
        cycle();
        stoppedBeforeDone |= done[0] == 0 && (xdma.h2cBypass.sts & 0x40) == 0;
    }
    drain();
    EXPECT_EQ(done[0], 2u);
    EXPECT_EQ(device.data()[0x100], 0xFF);
    EXPECT_EQ(device.data()[0x13F], 0xFF);
    EXPECT_EQ(xdma.readRegister(0x0040) & 0x3E00, 1u << 9);
    EXPECT_EQ(xdma.readRegister(0x0004) & 1, 0u) << "an error stops the channel";
    EXPECT_TRUE(stoppedBeforeDone);
    xdma.drive();
    EXPECT_FALSE(xdma.h2cBypass.ready);
    EXPECT_TRUE(xdma.c2hBypass.ready);
    EXPECT_EQ(xdma.readRegister(0x0044) & 0x3E00, 1u << 9); // reads clear it
    EXPECT_EQ(xdma.readRegister(0x0044) & 0x3E00, 0u);
    push(xdma.c2hBypass, 0x100, 0x1000, 64);
    drain();
    EXPECT_EQ(done[1], 1u);
    EXPECT_EQ(host.faults(), 2u);
    // and it goes on working when told to
    run(true);
    memory.bytes()[0] = 0x5A;
    push(xdma.h2cBypass, HOST_BASE, 0x100, 1);
    drain();
    EXPECT_EQ(device.data()[0x100], 0x5A);
    EXPECT_EQ(device.data()[0x101], 0xFF);
}

TEST_F(XdmaTest, ZeroLengthIsFlaggedAndDone) {
    run(true);
    push(xdma.h2cBypass, HOST_BASE, 0, 0);
    push(xdma.c2hBypass, 0, HOST_BASE, 0);
    drain();
    EXPECT_EQ(done[0], 1u);
    EXPECT_EQ(done[1], 1u);
    EXPECT_TRUE(xdma.readRegister(0x0040) & 1u << 5);
}

TEST_F(XdmaTest, IdentifiersAsTheVendorDriverProbesThem) {
    EXPECT_EQ(xdma.readRegister(0x0000) >> 8, 0x1FC000u);
    EXPECT_EQ(xdma.readRegister(0x1000) >> 8, 0x1FC100u);
    EXPECT_EQ(xdma.readRegister(0x2000) >> 16, 0x1FC2u);
    EXPECT_EQ(xdma.readRegister(0x3000) >> 16, 0x1FC3u);
    EXPECT_EQ(xdma.readRegister(0x4000) >> 16, 0x1FC4u);
    EXPECT_EQ(xdma.readRegister(0x5000) >> 16, 0x1FC5u);
    EXPECT_EQ(xdma.readRegister(0x6000) >> 16, 0x1FC6u);
    EXPECT_EQ(xdma.readRegister(0x0100), 0u); // one channel each
    EXPECT_EQ(xdma.readRegister(0x1100), 0u);
}

TEST_F(XdmaTest, RegistersThroughAxiLite) {
    assasin::AxiLiteWires &r = xdma.regs;
    r.awValid = r.wValid = r.bReady = true;
    r.awAddr = 0x2080;
    r.wData = 0x03020100;
    r.wStrb = 0xF;
    bool answered = false;
    for (int i = 0; i < 20 && !answered; i++) {
        xdma.drive();
        const bool aw = r.awValid && r.awReady, w = r.wValid && r.wReady;
        answered = r.bValid;
        xdma.sample(now++);
        r.awValid &= !aw;
        r.wValid &= !w;
    }
    ASSERT_TRUE(answered);
    r.arValid = r.rReady = true;
    r.arAddr = 0x2080;
    uint32_t value = 0;
    for (int i = 0; i < 20; i++) {
        xdma.drive();
        const bool ar = r.arValid && r.arReady;
        if (r.rValid) {
            value = r.rData;
        }
        xdma.sample(now++);
        r.arValid &= !ar;
    }
    EXPECT_EQ(value, 0x03020100u);
    EXPECT_TRUE(xdma.idle());
}

TEST_F(XdmaTest, UserInterruptByMsix) {
    function.configWrite(BOARD_CFG_CAP_MSIX + 2, 0x8000, 2);
    function.msixWrite(BOARD_MSIX_TABLE + 16 * 4, 0xFEE00000);
    function.msixWrite(BOARD_MSIX_TABLE + 16 * 4 + 8, 99);
    function.msixWrite(BOARD_MSIX_TABLE + 16 * 4 + 12, 0);
    xdma.writeRegister(0x2080, 0x0A040000); // user interrupt 2 -> vector 4
    xdma.irq.req = 1 << 2;
    cycle();
    cycle();
    EXPECT_EQ(xdma.irq.ack, 0); // not enabled: it waits
    xdma.writeRegister(0x2008, 1 << 2);
    unsigned acks = 0;
    for (int i = 0; i < 10; i++) {
        cycle();
        acks += xdma.irq.ack == 1 << 2;
        if (xdma.irq.ack != 0) {
            xdma.irq.req = 0;
        }
    }
    EXPECT_EQ(acks, 1u);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].second, 99u);
    xdma.irq.req = 1 << 2;
    for (int i = 0; i < 10; i++) {
        cycle();
    }
    EXPECT_EQ(messages.size(), 2u) << "a held request is one interrupt";
}

TEST_F(XdmaTest, UserInterruptByIntx) {
    std::vector<bool> levels;
    function.onIntx = [&](bool l) { levels.push_back(l); };
    xdma.writeRegister(0x2004, 1);
    xdma.irq.req = 1;
    unsigned acks = 0;
    for (int i = 0; i < 10; i++) {
        cycle();
        acks += xdma.irq.ack & 1;
    }
    EXPECT_EQ(acks, 1u);
    EXPECT_EQ(levels, std::vector<bool>{true});
    EXPECT_EQ(xdma.readRegister(0x2040), 1u);
    xdma.irq.req = 0;
    for (int i = 0; i < 10; i++) {
        cycle();
        acks += xdma.irq.ack & 1;
    }
    EXPECT_EQ(acks, 2u);
    EXPECT_EQ(levels, (std::vector<bool>{true, false}));
}

} // namespace
