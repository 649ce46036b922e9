/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/rootfind.h"

#include <assert.h>

#include "ftl/area.h"
#include "ftl/bad.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "ftl/root.h"
#include "ftl/scan.h"
#include "platform/console.h"
#include "platform/timer.h"

/** Pages that cannot be read, one behind the other, at which the search in a block ends: one that cannot be read at all
 * would take as many reads, and their repetitions, as it has pages. More records than that are not lost at once. */
#define UNREADABLE_MOST 16u
/** Most reads of a step of the search in a block. */
#define STEP_READS 4u

/** What is found of a root block, and how far the search in it is. */
static struct root_block {
    uint16_t count; /**< pages up to the last one that is not blank */
    uint16_t page;  /**< of the newest good root record, NO_PAGE: none */
    bool doubt;     /**< behind it is a page that cannot be read and is not a torn one */
    bool torn;      /**< behind it is a page that may be torn, or a record that has become unreadable */
    bool old;       /**< there is a root record of an older firmware */
    bool foreign;   /**< there is a page of another layout version */
    bool other;     /**< the record is of a medium of another geometry, or on other chip enables */
    uint32_t seq;   /**< sequence number of that record */
    enum { DOUBLING, HALVING, RECORDS, FOUND } step;
    bool blank;         /**< the page that is asked for is: those behind it are looked at */
    uint8_t unreadable; /**< records that could not be read */
    uint32_t lo, hi;    /**< pages are written in order: the first one behind all that are not blank is between these,
                             which doubling and then halving find; `lo` is then behind the next record to be read */
} blocks[ROOT_BLOCKS];
#define NO_PAGE 0xffffu

static_assert(ROOT_BLOCKS * STEP_READS <= SCAN_MAX, "reads of a step");

/** Where page `i` of the reads of a step goes, of root block `which`. */
static struct scan_page *step_page(uint32_t which, uint32_t i) {
    return &scan_pages[which * STEP_READS + i];
}

/** The record that a step has read of root block `which`. */
static uint32_t step_record(uint32_t which) {
    return SCAN_BUFFER + which * PAGE_SIZE;
}

/** The page of which the search for the end of `b` asks whether the block ends before it. */
static uint32_t asked(const struct root_block *b) {
    return b->step == DOUBLING ? b->hi - 1 : (b->lo + b->hi) / 2;
}

/** Start the reads of the next step in root block `which`. */
static void step_begin(uint32_t which) {
    const struct root_block *b = &blocks[which];
    if (b->step == RECORDS) {
        scan_read(step_page(which, 0), area_root_ppa(which, b->lo - 1), step_record(which), PAGE_SIZE);
        return;
    }
    /* A single blank page may have root records behind it. */
    uint32_t first = asked(b) + b->blank;
    uint32_t reads = b->blank ? ROOT_GAP : 1;
    for (uint32_t i = 0; i < reads; i++) {
        step_page(which, i)->status = FLASH_STATUS_ERASED;
        if (first + i < area_root_pages()) {
            scan_read(step_page(which, i), area_root_ppa(which, first + i), step_record(which) + i * 64, 64);
        }
    }
}

/** The next record to be read is the one before page `lo`. */
static void records_go_on(struct root_block *b) {
    b->step = b->lo > 0 && b->unreadable < UNREADABLE_MOST ? RECORDS : FOUND;
}

/** Whether the block ends before the page that was asked for is known. */
static void end_step(struct root_block *b, bool ends) {
    uint32_t at = asked(b);
    uint32_t pages = area_root_pages();
    if (ends) {
        b->hi = at;
        b->step = HALVING;
    } else if (b->step == DOUBLING) {
        b->lo = b->hi;
        b->hi *= 2;
        if (b->hi > pages) {
            b->hi = pages;
            b->step = HALVING;
        }
    } else {
        b->lo = at + 1;
    }
    if (b->step == HALVING && b->lo == b->hi) {
        b->count = (uint16_t)b->lo;
        records_go_on(b);
    }
}

/** What root block `which` was asked for has been read. */
static void step_end(uint32_t which) {
    struct root_block *b = &blocks[which];
    const struct scan_page *p = step_page(which, 0);
    if (b->step != RECORDS) {
        bool blank = true;
        for (uint32_t i = 0; i < (b->blank ? ROOT_GAP : 1); i++) {
            blank &= scan_blank(&p[i]);
        }
        if (blank && !b->blank) {
            b->blank = true;
        } else {
            b->blank = false;
            end_step(b, blank);
        }
        return;
    }
    b->lo--;
    uint32_t at = step_record(which);
    if (!scan_good(p)) {
        b->foreign |= p->status == FLASH_STATUS_FOREIGN;
        b->doubt |= !scan_torn(p) && !scan_blank(p);
        b->torn |= scan_torn(p);
        b->unreadable += !scan_blank(p);
    } else if (root_good(at)) {
        b->page = (uint16_t)b->lo;
        b->seq = hal_read(at + ROOT_SEQ_AT);
        b->other = !root_ours(at);
        b->step = FOUND;
        return;
    } else {
        b->old |= (hal_read(at) & ROOT_MAGIC_NAME) == (ROOT_MAGIC & ROOT_MAGIC_NAME);
    }
    records_go_on(b);
}

/** Search all root blocks. The steps in all of them are taken together, since they lie on as many dies. */
static void search(void) {
    for (uint32_t i = 0; i < ckpt.roots; i++) {
        blocks[i] = (struct root_block){.page = NO_PAGE, .hi = 1};
    }
    for (bool more = true; more;) {
        uint32_t asking = 0;
        for (uint32_t i = 0; i < ckpt.roots; i++) {
            if (blocks[i].step != FOUND) {
                asking |= 1u << i;
                step_begin(i);
            }
        }
        nand_wait_idle();
        for (uint32_t i = 0; i < ckpt.roots; i++) {
            if ((asking >> i & 1) != 0) {
                step_end(i);
            }
        }
        more = asking != 0;
    }
}

/** Look at all root blocks. Those that hold the newest record, a bit each. */
static uint32_t look_at_all(void) {
    uint32_t holds = 0;
    uint32_t newest = 0;
    search();
    for (uint32_t i = 0; i < ckpt.roots; i++) {
        if (blocks[i].page == NO_PAGE || (holds != 0 && blocks[i].seq < newest)) {
            continue;
        }
        holds = holds != 0 && blocks[i].seq == newest ? holds | 1u << i : 1u << i;
        newest = blocks[i].seq;
    }
    return holds;
}

/**
 * Whether a root record lies where another geometry, or other chip enables, have their candidates: their places differ,
 * so that those of this one may be blank though the medium is not.
 */
static bool elsewhere(void) {
    struct sb_cursor at;
    cursor_open(&at, 0);
    uint32_t left = ckpt.first * bad.units;
    while (left > 0) {
        /* The first pages of the blocks, as many as can be asked for together. */
        uint32_t batch = left < SCAN_MAX ? left : SCAN_MAX;
        for (uint32_t i = 0; i < batch; i++) {
            scan_read_once(&scan_pages[i], cursor_ppa(&at), SCAN_BUFFER + i * 64, 64);
            cursor_next_page(&at);
            if (at.page != 0) {
                cursor_open(&at, at.sb + 1);
            }
        }
        nand_wait_idle();
        left -= batch;
        for (uint32_t i = 0; i < batch; i++) {
            struct scan_page *p = &scan_pages[i];
            if (!scan_good(p) || hal_read(SCAN_BUFFER + i * 64) != ROOT_MAGIC) {
                continue;
            }
            scan_read_once(p, p->ppa, DRAM_ROOT, PAGE_SIZE);
            nand_wait_idle();
            if (scan_good(p) && root_good(DRAM_ROOT)) {
                root_say(DRAM_ROOT);
                return true;
            }
        }
    }
    return false;
}

/** Why there is no record. NULL: the medium is blank. */
static const char *none_found(void) {
    bool blank = true;
    bool old = false;
    bool foreign = false;
    for (uint32_t i = 0; i < ckpt.roots; i++) {
        /* A block that came bad may hold anything. */
        blank &= blocks[i].count == 0 || marks_block(ckpt.root_block[i]);
        old |= blocks[i].old;
        foreign |= blocks[i].foreign;
    }
    return blank     ? NULL
           : old     ? "medium of an older firmware: format it"
           : foreign ? "medium of another layout version: start with the firmware that wrote it, or format it"
                     : "the root blocks are written, but no root record can be read: damaged, or written with another "
                       "code or scrambler; format the medium";
}

/** Read the newest record, from whichever of `holds` gives it. */
static bool newest_read(uint32_t holds) {
    for (uint32_t i = 0; i < ckpt.roots; i++) {
        if ((holds >> i & 1) == 0) {
            continue;
        }
        scan_read(&scan_pages[0], area_root_ppa(i, blocks[i].page), DRAM_ROOT, PAGE_SIZE);
        nand_wait_idle();
        if (scan_good(&scan_pages[0]) && root_good(DRAM_ROOT)) {
            return true;
        }
    }
    return false;
}

const char *root_find(struct root_look *look) {
    *look = (struct root_look){0};
    uint32_t holds = look_at_all();
    if (holds == 0) {
        const char *why = none_found();
        if (why == NULL && elsewhere()) {
            return ROOT_FOREIGN;
        }
        look->blank = why == NULL;
        return why;
    }
    if (!newest_read(holds)) {
        return "the newest root record cannot be read again";
    }
    /* Blocks that failed are not written any more: whatever they hold is older. */
    ckpt.root_failed = hal_read(DRAM_ROOT + ROOT_FAILED_AT) & ((1u << ckpt.roots) - 1);
    ckpt.root_holds = holds;
    bool several = (holds & (holds - 1)) != 0;
    uint32_t work = ~ckpt.root_failed & ((1u << ckpt.roots) - 1);
    look->single = !several && (work & (work - 1)) != 0;
    for (uint32_t i = 0; i < ckpt.roots; i++) {
        if ((work >> i & 1) == 0) {
            continue;
        }
        /* Of two media that took turns the one with the greater number need not be the one that was written last. */
        if (blocks[i].page != NO_PAGE && blocks[i].other && root_ours(DRAM_ROOT)) {
            console_printf("ftl: root block %u has a record of another medium\n", i);
            return ROOT_FOREIGN;
        }
        /* An older record may name what was erased and written again since: only a torn one, whose writer never ended,
         * is as if it were not there. */
        if (blocks[i].doubt && ((holds >> i & 1) != 0 || (blocks[i].page == NO_PAGE && !several))) {
            return ROOT_OLDER;
        }
        /* What cannot be read may be a record that was complete: then the one that was found says nothing wrong as long
         * as nothing that a newer one freed is written again, and nothing about whether the log goes on. */
        look->doubt |= blocks[i].torn;
    }
    uint32_t pages = area_root_pages();
    uint32_t copy = 0;
    for (uint32_t i = 0; i < ckpt.roots && copy < ROOT_COPIES; i++) {
        if ((holds & work) >> i & 1) {
            /* One that was in programming when power went may read blank. */
            root_resume(copy++, i, blocks[i].count < pages ? blocks[i].count + 1u : pages, blocks[i].page);
        }
    }
    /* Of a block that does not hold it nobody knows where it could go on. */
    for (; copy < ROOT_COPIES; copy++) {
        root_resume(copy, ckpt.roots - 1, pages, ROOT_NO_RECORD);
    }
    return NULL;
}

uint32_t root_find_epoch(void) {
    scan_init();
    uint32_t holds = look_at_all();
    if (holds != 0 && newest_read(holds)) {
        ckpt.root_seq = hal_read(DRAM_ROOT + ROOT_SEQ_AT);
        return hal_read(DRAM_ROOT + ROOT_EPOCH_AT) + 1;
    }
    for (uint32_t i = 0; i < ckpt.roots; i++) {
        if (blocks[i].count > 0) {
            return ((uint32_t)time_now() | 1u) + 1;
        }
    }
    return 1;
}
