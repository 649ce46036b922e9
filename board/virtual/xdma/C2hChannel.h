// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "xdma/DmaChannel.h"

namespace assasin {

/// Card to host: AXI4 reads from the chip, then posted PCIe writes, all in order. A posted write that hits no host
/// memory is dropped (nothing on PCIe tells the sender); HostMemory counts it.
class C2hChannel : public DmaChannel {
  public:
    C2hChannel(const PcieParams &pcie, HostMemory &host) : DmaChannel(1, pcie, host) {
    }

    /// Drives AR and R of the port.
    void drive(Axi4Wires &wires) const;

    /// Takes the cycle's transfers, lets arrived data land in host memory, and asks for more.
    void sample(const Axi4Wires &wires, uint64_t now);

  private:
    static constexpr uint32_t MAX_REQUESTED = 8192; ///< bytes asked of the chip and not received
    static constexpr uint32_t MAX_LANDING = 32768;  ///< bytes on the link

    struct Burst {
        uint64_t host;
        uint32_t addr; ///< device address, aligned to 8
        uint32_t lead; ///< bytes of the first beat to skip
        uint32_t size; ///< bytes wanted
        uint32_t beats;
        bool last; ///< of its descriptor
        std::vector<uint64_t> data;
    };

    void plan();

    std::deque<Burst> bursts_;
    size_t addressed_ = 0; ///< bursts whose address has been taken
    uint32_t requested_ = 0;
    struct Landing {
        Burst burst;
        uint64_t at; ///< cycle
    };
    std::deque<Landing> landings_;
    uint32_t landing_ = 0;
    uint32_t offset_ = 0; ///< bytes of queue_.front() planned
};

} // namespace assasin
