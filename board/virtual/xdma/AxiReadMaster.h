// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/Axi.h"
#include "xdma/HostPauses.h"

namespace assasin {

/// Shares the read half of an AXI4 port among channels: bursts in the order pushed, data always taken, unless
/// the host makes pauses. Drives AR and R
/// of the wires.
class AxiReadMaster {
  public:
    /// A burst that has been answered.
    struct Done {
        uint32_t tag; ///< as pushed
        uint8_t resp; ///< worst response of its beats
        std::vector<uint64_t> data;
    };

    /// Asks for `beats` (1 to 256) 64-bit words at `addr`, which is aligned to 8; they lie in one 4 KiB page.
    void push(uint32_t addr, uint32_t beats, uint32_t tag) {
        bursts_.push_back({addr, beats, {tag, AXI_OKAY, {}}});
    }

    void drive(Axi4Wires &wires) const;

    /// Takes the transfers of a cycle. Returns true and fills `done` when a burst is complete. Throws
    /// std::runtime_error when the chip answers what was not asked.
    bool sample(const Axi4Wires &wires, Done &done);

    /// The host waits at random from now on before it takes data.
    void pause(uint64_t seed) {
        rPauses_.begin(seed);
    }

    bool idle() const {
        return bursts_.empty();
    }

  private:
    struct Burst {
        uint32_t addr;
        uint32_t beats;
        Done done;
    };

    std::deque<Burst> bursts_;
    size_t addressed_ = 0; ///< bursts at the front whose address has been taken
    HostPauses rPauses_;
};

} // namespace assasin
