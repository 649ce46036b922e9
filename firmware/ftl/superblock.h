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
#include "platform/work.h"

/** Superblocks the firmware manages; more blocks a plane stay unused. */
#define SB_MAX  4096u
#define SB_NONE 0xffffffffu
/** Erases that may end while a checkpoint writes the table: those of the superblocks opened ahead. */
#define SB_LATE 4u

enum sb_state {
    SB_FREE = 0, /**< holds nothing; erased when opened */
    SB_OPEN,     /**< being written, or next in line */
    SB_CLOSED,   /**< full since before the newest checkpoint: recovery does not read it, collection may take it */
    SB_META,     /**< root blocks and checkpoint areas */
    SB_BAD,      /**< has a block that came bad, or an erase failed */
    SB_LOGGED,   /**< full, but recovery reads it until the next checkpoint */
    SB_VICTIM,   /**< closed, and collection moves what it still holds */
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
 * Table of all superblocks, whose "pages" are sectors; collection and wear levelling choose by valid and erase counts.
 * Erase counts live in DRAM_TABLE, counts of pins in DRAM_PINS, times of closing in DRAM_CLOSED.
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
    uint32_t logged;                    /**< SB_LOGGED */
    uint32_t bad;                       /**< SB_BAD, marked ones too */
    uint32_t pinned;                    /**< pins of all */
    uint32_t closings;                  /**< superblocks closed since power-on: the clock of their ages */
    uint32_t rotor;                     /**< where the search for a free one goes on */
    bool emptied;                       /**< some superblock may have become free */
    bool hold;                          /**< DRAM_TABLE stays as it is */
    uint32_t late[SB_LATE], late_count; /**< erased meanwhile */
};
extern struct sb_table sb;

void superblock_init(void);

static inline void sb_changed(uint32_t n) {
    sb.changed[n >> 3] |= (uint8_t)(1u << (n & 7));
    if (n >= sb.used) {
        sb.used = n + 1;
    }
}
/** Some superblock may hold nothing any more: have collection look. */
static inline void superblock_emptied(void) {
    sb.emptied = true;
    work_set(WORK_COLLECT);
}
static inline void superblock_ref(uint32_t n) {
    sb.valid[n]++;
    sb_changed(n);
}
static inline void superblock_unref(uint32_t n) {
    if (--sb.valid[n] == 0) {
        superblock_emptied();
    }
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
/** Superblock `n` is full from now on. */
void superblock_closed(uint32_t n);
/** Its age: superblocks closed since it was. */
uint32_t superblock_age(uint32_t n);
/** A checkpoint is durable: recovery does not read the superblocks any more that were full when it began, after so
 * many `closings`. */
void superblock_unlog(uint32_t closings);
/** The running checkpoint's count of sectors in use of superblock `n`, which fits the map pages as it writes them. */
void superblock_table_count(uint32_t n, int32_t sectors);
/** Superblocks that hold nothing, and that nobody reads, become free. True when some did. */
bool superblock_release(void);
/** Whether the medium has sector `ppa`, in a superblock in use. */
bool superblock_has(uint32_t ppa);

/** Entry of DRAM_TABLE: valid pages; erases, state << 16. */
#define SB_TABLE_ERASES 0xffffu

/** A free superblock to open: the least worn, or the most worn, and of equals the first from the rotor on. SB_NONE:
 * none is free. */
uint32_t superblock_pick(bool worn);

/** Erase all blocks of `n`, several at a time; `done(ok)` runs when all have ended. One erase of this kind at a time a
 * caller. */
struct sb_erase {
    struct node node; /**< in the list of those that wait for operations */
    uint32_t sb;
    struct sb_cursor at;
    uint32_t blocks_left;
    uint32_t in_flight;
    uint32_t failures; /**< blocks that were not erased */
    bool active;
    bool waits;
    void (*done)(struct sb_erase *e, bool ok);
};
/** WORK_ERASE: operations may be free again. */
void superblock_erase_poll(void);
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
