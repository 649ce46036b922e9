/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Subsystem Local Memory: a namespace of bytes in the SSD DRAM. Reads and writes are one transfer each; fills and
 * copies are done a slice at a time, one command after the other. Addresses and lengths count bytes and are multiples
 * of four. docs/programs.md says which texts and implementations the statuses follow.
 */
#include <string.h>

#include "nvme/nvme.h"
#include "platform/dram.h"
#include "platform/fill.h"
#include "platform/work.h"

enum { MEMORY_COPY = 0x01, MEMORY_READ = 0x02, MEMORY_FILL = 0x04, MEMORY_WRITE = 0x05 };

/** Source range formats of a copy: blocks of a namespace; bytes of this one. */
enum { SOURCE_BLOCKS = 2, SOURCE_BYTES = 4 };
#define SOURCE_RANGE 32u /**< bytes of an entry */
/** The flash channels write DRAM in packets of so many bytes, to multiples of that. */
#define FLASH_PACKET 64u

/** Bytes that a slice of a fill, or of a copy in memory, changes. */
#define SLICE 1024u
/** Pages of a copy that are read at once. */
#define READS 16u
/** The namespace is wiped by parts, a bit of a word each, where something may have been written; a slice at a time. */
#define PART       (DRAM_MEMORY_SIZE / 32u)
#define WIPE_SLICE DRAM_ZERO_SIZE
_Static_assert(PART % WIPE_SLICE == 0, "slices of a part");

/** Fills and copies, the first of which is under way while `work.cmd` is set. */
static struct list waiting;
static struct {
    struct nvme_cmd *cmd;
    struct page_buffer *ranges; /**< copy: its source ranges */
    struct page_buffer *page;   /**< copy: holds a block on its way to where the flash channels cannot write it */
    uint32_t checked;           /**< copy: ranges that were found good, before the first byte is copied */
    uint32_t range, count;
    uint64_t length;        /**< copy: bytes of the ranges checked */
    uint32_t to;            /**< DRAM address that is written next */
    uint32_t block, blocks; /**< copy: next block, and blocks from there on */
    uint32_t from, bytes;   /**< copy: DRAM address that is read next, and bytes from there on; fill: bytes */
    uint32_t in_flight;
    uint32_t status;
    bool fetching; /**< the ranges are on their way */
} work;

/** Parts that may hold something since power-on, or since the last wipe. */
static uint32_t touched;
static struct {
    void (*done)(void); /**< NULL: none is under way */
    uint32_t at;        /**< in the first part of `touched` */
} wipe;

void memory_init(void) {
    waiting = (struct list){0};
    memset(&work, 0, sizeof work);
    work_clear(WORK_MEMORY);
}

/** Whether [at, at + bytes) lies in the namespace, on multiples of four. */
static bool inside(uint64_t at, uint64_t bytes) {
    return ((at | bytes) & 3) == 0 && at <= DRAM_MEMORY_SIZE && bytes <= DRAM_MEMORY_SIZE - at;
}

void memory_touch(uint32_t at, uint32_t bytes) {
    uint32_t first = (at - DRAM_MEMORY) / PART;
    uint32_t last = (at - DRAM_MEMORY + bytes - 1) / PART;
    for (uint32_t part = first; bytes > 0 && part <= last; part++) {
        touched |= 1u << part;
    }
}

/** DRAM address of the command's range of bytes, 0 when that is not one of the namespace. */
static uint32_t place(const struct nvme_cmd *cmd, uint64_t bytes) {
    uint64_t at = cmd->sqe[10] | (uint64_t)cmd->sqe[11] << 32;
    if (!inside(at, bytes)) {
        return 0;
    }
    memory_touch(DRAM_MEMORY + (uint32_t)at, (uint32_t)bytes);
    return DRAM_MEMORY + (uint32_t)at;
}

/** Length of a copy: the sum of its ranges, as the host has it. */
static uint64_t copy_length(const struct nvme_cmd *cmd) {
    return cmd->sqe[2] | (uint64_t)cmd->sqe[3] << 32;
}

static uint32_t copy_format(const struct nvme_cmd *cmd) {
    return cmd->sqe[12] >> 8 & 15u;
}

/* ---- read and write ---- */

static void moved(struct dma_job *job) {
    nvme_complete(job->arg, job->error ? NVME_DATA_TRANSFER : NVME_OK);
}

static void mapped(struct nvme_cmd *cmd) {
    nvme_transfer(cmd, place(cmd, cmd->op.bytes), cmd->op.bytes, cmd_opcode(cmd) == MEMORY_READ, moved);
}

static void move(struct nvme_cmd *cmd) {
    cmd->op.bytes = cmd->sqe[12];
    if (cmd->op.bytes > NVME_MDTS_BYTES || (cmd->op.bytes & 3) != 0) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 12);
    } else if (place(cmd, cmd->op.bytes) == 0) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 10);
    } else if (cmd->op.bytes == 0) {
        nvme_complete(cmd, NVME_OK);
    } else {
        nvme_map(cmd, cmd->op.bytes, mapped);
    }
}

/* ---- work in slices ---- */

static void next(void);

static void end(uint32_t status) {
    struct nvme_cmd *cmd = work.cmd;
    if (work.ranges != NULL) {
        buffer_put(work.ranges);
    }
    if (work.page != NULL) {
        buffer_put(work.page);
    }
    memset(&work, 0, sizeof work);
    nvme_complete(cmd, status);
    next();
}

/** Byte `value` to [work.to, work.to + work.bytes). */
static void fill_slice(void) {
    uint32_t word = (work.cmd->sqe[13] & 0xffu) * 0x01010101u;
    uint32_t n = work.bytes < SLICE ? work.bytes : SLICE;
    if (word == 0 && (work.to & 63) == 0 && work.bytes >= 64) {
        n = work.bytes < DRAM_ZERO_SIZE ? work.bytes & ~63u : DRAM_ZERO_SIZE;
        dram_zero(work.to, n);
    } else {
        for (uint32_t i = 0; i < n; i += 4) {
            hal_write(work.to + i, word);
        }
    }
    work.to += n;
    work.bytes -= n;
}

/** A slice of the bytes at work.from. */
static void copy_slice(void) {
    uint32_t n = work.bytes < SLICE ? work.bytes : SLICE;
    for (uint32_t i = 0; i < n; i += 4) {
        hal_write(work.to + i, hal_read(work.from + i));
    }
    work.to += n;
    work.from += n;
    work.bytes -= n;
    if (work.bytes == 0 && work.page != NULL) {
        buffer_put(work.page);
        work.page = NULL;
    }
}

static void page_read(struct nand_op *op, uint32_t status) {
    struct page_buffer *buffer = op->arg;
    if (status != FLASH_STATUS_OK && ftl_moved(op, buffer->index)) {
        uint32_t ppa = map_get(buffer->index);
        if (ppa > MAP_LOST) {
            nand_read_block(op, ppa, buffer->index, op->w2);
            nand_submit(op);
            return;
        }
        dram_zero(op->w2, PAGE_SIZE);
        uint32_t absent = media_absent(work.cmd, buffer->index, ppa);
        work.status = absent != NVME_OK ? absent : work.status;
    } else if (status != FLASH_STATUS_OK) {
        media_lost(work.cmd, buffer->index, op, status);
        work.status = NVME_READ_ERROR;
    }
    if (buffer == work.page) {
        work.from = buffer->addr;
        work.bytes = PAGE_SIZE;
    } else {
        buffer_put(buffer);
    }
    work.in_flight--;
    work_set(WORK_MEMORY);
}

/** Read page `ppa`, which holds work.block, to DRAM address `to`, or with 0 into work.page. False without a buffer. */
static bool read_block(uint32_t ppa, uint32_t to) {
    struct page_buffer *buffer = buffer_get();
    if (buffer == NULL) {
        return false;
    }
    if (to == 0) {
        work.page = buffer;
        to = buffer->addr;
    }
    buffer->index = work.block;
    struct nand_op *op = buffer->op;
    op->done = page_read;
    op->arg = buffer;
    nand_read_block(op, ppa, work.block, to);
    work.in_flight++;
    nand_submit(op);
    return true;
}

/** Go on with the blocks of a range, as far as reads may be in flight. */
static void copy_blocks(void) {
    while (work.blocks > 0 && work.in_flight < READS) {
        uint32_t ppa = map_get(work.block);
        if (ppa <= MAP_LOST) {
            work.status = media_absent(work.cmd, work.block, ppa);
            if (work.status != NVME_OK) {
                work_set(WORK_MEMORY);
                return;
            }
        }
        bool packets = (work.to & (FLASH_PACKET - 1)) == 0;
        if (ppa != 0 && !read_block(ppa, packets ? work.to : 0)) {
            break;
        }
        work.block++;
        work.blocks--;
        if (packets) {
            if (ppa == 0) {
                dram_zero(work.to, PAGE_SIZE);
            }
            work.to += PAGE_SIZE;
        } else {
            if (ppa == 0) {
                work.from = DRAM_ZERO;
                work.bytes = PAGE_SIZE;
            }
            break;
        }
    }
}

/** Status for the namespace that a source range names: NVM Command Set Specification 1.1, 3.3.2, of such ranges. */
static uint32_t source_namespace(uint32_t nsid, bool blocks) {
    uint32_t status = nsid == NSID_ALL ? NVME_INVALID_NS : namespace_check(nsid);
    if (status != NVME_OK || nsid == (blocks ? NSID_DRIVE : NSID_MEMORY)) {
        return status;
    }
    return blocks && nsid == NSID_MEMORY ? NVME_INCOMPATIBLE_NS : NVME_INVALID_NS;
}

/** Look at the next range that was not looked at. With the last one: whether they are as long as the command says. */
static uint32_t check_range(void) {
    uint32_t at = work.ranges->addr + work.checked++ * SOURCE_RANGE;
    uint64_t start = hal_read(at + 8) | (uint64_t)hal_read(at + 12) << 32;
    uint32_t length = hal_read(at + 16);
    bool blocks = copy_format(work.cmd) == SOURCE_BLOCKS;
    uint32_t status = source_namespace(hal_read(at), blocks);
    if (status != NVME_OK) {
        return status;
    }
    if (blocks) {
        uint32_t count = (length & 0xffffu) + 1;
        if (!io_in_range(start, count)) {
            return NVME_LBA_RANGE;
        }
        work.length += (uint64_t)count << PAGE_LOG2;
    } else {
        if (!inside(start, length)) {
            return NVME_INVALID_FIELD;
        }
        uint64_t to = work.to - DRAM_MEMORY;
        if (length > 0 && start < to + copy_length(work.cmd) && to < start + length) {
            return NVME_OVERLAPPING_IO;
        }
        work.length += length;
    }
    if (work.checked == work.count && work.length != copy_length(work.cmd)) {
        work.cmd->location = 2 * 4;
        return NVME_INVALID_FIELD;
    }
    return NVME_OK;
}

/** Take the next source range. */
static void take_range(void) {
    uint32_t at = work.ranges->addr + work.range++ * SOURCE_RANGE;
    uint32_t start = hal_read(at + 8);
    uint32_t length = hal_read(at + 16);
    if (copy_format(work.cmd) == SOURCE_BLOCKS) {
        work.block = start;
        work.blocks = (length & 0xffffu) + 1;
    } else {
        work.from = DRAM_MEMORY + start;
        work.bytes = length;
    }
}

void memory_wipe(void (*done)(void)) {
    wipe.done = done;
    wipe.at = 0;
    work_set(WORK_MEMORY);
}

static void wipe_slice(void) {
    work_set(WORK_MEMORY);
    if (touched == 0) {
        void (*done)(void) = wipe.done;
        wipe.done = NULL;
        done();
        return;
    }
    uint32_t part = 0;
    while ((touched >> part & 1) == 0) {
        part++;
    }
    dram_zero(DRAM_MEMORY + part * PART + wipe.at, WIPE_SLICE);
    wipe.at += WIPE_SLICE;
    if (wipe.at == PART) {
        wipe.at = 0;
        touched &= touched - 1;
    }
}

void memory_poll(void) {
    work_clear(WORK_MEMORY);
    if (wipe.done != NULL) {
        wipe_slice();
        return;
    }
    if (work.cmd == NULL) {
        next();
        return;
    }
    if (work.fetching) {
        return;
    }
    if (work.status != NVME_OK || work.cmd->op.abandoned) {
        if (work.in_flight == 0) {
            end(work.status != NVME_OK ? work.status : NVME_ABORTED);
        }
        return;
    }
    if (work.bytes > 0) {
        if (work.count == 0) {
            fill_slice();
        } else {
            copy_slice();
        }
    } else if (work.checked < work.count) {
        work.status = check_range();
    } else if (work.blocks > 0) {
        if (work.page == NULL) {
            copy_blocks();
        }
        if (work.in_flight > 0) {
            /* page_read goes on. */
            return;
        }
    } else if (work.in_flight > 0) {
        return;
    } else if (work.range < work.count) {
        take_range();
    } else {
        end(NVME_OK);
        return;
    }
    work_set(WORK_MEMORY);
}

static void ranges_fetched(struct dma_job *job) {
    work.fetching = false;
    work.status = job->error ? NVME_DATA_TRANSFER : NVME_OK;
    work_set(WORK_MEMORY);
}

/** Begin the first command of the list. */
static void next(void) {
    struct nvme_cmd *cmd = nvme_cmd_of(waiting.first);
    if (list_empty(&waiting)) {
        return;
    }
    bool copy = cmd_opcode(cmd) == MEMORY_COPY;
    struct page_buffer *buffer = copy ? buffer_get() : NULL;
    if (copy && buffer == NULL) {
        work_set(WORK_MEMORY);
        return;
    }
    list_take(&waiting);
    memset(&work, 0, sizeof work);
    work.cmd = cmd;
    work.to = place(cmd, 0);
    if (copy) {
        work.ranges = buffer;
        work.count = (cmd->sqe[12] & 0xffu) + 1;
        work.fetching = true;
        nvme_transfer(cmd, buffer->addr, work.count * SOURCE_RANGE, false, ranges_fetched);
    } else {
        work.bytes = cmd->sqe[12];
        work_set(WORK_MEMORY);
    }
}

static void enqueue(struct nvme_cmd *cmd) {
    list_put(&waiting, &cmd->op.node);
    if (work.cmd == NULL) {
        work_set(WORK_MEMORY);
    }
}

bool memory_drop(struct nvme_cmd *cmd) {
    return nvme_drop(&waiting, cmd);
}

void memory_command(struct nvme_cmd *cmd) {
    switch (cmd_opcode(cmd)) {
    case MEMORY_READ:
    case MEMORY_WRITE:
        move(cmd);
        break;
    case MEMORY_FILL:
        if (place(cmd, cmd->sqe[12]) == 0) {
            nvme_refuse(cmd, NVME_INVALID_FIELD, 10);
        } else {
            enqueue(cmd);
        }
        break;
    case MEMORY_COPY: {
        uint32_t format = copy_format(cmd);
        uint32_t bytes = ((cmd->sqe[12] & 0xffu) + 1) * SOURCE_RANGE;
        if (format != SOURCE_BLOCKS && format != SOURCE_BYTES) {
            nvme_refuse(cmd, NVME_INVALID_FIELD, 12);
        } else if (bytes > PAGE_SIZE) {
            nvme_refuse(cmd, NVME_SIZE_LIMIT, 12);
        } else if (place(cmd, copy_length(cmd)) == 0) {
            nvme_refuse(cmd, NVME_INVALID_FIELD, 10);
        } else if (format == SOURCE_BLOCKS && ftl.lbas == 0) {
            nvme_complete(cmd, NVME_NS_NOT_READY);
        } else if (format == SOURCE_BLOCKS && ftl.cached > 0 && !cmd->drained) {
            io_drain(cmd, memory_command);
        } else {
            nvme_map(cmd, bytes, enqueue);
        }
        break;
    }
    default:
        nvme_refuse(cmd, NVME_INVALID_OPCODE, 0);
        break;
    }
}
