/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, closing, waiting, and single commands. */
#define _POSIX_C_SOURCE 200809L
#include "drive.h"

#include "dma.h"
#include "event.h"
#include "exec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define DEFAULT_DEPTH    128u
#define DEFAULT_MEMORY   (64u << 20)
#define DEFAULT_STALL_MS 30000u
#define DEFAULT_LIMIT_MS 1800000u
#define PROBE_MS         1000u
#define NAP_SHORTEST_US  50u
#define NAP_LONGEST_US   1000u
#define TICK_MS          100u
/* assasin_poll() returns after so many looks at what completes, although more does. */
#define LOOKS 16u
/* What is in flight may complete within this time after the caller has ended a wait. */
#define GRACE_MS 300u
/* A controller that is reset before it is left has this long. */
#define LEAVE_MS 200u

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

int drive_give_up(struct assasin_drive *drive, int rc) {
    if (rc) {
        drive->dead = drive->dead ? drive->dead : rc;
        drive->status = 0;
    }
    return rc;
}

static int no_registers(struct assasin_drive *drive) {
    return drive_fail(drive, ENOTSUP, "the kernel owns the drive's registers: use virtual: or vfio: to reach them");
}

int assasin_register_read(struct assasin_drive *drive, uint32_t offset, uint32_t *value) {
    return drive->link->ops->read32 ? drive->link->ops->read32(drive->link, offset, value) : no_registers(drive);
}

int assasin_register_write(struct assasin_drive *drive, uint32_t offset, uint32_t value) {
    return drive->link->ops->write32 ? drive->link->ops->write32(drive->link, offset, value) : no_registers(drive);
}

int assasin_clock(struct assasin_drive *drive, uint64_t *cycles) {
    struct link_state state;
    int rc = drive->dead ? drive->dead : drive->link->ops->look(drive->link, &state);
    if (!rc)
        *cycles = state.clock;
    return rc;
}

void *drive_alloc(struct assasin_drive *drive, size_t bytes) {
    return drive->link->ops->alloc(drive->link, bytes);
}

void drive_free(struct assasin_drive *drive, void *memory) {
    drive->link->ops->free(drive->link, memory);
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

static void ask(struct assasin_drive *drive, struct wait *w, uint64_t now) {
    if (!drive->options.tick || now - drive->ticked_ms < TICK_MS)
        return;
    drive->ticked_ms = now;
    if (drive->options.tick(drive->options.tick_arg) && !w->ended_ms)
        w->ended_ms = now;
}

void drive_wait_progress(struct assasin_drive *drive, struct wait *w) {
    w->start_ms = w->moved_ms = w->probed_ms = drive_now_ms();
    w->sleep_us = NAP_SHORTEST_US;
    ask(drive, w, w->start_ms);
}

static int probe(struct assasin_drive *drive, struct wait *w, uint64_t now) {
    struct link_state state;
    int rc = drive->link->ops->look(drive->link, &state);
    if (rc)
        return rc;
    if (state.trapped)
        return drive_give_up(drive,
                             drive_fail(drive, EIO, "%s: the drive's firmware stopped on a trap, cause %u at PC 0x%x",
                                        w->what, state.cause, state.pc));
    if (state.clock - w->clock > drive->link->looking_costs)
        w->moved_ms = now;
    w->clock = state.clock;
    w->probed_ms = drive_now_ms();
    if (now - w->moved_ms > drive->options.stall_ms)
        return drive_give_up(
            drive,
            drive_fail(
                drive, ETIMEDOUT,
                "%s: no answer, and the drive does nothing any more (its clock has stood still for %u s at %llu)",
                w->what, drive->options.stall_ms / 1000, (unsigned long long)state.clock));
    return 0;
}

int drive_wait_nap(struct assasin_drive *drive, struct wait *w) {
    if (drive->dead)
        return drive->dead;
    int rc = drive_give_up(drive, drive->link->ops->sleep(drive->link, w->sleep_us));
    if (rc)
        return rc;
    if (w->sleep_us < NAP_LONGEST_US)
        w->sleep_us += w->sleep_us / 2;
    uint64_t now = drive_now_ms();
    ask(drive, w, now);
    if (w->ended_ms && now - w->ended_ms > GRACE_MS)
        return drive_give_up(drive,
                             drive_fail(drive, EINTR, "%s: interrupted, and nothing completed in time", w->what));
    if (now - w->start_ms > w->limit_ms)
        return drive_give_up(drive,
                             drive_fail(drive, ETIMEDOUT, "%s: not done after %u s although the drive's clock runs",
                                        w->what, w->limit_ms / 1000));
    return now - w->probed_ms >= PROBE_MS ? probe(drive, w, now) : 0;
}

int assasin_submit(struct assasin_drive *drive, unsigned queue, const struct assasin_command *command, void *data,
                   size_t bytes, assasin_done_fn done, void *arg) {
    if (drive->dead)
        return drive->dead;
    if (data && drive->info.transfer_bytes && bytes > drive->info.transfer_bytes)
        return drive_fail(drive, EMSGSIZE, "%zu bytes in one command; the drive takes at most %u", bytes,
                          drive->info.transfer_bytes);
    int rc = drive->link->ops->submit(drive->link, queue, command, data, bytes, done, arg);
    if (!rc)
        event_expect(drive);
    return rc;
}

/* Rings doorbells, handles what has completed, and lets jobs go on, until nothing more completes. \return completions,
 * or a connection error. */
static int look(struct assasin_drive *drive) {
    int reaped = drive->link->ops->poll(drive->link), all = reaped;
    for (unsigned i = 0; reaped >= 0 && drive->executions; i++) {
        int rc = executions_advance(drive, all == 0);
        if (rc)
            return rc;
        if (i == LOOKS) {
            event_now(drive);
            break;
        }
        /* What they have submitted is to go out. */
        reaped = drive->link->ops->poll(drive->link);
        if (reaped <= 0)
            break;
        all += reaped;
    }
    return reaped < 0 ? reaped : all;
}

int assasin_poll(struct assasin_drive *drive) {
    if (drive->dead)
        return drive->dead;
    event_clear(drive);
    int reaped = look(drive);
    if (reaped < 0)
        return drive_give_up(drive, reaped);
    event_expect(drive);
    if (drive->event < 0)
        return reaped;
    if (reaped || !assasin_in_flight(drive)) {
        drive_wait_progress(drive, &drive->watch);
        drive->watch.sleep_us = 0;
        return reaped;
    }
    int rc = drive_wait_nap(drive, &drive->watch);
    return rc ? rc : reaped;
}

unsigned assasin_in_flight(const struct assasin_drive *drive) {
    return drive->link->in_flight;
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
            drive_wait_progress(drive, &w);
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
    if (bytes && !(bounce = drive_alloc(drive, bytes)))
        return drive_fail(drive, ENOMEM, "%s: no DMA memory for %zu bytes is left", what, bytes);
    unsigned direction = command->dw[0] & 3u;
    if (bytes && direction & 1)
        memcpy(bounce, data, bytes);
    int rc = drive_roundtrip(drive, queue, command, bounce, bytes, what, &local);
    if (rc) {
        if (!drive->dead)
            drive_free(drive, bounce);
        return rc;
    }
    if (completion)
        *completion = local;
    rc = drive_check(drive, what, &local);
    if (!rc && bytes && direction & 2)
        memcpy(data, bounce, bytes);
    drive_free(drive, bounce);
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
    if (!drive->link->raw)
        return drive_fail(drive, ENOTSUP, "the kernel makes the PRPs itself: use virtual: or vfio: to send your own");
    return assasin_execute(drive, queue, command, NULL, 0, completion);
}

void *assasin_dma_alloc(struct assasin_drive *drive, size_t bytes) {
    return drive_alloc(drive, bytes);
}

void assasin_dma_free(struct assasin_drive *drive, void *memory) {
    drive_free(drive, memory);
}

uint64_t assasin_dma_address(const struct assasin_drive *drive, const void *memory) {
    return drive->link->ops->address(drive->link, memory);
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

static void copy_text(char *to, const uint8_t *from, size_t length) {
    while (length && from[length - 1] == ' ')
        length--;
    memcpy(to, from, length);
    to[length] = 0;
}

/* Of a drive without blocks; a page, as the blocks of every other drive are. */
#define NO_BLOCKS_SHIFT 12u

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
    if ((rc = assasin_identify(drive, NVME_CNS_NAMESPACE, drive->link->namespace_id, data)))
        return rc;
    memcpy(&info->blocks, data + NVME_IDNS_NSZE, sizeof(info->blocks));
    unsigned shift = data[NVME_IDNS_LBAF + 4 * (data[NVME_IDNS_FLBAS] & 0xF) + 2];
    /* All zeros: there is no such namespace. What needs none goes on: the log pages say what is wrong with the medium.
     */
    if (info->blocks == 0 && shift == 0)
        shift = NO_BLOCKS_SHIFT;
    else if (info->blocks == 0 || shift < 9 || shift > 16)
        return drive_fail(drive, EPROTO, "namespace %u makes no sense: %llu blocks of 2^%u bytes",
                          drive->link->namespace_id, (unsigned long long)info->blocks, shift);
    info->block_bytes = 1u << shift;
    return drive->link->ops->geometry(drive->link, info);
}

static int bring_up(struct assasin_drive *drive) {
    int rc = drive->link->ops->start(drive->link);
    if (!rc)
        rc = learn(drive);
    return rc ? rc : drive->link->ops->start_io(drive->link);
}

static void destroy(struct assasin_drive *drive) {
    if (drive->link)
        drive->link->ops->close(drive->link);
    executions_forget(drive);
    event_close(drive);
    free(drive);
}

static void set_defaults(struct assasin_options *o) {
    o->queue_depth = o->queue_depth ? o->queue_depth : DEFAULT_DEPTH;
    o->memory_bytes = o->memory_bytes ? o->memory_bytes : DEFAULT_MEMORY;
    o->stall_ms = o->stall_ms ? o->stall_ms : DEFAULT_STALL_MS;
    o->limit_ms = o->limit_ms ? o->limit_ms : DEFAULT_LIMIT_MS;
}

enum scheme { SCHEME_VIRTUAL, SCHEME_VFIO, SCHEME_KERNEL, SCHEME_IOCTL, SCHEME_UNKNOWN };

/* What `address` names, and where the rest of it begins. A plain path is a virtual board's socket. */
static enum scheme scheme_of(const char *address, const char **rest) {
    static const char *const names[] = {"virtual:", "vfio:", "kernel:", "ioctl:"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t length = strlen(names[i]);
        if (!strncmp(address, names[i], length)) {
            *rest = address + length;
            return **rest ? (enum scheme)i : SCHEME_UNKNOWN;
        }
    }
    *rest = address;
    return *address && (strchr(address, '/') || !strchr(address, ':')) ? SCHEME_VIRTUAL : SCHEME_UNKNOWN;
}

static int connect_link(struct assasin_drive *drive, enum scheme scheme, const char *rest) {
    struct transport *transport = NULL;
    const struct assasin_options *o = &drive->options;
    int rc;
    switch (scheme) {
    case SCHEME_KERNEL:
    case SCHEME_IOCTL:
        return kernel_open(drive, rest, scheme == SCHEME_KERNEL ? KERNEL_URING : KERNEL_IOCTL, &drive->link);
    case SCHEME_VFIO:
        rc = vfio_open(rest, o->memory_bytes, &drive->error, &transport);
        break;
    default:
        rc = door_open(rest, o, &drive->error, &transport);
    }
    return rc ? rc : controller_open(drive, transport, &drive->link);
}

int assasin_open(const char *address, const struct assasin_options *options, struct assasin_drive **out,
                 struct assasin_error *error) {
    const char *rest;
    enum scheme scheme = scheme_of(address, &rest);
    struct assasin_options o = options ? *options : (struct assasin_options){0};
    set_defaults(&o);
    if (scheme == SCHEME_UNKNOWN)
        return error_set(error, EINVAL,
                         "`%s` names no drive: use virtual:PATH with the socket of a virtual board, "
                         "kernel:/dev/nvme0n1, or vfio:0000:00:05.0",
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
    drive->event = drive->timer = -1;
    int rc = connect_link(drive, scheme, rest);
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
    executions_cancel(drive);
    session_close(drive);
    int rc = drive->dead ? drive->dead : drive->link->ops->shutdown(drive->link);
    destroy(drive);
    return rc;
}

void assasin_abandon(struct assasin_drive *drive) {
    if (!drive)
        return;
    if (drive->dead == -EINTR)
        drive->dead = 0;
    if (!drive->dead) {
        drive->options.tick = NULL;
        drive->options.limit_ms = LEAVE_MS;
        if (drive->link->ops->leave)
            (void)drive->link->ops->leave(drive->link);
        else
            session_close(drive);
    }
    destroy(drive);
}
