/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Who owns which part of the SSD DRAM.
 */
#ifndef ASSASIN_FW_DRAM_H
#define ASSASIN_FW_DRAM_H

#include <assert.h>

#include "assasin_contract.h"

#define PAGE_LOG2 12u
#define PAGE_SIZE (1u << PAGE_LOG2)

/** Never-written pages, bss of functions, absent map pages: zeros. */
#define DRAM_ZERO      (ASSASIN_DRAM_BASE + 0x00000000u)
#define DRAM_ZERO_SIZE 0x10000u
/** Parameter page. */
#define DRAM_PARAM      (ASSASIN_DRAM_BASE + 0x00010000u)
#define DRAM_PARAM_SIZE 0x1000u
/** Trim record under construction. */
#define DRAM_TRIM      (ASSASIN_DRAM_BASE + 0x00012000u)
#define DRAM_TRIM_SIZE 0x1000u
/** Where output that nobody wants is drained to. */
#define DRAM_DROP      (ASSASIN_DRAM_BASE + 0x00013000u)
#define DRAM_DROP_SIZE 0x1000u
/** Task blocks, one of 64 bytes a core. */
#define DRAM_TASK      (ASSASIN_DRAM_BASE + 0x00014000u)
#define DRAM_TASK_SIZE 0x1000u
/** Error log, 64 bytes an entry. */
#define DRAM_ERRORS      (ASSASIN_DRAM_BASE + 0x00016000u)
#define DRAM_ERRORS_SIZE 0x400u
/** Memory range sets of programs. */
#define DRAM_RANGES      (ASSASIN_DRAM_BASE + 0x00016800u)
#define DRAM_RANGES_SIZE 0x800u
/** Pins of every superblock, 4 bytes an entry. */
#define DRAM_PINS      (ASSASIN_DRAM_BASE + 0x00020000u)
#define DRAM_PINS_SIZE 0x4000u
/** Pages that were recalled, by core. */
#define DRAM_RECALL        (ASSASIN_DRAM_BASE + 0x00040000u)
#define DRAM_RECALL_SIZE   0x10000u
#define DRAM_RECALL_STRIDE 0x400u
/** Marks of the block that ADMIN_NAND_BLOCK looks at, then its answer. */
#define DRAM_MARKS      (ASSASIN_DRAM_BASE + 0x00050000u)
#define DRAM_MARKS_SIZE 0x100u
/** Copies that bring the functions into a core, by function: 12 bytes each. */
#define DRAM_FUNC_COPIES      (ASSASIN_DRAM_BASE + 0x00052000u)
#define DRAM_FUNC_COPIES_SIZE 0x1000u
/** Pages of streams whose reads are to be repeated: 12 bytes each. */
#define DRAM_RESCUE_LIST      (ASSASIN_DRAM_BASE + 0x00053000u)
#define DRAM_RESCUE_LIST_SIZE 0x1000u
/** Blocks that sessions may touch, by session: 104 bytes each. */
#define DRAM_ACCESS      (ASSASIN_DRAM_BASE + 0x00056000u)
#define DRAM_ACCESS_SIZE 0x1000u
/** Pages of streams whose reads are repeated, 4 KiB each. */
#define DRAM_RESCUE      (ASSASIN_DRAM_BASE + 0x00060000u)
#define DRAM_RESCUE_SIZE 0x10000u
/** Root records, 4 KiB each: the newest one on the medium and the next one, in turn, and what is read back. */
#define DRAM_ROOT      (ASSASIN_DRAM_BASE + 0x00070000u)
#define DRAM_ROOT_SIZE 0x4000u
/** When every superblock was closed, 4 bytes an entry. */
#define DRAM_CLOSED      (ASSASIN_DRAM_BASE + 0x00074000u)
#define DRAM_CLOSED_SIZE 0x4000u
/** Pages on their way to a checkpoint whose originals may change meanwhile, 4 KiB each. */
#define DRAM_META_COPIES      (ASSASIN_DRAM_BASE + 0x00080000u)
#define DRAM_META_COPIES_SIZE 0x40000u
/** Numbers (LBA / 1,024) of the map pages that one checkpoint writes, and of those that changed since, in turn, 4 KiB
 * each. */
#define DRAM_DIRTY      (ASSASIN_DRAM_BASE + 0x000c0000u)
#define DRAM_DIRTY_SIZE 0x2000u
/** Page buffers of the host I/O path. */
#define DRAM_BUFFERS      (ASSASIN_DRAM_BASE + 0x00100000u)
#define DRAM_BUFFERS_SIZE 0x180000u
/** Sectors that collection moves, 4 KiB each. */
#define DRAM_COPIES      (ASSASIN_DRAM_BASE + 0x00280000u)
#define DRAM_COPIES_SIZE 0x20000u
/** Superblock table as checkpointed, 8 bytes an entry; directly behind it the list of bad blocks, 4 bytes an entry: a
 * checkpoint takes both for one table. */
#define DRAM_TABLE         (ASSASIN_DRAM_BASE + 0x002c0000u)
#define DRAM_TABLE_SIZE    0x8000u
#define DRAM_BAD_LIST      (DRAM_TABLE + DRAM_TABLE_SIZE)
#define DRAM_BAD_LIST_SIZE 0x20000u
/** Copies that wait for a place in the copy engine's queue: 16 bytes each. */
#define DRAM_COPY_QUEUE      (ASSASIN_DRAM_BASE + 0x00300000u)
#define DRAM_COPY_QUEUE_SIZE 0x1000u
/** Sectors in use of every superblock, 4 bytes an entry. */
#define DRAM_VALID      (ASSASIN_DRAM_BASE + 0x00304000u)
#define DRAM_VALID_SIZE 0x4000u
/** Bad blocks of every superblock: a word, then a bit each (ftl/bad.h). */
#define DRAM_BAD      (ASSASIN_DRAM_BASE + 0x00310000u)
#define DRAM_BAD_SIZE 0xf0000u
/** Functions: ELF file, then realigned segments. */
#define DRAM_FUNCS       (ASSASIN_DRAM_BASE + 0x00400000u)
#define DRAM_FUNCS_SIZE  0x400000u
#define DRAM_FUNC_STRIDE 0x40000u
/** scomp requests: the request's data, then prefix sums of its extents. */
#define DRAM_REQUESTS       (ASSASIN_DRAM_BASE + 0x00800000u)
#define DRAM_REQUESTS_SIZE  0x800000u
#define DRAM_REQUEST_STRIDE 0x40000u
/** Result rings of scomp requests. */
#define DRAM_RESULTS       (ASSASIN_DRAM_BASE + 0x01000000u)
#define DRAM_RESULTS_SIZE  0x08000000u
#define DRAM_RESULT_STRIDE 0x00800000u
/** Staging of host-fed streams, by core and stream. */
#define DRAM_FEEDS       (ASSASIN_DRAM_BASE + 0x09000000u)
#define DRAM_FEEDS_SIZE  0x07000000u
#define DRAM_FEED_STRIDE 0x00010000u
/** Parity pages of stripes that are being written, by stripe and sector; then what rebuilds a sector, 4 KiB each. */
#define DRAM_PARITY       (ASSASIN_DRAM_BASE + 0x11000000u)
#define DRAM_PARITY_SIZE  0x30000u
#define DRAM_REBUILD      (ASSASIN_DRAM_BASE + 0x11030000u)
#define DRAM_REBUILD_SIZE 0x24000u
/** What sectors of the host's append point hold, then those of the copies': 8 bytes each, by their place in the
 * superblock (ftl/pairs.h). */
#define DRAM_NOTES      (ASSASIN_DRAM_BASE + 0x11800000u)
#define DRAM_NOTES_SIZE 0x00800000u
/*
 * From here to the end of the map the firmware's loads are cached at a mount (map_cache): the directory, summaries and
 * the map. What lies between the firmware does not load then.
 */
/** Directory pages: 8 KiB each, see ftl/map.h. */
#define DRAM_DIRECTORY      (ASSASIN_DRAM_BASE + 0x12000000u)
#define DRAM_DIRECTORY_SIZE 0x00400000u
/** Summaries of the log (ftl/summary.h), 4 KiB each. */
#define DRAM_SUMMARIES      (ASSASIN_DRAM_BASE + 0x13000000u)
#define DRAM_SUMMARIES_SIZE 0x8000u
/** Subsystem Local Memory. */
#define DRAM_MEMORY      (ASSASIN_DRAM_BASE + 0x14000000u)
#define DRAM_MEMORY_SIZE 0x04000000u
/** Map pages, 4 KiB each, given out in order. */
#define DRAM_MAP      (ASSASIN_DRAM_BASE + 0x20000000u)
#define DRAM_MAP_SIZE 0x40000000u
/* The hardware owns what lies at ASSASIN_DRAM_TILES_BASE. */
/** Uncommitted pages of the pieces that write to flash, by core. */
#define DRAM_COMMITS       (ASSASIN_DRAM_BASE + 0x64000000u)
#define DRAM_COMMITS_SIZE  0x0c000000u
#define DRAM_COMMIT_STRIDE 0x00800000u
/** Pages by channel of CHANNEL_LOCAL requests. */
#define DRAM_LOCAL      (ASSASIN_DRAM_BASE + 0x70000000u)
#define DRAM_LOCAL_SIZE 0x04000000u
/** The firmware itself, on a processor without a memory of its own (hal/rocket/link.ld). */
#define DRAM_FIRMWARE      (ASSASIN_DRAM_BASE + 0x74000000u)
#define DRAM_FIRMWARE_SIZE 0x00100000u
/* In this order, or they would share bytes. */
#define DRAM_BEHIND(part, before) static_assert(before + before##_SIZE <= part, #before " reaches into " #part)
DRAM_BEHIND(DRAM_PARAM, DRAM_ZERO);
DRAM_BEHIND(DRAM_TRIM, DRAM_PARAM);
DRAM_BEHIND(DRAM_DROP, DRAM_TRIM);
DRAM_BEHIND(DRAM_TASK, DRAM_DROP);
DRAM_BEHIND(DRAM_ERRORS, DRAM_TASK);
DRAM_BEHIND(DRAM_RANGES, DRAM_ERRORS);
DRAM_BEHIND(DRAM_PINS, DRAM_RANGES);
DRAM_BEHIND(DRAM_RECALL, DRAM_PINS);
DRAM_BEHIND(DRAM_MARKS, DRAM_RECALL);
DRAM_BEHIND(DRAM_FUNC_COPIES, DRAM_MARKS);
DRAM_BEHIND(DRAM_RESCUE_LIST, DRAM_FUNC_COPIES);
DRAM_BEHIND(DRAM_ACCESS, DRAM_RESCUE_LIST);
DRAM_BEHIND(DRAM_RESCUE, DRAM_ACCESS);
DRAM_BEHIND(DRAM_ROOT, DRAM_RESCUE);
DRAM_BEHIND(DRAM_CLOSED, DRAM_ROOT);
DRAM_BEHIND(DRAM_META_COPIES, DRAM_CLOSED);
DRAM_BEHIND(DRAM_DIRTY, DRAM_META_COPIES);
DRAM_BEHIND(DRAM_BUFFERS, DRAM_DIRTY);
DRAM_BEHIND(DRAM_COPIES, DRAM_BUFFERS);
DRAM_BEHIND(DRAM_TABLE, DRAM_COPIES);
DRAM_BEHIND(DRAM_BAD_LIST, DRAM_TABLE);
DRAM_BEHIND(DRAM_COPY_QUEUE, DRAM_BAD_LIST);
DRAM_BEHIND(DRAM_VALID, DRAM_COPY_QUEUE);
DRAM_BEHIND(DRAM_BAD, DRAM_VALID);
DRAM_BEHIND(DRAM_FUNCS, DRAM_BAD);
DRAM_BEHIND(DRAM_REQUESTS, DRAM_FUNCS);
DRAM_BEHIND(DRAM_RESULTS, DRAM_REQUESTS);
DRAM_BEHIND(DRAM_FEEDS, DRAM_RESULTS);
DRAM_BEHIND(DRAM_PARITY, DRAM_FEEDS);
DRAM_BEHIND(DRAM_REBUILD, DRAM_PARITY);
DRAM_BEHIND(DRAM_NOTES, DRAM_REBUILD);
DRAM_BEHIND(DRAM_DIRECTORY, DRAM_NOTES);
DRAM_BEHIND(DRAM_SUMMARIES, DRAM_DIRECTORY);
DRAM_BEHIND(DRAM_MEMORY, DRAM_SUMMARIES);
DRAM_BEHIND(DRAM_MAP, DRAM_MEMORY);
DRAM_BEHIND(ASSASIN_DRAM_TILES_BASE, DRAM_MAP);
static_assert(ASSASIN_DRAM_TILES_BASE + ASSASIN_DRAM_TILES_COUNT * ASSASIN_DRAM_TILES_STRIDE <= DRAM_COMMITS,
              "the tiles' part reaches into DRAM_COMMITS");
DRAM_BEHIND(DRAM_LOCAL, DRAM_COMMITS);
DRAM_BEHIND(DRAM_FIRMWARE, DRAM_LOCAL);
static_assert(DRAM_FIRMWARE - ASSASIN_DRAM_BASE + DRAM_FIRMWARE_SIZE <= ASSASIN_DRAM_SIZE,
              "DRAM_FIRMWARE reaches beyond the DRAM");
#undef DRAM_BEHIND

#endif
