// SPDX-License-Identifier: BSD-3-Clause
// Stands where board/virtual/nand/NandChannel.h does when the flash channel's bench is built for the PHY: the same
// class, but between channel and packages are the Verilated PHY and its pins.
#pragma once

// The packages' own model, under another name.
#define NandChannel NandChannelModel
#include "../../../virtual/nand/NandChannel.h"
#undef NandChannel

#include "NandPins.h"

#include <memory>

class VNandPhy;

namespace assasin {

/** PHY, pins and packages of one channel. */
class NandChannel {
  public:
    NandChannel(const NandSetup &setup, unsigned channel, unsigned ways, unsigned phyLatency = 0);
    ~NandChannel();

    /** One clock of the channel, after its rising edge. \throws NandViolation, PinViolation */
    void cycle(uint64_t now, PhyPort &port);

    uint64_t nextEvent() const {
        return 0;
    }
    void hostReset();

    /** Clocks from the last `re` in SDR, or of a burst, to its byte: shortest and longest seen. */
    unsigned shortestLatency = ~0u, longestLatency = 0;

  private:
    void step(bool clock);

    NandTiming timing_;
    std::unique_ptr<VNandPhy> phy_;
    NandPins pins_;
    PhyPort applied_;
    uint64_t steps_ = 0;
    uint64_t clocks_ = 0;
    std::vector<uint64_t> asked_;
    unsigned ways_;
};

} // namespace assasin
