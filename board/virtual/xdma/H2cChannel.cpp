// SPDX-License-Identifier: BSD-3-Clause
#include "xdma/H2cChannel.h"

#include <algorithm>
#include <vector>

namespace assasin {

void H2cChannel::step(uint64_t now) {
    advance(now);
    if (!queue_.empty()) {
        const DmaDescriptor &d = queue_.front();
        if (d.len == 0) {
            if (!moving()) { // pulses come in order
                queue_.pop_front();
                pieceDone(true, 0, run());
            }
        } else {
            const uint64_t from = d.src + offset_;
            const uint64_t device = deviceAddress(d.dst);
            const uint32_t maximum = link_.params.maxReadRequest;
            const uint32_t size = std::min({d.len - offset_, uint32_t(maximum - from % maximum), pieceLimit(device)});
            if (inFlight_ + writer_.backlog() + size <= MAX_IN_FLIGHT) {
                const bool last = offset_ + size == d.len;
                const uint64_t arrival = link_.fromHost.charge(now + link_.params.readLatency, size);
                requests_.push_back({from, uint32_t(device), size, arrival, last, 0, run()});
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
        Piece piece = requests_.front();
        requests_.pop_front();
        inFlight_ -= piece.size;
        if (piece.run != run()) {
            return;
        }
        std::vector<uint8_t> data(piece.size);
        if (!host_.read(piece.host, data.data(), piece.size)) {
            piece.error = STATUS_READ_UR;
            notice(piece.error);
        }
        moved(piece.size);
        writer_.push(piece.device, data.data(), piece.size, tag_);
        writes_.push_back(piece);
    }
}

void H2cChannel::written(uint8_t resp) {
    Piece piece = writes_.front();
    writes_.pop_front();
    if (resp != AXI_OKAY) {
        piece.error |= resp == AXI_DECERR ? STATUS_WRITE_DECODE : STATUS_WRITE_SLAVE;
        notice(piece.error);
    }
    pieceDone(piece.last, piece.error, piece.run);
}

} // namespace assasin
