// SPDX-License-Identifier: BSD-3-Clause
#include "xdma/C2hChannel.h"

#include <algorithm>
#include <utility>

namespace assasin {

void C2hChannel::plan() {
    const DmaDescriptor &d = queue_.front();
    if (d.len == 0) {
        if (!moving()) { // pulses come in order
            queue_.pop_front();
            pieceDone(true, 0, run());
        }
        return;
    }
    const uint64_t host = d.dst + offset_;
    const uint64_t device = deviceAddress(d.src);
    // one burst a payload-sized piece of host memory, cut at the chip's 4 KiB boundaries
    const uint32_t payload = link_.params.maxPayload;
    const uint32_t size = std::min(
        {d.len - offset_, uint32_t(payload - host % payload), uint32_t(4096 - device % 4096), pieceLimit(device)});
    if (requested_ + size > MAX_REQUESTED || requested_ + landing_ + size > MAX_REQUESTED + MAX_LANDING) {
        return;
    }
    const uint32_t lead = uint32_t(device % 8);
    const bool last = offset_ + size == d.len;
    reader_.push(uint32_t(device) - lead, (lead + size + 7) / 8, tag_);
    reads_.push_back({host, lead, size, last, 0, run(), 0, {}});
    requested_ += size;
    offset_ += size;
    if (last) {
        offset_ = 0;
        queue_.pop_front();
    }
}

void C2hChannel::arrived(AxiReadMaster::Done &done, uint64_t now) {
    Piece piece = std::move(reads_.front());
    reads_.pop_front();
    requested_ -= piece.size;
    if (done.resp != AXI_OKAY) {
        piece.error = done.resp == AXI_DECERR ? STATUS_READ_DECODE : STATUS_READ_SLAVE;
        notice(piece.error);
    }
    piece.data = std::move(done.data);
    piece.at = link_.toHost.charge(now, piece.size) + link_.params.writeLatency;
    landing_ += piece.size;
    landings_.push_back(std::move(piece));
}

void C2hChannel::step(uint64_t now) {
    while (!landings_.empty() && landings_.front().at <= now) {
        const Piece piece = std::move(landings_.front());
        landings_.pop_front();
        landing_ -= piece.size;
        if (piece.run == run()) {
            host_.write(piece.host, reinterpret_cast<const uint8_t *>(piece.data.data()) + piece.lead, piece.size);
            moved(piece.size);
        }
        pieceDone(piece.last, piece.error, piece.run);
    }
    advance(now);
    if (!queue_.empty()) {
        plan();
    }
}

} // namespace assasin
