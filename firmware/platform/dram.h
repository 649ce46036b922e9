/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Who owns which part of the SSD DRAM.
 */
#ifndef ASSASIN_FW_DRAM_H
#define ASSASIN_FW_DRAM_H

#include "assasin_contract.h"

#define PAGE_LOG2 12u
#define PAGE_SIZE (1u << PAGE_LOG2)

/** 64 KiB of zeros: never-written pages, bss of functions, absent map pages. */
#define DRAM_ZERO      (ASSASIN_DRAM_BASE + 0x00000000u)
#define DRAM_ZERO_SIZE 0x10000u
/** Parameter page, 4 KiB. */
#define DRAM_PARAM (ASSASIN_DRAM_BASE + 0x00010000u)
/** Trim record under construction, 4 KiB. */
#define DRAM_TRIM (ASSASIN_DRAM_BASE + 0x00012000u)
/** Task blocks, one of 64 bytes a core. */
#define DRAM_TASK (ASSASIN_DRAM_BASE + 0x00014000u)
/** Numbers (LBA / 1,024) of the map pages changed since the checkpoint, 4 KiB. */
#define DRAM_DIRTY (ASSASIN_DRAM_BASE + 0x00015000u)
/** Error log, 64 bytes an entry, 1 KiB. */
#define DRAM_ERRORS (ASSASIN_DRAM_BASE + 0x00016000u)
/** Memory range sets of programs, 2 KiB. */
#define DRAM_RANGES (ASSASIN_DRAM_BASE + 0x00016800u)
/** Superblock table as checkpointed, 8 bytes an entry, 32 KiB. */
#define DRAM_TABLE (ASSASIN_DRAM_BASE + 0x00018000u)
/** Pins of every superblock, 4 bytes an entry, 16 KiB. */
#define DRAM_PINS (ASSASIN_DRAM_BASE + 0x00020000u)
/** Where output that nobody wants is drained to, 4 KiB. */
#define DRAM_DROP (ASSASIN_DRAM_BASE + 0x00013000u)
/** Pages that were recalled, by core: 1 KiB each. */
#define DRAM_RECALL        (ASSASIN_DRAM_BASE + 0x00040000u)
#define DRAM_RECALL_STRIDE 0x400u
/** Marks of the block that ADMIN_NAND_BLOCK looks at, then its answer, 256 bytes. */
#define DRAM_MARKS (ASSASIN_DRAM_BASE + 0x00050000u)
/** Copies that bring the functions into a core, by function: 12 bytes each, 4 KiB. */
#define DRAM_FUNC_COPIES (ASSASIN_DRAM_BASE + 0x00052000u)
/** Pages of streams whose reads are to be repeated: 12 bytes each, 4 KiB. */
#define DRAM_RESCUE_LIST (ASSASIN_DRAM_BASE + 0x00053000u)
/** Where chunks end that are not complete, by request: 512 bytes each, 8 KiB. */
#define DRAM_CHUNKS        (ASSASIN_DRAM_BASE + 0x00054000u)
#define DRAM_CHUNKS_STRIDE 0x200u
/** Blocks that sessions may touch, by session: 104 bytes each. */
#define DRAM_ACCESS      (ASSASIN_DRAM_BASE + 0x00056000u)
#define DRAM_ACCESS_SIZE 0x1000u
/** Pages of streams whose reads are repeated, 4 KiB each, 64 KiB. */
#define DRAM_RESCUE (ASSASIN_DRAM_BASE + 0x00060000u)
/** Root records, 4 KiB each: the newest one on the medium and the next one, in turn, and what is read back. */
#define DRAM_ROOT (ASSASIN_DRAM_BASE + 0x00070000u)
/** When every superblock was closed, 4 bytes an entry, 16 KiB. */
#define DRAM_CLOSED (ASSASIN_DRAM_BASE + 0x00074000u)
/** Page buffers of the host I/O path. */
#define DRAM_BUFFERS (ASSASIN_DRAM_BASE + 0x00100000u)
/** Sectors that collection moves, 4 KiB each, 128 KiB. */
#define DRAM_COPIES (ASSASIN_DRAM_BASE + 0x00280000u)
/** Copies that wait for a place in the copy engine's queue: 16 bytes each, 4 KiB. */
#define DRAM_COPY_QUEUE (ASSASIN_DRAM_BASE + 0x00300000u)
/** Sectors in use of every superblock, 4 bytes an entry, 16 KiB. */
#define DRAM_VALID (ASSASIN_DRAM_BASE + 0x00304000u)
/** Functions: ELF file, then realigned segments. */
#define DRAM_FUNCS       (ASSASIN_DRAM_BASE + 0x00400000u)
#define DRAM_FUNC_STRIDE 0x40000u
/** scomp requests: the request's data, then prefix sums of its extents. */
#define DRAM_REQUESTS       (ASSASIN_DRAM_BASE + 0x00800000u)
#define DRAM_REQUEST_STRIDE 0x40000u
/** Result rings of scomp requests. */
#define DRAM_RESULTS       (ASSASIN_DRAM_BASE + 0x01000000u)
#define DRAM_RESULT_STRIDE 0x00800000u
/** Staging of host-fed streams, by core and stream. */
#define DRAM_FEEDS       (ASSASIN_DRAM_BASE + 0x09000000u)
#define DRAM_FEED_STRIDE 0x00010000u
/** Subsystem Local Memory. */
#define DRAM_MEMORY      (ASSASIN_DRAM_BASE + 0x14000000u)
#define DRAM_MEMORY_SIZE 0x04000000u
/* The hardware owns what lies at ASSASIN_DRAM_TILES_BASE. */
/** Uncommitted pages of the pieces that write to flash, by core. */
#define DRAM_COMMITS       (ASSASIN_DRAM_BASE + 0x64000000u)
#define DRAM_COMMIT_STRIDE 0x00800000u
/** Pages by channel of CHANNEL_LOCAL requests. */
#define DRAM_LOCAL      (ASSASIN_DRAM_BASE + 0x70000000u)
#define DRAM_LOCAL_SIZE 0x04000000u
/** Directory pages: 8 KiB each, see ftl/map.h. */
#define DRAM_DIRECTORY (ASSASIN_DRAM_BASE + 0x10000000u)
/** Map pages, 4 KiB each, given out in order. */
#define DRAM_MAP      (ASSASIN_DRAM_BASE + 0x20000000u)
#define DRAM_MAP_SIZE 0x40000000u

#endif
