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
#include "platform/dram.h"
#include "platform/work.h"

/** Superblocks the firmware manages; more blocks a plane stay unused. */
#define SB_MAX  4096u
#define SB_NONE 0xffffffffu

enum sb_state {
    SB_FREE = 0, /**< holds nothing; erased when opened */
    SB_OPEN,     /**< being written, or next in line */
    SB_CLOSED,   /**< full since before the newest checkpoint: recovery does not read it, collection may take it */
    SB_META,     /**< root blocks and checkpoint areas */
    SB_BAD,      /**< none of its blocks is good */
    SB_LOGGED,   /**< full, but recovery reads it until the next checkpoint, or empty with a block that became bad since
                  */
    SB_VICTIM,   /**< closed, and collection moves what it still holds */
    SB_UNMOVABLE, /**< closed, but what it holds could not be programmed elsewhere: no victim before the next power-on
                   */
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

/** Counts of valid sectors that are in the TCM: writes go on in the superblocks that they were in before. */
#define SB_COUNTS       64u
#define SB_COUNT_MARKED 0x80000000u

/**
 * Table of all superblocks, whose "pages" are sectors; collection and wear levelling choose by valid and erase counts.
 * Counts of valid sectors live in DRAM_VALID, erase counts in DRAM_TABLE, counts of pins in DRAM_PINS, times of closing
 * in DRAM_CLOSED.
 */
struct sb_table {
    /** What is newer than in DRAM_VALID: superblock `n` has its place at n % SB_COUNTS. */
    struct sb_count {
        uint32_t n; /**< SB_COUNT_MARKED: and it is marked in `changed` */
        uint32_t valid;
    } counts[SB_COUNTS];
    uint8_t state[SB_MAX];
    uint8_t changed[SB_MAX / 8]; /**< differs from the checkpointed table */
    uint32_t count;              /**< superblocks in use by this geometry */
    uint32_t pages;              /**< sectors of one */
    uint32_t used;               /**< entries [0, used) may differ from a fresh drive's */
    uint32_t free;
    uint32_t logged;   /**< SB_LOGGED */
    uint32_t bad;      /**< SB_BAD */
    uint32_t pinned;   /**< pins of all */
    uint32_t closings; /**< superblocks closed since power-on: the clock of their ages */
    uint32_t rotor;    /**< where the search for a free one goes on */
    bool emptied;      /**< some superblock may have become free */
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
/** Bring the count of superblock `n` to its place in the TCM, and mark it as changed. */
void superblock_fetch(struct sb_count *at, uint32_t n);
/** The checkpointed table is up to date. */
void superblock_unchanged(void);
/** The count of superblock `n` if it is in the TCM and marked, else NULL. */
static inline struct sb_count *superblock_count_in_tcm(uint32_t n) {
    struct sb_count *c = &sb.counts[n % SB_COUNTS];
    return c->n == (n | SB_COUNT_MARKED) ? c : NULL;
}
/** The count of valid sectors of superblock `n`, to be changed at once. */
static inline uint32_t *superblock_count(uint32_t n) {
    struct sb_count *c = &sb.counts[n % SB_COUNTS];
    if (__builtin_expect(c->n != (n | SB_COUNT_MARKED), 0)) {
        superblock_fetch(c, n);
    }
    return &c->valid;
}
/** Valid sectors of superblock `n`. */
static inline uint32_t superblock_valid(uint32_t n) {
    const struct sb_count *c = &sb.counts[n % SB_COUNTS];
    return (c->n & ~SB_COUNT_MARKED) == n ? c->valid : hal_read(DRAM_VALID + n * 4);
}
static inline void superblock_ref(uint32_t n) {
    ++*superblock_count(n);
}
static inline void superblock_unref(uint32_t n) {
    if (__builtin_expect(--*superblock_count(n) == 0, 0)) {
        superblock_emptied();
    }
}
void superblock_set_state(uint32_t n, enum sb_state state);
/** Count an erase of superblock `n`. */
void superblock_erased(uint32_t n);
/** Erases of superblock `n` so far, at most SB_TABLE_ERASES. */
uint32_t superblock_erases(uint32_t n);
/** Pins: sectors that keep their superblock from being used again although the map does not know them (yet):
 * uncommitted ones, and those that a CHANNEL_LOCAL request reads. */
uint32_t superblock_pins(uint32_t n);
void superblock_pin(uint32_t n, int32_t pages);
/** A block of superblock `n`, which holds nothing, became bad: it is not opened before the next checkpoint. */
void superblock_spoilt(uint32_t n);
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

/** The free superblock that is least worn, or most worn, and of equals the first from the rotor on. SB_NONE: none is
 * free. */
uint32_t superblock_find_free(bool worn);
/** Likewise, to open it: the rotor goes behind it. */
uint32_t superblock_pick(bool worn);

/** Erase all good blocks of `n`, several at a time; `done(ok)` runs when all have ended. One erase of this kind at a
 * time a caller. */
struct sb_erase {
    struct node node; /**< in the list of those that wait for operations */
    uint32_t sb;
    struct sb_cursor at;
    uint32_t blocks_left;
    uint32_t in_flight;
    uint32_t failures; /**< blocks that were not erased: these are bad from now on */
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
