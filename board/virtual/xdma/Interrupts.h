// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

#include "pciproxy/PciFunction.h"

namespace assasin {

/// The IP's interrupt block (0x2000): 16 user interrupts and the DMA channels' own, each with an enable and an MSI-X
/// vector number.
class XdmaInterrupts {
  public:
    static constexpr unsigned USER_INTERRUPTS = 16;
    static constexpr unsigned CHANNELS = 4; ///< engines: H2C 0 and 1, then C2H 0 and 1

    explicit XdmaInterrupts(PciFunction &function) : function_(function) {
    }

    uint32_t read(uint32_t offset) const;
    void write(uint32_t offset, uint32_t value);

    /// The function was reset: the channels' enables and vectors are 0. Those of the user interrupts are the chip's to
    /// set and stay.
    void reset();

    /// The acknowledge bits of this cycle.
    uint16_t ack() const {
        return ack_;
    }

    /// Takes the channels' interrupt lines (bit i: engine i), in every cycle and after register accesses: with INTx a
    /// host that has masked or cleared the cause finds the line low.
    void sampleChannels(uint32_t channelRequest);

    /// Takes this cycle's user requests.
    ///
    /// With MSI-X a request that rises while enabled sends one message and is acknowledged in the next cycle. With INTx
    /// the line follows the requests; a bit is acknowledged after it rose and again after it fell. A request that is
    /// not enabled waits.
    void sample(uint16_t userRequest);

    /// No acknowledge is on its way, and the request lines have been looked at since the latest one.
    bool idle() const {
        return ack_ == 0 && !acked_;
    }

  private:
    static uint32_t vectorOf(const std::array<uint32_t, 4> &map, unsigned i) {
        return map[i / 4] >> (8 * (i % 4)) & 0x1F;
    }

    PciFunction &function_;
    uint32_t userEnable_ = 0;
    uint32_t channelEnable_ = 0;
    std::array<uint32_t, 4> userVector_{};
    std::array<uint32_t, 4> channelVector_{};
    uint16_t userRequest_ = 0;    ///< as last seen
    uint16_t taken_ = 0;          ///< requests already signalled
    uint32_t channelRequest_ = 0; ///< as last seen
    uint32_t channelTaken_ = 0;
    uint16_t ack_ = 0;
    bool acked_ = false; ///< an acknowledge was given in the latest cycle
};

} // namespace assasin
