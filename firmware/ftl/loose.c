/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loose pages: written to the log, out of the map. They enter it all at once, by a checkpoint, or are given up.
 *
 * The map is changed entry by entry while nothing else writes, and the list then holds what the entries were before:
 * going through it once more undoes everything.
 */
#include "ftl/ftl.h"

/** Entries a slice. */
#define SLICE 128u

static struct {
    struct ftl_loose *first; /**< operation that runs; others share its checkpoint */
    struct ftl_loose *last;  /**< the latest of them: `batch` leads back to the first */
    struct ftl_loose *now;   /**< whose list is gone through */
    struct ftl_exclusive checkpoint;
    bool undo;
    enum ftl_status status; /**< that dropping them ends with */
} run;

static void end(enum ftl_status status) {
    struct ftl_loose *l = run.last;
    struct ftl_loose *first = run.first;
    ftl_slices(NULL);
    while (l != first) {
        struct ftl_loose *next = l->batch;
        l->x.queued = false;
        l->x.done(&l->x, status);
        l = next;
    }
    ftl_exclusive_end(&first->x, status);
}

static void checkpointed(struct ftl_exclusive *x, enum ftl_status status);

/** Swap a few entries of the list with the map's. */
static void swap_slice(void) {
    struct ftl_loose *l = run.now;
    for (uint32_t budget = SLICE; budget > 0 && l->at < l->count; budget--, l->at++) {
        uint32_t entry = l->list + l->at * 8;
        uint32_t lba = hal_read(entry);
        uint32_t ppa = hal_read(entry + 4);
        hal_write(entry + 4, map_set(lba, ppa));
        if (!run.undo) {
            superblock_loose_add(ppa_block(ppa), -1);
        }
    }
    if (l->at < l->count) {
        return;
    }
    if (run.undo) {
        run.now = l->batch;
        if (run.now == NULL) {
            end(FTL_MEDIA);
        } else {
            run.now->at = 0;
        }
        return;
    }
    struct ftl_loose *more = (struct ftl_loose *)ftl_exclusive_join(loose_map_run);
    if (more != NULL) {
        more->at = 0;
        more->batch = l;
        run.now = run.last = more;
        return;
    }
    ftl_slices(NULL);
    ftl.changed = true;
    run.checkpoint = (struct ftl_exclusive){.done = checkpointed};
    checkpoint_start(&run.checkpoint, false);
}

static void checkpointed(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    ftl_exclusive_resume(&run.first->x);
    if (status == FTL_OK) {
        end(FTL_OK);
        return;
    }
    /* The old root holds: back to what it says, in the opposite order. */
    run.undo = true;
    run.now = run.last;
    run.now->at = 0;
    ftl_slices(swap_slice);
}

static void drop_slice(void);

void loose_map_run(struct ftl_exclusive *x) {
    run.first = run.last = run.now = (struct ftl_loose *)x;
    run.first->at = 0;
    run.first->batch = NULL;
    run.undo = false;
    run.status = FTL_MEDIA;
    ftl_slices(ftl.read_only ? drop_slice : swap_slice);
}

void ftl_loose_map(struct ftl_loose *l) {
    l->x.run = loose_map_run;
    ftl_exclusive(&l->x);
}

/* ---- giving up ---- */

static void drop_slice(void) {
    struct ftl_loose *l = run.first;
    for (uint32_t budget = SLICE; budget > 0 && l->at < l->count; budget--, l->at++) {
        uint32_t ppa = hal_read(l->list + l->at * 8 + 4);
        if (ppa != 0) {
            superblock_loose_add(ppa_block(ppa), -1);
        }
    }
    if (l->at == l->count) {
        end(run.status);
    }
}

static void loose_drop_run(struct ftl_exclusive *x) {
    run.first = run.last = (struct ftl_loose *)x;
    run.first->at = 0;
    run.status = FTL_OK;
    ftl_slices(drop_slice);
}

void ftl_loose_drop(struct ftl_loose *l) {
    l->x.run = loose_drop_run;
    ftl_exclusive(&l->x);
}
