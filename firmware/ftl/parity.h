/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Parity over dies: where it is written.
 *
 * A stripe is the pages of one number in one plane of a superblock, one of each die. One of its good blocks, another
 * with each page, takes the exclusive-or of what was programmed to the others, sector by sector; a sector that stayed
 * blank counts as zeros. Which one it was its sectors say themselves, so that a reader need not know which blocks were
 * good then. Sums are made in DRAM while the pages go out, and are programmed when the stripe's last page is placed, or
 * when the stripe ends before.
 *
 * The metadata words of a parity sector: OOB0 is the exclusive-or of those of the others, with OOB_PARITY in place of
 * their marks; OOB1 that of parity_mix() of their OOB0 and of where they are. What is made of the others is right if
 * both fit: so a sector that is in the sum and cannot be found any more does no harm.
 */
#ifndef ASSASIN_FW_PARITY_H
#define ASSASIN_FW_PARITY_H

#include <stdbool.h>
#include <stdint.h>

#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/ftl.h"

/** With two dies, parity would be a copy at half the capacity; and a stripe needs a data page when one die is dead. */
#define PARITY_DIES 3u
/** From so many on a format chooses parity by itself: less than a seventh more is written then. */
#define PARITY_DIES_USUAL 8u

/** The medium has parity. */
extern bool parity_on;
/** Nothing runs but the mount: nobody polls for events. */
extern bool parity_mounting;

/** No stripe is being written. At boot. */
void parity_init(void);
/** Dies of a stripe. */
static inline uint32_t parity_dies(void) {
    return nand_geo.channels * nand_geo.ways * nand_geo.luns;
}
/** Good sectors of superblock `n` that take data. */
static inline uint32_t parity_data(uint32_t n) {
    uint32_t good = bad_sectors(n);
    uint32_t parity = parity_on ? nand_geo.planes * nand_geo.pages : 0;
    return good > parity ? good - parity : 0;
}

/* ---- append points ---- */

/** What to do with the page under the cursor of an append point. */
enum parity_step {
    PARITY_TAKE, /**< it is for data */
    PARITY_SKIP, /**< it is the stripe's parity: step over it */
    PARITY_WAIT, /**< parity of an older stripe has to go first: ftl_kick and WORK_COLLECT follow */
};

struct parity_point {
    struct stripe *open; /**< NULL: none, or one without parity */
    uint32_t place;      /**< its parity page; 0: none */
    uint32_t end;        /**< sectors that the superblock has left behind the stripe */
    uint32_t closing;    /**< stripes whose parity page is not on its way yet */
    bool waits;          /**< the last answer was PARITY_WAIT */
};
extern struct parity_point parity_points[APPEND_POINTS];

enum parity_step parity_step_slow(enum append_point point, const struct sb_cursor *c, uint32_t ppa);
/** `ppa`: the page under the cursor `c` of `point`, whose block is good. */
static inline enum parity_step parity_step(enum append_point point, const struct sb_cursor *c, uint32_t ppa) {
    struct parity_point *p = &parity_points[point];
    if (c->left <= p->end || ppa == p->place || p->closing != 0) {
        return parity_step_slow(point, c, ppa);
    }
    p->waits = false;
    return PARITY_TAKE;
}
/** Pages of the host's point from its cursor `c` on, one a channel, of which the stripe that is open takes data. A page
 * is one sector. */
uint32_t parity_row(const struct sb_cursor *c);
/** A page of `point` was refused by PARITY_WAIT. */
static inline bool parity_waits(enum append_point point) {
    return parity_points[point].waits;
}
void parity_placed_now(enum append_point point, struct ftl_write *first);
/** Likewise of a drive with parity: `w`, without marks, is a page of the host's point. */
void parity_placed_sector(struct ftl_write *w);
/** The page that `point` has just given is programmed with the writes from `first` on, whose descriptors are complete.
 */
static inline void parity_placed(enum append_point point, struct ftl_write *first) {
    if (parity_on) {
        parity_placed_now(point, first);
    }
}

/** Who programs pages of the log. */
enum parity_owner { PARITY_HOST, PARITY_COPY, PARITY_TRIM, PARITY_SUMMARY, PARITY_OWNERS };
bool parity_defers_now(enum parity_owner owner, struct ftl_write *first, void (*ended)(struct ftl_write *first));
/** The program from `first` on has ended, but some of its data are not in their sum yet: `ended` runs when they are. */
static inline bool parity_defers(enum parity_owner owner, struct ftl_write *first,
                                 void (*ended)(struct ftl_write *first)) {
    return parity_on && parity_defers_now(owner, first, ended);
}

/** The open stripe of `point` ends where it is, and gets its parity. The cursor goes behind it. */
void parity_end(enum append_point point);
/** Likewise, because the superblock is closed: the cursor is nobody's. */
void parity_close(enum append_point point);
/** Pages of `point` became exposed (ftl/pairs.h): the open stripe may be one whose other pages stay blank now. */
void parity_exposed(enum append_point point);
/** No stripe's parity is on its way. */
bool parity_settled(void);
/** Parity is on its way to superblock `n`. */
bool parity_writes(uint32_t n);
/** All user data are erased: open stripes are forgotten, and no data stay in memory. */
void parity_forget(void);
/** WORK_PARITY: operations may be free again. */
void parity_poll(void);

/* ---- rebuild.c ---- */

/** Take over reads that fail. */
void rebuild_init(void);
/** Stripes may have got their parity, or operations may be free. */
void rebuild_poll(void);
/** The stripe of `ppa` has no parity on the medium yet; if it is open it ends. rebuild_poll follows. */
bool parity_pending(uint32_t ppa);
/** Of OOB0 of the sector at `ppa`: what OOB1 of the stripe's parity has of it. */
uint32_t parity_mix(uint32_t oob0, uint32_t ppa);
/** OOB0 as it is summed: the marks are two bits from 28 on, which parity_unmark makes marks again. */
uint32_t parity_mark(uint32_t oob0);
uint32_t parity_unmark(uint32_t sum);
/** Nothing of what was rebuilt stays in memory. */
void rebuild_wipe(void);

#endif
