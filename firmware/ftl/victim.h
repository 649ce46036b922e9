/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Which superblock collection empties next.
 */
#ifndef ASSASIN_FW_VICTIM_H
#define ASSASIN_FW_VICTIM_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Of the closed superblocks that hold at most `most` sectors in use, and of which `gain` sectors are won at least, the
 * one that is worth most: (stale share) x (age) / (share in use), ties to the fewest erases; or with `cheap` that which
 * holds least. SB_NONE: there is none.
 */
uint32_t victim_pick(uint32_t gain, uint32_t most, bool cheap);

#endif
