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
#define READERS_MAX  32u

static uint32_t readers;

static uint32_t padded(uint32_t bytes) {
    return (bytes + 63) & ~63u;
}

static uint32_t used(const struct request *r) {
    return r->head - r->freed;
}

void result_init(struct request *r, uint32_t index) {
    r->ring = DRAM_RESULTS + index * RING;
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
    r->pending[*id] = r->head;
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
    uint32_t end = r->ring + (r->pending[id] - 1) % RING + 1;
    for (uint32_t at = end - padded(bytes) + (bytes & ~3u); at < end; at += 4) {
        uint32_t keep = at - (end - padded(bytes)) < bytes ? bytes & 3 : 0;
        hal_write(at, keep > 0 ? hal_read(at) & ((1u << (keep * 8)) - 1) : 0);
    }
}

void result_ready(struct request *r, uint32_t id) {
    r->pending[id] |= CHUNK_DONE;
    while (r->pending_out != r->pending_in && (r->pending[r->pending_out % CHUNKS_PENDING] & CHUNK_DONE) != 0) {
        r->ready = r->pending[r->pending_out % CHUNKS_PENDING] & ~CHUNK_DONE;
        r->pending_out++;
    }
    result_serve(r);
}

static void read_sent(struct dma_job *job) {
    struct nvme_cmd *cmd = job->arg;
    struct request *r = cmd->context;
    /* Transfers end in order, so everything before this region has left too. */
    r->freed = cmd->lba;
    r->reads_in_flight--;
    bool last = (cmd->dw0 >> 31) != 0;
    nvme_complete(cmd, job->error ? NVME_DATA_TRANSFER : NVME_OK);
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

void result_serve(struct request *r) {
    while (r->readers_head != NULL && r->sent != r->ready) {
        struct nvme_cmd *cmd = r->readers_head;
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
            if (bytes + chunk > cmd->bytes) {
                break;
            }
            bytes += chunk;
        }
        r->readers_head = cmd->next;
        readers--;
        r->sent += bytes;
        r->reads_in_flight++;
        cmd->lba = r->sent;
        bool last = r->ended == r->pieces && r->sent == r->head;
        cmd->dw0 = bytes | (uint32_t)last << 31;
        nvme_transfer(cmd, r->ring + offset, bytes, true, read_sent);
    }
}

void result_read(struct nvme_cmd *cmd) {
    struct request *r = cmd->context;
    if (readers == READERS_MAX) {
        nvme_complete(cmd, 0x100 | NVME_VENDOR_STATUS_NO_RESOURCES);
        return;
    }
    readers++;
    cmd->next = NULL;
    if (r->readers_head == NULL) {
        r->readers_head = cmd;
    } else {
        r->readers_tail->next = cmd;
    }
    r->readers_tail = cmd;
    result_serve(r);
}

void result_flush_readers(struct request *r, uint32_t sqid, uint32_t status) {
    struct nvme_cmd *list = r->readers_head;
    r->readers_head = r->readers_tail = NULL;
    while (list != NULL) {
        struct nvme_cmd *cmd = list;
        list = cmd->next;
        if (sqid == NVME_QUEUES || cmd->sqid == sqid) {
            readers--;
            nvme_complete(cmd, status);
            continue;
        }
        cmd->next = NULL;
        if (r->readers_head == NULL) {
            r->readers_head = cmd;
        } else {
            r->readers_tail->next = cmd;
        }
        r->readers_tail = cmd;
    }
}
