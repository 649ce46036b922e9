/* SPDX-License-Identifier: BSD-3-Clause */
#include "feed.h"

#include <assasin_contract.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Feeds of one stream in flight: one is copied to the drive while the next waits. */
#define DEPTH 3u

static uint32_t fed_streams(const struct assasin_job *job) {
    uint32_t most = 0;
    for (uint32_t p = 0; p < job->pieces; p++) {
        uint32_t n = 0;
        for (uint32_t s = 0; s < job->streams_in; s++)
            n += job->inputs[(size_t)p * job->streams_in + s].extent_count == 0;
        most = n > most ? n : most;
    }
    return most;
}

/* The drive holds SCOMP_MAX_FEEDS feeds. A core may wait for any one of its streams while feeds of the others wait for
 * room, so each stream of each running piece has to have a place of its own. */
uint32_t feeder_max_cores(const struct assasin_drive *drive, const struct assasin_job *job) {
    uint32_t fed = fed_streams(job), nodes = job->node_count ? job->node_count : 1,
             asked = job->max_cores ? job->max_cores : drive->info.cores;
    if (!fed || (asked / nodes) * fed <= SCOMP_MAX_FEEDS)
        return job->max_cores;
    return SCOMP_MAX_FEEDS / fed * nodes;
}

int feeder_init(struct feeder *f, struct assasin_drive *drive, const struct assasin_job *job, uint32_t max_cores) {
    uint32_t cores = max_cores ? max_cores : drive->info.cores, nodes = job->node_count ? job->node_count : 1;
    *f = (struct feeder){
        .drive = drive, .job = job, .fed = fed_streams(job), .piece_window = cores > nodes ? cores / nodes : 1};
    if (!f->fed)
        return 0;
    f->streams = calloc((size_t)job->pieces * job->streams_in, sizeof(*f->streams));
    f->slots = calloc(SCOMP_MAX_FEEDS, sizeof(*f->slots));
    bool room = f->streams && f->slots;
    for (uint32_t i = 0; i < SCOMP_MAX_FEEDS && room; i++) {
        f->slots[i] = (struct feed_slot){.feeder = f, .buffer = drive_alloc(drive, FEED_BYTES)};
        room = f->slots[i].buffer;
    }
    return room ? 0 : -ENOMEM;
}

void feeder_destroy(struct feeder *f, bool dead) {
    for (uint32_t i = 0; f->slots && i < SCOMP_MAX_FEEDS && !dead; i++)
        drive_free(f->drive, f->slots[i].buffer);
    free(f->slots);
    free(f->streams);
    f->slots = NULL;
    f->streams = NULL;
}

static void fed_done(void *arg, const struct assasin_completion *completion) {
    struct feed_slot *slot = arg;
    struct feeder *f = slot->feeder;
    struct fed_stream *stream = &f->streams[slot->stream];
    slot->busy = false;
    f->busy--;
    stream->in_flight--;
    if (completion->status == (0x100u | NVME_VENDOR_STATUS_BAD_HANDLE)) {
        /* The request is over; or, when nothing has been taken yet, the drive has not looked at it. */
        if (f->known)
            stream->over = true;
        else
            stream->given -= slot->bytes;
        f->too_early = !f->known;
        return;
    }
    f->known = true;
    if (completion->status == 0)
        stream->over |= completion->dw0 < slot->bytes;
    else if (!f->failed) {
        f->failed = drive_check(f->drive, "feeding a job", completion);
        f->error = f->drive->error;
        f->status = f->drive->status;
    }
}

static struct feed_slot *free_slot(struct feeder *f) {
    for (uint32_t i = 0; i < SCOMP_MAX_FEEDS; i++)
        if (!f->slots[i].busy)
            return &f->slots[i];
    return NULL;
}

/* \return 1 submitted, 0 the stream wants nothing now, -EAGAIN no more can be submitted, or a connection error. */
static int feed(struct feeder *f, uint32_t index, uint32_t depth) {
    const struct assasin_input *in = &f->job->inputs[index];
    struct fed_stream *stream = &f->streams[index];
    if (in->extent_count || stream->over || stream->given == in->bytes || stream->in_flight >= depth)
        return 0;
    struct feed_slot *slot = free_slot(f);
    if (!slot)
        return -EAGAIN;
    uint64_t left = in->bytes - stream->given;
    slot->stream = index;
    slot->bytes = left < FEED_BYTES ? (uint32_t)left : FEED_BYTES;
    memcpy(slot->buffer, (const uint8_t *)in->data + stream->given, slot->bytes);
    struct assasin_command command = {
        .dw = {SCOMP_OPCODE_IO_FEED, f->drive->link->namespace_id, [10] = f->handle,
               [11] = index / f->job->streams_in | index % f->job->streams_in << 16, [12] = slot->bytes,
               [14] = f->drive->secret[0], [15] = f->drive->secret[1]}};
    int rc = assasin_submit(f->drive, ASSASIN_IO, &command, slot->buffer, slot->bytes, fed_done, slot);
    if (rc)
        return rc;
    slot->busy = true;
    f->busy++;
    stream->in_flight++;
    stream->given += slot->bytes;
    return 1;
}

int feeder_pump(struct feeder *f, const bool *ended) {
    const struct assasin_job *job = f->job;
    if (!f->fed || f->failed || f->too_early)
        return 0;
    while (f->first < job->pieces && ended[f->first])
        f->first++;
    /* A refused feed would let the next one of its stream pass it, so there is only one until the drive knows the job.
     */
    if (!f->known && f->busy)
        return 0;
    for (uint32_t depth = 1; depth <= DEPTH; depth++) {
        uint32_t window = f->piece_window;
        for (uint32_t p = f->first; p < job->pieces && window; p++) {
            if (ended[p])
                continue;
            window--;
            for (uint32_t s = 0; s < job->streams_in; s++) {
                int rc = feed(f, p * job->streams_in + s, depth);
                if (rc < 0)
                    return rc == -EAGAIN ? 0 : rc;
                if (rc && !f->known)
                    return 0;
            }
        }
        /* More than one a stream only where they cannot pass each other and every running piece keeps its places. */
        if (!f->drive->link->ordered || f->piece_window * f->fed * (depth + 1) > SCOMP_MAX_FEEDS)
            return 0;
    }
    return 0;
}
