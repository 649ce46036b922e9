/* SPDX-License-Identifier: BSD-3-Clause */
/* The request of a job, taken apart again as the drive does, and the words for every place in it. */
#include "request.h"

#include "check.h"

#include <assasin_contract.h>
#include <string.h>

static const struct assasin_extent extents[] = {{8, 1}, {16, 2}, {32, 4}};
static const struct assasin_input inputs[] = {
    {0, 1, 100, NULL}, {0, 0, 7, "seven.."}, {1, 1, 8000, NULL}, {0, 0, 0, NULL}};
static const struct assasin_output outputs[] = {{2, 1}, {0, 0}};
static const struct assasin_node nodes[] = {{3, 2, 1, -1, 0, 12}, {4, 1, 1, 2, 64, 5}};
static const struct assasin_edge edges[] = {
    {ASSASIN_OUTSIDE, 0, 0, 0}, {ASSASIN_OUTSIDE, 1, 0, 1}, {0, 0, 1, 0}, {1, 0, ASSASIN_OUTSIDE, 0}, {9, 9, 9, 9}};
static const char args[69] = "arguments of node 0";

static struct assasin_job tree(void) {
    return (struct assasin_job){.streams_in = 2,
                                .streams_out = 1,
                                .s_log2 = -1,
                                .pieces = 2,
                                .inputs = inputs,
                                .outputs = outputs,
                                .extents = extents,
                                .extent_count = 3,
                                .nodes = nodes,
                                .node_count = 2,
                                .edges = edges,
                                .edge_count = 5,
                                .args = args,
                                .args_bytes = sizeof(args),
                                .max_cores = 4,
                                .watchdog_kcycles = 9};
}

static void a_tree_in_bytes(void) {
    struct assasin_job job = tree();
    uint8_t bytes[512];
    /* Header, arguments to 72, nodes, edges to 24, inputs, outputs, extents. */
    size_t at = 64 + 72, length = at + 2 * 16 + 24 + 4 * 16 + 2 * 16 + 3 * 16;
    CHECK(request_bytes(&job) == length);
    memset(bytes, 0xAA, sizeof(bytes));
    request_write(&job, bytes);
    CHECK(bytes[length] == 0xAA);
    struct scomp_request head;
    memcpy(&head, bytes, sizeof(head));
    CHECK(head.magic == SCOMP_MAGIC && head.version == SCOMP_VERSION && head.flags == SCOMP_FLAG_OUT_TABLE);
    CHECK(head.nodes == 2 && head.edges == 5 && head.pieces == 2 && head.extents == 3 && head.s_log2 == 0xFF);
    CHECK(memcmp(bytes + 64, args, sizeof(args)) == 0 && bytes[64 + 69] == 0);
    struct scomp_node node;
    memcpy(&node, bytes + at + 16, sizeof(node));
    CHECK(node.func == 4 && node.s_log2 == 2 && node.args_offset == 64 && node.args_bytes == 5 && node.pad[2] == 0);
    at += 2 * 16;
    CHECK(memcmp(bytes + at + 4, (uint8_t[]){0xFF, 1, 0, 1}, 4) == 0);
    at += 24;
    struct scomp_stream stream;
    memcpy(&stream, bytes + at + 2 * 16, sizeof(stream));
    CHECK(stream.first_extent == 1 && stream.extent_count == 1 && stream.bytes == 8000);
    at += 4 * 16;
    memcpy(&stream, bytes + at, sizeof(stream));
    CHECK(stream.first_extent == 2 && stream.extent_count == 1 && stream.bytes == 0);
    at += 2 * 16;
    struct scomp_extent extent;
    memcpy(&extent, bytes + at + 2 * 16, sizeof(extent));
    CHECK(extent.lba == 32 && extent.count == 4);
}

static void without_blocks_to_write_there_is_no_output_table(void) {
    static const struct assasin_output to_the_host[] = {{0, 0}, {0, 0}};
    struct assasin_job job = tree();
    size_t with = request_bytes(&job);
    job.outputs = to_the_host;
    CHECK(request_bytes(&job) == with - 2 * 16);
    uint8_t bytes[512];
    request_write(&job, bytes);
    struct scomp_request head;
    memcpy(&head, bytes, sizeof(head));
    CHECK(head.flags == 0);
}

static void every_place_has_words(void) {
    static const struct {
        uint32_t offset;
        const char *words;
    } places[] = {{9, "output streams"},
                  {70, "arguments"},
                  {136, "node 0: its function"},
                  {136 + 16 + 8, "node 1: its args_offset"},
                  {168 + 12, "edge 3"},
                  {192 + 16, "input stream 1 of piece 0: its first extent"},
                  {192 + 2 * 16 + 8, "input stream 0 of piece 1: its length"},
                  {256 + 16 + 4, "output stream 0 of piece 1: its number of extents"},
                  {288 + 33, "extent 2"},
                  {336, "behind the end"},
                  {0xFFFFFFFF, "behind the end"}};
    struct assasin_job job = tree();
    struct assasin_error text;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        CHECK(strstr(request_where(&job, places[i].offset, &text), places[i].words));
}

int main(void) {
    RUN(a_tree_in_bytes);
    RUN(without_blocks_to_write_there_is_no_output_table);
    RUN(every_place_has_words);
    return 0;
}
