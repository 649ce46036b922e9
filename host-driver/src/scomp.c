/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions and jobs: the vendor commands of hw/regs/scomp.toml. */
#include "chunks.h"
#include "drive.h"
#include "split.h"

#include <assasin_contract.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Buffer of one IO_READ, and how many wait at the drive at once: one is filled while the other is taken apart. */
#define READ_BYTES (64u << 10)
#define READS      2
#define TICK_MS    100

int assasin_function_load(struct assasin_drive *drive, uint16_t slot, const void *elf, size_t bytes) {
    if (bytes == 0 || bytes > SCOMP_MAX_ELF)
        return drive_fail(drive, EINVAL, "loading a function: the ELF file has %zu bytes, the drive takes 1..%u", bytes,
                          SCOMP_MAX_ELF);
    struct assasin_command command = {.dw = {SCOMP_OPCODE_ADMIN_FUNC_LOAD, [10] = slot, [11] = (uint32_t)bytes}};
    /* Whole dwords travel. */
    size_t padded = (bytes + 3) / 4 * 4;
    uint8_t *copy = calloc(1, padded);
    if (!copy)
        return drive_fail(drive, ENOMEM, "out of memory");
    memcpy(copy, elf, bytes);
    int rc = drive_execute(drive, ASSASIN_ADMIN, &command, copy, padded, "loading a function", NULL);
    free(copy);
    return rc;
}

int assasin_function_unload(struct assasin_drive *drive, uint16_t slot) {
    struct assasin_command command = {.dw = {SCOMP_OPCODE_ADMIN_FUNC_UNLOAD, [10] = slot}};
    return drive_execute(drive, ASSASIN_ADMIN, &command, NULL, 0, "unloading a function", NULL);
}

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
    uint16_t handle;
    struct chunks chunks;
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
    struct assasin_command command = {.dw = {SCOMP_OPCODE_IO_READ, 1, [10] = e->handle, [12] = READ_BYTES}};
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

static unsigned reads_busy(const struct exec *e) {
    unsigned n = 0;
    for (unsigned i = 0; i < READS; i++)
        n += e->reads[i].busy;
    return n;
}

/* Stops the request, so that everything of it that is in flight completes. */
static void abort_job(struct exec *e) {
    struct assasin_command command = {.dw = {SCOMP_OPCODE_IO_ABORT, 1, [10] = e->handle}};
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
    while (!(e->done && reads_busy(e) == 0 && !oldest_full(e) && (e->last || e->completion.status || e->failed))) {
        bool refused = e->done && e->completion.status;
        if (e->over && reads_busy(e) == 0 && !e->last && !refused && !e->failed)
            e->failed =
                drive_fail(e->drive, EPROTO, "the drive ended a job without saying which of its output was the last");
        for (unsigned i = 0; i < READS && !e->last && !refused && !e->failed && !e->too_early; i++) {
            int rc = e->reads[i].busy || e->reads[i].full ? 0 : submit_read(e, &e->reads[i]);
            if (rc && rc != -EAGAIN)
                return rc;
        }
        int reaped = assasin_poll(e->drive);
        if (reaped < 0)
            return reaped;
        int rc = take_apart(e);
        if (rc && !e->failed)
            e->failed = rc;
        if (e->failed && !aborted && !e->done) {
            struct assasin_error keep = e->drive->error;
            abort_job(e);
            e->drive->error = keep;
            aborted = true;
        }
        if (reaped) {
            drive_wait_progress(&w);
            continue;
        }
        rc = drive_wait_nap(e->drive, &w);
        if (!rc)
            rc = tick(e);
        if (rc)
            return rc;
        e->too_early = false;
    }
    return 0;
}

static int finish(struct exec *e, uint32_t *failed) {
    if (e->failed) {
        e->drive->status = e->failed_status;
        return e->failed;
    }
    int rc = drive_check(e->drive, "running a job", &e->completion);
    if (rc)
        return rc;
    if (e->chunks.ends != e->chunks.pieces || e->chunks.failed != e->completion.dw0)
        return drive_fail(e->drive, EPROTO, "the drive reports %u failed pieces, but %u of %u ended, %u of them failed",
                          e->completion.dw0, e->chunks.ends, e->chunks.pieces, e->chunks.failed);
    if (failed)
        *failed = e->chunks.failed;
    return 0;
}

static size_t request_bytes(const struct assasin_job *job) {
    return sizeof(struct scomp_request) + (job->args_bytes + 7u) / 8 * 8 +
           (size_t)job->pieces * job->streams_in * sizeof(struct scomp_stream) +
           (size_t)job->extent_count * sizeof(struct scomp_extent);
}

static void write_request(const struct assasin_job *job, uint8_t *p) {
    struct scomp_request head = {
        .magic = SCOMP_MAGIC,
        .version = SCOMP_VERSION,
        .func = job->slot,
        .streams_in = job->streams_in,
        .streams_out = job->streams_out,
        .s_log2 = job->s_log2 < 0 ? 0xFF : (uint8_t)job->s_log2,
        .pieces = job->pieces,
        .extents = job->extent_count,
        .args_bytes = job->args_bytes,
        .max_cores = job->max_cores,
        .watchdog_kcycles = job->watchdog_kcycles,
    };
    memcpy(p, &head, sizeof(head));
    p += sizeof(head);
    if (job->args_bytes)
        memcpy(p, job->args, job->args_bytes);
    p += (job->args_bytes + 7u) / 8 * 8;
    for (size_t i = 0; i < (size_t)job->pieces * job->streams_in; i++, p += sizeof(struct scomp_stream)) {
        struct scomp_stream s = {job->inputs[i].first_extent, job->inputs[i].extent_count, job->inputs[i].bytes};
        memcpy(p, &s, sizeof(s));
    }
    for (size_t i = 0; i < job->extent_count; i++, p += sizeof(struct scomp_extent)) {
        struct scomp_extent x = {.lba = job->extents[i].lba, .count = job->extents[i].count};
        memcpy(p, &x, sizeof(x));
    }
}

static int prepare(struct exec *e, const struct assasin_job *job, const struct assasin_sink *sink, void *arg,
                   size_t bytes) {
    struct assasin_drive *drive = e->drive;
    if (chunks_init(&e->chunks, job->pieces, job->streams_out, sink, arg))
        return drive_fail(drive, ENOMEM, "out of memory");
    e->request = dma_alloc(&drive->dma, bytes);
    bool room = e->request;
    for (unsigned i = 0; i < READS; i++) {
        e->reads[i] = (struct read_slot){.exec = e, .buffer = dma_alloc(&drive->dma, READ_BYTES)};
        room = room && e->reads[i].buffer;
    }
    if (!room)
        return drive_fail(drive, ENOMEM, "no DMA memory for a job is left");
    write_request(job, e->request);
    e->handle = drive->next_handle++;
    struct assasin_command command = {.dw = {SCOMP_OPCODE_IO_EXEC, 1, [10] = e->handle, [12] = (uint32_t)bytes}};
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
    for (unsigned i = 0; i < READS; i++)
        dma_free(&e->drive->dma, e->reads[i].buffer);
    dma_free(&e->drive->dma, e->request);
    free(e);
}

/* A stream that names a block twice is a mistake of the caller's. The drive would read it twice. */
static int check_overlap(struct assasin_drive *drive, const struct assasin_job *job) {
    for (size_t i = 0; i < (size_t)job->pieces * job->streams_in; i++) {
        const struct assasin_input *in = &job->inputs[i];
        uint64_t lba = 0;
        if (in->first_extent > job->extent_count || in->extent_count > job->extent_count - in->first_extent)
            continue; /* the drive refuses it and names the field */
        int rc = extents_overlap(job->extents + in->first_extent, in->extent_count, &lba);
        if (rc == -EEXIST)
            return drive_fail(drive, EEXIST,
                              "running a job: extents of input stream %zu of piece %zu overlap at block %llu",
                              i % job->streams_in, i / job->streams_in, (unsigned long long)lba);
        if (rc)
            return drive_fail(drive, ENOMEM, "out of memory");
    }
    return 0;
}

int assasin_exec(struct assasin_drive *drive, const struct assasin_job *job, const struct assasin_sink *sink, void *arg,
                 uint32_t *failed) {
    if (drive->dead)
        return drive->dead;
    /* The drive checks the request; here only what this function itself relies on. */
    if (job->pieces == 0 || job->pieces > SCOMP_MAX_PIECES)
        return drive_fail(drive, EINVAL, "a job has 1..%u pieces, not %u", SCOMP_MAX_PIECES, job->pieces);
    size_t bytes = request_bytes(job);
    if (bytes > drive->info.transfer_bytes)
        return drive_fail(drive, EMSGSIZE,
                          "the request takes %zu bytes, one command carries %u: use fewer pieces or extents", bytes,
                          drive->info.transfer_bytes);
    int rc = check_overlap(drive, job);
    if (rc)
        return rc;
    struct exec *e = calloc(1, sizeof(*e));
    if (!e)
        return drive_fail(drive, ENOMEM, "out of memory");
    e->drive = drive;
    e->job = job;
    e->ticked_ms = drive_now_ms();
    rc = prepare(e, job, sink, arg, bytes);
    if (!rc)
        rc = pump(e);
    if (!rc)
        rc = finish(e, failed);
    /* With a dead connection commands may still point here. */
    if (!drive->dead)
        release(e);
    return rc;
}

struct stream_output {
    uint8_t *data;
    size_t bytes, room;
};

struct assasin_result {
    uint32_t pieces, streams, failed;
    struct assasin_piece *piece;
    struct stream_output *output; /* pieces x streams */
};

static int collect_data(void *arg, uint32_t piece, uint8_t stream, uint64_t position, const void *data,
                        uint32_t bytes) {
    struct assasin_result *r = arg;
    struct stream_output *o = &r->output[(size_t)piece * r->streams + stream];
    (void)position;
    if (bytes > o->room - o->bytes) {
        size_t room = (o->bytes + bytes) * 2;
        uint8_t *grown = realloc(o->data, room);
        if (!grown)
            return -ENOMEM;
        o->data = grown;
        o->room = room;
    }
    memcpy(o->data + o->bytes, data, bytes);
    o->bytes += bytes;
    return 0;
}

static int collect_end(void *arg, uint32_t piece, const struct assasin_piece *how) {
    struct assasin_result *r = arg;
    r->piece[piece] = *how;
    return 0;
}

int assasin_run(struct assasin_drive *drive, const struct assasin_job *job, struct assasin_result **result) {
    static const struct assasin_sink sink = {collect_data, collect_end};
    struct assasin_result *r = calloc(1, sizeof(*r));
    if (!r || job->pieces > SCOMP_MAX_PIECES) {
        free(r);
        return r ? drive_fail(drive, EINVAL, "a job has 1..%u pieces, not %u", SCOMP_MAX_PIECES, job->pieces)
                 : drive_fail(drive, ENOMEM, "out of memory");
    }
    r->pieces = job->pieces;
    r->streams = job->streams_out;
    r->piece = calloc(job->pieces ? job->pieces : 1, sizeof(*r->piece));
    r->output = calloc((size_t)job->pieces * job->streams_out + 1, sizeof(*r->output));
    int rc = r->piece && r->output ? assasin_exec(drive, job, &sink, r, &r->failed)
                                   : drive_fail(drive, ENOMEM, "out of memory");
    if (rc) {
        assasin_result_free(r);
        return rc;
    }
    *result = r;
    return 0;
}

uint32_t assasin_result_failed(const struct assasin_result *result) {
    return result->failed;
}

const struct assasin_piece *assasin_result_piece(const struct assasin_result *result, uint32_t piece) {
    return piece < result->pieces ? &result->piece[piece] : NULL;
}

const void *assasin_result_data(const struct assasin_result *result, uint32_t piece, uint8_t stream, size_t *bytes) {
    *bytes = 0;
    if (piece >= result->pieces || stream >= result->streams)
        return NULL;
    const struct stream_output *o = &result->output[(size_t)piece * result->streams + stream];
    *bytes = o->bytes;
    return o->data;
}

void assasin_result_free(struct assasin_result *result) {
    if (!result)
        return;
    for (size_t i = 0; result->output && i < (size_t)result->pieces * result->streams; i++)
        free(result->output[i].data);
    free(result->output);
    free(result->piece);
    free(result);
}
