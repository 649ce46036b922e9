// SPDX-License-Identifier: BSD-3-Clause
#include "xdma/H2cChannel.h"

#include <algorithm>
#include <vector>

namespace assasin {

void H2cChannel::step(uint64_t now) {
    if (!queue_.empty()) {
        const Descriptor &d = queue_.front();
        if (d.len == 0) {
            if (requests_.empty() && writer_.idle()) { // pulses come in order
                queue_.pop_front();
                finish();
            }
        } else {
            const uint64_t from = d.src + offset_;
            const uint32_t size =
                uint32_t(std::min<uint64_t>(d.len - offset_, pcie_.maxReadRequest - from % pcie_.maxReadRequest));
            if (inFlight_ + writer_.backlog() + size <= MAX_IN_FLIGHT) {
                const bool last = offset_ + size == d.len;
                requests_.push_back(
                    {from, uint32_t(d.dst + offset_), size, link_.charge(now + pcie_.readLatency, size), last});
                inFlight_ += size;
                offset_ += size;
                if (last) {
                    offset_ = 0;
                    queue_.pop_front();
                }
            }
        }
    }
    if (!requests_.empty() && requests_.front().arrival <= now) {
        const Request r = requests_.front();
        requests_.pop_front();
        inFlight_ -= r.size;
        std::vector<uint8_t> data(r.size);
        if (!host_.read(r.host, data.data(), r.size)) {
            halt(STATUS_READ_UR);
        }
        bytes_ += r.size;
        writer_.push(r.device, data.data(), r.size, r.last);
    }
}

void H2cChannel::written(const AxiWriteMaster::Done &done) {
    if (done.resp != AXI_OKAY) {
        halt(done.resp == AXI_DECERR ? STATUS_WRITE_DECODE : STATUS_WRITE_SLAVE);
    }
    if (done.tag != 0) {
        finish();
    }
}

} // namespace assasin
