// SPDX-License-Identifier: BSD-3-Clause
/*
 * Room of the log, and the reserve.
 *
 * Superblocks come back only when all their pages are stale, so blocks written again and again at random use the log
 * up while most of it is stale. Before it ends the drive becomes read-only: the reserve is left over, out of which a
 * file system can mend itself once it is lent.
 */
#include "ftl/ftl.h"

uint32_t room_reserve_superblocks(void) {
    /* Half of it takes a journal as mke2fs makes it: 1 % of a drive of some ten GiB. */
    return 1 + sb.count / 64;
}

uint32_t room_now(void) {
    return ftl.cur.left + (sb.free + (ftl.next != SB_NONE)) * sb.pages;
}

/** Sectors that it could take after a checkpoint. */
static uint32_t room_with_stale(void) {
    uint32_t superblocks = 0;
    for (uint32_t i = 0; i < sb.used; i++) {
        superblocks += superblock_reclaimable(i) || sb.state[i] == SB_EMPTIED;
    }
    return room_now() + superblocks * sb.pages;
}

bool room_reclaimable(void) {
    return room_with_stale() > room_now();
}

/** Sectors beyond capacity and reserve. */
static uint32_t spare_pages(void) {
    return checkpoint_log_superblocks() * sb.pages - ftl.lbas - ftl.reserve;
}

void room_init(void) {
    ftl.look = ROOM_LOOK;
    ftl.reserve = 0;
    if (ftl.lbas == 0) {
        return;
    }
    ftl.reserve = room_reserve_superblocks() * sb.pages;
    ftl.floor = ftl.reserve;
    ftl_lend();
}

bool room_look(void) {
    uint32_t have = room_now();
    if (have > ftl.reserve) {
        ftl.floor = ftl.reserve;
    }
    bool enough = have > ftl.floor;
    /* What to wait for: the first page below the threshold of the spare room, then the floor. */
    uint32_t watch = ftl.reserve + (uint32_t)(((uint64_t)spare_pages() * FTL_SPARE_THRESHOLD - 1) / 100);
    uint32_t stop = have > watch ? watch : ftl.floor;
    ftl.look = !enough ? ROOM_LOOK : ftl.cur.left > have - stop ? ftl.cur.left - (have - stop) : 0;
    if (ftl_spare_fell != NULL) {
        ftl_spare_fell();
    }
    return enough;
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
    uint32_t all = spare_pages();
    uint32_t bad = 0;
    for (uint32_t i = 0; i < sb.used; i++) {
        bad += sb.state[i] == SB_BAD;
    }
    uint32_t lost = bad > sb.marked ? (bad - sb.marked) * sb.pages : 0;
    uint32_t have = room_with_stale();
    uint32_t spare = have > ftl.reserve ? have - ftl.reserve : 0;
    uint32_t sound = all > lost ? all - lost : 0;
    spare = spare < sound ? spare : sound;
    return spare >= all ? 100u : (uint32_t)((uint64_t)spare * 100u / all);
}

bool ftl_read_only(void) {
    return ftl.read_only || room_with_stale() <= ftl.floor;
}

void ftl_lend(void) {
    uint32_t have = room_with_stale();
    if (have <= ftl.floor) {
        ftl.floor = have / 2;
        ftl.look = ROOM_LOOK;
    }
}
