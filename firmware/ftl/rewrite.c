/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A page whose program a cut has met may read well at the mount, and fade soon. Nobody may rely on it: the host that
 * reads it at once, and older versions, which are erased because it is there. So before the drive is ready the mount
 * writes such sectors again, as if the host did: the next mount finds the newest of them, and until one is written
 * the older versions are still there, because the superblocks that the log has emptied are not erased yet.
 *
 * A LUN programs one page of each plane at a time, in the order of their allocation. So only the last pages that it has
 * of the log count.
 */
#include "ftl/rewrite.h"

#include <assert.h>

#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "ftl/pairs.h"
#include "ftl/parity.h"
#include "ftl/scan.h"
#include "ftl/write.h"
#include "platform/console.h"
#include "platform/work.h"
#include "platform/xor.h"

/** Sectors that are written at a time. */
#define BATCH 32u
/** Rows that a program of a page that shares cells may take along: the page's own, and those back to its partner's. */
#define ROWS_PAIRED 4u
/** Ends of the log: of each superblock that the root record lists, and of the two that were open. */
#define ENDS (ROOT_LIST_MOST + APPEND_POINTS)
/** A word for each die behind what is scanned and the tails of the log: pages of it that were found. */
#define FOUND (DRAM_BUFFERS + 0x80000u)

static_assert(BATCH * PAGE_SIZE <= DRAM_COPIES_SIZE, "sectors that are written");
static_assert(0x80000u + BAD_UNITS * 4 <= DRAM_BUFFERS_SIZE, "dies");

static struct { uint32_t sb, end, most; } ends[ENDS];
static uint32_t count;
static struct ftl_write writes[BATCH];
/** Sectors that are read, and then those of them that are written. */
static uint32_t batch, under_way;
static uint32_t written;

void rewrite_init(void) {
    count = 0;
}

void rewrite_add(uint32_t n, uint32_t end, uint32_t most) {
    if (count < ENDS) {
        ends[count].sb = n;
        ends[count].end = end;
        ends[count++].most = most < end ? most : end;
    }
}

static void ended(struct ftl_write *w, enum ftl_status status) {
    written += status == FTL_OK;
    under_way--;
    nand_op_put(w->op);
}

/** Whether the map names the sector `p`, which was read: `w` is to write it again. */
static bool in_use(const struct scan_page *p, struct ftl_write *w) {
    uint32_t lba = p->oob0 & ~OOB_LOST;
    if (!scan_good(p) || lba >= ftl.lbas || map_get(lba) != (p->oob0 == lba ? p->ppa : MAP_LOST)) {
        return false;
    }
    w->lba = lba;
    w->lost = p->oob0 != lba;
    return true;
}

/** Whether a superblock is free that is not kept for copies: without those none would ever become free. */
static bool any_free(void) {
    return sb.free + (append[APPEND_COPY].next != SB_NONE) > ROOM_COPIES;
}

/** Have the host's append point get its next superblock. Where none is free one has to do that the log has made empty:
 * what it holds may be needed until the sectors are written, but not for long. */
static bool next_taken(void) {
    if (append[APPEND_HOST].next != SB_NONE) {
        return true;
    }
    if (!any_free()) {
        superblock_release();
    }
    append_prepare(APPEND_HOST);
    return append[APPEND_HOST].next != SB_NONE;
}

/** Let programs end that have begun, and what they wait for. */
static void wait(void) {
    while (under_way > 0) {
        if (nand_outstanding > 0) {
            nand_wait();
        } else if (ftl_in_flight() == 0 && !append_pending(APPEND_HOST) && !next_taken()) {
            /* No page will come: the writes end. */
            ftl.read_only = true;
            ftl_kick();
            ftl.read_only = false;
            return;
        }
        xor_poll();
        if ((work_pending & WORK_PARITY) != 0) {
            parity_poll();
        }
    }
}

/** Write again what was read and is in use. False: there is no room. */
static bool batch_out(void) {
    nand_wait_idle();
    for (uint32_t i = 0; i < batch; i++) {
        struct ftl_write *w = &writes[i];
        *w = (struct ftl_write){.buffer = DRAM_COPIES + i * PAGE_SIZE, .done = ended};
        if (in_use(&scan_pages[i], w)) {
            w->op = nand_op_wait();
            ftl_announce();
            under_way++;
        }
    }
    uint32_t before = written;
    uint32_t all = under_way;
    if (all > 0 && append_room(APPEND_HOST) < 2 * BATCH && !next_taken()) {
        for (uint32_t i = 0; i < batch; i++) {
            if (writes[i].op != NULL) {
                ftl_withdraw();
                nand_op_put(writes[i].op);
            }
        }
        under_way = 0;
        return false;
    }
    for (uint32_t i = 0; i < batch; i++) {
        if (writes[i].op != NULL) {
            ftl_write(&writes[i]);
        }
    }
    wait();
    batch = 0;
    return written == before + all;
}

/** Read the sectors of the page at `ppa`. False: there is no room for those that were read before. */
static bool page_in(uint32_t ppa) {
    if (batch + nand_geo.sectors > BATCH && !batch_out()) {
        return false;
    }
    for (uint32_t i = 0; i < nand_geo.sectors; i++, batch++) {
        scan_read(&scan_pages[batch], ppa + i, DRAM_COPIES + batch * PAGE_SIZE, NAND_SECTOR_DATA);
    }
    return true;
}

/** Pages of a die that count. */
static uint32_t pages_wanted(void) {
    return nand_geo.planes * (nand_geo.paired ? ROWS_PAIRED : 1);
}

/** Whether the page at `ppa`, which was read, is one of the last of its die. */
static bool last_of_die(const struct scan_page *p) {
    uint32_t at = FOUND + bad_die(p->ppa) * 4;
    uint32_t found = hal_read(at);
    if (scan_blank(p) || found == pages_wanted()) {
        return false;
    }
    hal_write(at, found + 1);
    return true;
}

/** Read the last pages of the log in superblock `n`, up to `end`. False: there is no room. */
static bool scan_end_of(uint32_t n, uint32_t end, uint32_t most) {
    uint32_t wanted = bad_dies() * pages_wanted();
    uint32_t begin = end - most;
    for (uint32_t die = 0; die < bad_dies(); die++) {
        hal_write(FOUND + die * 4, 0);
    }
    end = (end + nand_geo.sectors - 1) & ~(nand_geo.sectors - 1);
    uint32_t row = bad.units < SCAN_MAX - BATCH ? bad.units : SCAN_MAX - BATCH;
    while (wanted > 0 && end > begin) {
        /* What is read of the pages takes the places of sectors behind those of a batch. */
        uint32_t pages = 0;
        for (; pages < row && end > begin; end -= nand_geo.sectors) {
            struct sb_cursor c;
            cursor_seek(&c, n, end - nand_geo.sectors);
            if (!bad_at(cursor_ppa(&c)) && hal_read(FOUND + bad_die(cursor_ppa(&c)) * 4) < pages_wanted()) {
                scan_read_once(&scan_pages[BATCH + pages], cursor_ppa(&c), SCAN_BUFFER + pages * 64, 64);
                pages++;
            }
        }
        nand_wait_idle();
        for (uint32_t i = 0; i < pages; i++) {
            if (last_of_die(&scan_pages[BATCH + i])) {
                wanted--;
                if (!page_in(scan_pages[BATCH + i].ppa)) {
                    return false;
                }
            }
        }
    }
    return true;
}

uint32_t rewrite_run(void) {
    bool room = true;
    batch = under_way = written = 0;
    write_begin();
    for (uint32_t i = count; i-- > 0 && room;) {
        room = scan_end_of(ends[i].sb, ends[i].end, ends[i].most);
    }
    room = room && batch_out();
    if (written > 0 && sb.free > ROOM_COPIES) {
        /* The next superblock's root record tells of this power-on before anything that the host writes. */
        append_close(APPEND_HOST);
    }
    while (!parity_settled()) {
        nand_wait_idle();
        xor_poll();
        parity_poll();
    }
    if (written > 0 || !room) {
        console_printf("ftl: %u sectors that were in programming when power went are written again%s\n", written,
                       room ? "" : "; there is no room for others");
    }
    return written;
}
