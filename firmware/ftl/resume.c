/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Losses of power one behind the other close superblocks faster than collection empties any, since each closes what is
 * open. When none is left that holds nothing, copies go on in one that is not full: otherwise nothing would ever become
 * free again.
 */
#include "ftl/resume.h"

#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/checkpoint.h"
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

/** Read the pages of superblock `n` before position `end`, up to `most` of them. Returns the position behind the last
 * one that is not blank, or that of the first one read. */
static uint32_t blank_from(uint32_t n, uint32_t end, uint32_t most) {
    uint32_t pages = 0;
    for (uint32_t at = end; at > 0 && pages < most; pages++) {
        at -= nand_geo.sectors;
        struct sb_cursor c;
        cursor_seek(&c, n, at);
        scan_pages[pages].status = SCAN_LEFT_OUT;
        if (!bad_at(cursor_ppa(&c))) {
            scan_read_once(&scan_pages[pages], cursor_ppa(&c), SCAN_BUFFER + pages * 64, 64);
        }
    }
    nand_wait_idle();
    uint32_t blank = 0;
    while (blank < pages && (scan_blank(&scan_pages[blank]) || scan_pages[blank].status == SCAN_LEFT_OUT)) {
        blank++;
    }
    return end - blank * nand_geo.sectors;
}

/** How far superblock `n` is written, or further. */
static uint32_t written(uint32_t n) {
    uint32_t from = sb.pages;
    for (uint32_t read = 0; read < RESUME_PAGES && from > 0; read += SCAN_MAX) {
        uint32_t end = from;
        from = blank_from(n, end, SCAN_MAX);
        if (end - from < SCAN_MAX * nand_geo.sectors) {
            break;
        }
    }
    return from;
}

/** The superblock with the longest rest, and behind what may be weakly programmed there. `*best` has one already, or
 * none. */
static void longest_rest(struct sb_cursor *best) {
    uint32_t parts = 0;
    uint32_t last = best->sb;
    for (uint32_t n = checkpoint_meta_superblocks(); n < sb.count && parts < RESUME_PARTS; n++) {
        if ((sb.state[n] != SB_CLOSED && sb.state[n] != SB_LOGGED) || n == last ||
            blank_from(n, sb.pages, 1) == sb.pages) {
            continue;
        }
        parts++;
        struct sb_cursor c;
        cursor_seek(&c, n, written(n));
        resume_skip_blank(&c);
        if (best->sb == SB_NONE || c.left > best->left) {
            *best = c;
        }
    }
}

bool resume_copies(const struct sb_cursor *last) {
    for (uint32_t i = checkpoint_meta_superblocks(); i < sb.count; i++) {
        if (sb.state[i] == SB_FREE ||
            ((sb.state[i] == SB_CLOSED || sb.state[i] == SB_LOGGED) && superblock_valid(i) == 0)) {
            return false;
        }
    }
    struct sb_cursor c = *last;
    if (c.sb != SB_NONE) {
        resume_skip_blank(&c);
    }
    /* Pages that share cells with what the host wrote are left alone. */
    if (!nand_geo.paired && (c.sb == SB_NONE || c.left < sb.pages / 2)) {
        longest_rest(&c);
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
