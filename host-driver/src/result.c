/* SPDX-License-Identifier: BSD-3-Clause */
/* All of a job's output collected. */
#include "result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct stream_output {
    uint8_t *data;
    size_t bytes, room;
};

struct assasin_result {
    uint32_t pieces, streams, nodes, failed;
    struct assasin_piece *piece;
    struct assasin_piece *node;   /* pieces x nodes */
    struct stream_output *output; /* pieces x streams */
};

static int collect_data(void *arg, uint32_t piece, uint8_t stream, uint64_t position, const void *data,
                        uint32_t bytes) {
    struct assasin_result *r = arg;
    struct stream_output *o = &r->output[(size_t)piece * r->streams + stream];
    (void)position;
    if (bytes > o->room - o->bytes) {
        size_t room = (o->bytes + bytes) * 2;
        uint8_t *grown = realloc(o->data, room);
        if (!grown)
            return -ENOMEM;
        o->data = grown;
        o->room = room;
    }
    memcpy(o->data + o->bytes, data, bytes);
    o->bytes += bytes;
    return 0;
}

static int collect_end(void *arg, uint32_t piece, const struct assasin_piece *how) {
    struct assasin_result *r = arg;
    r->piece[piece] = *how;
    return 0;
}

static int collect_node(void *arg, uint32_t piece, uint8_t node, const struct assasin_piece *how) {
    struct assasin_result *r = arg;
    r->node[(size_t)piece * r->nodes + node] = *how;
    return 0;
}

const struct assasin_sink result_sink = {collect_data, collect_end, collect_node};

struct assasin_result *result_new(const struct assasin_job *job) {
    struct assasin_result *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->pieces = job->pieces;
    r->streams = job->streams_out;
    r->nodes = job->node_count;
    r->piece = calloc(job->pieces ? job->pieces : 1, sizeof(*r->piece));
    r->node = calloc((size_t)job->pieces * job->node_count + 1, sizeof(*r->node));
    r->output = calloc((size_t)job->pieces * job->streams_out + 1, sizeof(*r->output));
    if (r->piece && r->node && r->output)
        return r;
    assasin_result_free(r);
    return NULL;
}

void result_set_failed(struct assasin_result *result, uint32_t failed) {
    result->failed = failed;
}

uint32_t assasin_result_failed(const struct assasin_result *result) {
    return result->failed;
}

const struct assasin_piece *assasin_result_piece(const struct assasin_result *result, uint32_t piece) {
    return piece < result->pieces ? &result->piece[piece] : NULL;
}

const struct assasin_piece *assasin_result_node(const struct assasin_result *result, uint32_t piece, uint8_t node) {
    return piece < result->pieces && node < result->nodes ? &result->node[(size_t)piece * result->nodes + node] : NULL;
}

const void *assasin_result_data(const struct assasin_result *result, uint32_t piece, uint8_t stream, size_t *bytes) {
    *bytes = 0;
    if (piece >= result->pieces || stream >= result->streams)
        return NULL;
    const struct stream_output *o = &result->output[(size_t)piece * result->streams + stream];
    *bytes = o->bytes;
    return o->data;
}

void assasin_result_free(struct assasin_result *result) {
    if (!result)
        return;
    for (size_t i = 0; result->output && i < (size_t)result->pieces * result->streams; i++)
        free(result->output[i].data);
    free(result->output);
    free(result->node);
    free(result->piece);
    free(result);
}
