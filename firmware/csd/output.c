/* SPDX-License-Identifier: BSD-3-Clause */
/* Output streams of cores: drains to the host's chunks, to flash and to other cores. */
#include "csd/core.h"
#include "platform/fill.h"

/** page_buffer.index of a piece's page: entry of its list of uncommitted pages, and the node that made it. */
#define INDEX_ENTRY 0x00ffffffu
#define INDEX_NODE  24u
_Static_assert(SCOMP_MAX_OUT_BLOCKS <= INDEX_ENTRY && SCOMP_MAX_OUT_BLOCKS * 8u <= DRAM_COMMIT_STRIDE,
               "uncommitted pages of a piece");

enum drained {
    PUSHED,
    QUEUE_FULL,
    BLOCKED, /**< the sink has no room: the stream is marked */
    NO_ROOM, /**< the sink will never have room */
};

/* ---- flash ---- */

static void page_written(struct ftl_write *w, enum ftl_status status) {
    struct page_buffer *buffer = CONTAINER(w, struct page_buffer, write);
    struct piece *p = buffer->owner;
    struct core *c = &cores[p->core[buffer->index >> INDEX_NODE]];
    p->writes--;
    if (status == FTL_OK) {
        hal_write(p->list + (buffer->index & INDEX_ENTRY) * 8 + 4, w->ppa);
    }
    buffer_put(buffer);
    if (status != FTL_OK) {
        uint32_t why = status == FTL_READ_ONLY ? SCOMP_STATUS_CAPACITY : SCOMP_STATUS_MEDIA;
        if (core_active(c)) {
            core_end(c, why);
        } else if (c->status == SCOMP_STATUS_OK) {
            c->status = why;
            piece_node_failed(p, c);
        }
    }
    if (c->blocked != 0) {
        output_retry(c, false);
    }
    piece_check(p);
}

/** The page is in its buffer: `bytes` of it, zeros behind. */
static void page_drained(struct core *c, struct page_buffer *buffer, uint32_t bytes) {
    struct piece *p = c->piece;
    if (p->status != SCOMP_STATUS_OK || c->status != SCOMP_STATUS_OK) {
        ftl_withdraw();
        p->writes--;
        buffer_put(buffer);
        return;
    }
    /* The buffer was zeros; a drain's last beats may carry more than the stream's bytes. */
    for (uint32_t at = bytes & ~3u; at < ((bytes + 63) & ~63u); at += 4) {
        uint32_t keep = at < bytes ? bytes - at : 0;
        uint32_t w = keep > 0 ? hal_read(buffer->addr + at) & ((1u << (keep * 8)) - 1) : 0;
        hal_write(buffer->addr + at, w);
    }
    ftl_write_uncommitted(&buffer->write);
}

static enum drained to_flash(struct core *c, const struct sink *k, uint32_t bytes, struct drain *d, uint32_t *dst) {
    struct piece *p = c->piece;
    struct flash_out *f = &p->flash[k->ext];
    if (f->left == 0 && f->extents == 0) {
        return NO_ROOM;
    }
    struct page_buffer *buffer = p->writes < PIECE_WRITES ? buffer_get() : NULL;
    if (buffer == NULL) {
        return BLOCKED;
    }
    if (f->left == 0) {
        f->lba = hal_read(f->extent);
        f->left = hal_read(f->extent + 8);
        f->extent += (uint32_t)sizeof(struct scomp_extent);
        f->extents--;
    }
    if (bytes < PAGE_SIZE) {
        dram_zero(buffer->addr, PAGE_SIZE);
    }
    hal_write(p->list + p->pages * 8, f->lba);
    hal_write(p->list + p->pages * 8 + 4, 0);
    buffer->owner = p;
    buffer->index = p->pages | (uint32_t)c->node << INDEX_NODE;
    buffer->write = (struct ftl_write){.op = buffer->op, .lba = f->lba, .buffer = buffer->addr, .done = page_written};
    ftl_announce();
    f->lba++;
    f->left--;
    p->pages++;
    p->writes++;
    d->buffer = buffer;
    *dst = buffer->addr;
    return PUSHED;
}

/* ---- drains ---- */

static enum drained to_memory(struct core *c, const struct sink *k, uint32_t bytes, uint32_t *dst) {
    struct flash_out *f = &c->piece->flash[k->ext];
    if (f->left < bytes) {
        return NO_ROOM;
    }
    *dst = f->lba;
    f->lba += bytes;
    f->left -= bytes;
    return PUSHED;
}

static enum drained to_host(struct core *c, const struct sink *k, uint32_t s, struct drain *d, uint32_t *dst) {
    uint32_t at = result_data(c->piece->request, c->piece->number, k->ext, d->bytes, c->out[s], &d->chunk);
    if (at == 0) {
        c->results_full |= (uint8_t)(1u << s);
        return BLOCKED;
    }
    *dst = at + (uint32_t)sizeof(struct scomp_chunk);
    return PUSHED;
}

static enum drained to_node(const struct core *c, uint32_t s, struct drain *d, uint32_t *dst) {
    struct stream *to = c->sinks[s].to;
    if (stream_room(to) == 0 || cores[to->core].wiping) {
        return BLOCKED;
    }
    to->pushed++;
    d->to = to;
    *dst = PLACE(CORE_DRAIN_DST, CORE, to->core) | PLACE(CORE_DRAIN_DST, STREAM_ID, to->id) |
           PLACE(CORE_DRAIN_DST, STREAM, 1);
    return PUSHED;
}

/** Queue one drain of `bytes` of output stream `s`, at most a page. */
static enum drained drain(struct core *c, uint32_t s, uint32_t bytes) {
    if (c->drains_pushed - c->drains_done == DRAINS) {
        return QUEUE_FULL;
    }
    const struct sink *k = &c->sinks[s];
    struct drain *d = &c->drains[c->drains_pushed % DRAINS];
    uint32_t dst = DRAM_DROP;
    enum drained result = PUSHED;
    d->kind = k->kind;
    d->bytes = (uint16_t)bytes;
    /* To a host that has gone, to a node that has ended, or to flash for a piece that has failed: nobody wants it. */
    if ((k->kind == SINK_HOST && c->piece->request->detached) ||
        (k->kind == SINK_NODE && !core_active(&cores[k->to->core])) ||
        ((k->kind == SINK_FLASH || k->kind == SINK_MEMORY) &&
         (c->piece->status != SCOMP_STATUS_OK || c->status != SCOMP_STATUS_OK))) {
        d->kind = SINK_DROP;
    }
    switch (d->kind) {
    case SINK_HOST:
        result = to_host(c, k, s, d, &dst);
        break;
    case SINK_FLASH:
        result = to_flash(c, k, bytes, d, &dst);
        break;
    case SINK_MEMORY:
        result = to_memory(c, k, bytes, &dst);
        break;
    case SINK_NODE:
        result = to_node(c, s, d, &dst);
        break;
    default:
        break;
    }
    if (result == BLOCKED) {
        c->blocked |= (uint8_t)(1u << s);
        hal_write(core_reg(c, CORE_EVENT_ENABLE), CORE_EVENTS);
    }
    if (result != PUSHED) {
        return result;
    }
    hal_write(core_reg(c, CORE_DRAIN_POS), (uint32_t)c->out[s]);
    hal_write(core_reg(c, CORE_DRAIN_DST), dst);
    if (d->kind == SINK_NODE) {
        hal_write(core_reg(c, CORE_DRAIN_DST_POS), (uint32_t)c->out[s]);
    }
    hal_write(core_reg(c, CORE_DRAIN_PUSH), PLACE(CORE_DRAIN_PUSH, LEN, bytes) | PLACE(CORE_DRAIN_PUSH, STREAM_ID, s) |
                                                PLACE(CORE_DRAIN_PUSH, TO_CORE, d->kind == SINK_NODE));
    c->drains_pushed++;
    c->out[s] += bytes;
    return PUSHED;
}

/** While a stream is blocked its core raises no OUT_PAGE for the others either: they are polled, except that results
 * announce themselves. */
static void poll_blocked(const struct core *c) {
    if (c->blocked != 0 && (c->blocked != c->results_full || c->streams_out > 1)) {
        stream_poll_wanted = true;
    }
}

void output_pages(struct core *c) {
    uint32_t ready = hal_read(core_reg(c, CORE_OUT_READY)) & ~(uint32_t)c->blocked;
    for (uint32_t s = 0; ready != 0; s++, ready >>= 1) {
        if ((ready & 1) == 0) {
            continue;
        }
        uint32_t head = hal_read(core_reg(c, CORE_OHEAD + s * 4));
        enum drained result = PUSHED;
        while (result == PUSHED && head - (uint32_t)c->out[s] >= PAGE_SIZE) {
            result = drain(c, s, PAGE_SIZE);
        }
        if (result == QUEUE_FULL) {
            break;
        }
        if (result == NO_ROOM) {
            core_end(c, SCOMP_STATUS_NO_ROOM);
            return;
        }
    }
    poll_blocked(c);
}

bool output_rest(struct core *c) {
    bool all = true;
    for (uint32_t s = 0; s < c->streams_out; s++) {
        uint32_t left = hal_read(core_reg(c, CORE_OHEAD + s * 4)) - (uint32_t)c->out[s];
        while (left > 0 && (c->blocked >> s & 1) == 0) {
            uint32_t n = left < PAGE_SIZE ? left : PAGE_SIZE;
            enum drained result = drain(c, s, n);
            if (result == NO_ROOM) {
                /* From here on the stream's sink drops. */
                c->status = SCOMP_STATUS_NO_ROOM;
                piece_node_failed(c->piece, c);
            } else if (result == QUEUE_FULL) {
                poll_blocked(c);
                return false;
            } else if (result == PUSHED) {
                left -= n;
            }
        }
        all &= left == 0;
    }
    poll_blocked(c);
    return all;
}

void output_drained(struct core *c) {
    uint32_t done = FIELD(CORE_DRAIN_STATE, DONE, hal_read(core_reg(c, CORE_DRAIN_STATE)));
    while ((c->drains_done & 0xffffu) != done) {
        struct drain d = c->drains[c->drains_done++ % DRAINS];
        switch (d.kind) {
        case SINK_HOST:
            if ((d.bytes & 63) != 0) {
                result_pad(c->piece->request, d.chunk, d.bytes);
            }
            result_ready(c->piece->request, d.chunk);
            break;
        case SINK_FLASH:
            page_drained(c, d.buffer, d.bytes);
            break;
        case SINK_NODE:
            d.to->delivered++;
            core_page(d.to, FLASH_STATUS_OK, 0);
            break;
        default:
            break;
        }
    }
}

void output_retry(struct core *c, bool results) {
    c->blocked = results ? 0 : c->blocked & c->results_full;
    if (results) {
        c->results_full = 0;
    }
    if (c->blocked == 0 && c->phase != CORE_QUIET) {
        hal_write(core_reg(c, CORE_EVENT_ENABLE), CORE_EVENTS | CORE_OUT_PAGE);
    }
    if (c->phase == CORE_ENDING) {
        core_end_check(c);
    } else if (c->phase == CORE_RUNNING) {
        output_pages(c);
    }
}
