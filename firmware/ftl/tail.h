/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Tails of the log: what a mount behind an unclean stop has found in pages that the next mount may find otherwise,
 * because they were in programming when power went. The mount writes no checkpoint. So the root record says until the
 * first one what was taken of these pages, and where each superblock of the log ended.
 *
 * A tail has the form of a summary (ftl/summary.h) and lies in the area of checkpoints. There is one for each chunk
 * that no summary on the medium settles. The list in the root record has an entry for each, and one without a page for
 * the chunk from which on a superblock holds nothing.
 */
#ifndef ASSASIN_FW_TAIL_H
#define ASSASIN_FW_TAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "ftl/checkpoint.h"

/** Sectors of a chunk: that of summaries, where there are any. */
uint32_t tail_chunk(void);

/** DRAM address of the page of entry `i` of the list that was read. */
uint32_t tail_page(uint32_t i);
/** Entry of the list that was read for chunk `k` of superblock `n`; ckpt.log.tails: none. */
uint32_t tail_find(uint32_t n, uint32_t k);
/** Whether the list that was read has something of superblock `n`. */
bool tail_names(uint32_t n);

/** A mount reads the log. */
void tail_init(void);
/** Begin a tail of chunk `k` of superblock `n` from position `first` on. It holds nothing yet. */
void tail_begin(uint32_t n, uint32_t k, uint32_t first);
/** The sector `i` of that chunk has OOB word 0 `oob0`, and the map has it. */
void tail_note(uint32_t i, uint32_t oob0);
/** The tail that was begun has all that there is. */
void tail_end(void);
/** Superblock `n` holds nothing from its chunk `k` on. */
void tail_stop(uint32_t n, uint32_t k);
/** DRAM_TRIM has the trim record of the sector at `ppa`, whose chunk is that of the tail that was begun. */
void tail_trim(uint32_t ppa);
/** Bring such a record of an earlier mount to DRAM_TRIM. False: there is none. */
bool tail_trim_find(uint32_t ppa);

/** Write the tails of this mount to the area and list them in ckpt.log. False: not all of them are there. */
bool tail_write(void);

#endif
