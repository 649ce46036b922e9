// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "AbsentTarget.h"
#include "NandTarget.h"

#include <cstdint>
#include <random>
#include <vector>

namespace assasin {

/** The ports of FlashPhyIO. */
struct PhyPort {
    // driven by the channel
    uint32_t ceN = ~0u;
    uint32_t dqOut = 0;
    bool cle = false, ale = false;
    bool we = false;
    bool dqOutValid = false;
    bool re = false;
    bool wpN = true;
    // driven by the PHY and the packages
    bool dqInValid = false;
    uint32_t dqIn = 0;
    uint32_t rbN = ~0u;
    /** FLASH.PHY_MARGIN. The PHY keeps the part's figures exactly, and receives DQS differentially, as those of boards
     * do. */
    uint32_t margin = kDifferential;

    static constexpr uint32_t kDifferential = 1u << 31; ///< FLASH.PHY_MARGIN.DIFFERENTIAL
};

/** All packages behind one channel, and the PHY's latency. */
class NandChannel {
  public:
    /**
     * \param ways       chip enables, 1..16
     * \param phyLatency cycles from `re` to its beat, 1..15
     */
    NandChannel(const NandSetup &setup, unsigned channel, unsigned ways, unsigned phyLatency = 4);

    /**
     * One clock cycle, after its rising edge: looks at the channel's outputs and sets its inputs for the next edge.
     * `now` may jump over cycles in which the clock stood still, but not past nextEvent(). \throws NandViolation
     */
    void cycle(uint64_t now, PhyPort &port) {
        port.dqInValid = false;
        if (__builtin_expect(
                (port.we | port.re | port.dqOutValid | (port.ceN != ceN_) | (port.wpN != wpN_)) || now >= wake_, 0))
            work(now, port);
        port.rbN = rbN_;
    }

    /** Cycle of the next change of any R/B or of the next data beat, kNoEvent when nothing runs. */
    uint64_t nextEvent() const {
        return wake_;
    }

    /** Adds what all packages have done since power-on. */
    void addCounts(NandCounts &sum) const {
        for (const NandTarget &target : targets_) {
            sum.reads += target.counts().reads;
            sum.programs += target.counts().programs;
            sum.erases += target.counts().erases;
            sum.statuses += target.counts().statuses;
            sum.busyStatuses += target.counts().busyStatuses;
        }
    }

    /**
     * The SoC is being reset: its outputs drop to idle wherever they were, which no timing rule judges. Call it before
     * the first cycle() that shows the reset outputs. Array operations go on.
     */
    void hostReset();

    /** Power fails, and comes back: running programs and erases end as NandCells::cut() says. */
    void powerOff(uint64_t now);

  private:
    void work(uint64_t now, PhyPort &port);
    void updateReady(uint64_t now);
    unsigned selected(uint64_t now, const char *what) const;
    bool absent(unsigned way) const {
        return setup_.cells.absent(channel_, way);
    }
    bool dataIn(uint64_t now, uint32_t beat);
    void dataOut(uint64_t now, bool differential);

    static constexpr unsigned kLatencySlots = 16;

    NandSetup setup_;
    unsigned channel_, ways_, phyLatency_;
    uint32_t wayMask_;
    uint32_t ceN_;
    bool wpN_ = true;
    uint32_t rbN_;
    uint64_t wake_ = kNoEvent;
    uint64_t rbEvent_ = kNoEvent;
    std::vector<NandTarget> targets_;
    std::mt19937 noise_;
    std::vector<AbsentTarget> absent_; // in place of those of `targets_` that are not there
    // Data-out beats on their way through the PHY.
    struct Beat {
        uint64_t at;
        uint32_t data;
    };
    Beat beats_[kLatencySlots];
    unsigned firstBeat_ = 0, beatCount_ = 0;
};

} // namespace assasin
