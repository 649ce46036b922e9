// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "PartFile.h"

namespace assasin {

/** A part's timing in clock cycles, rounded up. */
struct NandCycles {
    unsigned tWC, tCS, tWB, tRR, tRPRE, tPST, tWHR, tADL, tCCS;
    unsigned beat; ///< distance of data beats of the PHY
};

/** Turns a part's times into cycles of one clock. */
class NandTiming {
  public:
    /**
     * \param nsPerCycle clock period in nanoseconds
     * \param phyBytes   bytes of a data beat of the PHY: 1, 2 or 4
     */
    NandTiming(const PartFile &part, double nsPerCycle, unsigned phyBytes = 1);

    uint64_t cycles(uint64_t ns) const;
    NandCycles sdr(unsigned mode) const {
        return convert(PartFile::sdr(mode), 1);
    }
    NandCycles nvddr2() const {
        return convert(part_.nvddr2, phyBytes_);
    }
    double nsPerCycle() const {
        return nsPerCycle_;
    }
    unsigned phyBytes() const {
        return phyBytes_;
    }

  private:
    NandCycles convert(const NandBusTimes &times, unsigned beatBytes) const;

    PartFile part_;
    double nsPerCycle_;
    unsigned phyBytes_;
};

} // namespace assasin
