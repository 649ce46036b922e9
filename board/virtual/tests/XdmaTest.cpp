// SPDX-License-Identifier: BSD-3-Clause
// The XDMA endpoint against a chip made of the DRAM model: descriptors through the bypass ports, registers through
// AXI4-Lite.
#include "xdma/Xdma.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/XdmaBench.h"

namespace {

using namespace test;
using XdmaTest = XdmaBench;

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

struct RandomTransfers : XdmaBench {
    void bothWays();
};

TEST_F(RandomTransfers, BothWaysMatch) {
    bothWays();
}

// The waits differ from run to run; the seed repeats them.
TEST_F(RandomTransfers, BothWaysMatchWhateverTheHostWaits) {
    const uint64_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    xdma.pause(seed);
    bothWays();
}

void RandomTransfers::bothWays() {
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
    EXPECT_EQ(xdma.readRegister(0x0148), transfers);
    EXPECT_EQ(xdma.readRegister(0x1148), transfers);
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
    EXPECT_EQ(xdma.readRegister(0x0140) & 0x3E00, 1u << 9);
    EXPECT_EQ(xdma.readRegister(0x0104) & 1, 0u) << "an error stops the channel";
    EXPECT_TRUE(stoppedBeforeDone);
    xdma.drive();
    EXPECT_FALSE(xdma.h2cBypass.ready);
    EXPECT_TRUE(xdma.c2hBypass.ready);
    EXPECT_EQ(xdma.readRegister(0x0144) & 0x3E00, 1u << 9); // reads clear it
    EXPECT_EQ(xdma.readRegister(0x0144) & 0x3E00, 0u);
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
    xdma.writeRegister(0x0108, 1 << 5);
    push(xdma.h2cBypass, HOST_BASE, 0, 0);
    push(xdma.c2hBypass, 0, HOST_BASE, 0);
    drain();
    EXPECT_EQ(done[0], 1u);
    EXPECT_EQ(done[1], 1u);
    EXPECT_TRUE(xdma.readRegister(0x0140) & 1u << 5);
}

TEST_F(XdmaTest, IdentifiersAsTheVendorDriverProbesThem) {
    EXPECT_EQ(xdma.readRegister(0x0000) >> 8, 0x1FC000u);
    EXPECT_EQ(xdma.readRegister(0x1000) >> 8, 0x1FC100u);
    EXPECT_EQ(xdma.readRegister(0x2000) >> 16, 0x1FC2u);
    EXPECT_EQ(xdma.readRegister(0x3000) >> 16, 0x1FC3u);
    EXPECT_EQ(xdma.readRegister(0x4000) >> 16, 0x1FC4u);
    EXPECT_EQ(xdma.readRegister(0x5000) >> 16, 0x1FC5u);
    EXPECT_EQ(xdma.readRegister(0x6000) >> 16, 0x1FC6u);
    EXPECT_EQ(xdma.readRegister(0x0100) >> 8, 0x1FC001u);
    EXPECT_EQ(xdma.readRegister(0x1100) >> 8, 0x1FC101u);
    EXPECT_EQ(xdma.readRegister(0x0200), 0u); // two channels each
    EXPECT_EQ(xdma.readRegister(0x1200), 0u);
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
