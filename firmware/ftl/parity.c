// SPDX-License-Identifier: BSD-3-Clause
/*
 * Stripes that are being written. Their parity page is programmed later than the stripe's other pages, and a block's
 * pages in their order: until it is on its way, its die gets no page of a later stripe.
 *
 * The parity page is never left out but where its block has gone bad: a mount takes a run of blank pages for the log's
 * end. So it is also written for a stripe of which a program has failed. What the failed page holds then may not be
 * what is in the sum; who rebuilds a sector finds that out.
 */
#include "ftl/parity.h"

#include <assert.h>
#include <string.h>

#include "ftl/pairs.h"
#include "ftl/planes.h"
#include "ftl/summary.h"
#include "platform/fill.h"

/** Stripes on their way at a time: one open at each append point, the others' parity is summed or programmed. */
#define STRIPES 8u
#define SECTORS (1u << NAND_MAX_SECTOR_LOG2)

static_assert(STRIPES * SECTORS * PAGE_SIZE <= DRAM_PARITY_SIZE, "sums of stripes");

enum stripe_state {
    STRIPE_FREE = 0,
    STRIPE_OPEN,
    STRIPE_CLOSED,  /**< all its pages are placed */
    STRIPE_WRITTEN, /**< its parity is in programming */
};

struct stripe {
    uint8_t state; /**< enum stripe_state */
    uint8_t point;
    uint32_t ppa;   /**< parity page */
    uint32_t pages; /**< that are still to be placed */
    uint32_t placed;
    uint8_t upper;                       /**< pairs.c's, from its end on */
    uint32_t low[SECTORS], mix[SECTORS]; /**< metadata words */
    struct xor_sum sums[SECTORS];
    struct ftl_write w[SECTORS];
};

bool parity_on;
bool parity_mounting;
struct parity_point parity_points[APPEND_POINTS];
static struct stripe stripes[STRIPES];
/** Stripes in state CLOSED or WRITTEN. */
static uint32_t unsettled;
/** What runs when a program that has ended is in its sums, by its `owner`. */
static void (*deferred[PARITY_OWNERS])(struct ftl_write *first);

static void summed(struct xor_sum *sum, struct list *awaited);

void parity_init(void) {
    memset(stripes, 0, sizeof stripes);
    memset(parity_points, 0, sizeof parity_points);
    memset(deferred, 0, sizeof deferred);
    unsettled = 0;
    parity_on = false;
    parity_mounting = true;
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        parity_points[i].end = UINT32_MAX;
    }
    for (uint32_t i = 0; i < STRIPES; i++) {
        for (uint32_t k = 0; k < SECTORS; k++) {
            stripes[i].sums[k].at = DRAM_PARITY + (i * SECTORS + k) * PAGE_SIZE;
            stripes[i].sums[k].added = summed;
        }
    }
    work_clear(WORK_PARITY);
}

/* ---- metadata words ---- */

/** Equal words of two pages must not cancel out: where they are goes in. */
static inline uint32_t mix(uint32_t oob0, uint32_t ppa) {
    uint32_t x = (oob0 ^ ppa) + 0x9e3779b9u;
    x = (x ^ x >> 16) * 0x21f0aaadu;
    x = (x ^ x >> 15) * 0x735a2d97u;
    return x ^ x >> 15;
}

uint32_t parity_mix(uint32_t oob0, uint32_t ppa) {
    return mix(oob0, ppa);
}

uint32_t parity_mark(uint32_t oob0) {
    uint32_t mark = oob0 >> 28;
    return (oob0 & 0xfffffffu) | (mark == 0xf ? 3u : mark >> 2) << 28;
}

uint32_t parity_unmark(uint32_t sum) {
    uint32_t mark = sum >> 28;
    return (sum & 0xfffffffu) | (mark == 3 ? 0xfu : mark << 2) << 28;
}

/* ---- places ---- */

/** What all pages of the stripe of `ppa` have in common. */
static uint32_t stripe_of(uint32_t ppa) {
    return ppa_row(ppa) & ((1u << nand_geo.lun_shift) - 1) & ~(nand_geo.sectors - 1);
}

/** Its page number in its block. */
static uint32_t page_of(uint32_t ppa) {
    return (ppa_row(ppa) & (nand_geo.pages - 1)) >> nand_geo.sector_log2;
}

static bool same_die(uint32_t a, uint32_t b) {
    return ppa_way(a) == ppa_way(b) && ppa_row(a) >> nand_geo.lun_shift == ppa_row(b) >> nand_geo.lun_shift;
}

/** Page `i` of the stripe whose first page is at position `first` of the superblock under `c`: all planes of a parity
 * page are on one die. */
static uint32_t stripe_page(const struct sb_cursor *c, uint32_t first, uint32_t i) {
    struct sb_cursor at;
    cursor_seek(&at, c->sb, first + (i - c->plane * parity_dies()) * nand_geo.sectors);
    return cursor_ppa(&at) | (uint32_t)c->plane << nand_geo.plane_shift;
}

/** Good blocks of the stripe; 0: one of them is among the first `behind` ones. */
static uint32_t good_blocks(const struct sb_cursor *c, uint32_t first, uint32_t behind) {
    uint32_t good = 0;
    struct sb_cursor at;
    cursor_seek(&at, c->sb, first);
    for (uint32_t i = 0; i < parity_dies(); i++) {
        if (!bad_at(cursor_ppa(&at))) {
            if (i < behind) {
                return 0;
            }
            good++;
        }
        if (i + 1 < parity_dies()) {
            cursor_next_page(&at);
        }
    }
    return good;
}

/**
 * Choose the parity page of the stripe that begins `behind` pages before the cursor `c`. Returns how many pages are
 * left for data, 0: the stripe gets no parity, because it has a single good block, or pages of it are written that are
 * in no sum any more.
 */
static uint32_t choose(const struct sb_cursor *c, uint32_t behind, uint32_t *place) {
    uint32_t dies = parity_dies();
    uint32_t first = sb.pages - c->left - behind * nand_geo.sectors;
    uint32_t good = bad_blocks(c->sb) > 0 ? good_blocks(c, first, behind) : behind > 0 ? 0 : dies;
    /* Late in the stripe, so that the next page of its die comes late in the next one; another channel with each page,
     * the way changes by the cursor. A page that a summary is to take is left to it. */
    uint32_t i = dies - 1 - (c->page + c->sb) % nand_geo.channels;
    for (uint32_t n = 0; n < dies && good > 1; n++, i = i > 0 ? i - 1 : dies - 1) {
        *place = stripe_page(c, first, i);
        if (!bad_at(*place) && !summary_at(superblock_position(*place))) {
            return good - 1;
        }
    }
    return 0;
}

static struct stripe *unused(void) {
    for (uint32_t i = 0; i < STRIPES; i++) {
        if (stripes[i].state == STRIPE_FREE) {
            return &stripes[i];
        }
    }
    return NULL;
}

/** Begin the stripe of the page under the cursor. False: all stripes are on their way. */
static bool begin(enum append_point point, const struct sb_cursor *c) {
    struct parity_point *p = &parity_points[point];
    uint32_t sectors = parity_dies() * nand_geo.sectors;
    uint32_t into = (sb.pages - c->left) % sectors;
    struct stripe *s = unused();
    if (s == NULL) {
        return false;
    }
    uint32_t place;
    uint32_t pages = choose(c, into >> nand_geo.sector_log2, &place);
    p->end = c->left - (sectors - into);
    p->open = NULL;
    p->place = 0;
    if (pages == 0) {
        return true;
    }
    s->state = STRIPE_OPEN;
    s->point = (uint8_t)point;
    s->ppa = place;
    s->pages = pages;
    s->placed = 0;
    for (uint32_t i = 0; i < nand_geo.sectors; i++) {
        s->low[i] = 0;
        s->mix[i] = 0;
        s->sums[i].blank = true;
    }
    p->open = s;
    p->place = place;
    return true;
}

/* ---- the end of a stripe ---- */

/** Something that others may wait for has happened. */
static void moved_on(void) {
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        parity_points[i].waits = false;
    }
    work_set(WORK_COLLECT);
    ftl_kick();
}

static void release(struct stripe *s) {
    if (s->state == STRIPE_CLOSED) {
        parity_points[s->point].closing--;
    }
    s->state = STRIPE_FREE;
    unsettled--;
    pairs_let(s->upper);
    rebuild_poll();
    moved_on();
}

static void program_ended(struct ftl_write *w) {
    /* A program may have pages of several stripes, one of each plane. */
    while (w != NULL) {
        struct ftl_write *next = ftl_write_next(w);
        struct stripe *s = &stripes[w->lba];
        bool last = w->op->confirm != FLASH_CONFIRM_MORE;
        nand_op_put(w->op);
        if (last) {
            release(s);
        }
        w = next;
    }
}

static void programmed(struct nand_op *op, uint32_t status) {
    struct ftl_write *w = planes_sector_ended(op, status);
    if (w != NULL) {
        if (nand_geo.paired) {
            pairs_ended((enum append_point)stripes[w->lba].point, w);
        }
        program_ended(w);
    }
}

/** Program the parity of `s` if all is in its sums. */
static void submit(struct stripe *s) {
    for (uint32_t i = 0; i < nand_geo.sectors; i++) {
        if (xor_busy(&s->sums[i])) {
            return;
        }
    }
    if (s->placed == 0 || bad_at(s->ppa)) {
        release(s);
        return;
    }
    for (uint32_t i = 0; i < nand_geo.sectors; i++) {
        s->w[i].op = nand_op_get();
        if (s->w[i].op == NULL) {
            while (i-- > 0) {
                nand_op_put(s->w[i].op);
            }
            work_set(WORK_PARITY);
            return;
        }
    }
    for (uint32_t i = 0; i < nand_geo.sectors; i++) {
        struct ftl_write *w = &s->w[i];
        bool last = i + 1 == nand_geo.sectors;
        w->lba = (uint32_t)(s - stripes);
        w->ppa = s->ppa + i;
        w->failed = 0;
        w->node.next = last ? NULL : &s->w[i + 1].node;
        w->op->done = programmed;
        w->op->arg = w;
        nand_program(w->op, w->ppa, s->sums[i].blank ? DRAM_ZERO : s->sums[i].at, OOB_PARITY + s->low[i], s->mix[i]);
        w->op->confirm = last ? FLASH_CONFIRM_PAGE : FLASH_CONFIRM_MORE;
    }
    s->state = STRIPE_WRITTEN;
    parity_points[s->point].closing--;
    planes_program(&s->w[0]);
    moved_on();
}

/** No more pages of the open stripe of `p` are placed. */
static void close(struct parity_point *p) {
    struct stripe *s = p->open;
    p->open = NULL;
    p->closing++;
    s->state = STRIPE_CLOSED;
    s->upper = pairs_hold(s->ppa);
    unsettled++;
    submit(s);
}

void parity_end(enum append_point point) {
    struct parity_point *p = &parity_points[point];
    struct append *a = &append[point];
    if (p->place == 0) {
        return;
    }
    append_end_row(a);
    /* The newest root record's cursor may be in this stripe: it must not be gone on from there. */
    ftl.changed |= a->cur.left > p->end;
    while (a->cur.left > p->end) {
        cursor_next_page(&a->cur);
        ftl.seq += point == APPEND_HOST ? nand_geo.sectors : 0;
    }
    if (p->open != NULL) {
        close(p);
    }
}

void parity_exposed(enum append_point point) {
    struct parity_point *p = &parity_points[point];
    if (p->open != NULL && pairs_blank(page_of(p->place), append[point].exposed)) {
        /* No further page of it is written, and who relies on its lower pages waits for the parity. */
        close(p);
    }
}

void parity_close(enum append_point point) {
    struct parity_point *p = &parity_points[point];
    if (p->open != NULL) {
        close(p);
    }
    p->place = 0;
    p->end = UINT32_MAX;
}

bool parity_settled(void) {
    return unsettled == 0;
}

bool parity_writes(uint32_t n) {
    for (uint32_t i = 0; i < STRIPES && unsettled > 0; i++) {
        if (stripes[i].state >= STRIPE_CLOSED && ppa_block(stripes[i].ppa) == n) {
            return true;
        }
    }
    return false;
}

void parity_forget(void) {
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        struct parity_point *p = &parity_points[i];
        if (p->open != NULL) {
            p->open->state = STRIPE_FREE;
        }
        p->open = NULL;
        p->place = 0;
        p->end = UINT32_MAX;
    }
    for (uint32_t at = 0; at < STRIPES * SECTORS * PAGE_SIZE; at += DRAM_ZERO_SIZE) {
        dram_zero(DRAM_PARITY + at, DRAM_ZERO_SIZE);
    }
}

bool parity_pending(uint32_t ppa) {
    for (uint32_t i = 0; i < STRIPES; i++) {
        struct stripe *s = &stripes[i];
        if (s->state == STRIPE_FREE || stripe_of(s->ppa) != stripe_of(ppa)) {
            continue;
        }
        if (s->state == STRIPE_OPEN) {
            parity_end((enum append_point)s->point);
        }
        return s->state != STRIPE_FREE;
    }
    return false;
}

void parity_poll(void) {
    work_clear(WORK_PARITY);
    for (uint32_t i = 0; i < STRIPES; i++) {
        if (stripes[i].state == STRIPE_CLOSED) {
            submit(&stripes[i]);
        }
    }
    rebuild_poll();
}

/* ---- pages of append points ---- */

enum parity_step parity_step_slow(enum append_point point, const struct sb_cursor *c, uint32_t ppa) {
    struct parity_point *p = &parity_points[point];
    p->waits = false;
    if (c->left <= p->end) {
        if (p->open != NULL) {
            /* What was left of it has gone bad, or stays blank. */
            close(p);
        }
        if (!begin(point, c)) {
            p->waits = true;
            return PARITY_WAIT;
        }
    }
    if (ppa == p->place) {
        return PARITY_SKIP;
    }
    for (uint32_t i = 0; i < STRIPES && p->closing > 0; i++) {
        const struct stripe *s = &stripes[i];
        if (s->state == STRIPE_CLOSED && s->point == point && same_die(s->ppa, ppa)) {
            p->waits = true;
            return PARITY_WAIT;
        }
    }
    return PARITY_TAKE;
}

/** Of `left` pages, one a channel from `channel` on: those before the channel of page `ppa`. */
static uint32_t before(uint32_t ppa, uint32_t channel, uint32_t left) {
    uint32_t pages = (ppa >> 28) - channel;
    return pages < left ? pages : left;
}

uint32_t parity_row(const struct sb_cursor *c) {
    const struct parity_point *p = &parity_points[APPEND_HOST];
    if (p->open == NULL || c->left <= p->end) {
        return 0;
    }
    uint32_t ppa = cursor_ppa(c);
    uint32_t left = c->left - p->end;
    if (((p->place ^ ppa) & 0xfffffffu) == 0) {
        left = before(p->place, c->channel, left);
    }
    for (uint32_t i = 0; i < STRIPES && p->closing > 0; i++) {
        const struct stripe *s = &stripes[i];
        if (s->state == STRIPE_CLOSED && s->point == APPEND_HOST && same_die(s->ppa & 0xfffffffu, ppa & 0xfffffffu)) {
            left = before(s->ppa, c->channel, left);
        }
    }
    return left;
}

void parity_placed_sector(struct ftl_write *w) {
    struct parity_point *p = &parity_points[APPEND_HOST];
    struct stripe *s = p->open;
    w->source.from = 0;
    if (s == NULL) {
        return;
    }
    s->low[0] ^= w->lba;
    s->mix[0] ^= mix(w->lba, w->ppa);
    xor_add(&s->sums[0], &w->source, w->buffer);
    s->placed++;
    if (--s->pages == 0) {
        close(p);
    }
}

void parity_placed_now(enum append_point point, struct ftl_write *first) {
    struct stripe *s = parity_points[point].open;
    for (struct ftl_write *w = first; w != NULL; w = ftl_write_next(w)) {
        w->source.from = 0;
        if (s == NULL) {
            continue;
        }
        uint32_t i = w->op->row & (nand_geo.sectors - 1);
        s->low[i] ^= parity_mark(w->op->data0);
        s->mix[i] ^= parity_mix(w->op->data0, nand_op_ppa(w->op));
        if (w->op->w2 != DRAM_ZERO) {
            xor_add(&s->sums[i], &w->source, w->op->w2);
        }
    }
    if (s == NULL) {
        return;
    }
    s->placed++;
    if (--s->pages == 0) {
        close(&parity_points[point]);
    }
}

bool parity_defers_now(enum parity_owner owner, struct ftl_write *first, void (*ended)(struct ftl_write *first)) {
    for (struct ftl_write *w = first; w != NULL; w = ftl_write_next(w)) {
        if (w->source.from != 0) {
            w->source.from |= XOR_AWAITED;
            w->first = first;
            first->owner = (uint8_t)owner;
            deferred[owner] = ended;
            return true;
        }
    }
    return false;
}

static void summed(struct xor_sum *sum, struct list *awaited) {
    while (!list_empty(awaited)) {
        struct ftl_write *first = CONTAINER(list_take(awaited), struct ftl_write, source.node)->first;
        enum parity_owner owner = first->owner;
        if (!parity_defers_now(owner, first, deferred[owner])) {
            deferred[owner](first);
        }
    }
    struct stripe *s = &stripes[(sum->at - DRAM_PARITY) / (SECTORS * PAGE_SIZE)];
    if (s->state == STRIPE_CLOSED) {
        submit(s);
    }
}
