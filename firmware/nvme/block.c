// SPDX-License-Identifier: BSD-3-Clause
/* ADMIN_NAND_BLOCK: read a block of a die and say what its sectors are like, and the marks that it came with. Writes
 * nothing, and repeats no read: what a first read finds is the measure. */
#include <string.h>

#include "csd/service.h"
#include "ftl/bad.h"
#include "nvme/nvme.h"

#define IN_FLIGHT 16u
#define MARKS     4u
/** A column is read in pieces of eight bytes, to multiples of a packet. */
#define MARK_BYTES  8u
#define MARK_STRIDE 64u

static struct {
    struct nvme_cmd *cmd; /**< NULL: none is under way */
    uint32_t ppa;         /**< first sector of the block */
    uint32_t next, step;  /**< sector to be read next */
    uint32_t mark;        /**< mark to be read next */
    uint32_t in_flight;
    struct scomp_block found;
} look;

void block_init(void) {
    memset(&look, 0, sizeof look);
}

static void pump(void);

static void sector_read(struct nand_op *op, uint32_t status) {
    struct scomp_block *f = &look.found;
    if (status == FLASH_STATUS_OK) {
        f->sectors_read++;
        f->bits += FIELD(FLASH_CPL_CODE, BITS, op->code);
        f->worst = op->errors > f->worst ? op->errors : f->worst;
    } else if (status == FLASH_STATUS_ERASED) {
        f->sectors_erased++;
    } else {
        f->sectors_failed++;
        f->status = status;
        f->address = op->row;
    }
    nand_op_put(op);
    look.in_flight--;
    pump();
}

static void mark_read(struct nand_op *op, uint32_t status) {
    if (status != FLASH_STATUS_OK) {
        look.found.marks_failed++;
    }
    nand_op_put(op);
    look.in_flight--;
    pump();
}

static void sent(struct dma_job *job) {
    struct nvme_cmd *cmd = job->arg;
    look.cmd = NULL;
    nvme_complete(cmd, job->error ? NVME_DATA_TRANSFER : NVME_OK);
}

/** Nothing more to read: the answer. */
static void finish(void) {
    struct nvme_cmd *cmd = look.cmd;
    if (cmd->op.abandoned) {
        look.cmd = NULL;
        nvme_complete(cmd, NVME_ABORTED);
        return;
    }
    for (uint32_t i = 0; i < MARKS; i++) {
        look.found.marks[i] = (uint8_t)hal_read(DRAM_MARKS + i * MARK_STRIDE);
    }
    uint32_t words[sizeof look.found / 4];
    memcpy(words, &look.found, sizeof words);
    for (uint32_t i = 0; i < sizeof words / 4; i++) {
        hal_write(DRAM_MARKS + i * 4, words[i]);
    }
    nvme_transfer(cmd, DRAM_MARKS, sizeof look.found, true, sent);
}

static void pump(void) {
    while (look.in_flight < IN_FLIGHT && !look.cmd->op.abandoned) {
        bool mark = look.mark < MARKS;
        if (!mark && (look.step == 0 || look.next >= nand_geo.pages)) {
            break;
        }
        struct nand_op *op = nand_op_get();
        if (op == NULL) {
            /* Housekeeping has them all: what is in flight goes on with the rest. */
            if (look.in_flight == 0) {
                struct nvme_cmd *cmd = look.cmd;
                look.cmd = NULL;
                nvme_complete(cmd, NVME_VENDOR(NVME_VENDOR_STATUS_NO_RESOURCES));
                return;
            }
            break;
        }
        if (mark) {
            uint32_t page = look.mark < 2 ? 0 : nand_geo.pages - nand_geo.sectors;
            op->done = mark_read;
            nand_read_raw(op, look.ppa + page, (look.mark & 1) != 0 ? nand_geo.page_bytes : 0,
                          DRAM_MARKS + look.mark * MARK_STRIDE, MARK_BYTES);
            look.mark++;
        } else {
            op->done = sector_read;
            nand_read(op, look.ppa + look.next, DRAM_DROP, MARK_STRIDE);
            op->plain = true;
            look.next += look.step;
        }
        look.in_flight++;
        nand_submit(op);
    }
    if (look.in_flight == 0) {
        finish();
    }
}

static void start(struct nvme_cmd *cmd) {
    if (look.cmd != NULL) {
        nvme_complete(cmd, NVME_VENDOR(NVME_VENDOR_STATUS_NO_RESOURCES));
        return;
    }
    memset(&look, 0, sizeof look);
    look.cmd = cmd;
    look.ppa = cmd->sqe[10] << 24 | cmd->sqe[11];
    look.step = cmd->sqe[12];
    look.next = cmd->sqe[13];
    uint32_t block = ppa_block(look.ppa);
    look.found.state = block < sb.count ? sb.state[block] : UINT32_MAX;
    look.found.bad = (uint32_t)bad_cause_of(look.ppa) + 1;
    look.found.bad = look.found.bad > BAD_NONE ? 0 : look.found.bad;
    look.found.erases = block < sb.count ? superblock_erases(block) : 0;
    pump();
}

void block_command(struct nvme_cmd *cmd) {
    uint32_t way = cmd->sqe[10];
    uint32_t row = cmd->sqe[11];
    if (nand_geo.pages == 0) {
        nvme_complete(cmd, NVME_NS_NOT_READY);
    } else if (way >> 4 >= nand_geo.channels || (way & 15) >= nand_geo.ways) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 10);
    } else if ((row & (nand_geo.pages - 1)) != 0 || row >> nand_geo.lun_shift >= nand_geo.luns ||
               (row >> nand_geo.block_shift & nand_geo.block_mask) >= nand_geo.blocks) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 11);
    } else if (cmd->sqe[12] > nand_geo.pages) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 12);
    } else if (cmd->sqe[13] >= nand_geo.pages) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 13);
    } else if (cmd->sqe[14] < sizeof look.found) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 14);
    } else {
        nvme_map(cmd, sizeof look.found, start);
    }
}
