/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces: from their start on free cores to their last chunk. */
#include <string.h>

#include "csd/core.h"
#include "platform/console.h"
#include "platform/copy.h"

static struct piece pieces[MAX_CORES];

void piece_init(void) {
    memset(pieces, 0, sizeof pieces);
}

/* ---- start ---- */

/** What a node is. */
struct node_spec {
    const struct function *function;
    uint32_t streams_in, streams_out, s_log2;
    uint32_t args, args_bytes;
};

static struct node_spec node_spec(const struct request *r, uint32_t n) {
    struct node_spec spec = {.function = r->function[n]};
    uint32_t args = r->args;
    if (!r->tree) {
        spec.streams_in = r->streams_in;
        spec.streams_out = r->streams_out;
        spec.s_log2 = r->s_log2;
        spec.args = args;
        spec.args_bytes = r->args_bytes;
        return spec;
    }
    uint32_t at = r->node_table + n * (uint32_t)sizeof(struct scomp_node);
    uint32_t w = hal_read(at);
    spec.streams_in = w >> 16 & 0xffu;
    spec.streams_out = w >> 24;
    spec.s_log2 = hal_read(at + 4) & 0xffu;
    if (spec.s_log2 == 0xff) {
        spec.s_log2 = request_s_log2(spec.streams_in, spec.streams_out);
    }
    spec.args = args + hal_read(at + 8);
    spec.args_bytes = hal_read(at + 12);
    return spec;
}

/** Tiles of the `free` ones for all nodes, none twice. False when there are too few. */
static bool choose(const struct request *r, uint32_t number, uint32_t free, uint8_t chosen[SCOMP_MAX_NODES]) {
    for (uint32_t n = 0; n < r->nodes; n++) {
        uint32_t best = MAX_CORES;
        uint32_t fit = free & function_tiles(r->function[n]);
        for (uint32_t i = 0; i < scomp_tiles; i++) {
            if ((fit >> i & 1) == 0 || (r->local && i != number)) {
                continue;
            }
            /* A core that holds the code already starts sooner. */
            bool loaded = cores[i].generation == r->function[n]->generation;
            if (best == MAX_CORES || loaded) {
                best = i;
                if (loaded) {
                    break;
                }
            }
        }
        if (best == MAX_CORES) {
            return false;
        }
        free &= ~(1u << best);
        chosen[n] = (uint8_t)best;
    }
    return true;
}

uint32_t piece_tiles(const struct request *r) {
    uint32_t tiles = 0;
    for (uint32_t n = 0; n < r->nodes; n++) {
        tiles |= function_tiles(r->function[n]);
    }
    return tiles;
}

bool piece_impossible(const struct request *r) {
    uint8_t chosen[SCOMP_MAX_NODES];
    return !choose(r, 0, UINT32_MAX, chosen);
}

static void core_set_up(struct piece *p, uint32_t n, const struct node_spec *spec) {
    struct core *c = &cores[p->core[n]];
    uint32_t index = c->index;
    uint32_t generation = c->generation;
    memset(c, 0, sizeof *c);
    c->index = index;
    c->generation = generation;
    c->phase = CORE_LOADING;
    c->piece = p;
    c->function = spec->function;
    c->node = (uint8_t)n;
    c->streams_in = (uint8_t)spec->streams_in;
    c->streams_out = (uint8_t)spec->streams_out;
    c->s_log2 = (uint8_t)spec->s_log2;
    hal_write(core_reg(c, CORE_CTRL), 0);
    hal_write(core_reg(c, CORE_PARTITION),
              PLACE(CORE_PARTITION, S_LOG2, c->s_log2) | PLACE(CORE_PARTITION, PAGE_LOG2, PAGE_LOG2));
    hal_write(core_reg(c, CORE_EVENT), CORE_EVENTS);
    hal_write(core_reg(c, CORE_EVENT_ENABLE), CORE_EVENTS | CORE_OUT_PAGE);
    /* Streams that the node does not have end at once. */
    hal_write(core_reg(c, CORE_IEND_VALID), (1u << (1u << c->s_log2)) - (1u << c->streams_in));
    uint32_t ring_pages = (0x10000u >> c->s_log2) >> PAGE_LOG2;
    for (uint32_t i = 0; i < c->streams_in; i++) {
        *core_stream(c, i) = (struct stream){.ihead = core_reg(c, CORE_IHEAD + i * 4),
                                             .core = (uint8_t)index,
                                             .id = (uint8_t)i,
                                             .ring_pages = (uint8_t)ring_pages,
                                             .mode = STREAM_EDGE,
                                             .total = UINT32_MAX};
    }
}

/** Input stream `i` of node `n` is external input `ext`. */
static void connect_input(struct piece *p, uint32_t ext, uint32_t n, uint32_t i) {
    const struct request *r = p->request;
    struct stream *s = core_stream(&cores[p->core[n]], i);
    p->in[ext] = s;
    uint32_t entry = request_input(r, p->number, ext);
    uint32_t high = hal_read(entry + 12);
    if (high & STREAM_IS_FED) {
        feed_open(s, r, p->number, ext);
        return;
    }
    uint64_t bytes = hal_read(entry + 8) | (uint64_t)high << 32;
    uint32_t first = hal_read(entry);
    uint32_t extent = r->local ? 0 : r->extent_table + first * (uint32_t)sizeof(struct scomp_extent);
    /* A page that waits for room at the head of a way holds up what comes behind it. With several streams that may be
     * the very page that its core waits for; with flash output, the programs that would make room; in a tree, what some
     * other node waits for. What several streams may do all the same: abreast.c. */
    bool gated = r->streams_in > 1 || r->tree || r->out_table != 0 || r->throttled;
    stream_open(s, bytes, r->local ? first : 0, extent, gated);
}

/** Output stream `i` of node `n` is external output `ext`. */
static void connect_output(struct piece *p, uint32_t n, uint32_t i, uint32_t ext) {
    const struct request *r = p->request;
    struct sink *k = &cores[p->core[n]].sinks[i];
    *k = (struct sink){.kind = SINK_HOST, .ext = (uint8_t)ext};
    if (r->out_table == 0) {
        return;
    }
    uint32_t entry = request_output(r, p->number, ext);
    uint32_t count = hal_read(entry + 4);
    if (r->run) {
        k->kind = SINK_MEMORY;
        p->flash[ext] = (struct flash_out){.lba = hal_read(entry), .left = count};
    } else if (count != 0) {
        k->kind = SINK_FLASH;
        p->flash[ext] = (struct flash_out){
            .extent = r->extent_table + hal_read(entry) * (uint32_t)sizeof(struct scomp_extent), .extents = count};
    }
}

static void connect(struct piece *p) {
    const struct request *r = p->request;
    if (!r->tree) {
        for (uint32_t i = 0; i < r->streams_in; i++) {
            connect_input(p, i, 0, i);
        }
        for (uint32_t i = 0; i < r->streams_out; i++) {
            connect_output(p, 0, i, i);
        }
        return;
    }
    for (uint32_t i = 0; i < r->edges; i++) {
        uint32_t e = hal_read(r->edge_table + i * (uint32_t)sizeof(struct scomp_edge));
        uint32_t from = e & 0xffu;
        uint32_t from_stream = e >> 8 & 0xffu;
        uint32_t to = e >> 16 & 0xffu;
        uint32_t to_stream = e >> 24;
        if (from == SCOMP_OUTSIDE) {
            connect_input(p, from_stream, to, to_stream);
        } else if (to == SCOMP_OUTSIDE) {
            connect_output(p, from, from_stream, to_stream);
        } else {
            cores[p->core[from]].sinks[from_stream] =
                (struct sink){.kind = SINK_NODE, .to = core_stream(&cores[p->core[to]], to_stream)};
        }
    }
}

bool piece_start(struct request *r, uint32_t number) {
    uint8_t chosen[SCOMP_MAX_NODES];
    uint32_t free = 0;
    for (uint32_t i = 0; i < scomp_tiles; i++) {
        free |= (uint32_t)(cores[i].phase == CORE_FREE) << i;
    }
    if (!choose(r, number, free, chosen) || copy_space() < r->nodes * (WIPE_COPIES + FUNCTION_COPIES + 2)) {
        return false;
    }
    /* A core has one piece, so its number names a piece too. */
    struct piece *p = &pieces[chosen[0]];
    memset(p, 0, sizeof *p);
    p->request = r;
    p->number = number;
    p->nodes = r->nodes;
    p->list = DRAM_COMMITS + chosen[0] * DRAM_COMMIT_STRIDE;
    memcpy(p->core, chosen, sizeof p->core);
    r->running += r->nodes;
    for (uint32_t n = 0; n < p->nodes; n++) {
        struct node_spec spec = node_spec(r, n);
        core_set_up(p, n, &spec);
    }
    core_window_update();
    connect(p);
    abreast_open(&cores[p->core[0]]);
    for (uint32_t n = 0; n < p->nodes; n++) {
        struct node_spec spec = node_spec(r, n);
        core_load(&cores[p->core[n]], spec.args, spec.args_bytes);
    }
    for (uint32_t n = 0; n < p->nodes; n++) {
        if (!cores[p->core[n]].wiping) {
            core_pump(&cores[p->core[n]]);
        }
    }
    return true;
}

/* ---- reports ---- */

static bool report_chunk(struct request *r, uint32_t number, uint32_t flags, uint32_t status, const struct core *c,
                         const struct scomp_report *rep, uint32_t *id) {
    struct scomp_chunk header = {
        .piece = number, .flags = (uint8_t)flags, .status = (uint16_t)status, .bytes = sizeof *rep};
    if (c != NULL) {
        header.cause = c->cause;
        header.pc = c->pc;
        header.tval = c->tval;
        header.exit_code = c->exit_code;
        if (status == SCOMP_STATUS_MEDIA && c->cause != 0) {
            header.stream = c->input;
            header.position = c->position;
        }
    }
    uint32_t at = result_report(r, &header, id);
    if (at == 0) {
        return false;
    }
    uint32_t words[sizeof *rep / 4];
    memcpy(words, rep, sizeof words);
    for (uint32_t i = 0; i < sizeof words / 4; i++) {
        hal_write(at + (uint32_t)sizeof header + i * 4, words[i]);
    }
    return true;
}

/** Bytes of a stream that its core has consumed. */
static uint64_t consumed(const struct stream *s) {
    /* Head counts modulo 2^32; it is less than a ring behind what was delivered. */
    uint64_t delivered = (uint64_t)s->delivered << PAGE_LOG2;
    uint32_t head = hal_read(s->ihead);
    return delivered - (uint32_t)((uint32_t)delivered - head);
}

static struct scomp_report core_report(const struct core *c) {
    struct scomp_report rep = {.core = c->index, .node = c->node, .t_start = c->t_start, .t_end = c->t_end};
    for (uint32_t i = 0; i < c->streams_in; i++) {
        rep.bytes_in += consumed(core_stream(c, i));
        rep.pages += core_stream(c, i)->delivered;
    }
    for (uint32_t s = 0; s < MAX_STREAMS; s++) {
        rep.bytes_out += c->out[s];
    }
    rep.cycles = counter_read(core_reg(c, CORE_CYCLES_LO));
    rep.instret = counter_read(core_reg(c, CORE_INSTRET_LO));
    rep.wait_in = counter_read(core_reg(c, CORE_WAIT_IN_CYCLES_LO));
    rep.wait_out = counter_read(core_reg(c, CORE_WAIT_OUT_CYCLES_LO));
    rep.wait_mem = counter_read(core_reg(c, CORE_WAIT_MEM_CYCLES_LO));
    rep.l1_misses = counter_read(core_reg(c, CORE_L1_MISSES_LO));
    rep.l2_misses = counter_read(core_reg(c, CORE_L2_MISSES_LO));
    rep.prefetches = counter_read(core_reg(c, CORE_PREFETCHES_LO));
    rep.t_first_page = c->t_first;
    rep.t_last_page = c->t_last;
    return rep;
}

/** Add a node to the report of its piece. */
static void report_add(struct scomp_report *sum, const struct scomp_report *node) {
    if (node->t_start != 0 && (sum->t_start == 0 || node->t_start < sum->t_start)) {
        sum->t_start = node->t_start;
    }
    if (node->t_end > sum->t_end) {
        sum->t_end = node->t_end;
    }
    sum->cycles += node->cycles;
    sum->instret += node->instret;
    sum->wait_in += node->wait_in;
    sum->wait_out += node->wait_out;
    sum->wait_mem += node->wait_mem;
    sum->l1_misses += node->l1_misses;
    sum->l2_misses += node->l2_misses;
    sum->prefetches += node->prefetches;
}

/** What the piece as a whole did at its outside. */
static void report_outside(struct scomp_report *sum, const struct piece *p) {
    for (uint32_t i = 0; i < p->request->streams_in; i++) {
        const struct core *c = &cores[p->in[i]->core];
        sum->bytes_in += consumed(p->in[i]);
        sum->pages += p->in[i]->delivered;
        if (c->t_first != 0 && (sum->t_first_page == 0 || c->t_first < sum->t_first_page)) {
            sum->t_first_page = c->t_first;
        }
        if (c->t_last > sum->t_last_page) {
            sum->t_last_page = c->t_last;
        }
    }
    for (uint32_t n = 0; n < p->nodes; n++) {
        const struct core *c = &cores[p->core[n]];
        for (uint32_t s = 0; s < c->streams_out; s++) {
            if (c->sinks[s].kind == SINK_HOST || c->sinks[s].kind == SINK_FLASH) {
                sum->bytes_out += c->out[s];
            }
        }
    }
}

static void report(struct piece *p) {
    struct request *r = p->request;
    const struct core *which = &cores[p->core[p->failed]];
    struct scomp_report sum;
    uint32_t id;
    bool room = true;
    if (r->tree) {
        sum = (struct scomp_report){.core = which->index, .node = p->failed};
        for (uint32_t n = 0; n < p->nodes; n++) {
            const struct core *c = &cores[p->core[n]];
            struct scomp_report rep = core_report(c);
            report_add(&sum, &rep);
            room = room && report_chunk(r, p->number, SCOMP_CHUNK_FLAG_NODE, c->status, c, &rep, &id);
            if (room) {
                result_ready(r, id);
            }
        }
        report_outside(&sum, p);
    } else {
        sum = core_report(which);
    }
    if (!room || !report_chunk(r, p->number, SCOMP_CHUNK_FLAG_LAST, p->status, which, &sum, &id)) {
        /* Cannot happen: room for it was kept when the piece started. */
        panic("no room for the report of piece %u", p->number);
    }
    /* Counted first, so that the read that takes the last report knows. */
    request_count_piece(r, p->status);
    result_ready(r, id);
}

bool piece_never_ran(struct request *r, uint32_t number) {
    if (r->detached) {
        request_count_piece(r, SCOMP_STATUS_ABORTED);
    } else {
        struct scomp_report none = {0};
        uint32_t id;
        if (!result_room(r) ||
            !report_chunk(r, number, SCOMP_CHUNK_FLAG_LAST, SCOMP_STATUS_ABORTED, NULL, &none, &id)) {
            return false;
        }
        request_count_piece(r, SCOMP_STATUS_ABORTED);
        result_ready(r, id);
    }
    feed_piece_ended(r, number);
    return true;
}

/* ---- end ---- */

void piece_node_failed(struct piece *p, struct core *c) {
    if (p->status != SCOMP_STATUS_OK) {
        /* The others are being stopped already. Whoever stops them goes through the list of nodes, which may be gone
         * once the last of them is quiet. */
        return;
    }
    p->status = c->status;
    p->failed = c->node;
    for (uint32_t n = 0; n < p->nodes; n++) {
        struct core *other = &cores[p->core[n]];
        if (other == c) {
            continue;
        }
        if (core_active(other)) {
            core_end(other, SCOMP_STATUS_ABORTED);
        } else if (other->phase == CORE_ENDING) {
            output_retry(other, false);
        }
    }
}

static void settled(struct piece *p, enum ftl_status status) {
    struct request *r = p->request;
    if (status != FTL_OK && p->status == SCOMP_STATUS_OK) {
        p->status = SCOMP_STATUS_MEDIA;
    }
    if (r->run) {
        const struct core *c = &cores[p->core[0]];
        r->outcome = p->status;
        r->detail = p->status == SCOMP_STATUS_EXIT_CODE ? c->exit_code : c->cause;
        for (uint32_t s = 0; s < c->streams_out; s++) {
            r->written += c->out[s];
        }
    }
    if (r->detached) {
        request_count_piece(r, p->status);
    } else {
        report(p);
    }
    feed_piece_ended(r, p->number);
    for (uint32_t n = 0; n < p->nodes; n++) {
        struct core *c = &cores[p->core[n]];
        c->phase = CORE_FREE;
        c->piece = NULL;
    }
    p->request = NULL;
    r->running -= p->nodes;
    request_piece_ended(r);
    scomp_schedule();
}

static void committed(struct ftl_exclusive *x, enum ftl_status status) {
    settled(CONTAINER(x, struct piece, commit), status);
}

void piece_check(struct piece *p) {
    if (p->request == NULL || p->settling || p->quiet < p->nodes || p->writes > 0) {
        return;
    }
    p->settling = true;
    if (p->pages == 0) {
        settled(p, FTL_OK);
        return;
    }
    p->commit = (struct ftl_commit){.x.done = committed, .list = p->list, .count = p->pages};
    if (p->status == SCOMP_STATUS_OK) {
        ftl_commit(&p->commit);
    } else {
        ftl_discard(&p->commit);
    }
}

void piece_abort(struct request *r) {
    for (uint32_t i = 0; i < scomp_tiles; i++) {
        struct core *c = &cores[i];
        if (c->phase == CORE_FREE || c->piece->request != r) {
            continue;
        }
        if (core_active(c)) {
            core_end(c, SCOMP_STATUS_ABORTED);
        } else if (c->phase == CORE_ENDING) {
            output_retry(c, true);
        }
    }
}
