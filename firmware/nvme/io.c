/* SPDX-License-Identifier: BSD-3-Clause */
/* I/O commands: dispatch, and reads and writes of the drive's blocks. */
#include "platform/dram.h"
#include "nvme/nvme.h"
#include "csd/scomp.h"

enum {
    IO_FLUSH = 0x00,
    IO_WRITE = 0x01,
    IO_READ = 0x02,
    IO_COMPARE = 0x05,
    IO_WRITE_ZEROES = 0x08,
    IO_DSM = 0x09,
    IO_VERIFY = 0x0c,
};

#define SLOTS 384u
/** Reads and writes: force unit access. */
#define CDW12_FUA 0x40000000u

static struct page_slot slots[SLOTS];
static struct page_slot *slot_free;
static struct nvme_cmd *issue_head, *issue_tail;

void io_init(void) {
    slot_free = NULL;
    for (uint32_t i = SLOTS; i-- > 0;) {
        slots[i].buffer = DRAM_BUFFERS + i * PAGE_SIZE;
        slots[i].op = nand_op_get();
        slots[i].next = slot_free;
        slot_free = &slots[i];
    }
    issue_head = issue_tail = NULL;
    nvme_waits.io = false;
}

struct page_slot *slot_get(void) {
    struct page_slot *s = slot_free;
    if (s != NULL) {
        slot_free = s->next;
    }
    return s;
}

void slot_put(struct page_slot *slot) {
    slot->next = slot_free;
    slot_free = slot;
}

/* ---- read and write ---- */

/** A read has sent the buffer of `slot`, or not. */
static void source_put(struct page_slot *slot) {
    slot->readers--;
    if (slot->readers == SLOT_ENDED) {
        slot->readers = 0;
        slot_put(slot);
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

/** The page of a command that `slot` is for has ended. */
static void page_ended(struct page_slot *slot, uint32_t status) {
    struct nvme_cmd *cmd = slot->cmd;
    if (slot->source != NULL) {
        source_put(slot->source);
        slot->source = NULL;
    }
    slot_put(slot);
    cmd_page_ended(cmd, status);
}

static void read_sent(struct dma_job *job) {
    struct page_slot *slot = job->arg;
    if (slot->cmd->timed) {
        stage_end(slot->cmd, STAGE_DMA);
    }
    page_ended(slot, job->error ? NVME_DATA_TRANSFER : NVME_OK);
}

static struct page_slot *slot_of(struct ftl_write *w) {
    return (struct page_slot *)((uint8_t *)w - offsetof(struct page_slot, write));
}

/** The data of a page is at `dev`. */
static void read_send(struct page_slot *slot, uint32_t dev) {
    struct nvme_cmd *cmd = slot->cmd;
    if (cmd->orphan) {
        page_ended(slot, NVME_ABORTED);
        return;
    }
    if (cmd_opcode(cmd) == IO_VERIFY) {
        page_ended(slot, NVME_OK);
        return;
    }
    struct dma_job *job = &slot->job;
    job->prp = &cmd->prp;
    job->off = slot->index * PAGE_SIZE;
    job->dev = dev;
    job->left = PAGE_SIZE;
    job->to_host = true;
    job->done = read_sent;
    job->arg = slot;
    hdma_submit(job);
}

static void read_done(struct nand_op *op, uint32_t status) {
    struct page_slot *slot = op->arg;
    struct nvme_cmd *cmd = slot->cmd;
    if (cmd->timed) {
        stage_end(cmd, STAGE_FLASH);
    }
    if (status != FLASH_STATUS_OK) {
        media_lost(cmd, cmd->lba + slot->index, op, status);
        page_ended(slot, NVME_READ_ERROR);
    } else {
        read_send(slot, slot->buffer);
    }
}

/** Send the block from the write cache. False when that does not hold it. */
static bool read_cached(struct page_slot *slot) {
    struct ftl_write *w = ftl_cached(slot->cmd->lba + slot->index);
    if (w == NULL) {
        return false;
    }
    slot->source = slot_of(w);
    slot->source->readers++;
    read_send(slot, w->buffer);
    return true;
}

static void read_page(struct page_slot *slot) {
    struct nvme_cmd *cmd = slot->cmd;
    if (ftl.cached > 0 && read_cached(slot)) {
        return;
    }
    uint32_t ppa = map_get(cmd->lba + slot->index);
    if (ppa == 0) {
        if (cmd->timed) {
            stage_end(cmd, STAGE_MAP);
        }
        read_send(slot, DRAM_ZERO);
        return;
    }
    struct nand_op *op = slot->op;
    op->done = read_done;
    op->arg = slot;
    nand_read_block(op, ppa, cmd->lba + slot->index, slot->buffer);
    nand_submit(op);
    if (cmd->timed) {
        stage_end(cmd, STAGE_MAP);
    }
}

/** The block is in the write cache: as far as the command goes, it is written. */
static void write_taken(struct ftl_write *w) {
    cmd_page_ended(slot_of(w)->cmd, NVME_OK);
}

static void write_done(struct ftl_write *w, enum ftl_status status) {
    struct page_slot *slot = slot_of(w);
    if (w->taken) {
        if (slot->readers == 0) {
            slot_put(slot);
        } else {
            slot->readers |= SLOT_ENDED;
        }
        return;
    }
    page_ended(slot, status == FTL_OK ? NVME_OK : status == FTL_READ_ONLY ? NVME_READ_ONLY : NVME_WRITE_FAULT);
}

static void write_fetched(struct dma_job *job) {
    struct page_slot *slot = job->arg;
    if (job->error || slot->cmd->orphan) {
        ftl_withdraw();
        page_ended(slot, NVME_DATA_TRANSFER);
        return;
    }
    bool fua = (slot->cmd->sqe[12] & CDW12_FUA) != 0;
    slot->write = (struct ftl_write){.op = slot->op,
                                     .lba = slot->cmd->lba + slot->index,
                                     .buffer = slot->buffer,
                                     .take = fua ? NULL : write_taken,
                                     .done = write_done};
    ftl_write(&slot->write);
}

static void write_page(struct page_slot *slot) {
    ftl_announce();
    slot->job = (struct dma_job){.prp = &slot->cmd->prp,
                                 .off = slot->index * PAGE_SIZE,
                                 .dev = slot->buffer,
                                 .left = PAGE_SIZE,
                                 .done = write_fetched,
                                 .arg = slot};
    hdma_submit(&slot->job);
}

void io_pump(void) {
    nvme_waits.io = false;
    while (issue_head != NULL) {
        struct nvme_cmd *cmd = issue_head;
        bool write = cmd_opcode(cmd) == IO_WRITE;
        while (cmd->issued < cmd->pages) {
            struct page_slot *slot = slot_get();
            if (slot == NULL) {
                nvme_waits.io = true;
                return;
            }
            slot->cmd = cmd;
            slot->index = cmd->issued++;
            if (cmd->issued == cmd->pages) {
                /* Off the list before its last page can complete it. */
                issue_head = cmd->next;
            }
            bool last = cmd->issued == cmd->pages;
            if (write) {
                write_page(slot);
            } else {
                read_page(slot);
            }
            if (last) {
                break;
            }
        }
    }
}

void io_issue(struct nvme_cmd *cmd) {
    cmd->issued = 0;
    cmd->ended = 0;
    cmd->next = NULL;
    if (issue_head == NULL) {
        issue_head = cmd;
    } else {
        issue_tail->next = cmd;
    }
    issue_tail = cmd;
    io_pump();
}

/** A read of one block goes past the list when nobody waits there. */
static void issue_one(struct nvme_cmd *cmd) {
    if (cmd->timed) {
        stage_end(cmd, STAGE_PRP);
    }
    struct page_slot *slot = issue_head == NULL ? slot_get() : NULL;
    if (slot == NULL) {
        io_issue(cmd);
        return;
    }
    cmd->issued = 1;
    cmd->ended = 0;
    slot->cmd = cmd;
    slot->index = 0;
    read_page(slot);
}

bool io_abort(struct nvme_cmd *cmd) {
    struct nvme_cmd *before = NULL;
    for (struct nvme_cmd *c = issue_head; c != NULL; before = c, c = c->next) {
        if (c != cmd || c->issued > 0) {
            continue;
        }
        if (before == NULL) {
            issue_head = c->next;
        } else {
            before->next = c->next;
        }
        if (issue_tail == c) {
            issue_tail = before;
        }
        nvme_complete(c, NVME_ABORTED);
        return true;
    }
    return false;
}

void io_orphan(void) {
    struct nvme_cmd *list = issue_head;
    issue_head = NULL;
    while (list != NULL) {
        struct nvme_cmd *cmd = list;
        list = cmd->next;
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
    struct nvme_cmd *cmd = (struct nvme_cmd *)((uint8_t *)d - offsetof(struct nvme_cmd, drain));
    if (cmd->orphan) {
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
        health.kept.writes++;
        health.kept.blocks_written += count;
    } else {
        health.kept.reads++;
        health.kept.blocks_read += count;
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
        manage_flush(cmd);
        break;
    case IO_COMPARE:
        manage_compare(cmd);
        break;
    case IO_WRITE_ZEROES:
        manage_write_zeroes(cmd);
        break;
    case IO_DSM:
        manage_dsm(cmd);
        break;
    case IO_VERIFY:
        manage_verify(cmd);
        break;
    default:
        scomp_command(cmd);
        break;
    }
}

/** Whether the NVM command set, with the vendor's commands, has `opcode`. */
static bool drive_opcode(uint8_t opcode) {
    switch (opcode) {
    case IO_FLUSH:
    case IO_WRITE:
    case IO_READ:
    case IO_COMPARE:
    case IO_WRITE_ZEROES:
    case IO_DSM:
    case IO_VERIFY:
    case SCOMP_OPCODE_IO_ABORT:
    case SCOMP_OPCODE_IO_EXEC:
    case SCOMP_OPCODE_IO_READ:
    case SCOMP_OPCODE_IO_FEED:
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
    if (format_running) {
        nvme_complete(cmd, NVME_FORMAT_IN_PROGRESS);
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
    if ((opcode == IO_READ || opcode == IO_WRITE) && cmd_nsid(cmd) == NSID_DRIVE && ftl.lbas != 0 && !format_running) {
        read_write(cmd);
    } else {
        other_command(cmd);
    }
}
