// SPDX-License-Identifier: BSD-3-Clause
/*
 * Pages of streams whose read has failed: they are read again, into DRAM, with the repetitions of nand/retry.c, and
 * copied to their place in the ring. The stream's other pages go on meanwhile; its core waits at the missing one. What
 * cannot be read then ends the piece.
 *
 * The first failure of a stream that is read ahead of its ring recalls all its pages in flight (recall.c), the failed
 * one among them; from then on only pages that the ring has room for are sent for. So no repetition waits at the head
 * of a way behind a page that waits for it, the place in the ring is free when the copy engine, which does not wait for
 * room, fills it, and there are at most as many pages here as the rings hold.
 */
#include "csd/core.h"
#include "media/health.h"
#include "platform/console.h"
#include "platform/copy.h"
#include "platform/fill.h"

#include <string.h>

/** Pages that all rings hold together. */
#define RESCUES (MAX_CORES * (0x10000u >> PAGE_LOG2))
/** Pages read at once, each with a page of DRAM_RESCUE. */
#define READS 8u

/** A page that waits for its turn; the list of them is in DRAM: number of the stream, page, block. */
struct rescue {
    struct stream *stream;
    uint32_t page, lba;
};
#define RESCUE_BYTES 12u
_Static_assert(RESCUES *RESCUE_BYTES <= DRAM_RESCUE_LIST_SIZE, "DRAM_RESCUE_LIST");

static uint32_t waiting_count;

static struct rescue waiting(uint32_t i) {
    uint32_t at = DRAM_RESCUE_LIST + i * RESCUE_BYTES;
    return (struct rescue){.stream = &streams[hal_read(at)], .page = hal_read(at + 4), .lba = hal_read(at + 8)};
}

static void waiting_put(uint32_t i, struct rescue r) {
    uint32_t at = DRAM_RESCUE_LIST + i * RESCUE_BYTES;
    hal_write(at, (uint32_t)(r.stream - streams));
    hal_write(at + 4, r.page);
    hal_write(at + 8, r.lba);
}

/** A page that is read or copied; `stream` NULL: unused. */
static struct read {
    struct stream *stream;
    uint32_t page, lba;
    bool here; /**< read, and waits for the copy engine */
    struct nand_op *op;
} reads[READS];

void rescue_init(void) {
    waiting_count = 0;
    memset(reads, 0, sizeof reads);
}

uint32_t stream_find(const struct stream *s, uint32_t lba, uint32_t *ext) {
    const struct piece *p = cores[s->core].piece;
    const struct request *r = p->request;
    *ext = 0;
    while (p->in[*ext] != s) {
        (*ext)++;
    }
    uint32_t entry = request_input(r, p->number, *ext);
    if (r->local) {
        uint32_t name = hal_read(entry) + LOCAL_NAMES;
        uint32_t page = 0;
        while (page + 1 < s->pushed && hal_read(name + page * 4) != lba) {
            page++;
        }
        return page;
    }
    uint32_t extent = r->extent_table + hal_read(entry) * EXTENT_BYTES;
    uint32_t page = 0;
    for (uint32_t i = hal_read(entry + 4); i > 0; i--, extent += EXTENT_BYTES) {
        uint32_t first = hal_read(extent);
        uint32_t count = hal_read(extent + 8);
        if (lba - first < count) {
            return page + lba - first;
        }
        page += count;
    }
    panic("block %u is not of stream %u", lba, s->id);
}

static uint32_t bytes_of(const struct stream *s, uint32_t page) {
    return page + 1 == s->total ? s->last_bytes : PAGE_SIZE;
}

static void copied(uint32_t arg) {
    struct read *d = &reads[arg];
    struct stream *s = d->stream;
    d->stream = NULL;
    stream_arrived(s);
    rescue_go();
}

static void copy(struct read *d) {
    struct stream *s = d->stream;
    if (copy_space() == 0) {
        d->here = true;
        stream_poll_wanted = true;
        return;
    }
    d->here = false;
    copy_submit(DRAM_RESCUE + (uint32_t)(d - reads) * PAGE_SIZE, copy_to_stream(s->core, s->id), d->page << PAGE_LOG2,
                bytes_of(s, d->page), copied, (uint32_t)(d - reads));
}

/** The page of `d` is not delivered: it could not be read, or its core has ended. */
static void leave(struct read *d, uint32_t status) {
    struct stream *s = d->stream;
    d->stream = NULL;
    s->delivered++;
    core_page(s, status, d->lba);
}

static void read_done(struct nand_op *op, uint32_t status) {
    struct read *d = op->arg;
    bool active = core_active(&cores[d->stream->core]);
    if (status != FLASH_STATUS_OK && active && nand_op_ppa(op) != MAP_LOST) {
        nand_health_lost(d->lba, op, status);
    }
    nand_op_put(op);
    if (status == FLASH_STATUS_OK && active) {
        copy(d);
    } else {
        leave(d, status);
    }
    rescue_go();
}

void rescue_go(void) {
    for (uint32_t i = 0; i < READS; i++) {
        struct read *d = &reads[i];
        if (d->stream != NULL) {
            if (d->here && core_active(&cores[d->stream->core])) {
                copy(d);
            } else if (d->here) {
                d->here = false;
                leave(d, FLASH_STATUS_OK);
            }
            continue;
        }
        struct nand_op *op = waiting_count > 0 ? nand_op_get() : NULL;
        if (op == NULL) {
            stream_poll_wanted |= waiting_count > 0;
            continue;
        }
        struct rescue w = waiting(0);
        waiting_count--;
        for (uint32_t n = 0; n < waiting_count; n++) {
            waiting_put(n, waiting(n + 1));
        }
        *d = (struct read){.stream = w.stream, .page = w.page, .lba = w.lba};
        uint32_t ppa = stream_ppa(w.stream, w.page, w.lba);
        if (ppa == 0) {
            /* Trimmed since. */
            nand_op_put(op);
            dram_zero(DRAM_RESCUE + i * PAGE_SIZE, PAGE_SIZE);
            copy(d);
            continue;
        }
        op->done = read_done;
        op->arg = d;
        nand_read_block(op, ppa, w.lba, DRAM_RESCUE + i * PAGE_SIZE);
        nand_submit(op);
    }
}

void stream_lost(const struct stream *s, uint32_t lba, uint32_t status, uint32_t code) {
    uint32_t ext;
    uint32_t ppa = stream_ppa(s, stream_find(s, lba, &ext), lba);
    struct nand_op op = {.way = ppa_way(ppa), .row = ppa_row(ppa), .code = code};
    if (ppa == MAP_LOST) {
        /* Its owner wanted it so, or it was counted when collection found it. */
        return;
    }
    nand_counters.read_errors++;
    nand_health_lost(lba, &op, status);
}

bool rescue_page(struct stream *s, uint32_t lba, uint32_t status) {
    static const struct nand_op asked = {.check = true};
    struct core *c = &cores[s->core];
    if (!core_active(c) || !nand_retry_wanted(&asked, status)) {
        return false;
    }
    uint32_t ext;
    uint32_t page = stream_find(s, lba, &ext);
    if ((c->streams_in == 1 || c->abreast) && (!c->rescued || s->mode == STREAM_RECALL)) {
        /* Pages that are read ahead wait for room at the heads of ways, where the repetitions would wait behind them.
         */
        c->rescued = true;
        if (s->mode != STREAM_RECALL) {
            recall_begin(c);
        }
        stream_ahead |= STREAM_AHEAD_ABREAST;
        stream_poll_wanted = true;
        return recall_dropped(s, page, lba);
    }
    waiting_put(waiting_count++, (struct rescue){.stream = s, .page = page, .lba = lba});
    rescue_go();
    return true;
}

void rescue_end(struct core *c) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < waiting_count; i++) {
        struct rescue w = waiting(i);
        if (w.stream->core == c->index) {
            w.stream->pushed--;
        } else {
            waiting_put(left++, w);
        }
    }
    waiting_count = left;
}
