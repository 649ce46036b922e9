/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Uncommitted pages: written to the log, out of the map. They enter it all at once, by a checkpoint, or are given up.
 *
 * The map is changed entry by entry while nothing else writes, and the list then holds what the entries were before:
 * going through it once more undoes everything.
 */
#include "ftl/ftl.h"
#include "ftl/pairs.h"
#include "platform/work.h"

/** Entries a slice. */
#define SLICE 128u

static struct {
    struct ftl_commit *first; /**< operation that runs; others share its checkpoint */
    struct ftl_commit *last;  /**< the latest of them: `batch` leads back to the first */
    struct ftl_commit *now;   /**< whose list is gone through */
    struct ftl_exclusive checkpoint;
    bool undo;
} job;
/** Lists that are given up, one after the other. */
static struct list discards;

void commit_init(void) {
    discards = (struct list){0};
    work_clear(WORK_DISCARD);
}

static void end(enum ftl_status status) {
    struct ftl_commit *l = job.last;
    struct ftl_commit *first = job.first;
    ftl_slices(NULL);
    while (l != first) {
        struct ftl_commit *next = l->batch;
        l->x.queued = false;
        l->x.done(&l->x, status);
        l = next;
    }
    ftl_exclusive_end(&first->x, status);
}

/** Unpin a few pages of the list. True at its end. */
static bool drop(struct ftl_commit *l) {
    for (uint32_t budget = SLICE; budget > 0 && l->at < l->count; budget--, l->at++) {
        uint32_t ppa = hal_read(l->list + l->at * 8 + 4);
        if (ppa != 0) {
            superblock_pin(ppa_block(ppa), -1);
        }
    }
    if (sb.pinned == 0) {
        pairs_gone_count = 0;
    }
    return l->at == l->count;
}

/** Whether a page of the list has been lost: then none of them enters the map. */
static bool spoilt(const struct ftl_commit *l) {
    for (uint32_t i = 0; i < l->count && pairs_gone_count > 0; i++) {
        if (pairs_gone(hal_read(l->list + i * 8 + 4))) {
            return true;
        }
    }
    return false;
}

static void checkpointed(struct ftl_exclusive *x, enum ftl_status status);

/** Swap a few entries of the list with the map's. */
static void swap_slice(void) {
    struct ftl_commit *l = job.now;
    for (uint32_t budget = SLICE; budget > 0 && l->at < l->count; budget--, l->at++) {
        uint32_t entry = l->list + l->at * 8;
        uint32_t lba = hal_read(entry);
        uint32_t ppa = hal_read(entry + 4);
        hal_write(entry + 4, map_set(lba, ppa));
        if (!job.undo) {
            superblock_pin(ppa_block(ppa), -1);
        }
    }
    if (l->at < l->count) {
        return;
    }
    if (job.undo) {
        job.now = l->batch;
        if (job.now == NULL) {
            end(FTL_MEDIA);
        } else {
            job.now->at = 0;
        }
        return;
    }
    struct ftl_commit *more;
    while ((more = (struct ftl_commit *)ftl_exclusive_join(commit_run)) != NULL && spoilt(more)) {
        more->at = 0;
        while (!drop(more)) {
        }
        more->x.queued = false;
        more->x.done(&more->x, FTL_MEDIA);
    }
    if (more != NULL) {
        more->at = 0;
        more->batch = l;
        job.now = job.last = more;
        return;
    }
    ftl_slices(NULL);
    ftl.changed = true;
    job.checkpoint = (struct ftl_exclusive){.done = checkpointed};
    checkpoint_start(&job.checkpoint, false);
}

static void checkpointed(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    ftl_exclusive_resume(&job.first->x);
    if (status == FTL_OK) {
        end(FTL_OK);
        return;
    }
    /* The old root holds: back to what it says, in the opposite order. */
    job.undo = true;
    job.now = job.last;
    job.now->at = 0;
    ftl_slices(swap_slice);
}

static void drop_slice(void) {
    if (drop(job.first)) {
        end(FTL_MEDIA);
    }
}

void commit_run(struct ftl_exclusive *x) {
    job.first = job.last = job.now = (struct ftl_commit *)x;
    job.first->at = 0;
    job.first->batch = NULL;
    job.undo = false;
    bool go = !ftl.read_only && !spoilt(job.first);
    ftl.unlogged |= go;
    ftl_slices(go ? swap_slice : drop_slice);
}

void ftl_commit(struct ftl_commit *l) {
    l->x.run = commit_run;
    ftl_exclusive(&l->x);
}

/* ---- giving up ---- */

void ftl_discard(struct ftl_commit *l) {
    l->at = 0;
    list_put(&discards, &l->x.node);
    work_set(WORK_DISCARD);
}

bool ftl_discarding(void) {
    return !list_empty(&discards);
}

void ftl_discard_poll(void) {
    struct ftl_commit *l = CONTAINER(discards.first, struct ftl_commit, x.node);
    if (drop(l)) {
        list_take(&discards);
        work_put(WORK_DISCARD, !list_empty(&discards));
        l->x.done(&l->x, FTL_OK);
    }
}
