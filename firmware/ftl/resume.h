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
/** When every superblock holds something, open one that is not full for copies, behind the pages that may be weakly
 * programmed: `*last`, where copies stopped, or another. False: some superblock is free or empty. */
bool resume_copies(const struct sb_cursor *last);

/** Superblocks of which resume_copies reads more than a page, and most pages that it reads of each. */
#define RESUME_PARTS 8u
#define RESUME_PAGES 1024u

#endif
