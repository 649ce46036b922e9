/* SPDX-License-Identifier: BSD-3-Clause */
/* Result memory of a request: a ring of chunks in DRAM between the cores' drains and the host's IO_READs. */
#include <string.h>

#include "csd/scomp.h"

#define RING         DRAM_RESULT_STRIDE
#define HEADER       ((uint32_t)sizeof(struct scomp_chunk))
#define REPORT_CHUNK (HEADER + (uint32_t)sizeof(struct scomp_report))
/** Reports: one of every core, and one more of every piece. */
#define REPORTS (2 * MAX_CORES)
/** Kept for the reports, and what a chunk may lose at the ring's end. */
#define RESERVE      (REPORTS * REPORT_CHUNK + 2 * REPORT_CHUNK)
#define SKIP_MAGIC   0x50494b53u /* "SKIP": the ring goes on at its start */
#define THROTTLE_ON  (RING / 2)
#define THROTTLE_OFF (RING / 4)
_Static_assert(CHUNKS_PENDING * 4u <= DRAM_CHUNKS_STRIDE, "ends of chunks");

static uint32_t padded(uint32_t bytes) {
    return (bytes + 63) & ~63u;
}

static uint32_t used(const struct request *r) {
    return r->head - r->freed;
}

/** DRAM address of where chunk `id` ends. */
static uint32_t end_at(const struct request *r, uint32_t id) {
    return r->pending + id % CHUNKS_PENDING * 4;
}

void result_init(struct request *r, uint32_t index) {
    r->ring = DRAM_RESULTS + index * RING;
    r->pending = DRAM_CHUNKS + index * DRAM_CHUNKS_STRIDE;
}

bool result_room(const struct request *r) {
    return RING - used(r) >= RESERVE && CHUNKS_PENDING - (r->pending_in - r->pending_out) > REPORTS;
}

uint32_t result_chunk(struct request *r, const struct scomp_chunk *header, bool report, uint32_t *id) {
    uint32_t need = HEADER + padded(header->bytes);
    uint32_t offset = r->head % RING;
    uint32_t skip = RING - offset < need ? RING - offset : 0;
    uint32_t keep = report ? 0 : RESERVE;
    uint32_t keep_pending = report ? 0 : REPORTS;
    if (RING - used(r) < need + skip + keep || CHUNKS_PENDING - (r->pending_in - r->pending_out) <= keep_pending) {
        return 0;
    }
    if (skip > 0) {
        hal_write(r->ring + offset, SKIP_MAGIC);
        r->head += skip;
        offset = 0;
    }
    r->head += need;
    *id = r->pending_in++ % CHUNKS_PENDING;
    hal_write(end_at(r, *id), r->head);
    uint32_t words[sizeof(struct scomp_chunk) / 4];
    memcpy(words, header, sizeof words);
    words[0] = SCOMP_CHUNK_MAGIC;
    uint32_t at = r->ring + offset;
    for (uint32_t i = 0; i < sizeof words / 4; i++) {
        hal_write(at + i * 4, words[i]);
    }
    if (!r->throttled && used(r) > THROTTLE_ON) {
        r->throttled = true;
        core_throttle(r, true);
    }
    return at;
}

void result_pad(const struct request *r, uint32_t id, uint32_t bytes) {
    uint32_t end = r->ring + (hal_read(end_at(r, id)) - 1) % RING + 1;
    for (uint32_t at = end - padded(bytes) + (bytes & ~3u); at < end; at += 4) {
        uint32_t keep = at - (end - padded(bytes)) < bytes ? bytes & 3 : 0;
        hal_write(at, keep > 0 ? hal_read(at) & ((1u << (keep * 8)) - 1) : 0);
    }
}

void result_ready(struct request *r, uint32_t id) {
    hal_write(end_at(r, id), hal_read(end_at(r, id)) | CHUNK_DONE);
    while (r->pending_out != r->pending_in) {
        uint32_t end = hal_read(end_at(r, r->pending_out));
        if ((end & CHUNK_DONE) == 0) {
            break;
        }
        r->ready = end & ~CHUNK_DONE;
        r->pending_out++;
    }
    result_serve(r);
}

static void read_sent(struct dma_job *job) {
    struct csd_op *op = job->arg;
    struct request *r = op->context;
    /* Transfers end in order, so everything before this region has left too. */
    r->freed = op->value;
    r->reads_in_flight--;
    bool last = (op->result[0] >> 31) != 0;
    op->done(op, job->error ? CSD_TRANSFER : CSD_OK);
    if (r->throttled && used(r) < THROTTLE_OFF) {
        r->throttled = false;
        core_throttle(r, false);
    }
    if ((last || r->detached) && r->state == REQUEST_ENDED && r->reads_in_flight == 0) {
        request_free(r);
        return;
    }
    core_unblock(r);
    scomp_schedule();
}

static struct csd_op *first_reader(const struct request *r) {
    return CONTAINER_OR_NULL(r->readers.first, struct csd_op, node);
}

void result_serve(struct request *r) {
    while (!list_empty(&r->readers) && r->sent != r->ready) {
        struct csd_op *op = first_reader(r);
        uint32_t offset = r->sent % RING;
        if (hal_read(r->ring + offset) == SKIP_MAGIC) {
            r->sent += RING - offset;
            continue;
        }
        uint32_t bytes = 0;
        while (r->sent + bytes != r->ready && offset + bytes < RING) {
            uint32_t at = r->ring + offset + bytes;
            if (hal_read(at) == SKIP_MAGIC) {
                break;
            }
            uint32_t chunk = HEADER + padded(hal_read(at + 12));
            if (bytes + chunk > op->bytes) {
                break;
            }
            bytes += chunk;
        }
        list_take(&r->readers);
        session_give(r->session, SHARE_READER);
        r->sent += bytes;
        r->reads_in_flight++;
        op->value = r->sent;
        bool last = r->ended == r->pieces && r->sent == r->head;
        op->result[0] = bytes | (uint32_t)last << 31;
        csd_transfer(op, r->ring + offset, bytes, true, read_sent);
    }
}

void result_read(struct csd_op *op) {
    struct request *r = op->context;
    list_put(&r->readers, &op->node);
    result_serve(r);
}

bool result_cancel(struct request *r, struct csd_op *op) {
    if (!list_remove(&r->readers, &op->node)) {
        return false;
    }
    session_give(r->session, SHARE_READER);
    op->done(op, CSD_ABORTED);
    return true;
}

void result_flush_readers(struct request *r, uint32_t owner, uint32_t status) {
    struct list all = list_take_all(&r->readers);
    while (!list_empty(&all)) {
        struct csd_op *op = CONTAINER(list_take(&all), struct csd_op, node);
        if (owner == CSD_ALL || op->owner == owner) {
            session_give(r->session, SHARE_READER);
            op->done(op, status);
        } else {
            list_put(&r->readers, &op->node);
        }
    }
}
