/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunks.h"

#include <assasin_contract.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 64u

int chunks_init(struct chunks *c, const struct assasin_job *job, const struct assasin_sink *sink, void *arg) {
    uint32_t streams = job->streams_out;
    *c = (struct chunks){.pieces = job->pieces,
                         .streams = streams,
                         .nodes = job->node_count,
                         .all_here = true,
                         .sink = sink,
                         .arg = arg};
    for (size_t i = 0; job->outputs && i < (size_t)job->pieces * streams; i++)
        c->all_here = c->all_here && job->outputs[i].extent_count == 0;
    c->position = calloc((size_t)job->pieces * (streams ? streams : 1), sizeof(*c->position));
    c->ended = calloc(job->pieces, sizeof(*c->ended));
    if (c->position && c->ended)
        return 0;
    chunks_destroy(c);
    return -ENOMEM;
}

void chunks_destroy(struct chunks *c) {
    free(c->position);
    free(c->ended);
    *c = (struct chunks){0};
}

static int unpack_report(const struct scomp_chunk *head, const void *data, struct assasin_piece *piece,
                         struct assasin_error *error) {
    struct scomp_report r;
    if (head->bytes != sizeof(r))
        return error_set(error, EPROTO, "the drive sent a report of %u bytes for piece %u, not %zu", head->bytes,
                         head->piece, sizeof(r));
    memcpy(&r, data, sizeof(r));
    *piece = (struct assasin_piece){
        .status = head->status,
        .cause = head->cause,
        .pc = head->pc,
        .tval = head->tval,
        .exit_code = head->exit_code,
        .stream = head->stream,
        .position = head->position,
        .report = {.core = r.core,
                   .node = r.node,
                   .bytes_in = r.bytes_in,
                   .bytes_out = r.bytes_out,
                   .t_start = r.t_start,
                   .t_end = r.t_end,
                   .cycles = r.cycles,
                   .instret = r.instret,
                   .wait_in = r.wait_in,
                   .wait_out = r.wait_out,
                   .t_first_page = r.t_first_page,
                   .t_last_page = r.t_last_page,
                   .pages = r.pages,
                   .wait_mem = r.wait_mem,
                   .l1_misses = r.l1_misses,
                   .l2_misses = r.l2_misses,
                   .prefetches = r.prefetches},
    };
    return 0;
}

static int end_of_node(struct chunks *c, const struct scomp_chunk *head, const void *data,
                       struct assasin_error *error) {
    struct assasin_piece node;
    int rc = unpack_report(head, data, &node, error);
    if (rc)
        return rc;
    if (node.report.node >= c->nodes)
        return error_set(error, EPROTO, "the drive sent a report of node %u of a job whose pieces have %u",
                         node.report.node, c->nodes);
    return c->sink && c->sink->node ? c->sink->node(c->arg, head->piece, (uint8_t)node.report.node, &node) : 0;
}

static int end_of_piece(struct chunks *c, const struct scomp_chunk *head, const void *data,
                        struct assasin_error *error) {
    struct assasin_piece piece;
    int rc = unpack_report(head, data, &piece, error);
    if (rc)
        return rc;
    c->ended[head->piece] = true;
    c->ends++;
    c->failed += head->status != SCOMP_STATUS_OK;
    uint64_t got = 0;
    for (uint32_t s = 0; s < c->streams; s++)
        got += c->position[(size_t)head->piece * c->streams + s];
    if (head->status == SCOMP_STATUS_OK && (c->all_here ? got != piece.report.bytes_out : got > piece.report.bytes_out))
        return error_set(error, EPROTO, "piece %u produced %llu bytes, but %llu arrived", head->piece,
                         (unsigned long long)piece.report.bytes_out, (unsigned long long)got);
    return c->sink && c->sink->end ? c->sink->end(c->arg, head->piece, &piece) : 0;
}

static int one_chunk(struct chunks *c, const struct scomp_chunk *head, const void *data, struct assasin_error *error) {
    if (head->piece >= c->pieces)
        return error_set(error, EPROTO, "the drive sent a chunk of piece %u of a job of %u pieces", head->piece,
                         c->pieces);
    if (c->ended[head->piece])
        return error_set(error, EPROTO, "the drive sent a chunk of piece %u after its end", head->piece);
    if (head->flags & SCOMP_CHUNK_FLAG_LAST)
        return end_of_piece(c, head, data, error);
    if (head->flags & SCOMP_CHUNK_FLAG_NODE)
        return end_of_node(c, head, data, error);
    if (head->stream >= c->streams)
        return error_set(error, EPROTO, "the drive sent output stream %u of a job that has %u", head->stream,
                         c->streams);
    uint64_t *position = &c->position[(size_t)head->piece * c->streams + head->stream];
    if (head->position != *position)
        return error_set(error, EPROTO, "output stream %u of piece %u continues at byte %llu, expected %llu",
                         head->stream, head->piece, (unsigned long long)head->position, (unsigned long long)*position);
    *position += head->bytes;
    return c->sink && c->sink->data
               ? c->sink->data(c->arg, head->piece, head->stream, head->position, data, head->bytes)
               : 0;
}

int chunks_feed(struct chunks *c, const void *data, size_t bytes, struct assasin_error *error) {
    const uint8_t *p = data;
    while (bytes) {
        struct scomp_chunk head;
        if (bytes < sizeof(head))
            return error_set(error, EPROTO, "the drive sent %zu bytes where a chunk was due", bytes);
        memcpy(&head, p, sizeof(head));
        if (head.magic != SCOMP_CHUNK_MAGIC)
            return error_set(error, EPROTO, "the drive sent a chunk with magic %08x", head.magic);
        uint64_t padded = sizeof(head) + ((uint64_t)head.bytes + ALIGN - 1) / ALIGN * ALIGN;
        if (padded > bytes)
            return error_set(error, EPROTO, "the drive sent a chunk of %u bytes in a buffer that holds %zu more",
                             head.bytes, bytes - sizeof(head));
        int rc = one_chunk(c, &head, p + sizeof(head), error);
        if (rc)
            return rc;
        p += padded;
        bytes -= padded;
    }
    return 0;
}
