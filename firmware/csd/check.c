// SPDX-License-Identifier: BSD-3-Clause
/*
 * Check of a request: everything that its data say, before anything of it runs. Tables are long, and host I/O must not
 * wait for them, so the check goes on a slice at a time, and requests take turns: short ones do not wait for long ones.
 */
#include "csd/check.h"

#include "csd/scomp.h"
#include "platform/work.h"

#define STREAM_BYTES ((uint32_t)sizeof(struct scomp_stream))
/** Extents that the inputs of a request with outputs under logical blocks may name. */
#define INPUTS_BESIDE_OUTPUTS 65536u
#define OFFSET(field)         ((uint32_t)offsetof(struct scomp_request, field))

struct check *check;
static struct check checks[REQUESTS];
/** Whose turn comes: operations of requests that are checked. */
static struct list unchecked;

#define BAD REFUSED(BAD_REQUEST)
#define REFUSE(condition, at)                                                                                          \
    if (condition) {                                                                                                   \
        *where = (at);                                                                                                 \
        return BAD;                                                                                                    \
    }

static uint32_t field(const struct request *r, uint32_t offset) {
    return hal_read(r->data + offset);
}

static uint64_t field64(uint32_t addr) {
    return hal_read(addr) | (uint64_t)hal_read(addr + 4) << 32;
}

static bool is_local(const struct request *r) {
    return (field(r, OFFSET(flags)) & SCOMP_FLAG_CHANNEL_LOCAL) != 0;
}

/** Check the head of the request and find its parts. */
static uint32_t check_head(struct request *r, uint32_t bytes, uint32_t *where) {
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
    uint32_t flags = field(r, OFFSET(flags));
    REFUSE(field(r, 0) != SCOMP_MAGIC, OFFSET(magic));
    REFUSE(version == 0 || version > SCOMP_VERSION, OFFSET(version));
    REFUSE(in == 0 || in > SCOMP_MAX_STREAMS, OFFSET(streams_in));
    REFUSE(out > SCOMP_MAX_STREAMS, OFFSET(streams_out));
    REFUSE(s_log2 != 0xff && (nodes != 0 || s_log2 > 3 || s_log2 < request_s_log2(in, out)), OFFSET(s_log2));
    REFUSE(w8 >> 24 != 0, OFFSET(reserved0));
    REFUSE((flags & ~(uint32_t)(SCOMP_FLAG_OUT_TABLE | SCOMP_FLAG_CHANNEL_LOCAL)) != 0 || (version == 1 && flags != 0),
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
    bool local = is_local(r);
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
    r->out_table = (flags & SCOMP_FLAG_OUT_TABLE) != 0 ? r->data + at : 0;
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

/** Look at input stream `i`; check->sorting: its extents are to be sorted. Returns 0 or a status. */
static uint32_t check_input(const struct request *r, uint32_t i, uint32_t *where) {
    uint32_t extents = field(r, OFFSET(extents));
    bool fed = field(r, 4) << 16 != 1u << 16;
    bool local = is_local(r);
    uint32_t stride = r->streams_in * STREAM_BYTES;
    uint32_t at = r->stream_table + i * STREAM_BYTES;
    uint32_t first = hal_read(at);
    uint32_t count = hal_read(at + 4);
    uint64_t length = field64(at + 8);
    if (count == 0 && fed && !local) {
        REFUSE(first != 0, at - r->data);
        REFUSE(length >> PAGE_LOG2 > UINT32_MAX / 2, at - r->data + 8);
        hal_write(at + 12, (uint32_t)(length >> 32) | STREAM_IS_FED);
        return 0;
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
        check->sorted += count;
        REFUSE(check->sorted > EXTENTS_MAX, at - r->data + 4);
        check->sorting = true;
    }
    return 0;
}

/** Check the input streams. Every extent and every stream is looked at once, whatever they say about each other. */
static uint32_t check_inputs(const struct request *r, uint32_t *where) {
    for (; check->i < r->pieces * r->streams_in; check->i++) {
        uint32_t status = 0;
        if (!check->sorting) {
            status = check_pause(COST_STREAM) ? CHECK_MORE : check_input(r, check->i, where);
        }
        if (status == 0 && check->sorting) {
            uint32_t at = r->stream_table + check->i * STREAM_BYTES;
            status = extent_overlap(r, hal_read(at), hal_read(at + 4), where);
        }
        if (status != 0) {
            return status;
        }
        check->sorting = false;
    }
    return 0;
}

/** The outputs of `r` under logical blocks, listed and sorted, and its inputs: only a piece's own may overlap. */
static uint32_t check_overlap(const struct request *r, uint32_t *where) {
    for (; check->i < r->pieces * r->streams_in; check->i++) {
        uint32_t i = check->i;
        uint32_t s = i % r->streams_in;
        uint32_t at = r->stream_table + i * STREAM_BYTES;
        uint32_t first = hal_read(at);
        uint32_t count = hal_read(at + 4);
        bool is_fed = (hal_read(at + 12) & STREAM_IS_FED) != 0;
        if (check->n == 0) {
            if (check_pause(COST_STREAM)) {
                return CHECK_MORE;
            }
            if (is_fed || (i >= r->streams_in && !check->any[s] && same_extents(at, r->streams_in * STREAM_BYTES))) {
                continue;
            }
            check->any[s] = false;
            check->looked += count;
            REFUSE(check->looked > INPUTS_BESIDE_OUTPUTS, at - r->data + 4);
        }
        for (; check->n < count; check->n++) {
            if (check_pause(COST_SEARCH)) {
                return CHECK_MORE;
            }
            if (extent_list_hits(r, check->listed, first + check->n, i / r->streams_in, &check->any[s])) {
                *where = r->extent_table + (first + check->n) * EXTENT_BYTES - r->data;
                return REFUSED(OVERLAP);
            }
        }
        check->n = 0;
    }
    return 0;
}

/** Check the output streams, and list their extents. */
static uint32_t check_outputs(const struct request *r, uint32_t *where) {
    uint32_t extents = field(r, OFFSET(extents));
    for (; r->out_table != 0 && check->i < r->pieces * r->streams_out; check->i++) {
        uint32_t at = r->out_table + check->i * STREAM_BYTES;
        uint32_t first = hal_read(at);
        uint32_t count = hal_read(at + 4);
        if (!check->writing) {
            if (check_pause(COST_STREAM)) {
                return CHECK_MORE;
            }
            REFUSE(field64(at + 8) != 0, at - r->data + 8);
            REFUSE(count == 0 ? first != 0 : first >= extents, at - r->data);
            check->blocks = check->i % r->streams_out == 0 ? 0 : check->blocks;
            if (count == 0) {
                continue;
            }
            REFUSE(count > extents - first, at - r->data + 4);
            check->blocks += extent_blocks_before(r, first + count) - extent_blocks_before(r, first);
            REFUSE(check->blocks > SCOMP_MAX_OUT_BLOCKS, at - r->data + 4);
            if (count > extents - check->listed) {
                /* More extents than there are: some are named twice. */
                *where = r->extent_table + first * EXTENT_BYTES - r->data;
                return REFUSED(OVERLAP);
            }
            check->writing = true;
        }
        for (; check->n < count; check->n++) {
            if (check_pause(COST_EXTENT)) {
                return CHECK_MORE;
            }
            uint32_t lba;
            if (extent_unwritable(r, first + check->n, &lba)) {
                return no_access(r, lba, SCOMP_ACCESS_WRITE, where);
            }
            extent_list_add(r, check->listed + check->n, first + check->n, check->i / r->streams_out);
        }
        check->listed += count;
        check->n = 0;
        check->writing = false;
    }
    return 0;
}

/** All tables are right. Returns 0 or a status. */
static uint32_t check_functions(struct request *r, uint32_t *where) {
    uint32_t func = field(r, 4) >> 16;
    struct function *f;
    uint32_t status = r->tree ? 0 : function_find(r->session, func, &f);
    if (status != 0) {
        *where = OFFSET(func);
        return status;
    }
    if (is_local(r)) {
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

/** Go on with step check->step. Returns 0 when it is done, CHECK_MORE, or a status with `*where`, the byte offset of
 * what is wrong. */
static uint32_t step(struct request *r, uint32_t *where) {
    switch (check->step) {
    case CHECK_HEAD: {
        uint32_t status = check_head(r, r->exec->bytes, where);
        return status == 0 && r->tree ? tree_check(r, where) : status;
    }
    case CHECK_EXTENTS:
        return extent_check(r, field(r, OFFSET(extents)), where);
    case CHECK_INPUTS:
        return check_inputs(r, where);
    case CHECK_OUTPUTS:
        return check_outputs(r, where);
    case CHECK_SORT:
        return extent_list_sort(r, check->listed, where);
    case CHECK_OVERLAP:
        return check->listed > 0 ? check_overlap(r, where) : 0;
    default:
        return check_functions(r, where);
    }
}

void check_init(void) {
    unchecked = (struct list){0};
    work_clear(WORK_CHECK);
}

void check_request(struct request *r) {
    checks[r - requests] = (struct check){.step = CHECK_HEAD};
    list_put(&unchecked, &r->exec->node);
    work_set(WORK_CHECK);
}

void check_poll(void) {
    work_clear(WORK_CHECK);
    if (list_empty(&unchecked)) {
        return;
    }
    struct csd_op *op = CONTAINER(list_take(&unchecked), struct csd_op, node);
    struct request *r = op->context;
    check = &checks[r - requests];
    uint32_t where = 0;
    uint32_t status = 0;
    check->left = CHECK_SLICE;
    if (op->abandoned || r->detached) {
        status = CSD_ABORTED;
    }
    while (status == 0 && check->step <= CHECK_FUNCTIONS) {
        status = step(r, &where);
        if (status == 0) {
            check->step++;
            check->i = 0;
            check->n = 0;
        }
    }
    work_set(WORK_CHECK);
    if (status == CHECK_MORE) {
        list_put(&unchecked, &op->node);
    } else {
        request_checked(r, status, where);
    }
}
