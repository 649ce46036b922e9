// SPDX-License-Identifier: BSD-3-Clause
#include "NandChannel.h"

#include <algorithm>

namespace assasin {

NandChannel::NandChannel(const NandSetup &setup, unsigned channel, unsigned ways, unsigned phyLatency)
    : setup_(setup), channel_(channel), ways_(ways), phyLatency_(phyLatency), wayMask_((1u << ways) - 1),
      ceN_(wayMask_), rbN_(wayMask_), noise_(channel + 1) {
    if (ways < 1 || ways > 16)
        throw std::runtime_error("ways is " + std::to_string(ways) + ", choose 1 to 16");
    if (phyLatency < 1 || phyLatency >= kLatencySlots)
        throw std::runtime_error("PHY latency is " + std::to_string(phyLatency) + " cycles, choose 1 to 15");
    for (unsigned way = 0; way < ways; way++)
        targets_.emplace_back(setup, channel, way);
    absent_.resize(ways);
}

unsigned NandChannel::selected(uint64_t now, const char *what) const {
    uint32_t low = ~ceN_ & wayMask_;
    if (low == 0 || (low & (low - 1)))
        throw NandViolation("channel " + std::to_string(channel_), now, "chip enable",
                            std::string(what) + (low ? " with several chip enables low" : " with no chip enable low") +
                                " (ceN = " + std::to_string(ceN_) + ")");
    return static_cast<unsigned>(__builtin_ctz(low));
}

bool NandChannel::dataIn(uint64_t now, uint32_t beat) {
    const unsigned way = selected(now, "data in");
    if (!absent(way))
        return targets_[way].dataIn(now, beat);
    absent_[way].dataIn(beat);
    return false;
}

void NandChannel::dataOut(uint64_t now, bool differential) {
    const unsigned way = selected(now, "data out");
    std::optional<uint32_t> beat = absent(way) ? absent_[way].dataOut() : targets_[way].dataOut(now);
    // Edges of DQS against a pin that nobody drives: the PHY takes bytes anywhere.
    if (differential && !absent(way) && targets_[way].singleEnded())
        beat = static_cast<uint32_t>(noise_());
    if (beat)
        beats_[(firstBeat_ + beatCount_++) % kLatencySlots] = {now + phyLatency_, *beat};
}

void NandChannel::work(uint64_t now, PhyPort &port) {
    if (port.ceN != ceN_) {
        uint32_t changed = (port.ceN ^ ceN_) & wayMask_;
        for (unsigned way = 0; way < ways_; way++) {
            if (!(changed >> way & 1))
                continue;
            if (absent(way))
                absent_[way].select();
            else if (port.ceN >> way & 1)
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
        const unsigned way = selected(now, "command or address cycle");
        if (port.cle == port.ale)
            throw NandViolation("channel " + std::to_string(channel_), now, "latch",
                                "CLE and ALE are the same in a latch cycle");
        const uint8_t byte = static_cast<uint8_t>(port.dqOut);
        if (absent(way) && port.cle)
            absent_[way].command(byte);
        else if (absent(way))
            absent_[way].address(byte);
        else if (port.cle)
            targets_[way].command(now, byte);
        else
            targets_[way].address(now, byte);
        updateReady(now);
    }
    if (port.dqOutValid) {
        if (dataIn(now, port.dqOut))
            updateReady(now);
    }
    if (port.re)
        dataOut(now, port.margin & PhyPort::kDifferential);
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
