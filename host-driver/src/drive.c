/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, closing and waiting: the NVMe controller's life as the NVM Express Base Specification lays it down. */
#define _POSIX_C_SOURCE 200809L
#include "drive.h"

#include <assasin_contract.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ADMIN_ENTRIES    32u
#define DEFAULT_DEPTH    128u
#define DEFAULT_MEMORY   (64u << 20)
#define DEFAULT_STALL_MS 30000u
#define DEFAULT_LIMIT_MS 1800000u
#define PROBE_MS         1000u
/* A look at the clock costs the drive some cycles of bus traffic itself; more than this means that it works. */
#define CLOCK_MOVES     2000u
#define NAP_SHORTEST_US 50u
#define NAP_LONGEST_US  1000u

uint64_t drive_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int drive_fail(struct assasin_drive *drive, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(drive->error.text, sizeof(drive->error.text), format, args);
    va_end(args);
    drive->status = 0;
    return -code;
}

/* After an error of the connection commands may still own memory, so nothing more can be done with the drive. */
static int give_up(struct assasin_drive *drive, int rc) {
    if (rc) {
        drive->dead = drive->dead ? drive->dead : rc;
        drive->status = 0;
    }
    return rc;
}

static int read32(struct assasin_drive *drive, uint32_t offset, uint32_t *value) {
    return drive->dead ? drive->dead : give_up(drive, drive->transport->ops->read32(drive->transport, offset, value));
}

static int write32(struct assasin_drive *drive, uint32_t offset, uint32_t value) {
    return drive->dead ? drive->dead : give_up(drive, drive->transport->ops->write32(drive->transport, offset, value));
}

static int write64(struct assasin_drive *drive, uint32_t offset, uint64_t value) {
    int rc = write32(drive, offset, (uint32_t)value);
    return rc ? rc : write32(drive, offset + 4, (uint32_t)(value >> 32));
}

int assasin_register_read(struct assasin_drive *drive, uint32_t offset, uint32_t *value) {
    return read32(drive, offset, value);
}

int assasin_register_write(struct assasin_drive *drive, uint32_t offset, uint32_t value) {
    return write32(drive, offset, value);
}

int assasin_clock(struct assasin_drive *drive, uint64_t *cycles) {
    uint32_t low, high;
    int rc = read32(drive, ASSASIN_CTRL_BASE + CTRL_CYCLES_LO, &low);
    if (!rc)
        rc = read32(drive, ASSASIN_CTRL_BASE + CTRL_CYCLES_HI, &high);
    if (!rc)
        *cycles = (uint64_t)high << 32 | low;
    return rc;
}

struct wait drive_wait_begin(struct assasin_drive *drive, const char *what) {
    uint64_t now = drive_now_ms();
    return (struct wait){.what = what,
                         .start_ms = now,
                         .probed_ms = now,
                         .moved_ms = now,
                         .sleep_us = NAP_SHORTEST_US,
                         .limit_ms = drive->options.limit_ms};
}

void drive_wait_progress(struct wait *w) {
    w->start_ms = w->moved_ms = w->probed_ms = drive_now_ms();
    w->sleep_us = NAP_SHORTEST_US;
}

static int probe(struct assasin_drive *drive, struct wait *w, uint64_t now) {
    uint64_t clock;
    uint32_t state;
    int rc = assasin_clock(drive, &clock);
    if (!rc)
        rc = read32(drive, ASSASIN_CTRL_BASE + CTRL_FW_STATE, &state);
    if (rc)
        return rc;
    if (state >> 1 & 1) {
        uint32_t pc = 0;
        rc = read32(drive, ASSASIN_CTRL_BASE + CTRL_FW_PC, &pc);
        return rc ? rc
                  : give_up(drive,
                            drive_fail(drive, EIO, "%s: the drive's firmware stopped on a trap, cause %u at PC 0x%x",
                                       w->what, state >> 8 & 0xFF, pc));
    }
    if (clock - w->clock > CLOCK_MOVES)
        w->moved_ms = now;
    w->clock = clock;
    w->probed_ms = drive_now_ms();
    if (now - w->moved_ms > drive->options.stall_ms)
        return give_up(
            drive,
            drive_fail(
                drive, ETIMEDOUT,
                "%s: no answer, and the drive does nothing any more (its clock has stood still for %u s at %llu)",
                w->what, drive->options.stall_ms / 1000, (unsigned long long)clock));
    return 0;
}

int drive_wait_nap(struct assasin_drive *drive, struct wait *w) {
    if (drive->dead)
        return drive->dead;
    int rc = give_up(drive, drive->transport->ops->sleep(drive->transport, w->sleep_us));
    if (rc)
        return rc;
    if (w->sleep_us < NAP_LONGEST_US)
        w->sleep_us += w->sleep_us / 2;
    uint64_t now = drive_now_ms();
    if (now - w->start_ms > w->limit_ms)
        return give_up(drive, drive_fail(drive, ETIMEDOUT, "%s: not done after %u s although the drive's clock runs",
                                         w->what, w->limit_ms / 1000));
    return now - w->probed_ms >= PROBE_MS ? probe(drive, w, now) : 0;
}

static int ring(struct assasin_drive *drive, uint32_t index, uint32_t value) {
    return write32(drive, NVME_REG_DOORBELL + index * drive->doorbell_stride, value);
}

static int ring_doorbells(struct assasin_drive *drive) {
    int rc = 0;
    for (unsigned i = 0; i < DRIVE_QUEUES && !rc; i++) {
        struct queue *q = &drive->queues[i];
        if (q->cq_rung != q->cq_head) {
            rc = ring(drive, 2 * i + 1, q->cq_head);
            q->cq_rung = q->cq_head;
        }
        if (!rc && q->sq_rung != q->sq_tail) {
            rc = ring(drive, 2 * i, q->sq_tail);
            q->sq_rung = q->sq_tail;
        }
    }
    return rc;
}

int assasin_submit(struct assasin_drive *drive, unsigned queue, const struct assasin_command *command, void *data,
                   size_t bytes, assasin_done_fn done, void *arg) {
    if (drive->dead)
        return drive->dead;
    if (queue >= DRIVE_QUEUES || !drive->queues[queue].entries)
        return drive_fail(drive, EINVAL, "there is no queue %u", queue);
    if (data && drive->info.transfer_bytes && bytes > drive->info.transfer_bytes)
        return drive_fail(drive, EMSGSIZE, "%zu bytes in one command; the drive takes at most %u", bytes,
                          drive->info.transfer_bytes);
    int rc = queue_submit(&drive->queues[queue], command, data, bytes, done, arg);
    if (rc == -EFAULT)
        return drive_fail(drive, EFAULT, "the data is not in DMA memory of this drive (assasin_dma_alloc)");
    return rc;
}

int assasin_poll(struct assasin_drive *drive) {
    int rc = drive->dead ? drive->dead : ring_doorbells(drive);
    if (rc)
        return rc;
    int reaped = 0;
    for (unsigned i = 0; i < DRIVE_QUEUES; i++)
        if (drive->queues[i].entries)
            reaped += queue_reap(&drive->queues[i]);
    if (!reaped)
        return 0;
    rc = ring_doorbells(drive);
    return rc ? rc : reaped;
}

unsigned assasin_in_flight(const struct assasin_drive *drive) {
    return drive->queues[ASSASIN_ADMIN].in_flight + drive->queues[ASSASIN_IO].in_flight;
}

int assasin_wait(struct assasin_drive *drive) {
    struct wait w = drive_wait_begin(drive, "waiting for a completion");
    for (;;) {
        int reaped = assasin_poll(drive);
        if (reaped)
            return reaped;
        if (!assasin_in_flight(drive))
            return drive_fail(drive, ENOENT, "no command is in flight");
        int rc = drive_wait_nap(drive, &w);
        if (rc)
            return rc;
    }
}

struct roundtrip {
    bool done;
    struct assasin_completion completion;
};

static void roundtrip_done(void *arg, const struct assasin_completion *completion) {
    struct roundtrip *r = arg;
    r->completion = *completion;
    r->done = true;
}

int drive_roundtrip(struct assasin_drive *drive, unsigned queue, const struct assasin_command *command, void *data,
                    size_t bytes, const char *what, struct assasin_completion *completion) {
    struct roundtrip r = {0};
    struct wait w = drive_wait_begin(drive, what);
    int rc;
    while ((rc = assasin_submit(drive, queue, command, data, bytes, roundtrip_done, &r)) == -EAGAIN)
        if ((rc = assasin_poll(drive)) < 0 || (rc == 0 && (rc = drive_wait_nap(drive, &w))))
            return rc;
    if (rc)
        return rc;
    while (!r.done) {
        int reaped = assasin_poll(drive);
        if (reaped < 0)
            return reaped;
        if (reaped)
            drive_wait_progress(&w);
        else if ((rc = drive_wait_nap(drive, &w)))
            return rc;
    }
    *completion = r.completion;
    return 0;
}

int drive_execute(struct assasin_drive *drive, unsigned queue, const struct assasin_command *command, void *data,
                  size_t bytes, const char *what, struct assasin_completion *completion) {
    struct assasin_completion local;
    void *bounce = NULL;
    if (bytes && !(bounce = dma_alloc(&drive->dma, bytes)))
        return drive_fail(drive, ENOMEM, "%s: no DMA memory for %zu bytes is left", what, bytes);
    unsigned direction = command->dw[0] & 3u;
    if (bytes && direction & 1)
        memcpy(bounce, data, bytes);
    int rc = drive_roundtrip(drive, queue, command, bounce, bytes, what, &local);
    if (rc) {
        if (!drive->dead)
            dma_free(&drive->dma, bounce);
        return rc;
    }
    if (completion)
        *completion = local;
    rc = drive_check(drive, what, &local);
    if (!rc && bytes && direction & 2)
        memcpy(data, bounce, bytes);
    dma_free(&drive->dma, bounce);
    return rc;
}

int assasin_execute(struct assasin_drive *drive, unsigned queue, const struct assasin_command *command, void *data,
                    size_t bytes, struct assasin_completion *completion) {
    char what[48];
    snprintf(what, sizeof(what), "%s command %02xh", queue ? "I/O" : "admin", command->dw[0] & 0xFFu);
    return drive_execute(drive, queue, command, data, bytes, what, completion);
}

int assasin_raw_command(struct assasin_drive *drive, unsigned queue, const struct assasin_command *command,
                        struct assasin_completion *completion) {
    return assasin_execute(drive, queue, command, NULL, 0, completion);
}

void *assasin_dma_alloc(struct assasin_drive *drive, size_t bytes) {
    return dma_alloc(&drive->dma, bytes);
}

void assasin_dma_free(struct assasin_drive *drive, void *memory) {
    dma_free(&drive->dma, memory);
}

uint64_t assasin_dma_address(const struct assasin_drive *drive, const void *memory) {
    return dma_address(&drive->dma, memory, 0);
}

const char *assasin_last_error(const struct assasin_drive *drive) {
    return drive->error.text;
}

uint16_t assasin_last_status(const struct assasin_drive *drive) {
    return drive->status;
}

void assasin_get_info(const struct assasin_drive *drive, struct assasin_info *info) {
    *info = drive->info;
}

/* Waits until (CSTS & mask) == value. */
static int await_status(struct assasin_drive *drive, uint32_t mask, uint32_t value, const char *what) {
    struct wait w = drive_wait_begin(drive, what);
    for (;;) {
        uint32_t csts;
        int rc = read32(drive, NVME_REG_CSTS, &csts);
        if (rc)
            return rc;
        if (csts & NVME_CSTS_CFS)
            return give_up(
                drive, drive_fail(drive, EIO, "%s: the controller reports a fatal error (CSTS = 0x%x)", what, csts));
        if ((csts & mask) == value)
            return 0;
        rc = drive_wait_nap(drive, &w);
        if (rc)
            return rc;
    }
}

static void copy_text(char *to, const uint8_t *from, size_t length) {
    while (length && from[length - 1] == ' ')
        length--;
    memcpy(to, from, length);
    to[length] = 0;
}

static int enable(struct assasin_drive *drive, uint64_t *cap) {
    uint32_t low, high, cc;
    int rc;
    if ((rc = read32(drive, NVME_REG_CAP, &low)) || (rc = read32(drive, NVME_REG_CAP + 4, &high)) ||
        (rc = read32(drive, NVME_REG_CC, &cc)))
        return rc;
    *cap = (uint64_t)high << 32 | low;
    if (*cap == UINT64_MAX)
        return give_up(drive, drive_fail(drive, ENXIO, "the drive's registers do not answer (CAP reads all ones)"));
    drive->doorbell_stride = 4u << (high & 0xF);
    /* CAP.TO is the drive's promise in its own time; a simulated drive's second lasts longer than ours, so the limits
     * of struct wait rule. */
    if (cc & NVME_CC_EN && (rc = write32(drive, NVME_REG_CC, 0)))
        return rc;
    if ((rc = await_status(drive, NVME_CSTS_RDY, 0, "waiting for the controller to become disabled (CSTS.RDY = 0)")))
        return rc;
    struct queue *q = &drive->queues[ASSASIN_ADMIN];
    if (queue_init(q, &drive->dma, ADMIN_ENTRIES))
        return drive_fail(drive, ENOMEM, "no memory for the admin queue");
    if ((rc = write32(drive, NVME_REG_AQA, (ADMIN_ENTRIES - 1) << 16 | (ADMIN_ENTRIES - 1))) ||
        (rc = write64(drive, NVME_REG_ASQ, dma_address(&drive->dma, q->sq, 0))) ||
        (rc = write64(drive, NVME_REG_ACQ, dma_address(&drive->dma, q->cq, 0))) ||
        (rc = write32(drive, NVME_REG_CC, NVME_CC_QUEUE_ENTRIES | NVME_CC_EN)))
        return rc;
    return await_status(drive, NVME_CSTS_RDY, NVME_CSTS_RDY,
                        "waiting for the controller to become ready (CSTS.RDY = 1)");
}

static int learn(struct assasin_drive *drive) {
    uint8_t data[NVME_IDENTIFY_BYTES];
    int rc = assasin_identify(drive, NVME_CNS_CONTROLLER, 0, data);
    if (rc)
        return rc;
    struct assasin_info *info = &drive->info;
    copy_text(info->serial, data + NVME_ID_SERIAL, 20);
    copy_text(info->model, data + NVME_ID_MODEL, 40);
    copy_text(info->firmware, data + NVME_ID_FIRMWARE, 8);
    /* Without a limit of the drive's, one page of PRP list is the library's. */
    info->transfer_bytes =
        data[NVME_ID_MDTS] && data[NVME_ID_MDTS] < 9 ? DMA_PAGE << data[NVME_ID_MDTS] : DMA_PAGE << 9;
    if ((rc = assasin_identify(drive, NVME_CNS_NAMESPACE, 1, data)))
        return rc;
    memcpy(&info->blocks, data + NVME_IDNS_NSZE, sizeof(info->blocks));
    unsigned shift = data[NVME_IDNS_LBAF + 4 * (data[NVME_IDNS_FLBAS] & 0xF) + 2];
    if (info->blocks == 0 || shift < 9 || shift > 16)
        return drive_fail(drive, EPROTO, "namespace 1 makes no sense: %llu blocks of 2^%u bytes",
                          (unsigned long long)info->blocks, shift);
    info->block_bytes = 1u << shift;
    uint32_t config;
    if ((rc = read32(drive, ASSASIN_CTRL_BASE + CTRL_CONFIG, &config)))
        return rc;
    info->cores = config >> SYS_CONFIG_CORES_SHIFT & SYS_CONFIG_CORES_MASK;
    info->channels = config >> SYS_CONFIG_CHANNELS_SHIFT & SYS_CONFIG_CHANNELS_MASK;
    info->ways = config >> SYS_CONFIG_WAYS_SHIFT & SYS_CONFIG_WAYS_MASK;
    return 0;
}

static int create_io_queue(struct assasin_drive *drive, uint64_t cap) {
    uint32_t most = (uint32_t)(cap & 0xFFFF) + 1,
             entries = drive->options.queue_depth < most ? drive->options.queue_depth : most;
    struct queue *q = &drive->queues[ASSASIN_IO];
    int rc = queue_init(q, &drive->dma, entries);
    if (rc)
        return drive_fail(drive, ENOMEM, "no memory for an I/O queue of %u entries", entries);
    struct assasin_command features = {.dw = {NVME_ADMIN_SET_FEATURES, [10] = NVME_FEATURE_QUEUES}};
    struct assasin_command cq = {.dw = {NVME_ADMIN_CREATE_CQ, [10] = (entries - 1) << 16 | ASSASIN_IO, [11] = 1}};
    struct assasin_command sq = {
        .dw = {NVME_ADMIN_CREATE_SQ, [10] = (entries - 1) << 16 | ASSASIN_IO, [11] = ASSASIN_IO << 16 | 1}};
    uint64_t at = dma_address(&drive->dma, q->cq, 0);
    cq.dw[6] = (uint32_t)at;
    cq.dw[7] = (uint32_t)(at >> 32);
    at = dma_address(&drive->dma, q->sq, 0);
    sq.dw[6] = (uint32_t)at;
    sq.dw[7] = (uint32_t)(at >> 32);
    if (!(rc = drive_execute(drive, ASSASIN_ADMIN, &features, NULL, 0, "Set Features (number of queues)", NULL)) &&
        !(rc = drive_execute(drive, ASSASIN_ADMIN, &cq, NULL, 0, "Create I/O Completion Queue", NULL)))
        rc = drive_execute(drive, ASSASIN_ADMIN, &sq, NULL, 0, "Create I/O Submission Queue", NULL);
    drive->info.queue_depth = entries - 1;
    return rc;
}

static int bring_up(struct assasin_drive *drive) {
    uint64_t cap;
    int rc = enable(drive, &cap);
    if (!rc)
        rc = learn(drive);
    return rc ? rc : create_io_queue(drive, cap);
}

static void destroy(struct assasin_drive *drive) {
    for (unsigned i = 0; i < DRIVE_QUEUES; i++)
        if (drive->queues[i].entries)
            queue_destroy(&drive->queues[i]);
    dma_destroy(&drive->dma);
    if (drive->transport)
        drive->transport->ops->close(drive->transport);
    free(drive);
}

static void set_defaults(struct assasin_options *o) {
    o->queue_depth = o->queue_depth ? o->queue_depth : DEFAULT_DEPTH;
    o->memory_bytes = o->memory_bytes ? o->memory_bytes : DEFAULT_MEMORY;
    o->stall_ms = o->stall_ms ? o->stall_ms : DEFAULT_STALL_MS;
    o->limit_ms = o->limit_ms ? o->limit_ms : DEFAULT_LIMIT_MS;
}

static const char *door_path(const char *address) {
    static const char scheme[] = "virtual:";
    if (!strncmp(address, scheme, sizeof(scheme) - 1))
        return address + sizeof(scheme) - 1;
    return strchr(address, '/') || !strchr(address, ':') ? address : NULL;
}

int assasin_open(const char *address, const struct assasin_options *options, struct assasin_drive **out,
                 struct assasin_error *error) {
    const char *path = door_path(address);
    struct assasin_options o = options ? *options : (struct assasin_options){0};
    set_defaults(&o);
    if (!path || !*path)
        return error_set(error, EINVAL, "`%s` names no drive: use virtual:PATH with the socket of a virtual board",
                         address);
    if (o.queue_depth < 2 || o.queue_depth > 65536 || o.memory_bytes % DMA_PAGE || o.memory_bytes < (1u << 20) ||
        o.memory_bytes > 1ull << 31)
        return error_set(
            error, EINVAL,
            "queue depth %u (2..65536) or memory of %llu bytes (a multiple of 4096, 1 MiB..2 GiB) is out of range",
            o.queue_depth, (unsigned long long)o.memory_bytes);
    struct assasin_drive *drive = calloc(1, sizeof(*drive));
    if (!drive)
        return error_set(error, ENOMEM, "out of memory");
    drive->options = o;
    int rc = door_open(path, o.memory_bytes, o.stall_ms, &drive->error, &drive->transport);
    if (!rc &&
        dma_init(&drive->dma, drive->transport->memory, drive->transport->memory_bytes, drive->transport->memory_bus))
        rc = drive_fail(drive, ENOMEM, "out of memory");
    if (!rc)
        rc = bring_up(drive);
    if (rc) {
        if (error)
            *error = drive->error;
        destroy(drive);
        return rc;
    }
    *out = drive;
    return 0;
}

int assasin_close(struct assasin_drive *drive) {
    if (!drive)
        return 0;
    uint32_t cc;
    int rc = read32(drive, NVME_REG_CC, &cc);
    if (!rc)
        rc = write32(drive, NVME_REG_CC, cc | NVME_CC_SHN_NORMAL);
    if (!rc)
        rc = await_status(drive, 3u << 2, NVME_SHST_COMPLETE << 2,
                          "waiting for the drive to save its map (CSTS.SHST = 2)");
    destroy(drive);
    return rc;
}
