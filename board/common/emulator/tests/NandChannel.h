// SPDX-License-Identifier: BSD-3-Clause
// Stands where board/virtual/nand/NandChannel.h does when the flash channel's bench is built for the emulator: behind
// FlashPhyIO is the Verilated nand_emulator, and behind its AXI4 port a memory that stalls and answers late.
#pragma once

#define NandChannel NandChannelModel
#include "../../../virtual/nand/NandChannel.h"
#undef NandChannel

#include <deque>
#include <memory>
#include <random>
#include <unordered_map>

class VNandEmulator;

namespace assasin {

/** The emulated packages of one channel. */
class NandChannel {
  public:
    NandChannel(const NandSetup &setup, unsigned channel, unsigned ways, unsigned phyLatency = 0);
    ~NandChannel();

    void cycle(uint64_t now, PhyPort &port);
    uint64_t nextEvent() const {
        return 0;
    }
    void hostReset();

    bool writeFails = false; ///< memory answers writes with SLVERR

  private:
    struct Read {
        uint64_t address, at;
        unsigned beat;
    };
    void memory();

    std::unique_ptr<VNandEmulator> emulator_;
    std::unordered_map<uint64_t, uint64_t> words_;
    std::deque<Read> reads_;
    std::deque<uint64_t> writes_; ///< addresses whose data is to come
    unsigned writeBeat_ = 0;
    std::deque<uint64_t> answers_; ///< cycles
    std::mt19937 random_;
    uint64_t clocks_ = 0;
};

} // namespace assasin
