/* Subsystem Local Memory: a namespace of bytes in the SSD DRAM. Reads and writes are one transfer each; fills and
 * copies are done a slice at a time, one command after the other. */
#include <string.h>

#include "lib/dram.h"
#include "nvme/nvme.h"

enum { MEMORY_COPY = 0x01, MEMORY_READ = 0x02, MEMORY_FILL = 0x04, MEMORY_WRITE = 0x05 };

/** Source range formats of a copy: blocks of a namespace; bytes of this one. */
enum { SOURCE_BLOCKS = 2, SOURCE_BYTES = 4 };
#define SOURCE_RANGE 32u /**< bytes of an entry */

/** Bytes that a slice of a fill, or of a copy in memory, changes. */
#define SLICE 1024u
/** Pages of a copy that are read at once. */
#define READS 16u

/** Fills and copies, the first of which is under way while `work.cmd` is set. */
static struct nvme_cmd *head;
static struct {
    struct nvme_cmd *cmd;
    struct page_slot *ranges; /**< copy: its source ranges */
    uint32_t range, count;
    uint32_t to;         /**< DRAM address that is written next */
    uint32_t from, left; /**< copy: next block, or DRAM address, and blocks or bytes from there on; fill: bytes */
    uint32_t end;        /**< end of the namespace, DRAM address */
    uint32_t in_flight;
    uint32_t status;
    bool blocks;   /**< the range is of blocks */
    bool fetching; /**< the ranges are on their way */
} work;

void memory_init(void) {
    head = NULL;
    memset(&work, 0, sizeof work);
    nvme_waits.memory = false;
}

/** DRAM address of the command's range of bytes, 0 when it is not in the namespace. */
static uint32_t place(const struct nvme_cmd *cmd, uint32_t bytes) {
    uint64_t at = cmd->sqe[10] | (uint64_t)cmd->sqe[11] << 32;
    return at <= DRAM_MEMORY_SIZE && bytes <= DRAM_MEMORY_SIZE - at ? DRAM_MEMORY + (uint32_t)at : 0;
}

/* ---- read and write ---- */

static void moved(struct dma_job *job) {
    nvme_complete(job->arg, job->error ? NVME_DATA_TRANSFER : NVME_OK);
}

static void mapped(struct nvme_cmd *cmd) {
    nvme_transfer(cmd, place(cmd, cmd->bytes), cmd->bytes, cmd_opcode(cmd) == MEMORY_READ, moved);
}

static void move(struct nvme_cmd *cmd) {
    cmd->bytes = cmd->sqe[12];
    if (cmd->bytes > NVME_MDTS_BYTES) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 12);
    } else if (place(cmd, cmd->bytes) == 0) {
        nvme_refuse(cmd, NVME_LBA_RANGE, 10);
    } else if (cmd->bytes == 0) {
        nvme_complete(cmd, NVME_OK);
    } else {
        nvme_map(cmd, cmd->bytes, mapped);
    }
}

/* ---- work in slices ---- */

static void next(void);

static void end(uint32_t status) {
    struct nvme_cmd *cmd = work.cmd;
    if (work.ranges != NULL) {
        slot_put(work.ranges);
    }
    memset(&work, 0, sizeof work);
    nvme_complete(cmd, status);
    next();
}

/** Byte `value` to [work.to, work.to + work.left). */
static void fill_slice(void) {
    uint32_t word = (work.cmd->sqe[13] & 0xffu) * 0x01010101u;
    uint32_t n = work.left < SLICE ? work.left : SLICE;
    if (word == 0 && (work.to & 63) == 0 && work.left >= 64) {
        n = work.left < DRAM_ZERO_SIZE ? work.left & ~63u : DRAM_ZERO_SIZE;
        dram_zero(work.to, n);
    } else {
        uint32_t stop = work.to + n;
        for (uint32_t at = work.to; at < stop;) {
            uint32_t skip = at & 3;
            uint32_t take = stop - at < 4 - skip ? stop - at : 4 - skip;
            uint32_t mask = (take == 4 ? UINT32_MAX : (1u << (take * 8)) - 1) << (skip * 8);
            uint32_t old = mask == UINT32_MAX ? 0 : hal_read(at & ~3u);
            hal_write(at & ~3u, (old & ~mask) | (word & mask));
            at += take;
        }
    }
    work.to += n;
    work.left -= n;
}

/** A slice of bytes inside the memory, any alignment. */
static void copy_slice(void) {
    uint32_t n = work.left < SLICE ? work.left : SLICE;
    if (((work.to | work.from | n) & 3) == 0) {
        for (uint32_t i = 0; i < n; i += 4) {
            hal_write(work.to + i, hal_read(work.from + i));
        }
    } else {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t from = work.from + i;
            uint32_t to = work.to + i;
            uint32_t byte = hal_read(from & ~3u) >> ((from & 3) * 8) & 0xffu;
            uint32_t shift = (to & 3) * 8;
            hal_write(to & ~3u, (hal_read(to & ~3u) & ~(0xffu << shift)) | byte << shift);
        }
    }
    work.to += n;
    work.from += n;
    work.left -= n;
}

static void page_read(struct nand_op *op, uint32_t status) {
    struct page_slot *slot = op->arg;
    if (status != FLASH_STATUS_OK || (op->data0 & ~OOB_LOOSE) != slot->index) {
        work.status = NVME_READ_ERROR;
    }
    slot_put(slot);
    work.in_flight--;
    nvme_waits.memory = true;
}

/** Read blocks into the memory as far as buffers' descriptors allow. False when none was free. */
static bool copy_blocks(void) {
    while (work.left > 0 && work.in_flight < READS) {
        uint32_t ppa = map_get(work.from);
        if (ppa == 0) {
            dram_zero(work.to, PAGE_SIZE);
        } else {
            struct page_slot *slot = slot_get();
            if (slot == NULL) {
                return work.in_flight > 0;
            }
            slot->index = work.from;
            struct nand_op *op = slot->op;
            op->done = page_read;
            op->arg = slot;
            op->way = ppa_way(ppa);
            op->op = FLASH_OP_READ;
            op->row = ppa_row(ppa);
            op->w2 = work.to;
            op->bytes = PAGE_SIZE;
            work.in_flight++;
            nand_submit(op);
        }
        work.to += PAGE_SIZE;
        work.from++;
        work.left--;
    }
    return true;
}

/** Take the next source range. */
static uint32_t copy_range(void) {
    uint32_t at = work.ranges->buffer + work.range++ * SOURCE_RANGE;
    uint32_t nsid = hal_read(at);
    uint64_t start = hal_read(at + 8) | (uint64_t)hal_read(at + 12) << 32;
    uint32_t format = work.cmd->sqe[12] >> 8 & 15u;
    uint32_t length = hal_read(at + 16);
    uint32_t room = work.end - work.to;
    work.blocks = format == SOURCE_BLOCKS;
    if (work.blocks) {
        work.left = (length & 0xffffu) + 1;
        work.from = (uint32_t)start;
        if (nsid != NSID_DRIVE) {
            return namespace_check(nsid) == NVME_OK ? NVME_COMMAND_SET : NVME_INVALID_NS;
        }
        if (!io_in_range(start, work.left) || work.left > room >> PAGE_LOG2) {
            return NVME_LBA_RANGE;
        }
        /* The flash channels write DRAM in 64-byte packets. */
        return (work.to & 63) == 0 ? NVME_OK : NVME_INVALID_FIELD;
    }
    work.left = length;
    work.from = DRAM_MEMORY + (uint32_t)start;
    if (nsid != NSID_MEMORY) {
        return namespace_check(nsid) == NVME_OK ? NVME_COMMAND_SET : NVME_INVALID_NS;
    }
    bool inside = start <= DRAM_MEMORY_SIZE && length <= DRAM_MEMORY_SIZE - start && length <= room;
    return inside ? NVME_OK : NVME_LBA_RANGE;
}

void memory_work(void) {
    nvme_waits.memory = false;
    if (work.cmd == NULL) {
        next();
        return;
    }
    if (work.fetching) {
        return;
    }
    if (work.status != NVME_OK || work.cmd->orphan) {
        if (work.in_flight == 0) {
            end(work.status != NVME_OK ? work.status : NVME_ABORTED);
        }
        return;
    }
    if (work.left == 0) {
        if (work.in_flight > 0) {
            return;
        }
        if (work.range == work.count) {
            end(NVME_OK);
            return;
        }
        work.status = copy_range();
    } else if (work.count == 0) {
        fill_slice();
    } else if (!work.blocks) {
        copy_slice();
    } else if (copy_blocks() && work.in_flight > 0) {
        /* page_read goes on. */
        return;
    }
    nvme_waits.memory = true;
}

static void ranges_fetched(struct dma_job *job) {
    work.fetching = false;
    work.status = job->error ? NVME_DATA_TRANSFER : NVME_OK;
    nvme_waits.memory = true;
}

/** Begin the first command of the list. */
static void next(void) {
    if (head == NULL) {
        return;
    }
    struct nvme_cmd *cmd = head;
    bool copy = cmd_opcode(cmd) == MEMORY_COPY;
    struct page_slot *slot = copy ? slot_get() : NULL;
    if (copy && slot == NULL) {
        nvme_waits.memory = true;
        return;
    }
    head = cmd->next;
    memset(&work, 0, sizeof work);
    work.cmd = cmd;
    work.to = place(cmd, 0);
    work.end = DRAM_MEMORY + DRAM_MEMORY_SIZE;
    if (copy) {
        work.ranges = slot;
        work.count = (cmd->sqe[12] & 0xffu) + 1;
        work.fetching = true;
        nvme_transfer(cmd, slot->buffer, work.count * SOURCE_RANGE, false, ranges_fetched);
    } else {
        work.left = cmd->sqe[12];
        nvme_waits.memory = true;
    }
}

static void enqueue(struct nvme_cmd *cmd) {
    struct nvme_cmd **p = &head;
    while (*p != NULL) {
        p = &(*p)->next;
    }
    cmd->next = NULL;
    *p = cmd;
    if (work.cmd == NULL) {
        nvme_waits.memory = true;
    }
}

bool memory_drop(struct nvme_cmd *cmd) {
    return nvme_drop(&head, cmd);
}

void memory_command(struct nvme_cmd *cmd) {
    switch (cmd_opcode(cmd)) {
    case MEMORY_READ:
    case MEMORY_WRITE:
        move(cmd);
        break;
    case MEMORY_FILL:
        if (place(cmd, cmd->sqe[12]) == 0) {
            nvme_refuse(cmd, NVME_LBA_RANGE, 10);
        } else {
            enqueue(cmd);
        }
        break;
    case MEMORY_COPY: {
        uint32_t format = cmd->sqe[12] >> 8 & 15u;
        uint32_t bytes = ((cmd->sqe[12] & 0xffu) + 1) * SOURCE_RANGE;
        if ((format != SOURCE_BLOCKS && format != SOURCE_BYTES) || bytes > PAGE_SIZE) {
            nvme_refuse(cmd, NVME_INVALID_FIELD, 12);
        } else if (place(cmd, 0) == 0) {
            nvme_refuse(cmd, NVME_LBA_RANGE, 10);
        } else if (format == SOURCE_BLOCKS && ftl.lbas == 0) {
            nvme_complete(cmd, NVME_NS_NOT_READY);
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
