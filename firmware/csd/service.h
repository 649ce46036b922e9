/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Computational storage as a service: what a front end, which speaks to hosts, asks of functions and requests.
 */
#ifndef ASSASIN_FW_SERVICE_H
#define ASSASIN_FW_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/list.h"
#include "platform/dma.h"
#include "platform/dram.h"

/** How an operation ends. */
enum csd_status {
    CSD_OK = 0,
    CSD_INVALID,     /**< one of its numbers is out of range */
    CSD_NO_DATA,     /**< the front end could not tell where its data are */
    CSD_TRANSFER,    /**< host memory could not be read or written */
    CSD_ABORTED,     /**< by csd_abort, csd_cancel, csd_reset, or because its owner is gone */
    CSD_OWNER_GONE,  /**< its owner is gone */
    CSD_RANGE,       /**< blocks beyond the drive's end */
    CSD_WRITE_FAULT, /**< the write cache could not be written */
    CSD_FAILED,      /**< csd_run_start: the program has not ended well; result: SCOMP_STATUS_*, exit code or cause */
    CSD_REFUSED = 0x100, /**< | NVME_VENDOR_STATUS_*, which says why */
};

/** An operation: a part of the front end's command. */
struct csd_op {
    struct node node;             /**< on one list, whoever has it */
    uint8_t owner;                /**< queue that it came from */
    bool abandoned;               /**< the front end does not want its end any more: reset */
    uint32_t bytes;               /**< of its data */
    const struct dma_pages *host; /**< where these are */
    struct dma_job *job;          /**< to move them with */
    uint32_t result[2];           /**< out, with its end */
    void (*done)(struct csd_op *op, uint32_t status);
    /* The service's own. */
    void (*data)(struct csd_op *op, bool there);
    void *context;
    uint32_t value;
};

/** Most bytes of an operation's data. */
#define CSD_DATA_MAX DMA_MAX
/** Owner: every one. */
#define CSD_ALL UINT32_MAX

void csd_init(void);
/** Everything stops; what was going on ends without its data. */
void csd_reset(void);
/** Operations of a queue that is deleted end. */
void csd_owner_gone(uint32_t owner);
/** Nothing is going on. */
bool csd_idle(void);
/** End `op` when it waits for something: true when it has ended. */
bool csd_cancel(struct csd_op *op);

/*
 * csd_exec, csd_feed, csd_read and csd_load return true when the operation lives and its data are wanted: the front end
 * calls csd_data when it knows where they are, or that it cannot. They return false when it has ended. Feeds are in
 * line from that call on, and a request can be named.
 */

/** op->host is known, when `there`. */
void csd_data(struct csd_op *op, bool there);

/* ---- requests ---- */

/** Run the request of op->bytes bytes under `handle`. result[0]: pieces that failed, or the offset of what is wrong. */
bool csd_exec(struct csd_op *op, uint32_t handle);
/** Data for input `stream` of piece `piece`. result[0]: bytes taken, or SCOMP_FEED_ERROR_*. */
bool csd_feed(struct csd_op *op, uint32_t handle, uint32_t piece, uint32_t stream);
/** Results, at most op->bytes. result[0]: bytes, and bit 31 with the last ones. */
bool csd_read(struct csd_op *op, uint32_t handle);
/** Stop a request; one that has ended is forgotten. Returns a csd_status. */
uint32_t csd_abort(uint32_t handle);

/* ---- functions ---- */

/** Load a function of op->bytes bytes to `slot`, SCOMP_ANY_SLOT: to any. result[0]: its name, or SCOMP_ELF_ERROR_*. */
bool csd_load(struct csd_op *op, uint32_t slot);
/** Returns a csd_status. */
uint32_t csd_unload(uint32_t name);

struct csd_function {
    bool valid;
    bool loading;
    bool used; /**< requests name it */
    bool kernel;
};
struct csd_function csd_function(uint32_t slot);
/** Load by parts: the memory of function `slot`, to be filled from now on. */
uint32_t csd_fill(uint32_t slot);
/** A part is there, or is not. */
void csd_filled(uint32_t slot);
/** All `bytes` are. Returns 0 or SCOMP_ELF_ERROR_*. */
uint32_t csd_fill_end(uint32_t slot, uint32_t bytes);
/** The function is not what was wanted. */
void csd_invalidate(uint32_t slot);
void csd_remove(uint32_t slot);

/* ---- programs on memory: one piece, whose streams are ranges of DRAM ---- */

struct csd_range {
    uint32_t at, bytes; /**< DRAM */
};
struct csd_run {
    uint32_t function; /**< slot */
    uint32_t in, out;  /**< ranges that are input streams, and that take output streams */
    const struct csd_range *ranges;
    uint32_t args_bytes;
    uint32_t kcycles; /**< watchdog, 0: the usual */
};
/** Keep a place for a run of `op`. Returns the DRAM address where its arguments go, CSD_RUN_BEFORE bytes of the front
 * end's before it; 0 when there is none. */
uint32_t csd_run_open(struct csd_op *op);
#define CSD_RUN_BEFORE 512u
/** Give it back: `op` is the front end's again. */
void csd_run_close(struct csd_op *op);
/** Whether somebody has stopped it. */
bool csd_run_stopped(const struct csd_op *op);
/** Start it. Returns CSD_OK, and `op` ends when the program does, result: bytes of output. Else CSD_INVALID, or
 * CSD_REFUSED | NVME_VENDOR_STATUS_BAD_FUNCTION, and `op` is the front end's again. */
uint32_t csd_run_start(struct csd_op *op, const struct csd_run *run);

/* ---- counters ---- */

struct csd_counters {
    uint32_t cores, slots;
    uint64_t pages;       /**< delivered to streams */
    uint64_t media_pages; /**< of them read from flash */
    uint64_t cycles;      /**< of the processor, in steps that delivered pages */
};
struct csd_counters csd_counters(void);

#endif
