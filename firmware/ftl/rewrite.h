/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Sectors that a mount writes again: their programs may have been under way when power went.
 */
#ifndef ASSASIN_FW_REWRITE_H
#define ASSASIN_FW_REWRITE_H

#include <stdbool.h>
#include <stdint.h>

/** Nothing is to be written again. */
void rewrite_init(void);
/** Superblock `n` has pages of the log up to position `end`, and power may have gone when the last ones were
 * programmed: these are among the `most` sectors before. */
void rewrite_add(uint32_t n, uint32_t end, uint32_t most);
/** Write them again, at the host's append point, whose first superblock that opens. Nothing of what the log has made
 * empty is erased for that. Returns how many were written. */
uint32_t rewrite_run(void);

#endif
