// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace assasin {

/// The wires of one AXI4 port with 64-bit data. A model drives its own half before a clock edge and looks at both
/// halves (a transfer happens where valid and ready are both set) at the edge.
struct Axi4Wires {
    // master to slave
    bool awValid = false;
    uint8_t awId = 0;
    uint32_t awAddr = 0;
    uint8_t awLen = 0; ///< beats - 1
    bool wValid = false;
    uint64_t wData = 0;
    uint8_t wStrb = 0;
    bool wLast = false;
    bool bReady = false;
    bool arValid = false;
    uint8_t arId = 0;
    uint32_t arAddr = 0;
    uint8_t arLen = 0; ///< beats - 1
    bool rReady = false;
    // slave to master
    bool awReady = false;
    bool wReady = false;
    bool bValid = false;
    uint8_t bId = 0;
    uint8_t bResp = 0;
    bool arReady = false;
    bool rValid = false;
    uint8_t rId = 0;
    uint64_t rData = 0;
    uint8_t rResp = 0;
    bool rLast = false;
};

/// The wires of one AXI4-Lite port with 32-bit data.
struct AxiLiteWires {
    // master to slave
    bool awValid = false;
    uint32_t awAddr = 0;
    bool wValid = false;
    uint32_t wData = 0;
    uint8_t wStrb = 0;
    bool bReady = false;
    bool arValid = false;
    uint32_t arAddr = 0;
    bool rReady = false;
    // slave to master
    bool awReady = false;
    bool wReady = false;
    bool bValid = false;
    uint8_t bResp = 0;
    bool arReady = false;
    bool rValid = false;
    uint32_t rData = 0;
    uint8_t rResp = 0;
};

/// AXI response codes.
enum AxiResp : uint8_t { AXI_OKAY = 0, AXI_SLVERR = 2, AXI_DECERR = 3 };

/// Shares a bandwidth of `bytesPerCycle` among transfers, exact to 2^-20 cycle.
class BandwidthMeter {
  public:
    explicit BandwidthMeter(double bytesPerCycle)
        : costPerByte_(static_cast<uint64_t>(1024.0 * 1024.0 / bytesPerCycle + 0.5)) {
    }

    /// True when the previous transfers are over by cycle `now`.
    bool free(uint64_t now) const {
        return busyUntil_ <= (now << 20);
    }

    /// Charges `bytes` for cycle `from` or later; returns the cycle in which the last of them has passed. A meter that
    /// became free within the cycle before goes on from there, so that transfers in whole cycles still average to the
    /// bandwidth.
    uint64_t charge(uint64_t from, uint64_t bytes) {
        const uint64_t start = from == 0 ? 0 : ((from - 1) << 20) + 1;
        if (busyUntil_ < start) {
            busyUntil_ = start;
        }
        busyUntil_ += bytes * costPerByte_;
        return (busyUntil_ + ((1u << 20) - 1)) >> 20;
    }

  private:
    uint64_t costPerByte_;   ///< 2^-20 cycles
    uint64_t busyUntil_ = 0; ///< 2^-20 cycles
};

} // namespace assasin
