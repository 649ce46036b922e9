/* SPDX-License-Identifier: BSD-3-Clause */
/* NVMe commands by io_uring (IORING_OP_URING_CMD on /dev/ngXnY), with the system calls themselves: what is used of
 * io_uring is little. */
#define _GNU_SOURCE
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* With IORING_SETUP_SQE128 and IORING_SETUP_CQE32 entries are twice as long. */
#define SQE_BYTES 128u
#define CQE_BYTES 32u
/* Where the command lies in an entry. */
#define SQE_COMMAND 48u

struct uring {
    struct engine base;
    int ring, device;
    uint8_t *rings, *sqes;
    size_t rings_bytes, sqes_bytes;
    struct io_uring_params p;
    uint32_t under_way;
};

_Static_assert(sizeof(struct nvme_uring_cmd) <= SQE_BYTES - SQE_COMMAND, "an NVMe command fits a long entry");

static struct uring *uring_of(struct engine *e) {
    return (struct uring *)e;
}

static uint32_t *field(struct uring *u, uint32_t offset) {
    return (uint32_t *)(u->rings + offset);
}

static int enter(struct uring *u, unsigned submit, unsigned wait) {
    for (;;) {
        long rc = syscall(SYS_io_uring_enter, u->ring, submit, wait, wait ? IORING_ENTER_GETEVENTS : 0, NULL, 0);
        if (rc >= 0)
            return (int)rc;
        if (errno != EINTR && errno != EAGAIN && errno != EBUSY)
            return -errno;
    }
}

static int uring_submit(struct engine *e, uint32_t slot, const struct nvme_passthru_cmd64 *command) {
    struct uring *u = uring_of(e);
    uint32_t *tail = field(u, u->p.sq_off.tail), index = *tail & *field(u, u->p.sq_off.ring_mask);
    uint8_t *place = u->sqes + (size_t)index * SQE_BYTES;
    memset(place, 0, SQE_BYTES);
    struct io_uring_sqe *entry = (struct io_uring_sqe *)place;
    entry->opcode = IORING_OP_URING_CMD;
    entry->fd = u->device;
    entry->cmd_op = NVME_URING_CMD_IO;
    entry->user_data = slot;
    struct nvme_uring_cmd c = {
        .opcode = command->opcode,
        .nsid = command->nsid,
        .cdw2 = command->cdw2,
        .cdw3 = command->cdw3,
        .addr = command->addr,
        .data_len = command->data_len,
        .cdw10 = command->cdw10,
        .cdw11 = command->cdw11,
        .cdw12 = command->cdw12,
        .cdw13 = command->cdw13,
        .cdw14 = command->cdw14,
        .cdw15 = command->cdw15,
        .timeout_ms = command->timeout_ms,
    };
    memcpy(place + SQE_COMMAND, &c, sizeof(c));
    field(u, u->p.sq_off.array)[index] = index;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    int rc = enter(u, 1, 0);
    if (rc < 0)
        return rc;
    u->under_way++;
    return 0;
}

static bool uring_reap(struct engine *e, struct engine_done *done) {
    struct uring *u = uring_of(e);
    uint32_t *head = field(u, u->p.cq_off.head);
    if (*head == __atomic_load_n(field(u, u->p.cq_off.tail), __ATOMIC_ACQUIRE))
        return false;
    const uint8_t *place = u->rings + u->p.cq_off.cqes + (size_t)(*head & *field(u, u->p.cq_off.ring_mask)) * CQE_BYTES;
    const struct io_uring_cqe *entry = (const struct io_uring_cqe *)place;
    *done = (struct engine_done){.slot = (uint32_t)entry->user_data, .result = entry->res};
    memcpy(&done->dwords, place + sizeof(*entry), sizeof(done->dwords));
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    u->under_way--;
    return true;
}

static void uring_sleep(struct engine *e, unsigned microseconds) {
    struct pollfd waiting = {.fd = uring_of(e)->ring, .events = POLLIN};
    struct timespec time = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000L};
    (void)ppoll(&waiting, 1, &time, NULL);
}

static int uring_event(struct engine *e) {
    return uring_of(e)->ring;
}

static void uring_close(struct engine *e) {
    struct uring *u = uring_of(e);
    struct engine_done done;
    while (u->under_way && enter(u, 0, 1) >= 0)
        while (uring_reap(e, &done)) {
        }
    if (u->rings)
        munmap(u->rings, u->rings_bytes);
    if (u->sqes)
        munmap(u->sqes, u->sqes_bytes);
    if (u->ring >= 0)
        close(u->ring);
    if (u->device >= 0)
        close(u->device);
    free(u);
}

static const struct engine_ops uring_ops = {uring_submit, uring_reap, uring_sleep, uring_event, uring_close};

static uint8_t *map(struct uring *u, size_t bytes, off_t what) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, u->ring, what);
    return at == MAP_FAILED ? NULL : at;
}

int uring_open(const char *path, uint32_t depth, struct assasin_error *error, struct engine **out) {
    struct uring *u = calloc(1, sizeof(*u));
    if (!u)
        return error_set(error, ENOMEM, "out of memory");
    u->base = (struct engine){.ops = &uring_ops, .depth = depth};
    u->p.flags = IORING_SETUP_SQE128 | IORING_SETUP_CQE32;
    u->ring = -1;
    u->device = open(path, O_RDWR | O_CLOEXEC);
    if (u->device >= 0)
        u->ring = (int)syscall(SYS_io_uring_setup, depth, &u->p);
    if (u->ring < 0 || !(u->p.features & IORING_FEAT_SINGLE_MMAP)) {
        int rc = error_set(error, ENOTSUP, "no io_uring for %s: %s", path, strerror(errno));
        uring_close(&u->base);
        return rc;
    }
    size_t sq = u->p.sq_off.array + u->p.sq_entries * sizeof(uint32_t),
           cq = u->p.cq_off.cqes + (size_t)u->p.cq_entries * CQE_BYTES;
    u->rings_bytes = sq > cq ? sq : cq;
    u->sqes_bytes = (size_t)u->p.sq_entries * SQE_BYTES;
    u->rings = map(u, u->rings_bytes, IORING_OFF_SQ_RING);
    u->sqes = map(u, u->sqes_bytes, IORING_OFF_SQES);
    if (!u->rings || !u->sqes) {
        int rc = error_set(error, ENOMEM, "no memory for an io_uring: %s", strerror(errno));
        uring_close(&u->base);
        return rc;
    }
    *out = &u->base;
    return 0;
}
