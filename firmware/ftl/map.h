/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Logical to physical map, in DRAM.
 *
 * Three levels: a top table in TCM (one entry for 2^20 pages), directory pages (1,024 map pages each) and map pages
 * (1,024 entries each), the lower two made on demand. An entry is the physical page address `channel << 28 | way << 24
 * | row`; 0 means never written and MAP_LOST made unreadable, which is unambiguous because superblock 0 holds no user
 * data. A directory page is 8 KiB: first 1,024 DRAM addresses of map pages with the marks MAP_ENTRY_*, then
 * 1,024 physical addresses of their checkpointed copies.
 */
#ifndef ASSASIN_FW_MAP_H
#define ASSASIN_FW_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "ftl/superblock.h"
#include "platform/dram.h"
#include "platform/regs.h"

#define MAP_ENTRIES    1024u
#define MAP_DIR_BITS   20u /**< log2 of the pages a directory page covers */
#define MAP_TOP        512u
#define MAP_DIR_STRIDE 8192u
static_assert(MAP_TOP * MAP_DIR_STRIDE <= DRAM_DIRECTORY_SIZE, "directory");
#define MAP_DIR_FLASH  4096u /**< offset of the checkpointed copies' addresses */
#define MAP_MAX_LBAS   (DRAM_MAP_SIZE / 4u)
#define MAP_DIRTY_LIST 1024u
/** Changed since the checkpoint; which of the two bits changes with each checkpoint, the other one says that the
 * running one is to write the page. */
#define MAP_ENTRY_DIRTY(turn) (1u << (turn))
/** On its way to the checkpoint; and changed meanwhile: it is written once more. */
#define MAP_ENTRY_FLYING  4u
#define MAP_ENTRY_TOUCHED 8u
#define MAP_ENTRY_MARKS   15u
#define MAP_NO_PAGE       0xffffffffu
/** Entry of a block that its owner has declared unreadable. A read of that address finds no block either: it is a
 * sector of a root block. */
#define MAP_LOST NAND_NO_BLOCK

/** Top table entry. */
struct map_dir {
    uint32_t addr;        /**< DRAM address of the directory page, 0: none */
    uint32_t ppa;         /**< its checkpointed copy, 0: none */
    uint16_t count;       /**< entries [0, count) may be in use */
    uint16_t stored : 15; /**< those that the checkpointed copy holds */
    uint16_t dirty : 1;   /**< copies' addresses changed since the checkpoint */
};

struct map_state {
    uint32_t pages;           /**< map pages given out */
    uint32_t dirs;            /**< directory pages given out */
    uint32_t dirty_count;     /**< entries of DRAM_DIRTY; beyond MAP_DIRTY_LIST the list is incomplete */
    uint32_t mapped;          /**< LBAs mapped */
    uint32_t last, last_page; /**< map page looked up last: pages never move */
    uint32_t last_dirty;      /**< map page marked dirty last; MAP_NO_PAGE after a checkpoint */
    uint32_t turn;            /**< of the marks and lists of changed pages: 0, 1 */
    bool writing;             /**< a checkpoint writes map pages while they change */
    bool all;                 /**< it writes all, those from number `from` on are still to come */
    uint32_t from;
    uint32_t end; /**< .. and DRAM address behind those that were there when it began */
    struct map_dir top[MAP_TOP];
};
extern struct map_state map;

void map_init(void);
/** From now on the processor's loads from `first` to the end of the map are cached. What the cache has is forgotten:
 * also wanted where anything else has written there. */
void map_cache(uint32_t first);

/** DRAM address of the map page that covers `lba`; the zero page when there is none (all entries then read as never
 * written). */
static inline uint32_t map_page(uint32_t lba) {
    uint32_t number = lba / MAP_ENTRIES;
    if (number == map.last) {
        return map.last_page;
    }
    uint32_t dir = map.top[number / MAP_ENTRIES].addr;
    if (dir == 0) {
        return DRAM_ZERO;
    }
    uint32_t page = hal_read(dir + number % MAP_ENTRIES * 4);
    if (page == 0) {
        return DRAM_ZERO;
    }
    map.last = number;
    map.last_page = page & ~MAP_ENTRY_MARKS;
    return map.last_page;
}

/** Physical address of `lba`, 0 when never written, MAP_LOST when it is unreadable. */
static inline uint32_t map_get(uint32_t lba) {
    return hal_read(map_page(lba) + (lba & (MAP_ENTRIES - 1)) * 4);
}

/** Point `lba` at `ppa` (0: unmap; MAP_LOST) and return what it pointed at. Valid counts of both superblocks follow. */
uint32_t map_set(uint32_t lba, uint32_t ppa);
/**
 * Likewise, for the log that a mount reads, between begin and end: counts of valid sectors are too large until the end.
 * The TCM memory given has MAP_REPLAY_BYTES.
 */
uint32_t map_replay(uint32_t lba, uint32_t ppa);
#define MAP_REPLAY_BYTES (SB_MAX * 2u)
void map_replay_begin(uint16_t *memory);
void map_replay_end(void);
/** The entry that was `old` is `ppa`: the counts follow. */
void map_recount(uint32_t old, uint32_t ppa);
/** Likewise, for what a write has programmed: most follow each other in a map page that is marked already. */
static inline void map_point(uint32_t lba, uint32_t ppa) {
    uint32_t number = lba / MAP_ENTRIES;
    if (__builtin_expect(number != map.last || number != map.last_dirty || map.writing || ppa <= MAP_LOST, 0)) {
        map_set(lba, ppa);
        return;
    }
    uint32_t entry = map.last_page + (lba & (MAP_ENTRIES - 1)) * 4;
    uint32_t old = hal_read(entry);
    hal_write(entry, ppa);
    struct sb_count *to = superblock_count_in_tcm(ppa_block(ppa));
    struct sb_count *from = superblock_count_in_tcm(ppa_block(old));
    if (__builtin_expect(to != NULL && from != NULL && old > MAP_LOST && from->valid > 1, 1)) {
        to->valid++;
        from->valid--;
    } else {
        map_recount(old, ppa);
    }
}

/** The next checkpoint is to write map page `number`, which is there. */
void map_dirty(uint32_t number);

/** DRAM address of the directory's entry of map page `number`, which is there. */
static inline uint32_t map_dir_entry(uint32_t number) {
    return map.top[number / MAP_ENTRIES].addr + number % MAP_ENTRIES * 4;
}

#endif
