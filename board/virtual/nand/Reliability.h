// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace assasin {

/** Which pages of a block share cells. */
enum class NandPairing {
    None,
    Dist3, ///< 0 and 2, 1 and 4, 3 and 6, ... 2k - 1 and 2k + 2, the last odd page and the last page
};

/** How a die that has died answers. */
enum class DeadDie {
    Fail, ///< programs and erases report FAIL, reads bring random bytes
    Ones, ///< status and data are all ones
    Busy, ///< the first operation never ends
};

/**
 * How badly a part behaves: section [reliability] of its part file, or KEY=VALUE pairs for one board. The initial
 * values are those of a perfect medium. README.md describes every key.
 */
struct Reliability {
    uint64_t seed = 1;

    // Raw bit errors: rates a bit
    double rber = 0;
    double wearRber = 0;
    double retentionRber = 0;
    double disturbRber = 0;
    double weakRber = 0.03;
    double randomShare = 0.1;
    double pageSpread = 0;
    double erasedShare = 0.1;
    unsigned retryLevels = 0;
    double retryGain = 0.25;

    // Blocks
    double endurance = 3000;
    double wear = 0;
    double life = 0;
    double programFail = 0;
    double eraseFail = 0;
    double factoryBad = 0;
    bool factoryBadGiven = false; ///< for this board: an image that exists has to agree

    // Operations that are cut short
    bool tearing = false;
    NandPairing pairing = NandPairing::None;

    // A die that dies
    bool dieDies = false;
    unsigned deadChannel = 0, deadWay = 0, deadLun = 0;
    uint64_t deadAfter = 0;
    DeadDie deadHow = DeadDie::Fail;

    /** Chip enables that packages are connected to on a whole module, a bit each, and those of every channel that none
     * is connected to. */
    uint16_t fitted = 0xFFFF;
    std::array<uint16_t, 16> absent{};

    /** Sets one key. \throws std::runtime_error naming the key, the value and what is legal */
    void set(const std::string &key, const std::string &value);

    /** Sets "key=value,key=value"; an empty text sets nothing. \throws as set() */
    void setAll(const std::string &text);

    /** The page of the block that shares its cells with `page` and is programmed before it, or -1. */
    int lowerPage(unsigned page, unsigned pagesPerBlock) const;
};

} // namespace assasin
