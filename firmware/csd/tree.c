/* SPDX-License-Identifier: BSD-3-Clause */
/* Trees of functions: whether nodes and edges of a request fit together. */
#include "csd/scomp.h"

#define BAD        REFUSED(BAD_REQUEST)
#define NODE_BYTES ((uint32_t)sizeof(struct scomp_node))
#define EDGE_BYTES ((uint32_t)sizeof(struct scomp_edge))
#define NODE(f)    ((uint32_t)offsetof(struct scomp_node, f))
#define EDGE(f)    ((uint32_t)offsetof(struct scomp_edge, f))

/** Streams of the nodes, and of the outside as its other side sees them: what it gives, and what it takes. */
struct ends {
    uint8_t in[SCOMP_MAX_NODES + 1], out[SCOMP_MAX_NODES + 1];           /**< streams there are */
    uint8_t in_used[SCOMP_MAX_NODES + 1], out_used[SCOMP_MAX_NODES + 1]; /**< bit masks */
};
#define OUTSIDE SCOMP_MAX_NODES

static uint32_t node_check(const struct request *r, uint32_t at, struct ends *ends, uint32_t n, uint32_t *where) {
    uint32_t w0 = hal_read(at);
    uint32_t w4 = hal_read(at + 4);
    uint32_t func = w0 & 0xffffu;
    uint32_t in = w0 >> 16 & 0xffu;
    uint32_t out = w0 >> 24;
    uint32_t s_log2 = w4 & 0xffu;
    uint32_t args_offset = hal_read(at + 8);
    uint32_t args_bytes = hal_read(at + 12);
    uint32_t offset = at - r->data;
#define REFUSE(condition, field)                                                                                       \
    if (condition) {                                                                                                   \
        *where = offset + NODE(field);                                                                                 \
        return BAD;                                                                                                    \
    }
    REFUSE(in == 0 || in > SCOMP_MAX_STREAMS, streams_in);
    REFUSE(out > SCOMP_MAX_STREAMS, streams_out);
    REFUSE(s_log2 != 0xff && (s_log2 > 3 || s_log2 < request_s_log2(in, out)), s_log2);
    REFUSE(w4 >> 8 != 0, pad);
    REFUSE((args_offset & 63) != 0 || args_offset > r->args_bytes, args_offset);
    REFUSE(args_bytes > r->args_bytes - args_offset, args_bytes);
#undef REFUSE
    struct function *f;
    uint32_t status = function_find(r->session, func, &f);
    if (status != 0) {
        *where = offset + NODE(func);
        return status;
    }
    ends->in[n] = (uint8_t)in;
    ends->out[n] = (uint8_t)out;
    return 0;
}

/** Number of the node, OUTSIDE, or larger when there is no such node. */
static uint32_t node_of(const struct request *r, uint32_t byte) {
    return byte == SCOMP_OUTSIDE ? OUTSIDE : byte < r->nodes ? byte : OUTSIDE + 1;
}

uint32_t tree_check(const struct request *r, uint32_t *where) {
    struct ends ends = {0};
    uint32_t producers[SCOMP_MAX_NODES] = {0};
    uint32_t inputs = r->streams_out;
    uint32_t outputs = r->streams_in;
    /* What the request takes from outside is an output of the outside. */
    ends.out[OUTSIDE] = (uint8_t)r->streams_in;
    ends.in[OUTSIDE] = (uint8_t)r->streams_out;
    for (uint32_t n = 0; n < r->nodes; n++) {
        uint32_t status = node_check(r, r->node_table + n * NODE_BYTES, &ends, n, where);
        if (status != 0) {
            return status;
        }
        inputs += ends.in[n];
        outputs += ends.out[n];
    }
    for (uint32_t i = 0; i < r->edges; i++) {
        uint32_t at = r->edge_table + i * EDGE_BYTES;
        uint32_t e = hal_read(at);
        uint32_t from = node_of(r, e & 0xffu);
        uint32_t from_stream = e >> 8 & 0xffu;
        uint32_t to = node_of(r, e >> 16 & 0xffu);
        uint32_t to_stream = e >> 24;
        uint32_t offset = at - r->data;
        if (from > OUTSIDE) {
            *where = offset + EDGE(from_node);
            return BAD;
        }
        if (from_stream >= ends.out[from] || (ends.out_used[from] >> from_stream & 1) != 0) {
            *where = offset + EDGE(from_stream);
            return BAD;
        }
        if (to > OUTSIDE || (from == OUTSIDE && to == OUTSIDE)) {
            *where = offset + EDGE(to_node);
            return BAD;
        }
        if (to_stream >= ends.in[to] || (ends.in_used[to] >> to_stream & 1) != 0) {
            *where = offset + EDGE(to_stream);
            return BAD;
        }
        ends.out_used[from] |= (uint8_t)(1u << from_stream);
        ends.in_used[to] |= (uint8_t)(1u << to_stream);
        if (from != OUTSIDE && to != OUTSIDE) {
            producers[to] |= 1u << from;
        }
    }
    /* No end is used twice, so as many edges as ends means that every end is used. */
    if (inputs != r->edges || outputs != r->edges) {
        *where = (uint32_t)offsetof(struct scomp_request, edges);
        return BAD;
    }
    /* Nodes whose producers are all in order are; what is left over waits for itself. */
    uint32_t ordered = 0;
    for (uint32_t round = 0; round < r->nodes; round++) {
        for (uint32_t n = 0; n < r->nodes; n++) {
            if ((producers[n] & ~ordered) == 0) {
                ordered |= 1u << n;
            }
        }
    }
    for (uint32_t i = 0; i < r->edges; i++) {
        uint32_t at = r->edge_table + i * EDGE_BYTES;
        uint32_t to = hal_read(at) >> 16 & 0xffu;
        if (to != SCOMP_OUTSIDE && (ordered >> to & 1) == 0) {
            *where = at - r->data + EDGE(to_node);
            return BAD;
        }
    }
    return 0;
}
