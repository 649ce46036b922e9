/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Where a mount lets something be programmed behind pages that were in programming when power went.
 */
#ifndef ASSASIN_FW_RESUME_H
#define ASSASIN_FW_RESUME_H

#include <stdbool.h>
#include <stdint.h>

#include "ftl/superblock.h"

/** Pages of a round: one of every way. */
uint32_t resume_round_pages(void);
/** Rounds that a loss of power may leave blank before a page that was in programming. */
uint32_t resume_cut_rounds(void);
/** Move the cursor on until as many rounds of pages behind it are blank: nothing but blank pages lies behind them. They
 * stay unused: they may have been in programming when power went, and read blank. */
void resume_skip_blank(struct sb_cursor *c);
/** When every superblock holds something, empty one of which everything is elsewhere as well. Where there is none, open
 * the one for copies again where these stopped, `*last`, behind the pages that may be weakly programmed. False: some
 * superblock is free or empty. */
bool resume_copies(const struct sb_cursor *last);
/** Most sectors that resume_copies reads: those of the drive if that is small; 0: none. */
uint32_t resume_reads(void);

#endif
