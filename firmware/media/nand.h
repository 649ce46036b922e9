/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * NAND scheduler: descriptors with tags go to the channels' per-way FIFOs, completions come back to handlers.
 *
 * A way is numbered channel * 16 + way everywhere, which is what the top byte of a physical page address holds.
 */
#ifndef ASSASIN_FW_NAND_H
#define ASSASIN_FW_NAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/list.h"
#include "media/parts.h"
#include "platform/regs.h"

#define NAND_MAX_CHANNELS 16u
#define NAND_MAX_WAYS     16u
/** Places of a way's FIFO in the channel. */
#define NAND_WAY_DEPTH 8u
/** Descriptors of the host path and of housekeeping that can be in flight. */
#define NAND_OPS 512u
/** Largest plane address, bits, that the FTL's cursors and records hold. */
#define NAND_MAX_PLANE_BITS 4u
/** Most sectors a block: sector numbers in a block have 16 bits. */
#define NAND_MAX_PAGES 32768u
/** Most sectors of a page that the channel addresses, log2. */
#define NAND_MAX_SECTOR_LOG2 2u
/** Most bits of a sector address: what a physical page address leaves beside channel and way. */
#define NAND_ROW_BITS 24u
/** Version of what the drive puts on the medium, FLASH.LAYOUT[7:0]; a sector of another one is not read. */
#define NAND_LAYOUT_VERSION 2u
/** Seed of the scrambler, the same on all drives: a medium may move to another board. */
#define NAND_SEED 0x41535344u
/** Bytes of a sector that are data of a block. */
#define NAND_SECTOR_DATA 4096u
/** Data and metadata bytes of a codeword, and codewords of a sector (docs/medium.md). */
#define NAND_MESSAGE_BYTES 1028u
#define NAND_CODEWORDS     4u
/** Erases that a block is good for when the part does not say: MLC's data sheets state as much or more. */
#define NAND_ENDURANCE 3000u
/** Tags at and above this belong to the stream scheduler. */
#define NAND_TAG_STREAM 0x800u

/**
 * Where everything is: read from the parameter page at boot. What the firmware calls a page is a sector: one block of
 * the drive with its metadata and parity (docs/medium.md), of which a page of the part holds 1, 2 or 4. Its address is
 * row << sector_log2 | sector.
 */
struct nand_geometry {
    uint32_t channels;
    uint32_t ways;                       /**< of each channel, of which way w is at the w-th of `enables` */
    uint16_t enables[NAND_MAX_CHANNELS]; /**< chip enables in use, a bit each */
    uint32_t luns;
    uint32_t planes;
    uint32_t together;     /**< planes whose pages can be programmed together: all, or 1 */
    uint32_t blocks;       /**< blocks a plane */
    uint32_t pages;        /**< sectors a block */
    uint32_t sectors;      /**< sectors a page of the part */
    uint32_t sector_log2;  /**< log2 of it */
    uint32_t sector_bytes; /**< bytes of a sector on the bus */
    uint32_t page_bytes;   /**< main area of a page of the part */
    uint32_t spare;        /**< spare bytes of a page of the part */
    uint32_t plane_shift;  /**< sector address: first plane bit */
    uint32_t block_shift;  /**< sector address: first block bit */
    uint32_t block_mask;   /**< sector address, shifted by block_shift: the block's bits */
    uint32_t lun_shift;    /**< sector address: first LUN bit */
    uint32_t strength;     /**< code in use: which of FLASH.CODE_INFO */
    uint32_t code_t;       /**< bits that it corrects a codeword; 0: none */
    uint32_t code_parity;  /**< parity bytes a codeword */
    uint32_t erased_limit; /**< zero bits that an erased sector may have */
    uint32_t bus_cycles;   /**< bus cycles of the read of a page that is one sector */
    uint32_t bad_blocks;   /**< of a LUN, at most; 0: the part has none, and no marks of any */
    uint32_t endurance;    /**< erases that a block is good for */
    uint32_t read_us;      /**< longest page read */
    uint32_t program_us;   /**< longest page program */
    uint32_t erase_us;     /**< longest block erase */
    uint32_t clock_mhz;    /**< what the timing was worked out for */
    uint32_t retry_levels; /**< read levels beside the normal one */
    bool paired;           /**< pages share cells in pairs: a program that is cut short spoils an older page */
    uint32_t signature;    /**< CRC-16 of the parameter page, for messages */
    uint32_t id[2];        /**< what READ ID says of maker and part */
    char model[20];        /**< of the parameter page, 0 behind it */
};
extern struct nand_geometry nand_geo;

/* A physical page address is that of a sector: channel << 28 | way << 24 | row. */
static inline uint32_t ppa_way(uint32_t ppa) {
    return ppa >> 24;
}
static inline uint32_t ppa_row(uint32_t ppa) {
    return ppa & 0xffffffu;
}
/** Number of its block in its plane, which is its superblock's. */
static inline uint32_t ppa_block(uint32_t ppa) {
    return (ppa_row(ppa) >> nand_geo.block_shift) & nand_geo.block_mask;
}

struct nand_op;
/** Completion handler; `status` is a FLASH_STATUS_*. */
typedef void (*nand_done_fn)(struct nand_op *op, uint32_t status);

/** What the descriptor under way of an operation is, see retry.c. */
enum nand_retry {
    NAND_RETRY_NONE,    /**< the operation itself */
    NAND_RETRY_WAIT,    /**< none: others of the way are repeated first */
    NAND_RETRY_READ,    /**< the read again */
    NAND_RETRY_LEVEL,   /**< SET_FEATURE: another read level */
    NAND_RETRY_RESTORE, /**< SET_FEATURE: the normal level again */
};

/** One descriptor. Its index in nand_ops is its tag. */
struct nand_op {
    struct node node;
    nand_done_fn done;
    void *arg;       /**< the owner's */
    uint32_t row;    /**< W1: sector address */
    uint32_t w2;     /**< W2 */
    uint16_t bytes;  /**< W3.BYTES */
    uint8_t way;     /**< channel * 16 + way */
    uint8_t op;      /**< FLASH_OP_* */
    uint8_t confirm; /**< W3.CONFIRM: FLASH_CONFIRM_* */
    bool check;      /**< READ: data0 names the block that the sector has to hold */
    bool plain;      /**< READ: the array is read, and what that read finds counts: it is not repeated */
    uint8_t before;  /**< PROGRAM with CONFIRM_PAGE: planes of the program before its own, whose status is asked */
    uint32_t data0;  /**< OOB word 0: PROGRAM, READ with check, READ_RAW; back: CPL_DATA */
    uint32_t data1;  /**< PROGRAM: OOB word 1; back: CPL_DATA1 */
    uint32_t code;   /**< back, READ: CPL_CODE when anything was corrected or wrong, else 0 */
    uint8_t errors;  /**< back, READ: CPL.ERRORS */
    /* retry.c */
    uint8_t retry; /**< enum nand_retry */
    uint8_t attempt;
    uint8_t level;  /**< read level of the repetition */
    uint8_t status; /**< what the first read found */
    /* nand.c: a program of several planes whose status is asked plane by plane */
    uint8_t asking; /**< planes still to be asked */
};
#if UINTPTR_MAX == UINT32_MAX
_Static_assert(sizeof(struct nand_op) == 48, "there are many of them: no gaps");
#endif
extern struct nand_op nand_ops[NAND_OPS];

/** A way's FIFO as the firmware accounts for it. */
struct nand_way {
    uint8_t credit;      /**< free places */
    uint8_t turn;        /**< who goes first when both lists wait */
    uint8_t waiting;     /**< some list below is not empty */
    uint8_t open;        /**< a page is on its way that takes further sectors: nothing but these may be pushed */
    struct list ops;     /**< operations that wait for a place */
    struct list streams; /**< waiters of streams, see nand_stream_go */
    struct list retries; /**< reads that wait to be repeated, one at a time */
    bool retrying;       /**< one is repeated: it has the way's retries to itself */
    uint8_t level;       /**< read level at which a repeated read went well last; 0: none has */
    uint8_t pad[2];      /**< an entry's address is a shift */
};
#if UINTPTR_MAX == UINT32_MAX
_Static_assert(sizeof(struct nand_way) == 32, "struct nand_way size");
#endif
extern struct nand_way nand_ways[NAND_MAX_CHANNELS * NAND_MAX_WAYS];

/** Media counters since power-on. */
struct nand_counters {
    uint64_t reads;
    uint64_t programs;
    uint64_t erases;
    uint32_t read_errors; /**< reads whose sector could not be had, after all repetitions */
    uint32_t program_errors;
    uint32_t erase_errors;
    uint32_t retries; /**< repetitions of reads */
    uint32_t rescued; /**< reads that went well only when they were repeated */
    uint32_t rebuilt; /**< reads of sectors that were made of the others of their stripe */
};
extern struct nand_counters nand_counters;
/** Sectors read for streams, which nand_counters does not count, modulo 2^32; at the last nand_health_count. */
extern uint32_t nand_streamed;

/** The part that is fitted. */
extern const struct nand_part *nand_part;

/** Runs when a read was right, but a codeword needed more than 3/4 of the bits that the code corrects, or the read went
 * well only when it was repeated: the sector fades. NULL: nobody's. */
extern void (*nand_faded)(uint32_t ppa);

/** Takes over a read that ended with `status` after all repetitions, and hands it to nand_deliver later. False: it is
 * to end so. NULL: nobody's. */
extern bool (*nand_rebuild)(struct nand_op *op, uint32_t status);
/** Takes over a read that is about to be repeated, and hands it to nand_deliver or to nand_retry_start later. */
extern bool (*nand_rebuild_first)(struct nand_op *op, uint32_t status);

/** Set by completions that may let anything else than streams go on. */
extern bool nand_attention;

/** Descriptors submitted and not completed (host path and housekeeping). */
extern uint32_t nand_outstanding;

/**
 * Bring up every package: reset, identify, parameter page, data interface, timing registers.
 * @return NULL, or what is wrong with the medium.
 */
const char *nand_init(void);

/** Take a descriptor from the common pool (housekeeping), NULL when none is free. Page buffers own theirs for good. */
struct nand_op *nand_op_get(void);
/** Empty the queues and make every operation free: at boot, before any other function but nand_init, which calls it. */
void nand_queues_init(void);
void nand_op_put(struct nand_op *op);

/** Sector of which a read fails that asks for a block: it is one of a root block. */
#define NAND_NO_BLOCK 1u
/** Whether the board has the way of sector `ppa`. No descriptor may go to one that it does not have: these ways have no
 * places, so that whoever finds none looks here. */
static inline bool nand_has_way(uint32_t ppa) {
    return ppa >> 28 < nand_geo.channels && (ppa >> 24 & 15) < nand_geo.ways;
}
/** Queue a descriptor; `done` runs from nand_complete. Behind a program with FLASH_CONFIRM_MORE the page's next sector
 * is submitted at once. */
void nand_submit(struct nand_op *op);

/*
 * What an operation is: all of it but for `done` and `arg`, which stay as they are.
 */

/** The sector that `op` is about. */
static inline uint32_t nand_op_ppa(const struct nand_op *op) {
    return (uint32_t)op->way << 24 | op->row;
}

/** Read `bytes` of sector `ppa` to DRAM `to`. */
static inline void nand_read(struct nand_op *op, uint32_t ppa, uint32_t to, uint32_t bytes) {
    op->way = (uint8_t)ppa_way(ppa);
    op->op = FLASH_OP_READ;
    op->row = ppa_row(ppa);
    op->w2 = to;
    op->bytes = (uint16_t)bytes;
    op->confirm = FLASH_CONFIRM_PAGE;
    op->before = 0;
    op->check = false;
    op->plain = false;
    op->data0 = 0;
    op->data1 = 0;
}

/** Read block `lba` from sector `ppa`, which has to hold it, to DRAM `to`. */
static inline void nand_read_block(struct nand_op *op, uint32_t ppa, uint32_t lba, uint32_t to) {
    nand_read(op, ppa, to, NAND_SECTOR_DATA);
    op->check = true;
    op->data0 = lba;
}

/** Read `bytes` from byte `column` of the page of sector `ppa` on to DRAM `to`, as the medium has them. */
static inline void nand_read_raw(struct nand_op *op, uint32_t ppa, uint32_t column, uint32_t to, uint32_t bytes) {
    nand_read(op, ppa, to, bytes);
    op->op = FLASH_OP_READ_RAW;
    op->data0 = column;
}

/** Program sector `ppa` with the data at DRAM `from` and these two words of metadata. */
static inline void nand_program(struct nand_op *op, uint32_t ppa, uint32_t from, uint32_t oob0, uint32_t oob1) {
    nand_read(op, ppa, from, NAND_SECTOR_DATA);
    op->op = FLASH_OP_PROGRAM;
    op->data0 = oob0;
    op->data1 = oob1;
}

/** Erase the block of sector `ppa`. */
static inline void nand_erase(struct nand_op *op, uint32_t ppa) {
    nand_read(op, ppa, 0, 0);
    op->op = FLASH_OP_ERASE;
}

/** A program whose completion says all there is to know. */
static inline bool nand_plain_program(const struct nand_op *op) {
    return op->op == FLASH_OP_PROGRAM && op->before == 0;
}

/** Submit the program of a page that is one sector, with CONFIRM_PAGE and nothing before it. */
static inline void nand_submit_page(struct nand_op *op) {
    struct nand_way *way = &nand_ways[op->way];
    if (__builtin_expect(way->credit == 0 || !list_empty(&way->ops), 0)) {
        nand_submit(op);
        return;
    }
    nand_outstanding++;
    way->credit--;
    uint32_t base = ASSASIN_FLASH_BASE + (op->way >> 4) * ASSASIN_FLASH_STRIDE;
    hal_write(base + FLASH_OOB0, op->data0);
    hal_write(base + FLASH_OOB1, op->data1);
    hal_write(base + FLASH_W0, PLACE(FLASH_W0, OP, FLASH_OP_PROGRAM) | PLACE(FLASH_W0, WAY, op->way) |
                                   PLACE(FLASH_W0, TAG, (uint32_t)(op - nand_ops)));
    hal_write(base + FLASH_W1, op->row);
    hal_write(base + FLASH_W2, op->w2);
    hal_write(base + FLASH_W3, PLACE(FLASH_W3, BYTES, NAND_SECTOR_DATA) | PLACE(FLASH_W3, CONFIRM, FLASH_CONFIRM_PAGE));
}

/** Finish descriptor `tag` (not a stream's). `cpl` is CPL, `code` CPL_CODE when that is worth a look, else 0. */
void nand_complete(uint32_t tag, uint32_t cpl, uint32_t data0, uint32_t data1, uint32_t code);
/** Finish a plain program that went well. */
static inline void nand_programmed(struct nand_op *op) {
    nand_outstanding--;
    nand_attention = true;
    nand_counters.programs++;
    op->done(op, FLASH_STATUS_OK);
}
/** Count `op` and hand it back to its owner. */
void nand_ended(struct nand_op *op, uint32_t status);
/** Count `op` and hand it back to its owner. */
void nand_deliver(struct nand_op *op, uint32_t status);

/* ---- retry.c ---- */

/** Whether a read that ended with `status` is to be repeated. */
bool nand_retry_wanted(const struct nand_op *op, uint32_t status);
/** Repeat the read `op`, which ended with `status`. */
void nand_retry_start(struct nand_op *op, uint32_t status);
/** A descriptor of a repetition has ended. */
void nand_retry_done(struct nand_op *op, uint32_t status);

/* ---- nand.c ---- */

/** A place of `way` became free: push what waits for it. */
void nand_way_refill(struct nand_way *way);

/** The first waiter of a way's `streams`, taken off it: the way has a place. Whoever puts waiters there sets it. */
extern void (*nand_stream_go)(struct node *waiter);

/* ---- boot.c: only for boot, when nothing else runs ---- */

/** Handle every waiting completion; nand_dispatch (dispatch.h) is for later, when there are streams. */
void nand_poll(void);
/** Sleep until something has completed, and handle it. */
void nand_wait(void);
/** Likewise until `nand_outstanding` is 0. */
void nand_wait_idle(void);
/** A free operation; waits for one. */
struct nand_op *nand_op_wait(void);

/** Set DISCARD of `core` in every channel. */
void nand_discard(uint32_t core, bool on);

#endif
