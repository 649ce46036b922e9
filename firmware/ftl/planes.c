// SPDX-License-Identifier: BSD-3-Clause
/*
 * Pages of the log on their way to parts that program pages of several planes together. Such a part is given one
 * program at a time for each LUN; what follows waits here, so that a program takes the pages of all planes that have
 * come until it starts. Pages of one program lie in blocks of the same number and have the same page number. A program
 * whose other planes' pages are among the writes that are announced already waits for them.
 */
#include <string.h>

#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/ftl.h"
#include "ftl/pairs.h"
#include "ftl/parity.h"
#include "ftl/planes.h"

struct planes_lane planes_lanes[NAND_MAX_CHANNELS * NAND_MAX_WAYS];
/** Most sectors from a page to that of the next plane for which a program waits for that. Where there are more, the
 * program could as well have begun, and all that wait would end at the same time. */
#define NEAR 64u
bool planes_near;
bool planes_delayed;
/** ftl.seq behind the last of the pages that are waited for. */
static uint32_t delayed_until;

void planes_init(void) {
    memset(planes_lanes, 0, sizeof planes_lanes);
    for (uint32_t i = 0; i < NAND_MAX_CHANNELS * NAND_MAX_WAYS; i++) {
        planes_lanes[i].end = &planes_lanes[i].head;
    }
    planes_delayed = false;
    planes_near = nand_geo.channels * nand_geo.ways * nand_geo.luns * nand_geo.sectors <= NEAR;
}

/** Program the pages of several planes, or the sectors of a page, that begin with `first`. */
static __attribute__((noinline)) void submit_all(struct ftl_write *first) {
    uint32_t before = 0;
    for (struct ftl_write *w = first; w != NULL; w = ftl_write_next(w)) {
        struct nand_op *op = w->op;
        w->first = first;
        before += op->confirm == FLASH_CONFIRM_PLANE;
        op->before = op->confirm == FLASH_CONFIRM_PAGE && nand_geo.luns > 1 ? (uint8_t)before : 0;
        nand_submit(op);
    }
}

static inline void submit(struct ftl_write *first) {
    if (first->node.next == NULL) {
        planes_submit_sector(first);
    } else {
        submit_all(first);
    }
}

/** Row of the next plane's page whose block is good, or 0 behind the last plane. `way`: of `row`. */
static uint32_t next_plane(uint32_t way, uint32_t row) {
    do {
        row += 1u << nand_geo.plane_shift;
        if ((row >> nand_geo.plane_shift & (nand_geo.planes - 1)) == 0) {
            return 0;
        }
    } while (bad_at(way << 24 | row));
    return row;
}

void planes_failed(const struct ftl_write *first) {
    for (const struct ftl_write *w = first; w != NULL; w = ftl_write_next(w)) {
        if (w->op->confirm != FLASH_CONFIRM_MORE) {
            bad_block(w->ppa, BAD_PROGRAM);
        }
    }
}

/** Place of page `row` in the list from `p` on; the list's end when it is not there. */
static struct ftl_write **find(struct ftl_write **p, uint32_t row) {
    while (*p != NULL && (*p)->op->row != row) {
        p = &(*p)->first;
    }
    return p;
}

static inline struct ftl_write *leave(struct planes_lane *lane, struct ftl_write **p) {
    struct ftl_write *w = *p;
    *p = w->first;
    if (lane->end == &w->first) {
        lane->end = p;
    }
    return w;
}

/** Whether the page `row` of the way of `w` is still to be allocated, and the writes that are on their way fill it. */
static bool comes(const struct ftl_write *w, uint32_t row) {
    if (append[APPEND_HOST].cur.sb != ppa_block(w->ppa)) {
        return false;
    }
    uint32_t allocated = sb.pages - append[APPEND_HOST].cur.left;
    uint32_t need = superblock_position((w->ppa & ~0xffffffu) | row) + nand_geo.sectors - allocated;
    if ((int32_t)need <= 0 || need > ftl.gathered + ftl.coming) {
        return false;
    }
    if (!planes_delayed || (int32_t)(ftl.seq + need - delayed_until) > 0) {
        delayed_until = ftl.seq + need;
    }
    planes_delayed = true;
    return true;
}

/** Whether the program that begins with the page at `p` is to wait for a further plane's page. */
static bool waits(struct ftl_write **p) {
    const struct ftl_write *w = *p;
    uint32_t row = w->op->row;
    if (!planes_near || ftl.coming == 0) {
        return false;
    }
    while (*p != NULL) {
        row = next_plane(w->op->way, row);
        if (row == 0) {
            return false;
        }
        p = find(p, row);
    }
    return comes(w, row);
}

/** Program `first`, which has left the lane, with the pages of the planes behind its own that wait from `p` on. */
static __attribute__((noinline)) void start_together(struct planes_lane *lane, struct ftl_write **p,
                                                     struct ftl_write *first) {
    struct ftl_write *last = first;
    uint32_t way = first->op->way;
    for (uint32_t row = next_plane(way, first->op->row); row != 0; row = next_plane(way, row)) {
        while (last->node.next != NULL) {
            last = ftl_write_next(last);
        }
        p = find(p, row);
        /* Summaries and parity have owners of their own. */
        if (*p == NULL || (*p)->op->done != first->op->done) {
            break;
        }
        last->op->confirm = FLASH_CONFIRM_PLANE;
        last->node.next = &leave(lane, p)->node;
    }
    submit(first);
}

/** Program the page at `p` with those of the planes behind its own. */
static inline void start(struct planes_lane *lane, struct ftl_write **p) {
    struct ftl_write *first = leave(lane, p);
    if (*p == NULL || first->lba == OOB_SUMMARY) {
        submit(first);
    } else {
        start_together(lane, p, first);
    }
}

/** Start what the way's LUNs can take; `now`: nothing waits for a further plane. */
static void go(struct planes_lane *lane, bool now) {
    uint32_t all = (1u << nand_geo.luns) - 1;
    uint32_t passed = lane->busy;
    struct ftl_write **p = &lane->head;
    while (*p != NULL && passed != all) {
        uint32_t lun = 1u << ((*p)->op->row >> nand_geo.lun_shift);
        if ((passed & lun) != 0 || (!now && waits(p))) {
            p = &(*p)->first;
        } else {
            lane->busy |= (uint8_t)lun;
            start(lane, p);
        }
        passed |= lun;
    }
}

void planes_program(struct ftl_write *first) {
    if (nand_geo.paired) {
        pairs_begin(first);
    }
    if (nand_geo.together == 1) {
        submit(first);
        return;
    }
    struct planes_lane *lane = &planes_lanes[first->op->way];
    first->first = NULL;
    *lane->end = first;
    lane->end = &first->first;
    go(lane, false);
}

void planes_go(struct planes_lane *lane, uint32_t lun) {
    if (planes_near) {
        go(lane, false);
        return;
    }
    /* Other LUNs have nothing that could begin. */
    struct ftl_write **p = &lane->head;
    while (*p != NULL && (*p)->op->row >> nand_geo.lun_shift != lun) {
        p = &(*p)->first;
    }
    if (*p != NULL) {
        lane->busy |= 1u << lun;
        start(lane, p);
    }
}

void planes_look(bool still) {
    /* Pages that have been passed are not for data. */
    bool comes = (int32_t)(ftl.seq + ftl.gathered + ftl.coming - delayed_until) >= 0 &&
                 (!parity_on || (int32_t)(ftl.seq - delayed_until) < 0);
    if (!planes_delayed || (!still && comes)) {
        return;
    }
    planes_delayed = false;
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        for (uint32_t w = 0; w < nand_geo.ways; w++) {
            go(&planes_lanes[ch << 4 | w], true);
        }
    }
}

struct ftl_write *planes_sector_ended(const struct nand_op *op, uint32_t status) {
    struct ftl_write *w = op->arg;
    if (status != FLASH_STATUS_OK) {
        w->first->failed = 1;
        planes_failed(w->first);
    } else {
        bad_worked(w->ppa);
    }
    if (op->confirm != FLASH_CONFIRM_PAGE) {
        return NULL;
    }
    planes_ended(w->first);
    return w->first;
}
