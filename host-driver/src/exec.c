/* SPDX-License-Identifier: BSD-3-Clause */
/* Running jobs: the request goes out, input from the host follows, output is read while it runs. Nothing here waits but
 * assasin_exec_start() and assasin_execution_finish(): a job goes on whenever assasin_poll() is called. */
#include "exec.h"

#include "chunks.h"
#include "event.h"
#include "feed.h"
#include "marks.h"
#include "request.h"
#include "result.h"
#include "split.h"

#include <assasin_contract.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Buffer of one IO_READ, and how many wait at the drive at once: one is filled while the other is taken apart. */
#define READ_BYTES (64u << 10)
#define READS      2
#define TICK_MS    100

struct read_slot {
    struct assasin_execution *exec;
    void *buffer;
    bool busy;
    bool full; /* completed with data not yet taken apart */
    uint32_t bytes;
    uint64_t number;
};

struct assasin_execution {
    struct assasin_execution *next; /* of the drive's */
    struct assasin_drive *drive;
    struct assasin_job job;        /* the caller's; what it points to must stay until the end */
    struct assasin_job sent;       /* the job with the cores that it may use */
    struct assasin_result *result; /* collects the output; NULL when the caller has a sink */
    uint64_t ticked_ms;
    uint64_t round; /* of executions_advance() that has looked at it */
    uint32_t handle;
    struct chunks chunks;
    struct feeder feeder;
    struct read_slot reads[READS];
    uint64_t submitted, consumed; /* reads are taken apart in the order in which they were submitted */
    void *request;
    bool advancing;            /* a receiver of its output is being called */
    bool done;                 /* IO_EXEC has completed */
    bool last;                 /* an IO_READ said that nothing more comes */
    bool too_early;            /* an IO_READ overtook its IO_EXEC */
    bool over;                 /* the drive has forgotten the request */
    bool aborted;              /* the drive has been told to stop it */
    bool ended;                /* nothing of it is under way any more; `failed` is how it went */
    uint64_t submitted_at_end; /* `submitted` when IO_EXEC completed */
    int failed;                /* negative errno, with what the drive's error and status were then */
    struct assasin_error error;
    uint16_t status;
    struct assasin_completion completion;
};

/* The first failure of an execution is the one that counts. */
static void fail(struct assasin_execution *e, int rc, const struct assasin_error *error, uint16_t status) {
    if (e->failed)
        return;
    e->failed = rc;
    e->error = *error;
    e->status = status;
}

static void fail_as_drive(struct assasin_execution *e, int rc) {
    fail(e, rc, &e->drive->error, e->drive->status);
}

static void exec_done(void *arg, const struct assasin_completion *completion) {
    struct assasin_execution *e = arg;
    e->completion = *completion;
    e->submitted_at_end = e->submitted;
    e->done = true;
}

static void read_done(void *arg, const struct assasin_completion *completion) {
    struct read_slot *r = arg;
    struct assasin_execution *e = r->exec;
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
        fail_as_drive(e, drive_check(e->drive, "reading the output of a job", completion));
    }
}

static int submit_read(struct assasin_execution *e, struct read_slot *r) {
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

static struct read_slot *oldest_full(struct assasin_execution *e) {
    for (unsigned i = 0; i < READS; i++)
        if (e->reads[i].full && e->reads[i].number == e->consumed)
            return &e->reads[i];
    return NULL;
}

static int take_apart(struct assasin_execution *e) {
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

static unsigned busy(const struct assasin_execution *e) {
    unsigned n = e->feeder.busy;
    for (unsigned i = 0; i < READS; i++)
        n += e->reads[i].busy;
    return n;
}

/* Stops the request, so that everything of it that is in flight completes. */
static void abort_job(struct assasin_execution *e) {
    struct assasin_command command = {
        .dw = {SCOMP_OPCODE_IO_ABORT,
               e->drive->link->namespace_id, [10] = e->handle, [14] = e->drive->secret[0], [15] = e->drive->secret[1]}};
    struct assasin_completion completion;
    if (assasin_submit(e->drive, ASSASIN_IO, &command, NULL, 0, NULL, NULL) == 0)
        return;
    (void)drive_roundtrip(e->drive, ASSASIN_IO, &command, NULL, 0, "aborting a job", &completion);
}

static uint64_t input_bytes(const struct assasin_job *job) {
    uint64_t sum = 0;
    for (size_t i = 0; i < (size_t)job->pieces * job->streams_in; i++)
        sum += job->inputs[i].bytes;
    return sum;
}

/* How it went, now that nothing is under way. */
static void conclude(struct assasin_execution *e) {
    struct assasin_error where = {0};
    int rc = 0;
    if (!e->failed)
        rc = drive_check_at(e->drive, "running a job", &e->completion,
                            request_where(&e->sent, e->completion.dw0, &where));
    if (!e->failed && !rc && (e->chunks.ends != e->chunks.pieces || e->chunks.failed != e->completion.dw0))
        rc = drive_fail(e->drive, EPROTO, "the drive reports %u failed pieces, but %u of %u ended, %u of them failed",
                        e->completion.dw0, e->chunks.ends, e->chunks.pieces, e->chunks.failed);
    if (rc)
        fail_as_drive(e, rc);
    e->ended = true;
    marks_end(e->drive, "offload", input_bytes(&e->job), e->failed);
}

/* Goes on as far as what has completed allows. `idle`: nothing has completed since the last time. \return 0 or a
 * connection error. */
static int advance(struct assasin_execution *e, bool idle) {
    if (e->feeder.failed)
        fail(e, e->feeder.failed, &e->feeder.error, e->feeder.status);
    int rc = take_apart(e);
    if (rc)
        fail_as_drive(e, rc);
    if (e->failed && !e->aborted && !e->done) {
        e->aborted = true;
        abort_job(e);
    }
    bool refused = e->done && e->completion.status;
    if (e->over && busy(e) == 0 && !e->last && !refused && !e->failed)
        fail_as_drive(
            e, drive_fail(e->drive, EPROTO, "the drive ended a job without saying which of its output was the last"));
    if (e->done && busy(e) == 0 && !oldest_full(e) && (e->last || refused || e->failed)) {
        conclude(e);
        return 0;
    }
    /* Where commands may overtake each other on their way, the second read could get what comes first. */
    unsigned reads = e->drive->link->ordered ? READS : 1;
    for (unsigned i = 0; i < reads && !e->last && !refused && !e->failed && !e->too_early; i++) {
        rc = e->reads[i].busy || e->reads[i].full ? 0 : submit_read(e, &e->reads[i]);
        if (rc && rc != -EAGAIN)
            return rc;
    }
    rc = refused || e->failed || e->done ? 0 : feeder_pump(&e->feeder, e->chunks.ended);
    if (idle)
        e->too_early = e->feeder.too_early = false;
    return rc;
}

/* One that this round has not looked at. Receivers of output may poll, start executions and finish others, so there is
 * no place in the list to go on from. */
static struct assasin_execution *not_looked_at(const struct assasin_drive *drive, uint64_t round) {
    struct assasin_execution *e = drive->executions;
    while (e && (e->ended || e->advancing || e->round >= round))
        e = e->next;
    return e;
}

int executions_advance(struct assasin_drive *drive, bool idle) {
    uint64_t round = ++drive->round;
    struct assasin_execution *e;
    while ((e = not_looked_at(drive, round))) {
        e->round = round;
        e->advancing = true;
        int rc = advance(e, idle);
        e->advancing = false;
        if (rc)
            return rc;
    }
    return 0;
}

static int tick(struct assasin_execution *e) {
    uint64_t now = drive_now_ms();
    if (!e->job.tick || e->failed || e->done || now - e->ticked_ms < TICK_MS)
        return 0;
    e->ticked_ms = now;
    if (e->job.tick(e->job.tick_arg))
        fail_as_drive(e, drive_fail(e->drive, ECANCELED, "running a job: canceled by the caller"));
    return e->drive->dead;
}

/* Waits until it has ended. \return 0 or a connection error. */
static int await(struct assasin_execution *e) {
    struct wait w = drive_wait_begin(e->drive, "running a job");
    while (!e->ended) {
        int reaped = assasin_poll(e->drive), rc;
        if (reaped < 0)
            return reaped;
        if (e->ended)
            break;
        if (reaped)
            drive_wait_progress(e->drive, &w);
        else if ((rc = drive_wait_nap(e->drive, &w)) || (rc = tick(e)))
            return rc;
        if (w.ended_ms && !e->failed)
            fail_as_drive(e, drive_fail(e->drive, EINTR, "interrupted while running a job, which is aborted"));
    }
    return 0;
}

static int prepare(struct assasin_execution *e, const struct assasin_job *job, const struct assasin_sink *sink,
                   void *arg, size_t bytes) {
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

/* `dead`: commands may still have its buffers, which go with the drive's memory. */
static void release(struct assasin_execution *e, bool dead) {
    chunks_destroy(&e->chunks);
    feeder_destroy(&e->feeder, dead);
    for (unsigned i = 0; i < READS && !dead; i++)
        drive_free(e->drive, e->reads[i].buffer);
    if (!dead)
        drive_free(e->drive, e->request);
    assasin_result_free(e->result);
    free(e);
}

static void unlink_execution(struct assasin_execution *e) {
    struct assasin_execution **link = &e->drive->executions;
    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
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

static int start(struct assasin_drive *drive, const struct assasin_job *job, const struct assasin_sink *sink, void *arg,
                 struct assasin_execution **execution) {
    if (drive->dead)
        return drive->dead;
    int rc = check(drive, job);
    if (rc)
        return rc;
    struct assasin_execution *e = calloc(1, sizeof(*e));
    if (!e)
        return drive_fail(drive, ENOMEM, "out of memory");
    e->drive = drive;
    e->job = *job;
    e->ticked_ms = drive_now_ms();
    marks_begin(drive, "offload", input_bytes(job));
    rc = prepare(e, &e->job, sink, arg, request_bytes(job));
    if (rc) {
        marks_end(drive, "offload", input_bytes(job), rc);
        release(e, drive->dead != 0);
        return rc;
    }
    e->next = drive->executions;
    drive->executions = e;
    event_expect(drive);
    *execution = e;
    return 0;
}

int assasin_exec_start(struct assasin_drive *drive, const struct assasin_job *job, const struct assasin_sink *sink,
                       void *arg, struct assasin_execution **execution) {
    return start(drive, job, sink, arg, execution);
}

int assasin_run_start(struct assasin_drive *drive, const struct assasin_job *job,
                      struct assasin_execution **execution) {
    struct assasin_result *result;
    int rc = check(drive, job);
    if (!rc && !(result = result_new(job)))
        rc = drive_fail(drive, ENOMEM, "out of memory");
    if (rc)
        return rc;
    rc = start(drive, job, &result_sink, result, execution);
    if (rc)
        assasin_result_free(result);
    else
        (*execution)->result = result;
    return rc;
}

bool assasin_execution_ended(const struct assasin_execution *execution) {
    return execution->ended || execution->drive->dead;
}

void assasin_execution_cancel(struct assasin_execution *execution) {
    struct assasin_error error;
    snprintf(error.text, sizeof(error.text), "running a job: canceled by the caller");
    if (!execution->ended)
        fail(execution, -ECANCELED, &error, 0);
    event_expect(execution->drive);
}

int assasin_execution_finish(struct assasin_execution *execution, uint32_t *failed, struct assasin_result **result) {
    struct assasin_execution *e = execution;
    struct assasin_drive *drive = e->drive;
    if (result)
        *result = NULL;
    int rc = await(e);
    if (!rc && e->failed) {
        rc = e->failed;
        drive->error = e->error;
        drive->status = e->status;
    }
    if (!rc && failed)
        *failed = e->chunks.failed;
    if (!rc && result && e->result) {
        result_set_failed(e->result, e->chunks.failed);
        *result = e->result;
        e->result = NULL;
    }
    unlink_execution(e);
    release(e, drive->dead != 0);
    return rc;
}

void executions_cancel(struct assasin_drive *drive) {
    while (drive->executions && !drive->dead) {
        assasin_execution_cancel(drive->executions);
        (void)assasin_execution_finish(drive->executions, NULL, NULL);
    }
}

void executions_forget(struct assasin_drive *drive) {
    while (drive->executions) {
        struct assasin_execution *e = drive->executions;
        drive->executions = e->next;
        release(e, true);
    }
}

int assasin_exec(struct assasin_drive *drive, const struct assasin_job *job, const struct assasin_sink *sink, void *arg,
                 uint32_t *failed) {
    struct assasin_execution *e;
    int rc = start(drive, job, sink, arg, &e);
    return rc ? rc : assasin_execution_finish(e, failed, NULL);
}

int assasin_run(struct assasin_drive *drive, const struct assasin_job *job, struct assasin_result **result) {
    struct assasin_execution *e;
    int rc = assasin_run_start(drive, job, &e);
    return rc ? rc : assasin_execution_finish(e, NULL, result);
}
