/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Layout of checkpoints on the medium, shared by the writers (checkpoint.c, root.c) and the readers (recover.c,
 * rootfind.c).
 */
#ifndef ASSASIN_FW_CHECKPOINT_H
#define ASSASIN_FW_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "ftl/append.h"
#include "ftl/bad.h"
#include "ftl/superblock.h"

/** Root record: words magic, CRC-32C of the rest, bytes, sequence, flags, geometry (3), capacity, log (5), area, used,
 * table entries, epoch, directories, bad blocks, superblocks listed, superblocks an area, stamp, candidate blocks of
 * roots that failed, tails of the log, chip enables in use (16 bits a channel), pages of the table and behind them of
 * the list of bad blocks, then per directory page its address and entry count, then ftl_owner_data, then the list, then
 * two words for each tail.
 *
 * Pages that a root record names carry a tag as OOB word 0, and as OOB word 1 the stamp of their area: a number that no
 * use of the area had before. Every place of an area is written once a use, so tag and stamp tell a page from all that
 * its place held before. There are two of each (ftl/area.h); the address that is named is that of either. */
#define ROOT_MAGIC       0x42545253u /* "SRTB" */
#define ROOT_MAGIC_NAME  0x00ffffffu /* what older versions have in common with it */
#define ROOT_CLEAN       1u
#define ROOT_PARITY      2u /* stripes have parity */
#define ROOT_SB_PAGES    (SB_MAX * 8u / 4096u)
#define ROOT_TABLE_PAGES (ROOT_SB_PAGES + BAD_PAGES)
#define ROOT_FIXED_WORDS 33u
#define ROOT_SEQ_AT      (3u * 4u)
#define ROOT_FLAGS_AT    (4u * 4u)
#define ROOT_USED_AT     (15u * 4u)
#define ROOT_EPOCH_AT    (17u * 4u)
#define ROOT_DIRS_AT     (18u * 4u)
#define ROOT_LISTED_AT   (20u * 4u)
#define ROOT_FAILED_AT   (23u * 4u)
#define ROOT_TAILS_AT    (24u * 4u)
#define ROOT_UNITS_AT    (5u * 4u)
#define ROOT_ENABLES_AT  (25u * 4u)
#define ROOT_WORDS       (ROOT_FIXED_WORDS + ROOT_TABLE_PAGES)
/** Candidate blocks for root records, at most; and in how many of them each record is. */
#define ROOT_BLOCKS 16u
#define ROOT_COPIES 2u
/** Pages of a root block that are tried, one after the other, before another block takes over. */
#define ROOT_TRIES 2u
/** Pages that may read blank between two root records: the ones that were tried, the one that a mount leaves, and one
 * whose program could take the newest record along. */
#define ROOT_GAP (ROOT_TRIES + (nand_geo.paired ? 1u : 0u))
/** Why a mount gives up that finds a record of another medium. */
#define ROOT_FOREIGN "medium of another geometry: start with the right one or format it"
/** Why a mount gives up that finds an older record. */
#define ROOT_OLDER "the newest root record cannot be read: an older one is not safe to use"

/** Most superblocks that join the log between two checkpoints, and which append point such a one is of. */
#define ROOT_LIST_MOST 128u
#define ROOT_LIST_COPY 0x80000000u

/** Most tails of the log (ftl/tail.h) that a root record lists. */
#define TAIL_MOST 64u
struct log_tail {
    uint32_t name; /**< superblock << 16 | chunk, or all ones: a trim record */
    uint32_t ppa;  /**< page of the area with the tail; 0: the superblock holds nothing from that chunk on */
};

/** Where the log stood at the checkpoint, and the superblocks that have joined it since. */
struct log_position {
    uint32_t sb[APPEND_POINTS];   /**< superblock being written, SB_NONE: none */
    uint32_t left[APPEND_POINTS]; /**< its sectors left */
    uint32_t seq;                 /**< sequence number of the next page */
    uint32_t listed;
    uint32_t list[ROOT_LIST_MOST]; /**< superblocks, ROOT_LIST_COPY set for those of the copies' append point */
    uint32_t tails;
    struct log_tail tail[TAIL_MOST]; /**< what mounts without a checkpoint have found */
};

struct checkpoint_state {
    uint32_t first;                   /**< first superblock of the areas */
    uint32_t area_sbs;                /**< superblocks an area */
    uint32_t end;                     /**< first superblock behind the areas */
    uint32_t full_pages;              /**< pages of the largest checkpoint */
    uint32_t root_block[ROOT_BLOCKS]; /**< first page of the candidate blocks for root records */
    uint32_t roots;                   /**< candidates */
    uint32_t root_failed;             /**< those that came bad or failed, a bit each */
    uint32_t root_holds;              /**< those with the newest root record, a bit each: one of them is never erased */
    uint32_t root_area;               /**< area that the newest root record names: never erased */
    uint32_t root_seq;                /**< of the newest root */
    bool root_lost;      /**< no root record can be written: the medium stays as it is until the next power-on */
    uint32_t epoch;      /**< formats so far: sequence numbers of different epochs do not meet */
    uint32_t area;       /**< 0, 1 */
    uint32_t stamp;      /**< of this use of it */
    uint32_t stamp_next; /**< of the next use of one */
    uint32_t used;       /**< sectors of the area written or left out, those of bad blocks too */
    struct sb_cursor at; /**< next page of the area */
    uint32_t exposed;    /**< rows of its superblock that the newest root record may name pages of, see pairs.h */
    bool rewrite;        /**< the area may not be continued: the next checkpoint writes everything to another one */
    uint32_t table[ROOT_TABLE_PAGES];
    uint32_t table_used; /**< entries of the superblock table in the newest checkpoint */
    uint32_t bad;        /**< entries of the list of bad blocks in it */
    struct log_position log;
};
extern struct checkpoint_state ckpt;

/** A checkpoint is under way that writes wait for: what it will say of the log is fixed. */
bool checkpoint_busy(void);
/** A root record is on its way that adds `entry` to the list: the running checkpoint's is to have it, too. */
void checkpoint_listed(enum append_point point, uint32_t entry);
/** It could not be written. */
void checkpoint_unlisted(uint32_t entry);
/** The map has changed back: what the running checkpoint has written of it names pages that are gone. */
void checkpoint_spoilt(void);
/** The root writer has ended what it did. */
void checkpoint_root_free(void);
/** Whether page `i` of the table has entries. */
bool checkpoint_table_used(uint32_t i);

#endif
