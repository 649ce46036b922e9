/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes: one at a time to each block, gathered until they fill a page, which the host's append point then has for
 * them.
 */
#include "ftl/write.h"

#include <string.h>

#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/cache.h"
#include "ftl/checkpoint.h"
#include "ftl/collect.h"
#include "ftl/pairs.h"
#include "ftl/parity.h"
#include "ftl/planes.h"
#include "ftl/summary.h"

#define HASH 512u
/** Each try that fails costs a block, and a die of which none works is left out before that many. */
#define MAX_TRIES 16u

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

void write_init(void) {
    memset(inflight, 0, sizeof inflight);
    memset(&waiting, 0, sizeof waiting);
    memset(&ready, 0, sizeof ready);
    memset(&gather, 0, sizeof gather);
    pumping = false;
    stalled = false;
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
    *full = ppa == 0 && !append_pending(APPEND_HOST) && !ftl.reclaim && ftl_in_flight() == 0 && collect_idle() &&
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

static void start_now(struct ftl_write *w);

/** Start `w`, or start it again. */
static void start(struct ftl_write *w) {
    if (pumping) {
        list_put(&ready, &w->node);
        return;
    }
    pumping = true;
    start_now(w);
    pumping = false;
    ftl_pump();
}

struct ftl_write *write_gathered(void) {
    return first_of(&gather.list);
}

bool write_under_way(uint32_t lba) {
    for (const struct ftl_write *w = inflight[lba % HASH]; w != NULL; w = w->chain) {
        if (w->lba == lba) {
            return true;
        }
    }
    return false;
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

struct ftl_write *write_after(const struct ftl_write *w) {
    if (w != NULL && w->chain != NULL) {
        return w->chain;
    }
    uint32_t i = w != NULL ? w->lba % HASH + 1 : 0;
    while (i < HASH && inflight[i] == NULL) {
        i++;
    }
    return i < HASH ? inflight[i] : NULL;
}

/* ---- writes ---- */

static void pump(void);

/** Whether some write could go on, or some program wait for none. */
static inline uintptr_t anything_waits(void) {
    return (uintptr_t)gather.list.first | (uintptr_t)waiting.first | (uintptr_t)ready.first | planes_delayed;
}

/** Whether all that waits does so for the next page, which waits for parity: its end brings ftl_kick. */
static inline bool held(void) {
    return parity_waits(APPEND_HOST) && ftl.gathered == nand_geo.sectors && list_empty(&ready) && !planes_delayed;
}

/** Start what can be started. Only the outermost call does: nothing here is ever deep on the stack. */
void ftl_pump(void) {
    if (anything_waits() != 0 && !pumping && !held()) {
        pump();
    }
}

/** Take `w` out of the hash and let the next write to its LBA go. */
static inline void leave(struct ftl_write *w) {
    struct ftl_write **p = &inflight[w->lba % HASH];
    while (__builtin_expect(*p != w, 0)) {
        p = &(*p)->chain;
    }
    *p = w->chain;
    /* Those before it in the chain are older, and of other blocks. */
    for (struct ftl_write *o = w->chain; o != NULL; o = o->chain) {
        if (o->lba == w->lba) {
            if (o->blocked) {
                o->blocked = 0;
                start(o);
            }
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

/** A program has ended: let go what has waited for it. */
static __attribute__((noinline)) void look_on(void) {
    if (ftl_in_flight() == 0) {
        exclusive_next();
    }
    checkpoint_look();
    /* Some may have waited for room that this one might have made. */
    ftl_pump();
}

static void program_summed(struct ftl_write *w);

/** The program that begins with `w` has ended: all its pages are programmed, or have to be written again. */
static void program_ended(struct ftl_write *w) {
    if (parity_defers(PARITY_HOST, w, program_summed)) {
        return;
    }
    bool ok = !w->failed;
    uint32_t pages[2] = {0, 0};
    /* Nothing that has to see the map of all of them starts before the last one. */
    pumping = true;
    while (w != NULL) {
        struct ftl_write *next = ftl_write_next(w);
        pages[w->turn] += w->op->confirm != FLASH_CONFIRM_MORE;
        summary_ended(w->note, ok);
        w->op->confirm = FLASH_CONFIRM_PAGE;
        if (!ok) {
            if (++w->tries < MAX_TRIES) {
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
    ftl.in_turn[0] -= pages[0];
    ftl.in_turn[1] -= pages[1];
    if (nand_geo.paired) {
        pairs_look();
    }
    look_on();
}

/** The program of `w` alone, a page that is in no list any more, has ended well; `now`: its lane does not know yet. */
static inline __attribute__((always_inline)) void sector_ended(struct ftl_write *w, bool now) {
    pumping = true;
    map_point(w->lba, w->ppa);
    /* Registers have to wait until the map's entry is in DRAM: first what needs none. */
    ftl.in_turn[w->turn]--;
    leave(w);
    summary_ended(w->note, true);
    if (now) {
        planes_ended(w);
    }
    w->done(w, FTL_OK);
    pumping = false;
    uintptr_t waits = (uintptr_t)exclusive.waiting.first | exclusive.live;
    if (__builtin_expect((waits | anything_waits()) != 0, 0)) {
        look_on();
    }
}

static void sector_programmed(struct ftl_write *w) {
    sector_ended(w, true);
}

/** The program that begins with `w` had ended before its data were in their sums, and now they are. */
static void program_summed(struct ftl_write *w) {
    if (((uintptr_t)w->node.next | w->special | w->failed | nand_geo.paired) == 0) {
        sector_ended(w, false);
    } else {
        program_ended(w);
    }
}

/** Ends of programs are more than a sector to be mapped: pages share cells, or their stripes have parity. */
static uint32_t ends_apart;

void write_begin(void) {
    ends_apart = nand_geo.paired || parity_on;
}

/** A descriptor of a program has ended. */
static __attribute__((noinline)) void page_programmed(struct nand_op *op, uint32_t status) {
    struct ftl_write *w = op->arg;
    uintptr_t other = ((uintptr_t)w->first ^ (uintptr_t)w) | (uintptr_t)w->node.next | w->special | nand_geo.paired;
    if ((other | status | bad.suspect) == 0) {
        /* Of a drive with parity. */
        if (w->source.from == 0) {
            sector_programmed(w);
        } else {
            planes_ended(w);
            parity_defers(PARITY_HOST, w, program_summed);
        }
        return;
    }
    w = planes_sector_ended(op, status);
    if (w != NULL) {
        if (nand_geo.paired) {
            pairs_ended(APPEND_HOST, w);
        }
        program_ended(w);
    }
}

static void programmed(struct nand_op *op, uint32_t status) {
    struct ftl_write *w = op->arg;
    /* One sector of a write that has only to be mapped. */
    uintptr_t other = ((uintptr_t)w->first ^ (uintptr_t)w) | (uintptr_t)w->node.next | w->special | ends_apart;
    if (__builtin_expect((other | status | bad.suspect) == 0, 1)) {
        sector_programmed(w);
    } else {
        page_programmed(op, status);
    }
}

/** Whether the host may rely on `w` as soon as it has ended. */
static bool durable(const struct ftl_write *w) {
    return !w->uncommitted && (w->take == NULL || ftl.cache_off || !ftl_has_cache());
}

/** The writes from `first` on have their sectors, of a page that shares cells. */
static void page_paired(const struct ftl_write *first) {
    bool expose = false;
    for (const struct ftl_write *w = first; w != NULL; w = ftl_write_next(w)) {
        pairs_note(APPEND_HOST, w->ppa, w->lba, w->uncommitted);
        expose |= durable(w);
    }
    if (expose) {
        pairs_expose(APPEND_HOST);
    }
}

/** Program the page at `ppa` with the writes gathered, first sectors first. What is left of it stays blank. */
static void page_program(uint32_t ppa, uint32_t seq) {
    struct list page = list_take_all(&gather.list);
    struct ftl_write *first = first_of(&page);
    ftl.gathered = 0;
    gather.due = false;
    first->failed = 0;
    ftl.in_turn[ftl.turn]++;
    uint16_t note = append[APPEND_HOST].note;
    for (struct ftl_write *w = first; w != NULL; w = ftl_write_next(w), ppa++, seq++) {
        w->gathered = 0;
        w->note = w == first ? note : SUMMARY_NONE;
        w->turn = ftl.turn;
        w->ppa = ppa;
        struct nand_op *op = w->op;
        op->done = programmed;
        op->arg = w;
        uint32_t mark = w->uncommitted ? OOB_UNCOMMITTED : w->lost ? OOB_LOST : 0;
        nand_program(op, ppa, w->buffer, w->lba | mark, seq);
        summary_note(note, ppa - first->ppa, w->lba | mark);
        op->confirm = w->node.next != NULL ? FLASH_CONFIRM_MORE : FLASH_CONFIRM_PAGE;
    }
    parity_placed(APPEND_HOST, first);
    if (nand_geo.paired) {
        page_paired(first);
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

/** End the writes that wait for an older one of their block and were not taken. True when there were some. */
static bool refuse_blocked(enum ftl_status status) {
    bool any = false;
    for (uint32_t i = 0; i < HASH; i++) {
        struct ftl_write *w = inflight[i];
        while (w != NULL) {
            if (w->blocked && !w->taken) {
                any = true;
                finish(w, status);
                /* Its owner may have ended or begun others. */
                w = inflight[i];
            } else {
                w = w->chain;
            }
        }
    }
    return any;
}

/** No page will come: end everything but the writes that were taken, which keep their places and may hold up others of
 * their blocks. True when there was something to end. */
static bool refuse_all(enum ftl_status status) {
    bool gathered = refuse(&gather.list, status);
    bool waited = refuse(&waiting, status);
    return refuse_blocked(status) || gathered || waited;
}

/** Give the writes gathered a page. True when something has changed. */
static bool page_out(void) {
    if (ftl.read_only) {
        /* Those that were taken wait for a checkpoint that succeeds; who waits for them hears of it. */
        bool any = refuse_all(FTL_MEDIA);
        cache_look();
        return any;
    }
    if (ftl_read_only() && refuse(&gather.list, FTL_READ_ONLY)) {
        /* Those that were taken still find room: the reserve is far more than the cache. */
        return true;
    }
    if (ftl.clean) {
        /* The root on the medium says "nothing written since": withdraw that first. */
        ftl_prepare_pages();
        return ftl.read_only;
    }
    if (!parity_mounting && ((int32_t)(ftl.seq - ftl.log_due) >= 0 || room_log_long()) && ftl_log_due()) {
        ftl_prepare_pages();
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
    if (full && refuse_all(FTL_READ_ONLY)) {
        return true;
    }
    /* Those that were taken get what is kept for copies: no room is won any more. */
    if (full && !append_prepare_last()) {
        cache_drained(FTL_READ_ONLY);
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
    bool due = gather.due || cache_draining();
    for (const struct ftl_write *w = first_of(&gather.list); w != NULL; w = ftl_write_next(w)) {
        /* One that the cache had no place for waits for those in programming to make one. */
        due |= !w->taken && ftl_in_flight() == 0;
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

/** Whether a write that comes now is a page of its own, for which page_out would not have to look at anything but for
 * what append.c has looked at for a whole row, if there is one. */
static inline bool alone(const struct ftl_write *w) {
    uintptr_t waits = (uintptr_t)gather.list.first | (uintptr_t)waiting.first | (uintptr_t)exclusive.running |
                      (uintptr_t)exclusive.waiting.first;
    uint32_t otherwise = w->special | pumping | planes_delayed | ftl.read_only | ftl.clean;
    return (waits | otherwise) == 0;
}

/** Make `w` the program of the page at `ppa`. */
static inline void straight_program(struct ftl_write *w, uint32_t ppa, uint32_t seq, uint16_t note) {
    ftl.changed = true;
    ftl.in_turn[ftl.turn]++;
    w->node.next = NULL;
    w->turn = ftl.turn;
    w->ppa = ppa;
    struct nand_op *op = w->op;
    op->done = programmed;
    op->arg = w;
    w->note = note;
    nand_program(op, ppa, w->buffer, w->lba, seq);
}

/** Program `w`, which is alone(), on the next page of its row. */
static inline void write_straight(struct ftl_write *w) {
    uint16_t note = summary_row_note(&append[APPEND_HOST]);
    uint32_t ppa = append_row(&append[APPEND_HOST]);
    uint32_t seq = ftl.seq++;
    straight_program(w, ppa, seq, note);
    planes_program_sector(w);
    /* Behind it: registers have to wait until the note is in DRAM. */
    summary_note(note, 0, w->lba);
}

/** Likewise the last of its row. */
static __attribute__((noinline)) void write_last(struct ftl_write *w) {
    write_straight(w);
    append_next_row(&append[APPEND_HOST]);
}

/** Likewise on a drive with parity, while `pumping` lets nothing else begin before the page is on its way. */
static void row_program(struct ftl_write *w) {
    struct append *a = &append[APPEND_HOST];
    a->row = a->row_summed;
    uint16_t note = summary_row_note(a);
    uint32_t ppa = append_row(a);
    uint32_t seq = ftl.seq++;
    a->row_summed = a->row;
    a->row = 0;
    if (a->row_summed == 0) {
        append_next_row(a);
    }
    straight_program(w, ppa, seq, note);
    parity_placed_sector(w);
    planes_program_sector(w);
    summary_note(note, 0, w->lba);
}

/** Likewise, but nobody pumps. */
static __attribute__((noinline)) void write_summed(struct ftl_write *w) {
    pumping = true;
    row_program(w);
    pumping = false;
    ftl_pump();
}

/** Whether `w`, which has waited for pages, is the next one of its row. */
static bool row_takes(const struct ftl_write *w) {
    uint32_t otherwise = w->special | ftl.gathered | planes_delayed | ftl.read_only | ftl.clean;
    return append[APPEND_HOST].row_summed != 0 && otherwise == 0 && list_empty(&exclusive.waiting);
}

static __attribute__((noinline)) void pump(void) {
    pumping = true;
    for (;;) {
        if (page_due() && !ftl_paused() && page_out()) {
            continue;
        }
        if (!list_empty(&ready)) {
            start_now(take_first(&ready));
        } else if (!list_empty(&waiting) && !ftl_paused() && ftl.read_only && refuse(&waiting, FTL_MEDIA)) {
            continue;
        } else if (!list_empty(&waiting) && !ftl_paused() && ftl.gathered < nand_geo.sectors) {
            struct ftl_write *w = take_first(&waiting);
            if (row_takes(w)) {
                row_program(w);
            } else {
                start_now(w);
            }
        } else {
            break;
        }
    }
    /* A program that waits for a page of another plane may hold up the copies that this page waits for. */
    if (planes_delayed) {
        planes_look(ftl_paused() || ftl.read_only || stalled);
    }
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

/** Write `w`, which is in the hash behind `before`, the newest other write of its LBA. */
static __attribute__((noinline)) void write_gathered_or_behind(struct ftl_write *w, struct ftl_write *before) {
    cache_take(w);
    if (before == NULL) {
        start(w);
        return;
    }
    if (w->taken && before->gathered && before->taken) {
        supersede(w, before);
    } else {
        follow(w, before);
    }
    ftl_pump();
}

void ftl_write(struct ftl_write *w) {
    /* Two writes to one LBA in flight could complete in either order while their sequence numbers say the first loses:
     * one at a time, oldest first. The chain is kept oldest first for that. */
    ftl.coming--;
    w->chain = NULL;
    w->state = 0;
    struct ftl_write *before = NULL;
    struct ftl_write **p = &inflight[w->lba % HASH];
    while (__builtin_expect(*p != NULL, 0)) {
        before = (*p)->lba == w->lba ? *p : before;
        p = &(*p)->chain;
    }
    *p = w;
    uint32_t row = append[APPEND_HOST].row;
    if (__builtin_expect(before != NULL || !alone(w), 0)) {
        write_gathered_or_behind(w, before);
    } else if (row > 1) {
        write_straight(w);
    } else if (append[APPEND_HOST].row_summed != 0) {
        write_summed(w);
    } else if (row == 1) {
        write_last(w);
    } else {
        write_gathered_or_behind(w, NULL);
    }
}

void ftl_write_uncommitted(struct ftl_write *w) {
    ftl.coming--;
    w->special = 0;
    w->state = 0;
    w->uncommitted = 1;
    if (!room_uncommitted()) {
        finish(w, FTL_READ_ONLY);
        ftl_pump();
        return;
    }
    start(w);
}

void ftl_withdraw(void) {
    ftl.coming--;
    ftl_pump();
}

void ftl_kick(void) {
    ftl_pump();
    exclusive_next();
}
