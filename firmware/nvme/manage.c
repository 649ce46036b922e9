/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of the NVM command set that move no data to or from the medium at the host's pace: Flush, Write Zeroes,
 * Dataset Management, Compare, Verify. */
#include <string.h>

#include "platform/dram.h"
#include "nvme/nvme.h"

#define DSM_DEALLOCATE 4u
#define DSM_RANGE      16u

/** Data set management commands that wait for a page buffer. */
static struct nvme_cmd *dsm_wait;
/** Compare commands with their PRPs known; the first one is under way while `compare.busy`. */
static struct nvme_cmd *compare_head;

void manage_init(void) {
    dsm_wait = NULL;
    compare_head = NULL;
    nvme_waits.manage = false;
}

static struct nvme_cmd *cmd_of(struct ftl_exclusive *x, size_t offset) {
    return (struct nvme_cmd *)((uint8_t *)x - offset);
}

static uint64_t start_block(const struct nvme_cmd *cmd) {
    return cmd->sqe[10] | (uint64_t)cmd->sqe[11] << 32;
}

/** Check a range of blocks and keep it. `reserved`: bits of CDW12 that must be 0. */
static bool take_range(struct nvme_cmd *cmd, uint32_t reserved, uint32_t most) {
    uint32_t count = (cmd->sqe[12] & 0xffffu) + 1;
    if ((cmd->sqe[12] & reserved) != 0 || count > most) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 12);
        return false;
    }
    if (!io_in_range(start_block(cmd), count)) {
        nvme_refuse(cmd, NVME_LBA_RANGE, 10);
        return false;
    }
    cmd->lba = cmd->sqe[10];
    cmd->pages = count;
    return true;
}

/* ---- flush, verify ---- */

static void flushed(struct ftl_exclusive *x, enum ftl_status status) {
    nvme_complete(cmd_of(x, offsetof(struct nvme_cmd, checkpoint)), status == FTL_OK ? NVME_OK : NVME_WRITE_FAULT);
}

static void cache_flushed(struct nvme_cmd *cmd) {
    nvme_complete(cmd, NVME_OK);
}

void manage_flush(struct nvme_cmd *cmd) {
    if (ftl_has_cache()) {
        /* Hosts flush often then: recovery finds in the log what a checkpoint would say. */
        io_drain(cmd, cache_flushed);
        return;
    }
    memset(&cmd->checkpoint, 0, sizeof cmd->checkpoint);
    cmd->checkpoint.clean = ftl.clean;
    cmd->checkpoint.x.done = flushed;
    ftl_checkpoint(&cmd->checkpoint);
}

void manage_verify(struct nvme_cmd *cmd) {
    if (take_range(cmd, 0x3fff0000u, UINT32_MAX)) {
        io_issue(cmd);
    }
}

/* ---- write zeroes, data set management ---- */

static void trimmed(struct ftl_exclusive *x, enum ftl_status status) {
    struct nvme_cmd *cmd = cmd_of(x, offsetof(struct nvme_cmd, trim));
    if (cmd->slot != NULL) {
        slot_put(cmd->slot);
    }
    nvme_complete(cmd, status == FTL_OK ? NVME_OK : status == FTL_READ_ONLY ? NVME_READ_ONLY : NVME_WRITE_FAULT);
}

static void zeroes_prepare(struct ftl_trim *t) {
    struct nvme_cmd *cmd = cmd_of(&t->x, offsetof(struct nvme_cmd, trim));
    t->count = 1;
    hal_write(DRAM_TRIM + 8, cmd->lba);
    hal_write(DRAM_TRIM + 12, cmd->pages);
}

void manage_write_zeroes(struct nvme_cmd *cmd) {
    /* Bit 25 (deallocate) asks for what happens anyway. */
    if (!take_range(cmd, 0x3dff0000u, UINT32_MAX)) {
        return;
    }
    memset(&cmd->trim, 0, sizeof cmd->trim);
    cmd->trim.prepare = zeroes_prepare;
    cmd->trim.x.done = trimmed;
    ftl_trim(&cmd->trim);
}

static void dsm_prepare(struct ftl_trim *t) {
    struct nvme_cmd *cmd = cmd_of(&t->x, offsetof(struct nvme_cmd, trim));
    t->count = cmd->pages;
    for (uint32_t i = 0; i < cmd->pages; i++) {
        hal_write(DRAM_TRIM + 8 + i * 8, hal_read(cmd->slot->buffer + i * DSM_RANGE + 8));
        hal_write(DRAM_TRIM + 12 + i * 8, hal_read(cmd->slot->buffer + i * DSM_RANGE + 4));
    }
}

static void dsm_fetched(struct dma_job *job) {
    struct nvme_cmd *cmd = job->arg;
    uint32_t status = job->error || cmd->orphan ? NVME_DATA_TRANSFER : NVME_OK;
    for (uint32_t i = 0; i < cmd->pages && status == NVME_OK; i++) {
        uint32_t at = cmd->slot->buffer + i * DSM_RANGE;
        uint32_t count = hal_read(at + 4);
        uint64_t lba = hal_read(at + 8) | (uint64_t)hal_read(at + 12) << 32;
        if (count > 0 && !io_in_range(lba, count)) {
            status = NVME_LBA_RANGE;
        }
    }
    if (status != NVME_OK || (cmd->sqe[11] & DSM_DEALLOCATE) == 0) {
        slot_put(cmd->slot);
        nvme_complete(cmd, status);
        return;
    }
    memset(&cmd->trim, 0, sizeof cmd->trim);
    cmd->trim.prepare = dsm_prepare;
    cmd->trim.x.done = trimmed;
    ftl_trim(&cmd->trim);
}

static void dsm_mapped(struct nvme_cmd *cmd) {
    cmd->next = dsm_wait;
    dsm_wait = cmd;
    manage_pump();
}

void manage_dsm(struct nvme_cmd *cmd) {
    cmd->pages = (cmd->sqe[10] & 0xffu) + 1;
    nvme_map(cmd, cmd->pages * DSM_RANGE, dsm_mapped);
}

/* ---- compare: block after block, the medium's in one page buffer and the host's in another ---- */

static struct {
    bool busy;
    struct page_slot *medium, *host;
    uint32_t block;
    bool written;     /**< the block is on the medium */
    uint32_t pending; /**< of the two, how many are not there yet */
    uint32_t status;
} compare;

static void compare_block(void);

static void compare_end(uint32_t status) {
    struct nvme_cmd *cmd = compare_head;
    compare_head = cmd->next;
    slot_put(compare.medium);
    slot_put(compare.host);
    compare.busy = false;
    nvme_complete(cmd, status);
    manage_pump();
}

static void compare_arrived(uint32_t status) {
    const struct nvme_cmd *cmd = compare_head;
    if (status != NVME_OK) {
        compare.status = status;
    }
    if (--compare.pending > 0) {
        return;
    }
    uint32_t medium = compare.written ? compare.medium->buffer : DRAM_ZERO;
    for (uint32_t i = 0; i < PAGE_SIZE && compare.status == NVME_OK; i += 4) {
        if (hal_read(medium + i) != hal_read(compare.host->buffer + i)) {
            compare.status = NVME_COMPARE_FAILURE;
        }
    }
    compare.block++;
    if (compare.status != NVME_OK || cmd->orphan || compare.block == cmd->pages) {
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
        media_lost(compare_head, compare_head->lba + compare.block, op, status);
    }
    compare_arrived(status == FLASH_STATUS_OK ? NVME_OK : NVME_READ_ERROR);
}

static void compare_block(void) {
    struct nvme_cmd *cmd = compare_head;
    uint32_t ppa = map_get(cmd->lba + compare.block);
    compare.written = ppa != 0;
    compare.pending = compare.written ? 2 : 1;
    if (compare.written) {
        struct nand_op *op = compare.medium->op;
        op->done = compare_read;
        nand_read_block(op, ppa, cmd->lba + compare.block, compare.medium->buffer);
        nand_submit(op);
    }
    compare.host->job = (struct dma_job){.prp = &cmd->prp,
                                         .off = compare.block * PAGE_SIZE,
                                         .dev = compare.host->buffer,
                                         .left = PAGE_SIZE,
                                         .done = compare_fetched};
    hdma_submit(&compare.host->job);
}

static void compare_mapped(struct nvme_cmd *cmd) {
    struct nvme_cmd **p = &compare_head;
    while (*p != NULL) {
        p = &(*p)->next;
    }
    cmd->next = NULL;
    *p = cmd;
    manage_pump();
}

void manage_compare(struct nvme_cmd *cmd) {
    if (take_range(cmd, 0x3fff0000u, NVME_MDTS_BYTES / PAGE_SIZE)) {
        nvme_map(cmd, cmd->pages * PAGE_SIZE, compare_mapped);
    }
}

/* ---- what waits for page buffers ---- */

void manage_pump(void) {
    while (dsm_wait != NULL) {
        struct nvme_cmd *cmd = dsm_wait;
        cmd->slot = slot_get();
        if (cmd->slot == NULL) {
            break;
        }
        dsm_wait = cmd->next;
        nvme_transfer(cmd, cmd->slot->buffer, cmd->pages * DSM_RANGE, false, dsm_fetched);
    }
    if (compare_head != NULL && !compare.busy) {
        compare.medium = slot_get();
        compare.host = compare.medium != NULL ? slot_get() : NULL;
        if (compare.host != NULL) {
            compare.busy = true;
            compare.block = 0;
            compare.status = NVME_OK;
            compare_block();
        } else if (compare.medium != NULL) {
            slot_put(compare.medium);
        }
    }
    nvme_waits.manage = dsm_wait != NULL || (compare_head != NULL && !compare.busy);
}

bool manage_drop(struct nvme_cmd *cmd) {
    bool any = nvme_drop(&dsm_wait, cmd);
    return nvme_drop(compare.busy ? &compare_head->next : &compare_head, cmd) || any;
}
