// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>

#include "xdma/AxiWriteMaster.h"
#include "xdma/DmaChannel.h"

namespace assasin {

/// Host to card: PCIe reads, pipelined and in order, then AXI4 writes into the chip.
class H2cChannel : public DmaChannel {
  public:
    /// @param number of the channel, and the tag of its ranges in `writer`
    H2cChannel(unsigned number, Source source, PcieLink &link, HostMemory &host, AxiWriteMaster &writer)
        : DmaChannel(0, number, source, link, host), tag_(number), writer_(writer) {
    }

    /// Advances the read side by one cycle.
    void step(uint64_t now);

    /// The oldest range this channel pushed to the writer has been answered.
    void written(uint8_t resp);

  private:
    /// Bytes requested and not yet sent on, as the IP's data buffer holds.
    static constexpr uint32_t MAX_IN_FLIGHT = 16384;

    struct Piece {
        uint64_t host;
        uint32_t device;
        uint32_t size;    ///< bytes; 0: a descriptor without data
        uint64_t arrival; ///< cycle
        bool last;        ///< of its descriptor
        uint32_t error;   ///< status bits
        uint32_t run;
    };

    bool moving() const override {
        return !requests_.empty() || !writes_.empty();
    }

    const uint32_t tag_;
    AxiWriteMaster &writer_;
    std::deque<Piece> requests_; ///< asked of the host
    std::deque<Piece> writes_;   ///< with the writer
    uint32_t inFlight_ = 0;
};

} // namespace assasin
