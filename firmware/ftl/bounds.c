// SPDX-License-Identifier: BSD-3-Clause
/*
 * How long a mount and a shutdown take at most. Cycles of the processor were measured (assasin-ftl-bench mount, and on
 * the virtual board), and are taken twice as many; times of the medium are those of its parameter page.
 */
#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "ftl/resume.h"
#include "ftl/summary.h"
#include "platform/console.h"

/** Cycles of the processor: a sector of the log that a summary tells of, another map page each time; one that is read;
 * a map page that is loaded, written; a word of the table that is copied; a superblock in the table. */
#define CYCLES_ENTRY 1000u
#define CYCLES_ROLL  6400u
#define CYCLES_LOAD  1400u
#define CYCLES_STORE 5000u
#define CYCLES_WORD  200u
#define CYCLES_SB    600u
/** Rows of a superblock in which the last pages of all dies are found. */
#define ROWS_READ 4u
/** Most milliseconds of a mount that the log may take. */
#define LOG_MS 30000u
/** Reads of a candidate block for root records, and of a page beside the array's time, microseconds. */
#define ROOT_READS 32u
#define READ_US    120u
/** Pages that a checkpoint has in flight. */
#define IN_FLIGHT 64u

struct ftl_bounds ftl_bounds;

/** Cycles of the drive for each page that is read from all dies, beside those of the processor. */
static uint32_t read_cycles(void) {
    uint32_t dies = nand_geo.channels * nand_geo.ways * nand_geo.luns;
    return nand_geo.read_us * nand_geo.clock_mhz / dies + nand_geo.bus_cycles / nand_geo.channels + 1;
}

/** Cycles for each sector of a long log. */
static uint32_t log_cycles(void) {
    return summary.chunk != 0 ? CYCLES_ENTRY : CYCLES_ROLL + read_cycles();
}

/** Sectors that are read though there are summaries: an append point has up to two chunks without one; the last copies,
 * which may be weak; and all of a small drive on which no superblock is free. */
static uint32_t read_singly(void) {
    return 2 * APPEND_POINTS * summary.chunk + RECOVER_WEAK_READS + resume_reads();
}

void bounds_init(void) {
    uint32_t width = nand_geo.channels * nand_geo.ways;
    uint32_t dies = width < IN_FLIGHT ? width : IN_FLIGHT;
    uint64_t khz = nand_geo.clock_mhz * 1000u;
    uint64_t maps = ftl.lbas / MAP_ENTRIES + 1;
    uint64_t dirs = (ftl.lbas >> MAP_DIR_BITS) + 1;
    uint64_t pages = maps + dirs + ROOT_TABLE_PAGES;
    uint64_t tables = sb.count * 8 / PAGE_SIZE + bad.count / BAD_PER_PAGE + 2;
    uint64_t copies = tables * (PAGE_SIZE / 4) * CYCLES_WORD;

    uint64_t log = LOG_MS * khz / log_cycles() - FTL_LOG_BEYOND;
    uint64_t wear = FTL_LOG_PER_MAP * maps > FTL_LOG_LEAST ? FTL_LOG_PER_MAP * maps : FTL_LOG_LEAST;
    log = log < wear ? log : wear;
    ftl_bounds.log_most = (uint32_t)log;
    log /= 16;
    ftl_bounds.log_least = log > FTL_LOG_LEAST_LARGE ? FTL_LOG_LEAST_LARGE
                           : log > FTL_LOG_LEAST     ? (uint32_t)log
                                                     : FTL_LOG_LEAST;
    /* A checkpoint of everything: the area erased, every page written twice, and a root record, whose copies may both
     * begin a block. A shutdown behind a mount waits for such a one that runs, and writes the table and a root record
     * once more. */
    uint64_t store = 2 * pages * CYCLES_STORE + copies;
    uint64_t blocks = (uint64_t)ckpt.area_sbs * nand_geo.luns * nand_geo.planes + ROOT_COPIES;
    uint64_t media_us =
        (2 * pages / dies + 2 * (ROOT_TABLE_PAGES + 4)) * nand_geo.program_us + blocks * nand_geo.erase_us;
    uint64_t store_ms = store / khz + media_us / 1000 + 1;
    /* What was in programming when power went, written again: at each append point the last rows of a superblock are
     * read, and one is written to another, which is erased and listed. */
    uint64_t row = (uint64_t)bad.units * nand_geo.sectors;
    uint64_t again = APPEND_POINTS * (ROWS_READ * bad.units * CYCLES_ROLL + row * CYCLES_STORE);
    uint64_t rounds = (APPEND_POINTS + 1) * nand_geo.luns * nand_geo.planes;
    uint64_t again_us = rounds * nand_geo.program_us + nand_geo.luns * nand_geo.planes * nand_geo.erase_us;
    uint64_t again_ms = again / khz + again_us / 1000 + 1;
    uint64_t longest = ftl_bounds.log_most + ftl_bounds.log_most / 4;
    uint64_t singly = read_singly() + FTL_LOG_BEYOND;
    uint64_t cycles = pages * (CYCLES_LOAD + read_cycles()) + (uint64_t)sb.count * CYCLES_SB + longest * log_cycles() +
                      singly * (CYCLES_ROLL + read_cycles());
    uint64_t reads = ckpt.roots * ROOT_READS + (summary.chunk != 0 ? longest / summary.chunk : 0);
    uint64_t mount_ms = cycles / khz + reads * (nand_geo.read_us + READ_US) / 1000 + 1 + store_ms;
    mount_ms += again_ms;
    ftl_bounds.mount_ms = mount_ms < UINT32_MAX ? (uint32_t)mount_ms : UINT32_MAX;
    ftl_bounds.shutdown_ms = store_ms < UINT32_MAX / 1000 ? (uint32_t)store_ms : UINT32_MAX / 1000;
    console_printf("ftl: up to %u pages of log; a mount takes up to %u ms, a shutdown %u ms\n", ftl_bounds.log_most,
                   ftl_bounds.mount_ms, ftl_bounds.shutdown_ms);
}
