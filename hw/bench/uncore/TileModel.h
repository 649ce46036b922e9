// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "Ports.h"

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace uncorebench {

/// The Verilated signals of a tile's DRAM port. Its ids stay 0: the uncore gives them.
struct TilePort {
    uint8_t *awReady, *awValid;
    uint32_t *awAddr;
    uint8_t *awLen;
    uint8_t *wReady, *wValid;
    uint64_t *wData;
    uint8_t *wStrb, *wLast;
    uint8_t *bReady, *bValid;
    uint8_t *arReady, *arValid;
    uint32_t *arAddr;
    uint8_t *arLen;
    uint8_t *rReady, *rValid;
    uint64_t *rData;
    uint8_t *rLast;
};

/// A tile with caches as the DRAM port sees it: line fills and write-backs of eight beats (or fewer), several under
/// way. Write data are offered from the cycle of their address on, answers are always taken.
class TileModel {
  public:
    void connect(const TilePort &port) {
        port_ = port;
    }

    /// Queues a burst of `beats` beats.
    void read(uint32_t addr, unsigned beats);
    void write(uint32_t addr, const std::vector<uint64_t> &data, uint8_t strb = 0xFF);

    void drive(std::mt19937 &rng);
    void sample();

    bool idle() const {
        return reads_.empty() && writes_.empty() && asked_.empty() && data_.empty() && answers_ == 0;
    }

    /// Chance in percent that an address waits in a cycle.
    unsigned hesitation = 0;

    /// Bursts read so far, in order: address and words.
    std::deque<std::pair<uint32_t, std::vector<uint64_t>>> result;
    uint64_t readBursts = 0, writeBursts = 0;

  private:
    struct Write {
        uint32_t addr;
        std::vector<uint64_t> data;
        uint8_t strb;
    };
    struct Beat {
        uint64_t data;
        uint8_t strb;
        bool last;
    };
    static constexpr size_t MAX_OUTSTANDING = 8;

    TilePort port_{};
    std::deque<std::pair<uint32_t, unsigned>> reads_, asked_;
    std::deque<Write> writes_;
    std::deque<Beat> data_;
    unsigned answers_ = 0; ///< writes not answered yet
    bool arHeld_ = false, awHeld_ = false;
    std::vector<uint64_t> words_;
};

} // namespace uncorebench
