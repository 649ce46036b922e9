/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Append points: where pages of the log go next. The host's takes writes as they come, the other one what collection
 * moves, so that data that change often and data that do not lie in different superblocks.
 *
 * Each has the superblock that it fills and, ahead of need, the next one: erased, and listed in a root record, because
 * a mount looks for the log in listed superblocks only.
 */
#ifndef ASSASIN_FW_APPEND_H
#define ASSASIN_FW_APPEND_H

#include "ftl/bad.h"
#include "ftl/superblock.h"

enum append_point { APPEND_HOST, APPEND_COPY, APPEND_POINTS };

struct append {
    struct sb_cursor cur; /**< cur.sb SB_NONE: no superblock is open */
    uint32_t next;        /**< SB_NONE: none */
    bool next_ready;      /**< it is erased and listed */
    bool holes;           /**< pages of the superblock that is open may have to be stepped over */
    uint16_t exposed;     /**< its rows before this one are exposed, see pairs.h */
    uint32_t due;         /**< position in the superblock at which ftl/summary.c has something to do */
    uint32_t
        notes;     /**< word of DRAM_SUMMARIES for a sector, less its position; SUMMARY_NONE: no summary will have it */
    uint16_t note; /**< that word for the page that append_page gave last, or SUMMARY_NONE */
    uint32_t row;  /**< pages from `cur` on, one a channel, that append_row may give out */
    uint32_t row_ppa;    /**< the page before them, were there a channel before the first */
    uint32_t row_summed; /**< on a drive with parity it is here, and `row` is 0 */
    uint32_t row_unpaid; /**< pages of the row that collection has not been told of when it is given out */
    struct sb_erase erase;
};
extern struct append append[APPEND_POINTS];

void append_init(void);
/** Whether pages of superblock `n` may have to be stepped over: those of bad blocks, and those that stay blank. */
static inline bool append_holes(uint32_t n) {
    return nand_geo.paired || bad_blocks(n) > 0;
}
/** Take the next page of `point`: its first sector, or 0 when none is ready. */
uint32_t append_page(enum append_point point);
/** Take the next page of `a`, whose `row` is not 0: nothing has to be looked at before it. Behind the last one
 * append_next_row has to follow at once. */
static inline uint32_t append_row(struct append *a) {
    a->row--;
    a->cur.channel++;
    a->cur.left--;
    return a->row_ppa += 1u << 28;
}
/** Each page of `a` from now on is looked at. */
void append_end_row(struct append *a);
/** A row has ended: the cursor is behind its last channel. */
void append_next_row(struct append *a);
/** A page of `point` will come: a superblock is on its way to it, or older pages go first. */
bool append_pending(enum append_point point);
/** A block of superblock `n` has become bad. */
void append_bad(uint32_t n);
/** Sectors that `point` can take without another superblock, at least. */
uint32_t append_room(enum append_point point);
/** Get the next superblock ready, the least worn free one, if none is and one may be had. */
void append_prepare(enum append_point point);
/** Likewise for copies of data that do not change, the most worn free one. False when none may be had. */
bool append_prepare_worn(void);
/** Likewise for the host, though it be one of those that are kept for copies. False when none is free. */
bool append_prepare_last(void);
/** Go on where the newest root record of a clean medium says. */
void append_resume(void);
/** Close the superblock that is open. */
void append_close(enum append_point point);
/** The root writer is free again: list what waits for it. */
void append_list(void);

#endif
