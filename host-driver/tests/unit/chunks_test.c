/* SPDX-License-Identifier: BSD-3-Clause */
/* Reassembly of interleaved chunks: random cuts of known streams must come out whole and in order. */
#include "chunks.h"

#include "check.h"

#include <assasin_contract.h>
#include <errno.h>
#include <string.h>

#define PIECES  5u
#define STREAMS 3u
#define LENGTH  4000u

static uint8_t expected(uint32_t piece, uint32_t stream, uint64_t position) {
    return (uint8_t)(position * 7 + piece * 31 + stream * 101);
}

struct seen {
    uint64_t position[PIECES][STREAMS];
    bool ended[PIECES];
};

static int on_data(void *arg, uint32_t piece, uint8_t stream, uint64_t position, const void *data, uint32_t bytes) {
    struct seen *seen = arg;
    CHECK(position == seen->position[piece][stream]);
    CHECK(!seen->ended[piece]);
    for (uint32_t i = 0; i < bytes; i++)
        CHECK(((const uint8_t *)data)[i] == expected(piece, stream, position + i));
    seen->position[piece][stream] += bytes;
    return 0;
}

static int on_end(void *arg, uint32_t piece, const struct assasin_piece *how) {
    struct seen *seen = arg;
    for (unsigned s = 0; s < STREAMS; s++)
        CHECK(seen->position[piece][s] == LENGTH);
    CHECK(how->report.bytes_out == STREAMS * LENGTH && how->report.core == piece && how->report.t_last_page == 99);
    CHECK(how->status == (piece == 2 ? SCOMP_STATUS_TRAP : SCOMP_STATUS_OK) && how->pc == piece * 4);
    seen->ended[piece] = true;
    return 0;
}

static size_t put(uint8_t *to, struct scomp_chunk head, const void *data) {
    memcpy(to, &head, sizeof(head));
    memcpy(to + sizeof(head), data, head.bytes);
    return sizeof(head) + (head.bytes + 63u) / 64 * 64;
}

static size_t next_chunk(uint8_t *to, struct seen *sent, uint32_t random) {
    uint32_t piece = random % PIECES;
    if (sent->ended[piece])
        return 0;
    uint32_t stream = random / PIECES % STREAMS;
    uint64_t at = sent->position[piece][stream];
    uint32_t bytes = random / 16 % 700;
    if (bytes > LENGTH - at)
        bytes = (uint32_t)(LENGTH - at);
    if (bytes) {
        uint8_t data[700];
        for (uint32_t i = 0; i < bytes; i++)
            data[i] = expected(piece, stream, at + i);
        sent->position[piece][stream] += bytes;
        struct scomp_chunk head = {
            .magic = SCOMP_CHUNK_MAGIC, .piece = piece, .stream = (uint8_t)stream, .bytes = bytes, .position = at};
        return put(to, head, data);
    }
    for (unsigned s = 0; s < STREAMS; s++)
        if (sent->position[piece][s] != LENGTH)
            return 0;
    sent->ended[piece] = true;
    struct scomp_report report = {.core = piece, .bytes_out = STREAMS * LENGTH, .t_last_page = 99};
    struct scomp_chunk head = {.magic = SCOMP_CHUNK_MAGIC,
                               .piece = piece,
                               .flags = SCOMP_CHUNK_FLAG_LAST,
                               .status = piece == 2 ? SCOMP_STATUS_TRAP : SCOMP_STATUS_OK,
                               .bytes = sizeof(report),
                               .pc = piece * 4};
    return put(to, head, &report);
}

static void interleaved_streams(void) {
    static const struct assasin_sink sink = {on_data, on_end, NULL};
    static const struct assasin_job job = {.pieces = PIECES, .streams_out = STREAMS};
    for (uint32_t seed = 1; seed <= 50; seed++) {
        struct seen seen = {0}, sent = {0};
        struct chunks c;
        struct assasin_error error;
        uint32_t random = seed;
        CHECK(chunks_init(&c, &job, &sink, &seen) == 0);
        while (c.ends < PIECES) {
            uint8_t buffer[8192];
            size_t used = 0;
            for (unsigned i = 0; i < 8; i++) {
                random = random * 1664525u + 1013904223u;
                used += next_chunk(buffer + used, &sent, random >> 8);
            }
            CHECK(chunks_feed(&c, buffer, used, &error) == 0);
        }
        CHECK(c.failed == 1);
        chunks_destroy(&c);
    }
}

static int stop(void *arg, uint32_t piece, uint8_t stream, uint64_t position, const void *data, uint32_t bytes) {
    (void)arg, (void)piece, (void)stream, (void)position, (void)data, (void)bytes;
    return -EINTR;
}

static void the_sink_can_stop(void) {
    static const struct assasin_sink sink = {stop, NULL, NULL};
    static const struct assasin_job job = {.pieces = 1, .streams_out = 1};
    struct chunks c;
    struct assasin_error error;
    uint8_t buffer[128] = {0};
    put(buffer, (struct scomp_chunk){.magic = SCOMP_CHUNK_MAGIC, .bytes = 3}, "abc");
    CHECK(chunks_init(&c, &job, &sink, NULL) == 0);
    CHECK(chunks_feed(&c, buffer, sizeof(buffer), &error) == -EINTR);
    chunks_destroy(&c);
}

static int on_node(void *arg, uint32_t piece, uint8_t node, const struct assasin_piece *how) {
    CHECK(piece == 0 && how->report.node == node);
    ((uint64_t *)arg)[node] = how->report.wait_mem;
    return 0;
}

/* Output under blocks of the drive counts in a report but does not arrive, and every node has a report of its own. */
static void reports_of_a_tree_that_writes_blocks(void) {
    static const struct assasin_sink sink = {NULL, NULL, on_node};
    static const struct assasin_output outputs[] = {{0, 2}, {0, 0}};
    static const struct assasin_job job = {.pieces = 1, .streams_out = 2, .outputs = outputs, .node_count = 2};
    struct chunks c;
    struct assasin_error error;
    uint8_t buffer[1024] = {0};
    uint64_t wait_mem[2] = {0};
    struct scomp_chunk data = {.magic = SCOMP_CHUNK_MAGIC, .stream = 1, .bytes = 3};
    struct scomp_chunk head = {.magic = SCOMP_CHUNK_MAGIC, .bytes = sizeof(struct scomp_report)};
    size_t used = put(buffer, data, "abc");
    head.flags = SCOMP_CHUNK_FLAG_NODE;
    for (uint32_t n = 0; n < 2; n++)
        used += put(buffer + used, head, &(struct scomp_report){.node = n, .wait_mem = 40 + n});
    head.flags = SCOMP_CHUNK_FLAG_LAST;
    used += put(buffer + used, head, &(struct scomp_report){.bytes_out = 5000});
    CHECK(chunks_init(&c, &job, &sink, wait_mem) == 0);
    CHECK(chunks_feed(&c, buffer, used, &error) == 0);
    CHECK(c.ends == 1 && wait_mem[0] == 40 && wait_mem[1] == 41);
    chunks_destroy(&c);

    CHECK(chunks_init(&c, &job, &sink, wait_mem) == 0);
    head.flags = SCOMP_CHUNK_FLAG_NODE;
    used = put(buffer, head, &(struct scomp_report){.node = 2});
    CHECK(chunks_feed(&c, buffer, used, &error) == -EPROTO);
    chunks_destroy(&c);
}

int main(void) {
    RUN(reports_of_a_tree_that_writes_blocks);
    RUN(interleaved_streams);
    RUN(the_sink_can_stop);
    return 0;
}
