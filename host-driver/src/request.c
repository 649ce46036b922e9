/* SPDX-License-Identifier: BSD-3-Clause */
#include "request.h"

#include "error.h"

#include <assasin_contract.h>
#include <string.h>

/* Where the parts of a request start. */
struct layout {
    size_t args, nodes, edges, inputs, outputs, extents, end;
};

static size_t padded8(size_t bytes) {
    return (bytes + 7) / 8 * 8;
}

/* A job that writes no blocks needs no table of outputs. */
static bool has_out_table(const struct assasin_job *job) {
    for (size_t i = 0; job->outputs && i < (size_t)job->pieces * job->streams_out; i++)
        if (job->outputs[i].extent_count)
            return true;
    return false;
}

static struct layout layout(const struct assasin_job *job) {
    struct layout l = {.args = sizeof(struct scomp_request)};
    l.nodes = l.args + padded8(job->args_bytes);
    l.edges = l.nodes + job->node_count * sizeof(struct scomp_node);
    l.inputs = l.edges + padded8(job->edge_count * sizeof(struct scomp_edge));
    l.outputs = l.inputs + (size_t)job->pieces * job->streams_in * sizeof(struct scomp_stream);
    l.extents =
        l.outputs + (has_out_table(job) ? (size_t)job->pieces * job->streams_out * sizeof(struct scomp_stream) : 0);
    l.end = l.extents + (size_t)job->extent_count * sizeof(struct scomp_extent);
    return l;
}

size_t request_bytes(const struct assasin_job *job) {
    return layout(job).end;
}

static uint8_t wire_s_log2(int8_t s_log2) {
    return s_log2 < 0 ? 0xFF : (uint8_t)s_log2;
}

static void write_tree(const struct assasin_job *job, uint8_t *to, const struct layout *l) {
    for (size_t i = 0; i < job->node_count; i++) {
        const struct assasin_node *n = &job->nodes[i];
        struct scomp_node node = {.func = n->function,
                                  .streams_in = n->streams_in,
                                  .streams_out = n->streams_out,
                                  .s_log2 = wire_s_log2(n->s_log2),
                                  .args_offset = n->args_offset,
                                  .args_bytes = n->args_bytes};
        memcpy(to + l->nodes + i * sizeof(node), &node, sizeof(node));
    }
    for (size_t i = 0; i < job->edge_count; i++) {
        const struct assasin_edge *e = &job->edges[i];
        struct scomp_edge edge = {e->from_node, e->from_stream, e->to_node, e->to_stream};
        memcpy(to + l->edges + i * sizeof(edge), &edge, sizeof(edge));
    }
}

void request_write(const struct assasin_job *job, uint8_t *to) {
    struct layout l = layout(job);
    bool out_table = has_out_table(job);
    struct scomp_request head = {
        .magic = SCOMP_MAGIC,
        .version = SCOMP_VERSION,
        .func = job->function,
        .streams_in = job->streams_in,
        .streams_out = job->streams_out,
        .s_log2 = wire_s_log2(job->s_log2),
        .flags =
            (out_table ? SCOMP_FLAG_OUT_TABLE : 0u) | (job->channel_local ? (uint32_t)SCOMP_FLAG_CHANNEL_LOCAL : 0u),
        .pieces = job->pieces,
        .extents = job->extent_count,
        .args_bytes = job->args_bytes,
        .max_cores = job->max_cores,
        .watchdog_kcycles = job->watchdog_kcycles,
        .nodes = job->node_count,
        .edges = job->edge_count,
    };
    memset(to, 0, l.end);
    memcpy(to, &head, sizeof(head));
    if (job->args_bytes)
        memcpy(to + l.args, job->args, job->args_bytes);
    write_tree(job, to, &l);
    for (size_t i = 0; i < (size_t)job->pieces * job->streams_in; i++) {
        struct scomp_stream s = {job->inputs[i].first_extent, job->inputs[i].extent_count, job->inputs[i].bytes};
        memcpy(to + l.inputs + i * sizeof(s), &s, sizeof(s));
    }
    for (size_t i = 0; out_table && i < (size_t)job->pieces * job->streams_out; i++) {
        struct scomp_stream s = {job->outputs[i].first_extent, job->outputs[i].extent_count, 0};
        memcpy(to + l.outputs + i * sizeof(s), &s, sizeof(s));
    }
    for (size_t i = 0; i < job->extent_count; i++) {
        struct scomp_extent x = {.lba = job->extents[i].lba, .count = job->extents[i].count};
        memcpy(to + l.extents + i * sizeof(x), &x, sizeof(x));
    }
}

static void where_stream(const char *kind, size_t index, size_t streams, uint32_t field, struct assasin_error *text) {
    const char *what = field >= offsetof(struct scomp_stream, bytes)
                           ? "its length does not fit its extents or the other streams"
                       : field >= offsetof(struct scomp_stream, extent_count)
                           ? "its number of extents: none for a stream that needs some, or beyond the extent table"
                           : "its first extent lies beyond the extent table";
    error_set(text, 0, "%s stream %zu of piece %zu: %s", kind, streams ? index % streams : 0,
              streams ? index / streams : 0, what);
}

static const char *node_field(uint32_t field) {
    if (field < offsetof(struct scomp_node, streams_in))
        return "its function";
    if (field < offsetof(struct scomp_node, streams_out))
        return "its number of input streams (1..8)";
    if (field < offsetof(struct scomp_node, s_log2))
        return "its number of output streams (0..8)";
    if (field < offsetof(struct scomp_node, pad))
        return "its s_log2: more streams than the buffers are divided into";
    if (field < offsetof(struct scomp_node, args_offset))
        return "a reserved field";
    return field < offsetof(struct scomp_node, args_bytes)
               ? "its args_offset: not a multiple of 64, or beyond the arguments"
               : "its args_bytes: beyond the arguments";
}

const char *request_where(const struct assasin_job *job, uint32_t offset, struct assasin_error *text) {
    struct layout l = layout(job);
    if (offset < l.args)
        error_set(text, 0, "%s", assasin_request_strerror(offset));
    else if (offset < l.nodes)
        error_set(text, 0, "the arguments");
    else if (offset < l.edges) {
        size_t at = offset - l.nodes, size = sizeof(struct scomp_node);
        error_set(text, 0, "node %zu: %s", at / size, node_field(at % size));
    } else if (offset < l.inputs)
        error_set(text, 0,
                  "edge %zu: it names a stream that does not exist or that another edge has, leaves one unconnected, "
                  "or closes a cycle",
                  (offset - l.edges) / sizeof(struct scomp_edge));
    else if (offset < l.outputs) {
        size_t at = offset - l.inputs, size = sizeof(struct scomp_stream);
        where_stream("input", at / size, job->streams_in, at % size, text);
    } else if (offset < l.extents) {
        size_t at = offset - l.outputs, size = sizeof(struct scomp_stream);
        where_stream("output", at / size, job->streams_out, at % size, text);
    } else if (offset < l.end)
        error_set(text, 0, "extent %zu", (offset - l.extents) / sizeof(struct scomp_extent));
    else
        error_set(text, 0, "behind the end of the request");
    return text->text;
}
