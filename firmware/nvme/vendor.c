// SPDX-License-Identifier: BSD-3-Clause
/* The vendor's commands for functions and requests: from their dwords to the service, and from its statuses to the
 * wire's. */
#include <string.h>

#include "csd/service.h"
#include "nvme/nvme.h"

static struct nvme_cmd *cmd_of(struct csd_op *op) {
    return CONTAINER(op, struct nvme_cmd, op);
}

uint32_t vendor_status(const struct nvme_cmd *cmd, uint32_t status) {
    switch (status) {
    case CSD_OK:
        return NVME_OK;
    case CSD_INVALID:
        return NVME_INVALID_FIELD;
    case CSD_NO_DATA:
        /* Why the PRPs cannot be known. */
        return cmd->status;
    case CSD_TRANSFER:
        return NVME_DATA_TRANSFER;
    case CSD_ABORTED:
        return NVME_ABORTED;
    case CSD_OWNER_GONE:
        return NVME_SQ_DELETED;
    case CSD_RANGE:
        return NVME_LBA_RANGE;
    case CSD_WRITE_FAULT:
        return NVME_WRITE_FAULT;
    case CSD_FAILED:
        return NVME_PROGRAM_FAILED;
    default:
        /* Command specific: the contract's. */
        return NVME_VENDOR(status & ~(uint32_t)CSD_REFUSED);
    }
}

static void ended(struct csd_op *op, uint32_t status) {
    nvme_complete(cmd_of(op), vendor_status(cmd_of(op), status));
}

static void moved(struct csd_op *op) {
    nvme_unmap(cmd_of(op));
}

void vendor_init(void) {
    csd_data_moved = moved;
}

void vendor_prepare(struct nvme_cmd *cmd) {
    cmd->op.host = &cmd->host;
    cmd->op.job = &cmd->job;
}

static void mapped(struct nvme_cmd *cmd) {
    csd_data(&cmd->op, true);
}

static void unmapped(struct nvme_cmd *cmd) {
    csd_data(&cmd->op, false);
}

/** A read is not in its request's line before its PRPs are known: one whose queue is deleted meanwhile ends here. */
static void read_mapped(struct nvme_cmd *cmd) {
    if (queues.deleting[cmd->op.owner]) {
        cmd->status = NVME_SQ_DELETED;
        csd_data(&cmd->op, false);
    } else {
        csd_data(&cmd->op, true);
    }
}

/** The operation is given to csd: get its data when that wants it. */
static void data_for(struct nvme_cmd *cmd, bool wanted, nvme_cmd_fn ready) {
    if (wanted) {
        cmd->unmapped = unmapped;
        nvme_map(cmd, cmd->op.bytes, ready);
    }
}

/** Dwords from `from` on up to CDW15 must be 0. */
static bool zero_from(const struct nvme_cmd *cmd, uint32_t from) {
    for (uint32_t i = from; i < 16; i++) {
        if (cmd->sqe[i] != 0) {
            return false;
        }
    }
    return true;
}

/** The session of number `number` whose secret the command knows, in cmd->op.session. Else the command has ended. */
static bool session_known(struct nvme_cmd *cmd, uint32_t number) {
    cmd->op.session = (uint8_t)csd_session(number, &cmd->sqe[14], cmd->op.owner);
    if (cmd->op.session == 0) {
        nvme_complete(cmd, NVME_VENDOR(NVME_VENDOR_STATUS_NO_SESSION));
    }
    return cmd->op.session != 0;
}

/* The session comes first: software that is older than sessions learns that, not which of its dwords is wrong. */

void vendor_func_load(struct nvme_cmd *cmd) {
    if (!session_known(cmd, cmd->sqe[13])) {
        return;
    }
    if (cmd->sqe[10] != 0 || cmd->sqe[12] != 0) {
        nvme_complete(cmd, NVME_INVALID_FIELD);
        return;
    }
    cmd->op.bytes = cmd->sqe[11];
    cmd->op.done = ended;
    data_for(cmd, csd_load(&cmd->op), mapped);
}

void vendor_func_unload(struct nvme_cmd *cmd) {
    if (!session_known(cmd, cmd->sqe[13])) {
        return;
    }
    bool good = cmd->sqe[10] >> 16 == 0 && cmd->sqe[11] == 0 && cmd->sqe[12] == 0;
    nvme_complete(cmd, good ? vendor_status(cmd, csd_unload(cmd->op.session, cmd->sqe[10])) : NVME_INVALID_FIELD);
}

void vendor_session_end(struct nvme_cmd *cmd) {
    nvme_complete(cmd, cmd->sqe[10] >> 16 == 0 && zero_from(cmd, 11) ? vendor_status(cmd, csd_session_end(cmd->sqe[10]))
                                                                     : NVME_INVALID_FIELD);
}

static void access_take(struct nvme_cmd *cmd) {
    struct scomp_access access;
    memcpy(&access, admin_buffer, sizeof access);
    nvme_complete(cmd, vendor_status(cmd, csd_access(cmd->sqe[10], &access)));
}

void vendor_access(struct nvme_cmd *cmd) {
    if (cmd->sqe[10] >> 16 != 0 || cmd->sqe[11] != sizeof(struct scomp_access) || !zero_from(cmd, 12)) {
        nvme_complete(cmd, NVME_INVALID_FIELD);
    } else {
        admin_receive(cmd, sizeof(struct scomp_access), access_take);
    }
}

uint32_t vendor_sessions_log(void) {
    return csd_sessions((struct scomp_session *)admin_buffer) * (uint32_t)sizeof(struct scomp_session);
}

static void session_open(struct nvme_cmd *cmd) {
    const uint32_t *e = cmd->sqe;
    uint32_t status = NVME_INVALID_FIELD;
    if (e[10] != SCOMP_INTERFACE) {
        status = NVME_VENDOR(NVME_VENDOR_STATUS_INTERFACE);
    } else if (e[11] <= 1 && e[12] == 0 && e[13] == 0) {
        uint32_t all = 0;
        for (uint32_t i = 1; i < NVME_QUEUES; i++) {
            all |= (uint32_t)queues.sq[i] << i;
        }
        status =
            vendor_status(cmd, csd_session_open(&cmd->sqe[14], cmd->op.owner, e[11] != 0, all, &cmd->op.result[0]));
    }
    cmd->op.result[1] = SCOMP_INTERFACE;
    nvme_complete(cmd, status);
}

static void session_close(struct nvme_cmd *cmd) {
    if (!session_known(cmd, cmd->sqe[13])) {
        return;
    }
    bool good = cmd->sqe[10] == 0 && cmd->sqe[11] == 0 && cmd->sqe[12] == 0;
    if (good) {
        csd_session_close(cmd->op.session);
    }
    nvme_complete(cmd, good ? NVME_OK : NVME_INVALID_FIELD);
}

void vendor_io(struct nvme_cmd *cmd) {
    uint8_t opcode = cmd_opcode(cmd);
    const uint32_t *e = cmd->sqe;
    bool feed = opcode == SCOMP_OPCODE_IO_FEED;
    if (opcode == SCOMP_OPCODE_IO_SESSION_OPEN) {
        session_open(cmd);
        return;
    }
    if (opcode == SCOMP_OPCODE_IO_SESSION_CLOSE) {
        session_close(cmd);
        return;
    }
    if (!session_known(cmd, e[10] >> CSD_HANDLE_SESSION)) {
        return;
    }
    if ((e[11] != 0 && !feed) || e[11] >> 24 != 0 || e[13] != 0 || (opcode == SCOMP_OPCODE_IO_ABORT && e[12] != 0)) {
        nvme_complete(cmd, NVME_INVALID_FIELD);
        return;
    }
    cmd->op.bytes = e[12];
    cmd->op.done = ended;
    if (opcode == SCOMP_OPCODE_IO_EXEC) {
        data_for(cmd, csd_exec(&cmd->op, e[10]), mapped);
    } else if (opcode == SCOMP_OPCODE_IO_READ) {
        data_for(cmd, csd_read(&cmd->op, e[10]), read_mapped);
    } else if (feed) {
        data_for(cmd, csd_feed(&cmd->op, e[10], e[11] & 0xffffu, e[11] >> 16), mapped);
    } else {
        nvme_complete(cmd, vendor_status(cmd, csd_abort(e[10])));
    }
}
