// SPDX-License-Identifier: BSD-3-Clause
/* Trims: a record in the log, or, when that is too long or takes no more, a checkpoint; then the map changes. */
#include <string.h>

#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/ftl.h"
#include "ftl/pairs.h"
#include "ftl/parity.h"
#include "ftl/summary.h"
#include "lib/crc.h"

#define MAX_TRIES 3u

/** Waits for a page of the log, or for an operation. */
static struct ftl_trim *trim_waiting;
/** The record on its way, as the parity of its stripe takes it. */
static struct ftl_write record;

void trim_init(void) {
    trim_waiting = NULL;
    memset(&record, 0, sizeof record);
    work_clear(WORK_TRIM);
}

static void trim_program(struct ftl_trim *t);
static void trim_slice(void);

uint32_t ftl_trim_crc(void) {
    uint32_t count = hal_read(DRAM_TRIM + 4);
    uint32_t crc = 0;
    for (uint32_t at = 4; at < 8 + count * 8; at += 4) {
        crc = crc32c_word(crc, hal_read(DRAM_TRIM + at));
    }
    return crc;
}

static void trim_next_range(struct ftl_trim *t) {
    while (t->left == 0 && t->range < t->count) {
        t->lba = hal_read(DRAM_TRIM + 8 + t->range * 8);
        t->left = hal_read(DRAM_TRIM + 12 + t->range * 8);
        t->range++;
    }
}

/** Start changing the map; ftl_poll goes on with it. */
static void trim_apply(struct ftl_trim *t) {
    t->range = 0;
    t->left = 0;
    trim_next_range(t);
    /* What an entry names that no record tells of may not be erased. */
    ftl.unlogged |= t->unlogged;
    ftl_slices(trim_slice);
}

static void record_ended(struct ftl_write *w) {
    struct nand_op *op = w->op;
    struct ftl_trim *t = op->arg;
    if (parity_defers(PARITY_TRIM, w, record_ended)) {
        return;
    }
    summary_ended(t->note, !w->failed);
    if (w->failed) {
        if (++t->tries < MAX_TRIES) {
            trim_program(t);
        } else {
            nand_op_put(op);
            ftl_exclusive_end(&t->x, FTL_MEDIA);
        }
        return;
    }
    /* The record lasts until the next checkpoint: its superblock is open, or part of the log. */
    nand_op_put(op);
    trim_apply(t);
}

static void trim_programmed(struct nand_op *op, uint32_t status) {
    record.failed = status != FLASH_STATUS_OK;
    if (record.failed) {
        bad_block(nand_op_ppa(op), BAD_PROGRAM);
    }
    record_ended(&record);
}

static void trim_program(struct ftl_trim *t) {
    uint32_t seq;
    if (t->op == NULL) {
        t->op = nand_op_get();
    }
    /* The record's page is none that may take another one with it. */
    pairs_expose(APPEND_HOST);
    uint32_t ppa = t->op != NULL && !ftl_read_only() ? ftl_page(&seq) : 0;
    if (ppa == 0) {
        if (t->op != NULL && !append_pending(APPEND_HOST)) {
            /* No page is left for the record: a checkpoint makes the trim durable instead, so that a full drive can be
             * emptied. */
            nand_op_put(t->op);
            t->unlogged = true;
            trim_apply(t);
        } else {
            trim_waiting = t;
            work_set(WORK_TRIM);
        }
        return;
    }
    t->op->done = trim_programmed;
    t->op->arg = t;
    t->note = append[APPEND_HOST].note;
    summary_note(t->note, 0, OOB_TRIM);
    nand_program(t->op, ppa, DRAM_TRIM, OOB_TRIM, seq);
    record.op = t->op;
    record.node.next = NULL;
    parity_placed(APPEND_HOST, &record);
    pairs_expose(APPEND_HOST);
    nand_submit(t->op);
}

void ftl_trim_run(struct ftl_exclusive *x) {
    struct ftl_trim *t = (struct ftl_trim *)x;
    if (ftl.read_only) {
        ftl_exclusive_end(x, FTL_MEDIA);
        return;
    }
    t->prepare(t);
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        blocks += hal_read(DRAM_TRIM + 12 + i * 8);
    }
    t->op = NULL;
    t->tries = 0;
    t->unlogged = t->erase || blocks > FTL_TRIM_LOGGED;
    if (t->unlogged) {
        trim_apply(t);
        return;
    }
    hal_write(DRAM_TRIM, OOB_TRIM);
    hal_write(DRAM_TRIM + 4, t->count);
    hal_write(DRAM_TRIM + FTL_TRIM_CRC_AT, ftl_trim_crc());
    trim_program(t);
}

void ftl_trim(struct ftl_trim *t) {
    t->x.run = ftl_trim_run;
    if (t->erase) {
        erase_announce();
    }
    ftl_exclusive(&t->x);
}

static void trim_slice(void) {
    struct ftl_trim *t = (struct ftl_trim *)ftl_running();
    uint32_t budget = 256;
    while (budget > 0 && t->left > 0) {
        /* Skip what has no map page at one step. */
        if (map_page(t->lba) == DRAM_ZERO) {
            uint32_t skip = MAP_ENTRIES - (t->lba & (MAP_ENTRIES - 1));
            if (skip > t->left) {
                skip = t->left;
            }
            t->lba += skip;
            t->left -= skip;
        } else {
            map_set(t->lba, 0);
            t->lba++;
            t->left--;
        }
        trim_next_range(t);
        budget--;
    }
    ftl.log_trims += (256 - budget) / FTL_TRIM_PER_PAGE;
    if (t->left == 0) {
        ftl_slices(NULL);
        if (t->erase) {
            erase_start(&t->x);
        } else if (t->unlogged) {
            ftl.changed = true;
            checkpoint_start(&t->x, false);
        } else {
            if (ftl_log_due()) {
                ftl_prepare_pages();
            }
            ftl_exclusive_end(&t->x, FTL_OK);
        }
    }
}

void ftl_trim_poll(void) {
    struct ftl_trim *t = trim_waiting;
    trim_waiting = NULL;
    work_clear(WORK_TRIM);
    trim_program(t);
}
