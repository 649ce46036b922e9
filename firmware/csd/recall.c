// SPDX-License-Identifier: BSD-3-Clause
/* Reads that run ahead of a ring wait at the heads of ways until the core takes what is in the ring. A core that does
 * not must not hold up the others, nor itself, when it waits for a page of another stream behind them: its pages in
 * flight are recalled, that is dropped, and sent for again when the rings have room for them. */
#include "csd/core.h"

/** A core that has left its full ring alone for so long, cycles, while others use the flash, loses its pages in flight.
 */
#define RECALL_AFTER 16384u
/** Likewise a core with several streams, which itself may wait for a page that has to wait for its turn in a way. */
#define RECALL_ABREAST_AFTER (2u * RECALL_AFTER)
/** Likewise when none of them is full: each may lack a page that is behind one of the other's. Longer than an erase,
 * which delays pages, too. */
#define RECALL_UNFILLED_AFTER (64u * RECALL_AFTER)

/** Bits of an entry's block number; the stream's number is above them. */
#define ENTRY_STREAM_SHIFT 29u
_Static_assert(SLOT_WINDOW_MAX * 8u <= DRAM_RECALL_STRIDE, "pages in flight of one stream");
_Static_assert(((0x10000u >> PAGE_LOG2) + ABREAST_WINDOW + MAX_STREAMS) * 8u <= DRAM_RECALL_STRIDE,
               "pages in flight of several streams");
_Static_assert(MAX_STREAMS <= 1u << (32u - ENTRY_STREAM_SHIFT), "numbers of streams in an entry");

/** A dropped page. */
struct entry {
    uint32_t page, lba;
    struct stream *stream;
};

static uint32_t entry_at(const struct core *c, uint32_t i) {
    return DRAM_RECALL + c->index * DRAM_RECALL_STRIDE + i * 8;
}

static struct entry entry_get(const struct core *c, uint32_t i) {
    uint32_t word = hal_read(entry_at(c, i) + 4);
    return (struct entry){.page = hal_read(entry_at(c, i)),
                          .lba = word & ((1u << ENTRY_STREAM_SHIFT) - 1),
                          .stream = core_stream(c, word >> ENTRY_STREAM_SHIFT)};
}

static void entry_put(const struct core *c, uint32_t i, struct entry e) {
    hal_write(entry_at(c, i), e.page);
    hal_write(entry_at(c, i) + 4, e.lba | (uint32_t)e.stream->id << ENTRY_STREAM_SHIFT);
}

/** Page of `s` that its core takes from now, modulo POSITION_PAGES + 1. */
static uint32_t head_page(const struct stream *s) {
    return hal_read(s->ihead) >> PAGE_LOG2;
}

/** Send again for the pages that the rings have room for. */
static void push(struct core *c) {
    for (uint32_t i = 0; i < c->dropped;) {
        struct entry e = entry_get(c, i);
        bool room = ((e.page - head_page(e.stream)) & POSITION_PAGES) < e.stream->ring_pages;
        if (!room || !stream_again(e.stream, e.page, e.lba)) {
            i++;
            continue;
        }
        c->dropped--;
        entry_put(c, i, entry_get(c, c->dropped));
    }
    stream_poll_wanted |= c->dropped > 0;
}

void recall_begin(struct core *c) {
    for (uint32_t i = 0; i < c->streams_in; i++) {
        struct stream *s = core_stream(c, i);
        stream_unwait(s);
        s->mode = STREAM_RECALL;
        s->limit = s->pushed;
    }
    c->recalling = true;
    nand_discard(c->index, true);
    recall_check(c);
}

/** Whether the streams of `c` are such as may be recalled. */
static bool recallable(const struct core *c) {
    uint8_t mode = core_stream(c, 0)->mode;
    return c->abreast || (c->streams_in == 1 && mode != STREAM_FED && mode != STREAM_EDGE);
}

uint32_t recall_look(struct core *c) {
    uint32_t kind = c->abreast ? STREAM_AHEAD_ABREAST : STREAM_AHEAD_ALONE;
    if (!recallable(c) || c->recalling) {
        return c->recalling ? kind : 0;
    }
    if (c->dropped > 0) {
        push(c);
        return kind;
    }
    bool ahead = false;
    bool full = false;
    uint32_t progress = 0;
    for (uint32_t i = 0; i < c->streams_in; i++) {
        const struct stream *s = core_stream(c, i);
        uint32_t head = head_page(s);
        bool beyond = ((s->pushed - head) & POSITION_PAGES) > s->ring_pages;
        ahead |= beyond;
        full |= beyond && ((s->delivered - head) & POSITION_PAGES) >= s->ring_pages;
        progress += c->abreast ? head + s->delivered : head;
    }
    uint32_t now = sys_read(SYS_MTIME_LO);
    bool others = c->abreast || nand_outstanding != 0;
    if (!others || !(full || (ahead && c->abreast)) || progress != c->progress) {
        c->progress = progress;
        c->progress_since = now;
    } else if (now - c->progress_since >= (!full        ? RECALL_UNFILLED_AFTER
                                           : c->abreast ? RECALL_ABREAST_AFTER
                                                        : RECALL_AFTER)) {
        /* From here on the streams are read as the rings have room: their function takes less than is read ahead. */
        recall_begin(c);
    }
    return ahead || core_stream(c, 0)->mode == STREAM_RUN ? kind : 0;
}

void recall_check(struct core *c) {
    uint32_t in_flight = 0;
    for (uint32_t i = 0; c->recalling && i < c->streams_in; i++) {
        in_flight += stream_in_flight(core_stream(c, i));
    }
    if (!c->recalling || in_flight != c->dropped) {
        return;
    }
    c->recalling = false;
    nand_discard(c->index, false);
    for (uint32_t i = 0; i < c->streams_in; i++) {
        core_stream(c, i)->mode = STREAM_GATED;
        stream_gated++;
    }
}

bool recall_dropped(struct stream *s, uint32_t page, uint32_t lba) {
    struct core *c = &cores[s->core];
    if (!core_active(c)) {
        return false;
    }
    uint32_t number = s->pushed - ((s->pushed - page) & POSITION_PAGES);
    entry_put(c, c->dropped, (struct entry){.page = number, .lba = lba, .stream = s});
    c->dropped++;
    recall_check(c);
    return true;
}

void recall_end(struct core *c) {
    if (c->recalling) {
        c->recalling = false;
        nand_discard(c->index, false);
    }
    for (; c->dropped > 0; c->dropped--) {
        entry_get(c, c->dropped - 1).stream->pushed--;
    }
}
