/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that need the log to stand still, one after the other, and checkpoints beside which writes go on: who asks
 * for one, and what has to have ended before it runs.
 */
#include <string.h>

#include "ftl/append.h"
#include "ftl/cache.h"
#include "ftl/checkpoint.h"
#include "ftl/collect.h"
#include "ftl/ftl.h"
#include "ftl/parity.h"
#include "platform/console.h"
#include "platform/timer.h"
#include "platform/work.h"

struct exclusive_state exclusive;
static bool starting;
static struct ftl_checkpoint reclaim_checkpoint, log_checkpoint;
static struct ftl_exclusive mark_dirty;
/** Checkpoints that writes do not wait for; those that the running one is, which the first of them stands for. */
static struct list live_waiting;
static struct list live_batch;
static struct ftl_exclusive live;

/** When the log is old. */
static uint64_t log_old_at = TIMER_NEVER;

bool ftl_log_watched;

static void live_next(void);

/* ---- length and age of the log ---- */

/** Pages between two looks. */
#define LOG_LOOK 64u

static void log_young(void) {
    log_old_at = time_now() + (uint64_t)FTL_LOG_AGE * 1000000u * nand_geo.clock_mhz;
}

void ftl_log_restart(uint32_t trims, uint32_t copies) {
    ftl.log_start = ckpt.log.seq;
    ftl.log_due = ftl.log_start + ftl_bounds.log_least;
    ftl.log_trims -= trims;
    ftl.log_copies -= copies;
    ftl.log_gap = 0;
    if (log_old_at != TIMER_NEVER) {
        log_young();
    }
}

void ftl_log_watch(void) {
    ftl_log_watched = ftl.changed;
    log_old_at = TIMER_NEVER;
    if (ftl.changed && !ftl.read_only) {
        log_young();
    }
}

uint64_t ftl_log_old_at(void) {
    return log_old_at;
}

void ftl_log_age(void) {
    if (time_now() < log_old_at) {
        return;
    }
    ftl_log_watch();
    if (ftl.changed && !ftl.read_only) {
        ftl_checkpoint(&log_checkpoint);
    }
}

/** What recovery would go through, in pages. */
static uint32_t log_pages(void) {
    return ftl.seq - ftl.log_start - ftl.log_gap + ftl.log_trims + ftl.log_copies;
}

bool ftl_log_due(void) {
    uint32_t pages = log_pages();
    bool due = exclusive.live ? ftl_log_full()
                              : room_log_long() || pages >= ftl_bounds.log_most ||
                                    (pages >= ftl_bounds.log_least && pages >= FTL_LOG_PER_MAP * map.dirty_count);
    if (!due) {
        ftl.log_due = ftl.seq + LOG_LOOK;
    }
    return due;
}

bool ftl_log_full(void) {
    uint32_t most = ftl_bounds.log_most + ftl_bounds.log_most / 4;
    return log_pages() >= most;
}

/* ---- exclusive operations ---- */

static struct ftl_exclusive *first_exclusive(void) {
    return CONTAINER_OR_NULL(exclusive.waiting.first, struct ftl_exclusive, node);
}

/** Whether `x` writes pages, so that a root record that says "clean" has to go first. */
static bool writes_pages(const struct ftl_exclusive *x) {
    return x->run == ftl_trim_run || x->run == commit_run || (x->run == checkpoint_run && checkpoint_writes_pages());
}

/** No parity is on its way. Before the medium is marked clean the stripes that are open end, too: the next power-on
 * would know nothing of what is in them. */
static bool parity_ended(const struct ftl_exclusive *x) {
    if (x->run == checkpoint_run && ((const struct ftl_checkpoint *)x)->clean && !ftl.read_only) {
        for (uint32_t i = 0; i < APPEND_POINTS; i++) {
            parity_end((enum append_point)i);
        }
    }
    return parity_settled();
}

void exclusive_next(void) {
    if (starting) {
        /* Below on the stack: it goes on there. */
        return;
    }
    starting = true;
    while (exclusive.running == NULL && !list_empty(&exclusive.waiting) && !exclusive.live && ftl_in_flight() == 0 &&
           collect_idle() && parity_ended(first_exclusive())) {
        if (ftl.clean && !ftl.read_only && writes_pages(first_exclusive())) {
            exclusive.running = &mark_dirty;
            mark_dirty.queued = true;
            mark_dirty.run = checkpoint_mark_dirty_run;
        } else {
            exclusive.running = first_exclusive();
            list_take(&exclusive.waiting);
        }
        exclusive.running->run(exclusive.running);
    }
    starting = false;
}

void ftl_exclusive(struct ftl_exclusive *x) {
    if (x->queued) {
        return;
    }
    x->queued = true;
    list_put(&exclusive.waiting, &x->node);
    collect_pause();
    exclusive_next();
}

void ftl_exclusive_end(struct ftl_exclusive *x, enum ftl_status status) {
    exclusive.running = NULL;
    x->queued = false;
    if (x->done != NULL) {
        x->done(x, status);
    }
    exclusive_next();
    work_set(WORK_COLLECT);
    cache_look();
    live_next();
    if (!ftl_paused()) {
        ftl_kick();
    }
}

struct ftl_exclusive *ftl_exclusive_join(void (*run)(struct ftl_exclusive *x)) {
    struct ftl_exclusive *x = first_exclusive();
    if (x == NULL || x->run != run) {
        return NULL;
    }
    list_take(&exclusive.waiting);
    return x;
}

void ftl_exclusive_resume(struct ftl_exclusive *x) {
    exclusive.running = x;
}

struct ftl_exclusive *ftl_running(void) {
    return exclusive.running;
}

void ftl_settled(void) {
    exclusive_next();
    checkpoint_look();
}

void ftl_prepare_pages(void) {
    if (ftl.clean) {
        mark_dirty.run = checkpoint_mark_dirty_run;
        ftl_exclusive(&mark_dirty);
    } else {
        ftl_checkpoint(&log_checkpoint);
    }
}

void ftl_reclaim(void) {
    if (!ftl.reclaim) {
        ftl.reclaim = true;
        ftl_checkpoint(&reclaim_checkpoint);
    }
}

void ftl_checkpoint(struct ftl_checkpoint *c) {
    c->x.run = checkpoint_run;
    if (c->clean) {
        ftl_exclusive(&c->x);
    } else if (!c->x.queued) {
        c->x.queued = true;
        list_put(&live_waiting, &c->x.node);
        live_next();
    }
}

/* ---- checkpoints beside which writes go on ---- */

/** Begin one for all that wait. */
static void live_next(void) {
    if (exclusive.live || ftl_paused() || list_empty(&live_waiting)) {
        return;
    }
    if (ftl.clean && !ftl.read_only && checkpoint_writes_pages()) {
        mark_dirty.run = checkpoint_mark_dirty_run;
        ftl_exclusive(&mark_dirty);
        return;
    }
    exclusive.live = true;
    live_batch = list_take_all(&live_waiting);
    checkpoint_live(&live);
}

void ftl_live_end(enum ftl_status status) {
    struct list ended = list_take_all(&live_batch);
    exclusive.live = false;
    if (!list_empty(&exclusive.waiting)) {
        collect_pause();
    }
    while (!list_empty(&ended)) {
        struct ftl_exclusive *x = CONTAINER(list_take(&ended), struct ftl_exclusive, node);
        x->queued = false;
        if (x->done != NULL) {
            x->done(x, status);
        }
    }
    work_set(WORK_COLLECT);
    exclusive_next();
    live_next();
    cache_look();
    if (!ftl_paused()) {
        ftl_kick();
    }
}

/** A checkpoint that the FTL asked for has ended. */
static void own_done(struct ftl_exclusive *x, enum ftl_status status) {
    ftl.reclaim = reclaim_checkpoint.x.queued;
    if (status != FTL_OK) {
        console_printf("ftl: checkpoint failed%s\n", ftl.read_only ? ": nothing more is written" : "");
        if (!ftl.read_only) {
            ftl_checkpoint((struct ftl_checkpoint *)x);
        }
    }
}

void exclusive_init(void) {
    exclusive = (struct exclusive_state){0};
    live_waiting = live_batch = (struct list){0};
    memset(&mark_dirty, 0, sizeof mark_dirty);
    memset(&reclaim_checkpoint, 0, sizeof reclaim_checkpoint);
    reclaim_checkpoint.x.done = own_done;
    log_checkpoint = reclaim_checkpoint;
    starting = false;
}
