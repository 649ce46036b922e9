/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Superblocks: the same block number over all channels, ways, LUNs and planes. State, erase and page allocation.
 */
#ifndef ASSASIN_FW_SUPERBLOCK_H
#define ASSASIN_FW_SUPERBLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "media/nand.h"

/** Superblocks the firmware manages; more blocks a plane stay unused. */
#define SB_MAX  4096u
#define SB_NONE 0xffffffffu

enum sb_state {
    SB_FREE = 0, /**< holds nothing; erased when opened */
    SB_OPEN,     /**< being written, or erased and next in line */
    SB_CLOSED,   /**< full */
    SB_META,     /**< root blocks and checkpoint areas */
    SB_BAD,      /**< has a block that came bad, or an erase failed */
    SB_EMPTIED,  /**< full, and held nothing when a checkpoint began: free once its root record is there */
};

/**
 * Walks a superblock in allocation order: sector of the page, channel, way, LUN, plane, page. Every round over channels
 * and ways starts at another way, or streams a power of two apart, as equal pieces of a table are, would all wait for
 * the same few ways at the same time.
 */
struct sb_cursor {
    uint32_t sb;
    uint32_t left; /**< sectors from here to the end */
    uint8_t channel, way, lun, plane;
    uint16_t page;
    uint8_t first_way; /**< way that the round starts at */
    uint8_t sector;
};

/**
 * Table of all superblocks, whose "pages" are sectors; valid and erase counts are what garbage collection and wear
 * levelling will choose by. Erase counts live in DRAM_TABLE, counts of pins in DRAM_PINS.
 */
struct sb_table {
    uint32_t valid[SB_MAX];
    uint8_t state[SB_MAX];
    uint8_t changed[SB_MAX / 8]; /**< differs from the checkpointed table */
    uint32_t count;              /**< superblocks in use by this geometry */
    uint32_t pages;              /**< sectors of one */
    uint32_t marked;             /**< left out since the medium was formatted: blocks of them came bad */
    uint32_t used;               /**< entries [0, used) may differ from a fresh drive's */
    uint32_t free;
    bool hold;      /**< DRAM_TABLE stays as it is */
    uint32_t late;  /**< erased meanwhile, SB_NONE */
    uint32_t rotor; /**< where the search for a free one goes on */
};
extern struct sb_table sb;

void superblock_init(void);

static inline void sb_changed(uint32_t n) {
    sb.changed[n >> 3] |= (uint8_t)(1u << (n & 7));
    if (n >= sb.used) {
        sb.used = n + 1;
    }
}
static inline void superblock_ref(uint32_t n) {
    sb.valid[n]++;
    sb_changed(n);
}
static inline void superblock_unref(uint32_t n) {
    sb.valid[n]--;
    sb_changed(n);
}
void superblock_set_state(uint32_t n, enum sb_state state);
/** Count an erase of superblock `n`. */
void superblock_erased(uint32_t n);
/** While the table in DRAM is being written, with checksums made before, it stays as it is: an erase that ends
 * meanwhile, of the superblock opened ahead, is counted afterwards. */
void superblock_table_hold(bool hold);
/** Erases of superblock `n` so far, at most SB_TABLE_ERASES. */
uint32_t superblock_erases(uint32_t n);
/** Pins: sectors that keep their superblock from being used again although the map does not know them (yet):
 * uncommitted ones, and those that a CHANNEL_LOCAL request reads. */
uint32_t superblock_pins(uint32_t n);
void superblock_pin(uint32_t n, int32_t pages);
/** Superblock `n` is full and holds nothing: it can be used again after a checkpoint. */
bool superblock_reclaimable(uint32_t n);
/** A checkpoint begins: those that are reclaimable become SB_EMPTIED. The table that it writes says so, and recovery
 * frees the same ones, whatever happens to them meanwhile. */
void superblock_empty(void);
/** It has ended: those become `state`. */
void superblock_emptied(enum sb_state state);
/** Whether the medium has sector `ppa`, in a superblock in use. */
bool superblock_has(uint32_t ppa);

/** Entry of DRAM_TABLE: valid pages; erases, state << 16. */
#define SB_TABLE_ERASES 0xffffu

/**
 * The next superblock to open: the first free one from the rotor on. Recovery follows the same order, so a policy that
 * also weighs erase counts must decide from checkpointed state only.
 */
uint32_t superblock_pick(void);

/** Erase all blocks of `n`, several at a time; `done(ok)` runs when all have ended. One erase of this kind at a time a
 * caller. */
struct sb_erase {
    uint32_t sb;
    struct sb_cursor at;
    uint32_t blocks_left;
    uint32_t in_flight;
    uint32_t failures; /**< blocks that were not erased */
    bool active;
    void (*done)(struct sb_erase *e, bool ok);
};
void superblock_erase(struct sb_erase *e, uint32_t n, void (*done)(struct sb_erase *e, bool ok));

/** Put the cursor on the first page of superblock `n`. */
void cursor_open(struct sb_cursor *c, uint32_t n);
/** Put the cursor `position` sectors into superblock `n`. */
void cursor_seek(struct sb_cursor *c, uint32_t n, uint32_t position);
/** Sector under the cursor. */
uint32_t cursor_ppa(const struct sb_cursor *c);
/** How many sectors of its superblock are allocated before `ppa`. */
uint32_t superblock_position(uint32_t ppa);
/** Step to the next sector; only while left > 0. */
void cursor_next(struct sb_cursor *c);
/** Step to the first sector of the next page; only while left > 0. */
void cursor_next_page(struct sb_cursor *c);

#endif
