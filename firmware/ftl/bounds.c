// SPDX-License-Identifier: BSD-3-Clause
/*
 * How long a mount and a shutdown take at most. Cycles of the processor were measured on the virtual board
 * (board/virtual), and are taken twice as many; times of the medium are those of its parameter page.
 */
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "platform/console.h"

/** Cycles of the processor: a page of the log that is read and mapped again; a map page that is loaded, written; a word
 * of the table that is copied; a superblock in the table. */
#define CYCLES_ROLL  6400u
#define CYCLES_LOAD  3000u
#define CYCLES_STORE 5000u
#define CYCLES_WORD  200u
#define CYCLES_SB    600u
/** Most milliseconds of a mount that the log may take. */
#define LOG_MS 30000u
/** Reads of a candidate block for root records, and what one takes, microseconds. */
#define ROOT_READS   32u
#define ROOT_READ_US 150u
/** Pages that a checkpoint has in flight. */
#define IN_FLIGHT 64u

struct ftl_bounds ftl_bounds;

void bounds_init(void) {
    uint32_t width = nand_geo.channels * nand_geo.ways;
    uint32_t dies = width < IN_FLIGHT ? width : IN_FLIGHT;
    uint64_t khz = nand_geo.clock_mhz * 1000u;
    uint64_t maps = ftl.lbas / MAP_ENTRIES + 1;
    uint64_t dirs = (ftl.lbas >> MAP_DIR_BITS) + 1;
    uint64_t pages = maps + dirs + ROOT_TABLE_PAGES;
    uint64_t tables = sb.count * 8 / PAGE_SIZE + bad.count / BAD_PER_PAGE + 2;
    uint64_t copies = tables * (PAGE_SIZE / 4) * CYCLES_WORD;

    uint64_t log = LOG_MS * khz / CYCLES_ROLL - FTL_LOG_BEYOND;
    uint64_t wear = FTL_LOG_PER_MAP * maps > FTL_LOG_LEAST ? FTL_LOG_PER_MAP * maps : FTL_LOG_LEAST;
    log = log < wear ? log : wear;
    ftl_bounds.log_most = (uint32_t)log;
    log /= 16;
    ftl_bounds.log_least = log > FTL_LOG_LEAST_LARGE ? FTL_LOG_LEAST_LARGE
                           : log > FTL_LOG_LEAST     ? (uint32_t)log
                                                     : FTL_LOG_LEAST;
    /* A checkpoint of everything: the area erased, every page written twice, and a root record, whose copies may both
     * begin a block. */
    uint64_t store = 2 * pages * CYCLES_STORE + copies;
    uint64_t blocks = (uint64_t)ckpt.area_sbs * nand_geo.luns * nand_geo.planes + ROOT_COPIES;
    uint64_t media_us = (2 * pages / dies + ROOT_TABLE_PAGES + 4) * nand_geo.program_us + blocks * nand_geo.erase_us;
    uint64_t store_ms = store / khz + media_us / 1000 + 1;
    uint64_t load = pages * CYCLES_LOAD + (uint64_t)sb.count * CYCLES_SB;
    uint64_t roots_ms = ckpt.roots * ROOT_READS * ROOT_READ_US / 1000;
    uint64_t mount_ms = (log + log / 4 + FTL_LOG_BEYOND) * CYCLES_ROLL / khz + load / khz + 1 + roots_ms + store_ms;
    ftl_bounds.mount_ms = mount_ms < UINT32_MAX ? (uint32_t)mount_ms : UINT32_MAX;
    ftl_bounds.shutdown_ms = store_ms < UINT32_MAX / 1000 ? (uint32_t)store_ms : UINT32_MAX / 1000;
    console_printf("ftl: up to %u pages of log; a mount takes up to %u ms, a shutdown %u ms\n", ftl_bounds.log_most,
                   ftl_bounds.mount_ms, ftl_bounds.shutdown_ms);
}
