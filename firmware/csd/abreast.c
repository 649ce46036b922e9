// SPDX-License-Identifier: BSD-3-Clause
/*
 * Several streams of one core, read ahead of their rings.
 *
 * A ring of a core with several streams is short: what it holds does not hide the time of a read for the stream that
 * the core takes most of. Such a stream goes ahead, but its pages then wait for room at the heads of ways, and what the
 * core needs first must not be behind them. A function mostly takes its streams in proportion to their lengths (columns
 * of a table, stripes of a file), so a stream goes ahead only while the others have been sent for as far as the core
 * comes, in that proportion, before the last page ahead has room: all pages that make the room are in the ways already.
 * A function that takes its streams otherwise is found by recall.c, which drops the pages in flight.
 */
#include "csd/core.h"

void abreast_open(struct core *c) {
    const struct request *r = c->piece->request;
    if (c->streams_in == 1 || r->tree || r->local || r->out_table != 0) {
        return;
    }
    uint32_t sum = 0;
    for (uint32_t i = 0; i < c->streams_in; i++) {
        const struct stream *s = core_stream(c, i);
        if (s->mode != STREAM_GATED || s->total > UINT32_MAX / MAX_STREAMS / ABREAST_WINDOW) {
            return;
        }
        sum += s->total;
    }
    for (uint32_t i = 0; i < c->streams_in; i++) {
        struct stream *s = core_stream(c, i);
        uint32_t share = sum > 0 ? (ABREAST_WINDOW * s->total + sum / 2) / sum : 0;
        s->ahead = (uint8_t)(share > s->ring_pages ? share - s->ring_pages : 0);
        c->abreast |= s->ahead > 0;
    }
    abreast_set(c, !r->throttled);
}

void abreast_set(struct core *c, bool on) {
    for (uint32_t i = 0; c->abreast && i < c->streams_in; i++) {
        struct stream *s = core_stream(c, i);
        if (s->mode != STREAM_RECALL) {
            s->mode = on && !c->rescued ? STREAM_ABREAST : STREAM_GATED;
            stream_gated++;
        }
    }
}

bool abreast_ahead(const struct stream *s, uint32_t head) {
    const struct core *c = &cores[s->core];
    /* One more, because the last page of `s` may be short: its pages are a larger part of its bytes than of its pages. */
    uint64_t to = head + s->ahead + 1;
    for (uint32_t i = 0; s->ahead > 0 && i < c->streams_in; i++) {
        const struct stream *t = core_stream(c, i);
        if (t != s && t->pushed != t->total && (uint64_t)t->pushed * s->total < to * t->total) {
            return false;
        }
    }
    return s->ahead > 0;
}
