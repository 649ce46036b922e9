// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "NandCells.h"
#include "NandTiming.h"
#include "NandViolation.h"
#include "PartFile.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace assasin {

constexpr uint64_t kNoEvent = std::numeric_limits<uint64_t>::max();

/** Array operations completed; one a page, and for erases one a block, of a multi-plane operation. */
struct NandCounts {
    uint64_t reads = 0, programs = 0, erases = 0;
    uint64_t statuses = 0, busyStatuses = 0; ///< status bytes read, and those of them that said busy
};

/** What all targets of a board share. */
struct NandSetup {
    const PartFile &part;
    const NandTiming &timing;
    NandCells &cells;
};

/** One chip enable: ONFI command decoder, its LUNs, array times, and the rules a host must keep. Cycles are the SoC's
 * clock. */
class NandTarget {
  public:
    NandTarget(const NandSetup &setup, unsigned channel, unsigned way);

    /** Chip enable goes low or high. */
    void select(uint64_t now);
    void deselect(uint64_t now);

    /** Beats of the bus while this target is selected. \throws NandViolation */
    void command(uint64_t now, uint8_t byte);
    void address(uint64_t now, uint8_t byte);
    /** \return true: this beat made the target busy */
    bool dataIn(uint64_t now, uint32_t beat);
    uint32_t dataOut(uint64_t now);

    void writeProtect(bool active) {
        writeProtected_ = active;
    }

    /** Ends every array operation that is over at `now`. Called at least at every nextEvent(). */
    void advance(uint64_t now);

    /** R/B pin: 1 = ready. */
    bool ready(uint64_t now) const;

    /** Cycle of the next change of R/B after `now`, or kNoEvent. */
    uint64_t nextEvent(uint64_t now) const;

    /** In NV-DDR2, and DQS_c is not driven: the part has none, or feature 02h has not turned it on. */
    bool singleEnded() const {
        return !sdr_ && !(setup_.part.differential && (features_[kConfiguration * 4] & kComplementaryDqs));
    }

    /** Since power-on. */
    const NandCounts &counts() const {
        return counts_;
    }

  private:
    static constexpr unsigned kConfiguration = 0x02; // feature address of the NV-DDR2 configuration, and bits of its P1
    static constexpr uint8_t kExternalVref = 1, kComplementaryDqs = 2;

    enum class Output { None, Data, Status, Id, Parameter, Feature };
    /** CacheRead and CacheProgram: the array works on while R/B is high, see `behind`. */
    enum class Array { None, Read, Program, Erase, CacheRead, CacheReadEnd, CacheProgram, Other };

    /** What the array does behind the page register after a cache command. */
    struct Behind {
        Array operation = Array::None; // Read or Program
        uint64_t end = 0;
        std::vector<uint32_t> rows; // one of a read
        std::vector<uint8_t> next;  // what the read brought, empty before
    };

    struct Lun {
        Behind behind;
        int readRow = -1;   // page that the array has read last, of which the one behind may be read next
        bool begun = false; // `operation` has been given to the cells
        Array operation = Array::None;
        uint64_t lowAt = 0;                          // R/B goes low: the latest the part may take
        uint64_t readyAt = 0;                        // and high again
        std::vector<uint32_t> rows;                  // of the operation under way, one a plane
        std::vector<uint32_t> queued;                // rows given by 32h, 11h, D1h, waiting for the confirming command
        std::vector<std::vector<uint8_t>> registers; // page register of every plane, empty until used
        bool morePlanes = false;                     // the last of them asked for another plane
        unsigned fail = 0;                           // planes, bit mask
        unsigned failBefore = 0;                     // FAILC
    };

    [[noreturn]] void violate(uint64_t now, const std::string &rule, const std::string &detail) const;
    void require(uint64_t now, const char *rule, uint64_t from, uint64_t cycles, const std::string &what) const;
    std::string place() const;
    const char *commandName() const;

    void latch(uint64_t now);
    void addressDone(uint64_t now);
    uint32_t rowOfAddress(unsigned first) const;
    unsigned columnOfAddress() const {
        return address_[0] | address_[1] << 8;
    }
    void checkRow(uint64_t now, uint32_t row);
    unsigned pageOf(uint32_t row) const {
        return row & (setup_.part.geometry.pagesPerBlock - 1);
    }
    unsigned blockOf(uint32_t row) const;
    unsigned planeOf(uint32_t row) const {
        return blockOf(row) & (setup_.part.geometry.planes - 1);
    }
    NandAddress addressOf(unsigned lun, uint32_t row) const {
        return {channel_, way_, lun, blockOf(row), pageOf(row)};
    }
    std::vector<uint8_t> &pageRegister(Lun &lun, unsigned plane);
    void needReady(uint64_t now, const char *what) const;
    void needAllReady(uint64_t now) const;
    void needOutput(uint64_t now) const;
    void clearRegisters(uint64_t now);
    void needAddress(uint64_t now, uint8_t confirm, uint8_t setup) const;
    void addPlaneRow(uint64_t now, Lun &lun, uint32_t row, bool more);
    void checkProgram(uint64_t now, uint32_t row) const;
    void start(uint64_t now, Lun &lun, Array operation, uint64_t ns);
    void startCacheRead(uint64_t now, Lun &lun, bool addressed);
    void beginArray(Lun &lun, unsigned index, Array operation);
    /** \return planes that failed, bit mask */
    unsigned endArray(unsigned index, Array operation, const std::vector<uint32_t> &rows);
    void endBehind(Lun &lun, unsigned index);
    void startTarget(uint64_t now, uint64_t ns);
    void finish(Lun &lun, unsigned index);
    void reset(uint64_t now);
    void applyFeature(uint64_t now);
    uint8_t statusByte(uint64_t now) const;
    bool working(const Lun &lun, uint64_t now) const {
        return lun.behind.operation != Array::None && now < lun.behind.end;
    }
    bool busy(const Lun &lun, uint64_t now) const {
        return lun.operation != Array::None && now < lun.readyAt;
    }

    NandSetup setup_;
    NandCounts counts_;
    unsigned channel_, way_;
    std::vector<Lun> luns_;
    NandCycles times_; // of the data interface in use
    bool sdr_ = true;
    bool wasReset_ = false;
    bool writeProtected_ = false;
    uint64_t busyTail_ = 0; // last readyAt of any LUN

    // Decoder
    static constexpr int kNone = -1;
    int setupCommand_ = kNone; // command that collects address or data
    uint8_t lastCommand_ = 0;
    unsigned addressCount_ = 0, addressNeed_ = 0;
    uint8_t address_[5] = {};
    unsigned lun_ = 0; // addressed last: drives data and status
    // With several LUNs: who else may drive the bus, whose the column address is, who is being given a page.
    unsigned driving_ = 0; // bit mask
    unsigned columnLun_ = 0;
    int programLun_ = kNone; // from 80h to 10h or 15h
    uint32_t row_ = 0;
    unsigned column_ = 0;
    unsigned plane_ = 0;   // plane whose register drives data out
    bool writing_ = false; // data in goes to the page register
    Output output_ = Output::None;
    Output beforeStatus_ = Output::None;
    unsigned statusPlanes_ = 0; // whose status is driven out, bit mask: 70h asks for all, 78h for that of its row
    unsigned outPosition_ = 0;
    uint8_t idAddress_ = 0;
    uint8_t featureAddress_ = 0;
    uint8_t featureIn_[4] = {};
    unsigned featureCount_ = 0;
    bool featurePending_ = false;
    std::vector<uint8_t> features_; // four bytes a feature address
    std::vector<uint8_t> parameters_;

    // Bus timing
    uint64_t selectedAt_ = 0;
    uint64_t latchedAt_ = 0;
    uint64_t dataAt_ = 0;
    bool afterLatch_ = false;   // a latch since the last data beat
    bool afterSelect_ = false;  // no data beat since chip enable went low
    bool dataPhase_ = false;    // the last beat was data
    bool columnChange_ = false; // 05h-E0h, 06h-E0h or 85h: tCCS before data
};

} // namespace assasin
