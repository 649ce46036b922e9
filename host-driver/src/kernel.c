/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands through the kernel's own NVMe driver: it owns the controller, builds the PRPs, and watches over time; file
 * systems and others use the drive at the same time. It zeroes CDW4 and CDW5. */
#define _GNU_SOURCE
#include "drive.h"
#include "engine.h"

#include <assasin_contract.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u
/* A look at the clock is a log page; more cycles than one takes mean that the drive works. */
#define LOOK_CYCLES 50000u
/* Admin commands end at once; how many may have ended and not been handled. */
#define ADMIN_DEPTH 32u
#define ALL         0xFFFFFFFFu

struct kernel_slot {
    assasin_done_fn done;
    void *arg;
    uint32_t next_free;
};

struct admin_done {
    assasin_done_fn done;
    void *arg;
    struct assasin_completion completion;
};

struct kernel {
    struct link base;
    int fd; /* of the namespace's block device or generic character device */
    struct engine *engine;
    struct kernel_slot *slots;
    uint32_t free_slot;
    struct admin_done admin[ADMIN_DEPTH];
    uint32_t admin_count;
};

static struct kernel *kernel_of(struct link *l) {
    return (struct kernel *)l;
}

static struct assasin_completion completion_of(int field, uint64_t dwords) {
    return (struct assasin_completion){
        .dw0 = (uint32_t)dwords,
        .dw1 = (uint32_t)(dwords >> 32),
        .status = (uint16_t)(field & 0x7FF),
        .more = field >> 13 & 1,
        .no_retry = field >> 14 & 1,
    };
}

static struct nvme_passthru_cmd64 translate(const struct assasin_command *command, void *data, size_t bytes,
                                            uint32_t timeout_ms) {
    return (struct nvme_passthru_cmd64){
        .opcode = (uint8_t)command->dw[0],
        .nsid = command->dw[1],
        .cdw2 = command->dw[2],
        .cdw3 = command->dw[3],
        .addr = (uintptr_t)data,
        .data_len = (uint32_t)bytes,
        .cdw10 = command->dw[10],
        .cdw11 = command->dw[11],
        .cdw12 = command->dw[12],
        .cdw13 = command->dw[13],
        .cdw14 = command->dw[14],
        .cdw15 = command->dw[15],
        .timeout_ms = timeout_ms,
    };
}

static int refused(struct kernel *k, int code) {
    struct assasin_drive *drive = k->base.drive;
    switch (code) {
    case EPERM:
    case EACCES:
        return drive_fail(drive, code, "the kernel lets only root pass commands to a drive");
    case EINVAL:
        return drive_fail(drive, code, "the kernel refuses the command: data misaligned, too long, or not readable");
    case ENOMEM:
        return drive_fail(drive, code, "the kernel has no memory for the command");
    default:
        return drive_fail(drive, code == EINTR ? ENODEV : code,
                          "the kernel has given the drive up: %s (see its log, dmesg)", strerror(code));
    }
}

static int admin(struct kernel *k, const struct assasin_command *command, void *data, size_t bytes,
                 struct assasin_completion *completion) {
    struct assasin_drive *drive = k->base.drive;
    struct nvme_passthru_cmd64 c = translate(command, data, bytes, drive->options.stall_ms);
    int rc = ioctl(k->fd, NVME_IOCTL_ADMIN64_CMD, &c);
    if (rc < 0)
        return drive_give_up(drive, refused(k, errno));
    *completion = completion_of(rc, c.result);
    return 0;
}

static int perf(struct kernel *k, struct scomp_perf *page) {
    const uint32_t dwords = sizeof(*page) / 4 - 1;
    struct assasin_command command = {.dw = {NVME_ADMIN_GET_LOG_PAGE, ALL, [10] = dwords << 16 | SCOMP_LOG_PERF}};
    struct assasin_completion completion;
    int rc = admin(k, &command, page, sizeof(*page), &completion);
    return rc ? rc : drive_check(k->base.drive, "reading the performance log page", &completion);
}

static int kernel_start(struct link *l) {
    (void)l;
    return 0;
}

static int kernel_geometry(struct link *l, struct assasin_info *info) {
    struct scomp_perf page;
    if (strncmp(info->model, "ASSASIN", 7))
        return drive_fail(l->drive, ENXIO, "%s is a drive of model `%s`, not an ASSASIN drive", "the device",
                          info->model);
    int rc = perf(kernel_of(l), &page);
    if (rc)
        return rc;
    info->cores = page.cores;
    info->channels = page.channels;
    info->ways = page.ways;
    return 0;
}

static int kernel_start_io(struct link *l) {
    l->drive->info.queue_depth = kernel_of(l)->engine->depth;
    return 0;
}

static int submit_admin(struct kernel *k, const struct assasin_command *command, void *data, size_t bytes,
                        assasin_done_fn done, void *arg) {
    if ((command->dw[0] & 0xFF) == NVME_ADMIN_ASYNC_EVENT)
        return drive_fail(k->base.drive, ENOTSUP, "the kernel takes the drive's events itself");
    if (k->admin_count == ADMIN_DEPTH)
        return -EAGAIN;
    struct admin_done *a = &k->admin[k->admin_count];
    int rc = admin(k, command, data, bytes, &a->completion);
    if (rc)
        return rc;
    a->done = done;
    a->arg = arg;
    k->admin_count++;
    k->base.in_flight++;
    return 0;
}

static int kernel_submit(struct link *l, unsigned queue, const struct assasin_command *command, void *data,
                         size_t bytes, assasin_done_fn done, void *arg) {
    struct kernel *k = kernel_of(l);
    if (queue == ASSASIN_ADMIN)
        return submit_admin(k, command, data, bytes, done, arg);
    if (queue != ASSASIN_IO)
        return drive_fail(l->drive, EINVAL, "there is no queue %u", queue);
    uint32_t slot = k->free_slot;
    if (slot == k->engine->depth)
        return -EAGAIN;
    struct nvme_passthru_cmd64 c = translate(command, data, bytes, l->drive->options.limit_ms);
    int rc = k->engine->ops->submit(k->engine, slot, &c);
    if (rc)
        return rc == -EAGAIN ? rc : drive_give_up(l->drive, refused(k, -rc));
    k->free_slot = k->slots[slot].next_free;
    k->slots[slot] = (struct kernel_slot){.done = done, .arg = arg};
    l->in_flight++;
    return 0;
}

static int kernel_poll(struct link *l) {
    struct kernel *k = kernel_of(l);
    int reaped = 0;
    /* Callbacks may submit more. */
    for (uint32_t n = k->admin_count; n; n--) {
        struct admin_done a = k->admin[0];
        memmove(k->admin, k->admin + 1, --k->admin_count * sizeof(a));
        l->in_flight--;
        reaped++;
        if (a.done)
            a.done(a.arg, &a.completion);
    }
    struct engine_done ended;
    while (k->engine->ops->reap(k->engine, &ended)) {
        struct kernel_slot slot = k->slots[ended.slot];
        k->slots[ended.slot].next_free = k->free_slot;
        k->free_slot = ended.slot;
        l->in_flight--;
        reaped++;
        if (ended.result < 0)
            return refused(k, -ended.result);
        struct assasin_completion completion = completion_of(ended.result, ended.dwords);
        if (slot.done)
            slot.done(slot.arg, &completion);
    }
    return reaped;
}

static int kernel_event(struct link *l) {
    struct engine *e = kernel_of(l)->engine;
    return e->ops->event(e);
}

static int kernel_sleep(struct link *l, unsigned microseconds) {
    struct engine *e = kernel_of(l)->engine;
    e->ops->sleep(e, microseconds);
    return 0;
}

static int kernel_look(struct link *l, struct link_state *state) {
    struct scomp_perf page;
    int rc = perf(kernel_of(l), &page);
    if (rc)
        return drive_give_up(l->drive, rc);
    *state = (struct link_state){.clock = page.time};
    return 0;
}

static void *kernel_alloc(struct link *l, size_t bytes) {
    (void)l;
    size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
    void *memory = whole ? aligned_alloc(PAGE, whole) : NULL;
    return memory ? memset(memory, 0, whole) : NULL;
}

static void kernel_free(struct link *l, void *memory) {
    (void)l;
    free(memory);
}

static uint64_t kernel_address(const struct link *l, const void *memory) {
    (void)l;
    (void)memory;
    return UINT64_MAX;
}

static int kernel_shutdown(struct link *l) {
    (void)l;
    return 0;
}

static void kernel_close(struct link *l) {
    struct kernel *k = kernel_of(l);
    if (k->engine)
        k->engine->ops->close(k->engine);
    if (k->fd >= 0)
        close(k->fd);
    free(k->slots);
    free(k);
}

static const struct link_ops kernel_ops = {
    .start = kernel_start,
    .geometry = kernel_geometry,
    .start_io = kernel_start_io,
    .submit = kernel_submit,
    .poll = kernel_poll,
    .sleep = kernel_sleep,
    .look = kernel_look,
    .event = kernel_event,
    .alloc = kernel_alloc,
    .free = kernel_free,
    .address = kernel_address,
    .shutdown = kernel_shutdown,
    .close = kernel_close,
};

/* /dev/ng0n1 for /dev/nvme0n1. \return false when the name is not of that kind. */
static bool generic_path(const char *path, char *to, size_t room) {
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    int folder = (int)(name - path);
    if (!strncmp(name, "nvme", 4))
        return (size_t)snprintf(to, room, "%.*sng%s", folder, path, name + 4) < room;
    return !strncmp(name, "ng", 2) && (size_t)snprintf(to, room, "%s", path) < room;
}

static int open_namespace(struct kernel *k, const char *path) {
    struct assasin_drive *drive = k->base.drive;
    struct stat s;
    if ((k->fd = open(path, O_RDONLY | O_CLOEXEC)) < 0 || fstat(k->fd, &s))
        return drive_fail(drive, errno, "%s: %s", path, strerror(errno));
    int nsid = S_ISBLK(s.st_mode) || S_ISCHR(s.st_mode) ? ioctl(k->fd, NVME_IOCTL_ID) : -1;
    if (nsid <= 0)
        return drive_fail(drive, EINVAL, "%s is not a namespace of an NVMe drive: give for example /dev/nvme0n1", path);
    k->base.namespace_id = (uint32_t)nsid;
    return 0;
}

static int open_engine(struct kernel *k, const char *path, enum kernel_way way) {
    struct assasin_drive *drive = k->base.drive;
    char generic[256];
    int rc = -ENOTSUP;
    if (way == KERNEL_URING && generic_path(path, generic, sizeof(generic)))
        rc = uring_open(generic, drive->options.queue_depth, &drive->error, &k->engine);
    /* Kernels before 5.19, and those that forbid io_uring, still have ioctls. */
    if (rc == -ENOTSUP)
        rc = ioctl_open(k->fd, &drive->error, &k->engine);
    if (rc)
        return rc;
    k->slots = calloc(k->engine->depth, sizeof(*k->slots));
    if (!k->slots)
        return drive_fail(drive, ENOMEM, "out of memory");
    for (uint32_t i = 0; i < k->engine->depth; i++)
        k->slots[i].next_free = i + 1;
    return 0;
}

int kernel_open(struct assasin_drive *drive, const char *path, enum kernel_way way, struct link **out) {
    struct kernel *k = calloc(1, sizeof(*k));
    if (!k)
        return drive_fail(drive, ENOMEM, "out of memory");
    k->base = (struct link){.ops = &kernel_ops, .drive = drive, .looking_costs = LOOK_CYCLES};
    k->fd = -1;
    int rc = open_namespace(k, path);
    if (!rc)
        rc = open_engine(k, path, way);
    if (rc) {
        kernel_close(&k->base);
        return rc;
    }
    *out = &k->base;
    return 0;
}
