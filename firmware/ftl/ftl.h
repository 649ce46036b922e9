/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Flash translation layer: page-mapped, log-structured over superblocks.
 *
 * A write is durable when its page is programmed: every sector carries its LPA and a sequence number, and boot rolls
 * the map forward from the last checkpoint through them. Sequence numbers follow allocation order at the host's append
 * point without gaps: sectors that a page leaves blank have theirs too. Copies keep the number of their original.
 *
 * Parts whose pages have several sectors are programmed by whole pages: writes gather until there are as many as a page
 * has sectors, or until somebody waits for them. On such parts there is a write cache: a write may be taken, that is
 * answered, when its data are in its buffer.
 */
#ifndef ASSASIN_FW_FTL_H
#define ASSASIN_FW_FTL_H

#include <stdbool.h>
#include <stdint.h>

#include "ftl/map.h"
#include "ftl/superblock.h"
#include "media/nand.h"
#include "platform/xor.h"

/** OOB word 0 of pages that hold no user data. */
#define OOB_TRIM    0xfffffffeu /**< a trim record */
#define OOB_ROOT    0xfffffffdu
#define OOB_TABLE   0xfffffffcu
#define OOB_META    0xf0000000u /**< | number of the map page */
#define OOB_DIR     0xe0000000u /**< | number of the directory page */
#define OOB_SUMMARY 0xfffffffbu /**< what the sectors before it hold (ftl/summary.h) */
#define OOB_BLANK   0xffffffffu
/** Of parity sectors, whose words are made of those of their stripe's sectors (ftl/parity.h): from this one on so many.
 */
#define OOB_PARITY       0x90000000u
#define OOB_PARITY_WORDS 0x40000000u
static inline bool oob_parity(uint32_t oob0) {
    return oob0 - OOB_PARITY < OOB_PARITY_WORDS;
}
/** | LPA: user data that the map took, or will take, by a checkpoint: recovery skips it. LPAs have 28 bits. */
#define OOB_UNCOMMITTED 0x40000000u
/** | LPA: the block is unreadable from here on, because its owner or collection says so; the sector's data say nothing.
 */
#define OOB_LOST 0x80000000u

/** Bytes of the owner's that every root record carries: as mounted, zeros on a fresh medium. */
#define FTL_OWNER_BYTES 384u
extern uint32_t ftl_owner_data[FTL_OWNER_BYTES / 4];
/** Brings ftl_owner_data up to date before a root record is made; NULL: nobody does. */
extern void (*ftl_owner_update)(void);

/** Runs when the spare superblocks may have become fewer, and when the drive becomes read-only; NULL: nobody's. */
extern void (*ftl_spare_fell)(void);

/** Results of FTL operations. FTL_READ_ONLY: the log has no room for it. */
enum ftl_status { FTL_OK = 0, FTL_MEDIA, FTL_READ_ONLY };

/** One sector to be written. */
struct ftl_write {
    struct node node;         /**< waiting list, or the program's next sector */
    struct ftl_write *chain;  /**< hash chain of writes in the FTL */
    struct ftl_write *first;  /**< of its program; of a page in a list of planes.c: the next page */
    struct nand_op *op;       /**< descriptor to use, the owner's */
    struct xor_source source; /**< of the parity of its stripe */
    uint32_t lba;
    uint32_t buffer; /**< DRAM address of the data */
    uint32_t ppa;
    uint16_t note; /**< of a page's first: for its summary (ftl/summary.h) */
    uint8_t upper; /**< pairs.c's */
    uint8_t owner; /**< parity.c's */
    union {
        struct {
            uint8_t lost;        /**< makes the block unreadable: the data at `buffer` only fill the sector */
            uint8_t uncommitted; /**< the sector stays out of the map */
            uint8_t taken;       /**< `take` has run: it is in the write cache */
            uint8_t tries;
        };
        uint32_t special; /**< 0: all of these are */
    };
    union {
        struct {
            uint8_t blocked;  /**< an older write to the same LBA is in flight */
            uint8_t gathered; /**< waits for the others of its page */
            uint8_t failed;   /**< of a program's first: some descriptor of it has failed */
            uint8_t turn;     /**< ftl_turn when it was given its page */
        };
        uint32_t state; /**< 0: all of these are */
    };
    /** The data are in the write cache: `done` still follows. NULL: the write has to be durable. */
    void (*take)(struct ftl_write *w);
    void (*done)(struct ftl_write *w, enum ftl_status status);
};
/** The one behind `w` in its list, or in its program. */
static inline struct ftl_write *ftl_write_next(const struct ftl_write *w) {
    return CONTAINER_OR_NULL(w->node.next, struct ftl_write, node);
}
/** Most writes in the cache. */
#define FTL_CACHE 128u

/** An operation that needs the log to stand still: no program in flight, none started until it ends. */
struct ftl_exclusive {
    struct node node;
    void (*run)(struct ftl_exclusive *x);
    void (*done)(struct ftl_exclusive *x, enum ftl_status status);
    bool queued;
};

/** Waits until the write cache is empty; meanwhile no write is taken. */
struct ftl_drain {
    struct node node;
    void (*done)(struct ftl_drain *d, enum ftl_status status);
};

struct ftl_trim;

struct ftl_state {
    uint32_t lbas;       /**< capacity; 0: the medium is not usable */
    const char *fault;   /**< why it is not usable */
    uint32_t seq;        /**< of the next sector allocated at the host's append point */
    uint32_t in_turn[2]; /**< user pages in programming, of this turn and of the one before */
    uint8_t turn;
    uint32_t gathered;  /**< writes of the next page, as many as its sectors at most */
    uint32_t coming;    /**< writes announced: their data are on the way to their buffers */
    uint32_t cached;    /**< writes in the cache */
    bool cache_off;     /**< the host wants none */
    bool lost;          /**< a write of the cache could not be programmed: the next drain says so */
    bool clean;         /**< the newest root says that nothing was written since */
    bool changed;       /**< something was written since the last checkpoint */
    bool unclean;       /**< the medium was not shut down cleanly before this power-on */
    uint32_t replayed;  /**< sectors that the mount found in the log behind the checkpoint */
    bool owner_changed; /**< ftl_owner_data is worth a root record of its own */
    bool reclaim;       /**< a checkpoint is on its way because no superblock is free */
    bool hurry;         /**< a checkpoint is wanted soon: for a dead die, or because the mount wrote none */
    bool unlogged;     /**< the map has changes of which only the next checkpoint tells: nothing is erased until then */
    uint32_t failures; /**< checkpoints and root records that failed since a checkpoint succeeded */
    bool read_only;    /**< checkpoints fail: nothing is written until one succeeds */
    uint32_t log_start;  /**< sequence number that recovery would read on from */
    uint32_t log_due;    /**< sequence number at which to see whether a checkpoint is due */
    uint32_t log_trims;  /**< what recovery would do for trims since then, in pages */
    uint32_t log_copies; /**< sectors that collection has moved since then */
    uint32_t log_gap;    /**< sequence numbers since then of sectors that a mount found unused */
    void (*slice)(void); /**< what the running exclusive operation does in slices: ftl_slices sets it */
};
extern struct ftl_state ftl;

/** User pages in programming. */
static inline uint32_t ftl_in_flight(void) {
    return ftl.in_turn[0] + ftl.in_turn[1];
}

/** Checkpoints or root records that fail in a row before nothing is written any more: the log could not be kept short.
 */
#define FTL_FAILURES 3u

/** Fewest sectors of log between two checkpoints that nobody asked for: on the smallest drive, and on those whose log
 * may be many times as long. A checkpoint takes the processor as long as a hundred pages of the host's, however little
 * it writes. */
#define FTL_LOG_LEAST       4096u
#define FTL_LOG_LEAST_LARGE 8192u
/** Pages of log for each page of the map that the checkpoint writes: its programs are at most an eighth of the log's,
 * and few more. */
#define FTL_LOG_PER_MAP 8u
/** Most blocks that a record trims: recovery has to do it all again. Beyond, a checkpoint takes the record's place. */
#define FTL_TRIM_LOGGED 65536u
/** Blocks that recovery trims in the time that it takes for a page of the log. */
#define FTL_TRIM_PER_PAGE 32u
/** Seconds between a checkpoint and the next one that nobody asked for, if anything was written since. */
#define FTL_LOG_AGE 300u
/** How far the log may go beyond where a checkpoint is due: the last trim, and what was in flight. */
#define FTL_LOG_BEYOND (FTL_TRIM_LOGGED / FTL_TRIM_PER_PAGE + 1024u)

/** What a mount and a shutdown take at most, from the medium's size, its times and the clock (ftl/bounds.c). */
struct ftl_bounds {
    uint32_t log_least;   /**< sectors of log before a checkpoint that nobody asked for */
    uint32_t log_most;    /**< pages of log at which a checkpoint is due, whatever it costs */
    uint32_t mount_ms;    /**< from power-on to ready */
    uint32_t shutdown_ms; /**< a checkpoint of everything */
};
extern struct ftl_bounds ftl_bounds;

/** Per cent of the sectors beyond what the log needs to go on that a format keeps back, unless it is told otherwise,
 * and what it can be told. */
#define FTL_SPARE       7u
#define FTL_SPARE_LEAST 2u
#define FTL_SPARE_MOST  90u
/** Whether a format gives the medium parity over dies; usual: by how many there are. */
enum ftl_parity { FTL_PARITY_USUAL = 0, FTL_PARITY_ON, FTL_PARITY_OFF };
/** Mount or format the medium (boot only), a new one with this spare share, 0: FTL_SPARE, and this parity. On return
 * ftl.lbas or ftl.fault says how it went. */
void ftl_init(bool format, uint32_t spare_per_cent, enum ftl_parity parity);

/**
 * Start a write, which ftl_announce has announced, `special` 0 but for `lost`; `done` runs once it is on the medium and
 * mapped. The descriptor has FLASH_CONFIRM_PAGE again then.
 */
void ftl_write(struct ftl_write *w);
/** A write, committed or not, will follow when its data are in its buffer: pages wait for it rather than go out half
 * full.
 */
static inline void ftl_announce(void) {
    ftl.coming++;
}
/** One of them does not follow. */
void ftl_withdraw(void);

/** Whether the drive has a write cache, be it off. */
static inline bool ftl_has_cache(void) {
    return nand_geo.sectors > 1;
}
/** Whether the sector that `op` has read is not the one that holds block `lba` any more: it may have been erased before
 * the read. A read that was to be of a way that is not there was of MAP_LOST. */
static inline bool ftl_moved(const struct nand_op *op, uint32_t lba) {
    return nand_op_ppa(op) != MAP_LOST && map_get(lba) != nand_op_ppa(op);
}
/** The newest write of `lba` in the cache, or NULL. Only while ftl.cached is not 0. */
struct ftl_write *ftl_cached(uint32_t lba);
/** Run `done` when everything in the cache now is durable: FTL_MEDIA when something of it, now or since the last drain,
 * was lost or cannot be written. */
void ftl_drain(struct ftl_drain *d);
/** Power goes, and the cache could not be emptied: say so of each write in it, and count it. */
void ftl_cache_lost(void);

/**
 * Start a write of an uncommitted page, announced likewise: it is programmed, as w->ppa then, and its superblock
 * pinned, but it is mapped only by ftl_commit. Order among writes to one LBA does not matter.
 */
void ftl_write_uncommitted(struct ftl_write *w);

/** Queue an exclusive operation. */
void ftl_exclusive(struct ftl_exclusive *x);
/** The running exclusive operation has ended. */
void ftl_exclusive_end(struct ftl_exclusive *x, enum ftl_status status);

/**
 * A trim: unmaps ranges durably. The owner puts `count` ranges (first LBA, blocks: two words each, within capacity) at
 * DRAM_TRIM + 8 from trim.prepare, which runs when the record buffer is the owner's.
 */
struct ftl_trim {
    struct ftl_exclusive x;
    void (*prepare)(struct ftl_trim *t);
    uint32_t count;
    uint32_t range, lba, left; /**< progress */
    struct nand_op *op;
    uint16_t note; /**< of the record, for its summary */
    uint8_t tries;
    bool unlogged; /**< no record was written: a checkpoint follows */
    bool
        erase; /**< erase all blocks that may hold user data: the ranges are the whole drive. FTL_MEDIA: not all were */
};
#define FTL_TRIM_RANGES 256u
void ftl_trim(struct ftl_trim *t);
/** How much of the erase that is under way, or was last, is done, of 65,536; and blocks that could not be erased, which
 * may hold user data. */
uint32_t ftl_erase_progress(void);
/** The trim that erases, queued or under way, ends soon, with FTL_MEDIA, unless it is about to end. */
void ftl_erase_stop(void);
uint32_t ftl_erase_failures(void);

/**
 * Map uncommitted pages, all or none of them also after a power loss, or give them up. The list in DRAM has `count`
 * entries of two words: LBA, and page (0: none). Done with FTL_OK when it is durable; else the map is as it was.
 */
struct ftl_commit {
    struct ftl_exclusive x;
    struct ftl_commit *batch; /**< shares this one's checkpoint */
    uint32_t list;
    uint32_t count;
    uint32_t at; /**< progress */
};
void ftl_commit(struct ftl_commit *l);
/** Pins are of this power-on only: giving pages up waits for nothing. */
void ftl_discard(struct ftl_commit *l);
/** Whether one of them is under way. */
bool ftl_discarding(void);

/** Checkpoint the map. `clean` also marks the medium cleanly shut down: the log stands still for that; else writes go
 * on. */
struct ftl_checkpoint {
    struct ftl_exclusive x;
    bool clean;
};
void ftl_checkpoint(struct ftl_checkpoint *c);

/** Per cent of the spare superblocks below which they are said to be few. */
#define FTL_SPARE_THRESHOLD 25u
/** Erases of a block of the log on average, per cent of what the part is good for; 255 at most. */
uint32_t ftl_used(void);
/** The first page of metadata from number `*n` on: its address, and what it has as OOB word 0; `*n` is the number
 * behind it then. 0: there is none. A page that is written again has the same number. */
uint32_t ftl_metadata(uint32_t *n, uint32_t *tag);
/** Good sectors beyond those that it takes to write, per cent of what the drive was formatted with. */
uint32_t ftl_spare(void);
/** Good sectors of the log that can hold data. */
extern uint32_t room_data;
/** So many of them the write cache leaves free: what it holds has to find room when further blocks go bad. */
extern uint32_t room_margin;
/** So many blocks have gone bad that what is in use fills the others. */
static inline bool ftl_spent(void) {
    return map.mapped > room_data;
}
/** Writes are refused: the drive is spent, or checkpoints fail. */
static inline bool ftl_read_only(void) {
    return ftl.read_only || ftl_spent();
}

/** Whether the log's age is counted: it is from the first sleep on behind a change. A drive of which nothing has
 * changed waits for no time. */
extern bool ftl_log_watched;
/** Count it, or no longer: `ftl.changed` is other than ftl_log_watched. */
void ftl_log_watch(void);
/** When the log is to be looked at because of its age; TIMER_NEVER: it is not counted. */
uint64_t ftl_log_old_at(void);
/** Time has passed: a log that is old enough calls for a checkpoint, whether the drive is idle or not. */
void ftl_log_age(void);
/** WORK_FTL: a slice of long work. WORK_TRIM: try again. */
void ftl_poll(void);
void ftl_trim_poll(void);
/** WORK_CHECKPOINT: a slice of a checkpoint beside which writes go on. */
void checkpoint_poll(void);
/** WORK_DISCARD: a slice of lists of pages that are given up. */
void ftl_discard_poll(void);

/* ---- between the FTL's own files ---- */

/** Take the next page of the host's append point: its first sector, whose sequence number is `*seq`. 0: none is ready.
 */
uint32_t ftl_page(uint32_t *seq);
void exclusive_init(void);
/** Start the next exclusive operation if that may be. */
void exclusive_next(void);
/** Exclusive operations that wait, the one that runs, and whether a checkpoint runs beside which writes go on. */
struct exclusive_state {
    struct list waiting;
    struct ftl_exclusive *running;
    bool live;
};
extern struct exclusive_state exclusive;
/** An exclusive operation runs or waits. */
static inline bool ftl_paused(void) {
    return exclusive.running != NULL || (!list_empty(&exclusive.waiting) && !exclusive.live);
}
/** The one that runs. */
struct ftl_exclusive *ftl_running(void);
/** Collection has nothing on its way any more: what waited for that may go on. */
void ftl_settled(void);
/** Whether what recovery would have to go through calls for a checkpoint. */
bool ftl_log_due(void);
/** It has grown so much since then that writes wait for the checkpoint. */
bool ftl_log_full(void);
/** From now on writes are of another turn; and those of the turn before, in programming. */
void ftl_turn(void);
uint32_t ftl_turn_left(void);
/** The checkpoint beside which writes go on has ended. */
void ftl_live_end(enum ftl_status status);
/** What has to be on the medium before pages are programmed: a record that it is in use, or a checkpoint that is due.
 */
void ftl_prepare_pages(void);
/** Checkpoint, so that superblocks that recovery reads can be collected. */
void ftl_reclaim(void);
void trim_init(void);
void ftl_trim_run(struct ftl_exclusive *x);

/** Do `slice` again and again from the main loop; NULL: no more. */
void ftl_slices(void (*slice)(void));
/** Superblocks that the log has to have beyond those that hold the capacity. */
uint32_t room_reserve_superblocks(void);
/** Count room_data. */
void room_count(void);
/** After the mount. */
void room_init(void);
/** The last free superblocks are for copies: without them none would ever come back. */
#define ROOM_COPIES 2u
/** Superblocks that collection keeps free. */
extern uint32_t room_wanted;
/** So many superblocks belong to the log that a checkpoint is due. */
bool room_log_long(void);
/** A block went bad. */
void room_changed(void);
/** Whether there is room for one more uncommitted page. */
bool room_uncommitted(void);
/** Start writes that waited. */
void ftl_kick(void);
/** Take the next exclusive operation from the queue when it is one of `run`'s; else NULL. */
struct ftl_exclusive *ftl_exclusive_join(void (*run)(struct ftl_exclusive *x));
/** From the `done` of what checkpoint_start was given: `x` runs on. */
void ftl_exclusive_resume(struct ftl_exclusive *x);
void commit_run(struct ftl_exclusive *x);
void commit_init(void);
/** On behalf of the running exclusive operation `x`, which has emptied the map and ends with it: erase everything. */
void erase_start(struct ftl_exclusive *x);
/** Such an operation is queued: from now on it can be stopped. */
void erase_announce(void);
void bounds_init(void);
/** Root blocks and areas. */
void checkpoint_layout(void);
void checkpoint_init(void);
/** Make the areas as large as they have to be beside their bad blocks. NULL, or why that cannot be. */
const char *checkpoint_areas_fit(void);
/** Superblocks from this one on hold the log. */
uint32_t checkpoint_meta_superblocks(void);
/** Read the marks of blocks that came bad, and list these. NULL, or why the medium is of no use. */
const char *marks_read(void);
/** Whether the block at `ppa` came bad, by its marks. */
bool marks_block(uint32_t ppa);
void checkpoint_run(struct ftl_exclusive *x);
/** Checkpoint on behalf of the running exclusive operation `x`, which ends with it. */
void checkpoint_start(struct ftl_exclusive *x, bool clean);
void checkpoint_mark_dirty_run(struct ftl_exclusive *x);
/** Checkpoint while writes go on, on behalf of `x`. */
void checkpoint_live(struct ftl_exclusive *x);
/** Such a one waits until collection has nothing on its way, and for writes: those that were in programming when it
 * began. */
bool checkpoint_waits(void);
/** Some of that has ended. */
void checkpoint_look(void);
/** Whether the next checkpoint writes more than a root record. */
bool checkpoint_writes_pages(void);
/** A checkpoint is durable: recovery starts there. So many pages of trims and copies lie before it. */
void ftl_log_restart(uint32_t trims, uint32_t copies);
/** Wait (boot only) until `*flag` is false, handling flash completions. */
void ftl_boot_wait(const volatile bool *flag);
/** CRC-32C of the ranges of the trim record in DRAM_TRIM, and where the record has it. */
uint32_t ftl_trim_crc(void);
#define FTL_TRIM_CRC_AT (PAGE_SIZE - 4u)
/** Load the newest root and roll forward. NULL, or what is wrong. `*blank` when there is no root and the root blocks
 * are erased. */
const char *recover_mount(bool *blank);
/** Superblock `i` of those whose last pages may be weakly programmed; SB_NONE behind the last. */
uint32_t recover_weak(uint32_t i);
/** Most of these. Of each at most so many copies before the log's end are looked at, as never more than a few dozen are
 * in programming; of a copy it, its original, and what lies behind that are read. */
#define RECOVER_WEAK       (2 * APPEND_POINTS + 12u)
#define RECOVER_COPIES     512u
#define RECOVER_COPY_READS 3u
#define RECOVER_WEAK_READS (RECOVER_WEAK * RECOVER_COPIES * RECOVER_COPY_READS)
/** Write the first root of an empty medium. */
const char *checkpoint_format(void);

#endif
