#pragma once

#include <cstdint>

namespace assasin {

/** Where a page is. `block` counts within the LUN, plane bits lowest. */
struct NandAddress {
    unsigned channel, way, lun, block, page;
};

/** Faults a test or an ageing model can bring in; this base class brings none. */
class NandFaults {
  public:
    virtual ~NandFaults() = default;

    /** \return true: the chip reports FAIL and the page keeps its old state */
    virtual bool programFails(const NandAddress &) {
        return false;
    }

    /** \return true: the chip reports FAIL and the block keeps its contents */
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
