/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Boot: mount or format, and the drive's capacity.
 */
#include "ftl/ftl.h"

#include <string.h>

#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/cache.h"
#include "ftl/checkpoint.h"
#include "ftl/collect.h"
#include "ftl/pairs.h"
#include "ftl/parity.h"
#include "ftl/planes.h"
#include "ftl/root.h"
#include "ftl/summary.h"
#include "ftl/write.h"
#include "platform/console.h"
#include "platform/work.h"

struct ftl_state ftl;
uint32_t ftl_owner_data[FTL_OWNER_BYTES / 4];
void (*ftl_owner_update)(void);
void (*ftl_spare_fell)(void);

/* ---- work ---- */

void ftl_slices(void (*slice)(void)) {
    ftl.slice = slice;
    work_put(WORK_FTL, slice != NULL);
}

void ftl_poll(void) {
    ftl.slice();
}

/* ---- boot ---- */

void ftl_boot_wait(const volatile bool *flag) {
    while (*flag) {
        nand_wait();
    }
}

/** Blocks that the drive offers; false when the medium is too small. */
static bool set_capacity(uint32_t spare_per_cent) {
    uint32_t meta = checkpoint_meta_superblocks();
    uint32_t reserve = room_reserve_superblocks();
    room_count();
    if (sb.count < meta + 4 || room_data == 0) {
        ftl.fault = "too few blocks";
        console_printf("ftl: %u superblocks; at least %u needed\n", sb.count - sb.bad,
                       ckpt.first + 2 * ckpt.area_sbs + reserve + 1);
        return false;
    }
    /* The spare share lies beside what it takes to write at all: a small drive, too, then finds victims that hold
     * little. */
    uint64_t lbas = (uint64_t)room_data * (100 - spare_per_cent) / 100;
    if (lbas > MAP_MAX_LBAS) {
        lbas = MAP_MAX_LBAS;
    }
    ftl.lbas = (uint32_t)lbas;
    return true;
}

/** Whether a new medium has parity; false: it is asked for and cannot be. */
static bool parity_choose(enum ftl_parity wanted) {
    parity_on = wanted == FTL_PARITY_ON || (wanted == FTL_PARITY_USUAL && parity_dies() >= PARITY_DIES_USUAL);
    if (parity_on && parity_dies() < PARITY_DIES) {
        console_printf("ftl: parity over dies is asked for: %u dies are there, at least %u are needed\n", parity_dies(),
                       PARITY_DIES);
        return false;
    }
    return true;
}

void ftl_init(bool format, uint32_t spare_per_cent, enum ftl_parity parity) {
    memset(&ftl, 0, sizeof ftl);
    memset(ftl_owner_data, 0, sizeof ftl_owner_data);
    ftl_owner_update = NULL;
    ftl_spare_fell = NULL;
    write_init();
    cache_init();
    trim_init();
    commit_init();
    work_clear(WORK_FTL);
    planes_init();
    pairs_init();
    exclusive_init();
    ftl.seq = 1;
    map_init();
    superblock_init();
    append_init();
    parity_init();
    root_init();
    if (!bad_init()) {
        ftl.fault = "too many blocks for the table of bad ones";
        return;
    }
    summary_init();
    checkpoint_layout();
    ftl_log_restart(0, 0);

    /* The most that a root record may name. */
    if (!set_capacity(0)) {
        return;
    }
    bounds_init();

    rebuild_init();
    bool blank = false;
    if (!format) {
        ftl.fault = recover_mount(&blank);
    }
    if (format || blank) {
        console_printf("ftl: %s: formatting\n", format ? "asked to format" : "blank medium");
        spare_per_cent = spare_per_cent == 0 ? FTL_SPARE : spare_per_cent;
        if (spare_per_cent < FTL_SPARE_LEAST || spare_per_cent > FTL_SPARE_MOST) {
            console_printf("ftl: a spare share of %u %% is asked for; it can be %u to %u %%: %u %% is taken\n",
                           spare_per_cent, FTL_SPARE_LEAST, FTL_SPARE_MOST, FTL_SPARE);
            spare_per_cent = FTL_SPARE;
        }
        ftl.fault = parity_choose(parity) ? marks_read() : "too few dies for the parity that is asked for";
        if (ftl.fault == NULL) {
            ftl.fault = checkpoint_areas_fit();
        }
        if (ftl.fault == NULL && set_capacity(spare_per_cent)) {
            ftl.fault = checkpoint_format();
        }
    }
    if (ftl.fault != NULL) {
        ftl.lbas = 0;
    }
    room_init();
    collect_init();
    parity_mounting = false;
    write_begin();
}
