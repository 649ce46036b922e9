// SPDX-License-Identifier: BSD-3-Clause
#include "xdma/AxiReadMaster.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace assasin {

void AxiReadMaster::drive(Axi4Wires &wires) const {
    wires.arValid = addressed_ < bursts_.size();
    if (wires.arValid) {
        const Burst &burst = bursts_[addressed_];
        wires.arId = 0;
        wires.arAddr = burst.addr;
        wires.arLen = uint8_t(burst.beats - 1);
    }
    wires.rReady = rPauses_.over();
}

bool AxiReadMaster::sample(const Axi4Wires &wires, Done &done) {
    const bool addressTaken = wires.arValid && wires.arReady;
    bool finished = false;
    rPauses_.sample(wires.rValid && wires.rReady);
    if (wires.rValid && wires.rReady) {
        if (addressed_ == 0) {
            throw std::runtime_error("XDMA port: the chip sent read data nobody asked for");
        }
        Burst &burst = bursts_.front();
        burst.done.data.push_back(wires.rData);
        burst.done.resp = std::max(burst.done.resp, wires.rResp);
        finished = burst.done.data.size() == burst.beats;
        if (wires.rLast != finished) {
            throw std::runtime_error("XDMA port: RLAST does not fit the burst length of its address");
        }
        if (finished) {
            done = std::move(burst.done);
            bursts_.pop_front();
            addressed_--;
        }
    }
    if (addressTaken) {
        addressed_++;
    }
    return finished;
}

} // namespace assasin
