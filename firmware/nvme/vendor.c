// SPDX-License-Identifier: BSD-3-Clause
/* The vendor's commands for functions and requests: from their dwords to the service, and from its statuses to the
 * wire's. */
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

/** Nothing of a read is in line before its PRPs are known: one whose queue is deleted meanwhile ends here. */
static void read_mapped(struct nvme_cmd *cmd) {
    if (queues.deleting[cmd->op.owner]) {
        nvme_complete(cmd, NVME_SQ_DELETED);
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

/** Dwords that the vendor's admin commands do not use must be 0. */
static bool reserved_zero(const struct nvme_cmd *cmd, uint32_t from) {
    for (uint32_t i = from; i < 16; i++) {
        if (cmd->sqe[i] != 0) {
            return false;
        }
    }
    return (cmd->sqe[10] & 0xffff0000u) == 0;
}

void vendor_func_load(struct nvme_cmd *cmd) {
    if (!reserved_zero(cmd, 12)) {
        nvme_complete(cmd, NVME_INVALID_FIELD);
        return;
    }
    cmd->op.bytes = cmd->sqe[11];
    cmd->op.done = ended;
    data_for(cmd, csd_load(&cmd->op, cmd->sqe[10]), mapped);
}

void vendor_func_unload(struct nvme_cmd *cmd) {
    nvme_complete(cmd, reserved_zero(cmd, 11) ? vendor_status(cmd, csd_unload(cmd->sqe[10])) : NVME_INVALID_FIELD);
}

void vendor_io(struct nvme_cmd *cmd) {
    uint8_t opcode = cmd_opcode(cmd);
    const uint32_t *e = cmd->sqe;
    bool feed = opcode == SCOMP_OPCODE_IO_FEED;
    if ((e[11] != 0 && !feed) || e[11] >> 24 != 0 || e[13] != 0 || e[14] != 0 || e[15] != 0 ||
        (opcode == SCOMP_OPCODE_IO_ABORT && e[12] != 0)) {
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
