// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "sim/Axi.h"

namespace assasin {

/// Timing of the DRAM behind one AXI4 port, from the profile.
struct DramParams {
    uint64_t size = uint64_t(2) << 30; ///< bytes, a power of two
    uint32_t readLatency = 60;         ///< cycles from the address to the first data beat
    uint32_t writeLatency = 20;        ///< cycles from the last data beat to the response
    double bytesPerCycle = 8.0;        ///< of reads and writes together
};

/// DRAM: memory behind an AXI4 slave. Reads are answered in order and writes are answered in order, whatever their ids;
/// both share the bandwidth. INCR bursts of full-width beats. An address past the end, or a burst that does not fit its
/// address, throws std::runtime_error: the chip never means it.
class Dram {
  public:
    explicit Dram(const DramParams &params);
    ~Dram();
    Dram(const Dram &) = delete;
    Dram &operator=(const Dram &) = delete;

    /// Drives the slave's half of the wires for cycle `now`.
    void drive(Axi4Wires &wires, uint64_t now);

    /// Takes the transfers of cycle `now`.
    void sample(const Axi4Wires &wires, uint64_t now);

    /// Nothing asked for is outstanding.
    bool idle() const {
        return reads_.empty() && writes_.empty() && responses_.empty();
    }

    /// The contents, for tests and tools.
    uint8_t *data() {
        return memory_;
    }

    uint64_t bytesRead() const {
        return bytesRead_;
    }
    uint64_t bytesWritten() const {
        return bytesWritten_;
    }

  private:
    uint8_t *at(uint32_t addr);

    static constexpr size_t MAX_OUTSTANDING = 64;

    struct Burst {
        uint32_t addr; ///< of the next beat
        uint16_t left; ///< beats left
        uint8_t id;
        uint64_t readyAt; ///< cycle of the first beat at the earliest (reads)
    };
    struct Response {
        uint8_t id;
        uint64_t readyAt;
    };

    const DramParams params_;
    uint8_t *memory_;
    std::deque<Burst> reads_;
    std::deque<Burst> writes_;
    std::deque<Response> responses_;
    BandwidthMeter meter_;
    bool readOffered_ = false; ///< a beat is on the R wires and must stay
    uint64_t bytesRead_ = 0;
    uint64_t bytesWritten_ = 0;
};

} // namespace assasin
