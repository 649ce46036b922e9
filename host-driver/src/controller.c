/* SPDX-License-Identifier: BSD-3-Clause */
/* The library as the drive's NVMe driver: the controller's life as the NVM Express Base Specification lays it down,
 * over any transport that has registers. */
#include "drive.h"
#include "queue.h"

#include <assasin_contract.h>
#include <errno.h>
#include <stdlib.h>

#define ADMIN_ENTRIES 32u
#define QUEUES        2u
/* A look at the clock costs the drive some cycles of bus traffic itself; more than this means that it works. */
#define CLOCK_MOVES 2000u

struct controller {
    struct link base;
    struct transport *transport;
    struct dma dma;
    struct queue queues[QUEUES]; /* ASSASIN_ADMIN, ASSASIN_IO; entries = 0 while it does not exist */
    uint32_t doorbell_stride;
    uint64_t cap;
};

static struct controller *controller_of(struct link *l) {
    return (struct controller *)l;
}

static int controller_read32(struct link *l, uint32_t offset, uint32_t *value) {
    struct transport *t = controller_of(l)->transport;
    return l->drive->dead ? l->drive->dead : drive_give_up(l->drive, t->ops->read32(t, offset, value));
}

static int controller_write32(struct link *l, uint32_t offset, uint32_t value) {
    struct transport *t = controller_of(l)->transport;
    return l->drive->dead ? l->drive->dead : drive_give_up(l->drive, t->ops->write32(t, offset, value));
}

static int write64(struct link *l, uint32_t offset, uint64_t value) {
    int rc = controller_write32(l, offset, (uint32_t)value);
    return rc ? rc : controller_write32(l, offset + 4, (uint32_t)(value >> 32));
}

static int controller_look(struct link *l, struct link_state *state) {
    uint32_t low, high, fw;
    int rc;
    *state = (struct link_state){0};
    if ((rc = controller_read32(l, ASSASIN_CTRL_BASE + CTRL_CYCLES_LO, &low)) ||
        (rc = controller_read32(l, ASSASIN_CTRL_BASE + CTRL_CYCLES_HI, &high)) ||
        (rc = controller_read32(l, ASSASIN_CTRL_BASE + CTRL_FW_STATE, &fw)))
        return rc;
    state->clock = (uint64_t)high << 32 | low;
    state->trapped = fw >> 1 & 1;
    state->cause = fw >> 8 & 0xFF;
    return state->trapped ? controller_read32(l, ASSASIN_CTRL_BASE + CTRL_FW_PC, &state->pc) : 0;
}

static int controller_sleep(struct link *l, unsigned microseconds) {
    struct transport *t = controller_of(l)->transport;
    return t->ops->sleep(t, microseconds);
}

static int ring(struct controller *c, uint32_t index, uint32_t value) {
    return controller_write32(&c->base, NVME_REG_DOORBELL + index * c->doorbell_stride, value);
}

static int ring_doorbells(struct controller *c) {
    int rc = 0;
    for (unsigned i = 0; i < QUEUES && !rc; i++) {
        struct queue *q = &c->queues[i];
        if (q->cq_rung != q->cq_head) {
            rc = ring(c, 2 * i + 1, q->cq_head);
            q->cq_rung = q->cq_head;
        }
        if (!rc && q->sq_rung != q->sq_tail) {
            rc = ring(c, 2 * i, q->sq_tail);
            q->sq_rung = q->sq_tail;
        }
    }
    return rc;
}

static void count_in_flight(struct controller *c) {
    c->base.in_flight = c->queues[ASSASIN_ADMIN].in_flight + c->queues[ASSASIN_IO].in_flight;
}

static int controller_submit(struct link *l, unsigned queue, const struct assasin_command *command, void *data,
                             size_t bytes, assasin_done_fn done, void *arg) {
    struct controller *c = controller_of(l);
    if (queue >= QUEUES || !c->queues[queue].entries)
        return drive_fail(l->drive, EINVAL, "there is no queue %u", queue);
    int rc = queue_submit(&c->queues[queue], command, data, bytes, done, arg);
    count_in_flight(c);
    if (rc == -EFAULT)
        return drive_fail(l->drive, EFAULT, "the data is not in DMA memory of this drive (assasin_dma_alloc)");
    return rc;
}

static int controller_poll(struct link *l) {
    struct controller *c = controller_of(l);
    int rc = ring_doorbells(c);
    if (rc)
        return rc;
    int reaped = 0;
    for (unsigned i = 0; i < QUEUES; i++)
        if (c->queues[i].entries)
            reaped += queue_reap(&c->queues[i]);
    count_in_flight(c);
    if (!reaped)
        return 0;
    rc = ring_doorbells(c);
    return rc ? rc : reaped;
}

static void *controller_alloc(struct link *l, size_t bytes) {
    return dma_alloc(&controller_of(l)->dma, bytes);
}

static void controller_free(struct link *l, void *memory) {
    dma_free(&controller_of(l)->dma, memory);
}

static uint64_t controller_address(const struct link *l, const void *memory) {
    return dma_address(&((const struct controller *)l)->dma, memory, 0);
}

/* Waits until (CSTS & mask) == value. */
static int await_status(struct link *l, uint32_t mask, uint32_t value, const char *what) {
    struct wait w = drive_wait_begin(l->drive, what);
    for (;;) {
        uint32_t csts;
        int rc = controller_read32(l, NVME_REG_CSTS, &csts);
        if (rc)
            return rc;
        if (csts & NVME_CSTS_CFS)
            return drive_give_up(
                l->drive,
                drive_fail(l->drive, EIO, "%s: the controller reports a fatal error (CSTS = 0x%x)", what, csts));
        if ((csts & mask) == value)
            return 0;
        rc = drive_wait_nap(l->drive, &w);
        if (rc)
            return rc;
    }
}

static int read_capabilities(struct link *l) {
    struct controller *c = controller_of(l);
    uint32_t low, high;
    int rc;
    if ((rc = controller_read32(l, NVME_REG_CAP, &low)) || (rc = controller_read32(l, NVME_REG_CAP + 4, &high)))
        return rc;
    c->cap = (uint64_t)high << 32 | low;
    c->doorbell_stride = 4u << (high & 0xF);
    if (c->cap == UINT64_MAX)
        return drive_give_up(l->drive,
                             drive_fail(l->drive, ENXIO, "the drive's registers do not answer (CAP reads all ones)"));
    return 0;
}

static int disable(struct link *l) {
    uint32_t cc;
    int rc = controller_read32(l, NVME_REG_CC, &cc);
    if (!rc && cc & NVME_CC_EN)
        rc = controller_write32(l, NVME_REG_CC, 0);
    return rc ? rc : await_status(l, NVME_CSTS_RDY, 0, "waiting for the controller to become disabled (CSTS.RDY = 0)");
}

static int enable(struct link *l, uint32_t cc) {
    int rc = controller_write32(l, NVME_REG_CC, cc | NVME_CC_EN);
    return rc ? rc
              : await_status(l, NVME_CSTS_RDY, NVME_CSTS_RDY,
                             "waiting for the controller to become ready (CSTS.RDY = 1)");
}

static int controller_start(struct link *l) {
    struct controller *c = controller_of(l);
    int rc;
    /* CAP.TO is the drive's promise in its own time; a simulated drive's second lasts longer than ours, so the limits
     * of struct wait rule. */
    if ((rc = read_capabilities(l)) || (rc = disable(l)))
        return rc;
    struct queue *q = &c->queues[ASSASIN_ADMIN];
    if (queue_init(q, &c->dma, ADMIN_ENTRIES))
        return drive_fail(l->drive, ENOMEM, "no memory for the admin queue");
    if ((rc = controller_write32(l, NVME_REG_AQA, (ADMIN_ENTRIES - 1) << 16 | (ADMIN_ENTRIES - 1))) ||
        (rc = write64(l, NVME_REG_ASQ, dma_address(&c->dma, q->sq, 0))) ||
        (rc = write64(l, NVME_REG_ACQ, dma_address(&c->dma, q->cq, 0))))
        return rc;
    /* All command sets, as the Linux driver has it: then there are the namespaces of memory and of programs. A drive
     * whose firmware still boots offers them once it is ready. */
    uint32_t cc = NVME_CC_QUEUE_ENTRIES | (c->cap & NVME_CAP_ALL_SETS ? NVME_CC_ALL_SETS : 0);
    if ((rc = enable(l, cc)) || (rc = read_capabilities(l)))
        return rc;
    if (!(cc & NVME_CC_ALL_SETS) && c->cap & NVME_CAP_ALL_SETS && !(rc = disable(l)))
        rc = enable(l, cc | NVME_CC_ALL_SETS);
    return rc;
}

static int controller_geometry(struct link *l, struct assasin_info *info) {
    uint32_t config;
    int rc = controller_read32(l, ASSASIN_CTRL_BASE + CTRL_CONFIG, &config);
    if (rc)
        return rc;
    info->cores = config >> SYS_CONFIG_CORES_SHIFT & SYS_CONFIG_CORES_MASK;
    info->channels = config >> SYS_CONFIG_CHANNELS_SHIFT & SYS_CONFIG_CHANNELS_MASK;
    info->ways = config >> SYS_CONFIG_WAYS_SHIFT & SYS_CONFIG_WAYS_MASK;
    return 0;
}

static int controller_start_io(struct link *l) {
    struct controller *c = controller_of(l);
    struct assasin_drive *drive = l->drive;
    uint32_t most = (uint32_t)(c->cap & 0xFFFF) + 1,
             entries = drive->options.queue_depth < most ? drive->options.queue_depth : most;
    struct queue *q = &c->queues[ASSASIN_IO];
    int rc = queue_init(q, &c->dma, entries);
    if (rc)
        return drive_fail(drive, ENOMEM, "no memory for an I/O queue of %u entries", entries);
    struct assasin_command features = {.dw = {NVME_ADMIN_SET_FEATURES, [10] = NVME_FEATURE_QUEUES}};
    struct assasin_command cq = {.dw = {NVME_ADMIN_CREATE_CQ, [10] = (entries - 1) << 16 | ASSASIN_IO, [11] = 1}};
    struct assasin_command sq = {
        .dw = {NVME_ADMIN_CREATE_SQ, [10] = (entries - 1) << 16 | ASSASIN_IO, [11] = ASSASIN_IO << 16 | 1}};
    uint64_t at = dma_address(&c->dma, q->cq, 0);
    cq.dw[6] = (uint32_t)at;
    cq.dw[7] = (uint32_t)(at >> 32);
    at = dma_address(&c->dma, q->sq, 0);
    sq.dw[6] = (uint32_t)at;
    sq.dw[7] = (uint32_t)(at >> 32);
    if (!(rc = drive_execute(drive, ASSASIN_ADMIN, &features, NULL, 0, "Set Features (number of queues)", NULL)) &&
        !(rc = drive_execute(drive, ASSASIN_ADMIN, &cq, NULL, 0, "Create I/O Completion Queue", NULL)))
        rc = drive_execute(drive, ASSASIN_ADMIN, &sq, NULL, 0, "Create I/O Submission Queue", NULL);
    drive->info.queue_depth = entries - 1;
    return rc;
}

static int controller_shutdown(struct link *l) {
    uint32_t cc;
    int rc = controller_read32(l, NVME_REG_CC, &cc);
    if (!rc)
        rc = controller_write32(l, NVME_REG_CC, cc | NVME_CC_SHN_NORMAL);
    return rc ? rc
              : await_status(l, 3u << 2, NVME_SHST_COMPLETE << 2,
                             "waiting for the drive to save its map (CSTS.SHST = 2)");
}

static void controller_close(struct link *l) {
    struct controller *c = controller_of(l);
    for (unsigned i = 0; i < QUEUES; i++)
        if (c->queues[i].entries)
            queue_destroy(&c->queues[i]);
    dma_destroy(&c->dma);
    c->transport->ops->close(c->transport);
    free(c);
}

static const struct link_ops controller_ops = {
    .start = controller_start,
    .geometry = controller_geometry,
    .start_io = controller_start_io,
    .submit = controller_submit,
    .poll = controller_poll,
    .sleep = controller_sleep,
    .look = controller_look,
    .alloc = controller_alloc,
    .free = controller_free,
    .address = controller_address,
    .read32 = controller_read32,
    .write32 = controller_write32,
    .shutdown = controller_shutdown,
    .leave = disable,
    .close = controller_close,
};

int controller_open(struct assasin_drive *drive, struct transport *transport, struct link **out) {
    struct controller *c = calloc(1, sizeof(*c));
    if (!c || dma_init(&c->dma, transport->memory, transport->memory_bytes, transport->memory_bus)) {
        free(c);
        transport->ops->close(transport);
        return drive_fail(drive, ENOMEM, "out of memory");
    }
    if (transport->run_bytes)
        dma_runs(&c->dma, transport->run_bytes, transport->run_bus);
    c->base = (struct link){.ops = &controller_ops,
                            .drive = drive,
                            .namespace_id = 1,
                            .looking_costs = CLOCK_MOVES,
                            .ordered = true,
                            .raw = true};
    c->transport = transport;
    *out = &c->base;
    return 0;
}
