// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hls/KernelSlot.h"
#include "nand/NandChannel.h"
#include "sim/Axi.h"
#include "xdma/Xdma.h"

class VAssasinSoc;
class VerilatedContext;
class VerilatedFstC;

namespace assasin {

/// The chip's own counters (hw/regs: CORE, FLASH, SYS), read without an access: nothing in the chip changes.
struct ChipCounters {
    static constexpr unsigned MAX_TILES = 24; ///< cores and slots
    static constexpr unsigned MAX_CHANNELS = 16;

    /// Counters of a core or slot, in the order of their registers from CORE.CYCLES on; since its latest CLEAR.
    enum Tile { CYCLES, INSTRET, WAIT_IN, WAIT_OUT, WAIT_MEM, L1_MISSES, L2_MISSES, PREFETCHES, TILE_COUNTERS };
    /// Counters of a channel, since reset.
    enum Channel { BUS_BUSY, DATA_BYTES, CHANNEL_COUNTERS };

    uint64_t firmwareSleep = 0;                   ///< SYS.SLEEP_CYCLES
    uint64_t tile[MAX_TILES][TILE_COUNTERS] = {}; ///< the cores, then the slots
    uint64_t channel[MAX_CHANNELS][CHANNEL_COUNTERS] = {};
};

/// The Verilated chip: copies its ports from and to the models' wires and gives it clock edges.
class Soc {
  public:
    /// What was elaborated: cores, flash channels, chip enables a channel, bytes of a PHY data beat.
    static const unsigned CORES;
    static const unsigned CHANNELS;
    static const unsigned WAYS;
    static const unsigned PHY_BYTES;
    /// Name of the configuration, e.g. AssasinSb8x8.
    static const char *const CONFIG;
    /// The firmware's processor as the firmware's build names it, and the device addresses its image goes to.
    static const char *const CPU;
    static const uint32_t FIRMWARE_BASE;
    static const uint32_t FIRMWARE_BYTES;
    /// Cycles that the chip's inside stays in reset for after the pin: a Chipyard chip synchronises its reset.
    static const unsigned RESET_TAIL;
    /// Cycles in which nothing happens before the chip shows that it sleeps.
    static const unsigned REST;
    static constexpr unsigned MAX_CHANNELS = 16;
    /// Slots for kernels.
    static const unsigned SLOTS;
    static const unsigned BAR0_BITS; ///< widest access to BAR0 that the chip is made for
    static constexpr unsigned MAX_SLOTS = 8;

    Soc();
    ~Soc();
    Soc(const Soc &) = delete;
    Soc &operator=(const Soc &) = delete;

    /// Starts writing waves to FST file `path`; two time units a cycle of the timebase. Throws std::runtime_error in a
    /// build without tracing.
    void openTrace(const std::string &path);
    void closeTrace();

    // The wires, chip side; the models drive and sample them.
    Axi4Wires dram;
    AxiLiteWires bar0;
    PhyPort flash[MAX_CHANNELS];
    SlotWires slots[MAX_SLOTS];

    /// First half of a cycle: applies the models' halves (all but the flash pins) and `timebase` at clock low, settles,
    /// and shows the chip's halves.
    void settle(uint64_t timebase, Xdma &xdma);

    /// Second half: applies the flash pins that the packages made of this cycle's outputs, then the rising edge.
    void edge();

    void setReset(bool level);

    /// The chip's sleep outputs as of the latest edge.
    bool asleep() const;
    uint64_t wakeAt() const;

    /// The counters as of the latest edge (SocCounters.cpp).
    void read(ChipCounters &counters) const;

  private:
    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<VAssasinSoc> top_;
    std::unique_ptr<VerilatedFstC> trace_;
    uint64_t timebase_ = 0;
};

} // namespace assasin
