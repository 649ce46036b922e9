// SPDX-License-Identifier: BSD-3-Clause
/*
 * Several streams of one core, read ahead of their rings.
 *
 * A ring of a core with several streams is short: what it holds does not hide the time of a read for the stream that
 * the core takes most of. Such a stream goes ahead, but its pages then wait for room at the heads of ways, and what the
 * core needs first must not be behind them.
 *
 * Most functions take their streams in proportion to their lengths: columns of a table, stripes of a file. The core
 * then makes room for the last page ahead when it has come so far in every stream. So the firmware sends for pages
 * ahead in one stream only after it has sent for the others as far as that: these pages are in the ways already, in
 * front of the one that waits. Of a function that takes its streams otherwise recall.c drops the pages in flight.
 */
#include "csd/core.h"

/** Pages that one of several streams may be ahead of its ring. With two streams, as many as the ring has: with more,
 * pages of one that wait at the heads of ways are in front of those that another needs. */
#define MOST_AHEAD 2u

/** A core may have so many pages less to go than another one of its request. */
#define LEAD 24u

/** A stream's end in units of `pace`. */
#define PACE_LOG2 30u
/** A page as a part of its stream, at most. */
static uint32_t pace[MAX_CORES * MAX_STREAMS];

void abreast_open(struct core *c) {
    const struct request *r = c->piece->request;
    if (c->streams_in == 1 || r->tree || r->local || r->out_table != 0) {
        return;
    }
    uint32_t sum = 0;
    for (uint32_t i = 0; i < c->streams_in; i++) {
        const struct stream *s = core_stream(c, i);
        if (s->mode != STREAM_GATED || s->total > 1u << (PACE_LOG2 - 8)) {
            return;
        }
        sum += s->total;
    }
    for (uint32_t i = 0; i < c->streams_in; i++) {
        struct stream *s = core_stream(c, i);
        pace[s - streams] = (1u << PACE_LOG2) / (s->total > 0 ? s->total : 1);
        uint32_t share = sum > 0 ? (ABREAST_WINDOW * s->total + sum / 2) / sum : 0;
        uint32_t ahead = share > s->ring_pages ? share - s->ring_pages : 0;
        uint32_t most = c->streams_in > 2 ? MOST_AHEAD : s->ring_pages;
        s->ahead = (uint8_t)(ahead < most ? ahead : most);
        c->abreast |= s->ahead > 0;
    }
    abreast_set(c, !r->throttled);
}

void abreast_set(struct core *c, bool on) {
    for (uint32_t i = 0; c->abreast && i < c->streams_in; i++) {
        struct stream *s = core_stream(c, i);
        if (s->mode != STREAM_RECALL) {
            s->mode = on && !c->rescued && s->ahead > 0 ? STREAM_ABREAST : STREAM_GATED;
            stream_gated++;
        }
    }
}

/* Pieces that begin together end together when they are of one length: else channels have nothing to do at the end. */
void abreast_balance(void) {
    for (uint32_t i = 0; i < scomp_tiles; i++) {
        struct core *c = &cores[i];
        if (c->abreast && core_active(c)) {
            c->piece->request->left = 0;
        }
    }
    for (uint32_t i = 0; i < scomp_tiles; i++) {
        struct core *c = &cores[i];
        if (!c->abreast || !core_active(c)) {
            continue;
        }
        c->left = 0;
        for (uint32_t n = 0; n < c->streams_in; n++) {
            c->left += core_stream(c, n)->total - core_stream(c, n)->pushed;
        }
        struct request *r = c->piece->request;
        r->left = c->left > r->left ? c->left : r->left;
    }
    for (uint32_t i = 0; i < scomp_tiles; i++) {
        struct core *c = &cores[i];
        if (c->abreast && core_active(c)) {
            c->leading = c->left + LEAD < c->piece->request->left;
        }
    }
}

bool abreast_ahead(const struct stream *s, uint32_t head) {
    const struct core *c = &cores[s->core];
    if (c->leading) {
        return false;
    }
    /* One page more, because the last one of `s` may be short: then it is a larger part of the bytes than of the pages.
     * Its pace is rounded down, so is the others'. */
    uint32_t page = head + s->ahead + 1;
    uint32_t to = (page < s->total ? page : s->total) * (pace[s - streams] + 1);
    const struct stream *t = core_stream(c, 0);
    const uint32_t *p = &pace[t - streams];
    for (const struct stream *end = t + c->streams_in; t != end; t++, p++) {
        if (t->pushed * *p < to && t != s && t->pushed != t->total) {
            return false;
        }
    }
    stream_ahead |= STREAM_AHEAD_ABREAST;
    return true;
}
