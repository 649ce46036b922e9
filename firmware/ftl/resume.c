/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Losses of power one behind the other close superblocks faster than collection empties any, since each closes what is
 * open. When none is left that holds nothing, copies go on in one that is not full: otherwise nothing would ever become
 * free again.
 */
#include "ftl/resume.h"

#include <string.h>

#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "ftl/map.h"
#include "ftl/pairs.h"
#include "ftl/parity.h"
#include "ftl/scan.h"
#include "ftl/summary.h"
#include "platform/console.h"

uint32_t resume_round_pages(void) {
    return nand_geo.channels * nand_geo.ways;
}

/*
 * Every LUN programs in order, but pages of planes that it takes together may be there or not one by one. So a LUN
 * whose last plane's page is not the log's has nothing behind that page; such pages follow each other after as many
 * rounds as there are LUNs and planes, and up to one more, since every round begins at another way. Where pages share
 * cells, two stripes may stay blank with one between them that was lost. A stripe that got its parity before it was
 * full has a rest without pages.
 */
uint32_t resume_cut_rounds(void) {
    return nand_geo.luns * nand_geo.planes * (1 + pairs_gap()) + 1 + (parity_on ? nand_geo.luns : 0);
}

void resume_skip_blank(struct sb_cursor *c) {
    uint32_t width = resume_round_pages() < SCAN_MAX ? resume_round_pages() : SCAN_MAX;
    uint32_t blanks = 0;
    if (c->sector != 0) {
        cursor_next_page(c);
    }
    while (c->left > 0 && blanks < resume_cut_rounds() * resume_round_pages()) {
        uint32_t n = 0;
        for (; n < width && c->left > 0; cursor_next_page(c)) {
            /* Nothing is written to bad blocks: they tell nothing. */
            if (!bad_at(cursor_ppa(c))) {
                scan_read(&scan_pages[n], cursor_ppa(c), SCAN_BUFFER + n * 64, 64);
                n++;
            }
        }
        nand_wait_idle();
        for (uint32_t i = 0; i < n; i++) {
            blanks = scan_blank(&scan_pages[i]) ? blanks + 1 : 0;
        }
    }
}

/* ---- two of a block ---- */

/** A block of which the medium has two of the same version, in DRAM: the version of the one that the map names, and
 * where the other one is. */
#define TWINS         DRAM_COPIES
#define TWIN_VERSION  0u
#define TWIN_AT       4u
#define TWIN_BYTES    8u
#define TWIN_NONE     0u
#define TWIN_UNKNOWN  0xffffffffu /**< the one that the map names cannot be read */
#define TWIN_SECTORS  16384u      /**< most sectors of a drive of which all are read */
#define TWIN_COUNTERS (SCAN_SPARE / 4)

static_assert(TWIN_SECTORS <= DRAM_COPIES_SIZE / TWIN_BYTES, "blocks that may have two");

static uint32_t twin(uint32_t lba) {
    return TWINS + lba * TWIN_BYTES;
}

uint32_t resume_reads(void) {
    bool small = sb.count <= TWIN_COUNTERS && sb.pages <= TWIN_SECTORS && sb.count * sb.pages <= TWIN_SECTORS;
    return small ? 2 * sb.count * sb.pages : 0;
}

/** The block of the sector read, or one that there is not. */
static uint32_t block_of(const struct scan_page *p) {
    return scan_good(p) ? p->oob0 & ~OOB_UNCOMMITTED : UINT32_MAX;
}

/** Read which version the map names of each block. */
static void read_versions(void) {
    for (uint32_t lba = 0; lba < ftl.lbas;) {
        uint32_t n = 0;
        for (; lba < ftl.lbas && n < SCAN_MAX; lba++) {
            hal_write(twin(lba) + TWIN_AT, TWIN_UNKNOWN);
            uint32_t ppa = map_get(lba);
            if (ppa > MAP_LOST && superblock_has(ppa)) {
                scan_read_once(&scan_pages[n], ppa, SCAN_BUFFER + n * 64, 64);
                n++;
            }
        }
        nand_wait_idle();
        for (uint32_t i = 0; i < n; i++) {
            uint32_t is = block_of(&scan_pages[i]);
            if (is < ftl.lbas && map_get(is) == scan_pages[i].ppa) {
                hal_write(twin(is) + TWIN_VERSION, scan_pages[i].oob1);
                hal_write(twin(is) + TWIN_AT, TWIN_NONE);
            }
        }
    }
}

static bool holds_data(uint32_t n) {
    return sb.state[n] == SB_CLOSED || sb.state[n] == SB_LOGGED;
}

/** Look in superblock `n` for sectors of the version that the map names elsewhere. */
static void find_twins(uint32_t n) {
    struct sb_cursor c;
    cursor_open(&c, n);
    while (c.left > 0) {
        uint32_t k = 0;
        for (; c.left > 0 && k < SCAN_MAX; cursor_next(&c)) {
            if (!bad_at(cursor_ppa(&c)) || bad_holds(cursor_ppa(&c))) {
                scan_read_once(&scan_pages[k], cursor_ppa(&c), SCAN_BUFFER + k * 64, 64);
                k++;
            }
        }
        nand_wait_idle();
        for (uint32_t i = 0; i < k; i++) {
            const struct scan_page *p = &scan_pages[i];
            uint32_t lba = block_of(p);
            if (lba < ftl.lbas && hal_read(twin(lba) + TWIN_AT) == TWIN_NONE &&
                hal_read(twin(lba) + TWIN_VERSION) == p->oob1 && ppa_block(map_get(lba)) != n) {
                hal_write(twin(lba) + TWIN_AT, p->ppa);
            }
        }
    }
}

/** Whether the last pages of superblock `n` may be weakly programmed. */
static bool weak(uint32_t n) {
    uint32_t i = 0;
    while (recover_weak(i) != SB_NONE && recover_weak(i) != n) {
        i++;
    }
    return recover_weak(i) == n;
}

/** Whether block `lba` has another sector; `strong`: in a superblock without weak pages. */
static bool has_twin(uint32_t lba, bool strong) {
    uint32_t at = hal_read(twin(lba) + TWIN_AT);
    return at != TWIN_NONE && at != TWIN_UNKNOWN && !(strong && weak(ppa_block(at)));
}

/** The superblock that holds least of those of which everything is elsewhere as well, `strong`: in superblocks without
 * weak pages. SB_NONE: there is none. */
static uint32_t held_twice(bool strong) {
    uint32_t *twins = scan_spare();
    memset(twins, 0, SCAN_SPARE);
    for (uint32_t lba = 0; lba < ftl.lbas; lba++) {
        if (has_twin(lba, strong)) {
            twins[ppa_block(map_get(lba))]++;
        }
    }
    uint32_t best = SB_NONE;
    for (uint32_t n = checkpoint_meta_superblocks(); n < sb.count; n++) {
        if (holds_data(n) && twins[n] == superblock_valid(n) &&
            (best == SB_NONE || superblock_valid(n) < superblock_valid(best))) {
            best = n;
        }
    }
    return best;
}

/**
 * Empty a superblock of which everything is elsewhere as well: what the last copies were made of is still there, since
 * no superblock has been erased after the one that they went to. False: there is none.
 */
static bool empty_one(void) {
    if (resume_reads() == 0) {
        return false;
    }
    read_versions();
    /* Strong ones first: the first one that is found stays. */
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t n = checkpoint_meta_superblocks(); n < sb.count; n++) {
            if (holds_data(n) && weak(n) == (i == 1)) {
                find_twins(n);
            }
        }
    }
    uint32_t n = held_twice(true);
    if (n == SB_NONE) {
        n = held_twice(false);
    }
    if (n == SB_NONE) {
        return false;
    }
    console_printf("ftl: no superblock is free: all %u sectors of superblock %u are elsewhere as well\n",
                   superblock_valid(n), n);
    for (uint32_t lba = 0; lba < ftl.lbas; lba++) {
        if (has_twin(lba, false) && ppa_block(map_get(lba)) == n) {
            map_set(lba, hal_read(twin(lba) + TWIN_AT));
        }
    }
    return true;
}

bool resume_copies(const struct sb_cursor *last) {
    for (uint32_t i = checkpoint_meta_superblocks(); i < sb.count; i++) {
        if (sb.state[i] == SB_FREE || (holds_data(i) && superblock_valid(i) == 0 && bad_sectors(i) > 0)) {
            return false;
        }
    }
    if (empty_one()) {
        return true;
    }
    struct sb_cursor c = *last;
    if (c.sb != SB_NONE) {
        resume_skip_blank(&c);
    }
    if (c.sb != SB_NONE && c.left > 0) {
        append[APPEND_COPY].cur = c;
        append[APPEND_COPY].holes = append_holes(c.sb);
        append[APPEND_COPY].exposed = 0;
        pairs_expose(APPEND_COPY);
        summary_open(APPEND_COPY, sb.pages - c.left);
        superblock_set_state(c.sb, SB_OPEN);
        console_printf("ftl: no superblock is free: copies go on in superblock %u, %u sectors are left\n", c.sb,
                       c.left);
    }
    return true;
}
