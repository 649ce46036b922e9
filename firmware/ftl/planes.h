/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Pages of the log on their way to parts that program pages of several planes together.
 */
#ifndef ASSASIN_FW_PLANES_H
#define ASSASIN_FW_PLANES_H

#include "ftl/ftl.h"

/** Pages of a way that wait, in the log's order; linked by `first`. */
struct planes_lane {
    struct ftl_write *head;
    struct ftl_write **end;
    uint32_t busy; /**< LUNs that have a program, a bit each */
    uint32_t pad;  /**< an entry's address is a shift */
};
extern struct planes_lane planes_lanes[NAND_MAX_CHANNELS * NAND_MAX_WAYS];
/** Programs may wait for pages of other planes. */
extern bool planes_near;
/** Some program waits for a page of another plane. */
extern bool planes_delayed;

void planes_init(void);
/** Program the page that begins with `first`, whose descriptors are complete but for CONFIRM_PLANE. */
void planes_program(struct ftl_write *first);
/** Start what waits in `lane`, whose LUN `lun` has no program any more. */
void planes_go(struct planes_lane *lane, uint32_t lun);
/** The program that begins with `first` has failed: its blocks are bad, those of all planes, since the status may be
 * that of all of them. */
void planes_failed(const struct ftl_write *first);
/** The program of the sector `op`, whose argument is its write, has ended with `status`. Returns the write that the
 * page or the pages of several planes begin with, once the last of their sectors has ended; NULL before. */
struct ftl_write *planes_sector_ended(const struct nand_op *op, uint32_t status);
/** Such programs go without these pages when they will not come: for certain when the log stands `still`. */
void planes_look(bool still);

/** Give the program of a page that is one sector to its channel. */
static inline void planes_submit_sector(struct ftl_write *w) {
    w->first = w;
    w->op->before = 0;
    nand_submit_page(w->op);
}

/** planes_program of a page that is one sector, of a part without paired pages. */
static inline void planes_program_sector(struct ftl_write *w) {
    struct nand_op *op = w->op;
    if (nand_geo.together != 1) {
        struct planes_lane *lane = &planes_lanes[op->way];
        uint32_t lun = 1u << (op->row >> nand_geo.lun_shift);
        if ((lane->busy & lun) != 0 && !planes_near) {
            /* Nothing of its LUN can begin, and pages of others do not wait for this one. */
            w->first = NULL;
            *lane->end = w;
            lane->end = &w->first;
            return;
        }
        if (((uintptr_t)lane->head | planes_near) != 0) {
            planes_program(w);
            return;
        }
        lane->busy |= lun;
    }
    planes_submit_sector(w);
}

/** The program that begins with `first` has ended. */
static inline void planes_ended(const struct ftl_write *first) {
    if (nand_geo.together == 1) {
        return;
    }
    struct planes_lane *lane = &planes_lanes[first->op->way];
    uint32_t lun = first->op->row >> nand_geo.lun_shift;
    lane->busy &= ~(1u << lun);
    if (lane->head != NULL) {
        planes_go(lane, lun);
    }
}

#endif
