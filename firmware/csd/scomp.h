/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * scomp: stream functions on the ASSASIN cores. Functions, requests, cores, results.
 */
#ifndef ASSASIN_FW_SCOMP_H
#define ASSASIN_FW_SCOMP_H

#include <stdbool.h>
#include <stdint.h>

#include "csd/schedule.h"
#include "csd/service.h"
#include "csd/session.h"
#include "ftl/buffer.h"
#include "ftl/ftl.h"
#include "platform/dram.h"
#include "platform/timer.h"

#define REFUSED(why) ((uint32_t)CSD_REFUSED | NVME_VENDOR_STATUS_##why)

/** Move `bytes` between device memory and the operation's data from its start on, then run `done` with `op` as its
 * argument. */
void csd_transfer(struct csd_op *op, uint32_t dev, uint32_t bytes, bool to_host, dma_done_fn done);

/* ---- function.c ---- */

#define FUNCTION_COPIES  12u      /**< copies that bring a function into a core, at most */
#define WIPE_COPIES      3u       /**< copies of zeros that go before them, at most */
#define FUNCTION_SCRATCH 0x20000u /**< scratch DRAM that function_parse may use, bytes */

/** One copy that brings a part of a function into a core; in DRAM, FUNCTION_COPIES for each function. */
struct function_copy {
    uint32_t src;    /**< DRAM */
    uint32_t offset; /**< XB_* offset in the core */
    uint32_t bytes;
};

struct function {
    bool valid;
    bool loading;
    bool leaving;            /**< nobody may name it any more: its place is free when nothing uses it */
    uint8_t session;         /**< that its place is given to; SESSION_NONE: the place is free */
    uint32_t used;           /**< grows with every use */
    uint32_t users;          /**< requests that name it */
    uint32_t generation;     /**< differs for every loaded function */
    uint32_t kernel;         /**< id of a kernel, which runs in a slot; 0: a program, which runs on a core */
    uint8_t inputs, scalars; /**< of a kernel */
    uint32_t entry;
    uint32_t code_copies; /**< copies [0, code_copies) go to instruction memory, the others to the scratchpad */
    uint32_t copies_count;
    uint32_t bytes;   /**< of its file */
    uint32_t scratch; /**< of FUNCTION_SCRATCH that it uses */
};
extern struct function functions[SCOMP_MAX_FUNCS];

void function_init(void);
/** Copy `n` of `f`. */
struct function_copy function_copy(const struct function *f, uint32_t n);
/** The function that session `session` names `name` (place and tag). Returns 0 or a status. */
uint32_t function_find(uint32_t session, uint32_t name, struct function **f);
/** The function of program `program`, NULL when there is none. */
struct function *function_of_program(uint32_t program);
/** A request names `f`; it does not any more. */
void function_use(struct function *f);
void function_unuse(struct function *f);
/** DRAM that the ELF of `f` is loaded to, SCOMP_MAX_ELF bytes. */
uint32_t function_memory(const struct function *f);
/** Tiles that `f` can run on: bit i is cores[i]. */
uint32_t function_tiles(const struct function *f);
/** `f` cannot be called with so many streams and bytes of arguments. */
bool function_mismatch(const struct function *f, uint32_t in, uint32_t out, uint32_t args_bytes);
/** The ELF is there, `bytes` of it: make `f` valid. Returns 0 or a SCOMP_ELF_ERROR_*. */
uint32_t function_finish(struct function *f, uint32_t bytes);

/** Check the ELF of `bytes` bytes at DRAM `elf` and fill in `f`; FUNCTION_SCRATCH bytes at DRAM `scratch` (64-byte
 * aligned) become the function's too. Returns 0 or a SCOMP_ELF_ERROR_*. */
uint32_t function_parse(struct function *f, uint32_t elf, uint32_t bytes, uint32_t scratch);

/* ---- request.c ---- */

/** Chunks under way of one request: drains of all cores and their reports. */
#define CHUNKS_PENDING 128u
/** scomp_stream.bytes of a validated input that the host feeds, high word: it is one; its piece has ended. Its first
 * two words then count the bytes of the feeds accepted. */
#define STREAM_IS_FED 0x80000000u
#define STREAM_ENDED  0x40000000u
/** With STREAM_IS_FED: all of it is in DRAM already, at the address in the entry's first word. */
#define STREAM_IN_MEMORY 0x20000000u

enum request_state { REQUEST_FREE, REQUEST_FETCH, REQUEST_ACTIVE, REQUEST_ENDED };

struct request {
    enum request_state state;
    uint32_t handle;
    uint8_t session;
    bool aborted;   /**< no further piece runs */
    bool detached;  /**< nobody will read the results */
    bool throttled; /**< results fill up: cores' reads no longer run ahead of their rings */
    uint32_t left;  /**< abreast.c: pages that the core has which is the furthest from its end */
    struct csd_op *exec;
    struct ftl_drain drain;
    bool tree;                                  /**< pieces have nodes and edges */
    bool local;                                 /**< CHANNEL_LOCAL */
    bool run;                                   /**< of csd_run: streams in DRAM, no results */
    bool hidden;                                /**< no handle names it */
    uint8_t nodes, edges;                       /**< nodes a piece: at least 1 */
    struct function *function[SCOMP_MAX_NODES]; /**< of each node; NULL until the request is valid */
    uint32_t streams_in, streams_out, s_log2;
    uint32_t pieces, next_piece, ended, failed, running, max_cores;
    uint32_t args, args_bytes;                                              /**< args: DRAM */
    uint32_t outcome, detail;                                               /**< run: ScompStatus; exit code, mcause */
    uint64_t written;                                                       /**< run: bytes of its outputs */
    uint64_t watchdog;                                                      /**< cycles */
    uint32_t data;                                                          /**< DRAM address of the request */
    uint32_t node_table, edge_table, stream_table, out_table, extent_table; /**< DRAM; 0: absent */
    /* Result ring: counters that run modulo 2^32, offset = counter % DRAM_RESULT_STRIDE. */
    uint32_t ring;
    uint32_t head;  /**< next chunk goes here */
    uint32_t ready; /**< chunks before this are complete */
    uint32_t sent;  /**< chunks before this were given to reads */
    uint32_t freed; /**< chunks before this have left */
    /* Entries of the ring, numbered modulo 2^32: made, complete, given to reads. */
    uint32_t made, complete, given;
    uint8_t recent[CHUNKS_PENDING]; /**< the newest ones, entry n at n % CHUNKS_PENDING, see result.c */
    struct list readers;
    uint32_t reads_in_flight;
};
extern struct request requests[REQUESTS];

/** Give free cores and slots pieces. */
void scomp_schedule(void);
/** Count a piece that ended with `status`: before its report becomes readable, so that the read that takes the last
 * report knows. */
void request_count_piece(struct request *r, uint32_t status);
/** The request that the host knows as `handle`, or NULL. */
struct request *request_find(uint32_t handle);
/** DRAM address of the entry of input stream `s` of piece `piece`. */
static inline uint32_t request_input(const struct request *r, uint32_t piece, uint32_t s) {
    return r->stream_table + (piece * r->streams_in + s) * (uint32_t)sizeof(struct scomp_stream);
}
static inline uint32_t request_output(const struct request *r, uint32_t piece, uint32_t s) {
    return r->out_table + (piece * r->streams_out + s) * (uint32_t)sizeof(struct scomp_stream);
}
/** log2 of the smallest number of streams that holds both. */
static inline uint32_t request_s_log2(uint32_t in, uint32_t out) {
    uint32_t n = 0;
    while ((1u << n) < in || (1u << n) < out) {
        n++;
    }
    return n;
}
/** A counted piece is done with. The request may be gone afterwards. */
void request_piece_ended(struct request *r);

/** A free request of `op`, for `session` and `handle`, in state REQUEST_FETCH; NULL when there is none. */
struct request *request_new(struct csd_op *op, uint32_t session, uint32_t handle);
/** run.c: the piece of a run has ended. */
void run_ended(struct csd_op *op, const struct request *r);
/** The check of `r` has ended, with 0 or a status and the offset of what is wrong. */
void request_checked(struct request *r, uint32_t status, uint32_t where);
/** The tables of `r` are valid: its pieces may run. */
void request_start(struct request *r);

/* ---- extent.c ---- */

#define EXTENT_BYTES ((uint32_t)sizeof(struct scomp_extent))
/** Extents of one request, at most: the table travels in one command. */
#define EXTENTS_MAX (CSD_DATA_MAX / EXTENT_BYTES)

/* Parts of the check of a request (check.h). Those that return a status answer CHECK_MORE when the slice is over: call
 * them again. */

/** Check the `count` extents of `r` one by one. Returns 0 or a status; `*where` is then the offset of the bad field. */
uint32_t extent_check(const struct request *r, uint32_t count, uint32_t *where);
/** Whether the session of `r` may not read some block of the extents [first, first + count): `*lba` is it; after
 * extent_check. */
bool extent_unreadable(const struct request *r, uint32_t first, uint32_t count, uint32_t *lba);
/** Likewise for writing, of extent `i`. */
bool extent_unwritable(const struct request *r, uint32_t i, uint32_t *lba);
/** Blocks of the extents before number `i`; after extent_check. */
uint64_t extent_blocks_before(const struct request *r, uint32_t i);
/** Extents [first, first + count) lie one behind the other on the drive, so none overlaps another; after extent_check.
 */
bool extent_in_order(const struct request *r, uint32_t first, uint32_t count);
/** Whether two of the extents [first, first + count) overlap: `*where` is then the offset of the one with the higher
 * block. Takes count * log2(count) steps. Returns 0 or a status. */
uint32_t extent_overlap(const struct request *r, uint32_t first, uint32_t count, uint32_t *where);
/** A list of extents in scratch memory, at most as many as the request has: its entry `at` is extent `i`, of `piece`.
 */
void extent_list_add(const struct request *r, uint32_t at, uint32_t i, uint32_t piece);
/** Sort the list's `count` extents. Two overlap: `*where` is the offset of the one with the higher block. Returns 0 or
 * a status. */
uint32_t extent_list_sort(const struct request *r, uint32_t count, uint32_t *where);
/** Whether extent `number` overlaps one of another piece than `piece` in the sorted list of `count`; `*any`: of any. */
bool extent_list_hits(const struct request *r, uint32_t count, uint32_t number, uint32_t piece, bool *any);

/* ---- tree.c ---- */

/** Check nodes and edges of `r`; r->node_table and edge_table are set. Returns 0 or a status; `*where` is the offset of
 * the bad field. */
uint32_t tree_check(const struct request *r, uint32_t *where);

/* ---- local.c ---- */

/** Sort the pages of a CHANNEL_LOCAL request by channel: the entries of its streams then hold the list's DRAM address
 * and the length. Returns 0 or a status. */
uint32_t local_prepare(struct request *r, uint32_t *where);
void local_release(struct request *r);

/* ---- feed.c ---- */

/** The request's tables are valid: feeds that came early are looked at. Else they are refused. */
void feed_request_valid(struct request *r, bool valid);
/** Feeds of `owner` end. */
void feed_owner_gone(uint32_t owner);
/** End `op` when it is a feed that waits. */
bool feed_cancel(const struct csd_op *op);

/* ---- result.c ---- */

void result_init(struct request *r, uint32_t index);
/** Room for a piece to start: its report can always be written. */
bool result_room(const struct request *r);
/**
 * Make a chunk for `bytes` bytes from `position` on of output `stream` of piece `piece`: writes its header and returns
 * the header's DRAM address, 0 when there is no room. `*id` names it to result_ready.
 */
uint32_t result_data(struct request *r, uint32_t piece, uint32_t stream, uint32_t bytes, uint64_t position,
                     uint32_t *id);
/** Likewise a report's chunk, which may use the room kept for reports; of `header` all but the magic number. */
uint32_t result_report(struct request *r, const struct scomp_chunk *header, uint32_t *id);
/** Zero what lies behind the `bytes` bytes of data of chunk `id`, which is not complete yet, up to the chunk's end: it
 * is somebody else's. */
void result_pad(const struct request *r, uint32_t id, uint32_t bytes);
/** The data of chunk `id` is in DRAM. */
void result_ready(struct request *r, uint32_t id);
/** Send ready chunks to waiting reads. */
void result_serve(struct request *r);
/** A read whose host memory is known lines up. */
void result_read(struct csd_op *op);
/** End `op` when it is a read of `r` that waits. */
bool result_cancel(struct request *r, struct csd_op *op);
/** End all waiting reads of `owner`, or of CSD_ALL, with `status`. */
void result_flush_readers(struct request *r, uint32_t owner, uint32_t status);
void request_free(struct request *r);

/* ---- core.c ---- */

extern uint32_t scomp_cores;
/** Cores and, behind them, slots. */
extern uint32_t scomp_tiles;

void core_init(void);
/** Handle the events of cores in `pending`. */
void core_event(uint32_t pending);
/** Timer: watchdogs and streams that wait for room. */
void core_timer(void);
/** Earliest time the timer is needed for the cores, all ones for never. */
uint64_t core_deadline(void);
/** core_deadline may answer something else now. */
extern bool core_deadline_changed;
bool core_all_free(void);
/** Results of `r` have room again: blocked cores go on. */
void core_unblock(struct request *r);
/** Stop or start running ahead for cores of `r`. */
void core_throttle(struct request *r, bool on);
/** First or last page of a stream arrived, or one of a recall, or a bad one: then of block `lba`. */
void core_page(struct stream *s, uint32_t status, uint32_t lba);
/** Tell the core where the stream ends. */
void stream_mark_end(struct stream *s);

/* ---- piece.c ---- */

void piece_init(void);
/** Start piece `number` of `r` on free cores; false when there are too few. */
bool piece_start(struct request *r, uint32_t number);
/** Tiles that nodes of `r` can run on. */
uint32_t piece_tiles(const struct request *r);
/** `r` asks for more than there is even when nothing else runs. */
bool piece_impossible(const struct request *r);
/** Stop the pieces of `r`. */
void piece_abort(struct request *r);
/** A piece of `r` that never ran ends as aborted. False while there is no room for its report. */
bool piece_never_ran(struct request *r, uint32_t number);

#endif
