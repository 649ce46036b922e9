/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Bad blocks, one by one: the list of them, which every checkpoint takes along, and what follows from it for
 * superblocks and dies. Nothing is written to a block of the list.
 *
 * Positions in a superblock count the sectors of its bad blocks too: append points step over them, and their sequence
 * numbers are nobody's. So a mount finds the log whichever of its blocks the newest checkpoint knows to be bad.
 *
 * A superblock of which a block became bad since the newest checkpoint is not opened before the next one: what an erase
 * has left in that block could be taken for pages of the log by a mount that knows nothing of it.
 */
#ifndef ASSASIN_FW_BAD_H
#define ASSASIN_FW_BAD_H

#include <stdbool.h>
#include <stdint.h>

#include "ftl/superblock.h"
#include "platform/dram.h"

/** Why a block is bad; none: BAD_NONE. */
enum bad_cause { BAD_FACTORY = 0, BAD_PROGRAM, BAD_ERASE, BAD_DIE, BAD_NONE };

/** Superblocks in which blocks of a die fail one behind the other, with no program or erase that goes well in between,
 * before all of it is left out. */
#define DIE_DEAD_BLOCKS 4u

/** Pages of the list on the medium, and its entries: superblock, unit << 12, cause << 28, BAD_HOLDS. */
#define BAD_PAGES    32u
#define BAD_PER_PAGE (PAGE_SIZE / 4u)
#define BAD_MOST     (BAD_PAGES * BAD_PER_PAGE)
/** The block may hold data of the log: it has not been left out since its superblock was erased last. */
#define BAD_HOLDS 0x80000000u
/** Units that an entry can name. */
#define BAD_UNITS 65536u

struct bad_state {
    uint32_t count;   /**< entries of the list */
    uint32_t saved;   /**< of them: those that the newest checkpoint has */
    uint32_t changed; /**< pages of the list, a bit each, that the newest checkpoint does not have like this */
    uint32_t units;   /**< blocks of a superblock */
    uint32_t words;   /**< of a superblock's bits */
    uint32_t moving;  /**< superblocks that hold data on bad blocks, SB_OPEN ones too */
    uint32_t sound;   /**< a superblock without bad blocks, the one that was asked for last; SB_NONE */
    uint32_t suspect; /**< dies of which the last operation that may fail has failed */
    bool released;    /**< some entry's BAD_HOLDS may be out of date */
    bool rewrite;     /**< a die is dead: the next checkpoint writes all metadata anew, which may lie there */
};
extern struct bad_state bad;

/** False: the table of bad blocks has no room for this geometry. */
bool bad_init(void);

/** Dies of the drive; the one that sector `ppa` is on; the first sector of die `die`. */
uint32_t bad_dies(void);
uint32_t bad_die(uint32_t ppa);
uint32_t bad_die_ppa(uint32_t die);
/** Which block of its superblock the sector `ppa` is in. */
uint32_t bad_unit(uint32_t ppa);
/** Word of superblock `n`: bad blocks, BAD_MOVING. Its bits, by unit, are behind it. */
static inline uint32_t bad_word(uint32_t n) {
    return DRAM_BAD + n * (bad.words + 1) * 4;
}
/** The superblock's data are to be moved, because some of them are on a block that has become bad. */
#define BAD_MOVING 0x80000000u
/** Bad blocks of superblock `n`. */
static inline uint32_t bad_blocks(uint32_t n) {
    return hal_read(bad_word(n)) & ~BAD_MOVING;
}
static inline bool bad_moving(uint32_t n) {
    return (hal_read(bad_word(n)) & BAD_MOVING) != 0;
}
/** Sectors that superblock `n` takes when it is written from the beginning. */
static inline uint32_t bad_sectors(uint32_t n) {
    return (bad.units - bad_blocks(n)) * nand_geo.pages;
}
/** Whether the block of sector `ppa`, in superblock `n`, is bad. */
bool bad_in(uint32_t n, uint32_t ppa);
/** Whether the block of sector `ppa` is bad. */
static inline bool bad_at(uint32_t ppa) {
    uint32_t n = ppa_block(ppa);
    return n != bad.sound && bad_in(n, ppa);
}
/** Whether that block, which is bad, may hold data all the same: it became bad since its superblock was erased. */
bool bad_holds(uint32_t ppa);
/** Why, for whoever wants to know. */
enum bad_cause bad_cause_of(uint32_t ppa);

/** The block of entry `i` of the list is of the log, and became bad in use. */
bool bad_grown(uint32_t i);
/** A sector of that block. */
uint32_t bad_ppa(uint32_t i);

/** The block of sector `ppa` is bad. */
void bad_block(uint32_t ppa, enum bad_cause cause);
/** A program or an erase of the die of `ppa` went well. */
void bad_worked_now(uint32_t ppa);
static inline void bad_worked(uint32_t ppa) {
    if (bad.suspect != 0) {
        bad_worked_now(ppa);
    }
}
/** Superblock `n` has been erased. */
void bad_erased(uint32_t n);
/** Whether blocks of superblock `n` became bad that the newest checkpoint does not know of. */
bool bad_unsaved(uint32_t n);
/** Superblock `n` is closed and has data on a bad block, and nobody reads there. */
bool bad_to_move(uint32_t n);
/** The first such superblock, SB_NONE: none. */
uint32_t bad_next_to_move(void);

/** A checkpoint begins: its list has so many entries. */
uint32_t bad_snapshot(void);
/** That list takes the blocks of areas too that became bad since: the log is not there, and the next mount goes on in
 * their area. Returns how many entries it has then. */
uint32_t bad_add_areas(uint32_t count);
/** Whether page `i` of the list with `count` entries has to be written; `all`: because every page is. */
bool bad_page_due(uint32_t i, uint32_t count, uint32_t changed, bool all);
/** The list with `count` entries was read from the medium. False: it says what cannot be. */
bool bad_load(uint32_t count);

#endif
