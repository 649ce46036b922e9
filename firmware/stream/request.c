/* scomp requests: validation, pieces in order over the free cores, abort. */
#include <string.h>

#include "stream/scomp.h"

#define VENDOR(s)        (0x100u | (s))
#define WATCHDOG_DEFAULT 1000000u /* kilocycles */
#define READ_MIN         8192u
#define REQUEST_MAX      NVME_MDTS_BYTES
#define STREAM_BYTES     ((uint32_t)sizeof(struct scomp_stream))
#define OFFSET(field)    ((uint32_t)offsetof(struct scomp_request, field))

struct request requests[REQUESTS];

/** Request that scomp_schedule looks at first: pieces start in the order of their requests. */
static uint32_t order[REQUESTS];
static uint32_t order_count;

void scomp_init(void) {
    memset(requests, 0, sizeof requests);
    order_count = 0;
    function_init();
    core_init();
}

static struct request *find(uint32_t handle) {
    for (uint32_t i = 0; i < REQUESTS; i++) {
        if (requests[i].state != REQUEST_FREE && !requests[i].detached && requests[i].handle == handle) {
            return &requests[i];
        }
    }
    return NULL;
}

void request_free(struct request *r) {
    result_flush_readers(r, NVME_QUEUES, VENDOR(NVME_VENDOR_STATUS_BAD_HANDLE));
    if (r->function != NULL) {
        r->function->users--;
    }
    uint32_t index = (uint32_t)(r - requests);
    for (uint32_t i = 0; i < order_count; i++) {
        if (order[i] == index) {
            order_count--;
            memmove(&order[i], &order[i + 1], (order_count - i) * sizeof order[0]);
            break;
        }
    }
    r->function = NULL;
    r->state = REQUEST_FREE;
}

/** Free a request that nobody can read any more, once nothing of it is in flight. */
static void settle(struct request *r) {
    if (r->state == REQUEST_ENDED && r->detached && r->reads_in_flight == 0) {
        request_free(r);
    }
}

static void ended(struct request *r) {
    r->state = REQUEST_ENDED;
    struct nvme_cmd *exec = r->exec;
    r->exec = NULL;
    if (exec != NULL) {
        exec->dw0 = r->failed;
        nvme_complete(exec, NVME_OK);
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

/**
 * Check everything in the request. Returns 0 or a status; `*where` is then the byte offset of the offending field.
 * Every extent and every stream is looked at once, whatever they say about each other.
 */
static uint32_t validate(struct request *r, uint32_t bytes, uint32_t *where) {
    uint32_t bad = VENDOR(NVME_VENDOR_STATUS_BAD_REQUEST);
    uint32_t w4 = field(r, 4);
    uint32_t w8 = field(r, 8);
    uint32_t func = w4 >> 16;
    uint32_t in = w8 & 0xffu;
    uint32_t out = w8 >> 8 & 0xffu;
    uint32_t s_log2 = w8 >> 16 & 0xffu;
    uint32_t extents = field(r, OFFSET(extents));
    uint32_t smallest = 0;
    r->pieces = field(r, OFFSET(pieces));
    r->args_bytes = field(r, OFFSET(args_bytes));
    r->max_cores = field(r, OFFSET(max_cores));
#define REFUSE(condition, at)                                                                                          \
    if (condition) {                                                                                                   \
        *where = (at);                                                                                                 \
        return bad;                                                                                                    \
    }
    REFUSE(field(r, 0) != SCOMP_MAGIC, OFFSET(magic));
    REFUSE((w4 & 0xffffu) != SCOMP_VERSION, OFFSET(version));
    REFUSE(in == 0 || in > SCOMP_MAX_STREAMS, OFFSET(streams_in));
    REFUSE(out > SCOMP_MAX_STREAMS, OFFSET(streams_out));
    while ((1u << smallest) < in || (1u << smallest) < out) {
        smallest++;
    }
    REFUSE(s_log2 != 0xff && (s_log2 > 3 || s_log2 < smallest), OFFSET(s_log2));
    REFUSE(w8 >> 24 != 0, OFFSET(reserved0));
    REFUSE(field(r, OFFSET(flags)) != 0, OFFSET(flags));
    REFUSE(r->pieces == 0 || r->pieces > SCOMP_MAX_PIECES, OFFSET(pieces));
    REFUSE(extents == 0 || extents > EXTENTS_MAX, OFFSET(extents));
    REFUSE(r->args_bytes > SCOMP_MAX_ARGS, OFFSET(args_bytes));
    for (uint32_t i = 0; i < 7; i++) {
        REFUSE(field(r, OFFSET(reserved1) + i * 4) != 0, OFFSET(reserved1) + i * 4);
    }
    uint32_t table = (uint32_t)sizeof(struct scomp_request) + ((r->args_bytes + 7) & ~7u);
    uint32_t tables = r->pieces * in * STREAM_BYTES;
    /* All three parts are bounded above, so none of these overflow. */
    REFUSE(table + tables > bytes, OFFSET(pieces));
    REFUSE(table + tables + extents * EXTENT_BYTES != bytes, OFFSET(extents));
    r->streams_in = in;
    r->streams_out = out;
    r->s_log2 = s_log2 == 0xff ? smallest : s_log2;
    r->stream_table = r->data + table;
    r->extent_table = r->stream_table + tables;

    uint32_t status = extent_check(r, extents, where);
    if (status != 0) {
        return status;
    }
    uint32_t sorted = 0;
    for (uint32_t i = 0; i < r->pieces * in; i++) {
        uint32_t at = r->stream_table + i * STREAM_BYTES;
        uint32_t first = hal_read(at);
        uint32_t count = hal_read(at + 4);
        uint64_t length = field64(at + 8);
        REFUSE(first >= extents, at - r->data);
        REFUSE(count == 0 || count > extents - first, at - r->data + 4);
        uint64_t before = extent_blocks_before(r, first);
        uint64_t most = extent_blocks_before(r, first + count) - before;
        uint64_t least = extent_blocks_before(r, first + count - 1) - before;
        REFUSE(length > most << PAGE_LOG2 || length <= least << PAGE_LOG2 || most > UINT32_MAX / 2, at - r->data + 8);
        /* Pieces often share a table: one look at it is enough. */
        bool seen =
            i >= in && hal_read(at - in * STREAM_BYTES) == first && hal_read(at - in * STREAM_BYTES + 4) == count;
        if (!seen && !extent_in_order(r, first, count)) {
            sorted += count;
            REFUSE(sorted > EXTENTS_MAX, at - r->data + 4);
            if (extent_overlap(r, first, count, where)) {
                return VENDOR(NVME_VENDOR_STATUS_OVERLAP);
            }
        }
    }
#undef REFUSE
    if (func >= SCOMP_MAX_FUNCS || !functions[func].valid || functions[func].loading) {
        *where = OFFSET(func);
        return VENDOR(NVME_VENDOR_STATUS_BAD_FUNCTION);
    }
    r->function = &functions[func];
    r->function->users++;
    uint32_t kcycles = field(r, OFFSET(watchdog_kcycles));
    r->watchdog = (uint64_t)(kcycles != 0 ? kcycles : WATCHDOG_DEFAULT) * 1000u;
    return 0;
}

/* ---- IO_EXEC ---- */

static void exec_refuse(struct request *r, uint32_t status, uint32_t where) {
    struct nvme_cmd *cmd = r->exec;
    r->exec = NULL;
    request_free(r);
    cmd->dw0 = where;
    nvme_complete(cmd, status);
}

static void exec_fetched(struct dma_job *job) {
    struct nvme_cmd *cmd = job->arg;
    struct request *r = cmd->context;
    if (job->error || cmd->orphan || r->detached) {
        exec_refuse(r, cmd->orphan || !job->error ? NVME_ABORTED : NVME_DATA_TRANSFER, 0);
        return;
    }
    uint32_t where = 0;
    uint32_t status = validate(r, cmd->bytes, &where);
    if (status != 0) {
        exec_refuse(r, status, where);
        return;
    }
    r->state = REQUEST_ACTIVE;
    order[order_count++] = (uint32_t)(r - requests);
    scomp_schedule();
}

static void exec_mapped(struct nvme_cmd *cmd) {
    struct request *r = NULL;
    uint32_t handle = cmd->sqe[10] & 0xffffu;
    if (find(handle) != NULL) {
        nvme_complete(cmd, VENDOR(NVME_VENDOR_STATUS_BAD_HANDLE));
        return;
    }
    for (uint32_t i = 0; i < REQUESTS && r == NULL; i++) {
        r = requests[i].state == REQUEST_FREE ? &requests[i] : NULL;
    }
    if (r == NULL || queues.deleting[cmd->sqid]) {
        nvme_complete(cmd, VENDOR(NVME_VENDOR_STATUS_NO_RESOURCES));
        return;
    }
    memset(r, 0, sizeof *r);
    r->state = REQUEST_FETCH;
    r->handle = (uint16_t)handle;
    r->sqid = cmd->sqid;
    r->exec = cmd;
    r->data = DRAM_REQUESTS + (uint32_t)(r - requests) * DRAM_REQUEST_STRIDE;
    result_init(r, (uint32_t)(r - requests));
    cmd->context = r;
    nvme_transfer(cmd, r->data, cmd->bytes, false, exec_fetched);
}

static void exec(struct nvme_cmd *cmd) {
    cmd->bytes = cmd->sqe[12];
    if (cmd->bytes < sizeof(struct scomp_request) + STREAM_BYTES + EXTENT_BYTES || cmd->bytes > REQUEST_MAX) {
        nvme_complete(cmd, NVME_INVALID_FIELD);
        return;
    }
    nvme_map(cmd, cmd->bytes, exec_mapped);
}

/* ---- IO_READ, IO_ABORT ---- */

static void read_mapped(struct nvme_cmd *cmd) {
    struct request *r = find(cmd->sqe[10] & 0xffffu);
    if (r == NULL || queues.deleting[cmd->sqid]) {
        nvme_complete(cmd, r == NULL ? VENDOR(NVME_VENDOR_STATUS_BAD_HANDLE) : NVME_SQ_DELETED);
        return;
    }
    cmd->context = r;
    result_read(cmd);
}

static void read_results(struct nvme_cmd *cmd) {
    cmd->bytes = cmd->sqe[12];
    if (cmd->bytes < READ_MIN || cmd->bytes > NVME_MDTS_BYTES || (cmd->bytes & 3) != 0) {
        nvme_complete(cmd, NVME_INVALID_FIELD);
        return;
    }
    nvme_map(cmd, cmd->bytes, read_mapped);
}

/** No further piece runs; those on cores are stopped. With `detach` the results go too. */
static void abort_request(struct request *r, bool detach) {
    r->aborted = true;
    r->detached |= detach;
    if (detach) {
        result_flush_readers(r, NVME_QUEUES, NVME_ABORTED);
    }
    if (r->state == REQUEST_ACTIVE) {
        core_abort(r);
        scomp_schedule();
    } else {
        settle(r);
    }
}

static void abort_handle(struct nvme_cmd *cmd) {
    struct request *r = find(cmd->sqe[10] & 0xffffu);
    if (r == NULL) {
        nvme_complete(cmd, VENDOR(NVME_VENDOR_STATUS_BAD_HANDLE));
        return;
    }
    abort_request(r, r->state == REQUEST_ENDED);
    nvme_complete(cmd, NVME_OK);
}

void scomp_command(struct nvme_cmd *cmd) {
    uint8_t opcode = cmd_opcode(cmd);
    bool reserved = (cmd->sqe[10] & 0xffff0000u) != 0 || cmd->sqe[11] != 0 || cmd->sqe[13] != 0 || cmd->sqe[14] != 0 ||
                    cmd->sqe[15] != 0 || (opcode == SCOMP_OPCODE_IO_ABORT && cmd->sqe[12] != 0);
    if (reserved) {
        nvme_complete(cmd, NVME_INVALID_FIELD);
    } else if (opcode == SCOMP_OPCODE_IO_EXEC) {
        exec(cmd);
    } else if (opcode == SCOMP_OPCODE_IO_READ) {
        read_results(cmd);
    } else {
        abort_handle(cmd);
    }
}

/* ---- scheduling ---- */

/** A piece of an aborted request that never ran: only its report. */
static bool report_aborted(struct request *r, uint32_t piece) {
    struct scomp_chunk header = {
        .piece = piece, .flags = 1, .status = SCOMP_STATUS_ABORTED, .bytes = sizeof(struct scomp_report)};
    if (!r->detached) {
        uint32_t id;
        if (!result_room(r)) {
            return false;
        }
        uint32_t at = result_chunk(r, &header, true, &id);
        if (at == 0) {
            return false;
        }
        for (uint32_t i = 0; i < sizeof(struct scomp_report); i += 4) {
            hal_write(at + sizeof header + i, 0);
        }
        request_count_piece(r, SCOMP_STATUS_ABORTED);
        result_ready(r, id);
    } else {
        request_count_piece(r, SCOMP_STATUS_ABORTED);
    }
    return true;
}

/** Start pieces of `r`. False when no core is left. */
static bool schedule_request(struct request *r) {
    while (r->state == REQUEST_ACTIVE && r->next_piece < r->pieces) {
        if (r->aborted) {
            if (!report_aborted(r, r->next_piece)) {
                return true;
            }
            r->next_piece++;
            request_piece_ended(r);
            continue;
        }
        if ((r->max_cores != 0 && r->running >= r->max_cores) || !result_room(r)) {
            return true;
        }
        if (!core_start(r, r->next_piece)) {
            return false;
        }
        r->next_piece++;
    }
    return true;
}

void scomp_schedule(void) {
    static bool busy;
    if (busy) {
        return;
    }
    busy = true;
    /* A request may end and leave the order while it is looked at. */
    for (uint32_t i = 0; i < order_count;) {
        uint32_t index = order[i];
        bool more = schedule_request(&requests[index]);
        if (!more) {
            break;
        }
        if (i < order_count && order[i] == index) {
            i++;
        }
    }
    busy = false;
    for (uint32_t i = 0; i < order_count; i++) {
        result_serve(&requests[order[i]]);
    }
}

void scomp_orphan(void) {
    for (uint32_t i = 0; i < REQUESTS; i++) {
        if (requests[i].state != REQUEST_FREE) {
            abort_request(&requests[i], true);
        }
    }
    for (uint32_t i = 0; i < SCOMP_MAX_FUNCS; i++) {
        functions[i].valid = false;
    }
}

void scomp_queue_deleted(uint32_t sqid) {
    for (uint32_t i = 0; i < REQUESTS; i++) {
        struct request *r = &requests[i];
        if (r->state == REQUEST_FREE) {
            continue;
        }
        result_flush_readers(r, sqid, NVME_SQ_DELETED);
        if (r->exec != NULL && r->sqid == sqid) {
            abort_request(r, true);
        }
    }
}

bool scomp_abort_waiter(struct nvme_cmd *cmd) {
    for (uint32_t i = 0; i < REQUESTS; i++) {
        for (struct nvme_cmd **p = &requests[i].readers_head; *p != NULL; p = &(*p)->next) {
            if (*p == cmd) {
                *p = cmd->next;
                requests[i].readers_tail = NULL;
                for (struct nvme_cmd *c = requests[i].readers_head; c != NULL; c = c->next) {
                    requests[i].readers_tail = c;
                }
                nvme_complete(cmd, NVME_ABORTED);
                return true;
            }
        }
    }
    return false;
}

bool scomp_idle(void) {
    for (uint32_t i = 0; i < REQUESTS; i++) {
        if (requests[i].state != REQUEST_FREE) {
            return false;
        }
    }
    return core_all_free();
}
