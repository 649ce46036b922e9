/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/meta.h"

#include <assert.h>
#include <string.h>

#include "ftl/area.h"
#include "ftl/bad.h"
#include "ftl/checkpoint.h"
#include "ftl/pairs.h"

static struct {
    struct meta_page pages[META_PAGES];
    uint32_t used; /**< of them, a bit each */
    uint32_t in_flight;
    uint32_t tries; /**< places that turned out bad */
} meta;

static_assert(META_PAGES * PAGE_SIZE <= DRAM_META_COPIES_SIZE, "copies of pages");

void meta_begin(void) {
    memset(&meta, 0, sizeof meta);
}

struct meta_page *meta_get(void) {
    uint32_t n = 0;
    while ((meta.used >> n & 1) != 0) {
        if (++n == META_PAGES) {
            return NULL;
        }
    }
    struct meta_page *p = &meta.pages[n];
    p->ops[0] = nand_op_get();
    p->ops[1] = nand_op_get();
    if (p->ops[1] == NULL) {
        if (p->ops[0] != NULL) {
            nand_op_put(p->ops[0]);
        }
        return NULL;
    }
    meta.used |= 1u << n;
    meta.in_flight++;
    return p;
}

void meta_put(struct meta_page *p) {
    nand_op_put(p->ops[0]);
    nand_op_put(p->ops[1]);
    meta.used &= ~(1u << (p - meta.pages));
    meta.in_flight--;
}

uint32_t meta_in_flight(void) {
    return meta.in_flight;
}

uint32_t meta_buffer(const struct meta_page *p) {
    return DRAM_META_COPIES + (uint32_t)(p - meta.pages) * PAGE_SIZE;
}

static void copy_ended(struct nand_op *op, uint32_t status);

/** Program both copies. False: the area is full. */
static bool place(struct meta_page *p) {
    uint32_t ppa = area_take();
    if (ppa == 0) {
        return false;
    }
    uint32_t at[2] = {ppa, area_partner(ppa)};
    p->failed = false;
    p->any = false;
    p->in_flight = 0;
    for (uint32_t i = 0; i < 2; i++) {
        if (!bad_at(at[i])) {
            p->in_flight++;
            p->ops[i]->done = copy_ended;
            p->ops[i]->arg = p;
            nand_program(p->ops[i], at[i], p->data, p->tag, ckpt.stamp);
            nand_submit(p->ops[i]);
        }
    }
    return true;
}

/** Whether the program of page `ppa`, of which no copy was written, has taken both copies of another page along. */
static bool takes_along(uint32_t ppa) {
    uint32_t page = (ppa_row(ppa) & (nand_geo.pages - 1)) >> nand_geo.sector_log2;
    return nand_geo.paired && pairs_lower(page) != UINT32_MAX;
}

static void copy_ended(struct nand_op *op, uint32_t status) {
    struct meta_page *p = op->arg;
    uint32_t ppa = nand_op_ppa(op);
    p->in_flight--;
    if (status == FLASH_STATUS_OK) {
        bad_worked(ppa);
        /* A mount reads what is named: from the first half of the dies every other stripe, then from the other half. */
        if (!p->any || op == p->ops[ppa >> nand_geo.sector_log2 & 1]) {
            p->ppa = ppa;
        }
        p->any = true;
    } else {
        /* Others in flight to a block that has just failed may fail with it. */
        meta.tries += !bad_at(ppa);
        p->failed = true;
        /* It may have taken a page along that this checkpoint has written: that one has its other copy only.
         * Where it has none, the checkpoint fails. */
        bad.rewrite |= nand_geo.paired;
        if (area_spares(ppa)) {
            bad_block(ppa, BAD_PROGRAM);
        }
    }
    if (p->in_flight == 0 && !p->any && takes_along(ppa)) {
        p->done(p, false);
        return;
    }
    if (p->in_flight > 0 || (p->failed && meta.tries <= META_TRIES && place(p))) {
        return;
    }
    p->done(p, p->ppa != 0);
}

void meta_write(struct meta_page *p, void (*done)(struct meta_page *p, bool ok)) {
    p->ppa = 0;
    p->done = done;
    if (!place(p)) {
        done(p, false);
    }
}
