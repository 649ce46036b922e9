// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>

#include "xdma/AxiWriteMaster.h"
#include "xdma/DmaChannel.h"

namespace assasin {

/// Host to card: PCIe reads, pipelined and in order, then AXI4 writes into the chip.
class H2cChannel : public DmaChannel {
  public:
    H2cChannel(const PcieParams &pcie, HostMemory &host, AxiWriteMaster &writer)
        : DmaChannel(0, pcie, host), writer_(writer) {
    }

    /// Advances the read side by one cycle.
    void step(uint64_t now);

    /// A range this channel pushed to the writer has been answered.
    void written(const AxiWriteMaster::Done &done);

  private:
    static constexpr uint32_t MAX_IN_FLIGHT =
        16384; ///< bytes requested and not yet sent on, as the IP's data buffer holds

    struct Request {
        uint64_t host;
        uint32_t device;
        uint32_t size;
        uint64_t arrival; ///< cycle
        bool last;        ///< of its descriptor
    };

    AxiWriteMaster &writer_;
    std::deque<Request> requests_;
    uint32_t inFlight_ = 0;
    uint32_t offset_ = 0; ///< bytes of queue_.front() requested
};

} // namespace assasin
