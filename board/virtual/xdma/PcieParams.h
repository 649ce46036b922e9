// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "sim/Axi.h"

namespace assasin {

/// Timing of the PCIe link as the DMA engine sees it, from the profile.
struct PcieParams {
    double bytesPerCycle = 8.0;    ///< payload, each direction
    uint32_t readLatency = 500;    ///< cycles from a read request to its first data
    uint32_t writeLatency = 250;   ///< cycles from the link to host memory
    uint32_t maxReadRequest = 512; ///< bytes, a power of two
    uint32_t maxPayload = 256;     ///< bytes, a power of two
};

/// The link's two directions, which all channels share.
struct PcieLink {
    explicit PcieLink(const PcieParams &params)
        : params(params), fromHost(params.bytesPerCycle), toHost(params.bytesPerCycle) {
    }

    const PcieParams params;
    BandwidthMeter fromHost;
    BandwidthMeter toHost;
};

} // namespace assasin
