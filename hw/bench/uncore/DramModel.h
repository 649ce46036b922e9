// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "VUncore.h"
#include "assasin_contract.h"

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

namespace uncorebench {

/// DRAM behind the AXI4 port with random hesitation. Writes take effect only when their response is given, which is as
/// late as AXI4 allows: what reads before must not expect to see them.
class DramModel {
  public:
    static constexpr uint32_t BASE = 0x80000000u;
    static constexpr uint32_t SIZE = 8u << 20;
    /// The controller memory buffer, far behind the rest.
    static constexpr uint32_t CMB_BASE = ASSASIN_DRAM_CMB_BASE;
    static constexpr uint32_t CMB_SIZE = ASSASIN_DRAM_CMB_SIZE;

    DramModel(VUncore &top, std::mt19937 &rng, std::vector<uint8_t *> &taken)
        : top_(top), rng_(rng), taken_(taken), memory_(SIZE + CMB_SIZE) {
    }

    /// Chance in percent that a channel hesitates in a cycle, and latency in cycles.
    unsigned hesitation = 20;
    unsigned readLatency = 20;
    unsigned writeLatency = 20;
    uint32_t bad = 0; ///< reads of these eight bytes answer SLVERR; 0: none do

    void drive(uint64_t now);
    void sample(uint64_t now);

    uint8_t *at(uint32_t address) {
        const bool buffer = address >= CMB_BASE && address - CMB_BASE < CMB_SIZE;
        return &memory_.at(buffer ? SIZE + (address - CMB_BASE) : address - BASE);
    }
    bool idle() const {
        return reads_.empty() && writes_.empty() && done_.empty();
    }
    uint64_t writeBeats = 0, readBeats = 0;

  private:
    struct Write {
        uint8_t id;
        uint32_t addr;
        unsigned beats;
        std::vector<std::pair<uint64_t, uint8_t>> data;
    };
    struct Read {
        uint8_t id;
        uint32_t addr;
        unsigned left;
        uint64_t at;
    };
    bool hesitates() {
        return rng_() % 100 < hesitation;
    }

    VUncore &top_;
    std::mt19937 &rng_;
    std::vector<uint8_t *> &taken_; ///< valid wires to clear behind the clock edge
    std::vector<uint8_t> memory_;
    std::deque<Write> writes_;
    std::deque<std::pair<uint64_t, Write>> done_;
    std::deque<Read> reads_;
};

} // namespace uncorebench
