// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "xdma/AxiReadMaster.h"
#include "xdma/DmaChannel.h"

namespace assasin {

/// Card to host: AXI4 reads from the chip, then posted PCIe writes, all in order. A posted write that hits no host
/// memory is dropped (nothing on PCIe tells the sender); HostMemory counts it.
class C2hChannel : public DmaChannel {
  public:
    /// @param number of the channel, and the tag of its bursts in `reader`
    C2hChannel(unsigned number, Source source, PcieLink &link, HostMemory &host, AxiReadMaster &reader)
        : DmaChannel(1, number, source, link, host), tag_(number), reader_(reader) {
    }

    /// Lets arrived data land in host memory, and asks for more.
    void step(uint64_t now);

    /// The oldest burst this channel pushed to the reader has been answered in cycle `now`.
    void arrived(AxiReadMaster::Done &done, uint64_t now);

  private:
    static constexpr uint32_t MAX_REQUESTED = 8192; ///< bytes asked of the chip and not received
    static constexpr uint32_t MAX_LANDING = 32768;  ///< bytes on the link

    struct Piece {
        uint64_t host;
        uint32_t lead;  ///< bytes of the first beat to skip
        uint32_t size;  ///< bytes wanted
        bool last;      ///< of its descriptor
        uint32_t error; ///< status bits
        uint32_t run;
        uint64_t at; ///< cycle in which it has landed
        std::vector<uint64_t> data;
    };

    void plan();
    bool moving() const override {
        return !reads_.empty() || !landings_.empty();
    }

    const uint32_t tag_;
    AxiReadMaster &reader_;
    std::deque<Piece> reads_;    ///< with the reader
    std::deque<Piece> landings_; ///< on the link
    uint32_t requested_ = 0;     ///< bytes in reads_
    uint32_t landing_ = 0;       ///< bytes in landings_
};

} // namespace assasin
