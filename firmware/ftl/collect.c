// SPDX-License-Identifier: BSD-3-Clause
/*
 * Every sector of the victim is read as long as the victim holds any in use; those that the map still finds there are
 * programmed at the append point for copies, with the sequence number that they had, and enter the map if no newer
 * write has come in between. What the victim holds after that could not be read: the map is searched for it, and what
 * cannot be read then either is lost: a sector of the log says so.
 */
#include "ftl/collect.h"

#include <string.h>

#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/ftl.h"
#include "ftl/pairs.h"
#include "ftl/parity.h"
#include "ftl/planes.h"
#include "ftl/refresh.h"
#include "ftl/summary.h"
#include "ftl/victim.h"
#include "ftl/wear.h"
#include "media/health.h"
#include "platform/console.h"
#include "platform/fill.h"

/** Sectors on their way at a time. */
#define COPIES 32u
/** Programs that fail of one sector before it is left where it is. */
#define MAX_TRIES 16u
/** Map entries that a slice of the search looks at. */
#define SLICE 256u

struct copy {
    struct ftl_write w; /**< w.ppa: where it goes; w.lba with OOB_LOST when it was lost */
    uint32_t from;
    uint32_t seq;
};

static struct copy copies[COPIES];
static struct list idle;
static struct list gathered; /**< of the next page */
static uint32_t gathered_count;

static_assert(COPIES * PAGE_SIZE <= DRAM_COPIES_SIZE, "copies on their way");

static struct {
    uint32_t victim;     /**< SB_NONE: none */
    struct sb_cursor at; /**< its next sector to be read */
    uint32_t reading;
    uint32_t programming;
    uint32_t at_risk; /**< superblock with data on a bad block; SB_NONE: none is known that is closed */
    bool upkeep;      /**< the victim is emptied for the medium's sake, not for room */
    bool holes;       /**< the victim has bad blocks, and they hold nothing */
    uint32_t gain;    /**< sectors that the host may write while the victim is emptied */
    uint32_t won;     /**< sectors that are won when the victim is free */
    uint32_t owed;    /**< sectors that the host had written beyond what victims have won, when this one was taken */
    uint32_t search;  /**< LBA at which the search for what is left goes on; SB_NONE: there is none */
    bool spent;       /**< no superblock was worth taking when it was last looked at */
} job;
uint32_t collect_written;

void collect_init(void) {
    memset(&job, 0, sizeof job);
    collect_written = 0;
    job.victim = SB_NONE;
    job.search = SB_NONE;
    job.at_risk = SB_NONE;
    wear_init();
    refresh_init();
    idle = gathered = (struct list){0};
    gathered_count = 0;
    for (uint32_t i = 0; i < COPIES; i++) {
        copies[i].w.buffer = DRAM_COPIES + i * PAGE_SIZE;
        list_put(&idle, &copies[i].w.node);
    }
    work_set(WORK_COLLECT);
}

static struct copy *copy_of(struct ftl_write *w) {
    return CONTAINER(w, struct copy, w);
}

bool collect_idle(void) {
    return job.reading == 0 && job.programming == 0 && gathered_count == 0;
}

/** Nothing new is begun: an exclusive operation or a checkpoint waits until nothing is on its way. */
static bool paused(void) {
    return ftl_paused() || checkpoint_waits();
}

static bool wanted(void) {
    return sb.free < room_wanted && !ftl.read_only;
}

/** `c` is done with. */
static void put(struct copy *c) {
    nand_op_put(c->w.op);
    list_put(&idle, &c->w.node);
}

/** Nothing is on its way any more: let go what waits for that. */
static void settled(void) {
    if (collect_idle()) {
        ftl_settled();
    }
}

/** No superblock is worth taking, or can be. */
static void none_found(void) {
    job.spent = true;
    collect_written = 0;
    /* What was written last may be mostly stale: a full superblock that no other one follows would stay open. */
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        if (append[i].cur.sb != SB_NONE && append[i].cur.left == 0 && append[i].next == SB_NONE) {
            append_close((enum append_point)i);
        }
    }
    /* Those that recovery reads cannot be taken before the next checkpoint. */
    if (ftl.unlogged || sb.logged > 0) {
        ftl_reclaim();
    }
}

/* ---- programming ---- */

static void program_ended(struct ftl_write *w) {
    if (parity_defers(PARITY_COPY, w, program_ended)) {
        return;
    }
    bool ok = !w->failed;
    while (w != NULL) {
        struct ftl_write *next = ftl_write_next(w);
        struct copy *c = copy_of(w);
        uint32_t lba = w->lba & ~OOB_LOST;
        w->op->confirm = FLASH_CONFIRM_PAGE;
        summary_ended(w->note, ok);
        job.programming--;
        if (map_get(lba) != c->from) {
            put(c);
        } else if (ok) {
            map_set(lba, w->lba == lba ? w->ppa : MAP_LOST);
            put(c);
        } else if (++w->tries < MAX_TRIES) {
            list_put(&gathered, &w->node);
            gathered_count++;
        } else {
            put(c);
        }
        w = next;
    }
    if (nand_geo.paired) {
        pairs_look();
    }
    work_set(WORK_COLLECT);
    ftl_kick();
    settled();
}

static void programmed(struct nand_op *op, uint32_t status) {
    struct ftl_write *w = planes_sector_ended(op, status);
    if (w != NULL) {
        if (nand_geo.paired) {
            pairs_ended(APPEND_COPY, w);
        }
        program_ended(w);
    }
}

/** Program the sectors gathered, as many as a page takes. False when there is no page for them. */
static bool page_out(void) {
    uint32_t ppa = append_page(APPEND_COPY);
    if (ppa == 0) {
        return false;
    }
    struct list page = {0};
    for (uint32_t i = 0; i < nand_geo.sectors && gathered_count > 0; i++, gathered_count--) {
        list_put(&page, list_take(&gathered));
    }
    struct ftl_write *first = CONTAINER(page.first, struct ftl_write, node);
    first->failed = 0;
    uint16_t note = append[APPEND_COPY].note;
    for (struct ftl_write *w = first; w != NULL; w = ftl_write_next(w), ppa++) {
        struct copy *c = copy_of(w);
        w->ppa = ppa;
        w->note = w == first ? note : SUMMARY_NONE;
        summary_note(note, ppa - first->ppa, w->lba);
        w->op->done = programmed;
        w->op->arg = w;
        nand_program(w->op, ppa, (w->lba & OOB_LOST) != 0 ? DRAM_ZERO : w->buffer, w->lba, c->seq);
        w->op->confirm = w->node.next != NULL ? FLASH_CONFIRM_MORE : FLASH_CONFIRM_PAGE;
        if (nand_geo.paired) {
            pairs_note(APPEND_COPY, ppa, w->lba & ~OOB_LOST, c->from);
        }
        job.programming++;
        ftl.log_copies++;
    }
    parity_placed(APPEND_COPY, first);
    planes_program(first);
    return true;
}

/** The sectors gathered stay where they are. */
static void drop_gathered(void) {
    while (!list_empty(&gathered)) {
        put(copy_of(CONTAINER(list_take(&gathered), struct ftl_write, node)));
    }
    gathered_count = 0;
}

/** No superblock is left that the rest of the victim could go to: programs that failed, and pages that went out partly
 * blank, have taken what there was. Others may have room when more of them is stale. */
static void give_back(void) {
    console_printf("ftl: superblock %u: %u of its sectors find no room\n", job.victim, superblock_valid(job.victim));
    drop_gathered();
    job.search = SB_NONE;
    superblock_set_state(job.victim, SB_CLOSED);
    job.victim = SB_NONE;
    none_found();
    superblock_emptied();
}

/** Send out what is gathered: whole pages, or with `all` everything. */
static void pages_out(bool all) {
    while (gathered_count >= nand_geo.sectors || (all && gathered_count > 0)) {
        if (page_out()) {
            continue;
        }
        if (parity_waits(APPEND_COPY)) {
            return;
        }
        if (!append_pending(APPEND_COPY) && (paused() || ftl.read_only)) {
            /* No page will come before what waits has run, or at all: the sectors stay where they are. */
            drop_gathered();
            if (job.search == SB_NONE) {
                cursor_open(&job.at, job.victim);
            } else {
                job.search = 0;
            }
        } else if (append[APPEND_COPY].next == SB_NONE && sb.free == 0 && job.reading == 0 && job.programming == 0) {
            give_back();
        }
        return;
    }
}

/* ---- reading ---- */

/** The sequence number of the sector read, which is older than the log. That of one that was rebuilt need not be right.
 */
static uint32_t old_number(const struct nand_op *op) {
    return (int32_t)(op->data1 - ftl.log_start) < 0 ? op->data1 : ftl.log_start - 1;
}

static void read_done(struct nand_op *op, uint32_t status) {
    struct copy *c = op->arg;
    job.reading--;
    uint32_t lba = op->data0 & ~OOB_UNCOMMITTED;
    if (status == FLASH_STATUS_OK && lba < ftl.lbas && map_get(lba) == c->from) {
        c->w.lba = lba;
        c->w.tries = 0;
        c->seq = old_number(op);
        list_put(&gathered, &c->w.node);
        gathered_count++;
    } else {
        put(c);
    }
    work_set(WORK_COLLECT);
    settled();
}

/** Of the search: the map says that the block is there. */
static void search_read_done(struct nand_op *op, uint32_t status) {
    struct copy *c = op->arg;
    job.reading--;
    uint32_t lba = c->w.lba;
    if (map_get(lba) == c->from) {
        if (status != FLASH_STATUS_OK) {
            console_printf("ftl: block %u at %08x cannot be read: it is lost\n", lba, c->from);
            nand_health_lost(lba, op, status);
            c->w.lba |= OOB_LOST;
        }
        c->w.tries = 0;
        /* Older than the log, as every copy is. */
        c->seq = status == FLASH_STATUS_OK ? old_number(op) : ftl.log_start - 1;
        list_put(&gathered, &c->w.node);
        gathered_count++;
    } else {
        put(c);
    }
    work_set(WORK_COLLECT);
    settled();
}

/** Something to copy with: a place and an operation. NULL when there is none. */
static struct copy *take(void) {
    if (list_empty(&idle)) {
        return NULL;
    }
    struct nand_op *op = nand_op_get();
    if (op == NULL) {
        return NULL;
    }
    struct copy *c = copy_of(CONTAINER(list_take(&idle), struct ftl_write, node));
    c->w.op = op;
    op->arg = c;
    return c;
}

static bool read_next(void) {
    struct copy *c = take();
    if (c == NULL) {
        return false;
    }
    c->from = cursor_ppa(&job.at);
    cursor_next(&job.at);
    c->w.op->done = read_done;
    nand_read(c->w.op, c->from, c->w.buffer, NAND_SECTOR_DATA);
    job.reading++;
    nand_submit(c->w.op);
    return true;
}

void collect_residue_poll(void) {
    if (paused() || job.search == SB_NONE) {
        work_clear(WORK_RESIDUE);
        return;
    }
    for (uint32_t budget = SLICE; budget > 0 && job.search < ftl.lbas; budget--, job.search++) {
        if (map_page(job.search) == DRAM_ZERO) {
            job.search |= MAP_ENTRIES - 1;
            continue;
        }
        uint32_t ppa = map_get(job.search);
        if (ppa == 0 || ppa_block(ppa) != job.victim) {
            continue;
        }
        struct copy *c = take();
        if (c == NULL) {
            /* Completions bring the next look. */
            work_clear(WORK_RESIDUE);
            work_set(WORK_COLLECT);
            return;
        }
        c->from = ppa;
        c->w.lba = job.search;
        c->w.op->done = search_read_done;
        nand_read_block(c->w.op, ppa, job.search, c->w.buffer);
        job.reading++;
        nand_submit(c->w.op);
    }
    if (job.search >= ftl.lbas) {
        work_clear(WORK_RESIDUE);
        work_set(WORK_COLLECT);
    }
}

/* ---- victims ---- */

/** Sectors of the smallest free superblock; 0: none is free. */
static uint32_t smallest_free(void) {
    uint32_t least = 0;
    for (uint32_t n = 0; n < sb.count; n++) {
        if (sb.state[n] == SB_FREE) {
            uint32_t sectors = log_sectors(n);
            least = least == 0 || sectors < least ? sectors : least;
        }
    }
    return least;
}

/** Most sectors that copies can go to, so that what is begun can be ended. Behind the next superblock is one more that
 * the host does not take. */
static uint32_t copy_room(void) {
    uint32_t room = append_room(APPEND_COPY);
    if (append[APPEND_COPY].next != SB_NONE) {
        return room + smallest_free();
    }
    uint32_t next = superblock_find_free(false);
    return room + (next != SB_NONE ? log_sectors(next) : 0);
}

static void begin(uint32_t victim, bool upkeep) {
    superblock_set_state(victim, SB_VICTIM);
    job.victim = victim;
    job.upkeep = upkeep;
    job.holes = bad_blocks(victim) > 0 && !bad_moving(victim);
    job.spent = false;
    collect_written = 0;
    job.won = log_sectors(victim) - superblock_valid(victim);
    job.gain = upkeep ? sb.pages : job.won;
    cursor_open(&job.at, victim);
}

/** A superblock with data on a bad block that can be emptied: not into those that are left over for copies. */
static uint32_t bad_victim(void) {
    if (job.at_risk != SB_NONE && !bad_to_move(job.at_risk)) {
        job.at_risk = bad_next_to_move();
    }
    bool fits = job.at_risk != SB_NONE && sb.free > ROOM_COPIES && superblock_valid(job.at_risk) <= copy_room();
    return fits ? job.at_risk : SB_NONE;
}

/**
 * A victim for the medium's sake, if one is due: data on bad blocks before data on superblocks that are little worn. It
 * wins no room, but ends with about as much as there is.
 */
static void upkeep(void) {
    if (ftl.read_only || sb.free < ROOM_COPIES) {
        return;
    }
    uint32_t victim = bad_victim();
    if (victim == SB_NONE && refresh_waits() && sb.free > ROOM_COPIES) {
        victim = refresh_victim(copy_room());
    }
    if (victim != SB_NONE) {
        wear_mixed();
    } else {
        victim = wear_victim();
    }
    if (victim != SB_NONE) {
        begin(victim, true);
    }
}

static void next_victim(void) {
    /* Little is won from those that are nearly full: only when there is no other way, and nothing from those whose
     * copies take as many pages, the last of which may not be full. */
    bool last = sb.free <= ROOM_COPIES;
    uint32_t least = last ? 1 : sb.pages / 16 + 1;
    uint32_t fits = copy_room();
    uint32_t victim = victim_pick(least < nand_geo.sectors ? nand_geo.sectors : least, fits, sb.free < ROOM_COPIES);
    if (victim == SB_NONE) {
        none_found();
        return;
    }
    wear_mixed();
    begin(victim, false);
}

void collect_bad(void) {
    job.at_risk = bad_next_to_move();
    if (job.at_risk != SB_NONE) {
        work_set(WORK_COLLECT);
    }
}

/** All of the victim has been read and what was in use is elsewhere. */
static void victim_ended(void) {
    if (superblock_valid(job.victim) > 0 && job.search == SB_NONE) {
        console_printf("ftl: superblock %u: %u sectors could not be read to be moved\n", job.victim,
                       superblock_valid(job.victim));
        job.search = 0;
        work_set(WORK_RESIDUE);
        return;
    }
    job.search = SB_NONE;
    uint32_t owed = job.owed + collect_written;
    job.owed = owed > job.won ? owed - job.won : 0;
    collect_written = 0;
    /* What it still holds was programmed again and again in vain: the next time would end like this one. */
    superblock_set_state(job.victim, superblock_valid(job.victim) > 0 ? SB_UNMOVABLE : SB_CLOSED);
    superblock_emptied();
    job.victim = SB_NONE;
    collect_bad();
}

void collect_poll(void) {
    work_clear(WORK_COLLECT);
    if (ftl.hurry && !ftl.read_only) {
        ftl.hurry = false;
        ftl_reclaim();
    }
    if (paused()) {
        pages_out(job.reading == 0);
        settled();
        return;
    }
    if (sb.emptied && !ftl.unlogged) {
        job.spent = false;
        if (superblock_release()) {
            ftl_kick();
        }
    }
    bool room = !wanted();
    if (job.victim == SB_NONE) {
        upkeep();
    } else if (refresh_waits()) {
        /* The victim in hand is emptied first, though there is room. */
        job.upkeep = true;
    }
    if (job.victim == SB_NONE && !room && !job.spent) {
        next_victim();
    }
    if (room && (job.victim == SB_NONE || !job.upkeep || ftl.read_only)) {
        pages_out(job.reading == 0);
        settled();
        return;
    }
    if (job.victim == SB_NONE) {
        ftl_kick();
        return;
    }
    if (ftl.clean || ftl_log_due()) {
        ftl_prepare_pages();
        if (ftl.clean || ftl.read_only || ftl_log_full() || paused()) {
            return;
        }
    }
    if (job.search != SB_NONE) {
        work_put(WORK_RESIDUE, job.search < ftl.lbas);
    }
    while (job.search == SB_NONE && job.at.left > 0 && superblock_valid(job.victim) > 0) {
        if (job.holes && bad_at(cursor_ppa(&job.at))) {
            cursor_next_page(&job.at);
            continue;
        }
        if (!read_next()) {
            if (job.reading == 0 && job.programming == 0) {
                work_set(WORK_COLLECT);
            }
            break;
        }
    }
    bool read =
        (job.at.left == 0 || superblock_valid(job.victim) == 0) && (job.search == SB_NONE || job.search >= ftl.lbas);
    pages_out(read && job.reading == 0);
    if (read && collect_idle() && job.victim != SB_NONE) {
        victim_ended();
        work_set(WORK_COLLECT);
    }
}

void collect_forget(void) {
    if (job.victim != SB_NONE) {
        superblock_set_state(job.victim, SB_CLOSED);
    }
    job.victim = SB_NONE;
    job.search = SB_NONE;
    job.at_risk = SB_NONE;
    dram_zero(DRAM_COPIES, COPIES * PAGE_SIZE);
}

void collect_pause(void) {
    work_set(WORK_COLLECT);
}

/* ---- pace ---- */

void collect_paid(uint32_t sectors) {
    if (!wanted()) {
        return;
    }
    collect_written += sectors;
    if (job.victim == SB_NONE && (!job.spent || collect_written > sb.pages / 8)) {
        job.spent = false;
        work_set(WORK_COLLECT);
    }
}

bool collect_allows(void) {
    if (job.victim == SB_NONE || !wanted()) {
        return true;
    }
    /* The host may be ahead by a little. Beyond that it is given half of what is won until that is made up for: would
     * it be given all, it would come to the end of its superblock before there is another, and wait for many victims.
     */
    uint32_t ahead = sb.pages / 8 + nand_geo.sectors;
    uint32_t gain = job.gain, spare = ahead - job.owed;
    if (job.owed > ahead) {
        gain /= 2;
        spare = 0;
    }
    return collect_written <= spare ||
           (uint64_t)(collect_written - spare) * sb.pages <= (uint64_t)gain * (sb.pages - job.at.left);
}

bool collect_spent(void) {
    if (job.spent && collect_written > 0) {
        /* Something was written since: look again. */
        job.spent = false;
    }
    if (!job.spent) {
        work_set(WORK_COLLECT);
    }
    return job.spent && !ftl.unlogged && sb.logged == 0 && !sb.emptied;
}
