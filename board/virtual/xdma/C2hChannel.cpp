// SPDX-License-Identifier: BSD-3-Clause
#include "xdma/C2hChannel.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace assasin {

void C2hChannel::drive(Axi4Wires &wires) const {
    wires.arValid = addressed_ < bursts_.size();
    if (wires.arValid) {
        const Burst &burst = bursts_[addressed_];
        wires.arId = 0;
        wires.arAddr = burst.addr;
        wires.arLen = uint8_t(burst.beats - 1);
    }
    wires.rReady = landing_ < MAX_LANDING;
}

void C2hChannel::plan() {
    const Descriptor &d = queue_.front();
    if (d.len == 0) {
        if (bursts_.empty() && landings_.empty()) { // pulses come in order
            queue_.pop_front();
            finish();
        }
        return;
    }
    const uint64_t host = d.dst + offset_;
    const uint32_t device = uint32_t(d.src + offset_);
    // one burst a payload-sized piece of host memory, cut at the chip's 4 KiB boundaries
    uint32_t size = std::min(d.len - offset_, uint32_t(pcie_.maxPayload - host % pcie_.maxPayload));
    size = std::min(size, 4096 - device % 4096);
    if (requested_ + size > MAX_REQUESTED) {
        return;
    }
    Burst burst;
    burst.host = host;
    burst.lead = device % 8;
    burst.addr = device - burst.lead;
    burst.size = size;
    burst.beats = (burst.lead + size + 7) / 8;
    burst.last = offset_ + size == d.len;
    requested_ += size;
    offset_ += size;
    if (burst.last) {
        offset_ = 0;
        queue_.pop_front();
    }
    bursts_.push_back(std::move(burst));
}

void C2hChannel::sample(const Axi4Wires &wires, uint64_t now) {
    while (!landings_.empty() && landings_.front().at <= now) {
        const Burst &burst = landings_.front().burst;
        host_.write(burst.host, reinterpret_cast<const uint8_t *>(burst.data.data()) + burst.lead, burst.size);
        bytes_ += burst.size;
        landing_ -= burst.size;
        const bool last = burst.last;
        landings_.pop_front();
        if (last) {
            finish();
        }
    }
    const bool addressTaken = wires.arValid && wires.arReady;
    if (wires.rValid && wires.rReady) {
        if (addressed_ == 0) {
            throw std::runtime_error("XDMA port: the chip sent read data nobody asked for");
        }
        Burst &burst = bursts_.front();
        burst.data.push_back(wires.rData);
        if (wires.rResp != AXI_OKAY) {
            halt(wires.rResp == AXI_DECERR ? STATUS_READ_DECODE : STATUS_READ_SLAVE);
        }
        const bool complete = burst.data.size() == burst.beats;
        if (wires.rLast != complete) {
            throw std::runtime_error("XDMA port: RLAST does not fit the burst length of its address");
        }
        if (complete) {
            requested_ -= burst.size;
            landing_ += burst.size;
            const uint64_t at = link_.charge(now, burst.size) + pcie_.writeLatency;
            landings_.push_back({std::move(burst), at});
            bursts_.pop_front();
            addressed_--;
        }
    }
    if (addressTaken) {
        addressed_++;
    }
    if (!queue_.empty()) {
        plan();
    }
}

} // namespace assasin
