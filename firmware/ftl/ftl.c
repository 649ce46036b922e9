#include "ftl/ftl.h"

#include <string.h>

#include "ftl/checkpoint.h"
#include "lib/console.h"
#include "lib/crc.h"

struct ftl_state ftl;
uint32_t ftl_kept[FTL_KEPT_BYTES / 4];
void (*ftl_keep)(void);
void (*ftl_spare_fell)(void);

#define HASH      256u
#define MAX_TRIES 3u

static struct ftl_write *inflight[HASH];
static struct ftl_write *wait_head, *wait_tail;
/** Writes to be started: whatever ends one may let another go, which may end at once, and so on. */
static struct ftl_write *ready_head, *ready_tail;
static bool starting;
static struct ftl_exclusive *excl_head, *excl_tail, *excl_running;
static bool exclusive_starting;
static struct ftl_checkpoint reclaim_checkpoint, log_checkpoint;
static struct ftl_exclusive mark_dirty;

static void exclusive_next(void);
static void trim_run(struct ftl_exclusive *x);
static void start(struct ftl_write *w);

/* ---- length of the log ---- */

/** Pages between two looks. */
#define LOG_LOOK 64u

void ftl_log_restart(void) {
    ftl.log_start = cp.log.seq;
    ftl.log_due = ftl.log_start + FTL_LOG_LEAST;
    ftl.log_trims = 0;
}

/** Whether what recovery would have to go through calls for a checkpoint. */
static bool log_long(void) {
    uint32_t pages = ftl.seq - ftl.log_start + ftl.log_trims;
    if (pages >= ftl_bounds.log_most || (pages >= FTL_LOG_LEAST && pages >= FTL_LOG_PER_MAP * map.dirty_count)) {
        return true;
    }
    ftl.log_due = ftl.seq + LOG_LOOK;
    return false;
}

/* ---- superblocks in line ---- */

static void next_erased(struct sb_erase *e, bool ok) {
    if (ok) {
        ftl.next_ready = true;
    } else {
        console_printf("ftl: superblock %u retired: erase failed\n", e->sb);
        superblock_set_state(e->sb, SB_BAD);
        ftl.next = SB_NONE;
        /* Recovery would look for the log in the retired superblock: a checkpoint moves the start of the log behind it.
         */
        ftl.retired = true;
        ftl.look = ROOM_LOOK;
        ftl_checkpoint(&reclaim_checkpoint);
        if (ftl_spare_fell != NULL) {
            ftl_spare_fell();
        }
    }
    ftl_kick();
}

/** Open the superblock after the current one, if one is free. */
static void open_next(void) {
    uint32_t n = superblock_pick();
    if (n == SB_NONE) {
        return;
    }
    superblock_set_state(n, SB_OPEN);
    ftl.next = n;
    ftl.next_ready = false;
    superblock_erase(&ftl.erase, n, next_erased);
}

uint32_t ftl_alloc(uint32_t *seq, bool *full) {
    *full = ftl.read_only;
    if (ftl.retired || ftl.read_only) {
        return 0;
    }
    if (ftl.cur.left <= ftl.look && !room_look()) {
        /* Superblocks whose pages are all stale come back through a checkpoint: until then recovery may need them. A
         * write in flight may yet make the last page of one stale. */
        if (ftl.reclaim || ftl.in_flight > 0) {
            return 0;
        }
        if (!room_reclaimable()) {
            *full = true;
            return 0;
        }
        ftl.reclaim = true;
        ftl_checkpoint(&reclaim_checkpoint);
        return 0;
    }
    if (ftl.cur.left <= sb.pages / 4 && ftl.next == SB_NONE) {
        open_next();
    }
    if (ftl.cur.left == 0) {
        if (!ftl.next_ready) {
            return 0;
        }
        if (ftl.cur.sb != SB_NONE) {
            superblock_set_state(ftl.cur.sb, SB_CLOSED);
        }
        cursor_open(&ftl.cur, ftl.next);
        ftl.next = SB_NONE;
        ftl.next_ready = false;
        ftl.look = ROOM_LOOK;
    }
    uint32_t ppa = cursor_ppa(&ftl.cur);
    cursor_next(&ftl.cur);
    *seq = ftl.seq++;
    ftl.changed = true;
    return ppa;
}

/* ---- writes ---- */

static void wait_push(struct ftl_write *w) {
    w->next = NULL;
    if (wait_head == NULL) {
        wait_head = w;
    } else {
        wait_tail->next = w;
    }
    wait_tail = w;
}

static bool held(void) {
    return excl_running != NULL || excl_head != NULL;
}

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
    if (!w->loose) {
        leave(w);
    }
    w->done(w, status);
}

static void programmed(struct nand_op *op, uint32_t status) {
    struct ftl_write *w = op->arg;
    ftl.in_flight--;
    if (status == FLASH_STATUS_OK) {
        if (w->loose) {
            superblock_loose_add(ppa_block(w->ppa), 1);
        } else {
            map_set(w->lba, w->ppa);
        }
        finish(w, FTL_OK);
    } else if (++w->tries < MAX_TRIES) {
        start(w);
    } else {
        finish(w, FTL_MEDIA);
    }
    if (ftl.in_flight == 0) {
        exclusive_next();
        if (wait_head != NULL && !held()) {
            /* They waited for room that writes in flight might make. */
            ftl_kick();
        }
    }
}

static void start_now(struct ftl_write *w) {
    if (held()) {
        wait_push(w);
        return;
    }
    if (ftl.read_only) {
        finish(w, FTL_MEDIA);
        return;
    }
    if (ftl.clean) {
        /* The root on the medium says "nothing written since": withdraw that first. */
        mark_dirty.run = checkpoint_mark_dirty_run;
        ftl_exclusive(&mark_dirty);
        wait_push(w);
        return;
    }
    if ((int32_t)(ftl.seq - ftl.log_due) >= 0 && log_long()) {
        ftl_checkpoint(&log_checkpoint);
        wait_push(w);
        return;
    }
    bool full;
    uint32_t seq;
    uint32_t ppa = ftl_alloc(&seq, &full);
    if (ppa == 0) {
        if (full) {
            finish(w, FTL_READ_ONLY);
        } else {
            wait_push(w);
        }
        return;
    }
    w->ppa = ppa;
    ftl.in_flight++;
    struct nand_op *op = w->op;
    op->done = programmed;
    op->arg = w;
    op->way = ppa_way(ppa);
    op->op = FLASH_OP_PROGRAM;
    op->row = ppa_row(ppa);
    op->w2 = w->buffer;
    op->bytes = PAGE_SIZE;
    op->data0 = w->loose ? w->lba | OOB_LOOSE : w->lba;
    op->data1 = seq;
    nand_submit(op);
}

static void start(struct ftl_write *w) {
    if (starting) {
        w->next = NULL;
        if (ready_head == NULL) {
            ready_head = w;
        } else {
            ready_tail->next = w;
        }
        ready_tail = w;
        return;
    }
    starting = true;
    start_now(w);
    while (ready_head != NULL) {
        struct ftl_write *next = ready_head;
        ready_head = next->next;
        start_now(next);
    }
    starting = false;
}

void ftl_write(struct ftl_write *w) {
    /* Two writes to one LBA in flight could complete in either order while their sequence numbers say the first loses:
     * one at a time, oldest first. The chain is kept oldest first for that. */
    w->tries = 0;
    w->chain = NULL;
    w->blocked = 0;
    w->loose = 0;
    struct ftl_write **p = &inflight[w->lba % HASH];
    while (*p != NULL) {
        w->blocked |= (*p)->lba == w->lba;
        p = &(*p)->chain;
    }
    *p = w;
    if (!w->blocked) {
        start(w);
    }
}

void ftl_write_loose(struct ftl_write *w) {
    w->tries = 0;
    w->blocked = 0;
    w->loose = 1;
    start(w);
}

void ftl_kick(void) {
    struct ftl_write *list = wait_head;
    wait_head = wait_tail = NULL;
    while (list != NULL) {
        struct ftl_write *w = list;
        list = w->next;
        start(w);
    }
    exclusive_next();
}

/* ---- exclusive operations ---- */

/** Whether `x` writes pages, so that a root record that says "clean" has to go first. */
static bool writes_pages(const struct ftl_exclusive *x) {
    return x->run == trim_run || x->run == loose_map_run || (x->run == checkpoint_run && checkpoint_writes_pages());
}

static void exclusive_next(void) {
    if (exclusive_starting) {
        /* Below on the stack: it goes on there. */
        return;
    }
    exclusive_starting = true;
    while (excl_running == NULL && excl_head != NULL && ftl.in_flight == 0) {
        if (ftl.clean && !ftl.read_only && writes_pages(excl_head)) {
            excl_running = &mark_dirty;
            mark_dirty.queued = true;
            mark_dirty.run = checkpoint_mark_dirty_run;
        } else {
            excl_running = excl_head;
            excl_head = excl_head->next;
        }
        excl_running->run(excl_running);
    }
    exclusive_starting = false;
}

void ftl_exclusive(struct ftl_exclusive *x) {
    if (x->queued) {
        return;
    }
    x->queued = true;
    x->next = NULL;
    if (excl_head == NULL) {
        excl_head = x;
    } else {
        excl_tail->next = x;
    }
    excl_tail = x;
    exclusive_next();
}

void ftl_exclusive_end(struct ftl_exclusive *x, enum ftl_status status) {
    excl_running = NULL;
    x->queued = false;
    if (x->done != NULL) {
        x->done(x, status);
    }
    exclusive_next();
    if (!held()) {
        ftl_kick();
    }
}

struct ftl_exclusive *ftl_exclusive_join(void (*run)(struct ftl_exclusive *x)) {
    struct ftl_exclusive *x = excl_head;
    if (x == NULL || x->run != run) {
        return NULL;
    }
    excl_head = x->next;
    return x;
}

void ftl_exclusive_resume(struct ftl_exclusive *x) {
    excl_running = x;
}

void ftl_checkpoint(struct ftl_checkpoint *c) {
    c->x.run = checkpoint_run;
    ftl_exclusive(&c->x);
}

/* ---- trim ---- */

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

/** Start changing the map; ftl_work goes on with it. */
static void trim_apply(struct ftl_trim *t) {
    t->range = 0;
    t->left = 0;
    trim_next_range(t);
    ftl.slice = trim_slice;
}

static void trim_programmed(struct nand_op *op, uint32_t status) {
    struct ftl_trim *t = op->arg;
    if (status != FLASH_STATUS_OK) {
        if (++t->tries < MAX_TRIES) {
            trim_program(t);
        } else {
            nand_op_put(op);
            ftl_exclusive_end(&t->x, FTL_MEDIA);
        }
        return;
    }
    /* The record must outlive its superblock's other pages until the next checkpoint: until then nothing is reclaimed
     * anyway. */
    nand_op_put(op);
    trim_apply(t);
}

static void trim_program(struct ftl_trim *t) {
    bool full;
    uint32_t seq;
    if (t->op == NULL) {
        t->op = nand_op_get();
    }
    uint32_t ppa = t->op != NULL ? ftl_alloc(&seq, &full) : 0;
    if (ppa == 0) {
        if (t->op != NULL && full) {
            /* No page is left for the record: a checkpoint makes the trim durable instead, so that a full drive can be
             * emptied. */
            nand_op_put(t->op);
            t->unlogged = true;
            trim_apply(t);
        } else if (reclaim_checkpoint.x.queued) {
            /* A checkpoint must run first: line up behind it. */
            if (t->op != NULL) {
                nand_op_put(t->op);
            }
            excl_running = NULL;
            t->x.queued = false;
            ftl_exclusive(&t->x);
        } else {
            ftl.trim_waiting = t;
        }
        return;
    }
    *t->op = (struct nand_op){.done = trim_programmed,
                              .arg = t,
                              .way = ppa_way(ppa),
                              .op = FLASH_OP_PROGRAM,
                              .row = ppa_row(ppa),
                              .w2 = DRAM_TRIM,
                              .bytes = PAGE_SIZE,
                              .data0 = OOB_TRIM,
                              .data1 = seq};
    nand_submit(t->op);
}

static void trim_run(struct ftl_exclusive *x) {
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
    t->x.run = trim_run;
    ftl_exclusive(&t->x);
}

static void trim_slice(void) {
    struct ftl_trim *t = (struct ftl_trim *)excl_running;
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
        ftl.slice = NULL;
        if (t->erase) {
            erase_start(&t->x);
        } else if (t->unlogged) {
            ftl.changed = true;
            checkpoint_start(&t->x, false);
        } else {
            if (log_long()) {
                ftl_checkpoint(&log_checkpoint);
            }
            ftl_exclusive_end(&t->x, FTL_OK);
        }
    }
}

bool ftl_work(void) {
    if (ftl.trim_waiting != NULL) {
        struct ftl_trim *t = ftl.trim_waiting;
        ftl.trim_waiting = NULL;
        trim_program(t);
    }
    if (ftl.slice == NULL) {
        return false;
    }
    ftl.slice();
    return true;
}

/* ---- boot ---- */

void ftl_boot_wait(const volatile bool *flag) {
    while (*flag) {
        if (sys_read(SYS_FLASH_PENDING) == 0) {
            hal_wfi();
        }
        nand_poll();
    }
}

/** A checkpoint that the FTL asked for has ended. */
static void own_done(struct ftl_exclusive *x, enum ftl_status status) {
    ftl.reclaim = false;
    if (status != FTL_OK) {
        console_printf("ftl: checkpoint failed%s\n", ftl.read_only ? ": nothing more is written" : "");
        if (!ftl.read_only) {
            ftl_checkpoint((struct ftl_checkpoint *)x);
        }
    }
}

void ftl_init(bool format) {
    memset(&ftl, 0, sizeof ftl);
    memset(ftl_kept, 0, sizeof ftl_kept);
    ftl_keep = NULL;
    ftl_spare_fell = NULL;
    memset(inflight, 0, sizeof inflight);
    wait_head = wait_tail = NULL;
    excl_head = excl_tail = excl_running = NULL;
    memset(&mark_dirty, 0, sizeof mark_dirty);
    memset(&reclaim_checkpoint, 0, sizeof reclaim_checkpoint);
    reclaim_checkpoint.x.done = own_done;
    log_checkpoint = reclaim_checkpoint;
    ready_head = ready_tail = NULL;
    starting = false;
    exclusive_starting = false;
    ftl.next = SB_NONE;
    ftl.cur.sb = SB_NONE;
    ftl.seq = 1;
    map_init();
    superblock_init();
    checkpoint_layout();
    ftl_log_restart();

    uint32_t meta = checkpoint_meta_superblocks();
    if (sb.count < meta + 4) {
        ftl.fault = "too few blocks";
        console_printf("ftl: %u superblocks; at least %u needed\n", sb.count, meta + 4);
        return;
    }
    /* 7 % over-provisioning, but at least two superblocks for the log's head, and the reserve. */
    uint64_t data = (uint64_t)(sb.count - meta - 2 - room_reserve_superblocks()) * sb.pages;
    uint64_t provisioned = (uint64_t)sb.count * sb.pages * 93 / 100;
    uint64_t lbas = data < provisioned ? data : provisioned;
    if (lbas > MAP_MAX_LBAS) {
        lbas = MAP_MAX_LBAS;
    }
    ftl.lbas = (uint32_t)lbas;
    bounds_init();

    bool blank = false;
    if (!format) {
        ftl.fault = recover_mount(&blank);
    }
    if (format || blank) {
        console_printf("ftl: %s: formatting\n", format ? "asked to format" : "blank medium");
        ftl.fault = checkpoint_format();
    }
    if (ftl.fault != NULL) {
        ftl.lbas = 0;
    }
    room_init();
}
