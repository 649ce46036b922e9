// SPDX-License-Identifier: BSD-3-Clause
/*
 * Both append points open the least worn free superblock. What is in the log and does not change keeps its superblock
 * from being erased, so the others wear alone. When a superblock that could take the data of the least worn closed one
 * leads it by WEAR_SPREAD erases, the data are moved there, and the host gets the young one. It is not the most worn
 * superblock of all that is compared: that one may hold such data already, and then one superblock after the other
 * would be moved for nothing.
 *
 * The data that are moved get superblocks of their own. Beside sectors that change they would have to be copied again
 * and again, when those have become stale.
 */
#include "ftl/wear.h"

#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/ftl.h"
#include "ftl/summary.h"

/** Erases that a superblock is ahead of another before their data change places: so many, and this share of its own. */
#define WEAR_SPREAD 12u
#define WEAR_SHARE  32u
/** Parts of all superblocks of which one is closed between two looks, because a look reads the table. */
#define LOOKS 64u

static struct {
    uint32_t due; /**< sb.closings at which to look again */
    bool mixed;   /**< the superblock that copies go to holds other sectors, too */
} wear;

void wear_init(void) {
    wear.due = 0;
    wear.mixed = true;
}

void wear_mixed(void) {
    wear.mixed = true;
}

/** The superblock that the data would go to. */
static uint32_t destination(void) {
    const struct append *a = &append[APPEND_COPY];
    return a->next != SB_NONE ? a->next : superblock_find_free(true);
}

/** The least worn of the closed superblocks with data. SB_NONE: there is none. */
static uint32_t least_worn(void) {
    uint32_t best = SB_NONE;
    uint32_t best_erases = 0;
    for (uint32_t n = 0; n < sb.used; n++) {
        if (sb.state[n] != SB_CLOSED) {
            continue;
        }
        uint32_t erases = superblock_erases(n);
        if ((best == SB_NONE || erases < best_erases) && superblock_valid(n) > 0 && superblock_pins(n) == 0) {
            best = n;
            best_erases = erases;
        }
    }
    return best;
}

uint32_t wear_victim(void) {
    if ((int32_t)(sb.closings - wear.due) < 0) {
        return SB_NONE;
    }
    wear.due = sb.closings + sb.count / LOOKS + 1;
    uint32_t to = destination();
    uint32_t victim = least_worn();
    if (to == SB_NONE || victim == SB_NONE) {
        return SB_NONE;
    }
    uint32_t erases = superblock_erases(to);
    uint32_t spread = erases / WEAR_SHARE > WEAR_SPREAD ? erases / WEAR_SHARE : WEAR_SPREAD;
    bool fits = superblock_valid(victim) <= log_sectors(to) || sb.free > ROOM_COPIES;
    if (erases <= superblock_erases(victim) + spread || !fits || !append_prepare_worn()) {
        return SB_NONE;
    }
    if (wear.mixed) {
        append_close(APPEND_COPY);
        wear.mixed = false;
    }
    /* Where there is one, there are more. */
    wear.due = sb.closings;
    return victim;
}
