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

/* What request.recent says of an entry of the ring, a chunk or what is skipped at the ring's end. */
#define ENTRY_UNITS 0x7fu /**< its length, in units of 64 bytes */
#define ENTRY_DONE  0x80u /**< its bytes are there */
#define ENTRY_SKIP  0u    /**< of ENTRY_UNITS: up to the ring's end */
#define UNIT        64u
_Static_assert(sizeof(struct scomp_chunk) == UNIT, "a chunk's header is a unit");
_Static_assert((HEADER + PAGE_SIZE + UNIT) / UNIT <= ENTRY_UNITS, "units of an entry");

static uint32_t padded(uint32_t bytes) {
    return (bytes + UNIT - 1) & ~(UNIT - 1);
}

static uint32_t used(const struct request *r) {
    return r->head - r->freed;
}

void result_init(struct request *r, uint32_t index) {
    r->ring = DRAM_RESULTS + index * RING;
}

/** Entries that can be added before the oldest one that is not complete would be forgotten. */
static uint32_t entries_left(const struct request *r) {
    return CHUNKS_PENDING - (r->made - r->complete);
}

bool result_room(const struct request *r) {
    return RING - used(r) >= RESERVE && entries_left(r) > REPORTS;
}

/** Make an entry for a chunk of `bytes` data bytes. Returns the DRAM address of its header, 0 when there is no room. */
static uint32_t make(struct request *r, uint32_t bytes, bool report, uint32_t *id) {
    uint32_t need = HEADER + padded(bytes);
    uint32_t offset = r->head % RING;
    uint32_t skip = RING - offset < need ? RING - offset : 0;
    uint32_t keep = report ? 0 : RESERVE;
    uint32_t keep_entries = report ? 0 : REPORTS;
    /* What is skipped takes an entry too. */
    if (RING - used(r) < need + skip + keep || entries_left(r) <= keep_entries + 1) {
        return 0;
    }
    if (skip > 0) {
        hal_write(r->ring + offset, SKIP_MAGIC);
        r->recent[r->made++ % CHUNKS_PENDING] = ENTRY_SKIP | ENTRY_DONE;
        r->head += skip;
        offset = 0;
    }
    r->head += need;
    *id = r->made++ % CHUNKS_PENDING;
    r->recent[*id] = (uint8_t)(need / UNIT);
    if (!r->throttled && used(r) > THROTTLE_ON) {
        r->throttled = true;
        core_throttle(r, true);
    }
    return r->ring + offset;
}

uint32_t result_data(struct request *r, uint32_t piece, uint32_t stream, uint32_t bytes, uint64_t position,
                     uint32_t *id) {
    uint32_t at = make(r, bytes, false, id);
    if (at == 0) {
        return 0;
    }
    /* Word by word, as a chunk is made for every page of output: a structure in between would double the time. */
    hal_write(at + offsetof(struct scomp_chunk, magic), SCOMP_CHUNK_MAGIC);
    hal_write(at + offsetof(struct scomp_chunk, piece), piece);
    hal_write(at + offsetof(struct scomp_chunk, stream), stream);
    hal_write(at + offsetof(struct scomp_chunk, bytes), bytes);
    hal_write(at + offsetof(struct scomp_chunk, position), (uint32_t)position);
    hal_write(at + offsetof(struct scomp_chunk, position) + 4, (uint32_t)(position >> 32));
    for (uint32_t i = offsetof(struct scomp_chunk, cause); i < HEADER; i += 4) {
        hal_write(at + i, 0);
    }
    return at;
}

uint32_t result_report(struct request *r, const struct scomp_chunk *header, uint32_t *id) {
    uint32_t at = make(r, header->bytes, true, id);
    if (at == 0) {
        return 0;
    }
    uint32_t words[sizeof(struct scomp_chunk) / 4];
    memcpy(words, header, sizeof words);
    words[0] = SCOMP_CHUNK_MAGIC;
    for (uint32_t i = 0; i < sizeof words / 4; i++) {
        hal_write(at + i * 4, words[i]);
    }
    return at;
}

/** Where entry `n` ends that begins at `at`, both counting as request.head does. */
static uint32_t end_of(const struct request *r, uint32_t n, uint32_t at) {
    uint32_t units = r->recent[n % CHUNKS_PENDING] & ENTRY_UNITS;
    return at + (units != ENTRY_SKIP ? units * UNIT : RING - at % RING);
}

void result_pad(const struct request *r, uint32_t id, uint32_t bytes) {
    uint32_t from = r->ready;
    uint32_t n = r->complete;
    for (; n % CHUNKS_PENDING != id; n++) {
        from = end_of(r, n, from);
    }
    uint32_t end = r->ring + (end_of(r, n, from) - 1) % RING + 1;
    for (uint32_t at = end - padded(bytes) + (bytes & ~3u); at < end; at += 4) {
        uint32_t keep = at - (end - padded(bytes)) < bytes ? bytes & 3 : 0;
        hal_write(at, keep > 0 ? hal_read(at) & ((1u << (keep * 8)) - 1) : 0);
    }
}

void result_ready(struct request *r, uint32_t id) {
    r->recent[id] |= ENTRY_DONE;
    while (r->complete != r->made && (r->recent[r->complete % CHUNKS_PENDING] & ENTRY_DONE) != 0) {
        r->ready = end_of(r, r->complete, r->ready);
        r->complete++;
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

/** Units of entry `n`, which begins at DRAM `at`: from its header when it is not one of the newest. */
static uint32_t units_of(const struct request *r, uint32_t n, uint32_t at) {
    if (r->made - n <= CHUNKS_PENDING) {
        return r->recent[n % CHUNKS_PENDING] & ENTRY_UNITS;
    }
    if (hal_read(at) == SKIP_MAGIC) {
        return ENTRY_SKIP;
    }
    return (HEADER + padded(hal_read(at + offsetof(struct scomp_chunk, bytes)))) / UNIT;
}

void result_serve(struct request *r) {
    while (!list_empty(&r->readers) && r->sent != r->ready) {
        struct csd_op *op = first_reader(r);
        uint32_t offset = r->sent % RING;
        uint32_t bytes = 0;
        uint32_t units = units_of(r, r->given, r->ring + offset);
        if (units == ENTRY_SKIP) {
            r->sent += RING - offset;
            r->given++;
            continue;
        }
        /* As many chunks as fit, which follow each other in the ring. */
        for (;;) {
            if (bytes + units * UNIT > op->bytes) {
                break;
            }
            bytes += units * UNIT;
            r->given++;
            if (r->sent + bytes == r->ready || offset + bytes == RING) {
                break;
            }
            units = units_of(r, r->given, r->ring + offset + bytes);
            if (units == ENTRY_SKIP) {
                break;
            }
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
