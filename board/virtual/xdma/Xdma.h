// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "pciproxy/HostMemory.h"
#include "pciproxy/PciFunction.h"
#include "sim/Axi.h"
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
};

/// The XDMA IP with one H2C and one C2H memory-mapped channel in descriptor bypass mode.
///
/// Its registers (PG195: H2C 0x0000, C2H 0x1000, IRQ 0x2000, configuration 0x3000, SGDMA 0x4000/0x5000/0x6000, MSI-X
/// 0x8000) are reached by the host through BAR1 and by the chip through the IP's AXI4-Lite slave port. The SGDMA
/// engines (descriptors fetched from host memory) identify themselves and keep their address registers, and start
/// nothing: a channel in bypass mode takes descriptors from its port only.
class Xdma {
  public:
    Xdma(const PcieParams &pcie, HostMemory &host, PciFunction &function);

    /// Aligned 32-bit register access at byte `offset` of BAR1.
    uint32_t readRegister(uint32_t offset);
    void writeRegister(uint32_t offset, uint32_t value);

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

    /// Bytes written into the chip by the board's own loader share the IP's port.
    AxiWriteMaster &writer() {
        return writer_;
    }

    const H2cChannel &h2c() const {
        return h2c_;
    }
    const C2hChannel &c2h() const {
        return c2h_;
    }

  private:
    void sampleRegs();

    PciFunction &function_;
    AxiWriteMaster writer_;
    H2cChannel h2c_;
    C2hChannel c2h_;
    XdmaInterrupts interrupts_;
    uint64_t sgdmaAddress_[2] = {0, 0};
    uint32_t sgdmaAdjacent_[2] = {0, 0};
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
