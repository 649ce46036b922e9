// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "NandFaults.h"
#include "NandImage.h"
#include "PartFile.h"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace assasin {

/** What a loss of power, or a RESET, makes of a program or an erase that is under way. */
enum class NandCut {
    NotBegun,
    Done,
    Weak,    ///< looks done; a program's page goes bad soon, an erased block holds badly what is programmed next
    Blank,   ///< program: reads nearly like an erased page. Erase: as Half
    Half,    ///< program: only some of the bits are programmed. Erase: only some of them are erased
    Columns, ///< program: some columns of the page are whole, the others are not programmed. Erase: as Half
};

/** What went wrong since the object was made. */
struct NandDamage {
    uint64_t bitErrors = 0;       ///< raw bit errors that reads brought
    uint64_t programFailures = 0; ///< programs that reported FAIL
    uint64_t eraseFailures = 0;
    uint64_t cut = 0; ///< operations that were under way when power was lost or a RESET came
};

/**
 * The physics of a board's packages, between whatever decodes their commands and their contents (NandImage): bit
 * errors, blocks and dies that fail, and what operations leave that are cut short. Its figures are the part's
 * PartFile::reliability. Operations are given at their beginning and their end; in between a loss of power finds them,
 * also one that kills the process: who opens the image next gives them the end that power loss would have.
 */
class NandCells {
  public:
    /** `faults`: failures that a test brings in. What was under way when the image's last user died is cut. */
    NandCells(NandImage &image, const PartFile &part, NandFaults &faults);

    /**
     * Reads a page, main and spare area, with the bit errors of the moment.
     * \param retryLevel read level that the host has chosen, 0 the part's own
     * \return how many of them there are: 0 says that `raw` is what the image holds
     */
    uint64_t read(const NandAddress &at, uint8_t *raw, unsigned retryLevel = 0);

    /** Why a page cannot be programmed. */
    enum class Obstacle {
        None,
        Order,      ///< it is erased and lies behind one that is programmed
        Programmed, ///< it is programmed
        Damaged,    ///< an operation on it was cut short or failed: parts take the program, and do not hold it well
    };
    Obstacle obstacle(const NandAddress &at) const;

    /**
     * A program begins with the whole page, `rawPageBytes()`; several pages of one die, of different planes, may be
     * under way together. endProgram() ends one. \return false: the part reports FAIL
     */
    void beginProgram(const NandAddress &at, const uint8_t *raw);
    bool endProgram(const NandAddress &at);
    bool program(const NandAddress &at, const uint8_t *raw) {
        beginProgram(at, raw);
        return endProgram(at);
    }

    /** Likewise erases; `at.page` counts for nothing. */
    void beginErase(const NandAddress &at);
    bool endErase(const NandAddress &at);
    bool erase(const NandAddress &at) {
        beginErase(at);
        return endErase(at);
    }

    /** A RESET, or loss of power: what the die is working on ends as NandCut says. */
    void cut(unsigned channel, unsigned way, unsigned lun);
    /** Power is lost everywhere. */
    void cutAll();
    /** Operations cut end like this instead of by chance. */
    std::optional<NandCut> cutAs;
    /** What cut() did, a line an operation; the caller may empty it. */
    std::vector<std::string> cuts;

    /** The die has died: how it answers from now on. */
    std::optional<DeadDie> dead(unsigned channel, unsigned way, unsigned lun) const {
        const Reliability &r = reliability_;
        if (!r.dieDies || channel != r.deadChannel || way != r.deadWay || lun != r.deadLun ||
            image_.die(channel, way, lun).operations < r.deadAfter)
            return std::nullopt;
        return r.deadHow;
    }

    /** No package is connected to this chip enable. */
    bool absent(unsigned channel, unsigned way) const {
        return (reliability_.absent[channel] | ~reliability_.fitted) >> way & 1;
    }

    /** Time passes: hours on the medium's clock, which the image keeps. */
    void age(double hours) {
        image_.medium().hours += hours;
    }
    double hours() const {
        return image_.medium().hours;
    }

    /** The block came bad from the factory: its marks are 00h in byte 0 of main and spare area, first and last page. */
    bool factoryBad(const NandAddress &at) const;

    /** Rate of raw bit errors that a read of the page would have. */
    double errorRate(const NandAddress &at, unsigned retryLevel = 0) const;

    /** Read level at which this block reads best, 0 when the part has none. */
    unsigned bestLevel(const NandAddress &at) const;

    const NandDamage &damage() const {
        return damage_;
    }
    /** For tests: may be changed at any time but for seed and factoryBad, which the image keeps. */
    Reliability &reliability() {
        return reliability_;
    }
    NandFaults &faults() {
        return faults_;
    }
    NandImage &image() {
        return image_;
    }

  private:
    static NandImage::BlockId blockOf(const NandAddress &at) {
        return {at.channel, at.way, at.lun, at.block};
    }
    std::string text(const NandAddress &at) const;
    uint64_t fixed(const NandAddress &at, uint64_t what) const;
    double wearOf(const NandImage::Block &block) const;
    bool wornOut(const NandAddress &at, const NandImage::Block &block) const;
    bool happens(double probability);
    double uniform();
    void journal(const NandAddress &at, uint32_t kind);
    void journalDone(const NandAddress &at);
    void settle(const NandAddress &at, NandCut how);
    void settleErase(const NandAddress &at, NandCut how);
    void spoilLower(const NandAddress &at);
    uint64_t flip(uint8_t *raw, uint64_t count, uint64_t sequence);

    NandImage &image_;
    NandGeometry geometry_;
    Reliability reliability_;
    NandFaults &faults_;
    NandDamage damage_;
    std::mt19937_64 random_;
};

} // namespace assasin
