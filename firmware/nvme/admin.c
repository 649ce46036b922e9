/* Admin commands: dispatch, queues, abort, asynchronous events. */
#include <string.h>

#include "nvme/nvme.h"
#include "stream/scomp.h"

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
};

uint32_t admin_buffer[1024];

static bool buffer_busy;
static struct nvme_cmd *aer_head;
static uint32_t aer_count;
static uint32_t event_masked; /**< bit log: reported and not read yet */
struct nvme_cmd *admin_deleting;

/** Events that found no AER command, oldest first. */
static struct { uint32_t dw0; } event_queue[4];
static uint32_t event_count;

void admin_init(void) {
    buffer_busy = false;
    aer_head = NULL;
    aer_count = 0;
    event_masked = 0;
    event_count = 0;
    admin_deleting = NULL;
}

bool admin_ready(void) {
    return !buffer_busy;
}

static void buffer_sent(struct dma_job *job) {
    buffer_busy = false;
    nvme_complete(job->arg, job->error ? NVME_DATA_TRANSFER : NVME_OK);
}

static void buffer_mapped(struct nvme_cmd *cmd) {
    nvme_transfer(cmd, hal_dma_addr(admin_buffer), cmd->bytes, true, buffer_sent);
}

void admin_send(struct nvme_cmd *cmd, uint32_t bytes) {
    /* nvme_map completes the command itself when the PRPs are bad: the buffer is then free again. */
    cmd->bytes = bytes;
    buffer_busy = true;
    nvme_map(cmd, bytes, buffer_mapped);
    if (cmd->status != NVME_OK) {
        buffer_busy = false;
    }
}

/* ---- queues ---- */

static void create_cq(struct nvme_cmd *cmd) {
    uint32_t qid = cmd->sqe[10] & 0xffffu;
    uint32_t size = cmd->sqe[10] >> 16;
    uint32_t flags = cmd->sqe[11];
    uint32_t vector = flags >> 16;
    if (qid == 0 || qid > NVME_IO_QUEUES || queues.cq[qid]) {
        nvme_complete(cmd, NVME_QID_INVALID);
    } else if (size == 0 || size > NVME_MQES) {
        nvme_complete(cmd, NVME_QUEUE_SIZE);
    } else if ((flags & 1) == 0 || (flags & 0xfffcu) != 0) {
        /* CAP.CQR: contiguous queues only. */
        nvme_complete(cmd, NVME_INVALID_FIELD);
    } else if ((cmd->sqe[6] & (PRP_PAGE - 1)) != 0) {
        nvme_complete(cmd, NVME_PRP_OFFSET);
    } else if (vector > 15) {
        nvme_complete(cmd, NVME_VECTOR_INVALID);
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
        nvme_complete(cmd, NVME_QID_INVALID);
    } else if (size == 0 || size > NVME_MQES) {
        nvme_complete(cmd, NVME_QUEUE_SIZE);
    } else if ((flags & 1) == 0 || (flags & 0xfff8u) != 0) {
        nvme_complete(cmd, NVME_INVALID_FIELD);
    } else if ((cmd->sqe[6] & (PRP_PAGE - 1)) != 0) {
        nvme_complete(cmd, NVME_PRP_OFFSET);
    } else if (cqid == 0 || cqid > NVME_IO_QUEUES) {
        nvme_complete(cmd, NVME_QID_INVALID);
    } else if (!queues.cq[cqid]) {
        nvme_complete(cmd, NVME_CQ_INVALID);
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
        nvme_complete(cmd, NVME_QID_INVALID);
        return;
    }
    /* No fetch from here on; the deletion ends when no command of the queue touches host memory any more. */
    queue_sq_delete(qid);
    queues.deleting[qid] = true;
    scomp_queue_deleted(qid);
    cmd->next = admin_deleting;
    admin_deleting = cmd;
    admin_poll();
}

static void delete_cq(struct nvme_cmd *cmd) {
    uint32_t qid = cmd->sqe[10] & 0xffffu;
    if (qid == 0 || qid > NVME_IO_QUEUES || !queues.cq[qid]) {
        nvme_complete(cmd, NVME_QID_INVALID);
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

void admin_poll(void) {
    struct nvme_cmd **p = &admin_deleting;
    while (*p != NULL) {
        struct nvme_cmd *cmd = *p;
        uint32_t qid = cmd->sqe[10] & 0xffffu;
        if (nvme_in_use(qid) > 0) {
            p = &cmd->next;
            continue;
        }
        *p = cmd->next;
        queues.deleting[qid] = false;
        nvme_complete(cmd, NVME_OK);
    }
}

/* ---- abort and events ---- */

static void abort_command(struct nvme_cmd *cmd) {
    struct nvme_cmd *victim = nvme_find(cmd->sqe[10] & 0xffffu, cmd->sqe[10] >> 16);
    bool stopped = false;
    if (victim != NULL && victim != cmd) {
        stopped = admin_abort(victim) || scomp_abort_waiter(victim);
    }
    /* Bit 0 set: not aborted. Reads and writes end by themselves sooner than they could be stopped. */
    cmd->dw0 = stopped ? 0 : 1;
    nvme_complete(cmd, NVME_OK);
}

bool admin_abort(struct nvme_cmd *victim) {
    for (struct nvme_cmd **p = &aer_head; *p != NULL; p = &(*p)->next) {
        if (*p == victim) {
            *p = victim->next;
            aer_count--;
            nvme_complete(victim, NVME_ABORTED);
            return true;
        }
    }
    return false;
}

static void event_deliver(void) {
    while (aer_head != NULL && event_count > 0) {
        struct nvme_cmd *cmd = aer_head;
        aer_head = cmd->next;
        aer_count--;
        cmd->dw0 = event_queue[0].dw0;
        event_count--;
        memmove(event_queue, event_queue + 1, event_count * sizeof event_queue[0]);
        nvme_complete(cmd, NVME_OK);
    }
}

void async_event(uint32_t type, uint32_t info, uint32_t log) {
    /* An event type stays quiet until its log page was read. */
    if ((event_masked >> type & 1) != 0 || event_count == sizeof event_queue / sizeof event_queue[0]) {
        return;
    }
    event_masked |= 1u << type;
    event_queue[event_count++].dw0 = type | info << 8 | log << 16;
    event_deliver();
}

void async_event_unmask(uint32_t log) {
    /* Type 0 reports by the error log (01h), type 1 by the health log (02h). */
    if (log == 1 || log == 2) {
        event_masked &= ~(1u << (log - 1));
    }
}

void admin_orphan(void) {
    struct nvme_cmd *list = aer_head;
    aer_head = NULL;
    aer_count = 0;
    while (list != NULL) {
        struct nvme_cmd *cmd = list;
        list = cmd->next;
        nvme_complete(cmd, NVME_ABORTED);
    }
    list = admin_deleting;
    admin_deleting = NULL;
    while (list != NULL) {
        struct nvme_cmd *cmd = list;
        list = cmd->next;
        nvme_complete(cmd, NVME_ABORTED);
    }
    memset(queues.deleting, 0, sizeof queues.deleting);
    event_count = 0;
    event_masked = 0;
}

static void aer(struct nvme_cmd *cmd) {
    if (aer_count > NVME_AERL) {
        nvme_complete(cmd, NVME_AER_LIMIT);
        return;
    }
    struct nvme_cmd **p = &aer_head;
    while (*p != NULL) {
        p = &(*p)->next;
    }
    cmd->next = NULL;
    *p = cmd;
    aer_count++;
    event_deliver();
}

void admin_command(struct nvme_cmd *cmd) {
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
        aer(cmd);
        break;
    case SCOMP_OPCODE_ADMIN_FUNC_LOAD:
        function_load(cmd);
        break;
    case SCOMP_OPCODE_ADMIN_FUNC_UNLOAD:
        function_unload(cmd);
        break;
    default:
        nvme_complete(cmd, NVME_INVALID_OPCODE);
        break;
    }
}
