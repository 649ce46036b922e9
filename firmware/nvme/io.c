/* SPDX-License-Identifier: BSD-3-Clause */
/* I/O commands: dispatch, and reads and writes of the drive's blocks. */
#include "nvme/nvme.h"
#include "platform/dram.h"
#include "platform/work.h"

enum {
    IO_FLUSH = 0x00,
    IO_WRITE = 0x01,
    IO_READ = 0x02,
    IO_WRITE_UNCORRECTABLE = 0x04,
    IO_COMPARE = 0x05,
    IO_WRITE_ZEROES = 0x08,
    IO_DSM = 0x09,
    IO_VERIFY = 0x0c,
};

/** Reads and writes: force unit access. */
#define CDW12_FUA 0x40000000u

/** Reads and writes whose pages are not all issued. */
static struct list issuing;

void io_init(void) {
    issuing = (struct list){0};
}

static struct nvme_cmd *cmd_of(const struct page_buffer *buffer) {
    return buffer->owner;
}

/* ---- read and write ---- */

/** A read has sent the buffer of `buffer`, or not. */
static void source_put(struct page_buffer *buffer) {
    buffer->readers--;
    if (buffer->readers == BUFFER_WRITTEN) {
        buffer->readers = 0;
        buffer_put(buffer);
    }
}

/** One page of `cmd` has ended. */
static void cmd_page_ended(struct nvme_cmd *cmd, uint32_t status) {
    if (status != NVME_OK && cmd->status == NVME_OK) {
        cmd->status = (uint16_t)status;
    }
    if (++cmd->ended == cmd->pages) {
        nvme_complete(cmd, cmd->status);
        if (cmd->timed) {
            /* The command may have been given to another use, but not within this function. */
            stage_end(cmd, STAGE_COMPLETE);
            stage_reads++;
        }
    }
}

/** The page of a command that `buffer` is for has ended. */
static void page_ended(struct page_buffer *buffer, uint32_t status) {
    struct nvme_cmd *cmd = buffer->owner;
    if (buffer->source != NULL) {
        source_put(buffer->source);
        buffer->source = NULL;
    }
    buffer_put(buffer);
    cmd_page_ended(cmd, status);
}

static void read_sent(struct dma_job *job) {
    struct page_buffer *buffer = job->arg;
    if (cmd_of(buffer)->timed) {
        stage_end(buffer->owner, STAGE_DMA);
    }
    page_ended(buffer, job->error ? NVME_DATA_TRANSFER : NVME_OK);
}

static struct page_buffer *buffer_of(struct ftl_write *w) {
    return CONTAINER(w, struct page_buffer, write);
}

/** The data of a page is at `dev`. */
static void read_send(struct page_buffer *buffer, uint32_t dev) {
    struct nvme_cmd *cmd = buffer->owner;
    if (cmd->op.abandoned) {
        page_ended(buffer, NVME_ABORTED);
        return;
    }
    if (cmd_opcode(cmd) == IO_VERIFY) {
        page_ended(buffer, NVME_OK);
        return;
    }
    struct dma_job *job = &buffer->job;
    job->pages = &cmd->host;
    job->off = buffer->index * PAGE_SIZE;
    job->dev = dev;
    job->left = PAGE_SIZE;
    job->to_host = true;
    job->done = read_sent;
    job->arg = buffer;
    dma_submit(job);
}

static void read_page(struct page_buffer *buffer);

static void read_done(struct nand_op *op, uint32_t status) {
    struct page_buffer *buffer = op->arg;
    struct nvme_cmd *cmd = buffer->owner;
    if (cmd->timed) {
        stage_end(cmd, STAGE_FLASH);
    }
    if (status != FLASH_STATUS_OK && ftl_moved(op, cmd->lba + buffer->index)) {
        read_page(buffer);
    } else if (status != FLASH_STATUS_OK) {
        media_lost(cmd, cmd->lba + buffer->index, op, status);
        page_ended(buffer, NVME_READ_ERROR);
    } else {
        read_send(buffer, buffer->addr);
    }
}

/** Send the block from the write cache. False when that does not hold it. */
static bool read_cached(struct page_buffer *buffer) {
    struct ftl_write *w = ftl_cached(cmd_of(buffer)->lba + buffer->index);
    if (w == NULL) {
        return false;
    }
    buffer->source = buffer_of(w);
    buffer->source->readers++;
    read_send(buffer, w->buffer);
    return true;
}

static void read_page(struct page_buffer *buffer) {
    struct nvme_cmd *cmd = buffer->owner;
    if (ftl.cached > 0 && read_cached(buffer)) {
        return;
    }
    uint32_t ppa = map_get(cmd->lba + buffer->index);
    if (ppa <= MAP_LOST) {
        if (cmd->timed) {
            stage_end(cmd, STAGE_MAP);
        }
        uint32_t status = media_absent(cmd, cmd->lba + buffer->index, ppa);
        if (status == NVME_OK) {
            read_send(buffer, DRAM_ZERO);
        } else {
            page_ended(buffer, status);
        }
        return;
    }
    struct nand_op *op = buffer->op;
    op->done = read_done;
    op->arg = buffer;
    nand_read_block(op, ppa, cmd->lba + buffer->index, buffer->addr);
    nand_submit(op);
    if (cmd->timed) {
        stage_end(cmd, STAGE_MAP);
    }
}

static bool write_next(struct page_buffer *buffer);

/** The block is in the write cache: as far as the command goes, it is written. */
static void write_taken(struct ftl_write *w) {
    cmd_page_ended(buffer_of(w)->owner, NVME_OK);
}

static void write_done(struct ftl_write *w, enum ftl_status status) {
    struct page_buffer *buffer = buffer_of(w);
    if (w->taken) {
        if (buffer->readers == 0) {
            buffer_put(buffer);
        } else {
            buffer->readers |= BUFFER_WRITTEN;
        }
        return;
    }
    struct nvme_cmd *cmd = buffer->owner;
    if (buffer_wanted != WORK_IO || list_empty(&issuing) || !write_next(buffer)) {
        buffer_put(buffer);
    }
    cmd_page_ended(cmd, status == FTL_OK ? NVME_OK : status == FTL_READ_ONLY ? NVME_READ_ONLY : NVME_WRITE_FAULT);
}

static void write_fetched(struct dma_job *job) {
    struct page_buffer *buffer = job->arg;
    struct nvme_cmd *cmd = buffer->owner;
    if (__builtin_expect(job->error | cmd->op.abandoned, 0)) {
        ftl_withdraw();
        page_ended(buffer, NVME_DATA_TRANSFER);
        return;
    }
    struct ftl_write *w = &buffer->write;
    w->op = buffer->op;
    w->lba = cmd->lba + buffer->index;
    w->buffer = buffer->addr;
    w->special = 0;
    w->take = (cmd->sqe[12] & CDW12_FUA) != 0 ? NULL : write_taken;
    w->done = write_done;
    ftl_write(w);
}

/** Fetch a page that may lie in two of the host's. */
static void fetch_parts(struct nvme_cmd *cmd, uint32_t i, struct page_buffer *buffer) {
    buffer->owner = cmd;
    buffer->index = i;
    struct dma_job *job = &buffer->job;
    job->pages = &cmd_of(buffer)->host;
    job->off = buffer->index * PAGE_SIZE;
    job->dev = buffer->addr;
    job->left = PAGE_SIZE;
    job->to_host = false;
    job->done = write_fetched;
    job->arg = buffer;
    dma_submit(job);
}

/** Whether every page of `cmd` is one of the host's. */
static inline bool whole_pages(const struct nvme_cmd *cmd) {
    return cmd->host.first_bytes == DMA_PAGE;
}

/** Fetch page `i` of `cmd`, of whole_pages, into `buffer`; host DMA has room. */
static inline void fetch_whole(struct nvme_cmd *cmd, uint32_t i, struct page_buffer *buffer) {
    const dma_address *host = i == 0                   ? &cmd->host.first
                              : cmd->host.list != NULL ? &cmd->host.list[i - 1]
                                                       : &cmd->host.second;
    buffer->owner = cmd;
    buffer->index = i;
    buffer->job.done = write_fetched;
    buffer->job.arg = buffer;
    dma_fetch_page(&buffer->job, host, buffer->addr);
}

/** Fetch the pages of a write, as many as there are buffers and room. False: there are more. */
static __attribute__((noinline)) bool write_pages(struct nvme_cmd *cmd) {
    uint32_t begin = cmd->issued, end = cmd->pages, i = begin;
    bool whole = whole_pages(cmd);
    uint32_t room = whole ? dma_room() : UINT32_MAX;
    for (; i < end && room > 0; i++, room--) {
        struct page_buffer *buffer = buffer_get();
        if (buffer == NULL) {
            buffer_wanted |= WORK_IO;
            break;
        }
        if (whole) {
            fetch_whole(cmd, i, buffer);
        } else {
            fetch_parts(cmd, i, buffer);
        }
    }
    if (room == 0) {
        dma_wanted |= WORK_IO;
    }
    cmd->issued = i;
    ftl.coming += i - begin;
    if (whole) {
        dma_counters.from_host += (i - begin) * PAGE_SIZE;
    }
    return i == end;
}

/** `buffer`, which has become free, takes the next page of the write that waits for one. False: there is none, or it is
 * not as simple. */
static inline bool write_next(struct page_buffer *buffer) {
    struct nvme_cmd *cmd = nvme_cmd_of(issuing.first);
    if (cmd_opcode(cmd) != IO_WRITE || !whole_pages(cmd) || cmd->pages - cmd->issued < 2 || dma_room() == 0) {
        return false;
    }
    ftl.coming++;
    dma_counters.from_host += PAGE_SIZE;
    fetch_whole(cmd, cmd->issued++, buffer);
    return true;
}

/** Write Uncorrectable: the log says so, as it says what is written. */
static void lose_page(struct page_buffer *buffer) {
    ftl_announce();
    buffer->write = (struct ftl_write){.op = buffer->op,
                                       .lba = cmd_of(buffer)->lba + buffer->index,
                                       .buffer = DRAM_ZERO,
                                       .lost = 1,
                                       .done = write_done};
    ftl_write(&buffer->write);
}

void io_poll(void) {
    work_clear(WORK_IO);
    while (!list_empty(&issuing)) {
        struct nvme_cmd *cmd = nvme_cmd_of(issuing.first);
        uint8_t opcode = cmd_opcode(cmd);
        bool last = false;
        if (opcode == IO_WRITE) {
            if (!write_pages(cmd)) {
                return;
            }
            list_take(&issuing);
            continue;
        }
        while (!last) {
            struct page_buffer *buffer = buffer_get();
            if (buffer == NULL) {
                buffer_wanted |= WORK_IO;
                return;
            }
            buffer->owner = cmd;
            buffer->index = cmd->issued++;
            last = cmd->issued == cmd->pages;
            if (last) {
                /* Off the list before its last page can complete it. */
                list_take(&issuing);
            }
            if (opcode == IO_WRITE_UNCORRECTABLE) {
                lose_page(buffer);
            } else {
                read_page(buffer);
            }
        }
    }
}

void io_issue(struct nvme_cmd *cmd) {
    cmd->issued = 0;
    cmd->ended = 0;
    list_put(&issuing, &cmd->op.node);
    io_poll();
}

/** A read of one block goes past the list when nobody waits there. */
static void issue_one(struct nvme_cmd *cmd) {
    if (cmd->timed) {
        stage_end(cmd, STAGE_PRP);
    }
    struct page_buffer *buffer = list_empty(&issuing) ? buffer_get() : NULL;
    if (buffer == NULL) {
        io_issue(cmd);
        return;
    }
    cmd->issued = 1;
    cmd->ended = 0;
    buffer->owner = cmd;
    buffer->index = 0;
    read_page(buffer);
}

bool io_abort(struct nvme_cmd *cmd) {
    return cmd->issued == 0 && nvme_drop(&issuing, cmd);
}

void io_orphan(void) {
    struct list all = list_take_all(&issuing);
    while (!list_empty(&all)) {
        struct nvme_cmd *cmd = nvme_cmd_of(list_take(&all));
        cmd->pages = cmd->issued;
        if (cmd->ended == cmd->pages) {
            nvme_complete(cmd, NVME_ABORTED);
        }
    }
}

bool io_in_range(uint64_t lba, uint32_t count) {
    return lba < ftl.lbas && count <= ftl.lbas - lba;
}

static void drain_ended(struct ftl_drain *d, enum ftl_status status) {
    struct nvme_cmd *cmd = CONTAINER(d, struct nvme_cmd, drain);
    if (cmd->op.abandoned) {
        nvme_complete(cmd, NVME_ABORTED);
    } else if (status != FTL_OK) {
        nvme_complete(cmd, NVME_WRITE_FAULT);
    } else {
        cmd->drained = true;
        cmd->ready(cmd);
    }
}

void io_drain(struct nvme_cmd *cmd, nvme_cmd_fn go) {
    cmd->ready = go;
    cmd->drain.done = drain_ended;
    ftl_drain(&cmd->drain);
}

bool io_take_range(struct nvme_cmd *cmd, uint32_t reserved, uint32_t most) {
    uint32_t count = (cmd->sqe[12] & 0xffffu) + 1;
    if ((cmd->sqe[12] & reserved) != 0 || count > most) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 12);
        return false;
    }
    if (!io_in_range(io_start_block(cmd), count)) {
        nvme_refuse(cmd, NVME_LBA_RANGE, 10);
        return false;
    }
    cmd->lba = cmd->sqe[10];
    cmd->pages = count;
    return true;
}

/* ---- flush, verify ---- */

static void flushed(struct ftl_exclusive *x, enum ftl_status status) {
    nvme_complete(CONTAINER(x, struct nvme_cmd, checkpoint), status == FTL_OK ? NVME_OK : NVME_WRITE_FAULT);
}

static void cache_flushed(struct nvme_cmd *cmd) {
    nvme_complete(cmd, NVME_OK);
}

static void flush(struct nvme_cmd *cmd) {
    if (ftl_has_cache()) {
        /* Hosts flush often then: recovery finds in the log what a checkpoint would say. */
        io_drain(cmd, cache_flushed);
        return;
    }
    cmd->checkpoint = (struct ftl_checkpoint){.clean = ftl.clean, .x.done = flushed};
    ftl_checkpoint(&cmd->checkpoint);
}

static void verify(struct nvme_cmd *cmd) {
    if (io_take_range(cmd, 0x3fff0000u, UINT32_MAX)) {
        io_issue(cmd);
    }
}

static void write_uncorrectable(struct nvme_cmd *cmd) {
    if (io_take_range(cmd, 0xffff0000u, IO_LOSE_MOST)) {
        io_issue(cmd);
    }
}

/* ---- dispatch ---- */

static void read_write(struct nvme_cmd *cmd) {
    uint32_t lba = cmd->sqe[10];
    uint32_t cdw12 = cmd->sqe[12];
    uint32_t count = (cdw12 & 0xffffu) + 1;
    /* No protection information and no directives are offered: their bits, and the reserved ones, must be 0. */
    if ((cdw12 & 0x3fff0000u) != 0 || count > NVME_MDTS_BYTES / PAGE_SIZE) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 12);
        return;
    }
    if (cmd->sqe[11] != 0 || lba >= ftl.lbas || count > ftl.lbas - lba) {
        nvme_refuse(cmd, NVME_LBA_RANGE, 10);
        return;
    }
    if (ftl.cached > 0 && !cmd->drained && cmd_opcode(cmd) == IO_READ && (cdw12 & CDW12_FUA) != 0) {
        io_drain(cmd, read_write);
        return;
    }
    cmd->lba = lba;
    cmd->pages = count;
    if (cmd_opcode(cmd) == IO_WRITE) {
        health.saved.writes++;
        health.saved.blocks_written += count;
    } else {
        health.saved.reads++;
        health.saved.blocks_read += count;
        if (count == 1) {
            cmd->timed = cmd->sampled;
            if (cmd->timed) {
                stage_end(cmd, STAGE_DECODE);
            }
            nvme_map(cmd, PAGE_SIZE, issue_one);
            return;
        }
    }
    nvme_map(cmd, count * PAGE_SIZE, io_issue);
}

/** Whether a command goes by what is on the medium, past the write cache, or changes the map by itself. */
static bool past_cache(const struct nvme_cmd *cmd) {
    switch (cmd_opcode(cmd)) {
    case IO_WRITE_UNCORRECTABLE:
    case IO_COMPARE:
    case IO_WRITE_ZEROES:
    case IO_DSM:
        return true;
    default:
        return false;
    }
}

/** Commands of the drive's namespace but for reads and writes. */
static void drive_command(struct nvme_cmd *cmd) {
    if (ftl.cached > 0 && !cmd->drained && past_cache(cmd)) {
        io_drain(cmd, drive_command);
        return;
    }
    switch (cmd_opcode(cmd)) {
    case IO_FLUSH:
        flush(cmd);
        break;
    case IO_WRITE_UNCORRECTABLE:
        write_uncorrectable(cmd);
        break;
    case IO_COMPARE:
        compare_command(cmd);
        break;
    case IO_WRITE_ZEROES:
        ranges_write_zeroes(cmd);
        break;
    case IO_DSM:
        ranges_dsm(cmd);
        break;
    case IO_VERIFY:
        verify(cmd);
        break;
    default:
        vendor_io(cmd);
        break;
    }
}

/** Whether the NVM command set, with the vendor's commands, has `opcode`. */
static bool drive_opcode(uint8_t opcode) {
    switch (opcode) {
    case IO_FLUSH:
    case IO_WRITE:
    case IO_READ:
    case IO_WRITE_UNCORRECTABLE:
    case IO_COMPARE:
    case IO_WRITE_ZEROES:
    case IO_DSM:
    case IO_VERIFY:
    case SCOMP_OPCODE_IO_ABORT:
    case SCOMP_OPCODE_IO_EXEC:
    case SCOMP_OPCODE_IO_READ:
    case SCOMP_OPCODE_IO_FEED:
    case SCOMP_OPCODE_IO_SESSION_OPEN:
    case SCOMP_OPCODE_IO_SESSION_CLOSE:
        return true;
    default:
        return false;
    }
}

/** Everything but plain reads and writes. */
static void other_command(struct nvme_cmd *cmd) {
    uint32_t nsid = cmd_nsid(cmd);
    uint8_t opcode = cmd_opcode(cmd);
    enum nvme_csi csi = namespace_check(nsid) == NVME_OK ? namespace_csi(nsid) : CSI_NVM;
    if (blocks_barred == NVME_SANITIZE_IN_PROGRESS || blocks_barred == NVME_SANITIZE_FAILED) {
        /* Of all namespaces; nothing is left that a flush would have to wait for. */
        nvme_complete(cmd, csi == CSI_NVM && opcode == IO_FLUSH ? NVME_OK : blocks_barred);
        return;
    }
    if (csi == CSI_MEMORY) {
        memory_command(cmd);
        return;
    }
    if (csi == CSI_COMPUTE) {
        program_command(cmd);
        return;
    }
    if (!drive_opcode(opcode)) {
        nvme_refuse(cmd, NVME_INVALID_OPCODE, 0);
        return;
    }
    bool all = opcode == IO_FLUSH && nsid == NSID_ALL;
    if (nsid == NSID_DRIVE ? ftl.lbas == 0 : all && ftl.lbas == 0) {
        nvme_complete(cmd, NVME_NS_NOT_READY);
        return;
    }
    if (!all && namespace_check(nsid) != NVME_OK) {
        nvme_refuse(cmd, namespace_check(nsid), 1);
        return;
    }
    if (blocks_barred != NVME_OK) {
        nvme_complete(cmd, blocks_barred);
        return;
    }
    if (opcode == IO_READ || opcode == IO_WRITE) {
        read_write(cmd);
    } else {
        drive_command(cmd);
    }
}

void io_command(struct nvme_cmd *cmd) {
    uint8_t opcode = cmd_opcode(cmd);
    if ((opcode == IO_READ || opcode == IO_WRITE) && cmd_nsid(cmd) == NSID_DRIVE && ftl.lbas != 0 &&
        blocks_barred == NVME_OK) {
        read_write(cmd);
    } else {
        other_command(cmd);
    }
}
