// SPDX-License-Identifier: BSD-3-Clause
/*
 * Room of the log: superblocks beyond those that the capacity needs. Collection keeps some of them free. Those that go
 * bad lower their number, and when too few are left to write at all, the drive becomes read-only.
 */
#include "ftl/append.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"

/** Superblocks that the log has to have beyond full ones: one open at each append point, and two that only copies take:
 * one for the next victim, and one more because a loss of power closes what was open. */
#define LEAST 4u
/** Most superblocks that collection keeps free. */
#define FREE_MOST 4u

static uint32_t needed; /**< superblocks that hold the capacity */
static uint32_t wanted;
static uint32_t logged_most;

uint32_t room_reserve_superblocks(void) {
    return LEAST;
}

/** Superblocks of the log that are not bad and not needed to write. */
static uint32_t data_superblocks(void) {
    uint32_t good = checkpoint_log_superblocks() + sb.marked - sb.bad;
    return good > LEAST ? good - LEAST : 0;
}

/** Those of them that the capacity does not need. */
static uint32_t spare_superblocks(void) {
    uint32_t have = data_superblocks();
    return have > needed ? have - needed : 0;
}

/** So many have gone bad that what is in use fills the others. */
static bool spent(void) {
    return map.mapped > data_superblocks() * sb.pages;
}

void room_init(void) {
    needed = (ftl.lbas + sb.pages - 1) / sb.pages;
    uint32_t spare = spare_superblocks() + LEAST;
    wanted = spare / 4 < ROOM_COPIES + 1 ? ROOM_COPIES + 1 : spare / 4 > FREE_MOST ? FREE_MOST : spare / 4;
    logged_most = spare / 4 < 1 ? 1 : spare / 4;
}

uint32_t room_wanted(void) {
    return wanted;
}

bool room_log_long(void) {
    return (sb.logged >= logged_most && sb.free <= wanted) || ckpt.log.listed + 2 * APPEND_POINTS > ROOT_LIST_MOST;
}

void room_changed(void) {
    if (ftl_spare_fell != NULL) {
        ftl_spare_fell();
    }
}

bool room_uncommitted(void) {
    return (uint64_t)map.mapped + sb.pinned + ftl.in_flight * nand_geo.sectors + ftl.gathered <
           (uint64_t)data_superblocks() * sb.pages;
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
    uint32_t all = checkpoint_log_superblocks() - needed - LEAST;
    return spent() || data_superblocks() < needed ? 0 : all == 0 ? 100 : spare_superblocks() * 100u / all;
}

bool ftl_read_only(void) {
    return ftl.read_only || spent();
}
