// SPDX-License-Identifier: BSD-3-Clause
/*
 * A sector fades when its read needed more than 3/4 of the bits that the code corrects, or a repetition: whoever reads
 * it, the host, collection, a self-test, the repetition of a stream's page or scrub. Its superblock waits here until it
 * is closed and there is room for its data.
 *
 * Pages of streams that are right at once are not looked at: they are too many. Scrub finds them, and counts the
 * channels' reads, which include theirs, too.
 */
#include "ftl/refresh.h"

#include <assert.h>

#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "ftl/superblock.h"
#include "platform/console.h"

/** Superblocks that wait. What finds no place is found again by the next read of it. */
#define WAITING 16u
/** Of so many sectors that are read, scrub reads one. */
#define SCRUB_SHARE 64u

/** Sectors that are read for each that is written anew of superblocks that may be worn. */
#define WORN_SHARE 64u

static uint16_t queue[WAITING];
static uint32_t count;
/** sb.closings when the mount had ended. */
static uint32_t mounted;
/** What was open then and goes on, and its erases: when it is erased it is another. */
static struct { uint32_t sb, erases; } resumed[APPEND_POINTS];

static_assert(SB_MAX <= UINT16_MAX + 1u, "superblocks of the queue");

/** Reads at which the next one that may be worn is taken. */
static uint32_t worn_at;

uint32_t scrub_at;
static struct {
    struct sb_cursor at; /**< next page */
    uint32_t pages;      /**< of the stripe, still to be read */
    uint32_t in_flight;
    uint32_t sb, stripe; /**< to be read next */
} scrub;

/* ---- refresh ---- */

/** Whether superblock `n` holds what was written before this power-on. */
static bool old(uint32_t n) {
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        if (resumed[i].sb == n && resumed[i].erases == superblock_erases(n)) {
            return true;
        }
    }
    return sb.state[n] != SB_OPEN && (int32_t)(mounted - hal_read(DRAM_CLOSED + n * 4)) >= 0;
}

/** Whether superblock `n` is to be written anew. One that fades though the drive has not been written once over since
 * may be worn, and would be written again and again: it is for each so many sectors that are read. */
static bool helps(uint32_t n) {
    if (old(n) || superblock_age(n) >= sb.count) {
        return true;
    }
    bool due = (int32_t)(scrub_reads() - worn_at) >= 0;
    if (due) {
        worn_at = scrub_reads() + sb.pages * WORN_SHARE;
    }
    return due;
}

static void faded(uint32_t ppa) {
    uint32_t n = ppa_block(ppa);
    if (count == WAITING || n < checkpoint_meta_superblocks() || n >= sb.count || superblock_valid(n) == 0 ||
        !helps(n)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (queue[i] == n) {
            return;
        }
    }
    queue[count++] = (uint16_t)n;
    work_set(WORK_COLLECT);
}

void refresh_init(void) {
    count = 0;
    mounted = sb.closings;
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        resumed[i].sb = append[i].cur.sb;
        resumed[i].erases = resumed[i].sb != SB_NONE ? superblock_erases(resumed[i].sb) : 0;
    }
    for (uint32_t n; (n = recover_weak(count)) != SB_NONE;) {
        queue[count++] = (uint16_t)n;
    }
    scrub.pages = 0;
    scrub.in_flight = 0;
    scrub.sb = sb.count;
    scrub.stripe = 0;
    scrub_at = scrub_reads() + SCRUB_SHARE;
    worn_at = scrub_reads();
    nand_faded = faded;
}

bool refresh_waits(void) {
    return count > 0;
}

/** What is still written, or read by recovery, is closed first. */
static bool closing(uint32_t n) {
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        if (append[i].cur.sb == n) {
            append_close((enum append_point)i);
            ftl_reclaim();
            return true;
        }
    }
    if (sb.state[n] == SB_LOGGED) {
        ftl_reclaim();
        return true;
    }
    return sb.state[n] == SB_VICTIM || superblock_pins(n) > 0;
}

uint32_t refresh_victim(uint32_t most) {
    for (uint32_t i = 0; i < count;) {
        uint32_t n = queue[i];
        if (superblock_valid(n) > 0 && closing(n)) {
            i++;
        } else if (sb.state[n] == SB_CLOSED && superblock_valid(n) > most) {
            i++;
        } else {
            /* It may have been emptied since. */
            queue[i] = queue[--count];
            if (sb.state[n] == SB_CLOSED && superblock_valid(n) > 0) {
                console_printf("ftl: superblock %u is written anew\n", n);
                return n;
            }
        }
    }
    return SB_NONE;
}

/* ---- scrub ---- */

static void scrub_read(struct nand_op *op, uint32_t status) {
    /* A stripe is a sample: others of the superblock's sectors are worse. */
    if (status == FLASH_STATUS_OK && op->errors > nand_geo.code_t / 2) {
        faded(nand_op_ppa(op));
    }
    nand_op_put(op);
    scrub.in_flight--;
    /* Reads of streams are counted many at a time: what they ask for follows one by one. */
    scrub_look();
}

/** The next superblock with data, and at the end of the round the next stripe. */
static bool scrub_next(void) {
    for (uint32_t i = 0; i <= sb.count; i++) {
        if (scrub.sb >= sb.count) {
            scrub.sb = checkpoint_meta_superblocks();
            scrub.stripe = (scrub.stripe + 1) % (nand_geo.pages >> nand_geo.sector_log2);
        }
        uint32_t n = scrub.sb++;
        if (superblock_valid(n) > 0) {
            cursor_seek(&scrub.at, n, scrub.stripe * bad.units * nand_geo.sectors);
            scrub.pages = bad.units;
            return true;
        }
    }
    return false;
}

/** Read the stripe's next page. */
static void scrub_go(void) {
    while (scrub.pages > 0 && scrub.in_flight == 0) {
        uint32_t ppa = cursor_ppa(&scrub.at);
        if (--scrub.pages > 0) {
            cursor_next_page(&scrub.at);
        }
        struct nand_op *op = bad_at(ppa) || sb.state[scrub.at.sb] == SB_FREE ? NULL : nand_op_get();
        if (op != NULL) {
            op->done = scrub_read;
            nand_read(op, ppa, DRAM_DROP, 64);
            scrub.in_flight++;
            nand_submit(op);
        }
    }
}

void scrub_start(void) {
    if (scrub.in_flight > 0) {
        return;
    }
    /* What is behind by more than a round stays behind. */
    bool behind = scrub_reads() - scrub_at > SCRUB_SHARE * bad.units * sb.count;
    scrub_at = (behind ? scrub_reads() : scrub_at) + SCRUB_SHARE;
    if (ftl.lbas != 0 && (scrub.pages > 0 || scrub_next())) {
        scrub_go();
    }
}
