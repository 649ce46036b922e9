/* SPDX-License-Identifier: BSD-3-Clause */
/* Input streams whose bytes the host gives. Each has 64 KiB of staging in DRAM, from which whole pages go on
 * to the core's ring. */
#include "csd/core.h"
#include "platform/copy.h"

#define STAGING     DRAM_FEED_STRIDE
#define NOT_STOPPED UINT16_MAX

/** A feed that is not complete. The oldest of a stream is the one that moves. */
static struct feed {
    struct csd_op *op; /**< NULL: unused */
    struct request *request;
    struct stream *to; /**< of the transfer under way */
    uint32_t age;      /**< in the order of submission */
    uint32_t taken;    /**< bytes */
    uint16_t piece;
    uint8_t stream;
    uint8_t session;
    bool mapped;
    bool accepted; /**< counted in the stream's entry */
    bool moving;   /**< a transfer is under way */
    uint16_t stop; /**< status to complete with as soon as nothing of it moves; NOT_STOPPED */
} feeds[FEEDS];
static uint32_t age;

static uint64_t entry_read(uint32_t at) {
    return hal_read(at) | (uint64_t)hal_read(at + 4) << 32;
}

static void entry_write(uint32_t at, uint64_t v) {
    hal_write(at, (uint32_t)v);
    hal_write(at + 4, (uint32_t)(v >> 32));
}

/** End `f` with `status`, now or when nothing of it moves any more. */
static void finish(struct feed *f, uint32_t status) {
    struct csd_op *op = f->op;
    if (f->accepted && !f->moving) {
        /* Another feed may give the bytes that this one does not. */
        uint32_t entry = request_input(f->request, f->piece, f->stream);
        entry_write(entry, entry_read(entry) - (op->bytes - f->taken));
        f->accepted = false;
    }
    if (f->moving || !f->mapped) {
        f->stop = (uint16_t)status;
        return;
    }
    f->op = NULL;
    session_give(f->session, SHARE_FEED);
    if (status != REFUSED(BAD_FEED)) {
        op->result[0] = f->taken;
    }
    op->done(op, status);
}

/** Look at what the feed asks for. False when it has ended for that. */
static bool accept(struct feed *f) {
    const struct request *r = f->request;
    uint32_t why = 0;
    uint32_t entry = 0;
    uint32_t high = 0;
    if (f->piece >= r->pieces) {
        why = SCOMP_FEED_ERROR_PIECE;
    } else if (f->stream >= r->streams_in) {
        why = SCOMP_FEED_ERROR_STREAM;
    } else {
        entry = request_input(r, f->piece, f->stream);
        high = hal_read(entry + 12);
        why = (high & STREAM_IS_FED) == 0 ? SCOMP_FEED_ERROR_STREAM : 0;
    }
    if (why == 0 && (high & STREAM_ENDED) != 0) {
        finish(f, CSD_OK);
        return false;
    }
    if (why == 0) {
        uint64_t total = entry_read(entry + 8) & ~((uint64_t)(STREAM_IS_FED | STREAM_ENDED) << 32);
        uint64_t accepted = entry_read(entry);
        if (f->op->bytes > total - accepted) {
            why = SCOMP_FEED_ERROR_LENGTH;
        } else {
            entry_write(entry, accepted + f->op->bytes);
        }
    }
    if (why != 0) {
        f->op->result[0] = why;
        finish(f, REFUSED(BAD_FEED));
        return false;
    }
    f->accepted = true;
    return true;
}

/** The stream that `f` goes to, when its piece runs. */
static struct stream *target(const struct feed *f) {
    for (uint32_t i = 0; i < scomp_tiles; i++) {
        const struct piece *p = cores[i].piece;
        if (cores[i].phase != CORE_FREE && p->request == f->request && p->number == f->piece) {
            struct stream *s = p->in[f->stream];
            return core_active(&cores[s->core]) ? s : NULL;
        }
    }
    return NULL;
}

static void feed_data(struct csd_op *op, bool there) {
    struct feed *f = op->context;
    struct stream *s = f->accepted ? target(f) : NULL;
    f->mapped = true;
    if (f->stop != NOT_STOPPED || !there) {
        finish(f, f->stop != NOT_STOPPED ? f->stop : (uint32_t)CSD_NO_DATA);
        if (there) {
            return;
        }
    }
    /* Its own turn, or the next one's. */
    if (s != NULL) {
        feed_go(s);
    }
}

bool csd_feed(struct csd_op *op, uint32_t handle, uint32_t piece, uint32_t stream) {
    if (op->bytes == 0 || op->bytes > CSD_DATA_MAX) {
        op->done(op, CSD_INVALID);
        return false;
    }
    struct request *r = request_find(handle);
    if (r == NULL || !session_take(r->session, SHARE_FEED)) {
        op->done(op, r == NULL ? REFUSED(BAD_HANDLE) : REFUSED(NO_RESOURCES));
        return false;
    }
    struct feed *f = feeds;
    while (f->op != NULL) {
        f++;
    }
    /* In line before its data are known: a list of pages that has to be fetched may let a younger feed overtake. */
    *f = (struct feed){.op = op,
                       .request = r,
                       .age = age++,
                       .piece = (uint16_t)piece,
                       .stream = (uint8_t)stream,
                       .session = r->session,
                       .stop = NOT_STOPPED};
    op->context = f;
    op->data = feed_data;
    if (r->state != REQUEST_FETCH) {
        /* What ends here ends at once. */
        f->mapped = true;
        if (!accept(f)) {
            return false;
        }
        f->mapped = false;
    }
    return true;
}

/** The oldest of the feeds that `match`. */
static struct feed *oldest(const struct request *r, uint32_t piece, uint32_t stream) {
    struct feed *first = NULL;
    for (uint32_t i = 0; i < FEEDS; i++) {
        struct feed *f = &feeds[i];
        if (f->op != NULL && f->request == r && f->accepted && f->piece == piece && f->stream == stream &&
            f->stop == NOT_STOPPED && (first == NULL || (int32_t)(f->age - first->age) < 0)) {
            first = f;
        }
    }
    return first;
}

void feed_request_valid(struct request *r, bool valid) {
    /* In the order of submission: the first ones to come may fill the stream. */
    for (;;) {
        struct feed *first = NULL;
        for (uint32_t i = 0; i < FEEDS; i++) {
            struct feed *f = &feeds[i];
            if (f->op != NULL && f->request == r && !f->accepted && f->stop == NOT_STOPPED &&
                (first == NULL || (int32_t)(f->age - first->age) < 0)) {
                first = f;
            }
        }
        if (first == NULL) {
            return;
        }
        if (valid) {
            accept(first);
        } else {
            finish(first, REFUSED(BAD_HANDLE));
        }
    }
}

void feed_piece_ended(struct request *r, uint32_t number) {
    for (uint32_t s = 0; s < r->streams_in; s++) {
        uint32_t entry = request_input(r, number, s) + 12;
        uint32_t high = hal_read(entry);
        if (high & STREAM_IS_FED) {
            hal_write(entry, high | STREAM_ENDED);
        }
    }
    for (uint32_t i = 0; i < FEEDS; i++) {
        struct feed *f = &feeds[i];
        if (f->op != NULL && f->request == r && f->piece == number && f->stop == NOT_STOPPED) {
            finish(f, CSD_OK);
        }
    }
}

void feed_owner_gone(uint32_t owner) {
    for (uint32_t i = 0; i < FEEDS; i++) {
        if (feeds[i].op != NULL && feeds[i].op->owner == owner && feeds[i].stop == NOT_STOPPED) {
            finish(&feeds[i], CSD_OWNER_GONE);
        }
    }
}

bool feed_cancel(const struct csd_op *op) {
    for (uint32_t i = 0; i < FEEDS; i++) {
        struct feed *f = &feeds[i];
        if (f->op == op && f->stop == NOT_STOPPED) {
            struct stream *s = f->accepted ? target(f) : NULL;
            finish(f, CSD_ABORTED);
            if (s != NULL) {
                feed_go(s);
            }
            return true;
        }
    }
    return false;
}

/* ---- data ---- */

void feed_open(struct stream *s, const struct request *r, uint32_t number, uint32_t ext) {
    uint32_t entry = request_input(r, number, ext);
    uint64_t bytes = entry_read(entry + 8);
    bool in_memory = bytes >> 32 & STREAM_IN_MEMORY;
    bytes &= ~((uint64_t)(STREAM_IS_FED | STREAM_ENDED | STREAM_IN_MEMORY) << 32);
    stream_open(s, bytes, 0, 0, false);
    s->mode = STREAM_FED;
    s->limit = 0;
    s->received = in_memory ? (uint32_t)bytes : 0;
    s->memory = in_memory ? hal_read(entry) : 0;
    s->input = (uint8_t)ext;
    s->feeding = false;
    if (!s->end_set && s->total <= STREAM_END_PAGES) {
        stream_mark_end(s);
    }
}

static uint32_t staging(const struct stream *s) {
    return DRAM_FEEDS + (uint32_t)(s - streams) * STAGING;
}

/** DRAM address of stream position `at`, a page's start. */
static uint32_t source(const struct stream *s, uint32_t at) {
    return s->memory != 0 ? s->memory + at : staging(s) + at % STAGING;
}

static void copied(uint32_t arg) {
    struct stream *s = &streams[arg];
    s->delivered++;
    core_page(s, FLASH_STATUS_OK, 0);
    if (core_active(&cores[s->core])) {
        feed_go(s);
    }
}

static void fetched(struct dma_job *job) {
    struct csd_op *op = job->arg;
    struct feed *f = op->context;
    struct stream *s = f->to;
    uint32_t bytes = job->off - f->taken;
    f->moving = false;
    s->feeding = false;
    if (job->error) {
        /* What arrived is not known: the stream goes on behind what was good. */
        finish(f, f->stop != NOT_STOPPED ? f->stop : (uint32_t)CSD_TRANSFER);
    } else {
        s->received += bytes;
        f->taken += bytes;
        if (f->taken == op->bytes) {
            finish(f, CSD_OK);
        } else if (f->stop != NOT_STOPPED) {
            finish(f, f->stop);
        }
    }
    if (core_active(&cores[s->core])) {
        feed_go(s);
    } else {
        core_end_check(&cores[s->core]);
    }
}

/** Pages that are complete go to the core as far as its ring has room. */
static void push_pages(struct stream *s) {
    while (s->pushed != s->total) {
        uint32_t at = s->pushed << PAGE_LOG2;
        uint32_t bytes = s->pushed + 1 == s->total ? s->last_bytes : PAGE_SIZE;
        if (s->received - at < bytes) {
            return;
        }
        if (stream_room(s) == 0 || copy_space() == 0) {
            stream_poll_wanted = true;
            return;
        }
        if (!s->end_set && s->total - s->pushed <= STREAM_END_PAGES) {
            stream_mark_end(s);
        }
        copy_submit(source(s, at), copy_to_stream(s->core, s->id), at, bytes, copied, (uint32_t)(s - streams));
        s->pushed++;
    }
}

void feed_go(struct stream *s) {
    push_pages(s);
    const struct piece *p = cores[s->core].piece;
    struct feed *f = s->feeding ? NULL : oldest(p->request, p->number, s->input);
    if (f == NULL || !f->mapped) {
        return;
    }
    uint32_t n = STAGING - (s->received - (s->delivered << PAGE_LOG2));
    uint32_t straight = STAGING - s->received % STAGING;
    uint32_t left = f->op->bytes - f->taken;
    n = n < straight ? n : straight;
    n = n < left ? n : left;
    if (n == 0) {
        /* Goes on when a copy ends. */
        return;
    }
    s->feeding = true;
    f->moving = true;
    f->to = s;
    *f->op->job = (struct dma_job){.pages = f->op->host,
                                   .off = f->taken,
                                   .dev = staging(s) + s->received % STAGING,
                                   .left = n,
                                   .done = fetched,
                                   .arg = f->op};
    dma_submit(f->op->job);
}
