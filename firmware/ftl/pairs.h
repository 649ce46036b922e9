/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Pages that share cells. The cells of such parts hold two bits, each of another page of the block: the lower page is
 * programmed first, the upper one some pages behind it. A program of the upper page that is cut short, or that fails,
 * takes the data of the lower page. So the upper page stays blank where something relies on the lower one by then: it
 * is exposed.
 *
 * A row is the pages of one number in a superblock. Pages are allocated row by row, so that one number says for a whole
 * superblock which lower pages are exposed: those of the rows before it.
 */
#ifndef ASSASIN_FW_PAIRS_H
#define ASSASIN_FW_PAIRS_H

#include "ftl/append.h"
#include "ftl/ftl.h"

void pairs_init(void);

/** Row of the lower page that shares cells with row `page` of a block; UINT32_MAX when that is a lower one itself. */
uint32_t pairs_lower(uint32_t page);
/** Whether row `page` stays blank when the rows before `exposed` are exposed. */
static inline bool pairs_blank(uint32_t page, uint32_t exposed) {
    return nand_geo.paired && pairs_lower(page) < exposed;
}
/** Rows of the superblock under `c` of which pages are allocated. */
uint32_t pairs_rows(const struct sb_cursor *c);
/** Move `c` to the next row that does not stay blank. */
void pairs_step_over(struct sb_cursor *c, uint32_t exposed);
/** Most sectors of a superblock that stay blank for what is exposed at a time. */
static inline uint32_t pairs_lost(void) {
    return nand_geo.paired ? 2 * (sb.pages / nand_geo.pages) * nand_geo.sectors : 0;
}
/** 1,024ths of the log that stay blank, where copies are exposed three times a superblock: by the erases of a
 * superblock for each append point, and by a checkpoint. Half of it at most. */
static inline uint32_t pairs_share(void) {
    uint32_t share = 1024 * 6 / (nand_geo.pages >> nand_geo.sector_log2);
    return !nand_geo.paired ? 0 : share < 512 ? share : 512;
}
/** Most stripes that stay blank between two pages of a log. */
static inline uint32_t pairs_gap(void) {
    return nand_geo.paired ? 2 : 0;
}

/** Something relies on the pages of `point` that are allocated. */
void pairs_expose(enum append_point point);
/** The page that begins with `first`, of either append point, is about to be programmed. Only on parts with such pages.
 */
void pairs_begin(struct ftl_write *first);
/** A program of the page `ppa` will be wanted: it counts as in flight until pairs_let. Returns what that is to be
 * given.
 */
uint8_t pairs_hold(uint32_t ppa);
void pairs_let(uint8_t upper);
/** Sector `ppa` takes block `lba`; at the copies' append point the block's original is at `from`, at the host's `from`
 * is 1 for an uncommitted page. */
void pairs_note(enum append_point point, uint32_t ppa, uint32_t lba, uint32_t from);
/** The block that sector `ppa` was noted with last, and where that was before. */
uint32_t pairs_noted(enum append_point point, uint32_t ppa, uint32_t *from);
/** The program at `point` that begins with `first` has ended, with those of other planes. When it has failed, copies
 * that it has taken along are found where they were before. Blocks of the host that nobody relied on yet are lost:
 * reads say so, and so does the next flush. */
void pairs_ended(enum append_point point, struct ftl_write *first);
/** Blocks of which the log does not say yet that they are lost, a bit each: a flush waits for that. */
extern uint32_t pairs_losses;
/** Whether blocks are lost of which neither the log says so nor a newer version has been programmed: no flush is right
 * until then. Has the log say so where that can begin now. */
bool pairs_unlogged(void);
/** Whether the uncommitted page `ppa` is gone, or may be, because it shared cells with a page whose program failed. */
bool pairs_gone(uint32_t ppa);
/** Some uncommitted page may be gone. */
extern uint32_t pairs_gone_count;
/** Programs have ended, and the map knows: run what waits for that. */
void pairs_look(void);

/** Who is about to rely on all that is allocated. */
struct pairs_wait {
    struct node node;
    void (*done)(struct pairs_wait *p);
};
/** Expose what is allocated at the host's append point, with `copies` at both, and run `done` when no program of an
 * upper page is in flight any more that began before. That may be at once. */
void pairs_settle(struct pairs_wait *p, bool copies);

#endif
