// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dram/Dram.h"
#include "tests/MemFd.h"
#include "xdma/Xdma.h"

namespace test {

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
constexpr uint32_t RUN_ERRORS = 0x1Fu << 9 | 0x1Fu << 14;

inline DramParams deviceParams() {
    DramParams p;
    p.size = DEVICE_SIZE;
    p.readLatency = 10;
    p.writeLatency = 5;
    return p;
}

inline PcieParams pcieParams() {
    PcieParams p;
    p.readLatency = 200;
    p.writeLatency = 100;
    return p;
}

/// Host memory, endpoint and a memory-only chip, with random stalls on the AXI4 port.
struct XdmaBench : testing::Test {
    MemFd memory{HOST_SIZE};
    HostMemory host;
    PciFunction function;
    Dram device{deviceParams()};
    Xdma xdma{pcieParams(), host, function};
    std::mt19937_64 random{7};
    std::vector<std::pair<uint64_t, uint32_t>> messages;
    bool stalls = false;
    uint8_t readResp = assasin::AXI_OKAY;  ///< what the chip answers to reads
    uint8_t writeResp = assasin::AXI_OKAY; ///< and to writes
    uint64_t now = 0;
    uint64_t done[2] = {0, 0}; ///< status pulses of H2C and C2H

    XdmaBench() {
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
        // the chip's memory comes round, whatever the address
        seen.awAddr %= DEVICE_SIZE;
        seen.arAddr %= DEVICE_SIZE;
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
        xdma.mem.rResp = readResp;
        xdma.mem.bValid = seen.bValid;
        xdma.mem.bResp = writeResp;
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

    /// The bypass channels, with what the firmware sets: Run, and logging of read and write errors.
    void run(bool on) {
        xdma.writeRegister(on ? 0x0108 : 0x010C, on ? 1 | RUN_ERRORS : 1);
        xdma.writeRegister(on ? 0x1108 : 0x110C, on ? 1 | RUN_ERRORS : 1);
    }
};

} // namespace test
