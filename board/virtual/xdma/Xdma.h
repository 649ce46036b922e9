// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "pciproxy/HostMemory.h"
#include "pciproxy/PciFunction.h"
#include "sim/Axi.h"
#include "xdma/AxiReadMaster.h"
#include "xdma/AxiWriteMaster.h"
#include "xdma/C2hChannel.h"
#include "xdma/DmaChannel.h"
#include "xdma/H2cChannel.h"
#include "xdma/Interrupts.h"

namespace assasin {

/// User interrupt wires.
struct IrqWires {
    uint16_t req = 0;
    uint16_t ack = 0;
    bool msix = false; ///< MSI-X is enabled
};

/// The XDMA IP with two H2C and two C2H memory-mapped channels: channel 0 of each direction takes descriptor lists from
/// host memory, channel 1 is in descriptor bypass mode and carries the chip's own transfers. A channel cannot be both,
/// and host software looks for its channels from number 0 on.
///
/// Its registers (PG195: H2C 0x0000, C2H 0x1000, IRQ 0x2000, configuration 0x3000, SGDMA 0x4000/0x5000/0x6000, MSI-X
/// 0x8000) are reached by the host through BAR2 and by the chip through the IP's AXI4-Lite slave port.
class Xdma {
  public:
    static constexpr unsigned CHANNELS = 2; ///< each direction

    Xdma(const PcieParams &pcie, HostMemory &host, PciFunction &function);

    /// Aligned 32-bit register access at byte `offset` of BAR2.
    uint32_t readRegister(uint32_t offset);
    void writeRegister(uint32_t offset, uint32_t value);

    /// The function was reset: the list channels stop, what the host set is forgotten.
    void reset();

    /// The host waits at random from now on wherever the IP's AXI4 master (M_AXI) may make the chip wait: between an
    /// address and its data, between beats, before data and responses are taken.
    void pause(uint64_t seed) {
        writer_.pause(seed);
        reader_.pause(seed + 2);
    }

    /// Wires of the IP: M_AXI, AXI4-Lite slave, bypass ports, user interrupts.
    Axi4Wires mem;
    AxiLiteWires regs;
    BypassWires h2cBypass;
    BypassWires c2hBypass;
    IrqWires irq;

    /// Drives the IP's half of its wires.
    void drive();

    /// Takes the transfers of cycle `now`.
    void sample(uint64_t now);

    /// Nothing is in flight on any port.
    bool idle() const;

    /// Queues bytes of the board's own loader, which shares the IP's port, for device address `addr`.
    void load(uint32_t addr, const uint8_t *data, size_t size);

    /// The loader's bytes are in the chip.
    bool loaded() const {
        return writer_.idle();
    }

    /// Bytes moved by all channels.
    uint64_t h2cBytes() const {
        return h2c_[0].bytes() + h2c_[1].bytes();
    }
    uint64_t c2hBytes() const {
        return c2h_[0].bytes() + c2h_[1].bytes();
    }

  private:
    DmaChannel *channel(uint32_t target, uint32_t number);
    uint32_t readConfiguration(uint32_t offset) const;
    uint32_t readCommon(uint32_t offset) const;
    void writeCommon(uint32_t offset, uint32_t value);
    void sampleRegs();
    void sampleEngines();

    PciFunction &function_;
    PcieLink link_;
    AxiWriteMaster writer_;
    AxiReadMaster reader_;
    std::array<H2cChannel, CHANNELS> h2c_;
    std::array<C2hChannel, CHANNELS> c2h_;
    XdmaInterrupts interrupts_;
    uint32_t halted_ = 0;     ///< SGDMA Descriptor Control: [3:0] H2C, [19:16] C2H
    uint32_t creditMode_ = 0; ///< SGDMA Descriptor Credit Mode, likewise
    uint32_t pcieControl_ = 1;
    uint32_t writeFlush_ = 0;
    // AXI4-Lite slave: one write and one read at a time
    bool haveAddress_ = false;
    bool haveData_ = false;
    bool answerWrite_ = false;
    bool answerRead_ = false;
    uint32_t address_ = 0;
    uint32_t data_ = 0;
    uint32_t readData_ = 0;
};

} // namespace assasin
