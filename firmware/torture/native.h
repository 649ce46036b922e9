/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Cases on the native drive: the firmware and the models in this process. A process that forks is a snapshot of both,
 * so that one life is cut at many moments.
 */
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "torture/load.h"

namespace torture {

/** What all processes of a run have done, in memory that they share. */
struct Counts {
    std::atomic<uint64_t> cuts, boots, bootCuts, cases, commands, blocks, refused;
};

/** How lives are cut at moments that the case does not name. */
struct Explore {
    uint32_t forks = 0;    /**< moments a life; 0: the case is played as it stands */
    bool own = true;       /**< what follows a cut is made up for it; else the lives of the case follow */
    bool lastOnly = false; /**< only the last life with commands that ends by a cut */
    Mix mix;
    uint32_t seconds = 20; /**< a moment may take, else it has hung */
    /** Something was found; false: it is enough. */
    std::function<bool(const Case &found, Failure::Kind kind, const std::string &why)> found;
    /** Asked between moments: true ends the exploration. */
    std::function<bool()> stop;
};

/** Memory that processes share from the fork on. */
Counts *sharedCounts();

/**
 * Plays a case. With `explore`, children of this process go through the moments; what they find goes to
 * Explore::found.
 * \throws Failure what this process meets itself; `failing` is then the case up to there
 */
void play(const Case &c, Counts &counts, const Explore *explore = nullptr, Case *failing = nullptr);

/** What a process of its own finds that plays the case; nothing when it ends well. */
struct Finding {
    Failure::Kind kind;
    std::string why;
};
std::optional<Finding> tryCase(const Case &c, Counts &counts, uint32_t seconds);

/** A smaller case that fails in the same way, found in at most that time. */
Case shrink(const Case &c, Failure::Kind kind, Counts &counts, uint32_t seconds,
            const std::function<void(const std::string &)> &say);

} // namespace torture
