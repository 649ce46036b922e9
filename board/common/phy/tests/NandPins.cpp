// SPDX-License-Identifier: BSD-3-Clause
#include "NandPins.h"

#include <cmath>

namespace assasin {

namespace {

// ONFI 4.0, SDR mode 0 and NV-DDR2, nanoseconds
constexpr double kWpSdr = 50, kDsSdr = 40, kDhSdr = 20, kReaSdr = 40, kRpSdr = 50, kRhohSdr = 15;
constexpr double kWpDdr = 11, kCasDdr = 5, kCahDdr = 5;
constexpr double kWpre = 15, kRpre = 15, kDqsd = 18;
constexpr double kReleased = 30; // tCHZ

} // namespace

NandPins::NandPins(const NandSetup &setup, unsigned channel, unsigned ways)
    : model_(setup, channel, ways, 1), ns_(setup.timing.nsPerCycle()),
      byteSamples_(static_cast<unsigned>(samples(setup.part.nvddr2.beatPs / 1e3))), ways_(ways), state_(ways),
      noise_(channel + 1), before_{(1u << ways) - 1, false, false, true, true, true, false, false, 0, false} {
}

uint64_t NandPins::samples(double ns) const {
    return static_cast<uint64_t>(std::ceil(ns / ns_ - 1e-6));
}

void NandPins::violate(uint64_t now, const std::string &what) const {
    throw PinViolation("sample " + std::to_string(now) + ", way " + std::to_string(way_) + ": " + what);
}

NandPins::Package NandPins::step(uint64_t now, const Host &host) {
    PhyPort port;
    port.ceN = host.ceN;
    port.cle = host.cle;
    port.ale = host.ale;
    port.wpN = host.wpN;
    port.margin = 0; // what DQS_c does is seen here, at the pins
    if (host.dq != before_.dq || host.dqDriven != before_.dqDriven) {
        if (now < dqHeldUntil_)
            violate(now, "DQ changes before its hold time is over");
        dqChanged_ = now;
    }
    chipEnable(now, host);
    writeEnable(now, host, port);
    dataIn(now, host, port);
    dataOut(now, host, port);
    model_.cycle(now, port);
    if (port.dqInValid)
        bytes_.push_back(static_cast<uint8_t>(port.dqIn));
    Package package = drive(now, host);
    package.rbN = port.rbN;
    before_ = host;
    return package;
}

void NandPins::chipEnable(uint64_t now, const Host &host) {
    if (host.ceN == before_.ceN)
        return;
    const uint32_t low = ~host.ceN & ((1u << ways_) - 1);
    if (low & (low - 1))
        violate(now, "several chip enables are low");
    const uint32_t fell = before_.ceN & low;
    if (fell && way_ >= 0)
        violate(now, "a chip enable falls as another rises");
    if (!host.weN || !before_.weN)
        violate(now, "chip enable changes while WE is low");
    if (fell && (!host.re || !before_.re))
        violate(now, "chip enable falls while RE is low");
    if (way_ >= 0)
        state_[way_].ddr = state_[way_].ddrNext;
    if (fell == 0 && way_ >= 0 && (outBurst_ || driving_))
        releaseAt_ = now + samples(kReleased);
    if (fell == 0 && way_ >= 0 && inBurst_ && host.dqs)
        violate(now, "DQS is high at the end of data in");
    outBurst_ = inBurst_ = false;
    if (!edges_.empty() && fell == 0)
        violate(now, "chip enable rises before the last byte is out");
    way_ = low ? __builtin_ctz(low) : -1;
}

void NandPins::writeEnable(uint64_t now, const Host &host, PhyPort &port) {
    if (before_.weN && !host.weN)
        weFell_ = now;
    if (!(host.weN && !before_.weN))
        return;
    if (way_ < 0)
        violate(now, "WE rises with no chip enable low");
    const bool ddr = state_[way_].ddr;
    if (now - weFell_ < samples(ddr ? kWpDdr : kWpSdr))
        violate(now, "WE was low for " + std::to_string(now - weFell_) + " samples");
    if (!host.dqDriven)
        violate(now, "WE rises while DQ is not driven");
    if (now - dqChanged_ < samples(ddr ? kCasDdr : kDsSdr))
        violate(now, "DQ is set up " + std::to_string(now - dqChanged_) + " samples before WE rises");
    if (host.cle != before_.cle || host.ale != before_.ale)
        violate(now, "CLE or ALE changes as WE rises");
    dqHeldUntil_ = now + samples(ddr ? kCahDdr : kDhSdr);
    port.dqOut = host.dq;
    if (host.cle && host.ale)
        violate(now, "CLE and ALE are high");
    if (host.cle || host.ale) {
        port.we = true;
        latched(host.dq, host.cle);
        inBurst_ = outBurst_ = false;
        return;
    }
    if (ddr)
        violate(now, "WE rises without CLE and ALE in NV-DDR2");
    port.dqOutValid = true;
    latched(host.dq, false);
    featureByte(host.dq);
}

/** A byte of data in, of SET FEATURES perhaps: the first one counts. */
void NandPins::featureByte(uint8_t dq) {
    if (!feature_ || featureBytes_++ != 1)
        return;
    if (featureAddress_ == 0x01)
        state_[way_].ddrNext = (dq >> 4 & 3) == 2;
    else if (featureAddress_ == 0x02)
        state_[way_].complementary = dq & 2;
}

void NandPins::latched(uint8_t dq, bool command) {
    Way &way = state_[way_];
    if (!command) {
        if (feature_ && featureBytes_ == 0) {
            featureAddress_ = dq;
            featureBytes_ = 1;
        }
        return;
    }
    feature_ = dq == 0xEF;
    featureBytes_ = 0;
    way.twiceOut = dq == 0x90 || dq == 0xEE || dq == 0x70 || dq == 0x78;
    way.twiceIn = feature_;
    if (dq == 0xFF)
        way.ddrNext = way.complementary = false;
}

void NandPins::dataIn(uint64_t now, const Host &host, PhyPort &port) {
    if (host.dqsDriven && driving_)
        violate(now, "controller and package drive DQS");
    const bool listening = way_ >= 0 && state_[way_].ddr && !host.cle && !host.ale && host.weN;
    if (!inBurst_) {
        if (host.dqsDriven && !host.dqs && listening) {
            inBurst_ = true;
            inSecond_ = false;
            inStart_ = inEdge_ = now;
        }
        return;
    }
    if (!host.dqsDriven || !listening) {
        if (host.dqsDriven && before_.dqs)
            violate(now, "data in ends with DQS high");
        inBurst_ = false;
        return;
    }
    if (host.dqs == before_.dqs)
        return;
    if (inEdge_ == inStart_) {
        if (now - inStart_ < samples(kWpre))
            violate(now, "write preamble of " + std::to_string(now - inStart_) + " samples");
    } else if (now - inEdge_ < byteSamples_) {
        violate(now, "bytes in every " + std::to_string(now - inEdge_) + " samples");
    }
    if (!host.dqDriven || now - dqChanged_ < 1)
        violate(now, "DQ is not set up to an edge of DQS");
    dqHeldUntil_ = now + 1;
    inEdge_ = now;
    if (state_[way_].twiceIn && inSecond_) {
        if (host.dq != inByte_)
            violate(now, "the second of two equal bytes is another one");
        inSecond_ = false;
        return;
    }
    inSecond_ = true;
    inByte_ = host.dq;
    port.dqOutValid = true;
    port.dqOut = host.dq;
    featureByte(host.dq);
}

void NandPins::dataOut(uint64_t now, const Host &host, PhyPort &port) {
    if (host.re == before_.re)
        return;
    if (way_ < 0 || host.cle || host.ale) {
        if (outBurst_ && (host.cle || host.ale))
            releaseAt_ = now + samples(kReleased);
        outBurst_ = false;
        return;
    }
    if (!state_[way_].ddr) {
        if (!host.re) {
            port.re = true;
            outEdge_ = now;
            sdrFrom_ = now + samples(kReaSdr);
            sdrUntil_ = kNoEvent;
        } else {
            if (now - outEdge_ < samples(kRpSdr))
                violate(now, "RE was low for " + std::to_string(now - outEdge_) + " samples");
            sdrUntil_ = now + samples(kRhohSdr);
        }
        return;
    }
    if (!outBurst_) {
        if (host.re)
            violate(now, "RE rises with no burst begun");
        outBurst_ = true;
        outSecond_ = false;
        driver_ = way_;
        outStart_ = outEdge_ = now;
        edges_.push_back({now + samples(kDqsd), false});
        fresh_.push_back(false);
        return;
    }
    if (outEdge_ == outStart_) {
        if (now - outStart_ < samples(kRpre))
            violate(now, "read preamble of " + std::to_string(now - outStart_) + " samples");
    } else if (now - outEdge_ < byteSamples_) {
        violate(now, "RE toggles every " + std::to_string(now - outEdge_) + " samples");
    }
    outEdge_ = now;
    const bool repeats = state_[way_].twiceOut && outSecond_;
    outSecond_ = !outSecond_;
    port.re = !repeats;
    edges_.push_back({now + PHY_DQSRE, host.re});
    fresh_.push_back(!repeats);
}

NandPins::Package NandPins::drive(uint64_t now, const Host &host) {
    while (!edges_.empty() && now >= edges_.front().at) {
        driving_ = true;
        releaseAt_ = kNoEvent;
        level_ = edges_.front().dqs;
        if (fresh_.front()) {
            if (bytes_.empty())
                violate(now, "the model has no byte");
            byte_ = bytes_.front();
            bytes_.pop_front();
        }
        edges_.pop_front();
        fresh_.pop_front();
    }
    if (driving_ && now >= releaseAt_)
        driving_ = false;
    bool sdr = false;
    if (sdrFrom_ != 0 && now >= sdrFrom_) {
        if (!bytes_.empty()) {
            byte_ = bytes_.front();
            bytes_.pop_front();
        }
        sdr = now < sdrUntil_;
        if (!sdr)
            sdrFrom_ = 0;
    }
    Package package{};
    // Nobody drives: noise, which the PHY must not take for anything.
    package.dq = static_cast<uint8_t>(noise_());
    package.dqs = noise_() & 1;
    package.dqsN = noise_() & 1;
    if (host.dqDriven && (driving_ || sdr))
        violate(now, "controller and package drive DQ");
    if (host.dqDriven)
        package.dq = host.dq;
    if (driving_ || sdr)
        package.dq = byte_;
    if (host.dqsDriven) {
        package.dqs = host.dqs;
        package.dqsN = !host.dqs;
    }
    if (driving_) {
        package.dqs = level_;
        if (driver_ >= 0 && state_[driver_].complementary)
            package.dqsN = !level_;
    }
    return package;
}

} // namespace assasin
