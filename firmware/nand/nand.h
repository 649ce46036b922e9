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

#include "lib/regs.h"

#define NAND_MAX_CHANNELS 16u
#define NAND_MAX_WAYS     16u
/** Places of a way's FIFO in the channel. */
#define NAND_WAY_DEPTH 8u
/** Descriptors of the host path and of housekeeping that can be in flight. */
#define NAND_OPS 512u
/** Largest plane address, bits, that the FTL's cursors and records hold. */
#define NAND_MAX_PLANE_BITS 4u
/** Most pages a block: page numbers in a block have 16 bits. */
#define NAND_MAX_PAGES 32768u
/** Most bits of a row address: three cycles, and what a physical page address leaves beside channel and way. */
#define NAND_ROW_BITS 24u
/** Bytes moved behind the drive page where a page of the part is larger than one: the OOB words. */
#define NAND_SPARE 8u
/** Tags at and above this belong to the stream scheduler. */
#define NAND_TAG_STREAM 0x800u

/**
 * Where everything is: read from the parameter page at boot. A page of the part takes one drive page (PAGE_SIZE), at
 * its start, and the spare bytes right behind; what is left of a larger page stays FFh.
 */
struct nand_geometry {
    uint32_t channels;
    uint32_t ways;
    uint32_t luns;
    uint32_t planes;
    uint32_t blocks;  /**< blocks a plane */
    uint32_t sectors; /**< sectors a page: 1, 2 or 4 */
    uint32_t sector_log2;
    uint32_t pages;       /**< sectors a block */
    uint32_t spare;       /**< spare bytes a page on the wire */
    uint32_t plane_shift; /**< row address: first plane bit */
    uint32_t block_shift; /**< row address: first block bit */
    uint32_t block_mask;  /**< row address, shifted by block_shift: the block's bits */
    uint32_t lun_shift;   /**< row address: first LUN bit */
    uint32_t bus_cycles;  /**< bus cycles of one page read */
    uint32_t program_us;  /**< longest page program */
    uint32_t erase_us;    /**< longest block erase */
    uint32_t clock_mhz;   /**< what the timing was worked out for */
    uint32_t signature;   /**< CRC-16 of the parameter page, for messages */
};
extern struct nand_geometry nand_geo;

struct nand_op;
/** Completion handler; `status` is a FLASH_STATUS_*. */
typedef void (*nand_done_fn)(struct nand_op *op, uint32_t status);

/** One descriptor. Its index in nand_ops is its tag. */
struct nand_op {
    struct nand_op *next;
    nand_done_fn done;
    void *arg;        /**< the owner's */
    uint32_t way;     /**< channel * 16 + way */
    uint32_t op;      /**< FLASH_OP_* */
    uint32_t row;     /**< W1 */
    uint32_t w2;      /**< W2 */
    uint32_t bytes;   /**< W3 */
    uint32_t data0;   /**< PROGRAM: OOB word 0; back: CPL_DATA */
    uint32_t data1;   /**< PROGRAM: OOB word 1; back: CPL_DATA1 */
    uint32_t confirm; /**< FLASH_CONFIRM_*, how the command ends */
};
extern struct nand_op nand_ops[NAND_OPS];

/** A stream waiting for a place in a way's FIFO, see stream/schedule.h. */
struct stream;

/** A way's FIFO as the firmware accounts for it. */
struct nand_way {
    uint8_t credit;  /**< free places */
    uint8_t turn;    /**< who goes first when both lists wait */
    uint8_t waiting; /**< some list below is not empty */
    uint8_t open;    /**< a page is on its way that takes further sectors: nothing but these may be pushed */
    struct nand_op *head;
    struct nand_op *tail;
    struct stream *stream_head;
    struct stream *stream_tail;
};
extern struct nand_way nand_ways[NAND_MAX_CHANNELS * NAND_MAX_WAYS];

/** Media counters since power-on. */
struct nand_counters {
    uint64_t reads;
    uint64_t programs;
    uint64_t erases;
    uint32_t read_errors;
    uint32_t program_errors;
    uint32_t erase_errors;
};
extern struct nand_counters nand_counters;

/** Set by completions that may let anything else than streams go on. */
extern bool nand_attention;

/** Descriptors submitted and not completed (host path and housekeeping). */
extern uint32_t nand_outstanding;

/**
 * Bring up every package: reset, identify, parameter page, data interface, timing registers.
 * @return NULL, or what is wrong with the medium.
 */
const char *nand_init(void);

/** Take a descriptor from the common pool (housekeeping), NULL when none is free. Page slots own theirs for good. */
struct nand_op *nand_op_get(void);
/** Empty the queues and make every operation free: at boot, before any other function but nand_init, which calls it. */
void nand_queues_init(void);
void nand_op_put(struct nand_op *op);

/** Queue a descriptor; `done` runs from nand_complete. Behind a program with FLASH_CONFIRM_MORE the page's next sector
 * is submitted at once. */
void nand_submit(struct nand_op *op);

/** Finish descriptor `tag` (not a stream's). */
void nand_complete(uint32_t tag, uint32_t status, uint32_t data0, uint32_t data1);

/** A place of `way` became free: push what waits for it. */
void nand_way_refill(struct nand_way *way);

/** Handle every waiting flash completion. Returns pages delivered to streams. */
uint32_t nand_poll(void);

/** Sleep and handle flash completions until `nand_outstanding` is 0. Only for boot, when nothing else runs. */
void nand_wait_idle(void);

/** Set DISCARD of `core` in every channel. */
void nand_discard(uint32_t core, bool on);

static inline uint32_t ppa_way(uint32_t ppa) {
    return ppa >> 24;
}
static inline uint32_t ppa_row(uint32_t ppa) {
    return ppa & 0xffffffu;
}
static inline uint32_t ppa_block(uint32_t ppa) {
    return (ppa_row(ppa) >> nand_geo.block_shift) & nand_geo.block_mask;
}

#endif
