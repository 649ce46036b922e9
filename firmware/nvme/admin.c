/* SPDX-License-Identifier: BSD-3-Clause */
/* Admin commands: dispatch, data, queues, abort. */
#include <string.h>

#include "nvme/nvme.h"
#include "platform/work.h"

enum {
    ADMIN_DELETE_SQ = 0x00,
    ADMIN_CREATE_SQ = 0x01,
    ADMIN_GET_LOG = 0x02,
    ADMIN_DELETE_CQ = 0x04,
    ADMIN_CREATE_CQ = 0x05,
    ADMIN_IDENTIFY = 0x06,
    ADMIN_ABORT = 0x08,
    ADMIN_SET_FEATURES = 0x09,
    ADMIN_GET_FEATURES = 0x0a,
    ADMIN_AER = 0x0c,
    ADMIN_SELF_TEST = 0x14,
    ADMIN_FORMAT = 0x80,
    ADMIN_SANITIZE = 0x84,
    ADMIN_PROGRAM_LOAD = 0x85,
    ADMIN_PROGRAM_ACTIVATION = 0x88,
    ADMIN_PROGRAM_RANGES = 0x89,
};

static bool buffer_busy;
static nvme_cmd_fn buffer_take;
/** Deletions that wait for their queue's commands. */
static struct list deleting;

void admin_init(void) {
    buffer_busy = false;
    deleting = (struct list){0};
}

bool admin_ready(void) {
    return !buffer_busy;
}

/* ---- data ---- */

void put8(uint32_t at, uint32_t v) {
    ((uint8_t *)admin_buffer)[at] = (uint8_t)v;
}

void put16(uint32_t at, uint32_t v) {
    put8(at, v);
    put8(at + 1, v >> 8);
}

void put32(uint32_t at, uint32_t v) {
    put16(at, v);
    put16(at + 2, v >> 16);
}

void put64(uint32_t at, uint64_t v) {
    put32(at, (uint32_t)v);
    put32(at + 4, (uint32_t)(v >> 32));
}

static void buffer_sent(struct dma_job *job) {
    buffer_busy = false;
    nvme_complete(job->arg, job->error ? NVME_DATA_TRANSFER : NVME_OK);
}

static void send_mapped(struct nvme_cmd *cmd) {
    nvme_transfer(cmd, hal_dma_addr(admin_buffer), cmd->op.bytes, true, buffer_sent);
}

static void buffer_fetched(struct dma_job *job) {
    struct nvme_cmd *cmd = job->arg;
    buffer_busy = false;
    if (job->error || cmd->op.abandoned) {
        nvme_complete(cmd, NVME_DATA_TRANSFER);
    } else {
        buffer_take(cmd);
    }
}

static void receive_mapped(struct nvme_cmd *cmd) {
    nvme_transfer(cmd, hal_dma_addr(admin_buffer), cmd->op.bytes, false, buffer_fetched);
}

static void buffer_unmapped(struct nvme_cmd *cmd) {
    buffer_busy = false;
    nvme_complete(cmd, cmd->status);
}

void admin_send(struct nvme_cmd *cmd, uint32_t bytes) {
    cmd->op.bytes = bytes;
    cmd->unmapped = buffer_unmapped;
    buffer_busy = true;
    nvme_map(cmd, bytes, send_mapped);
}

void admin_receive(struct nvme_cmd *cmd, uint32_t bytes, nvme_cmd_fn take) {
    cmd->op.bytes = bytes;
    cmd->unmapped = buffer_unmapped;
    buffer_busy = true;
    buffer_take = take;
    nvme_map(cmd, bytes, receive_mapped);
}

/* ---- queues ---- */

static void create_cq(struct nvme_cmd *cmd) {
    uint32_t qid = cmd->sqe[10] & 0xffffu;
    uint32_t size = cmd->sqe[10] >> 16;
    uint32_t flags = cmd->sqe[11];
    uint32_t vector = flags >> 16;
    if (qid == 0 || qid > NVME_IO_QUEUES || queues.cq[qid]) {
        nvme_refuse(cmd, NVME_QID_INVALID, 10);
    } else if (size == 0 || size > NVME_MQES) {
        nvme_refuse(cmd, NVME_QUEUE_SIZE, 10);
    } else if ((flags & 1) == 0 || (flags & 0xfffcu) != 0) {
        /* CAP.CQR: contiguous queues only. */
        nvme_refuse(cmd, NVME_INVALID_FIELD, 11);
    } else if ((cmd->sqe[6] & (DMA_PAGE - 1)) != 0) {
        nvme_refuse(cmd, NVME_PRP_OFFSET, 6);
    } else if (vector > 15) {
        nvme_refuse(cmd, NVME_VECTOR_INVALID, 11);
    } else {
        nvme_write(NVME_QSEL, qid);
        nvme_write(NVME_CQ_BASE_LO, cmd->sqe[6]);
        nvme_write(NVME_CQ_BASE_HI, cmd->sqe[7]);
        nvme_write(NVME_CQ_CFG, PLACE(NVME_CQ_CFG, SIZE, size) | PLACE(NVME_CQ_CFG, VECTOR, vector) |
                                    PLACE(NVME_CQ_CFG, IEN, flags >> 1) | PLACE(NVME_CQ_CFG, EN, 1));
        queues.cq[qid] = true;
        queues.created++;
        nvme_complete(cmd, NVME_OK);
    }
}

static void create_sq(struct nvme_cmd *cmd) {
    uint32_t qid = cmd->sqe[10] & 0xffffu;
    uint32_t size = cmd->sqe[10] >> 16;
    uint32_t flags = cmd->sqe[11];
    uint32_t cqid = flags >> 16;
    if (qid == 0 || qid > NVME_IO_QUEUES || queues.sq[qid] || queues.deleting[qid]) {
        nvme_refuse(cmd, NVME_QID_INVALID, 10);
    } else if (size == 0 || size > NVME_MQES) {
        nvme_refuse(cmd, NVME_QUEUE_SIZE, 10);
    } else if ((flags & 1) == 0 || (flags & 0xfff8u) != 0) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 11);
    } else if ((cmd->sqe[6] & (DMA_PAGE - 1)) != 0) {
        nvme_refuse(cmd, NVME_PRP_OFFSET, 6);
    } else if (cqid == 0 || cqid > NVME_IO_QUEUES) {
        nvme_refuse(cmd, NVME_QID_INVALID, 11);
    } else if (!queues.cq[cqid]) {
        nvme_refuse(cmd, NVME_CQ_INVALID, 11);
    } else {
        nvme_write(NVME_QSEL, qid);
        nvme_write(NVME_SQ_BASE_LO, cmd->sqe[6]);
        nvme_write(NVME_SQ_BASE_HI, cmd->sqe[7]);
        nvme_write(NVME_SQ_CFG,
                   PLACE(NVME_SQ_CFG, SIZE, size) | PLACE(NVME_SQ_CFG, CQID, cqid) | PLACE(NVME_SQ_CFG, EN, 1));
        queues.sq[qid] = true;
        queues.sq_cq[qid] = (uint8_t)cqid;
        queues.created++;
        nvme_complete(cmd, NVME_OK);
    }
}

static void delete_sq(struct nvme_cmd *cmd) {
    uint32_t qid = cmd->sqe[10] & 0xffffu;
    if (qid == 0 || qid > NVME_IO_QUEUES || !queues.sq[qid]) {
        nvme_refuse(cmd, NVME_QID_INVALID, 10);
        return;
    }
    /* No fetch from here on; the deletion ends when no command of the queue touches host memory any more. */
    queue_sq_delete(qid);
    queues.deleting[qid] = true;
    csd_owner_gone(qid);
    list_put(&deleting, &cmd->op.node);
    work_set(WORK_SESSION);
    controller_poll();
}

static void delete_cq(struct nvme_cmd *cmd) {
    uint32_t qid = cmd->sqe[10] & 0xffffu;
    if (qid == 0 || qid > NVME_IO_QUEUES || !queues.cq[qid]) {
        nvme_refuse(cmd, NVME_QID_INVALID, 10);
        return;
    }
    for (uint32_t q = 1; q < NVME_QUEUES; q++) {
        if ((queues.sq[q] || queues.deleting[q]) && queues.sq_cq[q] == qid) {
            nvme_complete(cmd, NVME_QUEUE_DELETION);
            return;
        }
    }
    queue_cq_delete(qid);
    nvme_complete(cmd, NVME_OK);
}

bool admin_poll(void) {
    struct list all = list_take_all(&deleting);
    while (!list_empty(&all)) {
        struct nvme_cmd *cmd = nvme_cmd_of(list_take(&all));
        uint32_t qid = cmd->sqe[10] & 0xffffu;
        if (nvme_in_use(qid) > 0) {
            list_put(&deleting, &cmd->op.node);
            continue;
        }
        queues.deleting[qid] = false;
        nvme_complete(cmd, NVME_OK);
    }
    return !list_empty(&deleting);
}

/* ---- abort ---- */

static void abort_command(struct nvme_cmd *cmd) {
    struct nvme_cmd *victim = nvme_find(cmd->sqe[10] & 0xffffu, cmd->sqe[10] >> 16);
    bool stopped = false;
    if (victim != NULL && victim != cmd) {
        stopped = event_abort(victim) || csd_cancel(&victim->op) || nvme_abort_waiter(victim) || io_abort(victim) ||
                  ranges_drop(victim) || compare_drop(victim) || memory_drop(victim);
    }
    /* Bit 0 set: not aborted. What has begun ends by itself sooner than it could be stopped. */
    cmd->op.result[0] = stopped ? 0 : 1;
    nvme_complete(cmd, NVME_OK);
}

void admin_orphan(void) {
    event_orphan();
    format_orphan();
    sanitize_orphan();
    nvme_drop(&deleting, NULL);
    memset(queues.deleting, 0, sizeof queues.deleting);
}

void admin_command(struct nvme_cmd *cmd) {
    uint32_t status = sanitize_check(cmd_opcode(cmd), cmd->sqe[10]);
    if (status != NVME_OK) {
        nvme_complete(cmd, status);
        return;
    }
    switch (cmd_opcode(cmd)) {
    case ADMIN_DELETE_SQ:
        delete_sq(cmd);
        break;
    case ADMIN_CREATE_SQ:
        create_sq(cmd);
        break;
    case ADMIN_GET_LOG:
        log_command(cmd);
        break;
    case ADMIN_DELETE_CQ:
        delete_cq(cmd);
        break;
    case ADMIN_CREATE_CQ:
        create_cq(cmd);
        break;
    case ADMIN_IDENTIFY:
        identify_command(cmd);
        break;
    case ADMIN_ABORT:
        abort_command(cmd);
        break;
    case ADMIN_SET_FEATURES:
        features_set(cmd);
        break;
    case ADMIN_GET_FEATURES:
        features_get(cmd);
        break;
    case ADMIN_AER:
        event_request(cmd);
        break;
    case ADMIN_SELF_TEST:
        test_command(cmd);
        break;
    case ADMIN_FORMAT:
        format_command(cmd);
        break;
    case ADMIN_SANITIZE:
        sanitize_command(cmd);
        break;
    case ADMIN_PROGRAM_LOAD:
        program_load(cmd);
        break;
    case ADMIN_PROGRAM_ACTIVATION:
        program_activation(cmd);
        break;
    case ADMIN_PROGRAM_RANGES:
        program_ranges(cmd);
        break;
    case SCOMP_OPCODE_ADMIN_FUNC_LOAD:
        vendor_func_load(cmd);
        break;
    case SCOMP_OPCODE_ADMIN_NAND_BLOCK:
        block_command(cmd);
        break;
    case SCOMP_OPCODE_ADMIN_FUNC_UNLOAD:
        vendor_func_unload(cmd);
        break;
    case SCOMP_OPCODE_ADMIN_SESSION_END:
        vendor_session_end(cmd);
        break;
    case SCOMP_OPCODE_ADMIN_ACCESS:
        vendor_access(cmd);
        break;
    default:
        nvme_refuse(cmd, NVME_INVALID_OPCODE, 0);
        break;
    }
}
