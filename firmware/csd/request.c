/* SPDX-License-Identifier: BSD-3-Clause */
/* scomp requests: validation, pieces in order over the free cores, abort. */
#include <string.h>

#include "csd/scomp.h"

#define READ_MIN     8192u
#define REQUEST_MAX  CSD_DATA_MAX
#define STREAM_BYTES ((uint32_t)sizeof(struct scomp_stream))
/** Extents that the inputs of a request with outputs under logical blocks may name. */
#define INPUTS_BESIDE_OUTPUTS 65536u
#define OFFSET(field)         ((uint32_t)offsetof(struct scomp_request, field))

struct request requests[REQUESTS];
void (*csd_data_moved)(struct csd_op *op);

/** Request that scomp_schedule looks at first: pieces start in the order of their requests. */
static uint32_t order[REQUESTS];
static uint32_t order_count;

void csd_init(void) {
    memset(requests, 0, sizeof requests);
    order_count = 0;
    session_init();
    function_init();
    core_init();
}

struct request *request_find(uint32_t handle) {
    for (uint32_t i = 0; i < REQUESTS; i++) {
        if (requests[i].state != REQUEST_FREE && !requests[i].detached && !requests[i].hidden &&
            requests[i].handle == handle) {
            return &requests[i];
        }
    }
    return NULL;
}

void request_free(struct request *r) {
    result_flush_readers(r, CSD_ALL, REFUSED(BAD_HANDLE));
    for (uint32_t n = 0; n < SCOMP_MAX_NODES && r->function[n] != NULL; n++) {
        function_unuse(r->function[n]);
        r->function[n] = NULL;
    }
    local_release(r);
    uint32_t index = (uint32_t)(r - requests);
    for (uint32_t i = 0; i < order_count; i++) {
        if (order[i] == index) {
            order_count--;
            memmove(&order[i], &order[i + 1], (order_count - i) * sizeof order[0]);
            break;
        }
    }
    r->state = REQUEST_FREE;
    session_give(r->session, SHARE_REQUEST);
}

/** Free a request that nobody can read any more, once nothing of it is in flight. */
static void settle(struct request *r) {
    if (r->state == REQUEST_ENDED && r->detached && r->reads_in_flight == 0) {
        request_free(r);
    }
}

static void ended(struct request *r) {
    r->state = REQUEST_ENDED;
    struct csd_op *exec = r->exec;
    r->exec = NULL;
    if (exec != NULL && r->run) {
        run_ended(exec, r);
    } else if (exec != NULL) {
        exec->result[0] = r->failed;
        exec->done(exec, CSD_OK);
    }
    settle(r);
}

void request_count_piece(struct request *r, uint32_t status) {
    r->ended++;
    r->failed += status != SCOMP_STATUS_OK;
}

void request_piece_ended(struct request *r) {
    if (r->ended == r->pieces) {
        ended(r);
    }
}

/* ---- validation ---- */

static uint32_t field(const struct request *r, uint32_t offset) {
    return hal_read(r->data + offset);
}

static uint64_t field64(uint32_t addr) {
    return hal_read(addr) | (uint64_t)hal_read(addr + 4) << 32;
}

#define BAD REFUSED(BAD_REQUEST)
#define REFUSE(condition, at)                                                                                          \
    if (condition) {                                                                                                   \
        *where = (at);                                                                                                 \
        return BAD;                                                                                                    \
    }

/** Check the head of the request and find its parts. */
static uint32_t validate_head(struct request *r, uint32_t bytes, uint32_t *flags, uint32_t *where) {
    uint32_t w4 = field(r, 4);
    uint32_t w8 = field(r, 8);
    uint32_t version = w4 & 0xffffu;
    uint32_t in = w8 & 0xffu;
    uint32_t out = w8 >> 8 & 0xffu;
    uint32_t s_log2 = w8 >> 16 & 0xffu;
    uint32_t w36 = field(r, OFFSET(nodes));
    uint32_t nodes = w36 & 0xffu;
    uint32_t edges = w36 >> 8 & 0xffu;
    uint32_t extents = field(r, OFFSET(extents));
    r->pieces = field(r, OFFSET(pieces));
    r->args_bytes = field(r, OFFSET(args_bytes));
    r->max_cores = field(r, OFFSET(max_cores));
    *flags = field(r, OFFSET(flags));
    REFUSE(field(r, 0) != SCOMP_MAGIC, OFFSET(magic));
    REFUSE(version == 0 || version > SCOMP_VERSION, OFFSET(version));
    REFUSE(in == 0 || in > SCOMP_MAX_STREAMS, OFFSET(streams_in));
    REFUSE(out > SCOMP_MAX_STREAMS, OFFSET(streams_out));
    REFUSE(s_log2 != 0xff && (nodes != 0 || s_log2 > 3 || s_log2 < request_s_log2(in, out)), OFFSET(s_log2));
    REFUSE(w8 >> 24 != 0, OFFSET(reserved0));
    REFUSE((*flags & ~(uint32_t)(SCOMP_FLAG_OUT_TABLE | SCOMP_FLAG_CHANNEL_LOCAL)) != 0 ||
               (version == 1 && *flags != 0),
           OFFSET(flags));
    REFUSE(r->pieces == 0 || r->pieces > SCOMP_MAX_PIECES, OFFSET(pieces));
    REFUSE(extents > EXTENTS_MAX || (version == 1 && extents == 0), OFFSET(extents));
    REFUSE(r->args_bytes > SCOMP_MAX_ARGS, OFFSET(args_bytes));
    REFUSE(nodes > SCOMP_MAX_NODES || nodes > scomp_tiles || (version == 1 && nodes != 0), OFFSET(nodes));
    REFUSE((edges != 0) != (nodes != 0), OFFSET(edges));
    REFUSE(r->max_cores != 0 && r->max_cores < nodes, OFFSET(max_cores));
    REFUSE(field(r, OFFSET(watchdog_kcycles)) > SCOMP_WATCHDOG_MAX_KCYCLES, OFFSET(watchdog_kcycles));
    REFUSE(w36 >> 16 != 0, OFFSET(reserved2));
    for (uint32_t i = 0; i < 6; i++) {
        REFUSE(field(r, OFFSET(reserved1) + i * 4) != 0, OFFSET(reserved1) + i * 4);
    }
    REFUSE(nodes != 0 && w4 >> 16 != 0, OFFSET(func));
    bool local = (*flags & SCOMP_FLAG_CHANNEL_LOCAL) != 0;
    REFUSE(local && (nodes != 0 || scomp_cores != nand_geo.channels), OFFSET(flags));
    REFUSE(local && r->pieces != scomp_cores, OFFSET(pieces));

    /* All parts are bounded above, so none of these sums overflow. */
    uint32_t at = (uint32_t)sizeof(struct scomp_request) + ((r->args_bytes + 7) & ~7u);
    r->node_table = r->data + at;
    at += nodes * (uint32_t)sizeof(struct scomp_node);
    r->edge_table = r->data + at;
    at += (edges * (uint32_t)sizeof(struct scomp_edge) + 7) & ~7u;
    REFUSE(at > bytes, OFFSET(edges));
    r->stream_table = r->data + at;
    at += r->pieces * in * STREAM_BYTES;
    r->out_table = (*flags & SCOMP_FLAG_OUT_TABLE) != 0 ? r->data + at : 0;
    at += r->out_table != 0 ? r->pieces * out * STREAM_BYTES : 0;
    REFUSE(at > bytes, OFFSET(pieces));
    r->extent_table = r->data + at;
    REFUSE(at + extents * EXTENT_BYTES != bytes, OFFSET(extents));
    r->streams_in = in;
    r->streams_out = out;
    r->s_log2 = s_log2 == 0xff ? request_s_log2(in, out) : s_log2;
    r->tree = nodes != 0;
    r->nodes = (uint8_t)(nodes != 0 ? nodes : 1);
    r->edges = (uint8_t)edges;
    return 0;
}

/** The session may not do `right` with block `lba`: what the request's end says. Returns a status. */
static uint32_t no_access(const struct request *r, uint32_t lba, uint32_t right, uint32_t *where) {
    *where = lba;
    r->exec->result[1] = right;
    return REFUSED(NO_ACCESS);
}

/** Whether the stream entry at `at` names the same extents as the one `before` bytes earlier. */
static bool same_extents(uint32_t at, uint32_t before) {
    return hal_read(at - before) == hal_read(at) && hal_read(at - before + 4) == hal_read(at + 4);
}

/** Check the input streams. Every extent and every stream is looked at once, whatever they say about each other. */
static uint32_t validate_inputs(struct request *r, uint32_t flags, uint32_t *where) {
    uint32_t extents = field(r, OFFSET(extents));
    bool fed = field(r, 4) << 16 != 1u << 16;
    bool local = (flags & SCOMP_FLAG_CHANNEL_LOCAL) != 0;
    uint32_t stride = r->streams_in * STREAM_BYTES;
    uint32_t sorted = 0;
    for (uint32_t i = 0; i < r->pieces * r->streams_in; i++) {
        uint32_t at = r->stream_table + i * STREAM_BYTES;
        uint32_t first = hal_read(at);
        uint32_t count = hal_read(at + 4);
        uint64_t length = field64(at + 8);
        if (count == 0 && fed && !local) {
            REFUSE(first != 0, at - r->data);
            REFUSE(length >> PAGE_LOG2 > UINT32_MAX / 2, at - r->data + 8);
            hal_write(at + 12, (uint32_t)(length >> 32) | STREAM_IS_FED);
            continue;
        }
        REFUSE(first >= extents, at - r->data);
        REFUSE(count == 0 || count > extents - first, at - r->data + 4);
        uint64_t before = extent_blocks_before(r, first);
        uint64_t most = extent_blocks_before(r, first + count) - before;
        uint64_t least = extent_blocks_before(r, first + count - 1) - before;
        REFUSE(length > most << PAGE_LOG2 || length <= least << PAGE_LOG2 || most > UINT32_MAX / 2, at - r->data + 8);
        /* Pieces often share a table: one look at it is enough. */
        REFUSE(!local && FIELD(SYS_CONFIG2, CHANNEL_LOCAL, sys_read(SYS_CONFIG2)) != 0, OFFSET(flags));
        bool seen = i >= r->streams_in && same_extents(at, stride);
        uint32_t lba;
        if (!seen && extent_unreadable(r, first, count, &lba)) {
            return no_access(r, lba, SCOMP_ACCESS_READ, where);
        }
        REFUSE(local && i >= r->streams_in && !(seen && field64(at + 8) == field64(at - stride + 8)), at - r->data);
        if (!seen && !extent_in_order(r, first, count)) {
            sorted += count;
            REFUSE(sorted > EXTENTS_MAX, at - r->data + 4);
            if (extent_overlap(r, first, count, where)) {
                return REFUSED(OVERLAP);
            }
        }
    }
    return 0;
}

/** The outputs of `r` under logical blocks, `outputs` extents listed and sorted, and its inputs: only a piece's own may
 * overlap. */
static uint32_t validate_overlap(const struct request *r, uint32_t outputs, uint32_t *where) {
    uint32_t looked = 0;
    bool any[SCOMP_MAX_STREAMS] = {false};
    for (uint32_t i = 0; i < r->pieces * r->streams_in; i++) {
        uint32_t s = i % r->streams_in;
        uint32_t at = r->stream_table + i * STREAM_BYTES;
        uint32_t first = hal_read(at);
        uint32_t count = hal_read(at + 4);
        bool is_fed = (hal_read(at + 12) & STREAM_IS_FED) != 0;
        if (is_fed || (i >= r->streams_in && !any[s] && same_extents(at, r->streams_in * STREAM_BYTES))) {
            continue;
        }
        any[s] = false;
        looked += count;
        REFUSE(looked > INPUTS_BESIDE_OUTPUTS, at - r->data + 4);
        for (uint32_t n = first; n < first + count; n++) {
            if (extent_list_hits(r, outputs, n, i / r->streams_in, &any[s])) {
                *where = r->extent_table + n * EXTENT_BYTES - r->data;
                return REFUSED(OVERLAP);
            }
        }
    }
    return 0;
}

/** Check the output streams. */
static uint32_t validate_outputs(const struct request *r, uint32_t *where) {
    uint32_t extents = field(r, OFFSET(extents));
    uint32_t listed = 0;
    uint64_t blocks = 0;
    for (uint32_t i = 0; r->out_table != 0 && i < r->pieces * r->streams_out; i++) {
        uint32_t at = r->out_table + i * STREAM_BYTES;
        uint32_t first = hal_read(at);
        uint32_t count = hal_read(at + 4);
        REFUSE(field64(at + 8) != 0, at - r->data + 8);
        REFUSE(count == 0 ? first != 0 : first >= extents, at - r->data);
        blocks = i % r->streams_out == 0 ? 0 : blocks;
        if (count == 0) {
            continue;
        }
        REFUSE(count > extents - first, at - r->data + 4);
        blocks += extent_blocks_before(r, first + count) - extent_blocks_before(r, first);
        REFUSE(blocks > SCOMP_MAX_OUT_BLOCKS, at - r->data + 4);
        if (count > extents - listed) {
            /* More extents than there are: some are named twice. */
            *where = r->extent_table + first * EXTENT_BYTES - r->data;
            return REFUSED(OVERLAP);
        }
        uint32_t lba;
        if (extent_unwritable(r, first, count, &lba)) {
            return no_access(r, lba, SCOMP_ACCESS_WRITE, where);
        }
        extent_list_add(r, listed, first, count, i / r->streams_out);
        listed += count;
    }
    if (listed == 0) {
        return 0;
    }
    if (extent_list_sort(r, listed, where)) {
        return REFUSED(OVERLAP);
    }
    return validate_overlap(r, listed, where);
}

/**
 * Check everything in the request. Returns 0 or a status; `*where` is then the byte offset of the offending field.
 */
static uint32_t validate(struct request *r, uint32_t bytes, uint32_t *where) {
    uint32_t flags = 0;
    uint32_t status = validate_head(r, bytes, &flags, where);
    if (status == 0 && r->tree) {
        status = tree_check(r, where);
    }
    if (status == 0) {
        status = extent_check(r, field(r, OFFSET(extents)), where);
    }
    if (status == 0) {
        status = validate_inputs(r, flags, where);
    }
    if (status == 0) {
        status = validate_outputs(r, where);
    }
    if (status != 0) {
        return status;
    }
    uint32_t func = field(r, 4) >> 16;
    struct function *f;
    status = r->tree ? 0 : function_find(r->session, func, &f);
    if (status != 0) {
        *where = OFFSET(func);
        return status;
    }
    if ((flags & SCOMP_FLAG_CHANNEL_LOCAL) != 0) {
        status = local_prepare(r, where);
        if (status != 0) {
            return status;
        }
    }
    bool mismatch = false;
    for (uint32_t n = 0; n < r->nodes; n++) {
        uint32_t in = r->streams_in, out = r->streams_out, args_bytes = r->args_bytes;
        if (r->tree) {
            uint32_t at = r->node_table + n * (uint32_t)sizeof(struct scomp_node);
            uint32_t w = hal_read(at);
            func = w & 0xffffu;
            in = w >> 16 & 0xffu;
            out = w >> 24;
            args_bytes = hal_read(at + 12);
        }
        /* Nothing was loaded since it was found. */
        function_find(r->session, func, &f);
        r->function[n] = f;
        function_use(f);
        if (!mismatch && function_mismatch(r->function[n], in, out, args_bytes)) {
            mismatch = true;
            *where = r->tree ? r->node_table + n * (uint32_t)sizeof(struct scomp_node) - r->data
                     : args_bytes != r->function[n]->scalars * 4u ? OFFSET(args_bytes)
                                                                  : OFFSET(streams_in);
        }
    }
    if (mismatch) {
        return REFUSED(BAD_REQUEST);
    }
    if (piece_impossible(r)) {
        *where = OFFSET(nodes);
        return REFUSED(BAD_REQUEST);
    }
    uint32_t kcycles = field(r, OFFSET(watchdog_kcycles));
    r->watchdog = (uint64_t)(kcycles != 0 ? kcycles : SCOMP_WATCHDOG_KCYCLES) * 1000u;
    return 0;
}
#undef REFUSE
#undef BAD

/* ---- execute ---- */

void csd_transfer(struct csd_op *op, uint32_t dev, uint32_t bytes, bool to_host, dma_done_fn done) {
    *op->job = (struct dma_job){
        .pages = op->host, .off = 0, .dev = dev, .left = bytes, .to_host = to_host, .done = done, .arg = op};
    dma_submit(op->job);
}

void csd_data(struct csd_op *op, bool there) {
    op->data(op, there);
}

static void exec_refuse(struct request *r, uint32_t status, uint32_t where) {
    struct csd_op *op = r->exec;
    r->exec = NULL;
    feed_request_valid(r, false);
    request_free(r);
    op->result[0] = where;
    op->done(op, status);
}

static void exec_fetched(struct dma_job *job) {
    struct csd_op *op = job->arg;
    struct request *r = op->context;
    csd_data_moved(op);
    if (job->error || op->abandoned || r->detached) {
        exec_refuse(r, op->abandoned || !job->error ? CSD_ABORTED : CSD_TRANSFER, 0);
        return;
    }
    uint32_t where = 0;
    uint32_t status = validate(r, op->bytes, &where);
    if (status != 0) {
        exec_refuse(r, status, where);
        return;
    }
    request_start(r);
}

static void exec_drained(struct ftl_drain *d, enum ftl_status status) {
    struct request *r = CONTAINER(d, struct request, drain);
    struct csd_op *op = r->exec;
    if (op->abandoned || r->detached) {
        exec_refuse(r, CSD_ABORTED, 0);
    } else if (status != FTL_OK) {
        exec_refuse(r, CSD_WRITE_FAULT, 0);
    } else {
        csd_transfer(op, r->data, op->bytes, false, exec_fetched);
    }
}

static void exec_data(struct csd_op *op, bool there) {
    struct request *r = op->context;
    if (!there) {
        exec_refuse(r, CSD_NO_DATA, 0);
        return;
    }
    /* Streams read the medium: what the write cache holds has to be there. */
    r->drain.done = exec_drained;
    ftl_drain(&r->drain);
}

struct request *request_new(struct csd_op *op, uint32_t session, uint32_t handle) {
    if (!session_take(session, SHARE_REQUEST)) {
        return NULL;
    }
    struct request *r = requests;
    while (r->state != REQUEST_FREE) {
        r++;
    }
    memset(r, 0, sizeof *r);
    r->state = REQUEST_FETCH;
    r->session = (uint8_t)session;
    r->handle = handle;
    r->exec = op;
    r->data = DRAM_REQUESTS + (uint32_t)(r - requests) * DRAM_REQUEST_STRIDE;
    r->args = r->data + (uint32_t)sizeof(struct scomp_request);
    result_init(r, (uint32_t)(r - requests));
    return r;
}

void request_start(struct request *r) {
    r->state = REQUEST_ACTIVE;
    order[order_count++] = (uint32_t)(r - requests);
    feed_request_valid(r, true);
    scomp_schedule();
}

bool csd_exec(struct csd_op *op, uint32_t handle) {
    uint32_t status = CSD_OK;
    if (op->bytes < sizeof(struct scomp_request) + STREAM_BYTES || op->bytes > REQUEST_MAX) {
        status = CSD_INVALID;
    } else if (request_find(handle) != NULL) {
        status = REFUSED(BAD_HANDLE);
    }
    /* The request is there before its data are: feeds that follow at once find it. */
    struct request *r = status == CSD_OK ? request_new(op, op->session, handle) : NULL;
    if (r == NULL) {
        op->done(op, status != CSD_OK ? status : REFUSED(NO_RESOURCES));
        return false;
    }
    op->context = r;
    op->data = exec_data;
    return true;
}

/* ---- read, abort ---- */

static void read_data(struct csd_op *op, bool there) {
    struct request *r = request_find(op->value);
    if (!there || r == NULL) {
        session_give(op->session, SHARE_READER);
        op->done(op, !there ? (uint32_t)CSD_NO_DATA : REFUSED(BAD_HANDLE));
        return;
    }
    op->context = r;
    result_read(op);
}

bool csd_read(struct csd_op *op, uint32_t handle) {
    if (op->bytes < READ_MIN || op->bytes > CSD_DATA_MAX || (op->bytes & 3) != 0) {
        op->done(op, CSD_INVALID);
        return false;
    }
    /* Here, and not when its data are known: whoever waits for a list of pages holds a command, too. */
    if (!session_take(op->session, SHARE_READER)) {
        op->done(op, REFUSED(NO_RESOURCES));
        return false;
    }
    op->value = handle;
    op->data = read_data;
    return true;
}

/** No further piece runs; those on cores are stopped. With `detach` the results go too. */
static void abort_request(struct request *r, bool detach) {
    r->aborted = true;
    r->detached |= detach;
    if (detach) {
        result_flush_readers(r, CSD_ALL, CSD_ABORTED);
    }
    if (r->state == REQUEST_ACTIVE) {
        piece_abort(r);
        scomp_schedule();
    } else {
        settle(r);
    }
}

uint32_t csd_abort(uint32_t handle) {
    struct request *r = request_find(handle);
    if (r == NULL) {
        return REFUSED(BAD_HANDLE);
    }
    abort_request(r, r->state == REQUEST_ENDED);
    return CSD_OK;
}

/* ---- scheduling ---- */

enum scheduled { STARTED, NOTHING_TO_START, NO_TILES };

/** Cores and slots that requests of `session` hold. */
static uint32_t tiles_held(uint32_t session) {
    uint32_t held = 0;
    for (uint32_t i = 0; i < REQUESTS; i++) {
        held += requests[i].state != REQUEST_FREE && requests[i].session == session ? requests[i].running : 0;
    }
    return held;
}

/** Start the next piece of `r`, whose session holds `held` cores and slots. */
static enum scheduled schedule_request(struct request *r, uint32_t held) {
    if (r->state != REQUEST_ACTIVE || r->next_piece == r->pieces) {
        return NOTHING_TO_START;
    }
    if (r->aborted) {
        if (!piece_never_ran(r, r->next_piece)) {
            return NOTHING_TO_START;
        }
        r->next_piece++;
        request_piece_ended(r);
        return STARTED;
    }
    /* A piece that needs more than the session's part runs alone. */
    if ((r->max_cores != 0 && r->running + r->nodes > r->max_cores) || !result_room(r) ||
        (held > 0 && held + r->nodes > session_tiles(r->session))) {
        return NOTHING_TO_START;
    }
    if (!piece_start(r, r->next_piece)) {
        return NO_TILES;
    }
    r->next_piece++;
    session_served(r->session);
    return STARTED;
}

/** Of the requests that are not in `done`, one of the session that holds the fewest cores and slots, `*held`; of these
 * sessions the one whose last piece started before the others', of its requests the oldest. REQUESTS when there is
 * none. */
static uint32_t next_request(uint32_t done, uint32_t *held) {
    uint32_t best = REQUESTS;
    for (uint32_t i = 0; i < order_count; i++) {
        if ((done >> order[i] & 1) != 0) {
            continue;
        }
        uint32_t s = requests[order[i]].session;
        uint32_t n = tiles_held(s);
        if (best == REQUESTS || n < *held || (n == *held && session_before(s, requests[best].session))) {
            best = order[i];
            *held = n;
        }
    }
    return best;
}

void scomp_schedule(void) {
    static bool busy;
    if (busy) {
        return;
    }
    busy = true;
    /* Who waits for tiles is not overtaken on them. A request may end and leave the order while it is looked at. */
    uint32_t waited_for = 0;
    uint32_t done = 0;
    uint32_t held = 0;
    for (uint32_t index; (index = next_request(done, &held)) != REQUESTS;) {
        uint32_t tiles = piece_tiles(&requests[index]);
        enum scheduled result = (tiles & waited_for) != 0 ? NO_TILES : schedule_request(&requests[index], held);
        done |= (uint32_t)(result != STARTED) << index;
        waited_for |= result == NO_TILES ? tiles : 0;
    }
    busy = false;
    for (uint32_t i = 0; i < order_count; i++) {
        result_serve(&requests[order[i]]);
    }
}

void request_session_gone(uint32_t s) {
    for (uint32_t i = 0; i < REQUESTS; i++) {
        if (requests[i].state != REQUEST_FREE && requests[i].session == s) {
            abort_request(&requests[i], true);
        }
    }
}

void csd_reset(void) {
    session_reset();
}

void csd_owner_gone(uint32_t owner) {
    session_owner_gone(owner);
    feed_owner_gone(owner);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        struct request *r = &requests[i];
        if (r->state == REQUEST_FREE) {
            continue;
        }
        result_flush_readers(r, owner, CSD_OWNER_GONE);
        if (r->exec != NULL && r->exec->owner == owner) {
            abort_request(r, true);
        }
    }
}

bool csd_cancel(struct csd_op *op) {
    if (feed_cancel(op)) {
        return true;
    }
    for (uint32_t i = 0; i < REQUESTS; i++) {
        if (result_cancel(&requests[i], op)) {
            return true;
        }
    }
    return false;
}

bool csd_idle(void) {
    for (uint32_t i = 0; i < REQUESTS; i++) {
        if (requests[i].state != REQUEST_FREE) {
            return false;
        }
    }
    return core_all_free();
}

struct csd_counters csd_counters(void) {
    return (struct csd_counters){.cores = scomp_cores,
                                 .slots = scomp_tiles - scomp_cores,
                                 .pages = stream_counters.pages,
                                 .media_pages = stream_counters.media_pages,
                                 .cycles = stream_counters.cycles};
}
