/* SPDX-License-Identifier: BSD-3-Clause */
/* Running a job: the request goes out, input from the host follows, output is read while it runs. */
#include "chunks.h"
#include "drive.h"
#include "feed.h"
#include "marks.h"
#include "request.h"
#include "split.h"

#include <assasin_contract.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Buffer of one IO_READ, and how many wait at the drive at once: one is filled while the other is taken apart. */
#define READ_BYTES (64u << 10)
#define READS      2
#define TICK_MS    100

struct read_slot {
    struct exec *exec;
    void *buffer;
    bool busy;
    bool full; /* completed with data not yet taken apart */
    uint32_t bytes;
    uint64_t number;
};

struct exec {
    struct assasin_drive *drive;
    const struct assasin_job *job;
    uint64_t ticked_ms;
    uint32_t handle;
    struct chunks chunks;
    struct feeder feeder;
    struct assasin_job sent; /* the job with the cores that it may use */
    struct read_slot reads[READS];
    uint64_t submitted, consumed; /* reads are taken apart in the order in which they were submitted */
    void *request;
    bool done;                 /* IO_EXEC has completed */
    bool last;                 /* an IO_READ said that nothing more comes */
    bool too_early;            /* an IO_READ overtook its IO_EXEC */
    bool over;                 /* the drive has forgotten the request */
    uint64_t submitted_at_end; /* `submitted` when IO_EXEC completed */
    int failed;
    uint16_t failed_status;
    struct assasin_completion completion;
};

static void exec_done(void *arg, const struct assasin_completion *completion) {
    struct exec *e = arg;
    e->completion = *completion;
    e->submitted_at_end = e->submitted;
    e->done = true;
}

static void read_done(void *arg, const struct assasin_completion *completion) {
    struct read_slot *r = arg;
    struct exec *e = r->exec;
    r->busy = false;
    r->full = true;
    r->bytes = 0;
    if (completion->status == 0) {
        r->bytes = completion->dw0 & 0x7FFFFFFFu;
        e->last |= completion->dw0 >> 31;
    } else if (completion->status == (0x100u | NVME_VENDOR_STATUS_BAD_HANDLE)) {
        /* The request is over or was refused; or the drive has not looked at it yet. */
        e->over = e->done && r->number >= e->submitted_at_end;
        e->too_early = true;
    } else if (!e->failed) {
        e->failed = drive_check(e->drive, "reading the output of a job", completion);
        e->failed_status = e->drive->status;
    }
}

static int submit_read(struct exec *e, struct read_slot *r) {
    struct assasin_command command = {.dw = {SCOMP_OPCODE_IO_READ,
                                             e->drive->link->namespace_id, [10] = e->handle, [12] = READ_BYTES,
                                             [14] = e->drive->secret[0], [15] = e->drive->secret[1]}};
    int rc = assasin_submit(e->drive, ASSASIN_IO, &command, r->buffer, READ_BYTES, read_done, r);
    if (rc)
        return rc;
    r->busy = true;
    r->number = e->submitted++;
    return 0;
}

static struct read_slot *oldest_full(struct exec *e) {
    for (unsigned i = 0; i < READS; i++)
        if (e->reads[i].full && e->reads[i].number == e->consumed)
            return &e->reads[i];
    return NULL;
}

static int take_apart(struct exec *e) {
    struct read_slot *r;
    while ((r = oldest_full(e))) {
        r->full = false;
        e->consumed++;
        if (e->failed)
            continue;
        if (r->bytes > READ_BYTES)
            return drive_fail(e->drive, EPROTO, "the drive claims to have sent %u bytes into a buffer of %u", r->bytes,
                              READ_BYTES);
        int rc = chunks_feed(&e->chunks, r->buffer, r->bytes, &e->drive->error);
        e->drive->status = 0;
        if (rc && rc != -EPROTO)
            drive_fail(e->drive, -rc, "the receiver of the job's output stopped it (%d)", rc);
        if (rc)
            return rc;
    }
    return 0;
}

static unsigned busy(const struct exec *e) {
    unsigned n = e->feeder.busy;
    for (unsigned i = 0; i < READS; i++)
        n += e->reads[i].busy;
    return n;
}

/* Stops the request, so that everything of it that is in flight completes. */
static void abort_job(struct exec *e) {
    struct assasin_command command = {
        .dw = {SCOMP_OPCODE_IO_ABORT,
               e->drive->link->namespace_id, [10] = e->handle, [14] = e->drive->secret[0], [15] = e->drive->secret[1]}};
    struct assasin_completion completion;
    if (assasin_submit(e->drive, ASSASIN_IO, &command, NULL, 0, NULL, NULL) == 0)
        return;
    (void)drive_roundtrip(e->drive, ASSASIN_IO, &command, NULL, 0, "aborting a job", &completion);
}

static int tick(struct exec *e) {
    uint64_t now = drive_now_ms();
    if (!e->job->tick || e->failed || e->done || now - e->ticked_ms < TICK_MS)
        return 0;
    e->ticked_ms = now;
    if (e->job->tick(e->job->tick_arg) && !e->failed)
        e->failed = drive_fail(e->drive, ECANCELED, "running a job: canceled by the caller");
    return e->drive->dead;
}

static int pump(struct exec *e) {
    struct wait w = drive_wait_begin(e->drive, "running a job");
    bool aborted = false;
    while (!(e->done && busy(e) == 0 && !oldest_full(e) && (e->last || e->completion.status || e->failed))) {
        bool refused = e->done && e->completion.status;
        if (e->over && busy(e) == 0 && !e->last && !refused && !e->failed)
            e->failed =
                drive_fail(e->drive, EPROTO, "the drive ended a job without saying which of its output was the last");
        /* Where commands may overtake each other on their way, the second read could get what comes first. */
        unsigned reads = e->drive->link->ordered ? READS : 1;
        for (unsigned i = 0; i < reads && !e->last && !refused && !e->failed && !e->too_early; i++) {
            int rc = e->reads[i].busy || e->reads[i].full ? 0 : submit_read(e, &e->reads[i]);
            if (rc && rc != -EAGAIN)
                return rc;
        }
        int rc = refused || e->failed || e->done ? 0 : feeder_pump(&e->feeder, e->chunks.ended);
        if (rc)
            return rc;
        int reaped = assasin_poll(e->drive);
        if (reaped < 0)
            return reaped;
        if (e->feeder.failed && !e->failed) {
            e->failed = e->feeder.failed;
            e->failed_status = e->drive->status;
        }
        rc = take_apart(e);
        if (rc && !e->failed)
            e->failed = rc;
        if (e->failed && !aborted && !e->done) {
            struct assasin_error keep = e->drive->error;
            abort_job(e);
            e->drive->error = keep;
            aborted = true;
        }
        if (reaped)
            drive_wait_progress(e->drive, &w);
        else if ((rc = drive_wait_nap(e->drive, &w)) || (rc = tick(e)))
            return rc;
        if (w.ended_ms && !e->failed)
            e->failed = drive_fail(e->drive, EINTR, "interrupted while running a job, which is aborted");
        if (!reaped)
            e->too_early = e->feeder.too_early = false;
    }
    return 0;
}

static int finish(struct exec *e, uint32_t *failed) {
    if (e->failed) {
        e->drive->status = e->failed_status;
        return e->failed;
    }
    struct assasin_error where = {0};
    int rc =
        drive_check_at(e->drive, "running a job", &e->completion, request_where(&e->sent, e->completion.dw0, &where));
    if (rc)
        return rc;
    if (e->chunks.ends != e->chunks.pieces || e->chunks.failed != e->completion.dw0)
        return drive_fail(e->drive, EPROTO, "the drive reports %u failed pieces, but %u of %u ended, %u of them failed",
                          e->completion.dw0, e->chunks.ends, e->chunks.pieces, e->chunks.failed);
    if (failed)
        *failed = e->chunks.failed;
    return 0;
}

static int prepare(struct exec *e, const struct assasin_job *job, const struct assasin_sink *sink, void *arg,
                   size_t bytes) {
    struct assasin_drive *drive = e->drive;
    if (chunks_init(&e->chunks, job, sink, arg))
        return drive_fail(drive, ENOMEM, "out of memory");
    e->sent = *job;
    e->sent.max_cores = feeder_max_cores(drive, job);
    e->request = drive_alloc(drive, bytes);
    bool room = feeder_init(&e->feeder, drive, job, e->sent.max_cores) == 0 && e->request;
    for (unsigned i = 0; i < READS; i++) {
        e->reads[i] = (struct read_slot){.exec = e, .buffer = drive_alloc(drive, READ_BYTES)};
        room = room && e->reads[i].buffer;
    }
    if (!room)
        return drive_fail(drive, ENOMEM, "no DMA memory for a job is left");
    request_write(&e->sent, e->request);
    int opened = session_open(drive);
    if (opened)
        return opened;
    e->handle = e->feeder.handle = session_handle(drive);
    struct assasin_command command = {.dw = {SCOMP_OPCODE_IO_EXEC, drive->link->namespace_id, [10] = e->handle,
                                             [12] = (uint32_t)bytes, [14] = drive->secret[0], [15] = drive->secret[1]}};
    int rc;
    struct wait w = drive_wait_begin(drive, "submitting a job");
    while ((rc = assasin_submit(drive, ASSASIN_IO, &command, e->request, bytes, exec_done, e)) == -EAGAIN) {
        int reaped = assasin_poll(drive);
        if (reaped < 0 || (reaped == 0 && (reaped = drive_wait_nap(drive, &w))))
            return reaped;
    }
    return rc;
}

static void release(struct exec *e) {
    chunks_destroy(&e->chunks);
    feeder_destroy(&e->feeder);
    for (unsigned i = 0; i < READS; i++)
        drive_free(e->drive, e->reads[i].buffer);
    drive_free(e->drive, e->request);
    free(e);
}

/* A stream that names a block twice is a mistake of the caller's. The drive would read it twice. */
static int check_overlap(struct assasin_drive *drive, const struct assasin_job *job, const char *kind, size_t index,
                         uint32_t first, uint32_t count) {
    uint64_t lba = 0;
    size_t streams = *kind == 'i' ? job->streams_in : job->streams_out;
    if (first > job->extent_count || count > job->extent_count - first)
        return 0; /* the drive refuses it and names the field */
    int rc = extents_overlap(job->extents + first, count, &lba);
    if (rc == -EEXIST)
        return drive_fail(drive, EEXIST, "running a job: extents of %s stream %zu of piece %zu overlap at block %llu",
                          kind, index % streams, index / streams, (unsigned long long)lba);
    return rc ? drive_fail(drive, ENOMEM, "out of memory") : 0;
}

/* The drive checks the request; here only what this library itself relies on. */
static int check(struct assasin_drive *drive, const struct assasin_job *job) {
    if (job->pieces == 0 || job->pieces > SCOMP_MAX_PIECES)
        return drive_fail(drive, EINVAL, "a job has 1..%u pieces, not %u", SCOMP_MAX_PIECES, job->pieces);
    if (job->node_count > SCOMP_MAX_NODES || (job->node_count == 0 && job->edge_count))
        return drive_fail(drive, EINVAL, "a tree has at most %u nodes, not %u, and edges only with nodes",
                          SCOMP_MAX_NODES, job->node_count);
    if (job->node_count > drive->info.cores) {
        uint32_t ids[ASSASIN_SLOTS], slots;
        int rc = assasin_slots(drive, ids, &slots);
        if (rc)
            return rc;
        if (job->node_count > drive->info.cores + slots)
            return drive_fail(drive, EINVAL, "a tree of %u nodes needs as many cores, this drive has %u%s",
                              job->node_count, drive->info.cores + slots, slots ? ", slots included" : "");
    }
    size_t bytes = request_bytes(job);
    if (bytes > drive->info.transfer_bytes)
        return drive_fail(drive, EMSGSIZE,
                          "the request takes %zu bytes, one command carries %u: use fewer pieces or extents", bytes,
                          drive->info.transfer_bytes);
    int rc = 0;
    for (size_t i = 0; i < (size_t)job->pieces * job->streams_in && !rc; i++) {
        const struct assasin_input *in = &job->inputs[i];
        if (in->extent_count == 0 && in->bytes && !in->data)
            return drive_fail(drive, EINVAL,
                              "input stream %zu of piece %zu has %llu bytes, but neither extents nor data",
                              i % job->streams_in, i / job->streams_in, (unsigned long long)in->bytes);
        rc = check_overlap(drive, job, "input", i, in->first_extent, in->extent_count);
    }
    for (size_t i = 0; job->outputs && i < (size_t)job->pieces * job->streams_out && !rc; i++)
        rc = check_overlap(drive, job, "output", i, job->outputs[i].first_extent, job->outputs[i].extent_count);
    return rc;
}

static uint64_t input_bytes(const struct assasin_job *job) {
    uint64_t sum = 0;
    for (size_t i = 0; i < (size_t)job->pieces * job->streams_in; i++)
        sum += job->inputs[i].bytes;
    return sum;
}

int assasin_exec(struct assasin_drive *drive, const struct assasin_job *job, const struct assasin_sink *sink, void *arg,
                 uint32_t *failed) {
    if (drive->dead)
        return drive->dead;
    int rc = check(drive, job);
    if (rc)
        return rc;
    struct exec *e = calloc(1, sizeof(*e));
    if (!e)
        return drive_fail(drive, ENOMEM, "out of memory");
    e->drive = drive;
    e->job = job;
    e->ticked_ms = drive_now_ms();
    marks_begin(drive, "offload", input_bytes(job));
    rc = prepare(e, job, sink, arg, request_bytes(job));
    if (!rc)
        rc = pump(e);
    if (!rc)
        rc = finish(e, failed);
    marks_end(drive, "offload", input_bytes(job), rc);
    /* With a dead connection commands may still point here. */
    if (!drive->dead)
        release(e);
    return rc;
}
