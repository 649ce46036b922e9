// SPDX-License-Identifier: BSD-3-Clause
/* Reads that run ahead of a ring wait at the heads of ways until the core takes what is in the ring. A core that does
 * not must not hold up the others: its pages in flight are recalled, that is dropped, and sent for again when the ring
 * has room for them. */
#include "csd/core.h"

/** A core that has left its full ring alone for so long, cycles, while others use the flash, loses its pages in flight.
 */
#define RECALL_AFTER 16384u
_Static_assert(SLOT_WINDOW_MAX * 8u <= DRAM_RECALL_STRIDE, "pages in flight of one stream");

/** DRAM address of the entry of dropped page `i`: page number, block. */
static uint32_t entry(const struct core *c, uint32_t i) {
    return DRAM_RECALL + c->index * DRAM_RECALL_STRIDE + i * 8;
}

/** Send again for the pages that the ring has room for. */
static void push(struct core *c, uint32_t head) {
    struct stream *s = core_stream(c, 0);
    for (uint32_t i = 0; i < c->dropped;) {
        uint32_t page = hal_read(entry(c, i));
        bool room = ((page - head) & POSITION_PAGES) < s->ring_pages;
        if (!room || !stream_again(s, page, hal_read(entry(c, i) + 4))) {
            i++;
            continue;
        }
        c->dropped--;
        hal_write(entry(c, i), hal_read(entry(c, c->dropped)));
        hal_write(entry(c, i) + 4, hal_read(entry(c, c->dropped) + 4));
    }
    stream_poll_wanted |= c->dropped > 0;
}

void recall_begin(struct core *c) {
    struct stream *s = core_stream(c, 0);
    stream_unwait(s);
    s->mode = STREAM_RECALL;
    s->limit = s->pushed;
    c->recalling = true;
    nand_discard(c->index, true);
}

bool recall_look(struct core *c) {
    struct stream *s = core_stream(c, 0);
    /* Of several streams only pages with room are read. */
    if (c->streams_in != 1 || s->mode == STREAM_FED || s->mode == STREAM_EDGE || c->recalling) {
        return c->recalling;
    }
    uint32_t head = hal_read(s->ihead) >> PAGE_LOG2;
    if (c->dropped > 0) {
        push(c, head);
        return true;
    }
    bool ahead = ((s->pushed - head) & POSITION_PAGES) > s->ring_pages;
    bool full = ahead && ((s->delivered - head) & POSITION_PAGES) >= s->ring_pages;
    uint32_t now = sys_read(SYS_MTIME_LO);
    if (!full || head != c->head || nand_outstanding == 0) {
        c->head = head;
        c->head_since = now;
    } else if (now - c->head_since >= RECALL_AFTER) {
        /* From here on the stream is read as the ring has room: its function takes less than is read ahead. */
        recall_begin(c);
    }
    return ahead || s->mode == STREAM_RUN;
}

void recall_check(struct core *c) {
    struct stream *s = core_stream(c, 0);
    if (c->recalling && stream_in_flight(s) == c->dropped) {
        c->recalling = false;
        nand_discard(c->index, false);
        s->mode = STREAM_GATED;
        stream_gated++;
    }
}

bool recall_dropped(struct stream *s, uint32_t page, uint32_t lba) {
    struct core *c = &cores[s->core];
    if (!core_active(c)) {
        return false;
    }
    hal_write(entry(c, c->dropped), s->pushed - ((s->pushed - page) & POSITION_PAGES));
    hal_write(entry(c, c->dropped) + 4, lba);
    c->dropped++;
    recall_check(c);
    return true;
}

void recall_end(struct core *c) {
    if (c->recalling) {
        c->recalling = false;
        nand_discard(c->index, false);
    }
    core_stream(c, 0)->pushed -= c->dropped;
    c->dropped = 0;
}
