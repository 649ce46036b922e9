// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "DramModel.h"
#include "Ports.h"
#include "TileModel.h"
#include "VUncore.h"
#include "XdmaModel.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace uncorebench {

/// Seed of this run: the environment's UNCORE_SEED, else random. Printed at the start.
uint32_t seed();

constexpr unsigned CORES = 4;
constexpr unsigned CHANNELS = 3;
constexpr unsigned DST_DRAM = CORES + CHANNELS;
constexpr uint32_t BAR_CTRL = 0x8000;

/// A source of packets: a channel's pages or a core's drain.
struct Source {
    std::deque<Beat> beats;
    /// Chance in percent that it pauses in a cycle.
    unsigned hesitation = 0;
    uint64_t sent = 0;
};

/// Register access that reached a core or a channel.
struct RegAccess {
    unsigned block; ///< channel n, or CHANNELS + core n
    uint32_t addr;
    bool write;
    uint32_t data;
};

/// The uncore, with the bench in place of firmware processor, cores, channels, host, XDMA and DRAM.
class UncoreBench {
  public:
    explicit UncoreBench(uint32_t seed);
    ~UncoreBench();
    UncoreBench(const UncoreBench &) = delete;
    UncoreBench &operator=(const UncoreBench &) = delete;

    /// One clock cycle; `look` is called when the wires have settled, before the clock edge.
    void tick(const std::function<void()> &look = nullptr);
    void ticks(unsigned n);

    /// Clocks until `condition`, at most `limit` cycles; false when it did not come.
    bool until(const std::function<bool()> &condition, unsigned limit = 100000);

    /// Host accesses to BAR0.
    uint32_t hostRead(uint32_t addr);
    void hostWrite(uint32_t addr, uint32_t data, uint8_t strb = 0xF);

    /// Firmware accesses; `error` tells of an access fault.
    struct Access {
        uint32_t data;
        bool error;
        unsigned cycles;
    };
    Access access(uint32_t addr, bool write, uint32_t data, unsigned sizeLog2);
    uint32_t load(uint32_t addr);
    void store(uint32_t addr, uint32_t data);

    /// Lets the firmware run (clears CTRL.RESET), and waits until it does.
    void release();

    /// Device memory through the XDMA's AXI4 port.
    void deviceWrite(uint32_t addr, const std::vector<uint8_t> &data);
    std::vector<uint8_t> deviceRead(uint32_t addr, unsigned bytes);

    /// Asks for the data of a page program on channel `n`.
    void fetch(unsigned n, uint32_t addr, uint16_t bytes);

    std::mt19937 rng;
    VUncore top;

    /// Valid wires whose transfer is over: they are cleared behind the clock edge.
    std::vector<uint8_t *> taken;
    DramModel dram;
    XdmaModel xdma;
    uint64_t now = 0;

    std::array<Source, CHANNELS> pages;
    std::array<Source, CORES> drains;

    /// The tiles' DRAM ports.
    std::array<TileModel, CORES> tiles;

    /// Called with every beat that reaches a core (number) or channel (CORES + number).
    std::function<void(unsigned, const Beat &)> arrived;

    /// Chance in percent that a core does not take a beat in a cycle.
    unsigned sinkHesitation = 0;

    /// Requests on the `fetch` ports not taken yet.
    std::array<std::deque<std::pair<uint32_t, uint16_t>>, CHANNELS> fetches;

    std::vector<RegAccess> regAccesses;

    /// Interrupts acknowledged, by vector; `onInterrupt` is called when one is first seen.
    std::array<unsigned, 16> interrupts{};
    std::function<void(unsigned)> onInterrupt;
    bool ackInterrupts = true;

    /// The host has enabled MSI-X.
    bool msix = true;

    /// Levels of legacy interrupts as the host has been told them.
    uint16_t intx() const {
        return intx_;
    }

    /// The XDMA's registers as the bench plays them: 64 words from 0; beyond answers SLVERR.
    std::array<uint32_t, 64> xdmaRegs{};

  private:
    void driveRegs();
    void sampleRegs();
    void driveXdmaRegs();
    void sampleXdmaRegs();

    std::array<BeatPort, CHANNELS> pagePorts_, programPorts_;
    std::array<BeatPort, CORES> drainPorts_, packetPorts_;
    std::array<RegPort, CHANNELS + CORES> regPorts_;
    std::array<FetchPort, CHANNELS> fetchPorts_;
    std::array<bool, CHANNELS + CORES> regAnswer_{};
    std::array<uint32_t, CHANNELS + CORES> regData_{};
    uint16_t irqSeen_ = 0, irqAck_ = 0, intx_ = 0;
    bool axlAddr_ = false, axlData_ = false, axlRead_ = false;
    uint32_t axlAddrValue_ = 0, axlDataValue_ = 0;
};

} // namespace uncorebench
