/* SPDX-License-Identifier: BSD-3-Clause */
/* Compare: block after block, the medium's in one page buffer and the host's in another; one command at a time. */
#include <string.h>

#include "nvme/nvme.h"
#include "platform/work.h"

/** Commands with their PRPs known. */
static struct list waiting;

static struct {
    struct nvme_cmd *cmd; /**< under way; NULL: none is */
    struct page_buffer *medium, *host;
    uint32_t block;
    bool written;     /**< the block is on the medium */
    uint32_t pending; /**< of the two, how many are not there yet */
    uint32_t status;
} compare;

static void compare_block(void);

static void compare_end(uint32_t status) {
    struct nvme_cmd *cmd = compare.cmd;
    buffer_put(compare.medium);
    buffer_put(compare.host);
    compare.cmd = NULL;
    nvme_complete(cmd, status);
    compare_poll();
}

static void compare_arrived(uint32_t status) {
    const struct nvme_cmd *cmd = compare.cmd;
    if (status != NVME_OK) {
        compare.status = status;
    }
    if (--compare.pending > 0) {
        return;
    }
    uint32_t medium = compare.written ? compare.medium->addr : DRAM_ZERO;
    for (uint32_t i = 0; i < PAGE_SIZE && compare.status == NVME_OK; i += 4) {
        if (hal_read(medium + i) != hal_read(compare.host->addr + i)) {
            compare.status = NVME_COMPARE_FAILURE;
        }
    }
    compare.block++;
    if (compare.status != NVME_OK || cmd->op.abandoned || compare.block == cmd->pages) {
        compare_end(compare.status);
    } else {
        compare_block();
    }
}

static void compare_fetched(struct dma_job *job) {
    compare_arrived(job->error ? NVME_DATA_TRANSFER : NVME_OK);
}

static void compare_read(struct nand_op *op, uint32_t status) {
    if (status != FLASH_STATUS_OK) {
        media_lost(compare.cmd, compare.cmd->lba + compare.block, op, status);
    }
    compare_arrived(status == FLASH_STATUS_OK ? NVME_OK : NVME_READ_ERROR);
}

static void compare_block(void) {
    struct nvme_cmd *cmd = compare.cmd;
    uint32_t ppa = map_get(cmd->lba + compare.block);
    compare.written = ppa > MAP_LOST;
    if (!compare.written) {
        compare.status = media_absent(cmd, cmd->lba + compare.block, ppa);
    }
    compare.pending = compare.written ? 2 : 1;
    if (compare.written) {
        struct nand_op *op = compare.medium->op;
        op->done = compare_read;
        nand_read_block(op, ppa, cmd->lba + compare.block, compare.medium->addr);
        nand_submit(op);
    }
    compare.host->job = (struct dma_job){.pages = &cmd->host,
                                         .off = compare.block * PAGE_SIZE,
                                         .dev = compare.host->addr,
                                         .left = PAGE_SIZE,
                                         .done = compare_fetched};
    dma_submit(&compare.host->job);
}

static void compare_mapped(struct nvme_cmd *cmd) {
    list_put(&waiting, &cmd->op.node);
    compare_poll();
}

void compare_command(struct nvme_cmd *cmd) {
    if (io_take_range(cmd, 0x3fff0000u, NVME_MDTS_BYTES / PAGE_SIZE)) {
        nvme_map(cmd, cmd->pages * PAGE_SIZE, compare_mapped);
    }
}

void compare_init(void) {
    waiting = (struct list){0};
    memset(&compare, 0, sizeof compare);
}

void compare_poll(void) {
    work_clear(WORK_COMPARE);
    if (list_empty(&waiting) || compare.cmd != NULL) {
        return;
    }
    compare.medium = buffer_get();
    compare.host = compare.medium != NULL ? buffer_get() : NULL;
    if (compare.host != NULL) {
        compare.cmd = nvme_cmd_of(list_take(&waiting));
        compare.block = 0;
        compare.status = NVME_OK;
        compare_block();
        return;
    }
    if (compare.medium != NULL) {
        buffer_put(compare.medium);
    }
    work_set(WORK_COMPARE);
}

bool compare_drop(struct nvme_cmd *cmd) {
    return nvme_drop(&waiting, cmd);
}
