// SPDX-License-Identifier: BSD-3-Clause
#include "NandChannel.h"

#include <algorithm>

namespace assasin {

NandChannel::NandChannel(const NandSetup &setup, unsigned channel, unsigned ways, unsigned phyLatency)
    : setup_(setup), channel_(channel), ways_(ways), phyLatency_(phyLatency), wayMask_((1u << ways) - 1),
      ceN_(wayMask_), rbN_(wayMask_) {
    if (ways < 1 || ways > 16)
        throw std::runtime_error("ways is " + std::to_string(ways) + ", choose 1 to 16");
    if (phyLatency < 1 || phyLatency >= kLatencySlots)
        throw std::runtime_error("PHY latency is " + std::to_string(phyLatency) + " cycles, choose 1 to 15");
    for (unsigned way = 0; way < ways; way++)
        targets_.emplace_back(setup, channel, way);
}

NandTarget &NandChannel::selected(uint64_t now, const char *what) {
    uint32_t low = ~ceN_ & wayMask_;
    if (low == 0 || (low & (low - 1)))
        throw NandViolation("channel " + std::to_string(channel_), now, "chip enable",
                            std::string(what) + (low ? " with several chip enables low" : " with no chip enable low") +
                                " (ceN = " + std::to_string(ceN_) + ")");
    return targets_[static_cast<unsigned>(__builtin_ctz(low))];
}

void NandChannel::work(uint64_t now, PhyPort &port) {
    if (port.ceN != ceN_) {
        uint32_t changed = (port.ceN ^ ceN_) & wayMask_;
        for (unsigned way = 0; way < ways_; way++) {
            if (!(changed >> way & 1))
                continue;
            if (port.ceN >> way & 1)
                targets_[way].deselect(now);
            else
                targets_[way].select(now);
        }
        ceN_ = port.ceN;
    }
    if (port.wpN != wpN_) {
        wpN_ = port.wpN;
        for (NandTarget &target : targets_)
            target.writeProtect(!wpN_);
    }
    if (port.we) {
        NandTarget &target = selected(now, "command or address cycle");
        if (port.cle == port.ale)
            throw NandViolation("channel " + std::to_string(channel_), now, "latch",
                                "CLE and ALE are the same in a latch cycle");
        if (port.cle)
            target.command(now, static_cast<uint8_t>(port.dqOut));
        else
            target.address(now, static_cast<uint8_t>(port.dqOut));
        updateReady(now);
    }
    if (port.dqOutValid) {
        if (selected(now, "data in").dataIn(now, port.dqOut))
            updateReady(now);
    }
    if (port.re) {
        uint32_t data = selected(now, "data out").dataOut(now);
        beats_[(firstBeat_ + beatCount_++) % kLatencySlots] = {now + phyLatency_, data};
    }
    if (now >= rbEvent_)
        updateReady(now);
    if (beatCount_ && now >= beats_[firstBeat_].at) {
        port.dqInValid = true;
        port.dqIn = beats_[firstBeat_].data;
        firstBeat_ = (firstBeat_ + 1) % kLatencySlots;
        beatCount_--;
    }
    wake_ = beatCount_ ? std::min(rbEvent_, beats_[firstBeat_].at) : rbEvent_;
}

void NandChannel::updateReady(uint64_t now) {
    rbN_ = 0;
    rbEvent_ = kNoEvent;
    for (unsigned way = 0; way < ways_; way++) {
        targets_[way].advance(now);
        rbN_ |= targets_[way].ready(now) ? 1u << way : 0;
        rbEvent_ = std::min(rbEvent_, targets_[way].nextEvent(now));
    }
}

void NandChannel::hostReset() {
    ceN_ = wayMask_;
    beatCount_ = 0;
    wake_ = rbEvent_;
}

void NandChannel::powerOff(uint64_t now) {
    for (NandTarget &target : targets_)
        target.advance(now);
    targets_.clear(); // a new target cuts what the old one was doing
    for (unsigned way = 0; way < ways_; way++)
        targets_.emplace_back(setup_, channel_, way);
    ceN_ = rbN_ = wayMask_;
    beatCount_ = 0;
    wake_ = rbEvent_ = kNoEvent;
}

} // namespace assasin
