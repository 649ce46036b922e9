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
    uint8_t session;              /**< that it belongs to; 0: none */
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
/** Operations of a queue that is deleted end, and sessions that are bound to it. */
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

/* ---- sessions (session.c) ---- */

/** The session with that number and secret, as the operations below want it in op->session, for a command of queue
 * `owner`; 0 when there is none. */
uint32_t csd_session(uint32_t number, const uint32_t secret[2], uint32_t owner);
/** Open a session for queue `owner`, which ends with that when `bound`. `queues` has a bit for each queue that may open
 * sessions. Returns a csd_status. */
uint32_t csd_session_open(const uint32_t secret[2], uint32_t owner, bool bound, uint32_t queues, uint32_t *number);
/** End session `session`. */
void csd_session_close(uint32_t session);
/** End the session of that number, whoever has it. Returns a csd_status. */
uint32_t csd_session_end(uint32_t number);
/** Set which blocks the session of that number may touch, 0: those that are opened from now on. Returns a csd_status.
 */
uint32_t csd_access(uint32_t number, const struct scomp_access *to);
/** Fill in what log page SESSIONS says; returns how many entries it has. */
uint32_t csd_sessions(struct scomp_session to[SCOMP_MAX_SESSIONS + 1]);

/** Lists of pages that the operations of sessions may hold together: reads and feeds hold theirs until they end. Enough
 * for all of these that may wait: one of them may wait for what another one brings. Requests and loads hold some of
 * them until they are fetched. */
#define CSD_LISTS 72u
/** Operations of sessions that can wait for something, together: further ones are refused at once. The front end has
 * room for these and for others. */
#define CSD_OPS 104u
/** Whether `op` may have a list of pages; true for what belongs to no session. */
bool csd_list_take(const struct csd_op *op);
/** The list is free again. */
void csd_list_give(const struct csd_op *op);
/** All data of `op`, which goes on, are where they are wanted: nobody looks at op->host any more. The front end sets it
 * when it starts. */
extern void (*csd_data_moved)(struct csd_op *op);

/* ---- requests ---- */

/** The session's number in a handle. */
#define CSD_HANDLE_SESSION 16u

/** Run the request of op->bytes bytes under `handle`. result[0]: pieces that failed, or the offset of what is wrong. */
bool csd_exec(struct csd_op *op, uint32_t handle);
/** Data for input `stream` of piece `piece`. result[0]: bytes taken, or SCOMP_FEED_ERROR_*. */
bool csd_feed(struct csd_op *op, uint32_t handle, uint32_t piece, uint32_t stream);
/** Results, at most op->bytes. result[0]: bytes, and bit 31 with the last ones. */
bool csd_read(struct csd_op *op, uint32_t handle);
/** Stop a request; one that has ended is forgotten. Handles belong to sessions: who may use one is known before.
 * Returns a csd_status. */
uint32_t csd_abort(uint32_t handle);

/* ---- functions ---- */

/** Load a function of op->bytes bytes. result[0]: its name, or SCOMP_ELF_ERROR_*. */
bool csd_load(struct csd_op *op);
/** Forget function `name` of a session. Returns a csd_status. */
uint32_t csd_unload(uint32_t session, uint32_t name);

/*
 * Programs of the standard's command set: the host numbers them. They belong to one session of their own.
 */

struct csd_function {
    bool valid;
    bool loading;
    bool used; /**< requests name it */
    bool kernel;
};
struct csd_function csd_function(uint32_t program);
/** Load by parts: the memory of program `program`, to be filled by `op` from now on; 0 when there is no place for it.
 */
uint32_t csd_fill(struct csd_op *op, uint32_t program);
/** The part of `op` is there, or is not. */
void csd_filled(struct csd_op *op);
/** All `bytes` are. Returns 0 or SCOMP_ELF_ERROR_*. */
uint32_t csd_fill_end(uint32_t program, uint32_t bytes);
/** The function is not what was wanted. */
void csd_invalidate(uint32_t program);
void csd_remove(uint32_t program);

/* ---- programs on memory: one piece, whose streams are ranges of DRAM ---- */

struct csd_range {
    uint32_t at, bytes; /**< DRAM */
};
struct csd_run {
    uint32_t function; /**< program */
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
/** Start it. Returns CSD_OK, and `op` ends when the program does, result: bytes of output. Else CSD_INVALID (also for a
 * limit above SCOMP_WATCHDOG_MAX_KCYCLES), or
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
