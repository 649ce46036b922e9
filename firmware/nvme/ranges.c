/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that deallocate ranges of blocks: Write Zeroes, Dataset Management. */
#include <string.h>

#include "nvme/nvme.h"
#include "platform/work.h"

#define DSM_DEALLOCATE 4u
#define DSM_RANGE      16u

/** Dataset Management commands that wait for a page buffer. */
static struct list waiting;

void ranges_init(void) {
    waiting = (struct list){0};
}

static void trimmed(struct ftl_exclusive *x, enum ftl_status status) {
    struct nvme_cmd *cmd = CONTAINER(x, struct nvme_cmd, trim.x);
    if (cmd->buffer != NULL) {
        buffer_put(cmd->buffer);
    }
    nvme_complete(cmd, status == FTL_OK ? NVME_OK : status == FTL_READ_ONLY ? NVME_READ_ONLY : NVME_WRITE_FAULT);
}

static void zeroes_prepare(struct ftl_trim *t) {
    struct nvme_cmd *cmd = CONTAINER(t, struct nvme_cmd, trim);
    t->count = 1;
    hal_write(DRAM_TRIM + 8, cmd->lba);
    hal_write(DRAM_TRIM + 12, cmd->pages);
}

void ranges_write_zeroes(struct nvme_cmd *cmd) {
    /* Bit 25 (deallocate) asks for what happens anyway. */
    if (!io_take_range(cmd, 0x3dff0000u, UINT32_MAX)) {
        return;
    }
    memset(&cmd->trim, 0, sizeof cmd->trim);
    cmd->trim.prepare = zeroes_prepare;
    cmd->trim.x.done = trimmed;
    ftl_trim(&cmd->trim);
}

static void dsm_prepare(struct ftl_trim *t) {
    struct nvme_cmd *cmd = CONTAINER(t, struct nvme_cmd, trim);
    t->count = cmd->pages;
    for (uint32_t i = 0; i < cmd->pages; i++) {
        hal_write(DRAM_TRIM + 8 + i * 8, hal_read(cmd->buffer->addr + i * DSM_RANGE + 8));
        hal_write(DRAM_TRIM + 12 + i * 8, hal_read(cmd->buffer->addr + i * DSM_RANGE + 4));
    }
}

static void dsm_fetched(struct dma_job *job) {
    struct nvme_cmd *cmd = job->arg;
    uint32_t status = job->error || cmd->op.abandoned ? NVME_DATA_TRANSFER : NVME_OK;
    for (uint32_t i = 0; i < cmd->pages && status == NVME_OK; i++) {
        uint32_t at = cmd->buffer->addr + i * DSM_RANGE;
        uint32_t count = hal_read(at + 4);
        uint64_t lba = hal_read(at + 8) | (uint64_t)hal_read(at + 12) << 32;
        if (count > 0 && !io_in_range(lba, count)) {
            status = NVME_LBA_RANGE;
        }
    }
    if (status != NVME_OK || (cmd->sqe[11] & DSM_DEALLOCATE) == 0) {
        buffer_put(cmd->buffer);
        nvme_complete(cmd, status);
        return;
    }
    memset(&cmd->trim, 0, sizeof cmd->trim);
    cmd->trim.prepare = dsm_prepare;
    cmd->trim.x.done = trimmed;
    ftl_trim(&cmd->trim);
}

static void dsm_mapped(struct nvme_cmd *cmd) {
    list_put(&waiting, &cmd->op.node);
    ranges_poll();
}

void ranges_dsm(struct nvme_cmd *cmd) {
    cmd->pages = (cmd->sqe[10] & 0xffu) + 1;
    nvme_map(cmd, cmd->pages * DSM_RANGE, dsm_mapped);
}

void ranges_poll(void) {
    work_clear(WORK_RANGES);
    while (!list_empty(&waiting)) {
        struct nvme_cmd *cmd = nvme_cmd_of(waiting.first);
        cmd->buffer = buffer_get();
        if (cmd->buffer == NULL) {
            work_set(WORK_RANGES);
            return;
        }
        list_take(&waiting);
        nvme_transfer(cmd, cmd->buffer->addr, cmd->pages * DSM_RANGE, false, dsm_fetched);
    }
}

bool ranges_drop(struct nvme_cmd *cmd) {
    return nvme_drop(&waiting, cmd);
}
