// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "sim/Axi.h"

namespace assasin {

/// The chip's AXI4 slave for the XDMA IP's list channels: a beat a cycle. What is no memory answers "decode error".
class AxiMemory {
  public:
    /// @param at the eight bytes at an address of the chip's map; nullptr: there is nothing
    explicit AxiMemory(std::function<uint8_t *(uint32_t address)> at) : at_(std::move(at)) {
    }

    void drive(Axi4Wires &wires) const;
    void sample(const Axi4Wires &wires);

  private:
    struct Burst {
        uint32_t address;
        uint32_t left; ///< beats
        uint8_t id;
        bool error = false;
    };
    std::function<uint8_t *(uint32_t)> at_;
    std::deque<Burst> reads_, writes_, written_;
};

} // namespace assasin
