// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace assasin {

/** Where a page is. `block` counts within the LUN, plane bits lowest. */
struct NandAddress {
    unsigned channel, way, lun, block, page;
};

/** Faults that a test brings in besides those of the part's reliability; this base class brings none. */
class NandFaults {
  public:
    virtual ~NandFaults() = default;

    /** \return true: the chip reports FAIL; the page keeps its old state, or is torn (Reliability::tearing) */
    virtual bool programFails(const NandAddress &) {
        return false;
    }

    /** \return true: the chip reports FAIL; the block keeps its contents, or is half erased */
    virtual bool eraseFails(const NandAddress &) {
        return false;
    }

    /** May change the bytes (main and spare area) that a read brings into the page register. */
    virtual void onRead(const NandAddress &, uint8_t * /*raw*/, unsigned /*bytes*/) {
    }

    /** Cycles added to the array time of the next operation of this way. */
    virtual uint64_t extraBusy(unsigned /*channel*/, unsigned /*way*/) {
        return 0;
    }
};

} // namespace assasin
