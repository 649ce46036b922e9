// SPDX-License-Identifier: BSD-3-Clause
#include "ftl/append.h"

#include <string.h>

#include "ftl/bad.h"
#include "ftl/checkpoint.h"
#include "ftl/collect.h"
#include "ftl/ftl.h"
#include "ftl/pairs.h"
#include "ftl/parity.h"
#include "ftl/root.h"
#include "ftl/summary.h"
#include "platform/console.h"

struct append append[APPEND_POINTS];
/** Points whose next superblock is erased and waits for its root record, a bit each. */
static uint32_t unlisted;
/** Erases that wait for programs of upper pages. */
static struct pairs_wait relying[APPEND_POINTS];
/** The point whose superblock is being listed. */
static enum append_point listing;

void append_init(void) {
    memset(append, 0, sizeof append);
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        append[i].cur.sb = SB_NONE;
        append[i].next = SB_NONE;
    }
    unlisted = 0;
}

void append_resume(void) {
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        if (ckpt.log.sb[i] != SB_NONE) {
            cursor_seek(&append[i].cur, ckpt.log.sb[i], sb.pages - ckpt.log.left[i]);
            append[i].holes = append_holes(ckpt.log.sb[i]);
            pairs_expose((enum append_point)i);
            summary_open((enum append_point)i, sb.pages - append[i].cur.left);
        }
    }
    for (uint32_t i = 0; i < ckpt.log.listed; i++) {
        struct append *a = &append[(ckpt.log.list[i] & ROOT_LIST_COPY) != 0 ? APPEND_COPY : APPEND_HOST];
        a->next = ckpt.log.list[i] & ~ROOT_LIST_COPY;
        a->next_ready = true;
    }
}

/** The next superblock of `point` is erased, and will not be listed. */
static void give_back(enum append_point point) {
    superblock_set_state(append[point].next, SB_FREE);
    append[point].next = SB_NONE;
}

static void listed(bool ok) {
    struct append *a = &append[listing];
    if (ok) {
        a->next_ready = true;
    } else {
        /* A mount may yet find a record that lists the superblock. It is erased, and not written before it is listed
         * again. */
        ftl.read_only |= ++ftl.failures >= FTL_FAILURES;
        ckpt.log.listed--;
        checkpoint_unlisted(ckpt.log.list[ckpt.log.listed]);
        give_back(listing);
    }
    append_list();
    work_set(WORK_COLLECT);
    ftl_kick();
}

/** No root record can be written: who waits for the pages of what is not listed has to hear that none will come. */
static void list_none(void) {
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        if ((unlisted >> i & 1) != 0) {
            give_back((enum append_point)i);
        }
    }
    unlisted = 0;
    work_set(WORK_COLLECT);
    ftl_kick();
}

void append_list(void) {
    if (ckpt.root_lost && unlisted != 0) {
        list_none();
    }
    for (uint32_t i = 0; i < APPEND_POINTS && unlisted != 0; i++) {
        if ((unlisted >> i & 1) == 0 || root_busy() || checkpoint_busy()) {
            continue;
        }
        unlisted &= ~(1u << i);
        listing = (enum append_point)i;
        uint32_t entry = append[i].next | (i == APPEND_COPY ? ROOT_LIST_COPY : 0);
        ckpt.log.list[ckpt.log.listed++] = entry;
        checkpoint_listed(listing, entry);
        root_write(root_list, listed);
    }
}

static void erased(struct sb_erase *e, bool ok) {
    enum append_point point = e == &append[APPEND_COPY].erase ? APPEND_COPY : APPEND_HOST;
    if (ok) {
        unlisted |= 1u << point;
        append_list();
        return;
    }
    superblock_spoilt(e->sb);
    append[point].next = SB_NONE;
    room_changed();
    append_prepare(point);
    work_set(WORK_COLLECT);
    ftl_kick();
}

static void erase(struct pairs_wait *p) {
    enum append_point point = p == &relying[APPEND_COPY] ? APPEND_COPY : APPEND_HOST;
    uint32_t n = append[point].next;
    if (superblock_valid(n) > 0) {
        /* A copy was taken along by a program that failed: the original is in use again. */
        superblock_set_state(n, SB_CLOSED);
        append[point].next = SB_NONE;
        append_prepare(point);
        return;
    }
    superblock_erase(&append[point].erase, n, erased);
}

/** Erase a free superblock for `point`, the most worn one or the least; `all`: even one that is kept for copies. */
static void prepare(enum append_point point, bool worn, bool all) {
    struct append *a = &append[point];
    bool last = !all && point == APPEND_HOST && sb.free + (append[APPEND_COPY].next != SB_NONE) <= ROOM_COPIES;
    if (a->next != SB_NONE || a->erase.active || sb.free == 0 || last || ftl.read_only ||
        ckpt.log.listed + APPEND_POINTS > ROOT_LIST_MOST) {
        return;
    }
    a->next = superblock_pick(worn);
    a->next_ready = false;
    superblock_set_state(a->next, SB_OPEN);
    /* What it held has newer versions: these are all that there is from here on. */
    relying[point].done = erase;
    pairs_settle(&relying[point], true);
}

void append_prepare(enum append_point point) {
    prepare(point, false, false);
}

bool append_prepare_last(void) {
    prepare(APPEND_HOST, false, true);
    return append[APPEND_HOST].next != SB_NONE;
}

bool append_prepare_worn(void) {
    prepare(APPEND_COPY, true, false);
    return append[APPEND_COPY].next != SB_NONE;
}

void append_end_row(struct append *a) {
    uint32_t given = a->row_unpaid - a->row - a->row_summed;
    a->row = a->row_summed = a->row_unpaid = 0;
    if (given > 0) {
        collect_paid(given);
    }
}

void append_close(enum append_point point) {
    struct append *a = &append[point];
    parity_close(point);
    if (a->cur.sb != SB_NONE) {
        if (point == APPEND_HOST) {
            /* The numbers of what is left of it are nobody's: a mount passes over them. */
            ftl.seq += a->cur.left;
        }
        superblock_closed(a->cur.sb);
        /* It is in the log until the next checkpoint: there has to be one. */
        ftl.changed = true;
    }
    a->cur = (struct sb_cursor){.sb = SB_NONE};
    summary_open(point, 0);
    append_end_row(a);
}

void append_bad(uint32_t n) {
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        append[i].holes |= append[i].cur.sb == n;
        append_end_row(&append[i]);
    }
}

uint32_t append_room(enum append_point point) {
    const struct append *a = &append[point];
    uint32_t left = a->cur.left;
    if (a->cur.sb != SB_NONE && (a->holes || parity_on)) {
        /* Of whole stripes, and pages become exposed meanwhile. */
        left = left > pairs_lost() ? left - pairs_lost() : 0;
        left = left / (bad.units * nand_geo.sectors) * (parity_data(a->cur.sb) / nand_geo.pages) * nand_geo.sectors;
    }
    uint32_t summaries = a->cur.sb != SB_NONE ? summary_to_come(point) : 0;
    left = left > summaries ? left - summaries : 0;
    return left + (a->next != SB_NONE ? log_sectors(a->next) : 0);
}

/** Open the superblock that was listed last. */
static void open_next(enum append_point point) {
    struct append *a = &append[point];
    append_close(point);
    cursor_open(&a->cur, a->next);
    a->holes = append_holes(a->next);
    a->exposed = 0;
    a->next = SB_NONE;
    a->next_ready = false;
    summary_open(point, 0);
}

/** Step over bad blocks, and over pages that stay blank. The sequence numbers of their sectors are nobody's. */
static void step_over(enum append_point point) {
    struct append *a = &append[point];
    uint32_t before = a->cur.left;
    pairs_step_over(&a->cur, a->exposed);
    while (a->cur.left > 0 && bad_at(cursor_ppa(&a->cur))) {
        cursor_next_page(&a->cur);
        pairs_step_over(&a->cur, a->exposed);
    }
    if (point == APPEND_HOST) {
        ftl.seq += before - a->cur.left;
    }
}

/** Whether the log can grow by a row and a page of it costs nobody anything: no checkpoint is due, collection has not
 * to keep pace. */
static bool log_is_free(void) {
    return sb.free > room_wanted && (int32_t)(ftl.seq + nand_geo.channels - ftl.log_due) < 0 && !room_log_long() &&
           !ftl_spent();
}

/** The row is what is left of the cursor's channels, unless something has to be looked at before a page of them. */
static void begin_row(struct append *a) {
    append_end_row(a);
    bool prepare = a->cur.left <= sb.pages / 4 && a->next == SB_NONE;
    if (a != &append[APPEND_HOST] || nand_geo.sectors != 1 || a->cur.left == 0 || a->holes || prepare ||
        !log_is_free()) {
        return;
    }
    /* Up to where a summary is due, or parity. */
    uint32_t most = a->due - (sb.pages - a->cur.left);
    uint32_t row = nand_geo.channels - a->cur.channel;
    a->row_ppa = cursor_ppa(&a->cur) - (1u << 28);
    row = row < most ? row : most;
    if (parity_on) {
        most = parity_row(&a->cur);
        a->row_summed = a->row_unpaid = row < most ? row : most;
    } else {
        a->row = a->row_unpaid = row;
    }
}

void append_next_row(struct append *a) {
    a->cur.channel--;
    a->cur.left++;
    cursor_next_page(&a->cur);
    begin_row(a);
}

/** Step over the page under the cursor. The sequence numbers of its sectors are nobody's. */
static void skip_page(enum append_point point) {
    struct append *a = &append[point];
    cursor_next_page(&a->cur);
    ftl.seq += point == APPEND_HOST ? nand_geo.sectors : 0;
    if (a->holes) {
        step_over(point);
    }
}

/** Put the cursor of `point` on a page for data: parity and summaries take theirs. False: there is none now. */
static bool find_page(enum append_point point) {
    struct append *a = &append[point];
    for (;;) {
        while (a->cur.left == 0) {
            if (a->next == SB_NONE || !a->next_ready) {
                return false;
            }
            open_next(point);
            if (a->holes) {
                step_over(point);
            }
        }
        enum parity_step step = parity_on ? parity_step(point, &a->cur, cursor_ppa(&a->cur)) : PARITY_TAKE;
        if (step == PARITY_WAIT) {
            return false;
        }
        uint32_t position = sb.pages - a->cur.left;
        if (step == PARITY_TAKE && (position < a->due || !summary_due(point, position))) {
            return true;
        }
        skip_page(point);
    }
}

uint32_t append_page(enum append_point point) {
    struct append *a = &append[point];
    if (a->holes) {
        step_over(point);
    }
    if (a->cur.left <= sb.pages / 4 && a->next == SB_NONE) {
        append_prepare(point);
        if (a->holes) {
            /* What is erased now relies on the pages before this one. */
            step_over(point);
        }
    }
    if (!find_page(point)) {
        if (a->cur.left == 0 && a->next == SB_NONE) {
            /* More was stepped over than the quarter at which the next superblock is prepared. Its erase wakes who
             * waits. */
            append_prepare(point);
        }
        return 0;
    }
    uint32_t ppa = cursor_ppa(&a->cur);
    a->note = SUMMARY_NONE;
    if (a->notes != SUMMARY_NONE) {
        a->note = (uint16_t)(a->notes + sb.pages - a->cur.left);
        summary_pending[a->note >> SUMMARY_GROUP_LOG2]++;
    }
    cursor_next_page(&a->cur);
    begin_row(a);
    ftl.changed = true;
    return ppa;
}

bool append_pending(enum append_point point) {
    return (append[point].next != SB_NONE && !append[point].next_ready) || parity_waits(point);
}
