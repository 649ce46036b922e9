/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Cases through a board's door: another process is the drive, and its death is the loss of power.
 */
#pragma once

#include <functional>
#include <string>

#include "torture/native.h"

namespace torture {

/** How the board gets power. */
struct Supply {
    /** Starts the board. \param format with an empty medium \throws Failure, and others when it is not the drive's
     * fault */
    std::function<void(bool format)> on;
    int pid = 0;         /**< of the board, when it is on */
    std::string address; /**< for assasin_open() */
};

/**
 * Plays the case of a seed, with a cut at a moment of its own in every life. Part and faults are the board's.
 * \param stop asked about ten times a second: true ends the case
 * \throws Failure
 */
void playThroughDoor(const Case &c, Supply &supply, Counts &counts, const std::function<bool()> &stop);

} // namespace torture
