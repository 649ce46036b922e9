/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/ftl.h"

#include <string.h>

#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/checkpoint.h"
#include "ftl/collect.h"
#include "ftl/root.h"
#include "platform/console.h"
#include "platform/work.h"

struct ftl_state ftl;
uint32_t ftl_owner_data[FTL_OWNER_BYTES / 4];
void (*ftl_owner_update)(void);
void (*ftl_spare_fell)(void);

#define HASH      256u
#define MAX_TRIES 3u
/** Of a write that the host believes written. */
#define CACHED_TRIES 16u

static struct ftl_write *inflight[HASH];
/** Writes that wait for room, or for an exclusive operation. */
static struct list waiting;
/** Writes to be started: whatever ends one may let another go, which may end at once, and so on. */
static struct list ready;
static bool pumping;
/** The last page that was asked for was not to be had yet. */
static bool stalled;
/** Writes of the next page, ftl.gathered of them. */
static struct {
    struct list list;
    bool due; /**< somebody waits for it: it goes out, once nothing more is on the way to it */
} gather;
static struct list drains;
static struct list exclusives;
static struct ftl_exclusive *running;
static bool exclusive_starting;
static struct ftl_checkpoint reclaim_checkpoint, log_checkpoint;
static struct ftl_exclusive mark_dirty;
/** Checkpoints that writes do not wait for; those that the running one is, which the first of them stands for. */
static struct list live_waiting;
static struct list live_batch;
static struct ftl_exclusive live;
static bool live_runs;

static void exclusive_next(void);
static void live_next(void);
static void pump(void);

/* ---- length of the log ---- */

/** Pages between two looks. */
#define LOG_LOOK 64u

void ftl_log_restart(uint32_t trims, uint32_t copies) {
    ftl.log_start = ckpt.log.seq;
    ftl.log_due = ftl.log_start + FTL_LOG_LEAST;
    ftl.log_trims -= trims;
    ftl.log_copies -= copies;
}

bool ftl_log_due(void) {
    if (live_runs) {
        return ftl_log_full();
    }
    uint32_t pages = ftl.seq - ftl.log_start + ftl.log_trims + ftl.log_copies;
    if (room_log_long() || pages >= ftl_bounds.log_most ||
        (pages >= FTL_LOG_LEAST && pages >= FTL_LOG_PER_MAP * map.dirty_count)) {
        return true;
    }
    ftl.log_due = ftl.seq + LOG_LOOK;
    return false;
}

bool ftl_log_full(void) {
    uint32_t most = ftl_bounds.log_most + ftl_bounds.log_most / 4;
    return ftl.seq - ftl.log_start + ftl.log_trims + ftl.log_copies >= most;
}

/* ---- pages ---- */

void ftl_turn(void) {
    ftl.turn ^= 1;
}

uint32_t ftl_turn_left(void) {
    return ftl.in_turn[ftl.turn ^ 1];
}

uint32_t ftl_page(uint32_t *seq) {
    uint32_t ppa = append_page(APPEND_HOST);
    if (ppa != 0) {
        *seq = ftl.seq;
        ftl.seq += nand_geo.sectors;
        collect_paid(nand_geo.sectors);
    }
    return ppa;
}

/** Take the next page of the log: its first sector, whose sequence number is `*seq`. Returns 0 when that must wait or
 * fails; `*full` tells which. */
static uint32_t alloc(uint32_t *seq, bool *full) {
    *full = false;
    if (!collect_allows()) {
        return 0;
    }
    uint32_t ppa = ftl_page(seq);
    /* A write in flight may yet make a sector stale. */
    *full = ppa == 0 && !append_pending(APPEND_HOST) && !ftl.reclaim && ftl.in_flight == 0 && collect_idle() &&
            collect_spent();
    return ppa;
}

/* ---- lists of writes ---- */

/** The first of `l`. */
static struct ftl_write *first_of(const struct list *l) {
    return CONTAINER_OR_NULL(l->first, struct ftl_write, node);
}

/** Take the first of `l`, which is not empty. */
static struct ftl_write *take_first(struct list *l) {
    return CONTAINER(list_take(l), struct ftl_write, node);
}

bool ftl_paused(void) {
    return running != NULL || (!list_empty(&exclusives) && !live_runs);
}

/** Start `w`, or start it again. */
static void start(struct ftl_write *w) {
    list_put(&ready, &w->node);
    pump();
}

/* ---- the write cache ---- */

/** Whether a write may be taken now. */
static bool cache_open(void) {
    return ftl_has_cache() && !ftl.cache_off && !ftl.read_only && list_empty(&drains) && ftl.cached < FTL_CACHE &&
           !ftl_read_only();
}

/** Take `w` if that may be. */
static void take(struct ftl_write *w) {
    if (!w->taken && w->take != NULL && cache_open()) {
        w->taken = 1;
        ftl.cached++;
        w->take(w);
    }
}

static void drains_end(enum ftl_status status) {
    while (!list_empty(&drains)) {
        struct ftl_drain *d = CONTAINER(list_take(&drains), struct ftl_drain, node);
        d->done(d, status);
    }
}

/** End the drains when the cache is empty, or when it cannot be emptied. */
static void drains_look(void) {
    if (list_empty(&drains) || (ftl.cached > 0 && !ftl.read_only)) {
        return;
    }
    bool lost = ftl.lost;
    if (ftl.cached == 0) {
        ftl.lost = false;
    }
    drains_end(lost || ftl.cached > 0 ? FTL_MEDIA : FTL_OK);
}

/** `w`, which was taken, has ended. */
static void cache_leave(const struct ftl_write *w, enum ftl_status status) {
    ftl.cached--;
    if (status != FTL_OK) {
        ftl.lost = true;
        console_printf("ftl: block %u is lost: it was in the write cache, and no page took it\n", w->lba);
    }
    drains_look();
    /* Who found the cache full. */
    for (struct ftl_write *o = first_of(&gather.list); o != NULL; o = ftl_write_next(o)) {
        take(o);
    }
}

struct ftl_write *ftl_cached(uint32_t lba) {
    struct ftl_write *newest = NULL;
    for (struct ftl_write *w = inflight[lba % HASH]; w != NULL; w = w->chain) {
        if (w->lba == lba && w->taken) {
            newest = w;
        }
    }
    return newest;
}

void ftl_drain(struct ftl_drain *d) {
    list_push(&drains, &d->node);
    drains_look();
    pump();
}

/* ---- writes ---- */

/** Take `w` out of the hash and let the next write to its LBA go. */
static void leave(struct ftl_write *w) {
    struct ftl_write **p = &inflight[w->lba % HASH];
    while (*p != w) {
        p = &(*p)->chain;
    }
    *p = w->chain;
    for (struct ftl_write *o = inflight[w->lba % HASH]; o != NULL; o = o->chain) {
        if (o->lba == w->lba) {
            o->blocked = 0;
            start(o);
            return;
        }
    }
}

static void finish(struct ftl_write *w, enum ftl_status status) {
    if (!w->uncommitted) {
        leave(w);
    }
    if (w->taken) {
        cache_leave(w, status);
    }
    w->done(w, status);
}

/** The program that begins with `w` has ended: all its pages are programmed, or have to be written again. */
static void program_ended(struct ftl_write *w) {
    bool ok = !w->failed;
    uint32_t pages = 0;
    /* Nothing that has to see the map of all of them starts before the last one. */
    pumping = true;
    while (w != NULL) {
        struct ftl_write *next = ftl_write_next(w);
        bool page = w->op->confirm != FLASH_CONFIRM_MORE;
        pages += page;
        ftl.in_turn[w->turn] -= page;
        w->op->confirm = FLASH_CONFIRM_PAGE;
        if (!ok) {
            if (++w->tries < (w->taken ? CACHED_TRIES : MAX_TRIES)) {
                start(w);
            } else {
                finish(w, FTL_MEDIA);
            }
        } else {
            if (w->uncommitted) {
                superblock_pin(ppa_block(w->ppa), 1);
            } else {
                map_set(w->lba, w->lost ? MAP_LOST : w->ppa);
            }
            finish(w, FTL_OK);
        }
        w = next;
    }
    pumping = false;
    ftl.in_flight -= pages;
    if (ftl.in_flight == 0) {
        exclusive_next();
    }
    checkpoint_look();
    /* Some may have waited for room that this one might have made. */
    pump();
}

static void programmed(struct nand_op *op, uint32_t status) {
    struct ftl_write *w = op->arg;
    if (status != FLASH_STATUS_OK) {
        w->first->failed = 1;
        planes_failed(w->first);
    } else {
        bad_worked(w->ppa);
    }
    if (op->confirm == FLASH_CONFIRM_PAGE) {
        w = w->first;
        planes_ended(w);
        program_ended(w);
    }
}

/** Program the page at `ppa` with the writes gathered, first sectors first. What is left of it stays blank. */
static void page_program(uint32_t ppa, uint32_t seq) {
    struct list page = list_take_all(&gather.list);
    struct ftl_write *first = first_of(&page);
    ftl.gathered = 0;
    gather.due = false;
    first->failed = 0;
    ftl.in_flight++;
    ftl.in_turn[ftl.turn]++;
    for (struct ftl_write *w = first; w != NULL; w = ftl_write_next(w), ppa++, seq++) {
        w->gathered = 0;
        w->turn = ftl.turn;
        w->ppa = ppa;
        struct nand_op *op = w->op;
        op->done = programmed;
        op->arg = w;
        uint32_t mark = w->uncommitted ? OOB_UNCOMMITTED : w->lost ? OOB_LOST : 0;
        nand_program(op, ppa, w->buffer, w->lba | mark, seq);
        op->confirm = w->node.next != NULL ? FLASH_CONFIRM_MORE : FLASH_CONFIRM_PAGE;
    }
    planes_program(first);
}

/** End those of `l` that were not taken; the others stay. True when there were some. */
static bool refuse(struct list *l, enum ftl_status status) {
    struct list all = list_take_all(l);
    bool any = false;
    while (!list_empty(&all)) {
        struct ftl_write *w = take_first(&all);
        if (w->taken) {
            list_put(l, &w->node);
            continue;
        }
        any = true;
        if (w->gathered) {
            w->gathered = 0;
            ftl.gathered--;
        }
        finish(w, status);
    }
    return any;
}

/** Give the writes gathered a page. True when something has changed. */
static bool page_out(void) {
    if (ftl.read_only) {
        /* Those that were taken wait for a checkpoint that succeeds. */
        return refuse(&gather.list, FTL_MEDIA);
    }
    if (ftl_read_only() && refuse(&gather.list, FTL_READ_ONLY)) {
        /* Those that were taken still find room: the reserve is far more than the cache. */
        return true;
    }
    if (ftl.clean) {
        /* The root on the medium says "nothing written since": withdraw that first. */
        mark_dirty.run = checkpoint_mark_dirty_run;
        ftl_exclusive(&mark_dirty);
        return ftl.read_only;
    }
    if (((int32_t)(ftl.seq - ftl.log_due) >= 0 || room_log_long()) && ftl_log_due()) {
        ftl_checkpoint(&log_checkpoint);
        if (ftl_log_full() || ftl_paused() || ftl.read_only) {
            stalled = true;
            return ftl.read_only;
        }
    }
    bool full;
    uint32_t seq;
    uint32_t ppa = alloc(&seq, &full);
    stalled = ppa == 0;
    if (ppa != 0) {
        page_program(ppa, seq);
        return true;
    }
    if (full && (refuse(&gather.list, FTL_READ_ONLY) || refuse(&waiting, FTL_READ_ONLY))) {
        return true;
    }
    if (full) {
        drains_end(FTL_READ_ONLY);
    }
    /* A checkpoint that should make room may have failed at once. */
    return ftl.read_only;
}

/** Whether the page goes out as it is. */
static bool page_due(void) {
    if (ftl.gathered == nand_geo.sectors) {
        return true;
    }
    if (ftl.gathered == 0 || ftl.coming > 0) {
        return false;
    }
    bool due = gather.due || !list_empty(&drains);
    for (const struct ftl_write *w = first_of(&gather.list); w != NULL; w = ftl_write_next(w)) {
        /* One that the cache had no place for waits for those in programming to make one. */
        due |= !w->taken && ftl.in_flight == 0;
    }
    return due;
}

/** Whether a newer write of `w`'s block waits for it. */
static bool followed(const struct ftl_write *w) {
    if (w->uncommitted) {
        return false;
    }
    for (const struct ftl_write *o = w->chain; o != NULL; o = o->chain) {
        if (o->lba == w->lba) {
            return true;
        }
    }
    return false;
}

static void start_now(struct ftl_write *w) {
    if (ftl.read_only && !w->taken && !ftl_paused()) {
        finish(w, FTL_MEDIA);
    } else if (ftl_paused() || ftl.gathered == nand_geo.sectors) {
        list_put(&waiting, &w->node);
    } else {
        w->gathered = 1;
        ftl.gathered++;
        gather.due |= w->take == NULL || followed(w);
        list_put(&gather.list, &w->node);
    }
}

/** Start what can be started. Only the outermost call does: nothing here is ever deep on the stack. */
static void pump(void) {
    if (pumping) {
        return;
    }
    pumping = true;
    for (;;) {
        if (!ftl_paused() && page_due() && page_out()) {
            continue;
        }
        if (!list_empty(&ready)) {
            start_now(take_first(&ready));
        } else if (!list_empty(&waiting) && !ftl_paused() && ftl.read_only && refuse(&waiting, FTL_MEDIA)) {
            continue;
        } else if (!list_empty(&waiting) && !ftl_paused() && ftl.gathered < nand_geo.sectors) {
            start_now(take_first(&waiting));
        } else {
            break;
        }
    }
    /* A program that waits for a page of another plane may hold up the copies that this page waits for. */
    planes_look(ftl_paused() || ftl.read_only || stalled);
    pumping = false;
}

/** `w` waits for the older writes of its block, the newest of which is `before`. */
static void follow(struct ftl_write *w, struct ftl_write *before) {
    w->blocked = 1;
    gather.due |= before->gathered != 0;
}

/** `w` takes the place of `old`, an older write of the same block that no page has been sought for. */
static void supersede(struct ftl_write *w, struct ftl_write *old) {
    struct node **at = &gather.list.first;
    while (*at != &old->node) {
        at = &(*at)->next;
    }
    *at = &w->node;
    w->node.next = old->node.next;
    if (gather.list.last == &old->node) {
        gather.list.last = &w->node;
    }
    w->gathered = 1;
    struct ftl_write **p = &inflight[w->lba % HASH];
    while (*p != old) {
        p = &(*p)->chain;
    }
    *p = old->chain;
    ftl.cached--;
    old->done(old, FTL_OK);
}

void ftl_write(struct ftl_write *w) {
    /* Two writes to one LBA in flight could complete in either order while their sequence numbers say the first loses:
     * one at a time, oldest first. The chain is kept oldest first for that. */
    ftl.coming--;
    w->tries = 0;
    w->chain = NULL;
    w->blocked = 0;
    w->uncommitted = 0;
    w->taken = 0;
    w->gathered = 0;
    struct ftl_write *before = NULL;
    struct ftl_write **p = &inflight[w->lba % HASH];
    while (*p != NULL) {
        before = (*p)->lba == w->lba ? *p : before;
        p = &(*p)->chain;
    }
    *p = w;
    take(w);
    if (before == NULL) {
        start(w);
        return;
    }
    if (w->taken && before->gathered && before->taken) {
        supersede(w, before);
    } else {
        follow(w, before);
    }
    pump();
}

void ftl_write_uncommitted(struct ftl_write *w) {
    ftl.coming--;
    w->tries = 0;
    w->blocked = 0;
    w->uncommitted = 1;
    w->lost = 0;
    w->taken = 0;
    w->gathered = 0;
    if (!room_uncommitted()) {
        finish(w, FTL_READ_ONLY);
        pump();
        return;
    }
    start(w);
}

void ftl_withdraw(void) {
    ftl.coming--;
    pump();
}

void ftl_kick(void) {
    pump();
    exclusive_next();
}

/* ---- exclusive operations ---- */

static struct ftl_exclusive *first_exclusive(void) {
    return CONTAINER_OR_NULL(exclusives.first, struct ftl_exclusive, node);
}

/** Whether `x` writes pages, so that a root record that says "clean" has to go first. */
static bool writes_pages(const struct ftl_exclusive *x) {
    return x->run == ftl_trim_run || x->run == commit_run || (x->run == checkpoint_run && checkpoint_writes_pages());
}

static void exclusive_next(void) {
    if (exclusive_starting) {
        /* Below on the stack: it goes on there. */
        return;
    }
    exclusive_starting = true;
    while (running == NULL && !list_empty(&exclusives) && !live_runs && ftl.in_flight == 0 && collect_idle()) {
        if (ftl.clean && !ftl.read_only && writes_pages(first_exclusive())) {
            running = &mark_dirty;
            mark_dirty.queued = true;
            mark_dirty.run = checkpoint_mark_dirty_run;
        } else {
            running = first_exclusive();
            list_take(&exclusives);
        }
        running->run(running);
    }
    exclusive_starting = false;
}

void ftl_exclusive(struct ftl_exclusive *x) {
    if (x->queued) {
        return;
    }
    x->queued = true;
    list_put(&exclusives, &x->node);
    collect_pause();
    exclusive_next();
}

void ftl_exclusive_end(struct ftl_exclusive *x, enum ftl_status status) {
    running = NULL;
    x->queued = false;
    if (x->done != NULL) {
        x->done(x, status);
    }
    exclusive_next();
    work_set(WORK_COLLECT);
    drains_look();
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
    list_take(&exclusives);
    return x;
}

void ftl_exclusive_resume(struct ftl_exclusive *x) {
    running = x;
}

struct ftl_exclusive *ftl_running(void) {
    return running;
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
    if (live_runs || ftl_paused() || list_empty(&live_waiting)) {
        return;
    }
    if (ftl.clean && !ftl.read_only && checkpoint_writes_pages()) {
        mark_dirty.run = checkpoint_mark_dirty_run;
        ftl_exclusive(&mark_dirty);
        return;
    }
    live_runs = true;
    live_batch = list_take_all(&live_waiting);
    checkpoint_live(&live);
}

void ftl_live_end(enum ftl_status status) {
    struct list ended = list_take_all(&live_batch);
    live_runs = false;
    if (!list_empty(&exclusives)) {
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
    drains_look();
    if (!ftl_paused()) {
        ftl_kick();
    }
}

/* ---- work ---- */

void ftl_slices(void (*slice)(void)) {
    ftl.slice = slice;
    work_put(WORK_FTL, slice != NULL);
}

void ftl_poll(void) {
    ftl.slice();
}

/* ---- boot ---- */

void ftl_boot_wait(const volatile bool *flag) {
    while (*flag) {
        nand_wait();
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

/** Blocks that the drive offers; false when the medium is too small. */
static bool set_capacity(uint32_t spare_per_cent) {
    uint32_t meta = checkpoint_meta_superblocks();
    uint32_t reserve = room_reserve_superblocks();
    room_count();
    if (sb.count < meta + 4 || room_data_sectors() == 0) {
        ftl.fault = "too few blocks";
        console_printf("ftl: %u superblocks; at least %u needed\n", sb.count - sb.bad,
                       ckpt.first + 2 * ckpt.area_sbs + reserve + 1);
        return false;
    }
    /* The spare share, but at least what it takes to write. */
    uint64_t data = room_data_sectors();
    uint64_t provisioned = ((uint64_t)sb.count * bad.units - bad.count) * nand_geo.pages * (100 - spare_per_cent) / 100;
    uint64_t lbas = data < provisioned ? data : provisioned;
    if (lbas > MAP_MAX_LBAS) {
        lbas = MAP_MAX_LBAS;
    }
    ftl.lbas = (uint32_t)lbas;
    return true;
}

void ftl_init(bool format, uint32_t spare_per_cent) {
    memset(&ftl, 0, sizeof ftl);
    memset(ftl_owner_data, 0, sizeof ftl_owner_data);
    ftl_owner_update = NULL;
    ftl_spare_fell = NULL;
    memset(inflight, 0, sizeof inflight);
    memset(&waiting, 0, sizeof waiting);
    memset(&ready, 0, sizeof ready);
    memset(&gather, 0, sizeof gather);
    trim_init();
    commit_init();
    work_clear(WORK_FTL);
    planes_init();
    drains = (struct list){0};
    pumping = false;
    stalled = false;
    exclusives = live_waiting = live_batch = (struct list){0};
    live_runs = false;
    running = NULL;
    memset(&mark_dirty, 0, sizeof mark_dirty);
    memset(&reclaim_checkpoint, 0, sizeof reclaim_checkpoint);
    reclaim_checkpoint.x.done = own_done;
    log_checkpoint = reclaim_checkpoint;
    exclusive_starting = false;
    ftl.seq = 1;
    map_init();
    superblock_init();
    append_init();
    root_init();
    if (!bad_init()) {
        ftl.fault = "too many blocks for the table of bad ones";
        return;
    }
    checkpoint_layout();
    ftl_log_restart(0, 0);

    if (!set_capacity(FTL_SPARE_LEAST)) {
        return;
    }
    bounds_init();

    bool blank = false;
    if (!format) {
        ftl.fault = recover_mount(&blank);
    }
    if (format || blank) {
        console_printf("ftl: %s: formatting\n", format ? "asked to format" : "blank medium");
        spare_per_cent = spare_per_cent == 0 ? FTL_SPARE : spare_per_cent;
        if (spare_per_cent < FTL_SPARE_LEAST || spare_per_cent > FTL_SPARE_MOST) {
            console_printf("ftl: a spare share of %u %% is asked for; it can be %u to %u %%: %u %% is taken\n",
                           spare_per_cent, FTL_SPARE_LEAST, FTL_SPARE_MOST, FTL_SPARE);
            spare_per_cent = FTL_SPARE;
        }
        ftl.fault = marks_read();
        if (ftl.fault == NULL) {
            ftl.fault = checkpoint_areas_fit();
        }
        if (ftl.fault == NULL && set_capacity(spare_per_cent)) {
            ftl.fault = checkpoint_format();
        }
    }
    if (ftl.fault != NULL) {
        ftl.lbas = 0;
    }
    room_init();
    collect_init();
}
