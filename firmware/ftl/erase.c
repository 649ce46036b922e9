// SPDX-License-Identifier: BSD-3-Clause
/*
 * Erasing all user data, the second half of a trim that asks for it. The map is empty by now; a checkpoint makes that
 * durable and moves the start of the log behind everything written. From there on a power loss leaves an empty drive,
 * whichever blocks have been erased.
 */
#include "ftl/append.h"
#include "ftl/collect.h"
#include "ftl/ftl.h"
#include "platform/console.h"

static struct {
    struct ftl_exclusive *owner;
    struct ftl_exclusive checkpoint;
    struct sb_erase erase;
    uint32_t sb; /**< superblock that is being erased */
    bool failed; /**< some block may hold data yet */
    bool stop;
    uint32_t failures; /**< how many of them */
    uint32_t bad;      /**< superblocks that were bad before */
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

/** Superblocks retired here have to be on the medium before the log goes on; the erase counts go with them. */
static void finish(void) {
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        if (append[i].erase.active) {
            /* A superblock opened ahead. */
            return;
        }
    }
    job.failed |= sb.bad != job.bad;
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

static void erased(struct sb_erase *e, bool ok) {
    if (!ok) {
        console_printf("ftl: superblock %u retired: %u of its blocks not erased; it may hold old data\n", e->sb,
                       e->failures);
        superblock_set_state(e->sb, SB_BAD);
        job.failed = true;
        job.failures += e->failures;
    }
    job.sb++;
    erase_next();
}

/** Whether superblock `n` may hold user data. One that was never opened since the format because of the marks it came
 * with may not, and an erase would take the marks away. */
static bool to_erase(uint32_t n) {
    return sb.state[n] == SB_FREE || (sb.state[n] == SB_BAD && superblock_erases(n) > 0);
}

static void erase_next(void) {
    while (job.sb < sb.count && !to_erase(job.sb)) {
        job.sb++;
    }
    if (job.sb < sb.count && job.stop) {
        job.failed = true;
        ftl_slices(finish);
    } else if (job.sb < sb.count) {
        superblock_erase(&job.erase, job.sb, erased);
    } else {
        ftl_slices(finish);
    }
}

/** Once requests that have ended have given up their pages: until then these are in use. */
static void begin(void) {
    if (ftl_discarding()) {
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
    job.bad = sb.bad;
    append_close(APPEND_HOST);
    append_close(APPEND_COPY);
    ftl.changed = true;
    job.checkpoint = (struct ftl_exclusive){.done = emptied};
    checkpoint_start(&job.checkpoint, false);
}
