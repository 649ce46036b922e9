// SPDX-License-Identifier: BSD-3-Clause
/*
 * Room of the log: sectors of good blocks beyond those that the capacity needs. Collection keeps some superblocks free.
 * Blocks that go bad lower their number, and when too few are left to write at all, the drive becomes read-only.
 */
#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "ftl/pairs.h"
#include "ftl/parity.h"
#include "ftl/summary.h"

/** Superblocks that the log has to have beyond full ones: one open at each append point, and two that only copies take:
 * one for the next victim, and one more because a loss of power closes what was open. */
#define LEAST 4u
/** On parts whose pages share cells, further ones that the log fills by half before a checkpoint lets collection have
 * them. */
#define LEAST_PAIRED 2u
/** Most superblocks that collection keeps free. */
#define FREE_MOST 4u

/** A checkpoint lets collection have the superblocks of the log when they are such a share of all. The youngest hold
 * little that is stale, so that nothing is lost by waiting for them, and a checkpoint of a map that is written at
 * random takes a program for each of its pages. */
#define LOGGED_SHARE 8u

uint32_t room_wanted;
static uint32_t logged_most;
uint32_t room_data;
uint32_t room_margin;
/** What room_data was at the format. */
static uint32_t data_at_format;

uint32_t room_reserve_superblocks(void) {
    return nand_geo.paired ? LEAST + LEAST_PAIRED : LEAST;
}

void room_count(void) {
    uint32_t good = 0, largest = 0;
    for (uint32_t n = checkpoint_meta_superblocks(); n < sb.count; n++) {
        uint32_t sectors = log_sectors(n);
        good += sectors;
        largest = sectors > largest ? sectors : largest;
    }
    uint32_t reserve = room_reserve_superblocks() * largest;
    room_data = good > reserve ? good - reserve : 0;
    room_data -= (uint32_t)((uint64_t)room_data * pairs_share() / 1024);
}

/** A drive of which blocks have gone bad may lose more of them, up to a superblock's in quick succession. */
static void margin_set(void) {
    room_margin = room_data < data_at_format ? sb.pages : 0;
}

/** Those of them that the capacity does not need. */
static uint32_t spare_sectors(void) {
    return room_data > ftl.lbas ? room_data - ftl.lbas : 0;
}

void room_init(void) {
    room_count();
    data_at_format = room_data;
    for (uint32_t i = 0; i < bad.count; i++) {
        data_at_format += bad_grown(i) ? nand_geo.pages : 0;
    }
    margin_set();
    uint32_t spare = spare_sectors() / sb.pages + room_reserve_superblocks();
    room_wanted = spare / 4 < ROOM_COPIES + 1 ? ROOM_COPIES + 1 : spare / 4 > FREE_MOST ? FREE_MOST : spare / 4;
    logged_most = spare / 4 > sb.count / LOGGED_SHARE ? spare / 4 : sb.count / LOGGED_SHARE;
    logged_most = logged_most < 1 ? 1 : logged_most;
}

bool room_log_long(void) {
    return (sb.logged >= logged_most && sb.free <= room_wanted) || ckpt.log.listed + 2 * APPEND_POINTS > ROOT_LIST_MOST;
}

void room_changed(void) {
    room_count();
    margin_set();
    if (ftl_spare_fell != NULL) {
        ftl_spare_fell();
    }
}

bool room_uncommitted(void) {
    return (uint64_t)map.mapped + sb.pinned + ftl_in_flight() * nand_geo.sectors + ftl.gathered < room_data;
}

uint32_t ftl_used(void) {
    uint64_t erases = 0;
    for (uint32_t i = 0; i < sb.used; i++) {
        erases += superblock_erases(i);
    }
    uint64_t good_for = (uint64_t)sb.count * nand_geo.endurance;
    uint64_t used = good_for == 0 ? 0 : erases * 100u / good_for;
    return used < 255 ? (uint32_t)used : 255;
}

uint32_t ftl_spare(void) {
    uint32_t all = data_at_format > ftl.lbas ? data_at_format - ftl.lbas : 0;
    uint32_t spare = spare_sectors();
    return ftl_spent() || room_data < ftl.lbas ? 0 : spare >= all ? 100 : (uint32_t)(spare * (uint64_t)100 / all);
}
