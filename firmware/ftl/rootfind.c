/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/rootfind.h"

#include "ftl/area.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "ftl/root.h"
#include "ftl/scan.h"
#include "platform/timer.h"

/** Read page `n` of root block `which` into DRAM_ROOT. */
static const struct scan_page *record_read(uint32_t which, uint32_t n) {
    scan_read(&scan_pages[0], area_root_ppa(which, n), DRAM_ROOT, PAGE_SIZE);
    nand_wait_idle();
    return &scan_pages[0];
}

/** Whether `n` pages of root block `which` from `first` on are blank; those beyond its end are. */
static bool all_blank(uint32_t which, uint32_t first, uint32_t n) {
    uint32_t end = area_root_pages();
    n = first + n <= end ? n : end - first;
    for (uint32_t i = 0; i < n; i++) {
        scan_read(&scan_pages[i], area_root_ppa(which, first + i), SCAN_BUFFER + i * 64, 64);
    }
    nand_wait_idle();
    for (uint32_t i = 0; i < n; i++) {
        if (!scan_blank(&scan_pages[i])) {
            return false;
        }
    }
    return true;
}

/** Whether root block `which` ends before page `n`: a single blank page may have root records behind it. */
static bool ends(uint32_t which, uint32_t n) {
    return all_blank(which, n, 1) && all_blank(which, n + 1, ROOT_GAP);
}

/** First page of root block `which` behind all that are not blank: they are written in order, so doubling and then
 * halving find it. */
static uint32_t count_pages(uint32_t which) {
    uint32_t end = area_root_pages();
    uint32_t lo = 0;
    uint32_t hi = 1;
    while (hi <= end && !ends(which, hi - 1)) {
        lo = hi;
        hi *= 2;
    }
    hi = hi <= end ? hi - 1 : end;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (ends(which, mid)) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

/** What is found of a root block. */
static struct root_block {
    uint16_t count; /**< pages up to the last one that is not blank */
    uint16_t page;  /**< of the newest good root record, NO_PAGE: none */
    bool doubt;     /**< behind it is a page that cannot be read and is not a torn one */
    bool torn;      /**< behind it is a page that may be torn, or a record that has become unreadable */
    bool old;       /**< there is a root record of an older firmware */
    bool foreign;   /**< there is a page of another layout version */
    uint32_t seq;   /**< sequence number of that record */
} blocks[ROOT_BLOCKS];
#define NO_PAGE 0xffffu

/** Pages that cannot be read, one behind the other, at which the search in a block ends: one that cannot be read at all
 * would take as many reads, and their repetitions, as it has pages. More records than that are not lost at once. */
#define UNREADABLE_MOST 16u

static void block_look(uint32_t which) {
    struct root_block *b = &blocks[which];
    *b = (struct root_block){.count = (uint16_t)count_pages(which), .page = NO_PAGE};
    uint32_t unreadable = 0;
    for (uint32_t n = b->count; n-- > 0 && unreadable < UNREADABLE_MOST;) {
        const struct scan_page *p = record_read(which, n);
        if (!scan_good(p)) {
            b->foreign |= p->status == FLASH_STATUS_FOREIGN;
            b->doubt |= !scan_torn(p) && !scan_blank(p);
            b->torn |= scan_torn(p);
            unreadable += !scan_blank(p);
        } else if (root_good(DRAM_ROOT)) {
            b->page = (uint16_t)n;
            b->seq = hal_read(DRAM_ROOT + ROOT_SEQ_AT);
            return;
        } else {
            b->old |= (hal_read(DRAM_ROOT) & ROOT_MAGIC_NAME) == (ROOT_MAGIC & ROOT_MAGIC_NAME);
        }
    }
}

/** Look at all root blocks. Those that hold the newest record, a bit each. */
static uint32_t look_at_all(void) {
    uint32_t holds = 0;
    uint32_t newest = 0;
    for (uint32_t i = 0; i < ckpt.roots; i++) {
        block_look(i);
        if (blocks[i].page == NO_PAGE || (holds != 0 && blocks[i].seq < newest)) {
            continue;
        }
        holds = holds != 0 && blocks[i].seq == newest ? holds | 1u << i : 1u << i;
        newest = blocks[i].seq;
    }
    return holds;
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
        if ((holds >> i & 1) != 0 && scan_good(record_read(i, blocks[i].page)) && root_good(DRAM_ROOT)) {
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
