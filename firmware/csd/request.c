/* SPDX-License-Identifier: BSD-3-Clause */
/* scomp requests: pieces in order over the free cores, abort. */
#include <string.h>

#include "csd/check.h"
#include "csd/scomp.h"

#define READ_MIN     8192u
#define REQUEST_MAX  CSD_DATA_MAX
#define STREAM_BYTES ((uint32_t)sizeof(struct scomp_stream))

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
    check_init();
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
    check_request(r);
}

void request_checked(struct request *r, uint32_t status, uint32_t where) {
    if (status != 0) {
        exec_refuse(r, status, where);
    } else {
        request_start(r);
    }
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
