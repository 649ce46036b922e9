// SPDX-License-Identifier: BSD-3-Clause
/*
 * Erasing all user data, the second half of a trim that asks for it. The map is empty by now; a checkpoint makes that
 * durable and moves the start of the log behind everything written. From there on a power loss leaves an empty drive,
 * whichever blocks have been erased.
 */
#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/collect.h"
#include "ftl/ftl.h"
#include "ftl/parity.h"
#include "platform/console.h"

static struct {
    struct ftl_exclusive *owner;
    struct ftl_exclusive checkpoint;
    struct sb_erase erase;
    uint32_t sb; /**< superblock that is being erased */
    bool failed; /**< some block may hold data yet */
    bool stop;
    uint32_t failures; /**< how many of them */
    uint32_t entry;    /**< progress in the list of bad blocks */
    uint32_t entries;  /**< of it when it began */
} job;

uint32_t ftl_erase_progress(void) {
    return job.sb >= sb.count ? 0xffffu : (uint32_t)(((uint64_t)job.sb << 16) / sb.count);
}

void erase_announce(void) {
    job.stop = false;
}

void ftl_erase_stop(void) {
    job.stop = true;
}

uint32_t ftl_erase_failures(void) {
    return job.failures;
}

static void ended(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    ftl_exclusive_resume(job.owner);
    ftl_exclusive_end(job.owner, job.failed ? FTL_MEDIA : status);
}

/** Blocks left out here have to be on the medium before the log goes on; the erase counts go with them. */
static void finish(void) {
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        if (append[i].erase.active) {
            /* A superblock opened ahead. */
            return;
        }
    }
    for (uint32_t i = job.entries; i < bad.count; i++) {
        job.failed |= bad_grown(i);
    }
    for (uint32_t n = checkpoint_meta_superblocks(); n < sb.count; n++) {
        /* None is in use any more but those that are opened ahead. */
        job.failed |= sb.state[n] != SB_FREE && sb.state[n] != SB_BAD && sb.state[n] != SB_OPEN;
    }
    ftl_slices(NULL);
    ftl.changed = true;
    job.checkpoint = (struct ftl_exclusive){.done = ended};
    checkpoint_start(&job.checkpoint, false);
}

static void erase_next(void);
static void erase_left_out(void);

static void erased(struct sb_erase *e, bool ok) {
    if (!ok) {
        console_printf("ftl: superblock %u: %u of its blocks not erased; they may hold old data\n", e->sb, e->failures);
        superblock_spoilt(e->sb);
        job.failed = true;
        job.failures += e->failures;
    }
    job.sb++;
    erase_next();
}

static void left_out_erased(struct nand_op *op, uint32_t status) {
    nand_op_put(op);
    if (status != FLASH_STATUS_OK) {
        job.failed = true;
        job.failures++;
    }
    job.entry++;
    erase_left_out();
}

/** Blocks that became bad in use may hold user data too, if they can be erased or not. They stay left out. */
static void erase_left_out(void) {
    while (job.entry < job.entries && !bad_grown(job.entry)) {
        job.entry++;
    }
    struct nand_op *op = job.entry < job.entries && !job.stop ? nand_op_get() : NULL;
    if (op != NULL) {
        op->done = left_out_erased;
        nand_erase(op, bad_ppa(job.entry));
        nand_submit(op);
        ftl_slices(NULL);
    } else if (job.entry < job.entries && !job.stop) {
        /* Operations will be free again. */
        ftl_slices(erase_left_out);
    } else {
        job.failed |= job.entry < job.entries;
        ftl_slices(finish);
    }
}

static void erase_next(void) {
    while (job.sb < sb.count && sb.state[job.sb] != SB_FREE) {
        job.sb++;
    }
    if (job.sb < sb.count && job.stop) {
        job.failed = true;
        ftl_slices(finish);
    } else if (job.sb < sb.count) {
        superblock_erase(&job.erase, job.sb, erased);
    } else {
        erase_left_out();
    }
}

/** Once requests that have ended have given up their pages, and no parity is on its way: until then these are in use.
 */
static void begin(void) {
    if (ftl_discarding() || !parity_settled()) {
        return;
    }
    ftl_slices(NULL);
    collect_forget();
    /* All but those that are opened ahead, which have just been erased or will be. */
    superblock_release();
    job.sb = checkpoint_meta_superblocks();
    erase_next();
}

static void emptied(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    ftl_exclusive_resume(job.owner);
    if (status != FTL_OK) {
        ftl_exclusive_end(job.owner, status);
        return;
    }
    ftl_slices(begin);
}

void erase_start(struct ftl_exclusive *x) {
    job.owner = x;
    job.failed = false;
    job.failures = 0;
    job.sb = 0;
    job.entry = 0;
    job.entries = bad.count;
    parity_forget();
    append_close(APPEND_HOST);
    append_close(APPEND_COPY);
    ftl.changed = true;
    job.checkpoint = (struct ftl_exclusive){.done = emptied};
    checkpoint_start(&job.checkpoint, false);
}
