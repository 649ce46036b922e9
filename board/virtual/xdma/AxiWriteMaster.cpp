// SPDX-License-Identifier: BSD-3-Clause
#include "xdma/AxiWriteMaster.h"

#include <algorithm>
#include <cstring>

namespace assasin {

namespace {

constexpr uint32_t BOUNDARY = 4096;
constexpr size_t MAX_ADDRESSED = 8; ///< addresses sent ahead of their data

} // namespace

void AxiWriteMaster::push(uint32_t addr, const uint8_t *data, size_t size, uint32_t tag) {
    backlog_ += size;
    while (size > 0) {
        const size_t n = std::min<size_t>(size, BOUNDARY - addr % BOUNDARY);
        const unsigned lead = addr % 8;
        const unsigned tail = unsigned((lead + n + 7) % 8) + 1; // valid bytes of the last beat, counted from its lane 0
        Burst burst;
        burst.addr = addr - lead;
        burst.firstStrb = uint8_t(0xFF << lead);
        burst.lastStrb = uint8_t(0xFF >> (8 - tail));
        burst.endOfRange = n == size;
        burst.tag = tag;
        const size_t beats = (lead + n + 7) / 8;
        burst.beats.assign(beats, 0);
        std::memcpy(reinterpret_cast<uint8_t *>(burst.beats.data()) + lead, data, n);
        // AXI4 carries at most 256 beats a burst
        while (burst.beats.size() > 256) {
            Burst head = burst;
            head.beats.resize(256);
            head.lastStrb = 0xFF;
            head.endOfRange = false;
            bursts_.push_back(head);
            burst.beats.erase(burst.beats.begin(), burst.beats.begin() + 256);
            burst.addr += 256 * 8;
            burst.firstStrb = 0xFF;
        }
        bursts_.push_back(std::move(burst));
        addr += uint32_t(n);
        data += n;
        size -= n;
    }
}

void AxiWriteMaster::drive(Axi4Wires &wires) {
    wires.awValid = addressed_ < bursts_.size() && addressed_ < MAX_ADDRESSED;
    if (wires.awValid) {
        const Burst &burst = bursts_[addressed_];
        wires.awId = 0;
        wires.awAddr = burst.addr;
        wires.awLen = uint8_t(burst.beats.size() - 1);
    }
    wires.wValid = addressed_ > 0 && wPauses_.over();
    if (wires.wValid) {
        const Burst &burst = bursts_.front();
        const bool last = beat_ + 1 == burst.beats.size();
        wires.wData = burst.beats[beat_];
        wires.wStrb = uint8_t((beat_ == 0 ? burst.firstStrb : 0xFF) & (last ? burst.lastStrb : 0xFF));
        wires.wLast = last;
    }
    wires.bReady = bPauses_.over();
}

bool AxiWriteMaster::sample(const Axi4Wires &wires, Done &done) {
    bool finished = false;
    // A wait runs from the address or the beat before: not while there is nothing to send.
    if (addressed_ > 0) {
        wPauses_.sample(wires.wValid && wires.wReady);
    }
    bPauses_.sample(wires.bValid && wires.bReady);
    if (wires.bValid && wires.bReady && !answers_.empty()) {
        worst_ = std::max(worst_, wires.bResp);
        if (answers_.front().endOfRange) {
            done = {worst_, answers_.front().tag};
            worst_ = AXI_OKAY;
            finished = true;
        }
        answers_.pop_front();
    }
    const bool addressTaken = wires.awValid && wires.awReady;
    if (wires.wValid && wires.wReady) {
        backlog_ -= size_t(__builtin_popcount(wires.wStrb));
        if (++beat_ == bursts_.front().beats.size()) {
            answers_.push_back({bursts_.front().endOfRange, bursts_.front().tag});
            bursts_.pop_front();
            addressed_--;
            beat_ = 0;
        }
    }
    if (addressTaken) {
        addressed_++;
    }
    return finished;
}

} // namespace assasin
