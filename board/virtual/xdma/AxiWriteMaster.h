// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/Axi.h"
#include "xdma/HostPauses.h"

namespace assasin {

/// Turns byte ranges into AXI4 write bursts: 64-bit beats, aligned addresses, strobes on the first and last beat, no
/// burst across a 4 KiB boundary. Drives AW, W and B of the wires.
class AxiWriteMaster {
  public:
    /// What became of one pushed range.
    struct Done {
        uint8_t resp; ///< worst response of its bursts
        uint32_t tag; ///< as pushed: whose it is
    };

    /// Queues `size` (at least 1) bytes for device address `addr`.
    void push(uint32_t addr, const uint8_t *data, size_t size, uint32_t tag);

    void drive(Axi4Wires &wires);

    /// Takes the transfers of a cycle. Returns true and fills `done` when a range has been answered.
    bool sample(const Axi4Wires &wires, Done &done);

    /// The host waits at random from now on before it gives data and before it takes responses.
    void pause(uint64_t seed) {
        wPauses_.begin(seed);
        bPauses_.begin(seed + 1);
    }

    bool idle() const {
        return bursts_.empty() && answers_.empty();
    }

    /// Bytes not yet sent.
    size_t backlog() const {
        return backlog_;
    }

  private:
    struct Burst {
        uint32_t addr;
        uint8_t firstStrb;
        uint8_t lastStrb;
        bool endOfRange;
        uint32_t tag;
        std::vector<uint64_t> beats;
    };
    struct Answer {
        bool endOfRange;
        uint32_t tag;
    };

    std::deque<Burst> bursts_;
    size_t addressed_ = 0; ///< bursts at the front of bursts_ whose address has been taken
    size_t beat_ = 0;      ///< next beat of bursts_.front()
    std::deque<Answer> answers_;
    uint8_t worst_ = AXI_OKAY;
    size_t backlog_ = 0;
    HostPauses wPauses_;
    HostPauses bPauses_;
};

} // namespace assasin
