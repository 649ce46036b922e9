/* I/O commands of the NVM command set. */
#include <string.h>

#include "lib/dram.h"
#include "nvme/nvme.h"
#include "stream/scomp.h"

enum { IO_FLUSH = 0x00, IO_WRITE = 0x01, IO_READ = 0x02, IO_WRITE_ZEROES = 0x08, IO_DSM = 0x09 };

#define SLOTS          384u
#define DSM_DEALLOCATE 4u
#define NSID_ALL       0xffffffffu

static struct page_slot slots[SLOTS];
static struct page_slot *slot_free;
static struct nvme_cmd *issue_head, *issue_tail;
static struct nvme_cmd *buffer_wait; /**< data set management commands that wait for a buffer */

void io_init(void) {
    slot_free = NULL;
    for (uint32_t i = SLOTS; i-- > 0;) {
        slots[i].buffer = DRAM_BUFFERS + i * PAGE_SIZE;
        slots[i].op = nand_op_get();
        slots[i].next = slot_free;
        slot_free = &slots[i];
    }
    issue_head = issue_tail = NULL;
    buffer_wait = NULL;
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

/** One page of a command has ended. */
static void page_ended(struct page_slot *slot, uint32_t status) {
    struct nvme_cmd *cmd = slot->cmd;
    slot_put(slot);
    if (status != NVME_OK && cmd->status == NVME_OK) {
        cmd->status = (uint16_t)status;
    }
    if (++cmd->ended == cmd->pages) {
        nvme_complete(cmd, cmd->status);
    }
}

static void read_sent(struct dma_job *job) {
    page_ended(job->arg, job->error ? NVME_DATA_TRANSFER : NVME_OK);
}

static void read_send(struct page_slot *slot, uint32_t dev) {
    slot->job = (struct dma_job){.prp = &slot->cmd->prp,
                                 .off = slot->index * PAGE_SIZE,
                                 .dev = dev,
                                 .left = PAGE_SIZE,
                                 .to_host = true,
                                 .done = read_sent,
                                 .arg = slot};
    hdma_submit(&slot->job);
}

static void read_done(struct nand_op *op, uint32_t status) {
    struct page_slot *slot = op->arg;
    /* The spare area names the page: anything else there is damage. */
    if (status != FLASH_STATUS_OK || (op->data0 & ~OOB_LOOSE) != slot->cmd->lba + slot->index) {
        page_ended(slot, NVME_READ_ERROR);
    } else if (slot->cmd->orphan) {
        page_ended(slot, NVME_ABORTED);
    } else {
        read_send(slot, slot->buffer);
    }
}

static void read_page(struct page_slot *slot) {
    uint32_t ppa = map_get(slot->cmd->lba + slot->index);
    if (ppa == 0) {
        read_send(slot, DRAM_ZERO);
        return;
    }
    struct nand_op *op = slot->op;
    op->done = read_done;
    op->arg = slot;
    op->way = ppa_way(ppa);
    op->op = FLASH_OP_READ;
    op->row = ppa_row(ppa);
    op->w2 = slot->buffer;
    op->bytes = PAGE_SIZE;
    nand_submit(op);
}

static void write_done(struct ftl_write *w, enum ftl_status status) {
    struct page_slot *slot = (struct page_slot *)((uint8_t *)w - offsetof(struct page_slot, write));
    page_ended(slot, status == FTL_OK ? NVME_OK : status == FTL_FULL ? NVME_CAPACITY : NVME_WRITE_FAULT);
}

static void write_fetched(struct dma_job *job) {
    struct page_slot *slot = job->arg;
    if (job->error || slot->cmd->orphan) {
        page_ended(slot, NVME_DATA_TRANSFER);
        return;
    }
    slot->write = (struct ftl_write){
        .op = slot->op, .lba = slot->cmd->lba + slot->index, .buffer = slot->buffer, .done = write_done};
    ftl_write(&slot->write);
}

static void write_page(struct page_slot *slot) {
    slot->job = (struct dma_job){.prp = &slot->cmd->prp,
                                 .off = slot->index * PAGE_SIZE,
                                 .dev = slot->buffer,
                                 .left = PAGE_SIZE,
                                 .done = write_fetched,
                                 .arg = slot};
    hdma_submit(&slot->job);
}

static void dsm_start(struct nvme_cmd *cmd);

bool io_waits;

void io_pump(void) {
    while (buffer_wait != NULL && slot_free != NULL) {
        struct nvme_cmd *cmd = buffer_wait;
        buffer_wait = cmd->next;
        dsm_start(cmd);
    }
    io_waits = buffer_wait != NULL;
    while (issue_head != NULL) {
        struct nvme_cmd *cmd = issue_head;
        bool write = cmd_opcode(cmd) == IO_WRITE;
        while (cmd->issued < cmd->pages) {
            struct page_slot *slot = slot_get();
            if (slot == NULL) {
                io_waits = true;
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

static void issue(struct nvme_cmd *cmd) {
    cmd->next = NULL;
    if (issue_head == NULL) {
        issue_head = cmd;
    } else {
        issue_tail->next = cmd;
    }
    issue_tail = cmd;
    io_pump();
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
    list = buffer_wait;
    buffer_wait = NULL;
    while (list != NULL) {
        struct nvme_cmd *cmd = list;
        list = cmd->next;
        nvme_complete(cmd, NVME_ABORTED);
    }
}

/** Whether [lba, lba + count) lies in the namespace. */
static bool in_range(uint64_t lba, uint32_t count) {
    return lba < ftl.lbas && count <= ftl.lbas - lba;
}

static void read_write(struct nvme_cmd *cmd) {
    uint64_t lba = cmd->sqe[10] | (uint64_t)cmd->sqe[11] << 32;
    uint32_t count = (cmd->sqe[12] & 0xffffu) + 1;
    bool write = cmd_opcode(cmd) == IO_WRITE;
    /* No protection information and no directives are offered: their bits, and the reserved ones, must be 0. */
    if ((cmd->sqe[12] & 0x3fff0000u) != 0 || count > NVME_MDTS_BYTES / PAGE_SIZE) {
        nvme_complete(cmd, NVME_INVALID_FIELD);
        return;
    }
    if (!in_range(lba, count)) {
        nvme_complete(cmd, NVME_LBA_RANGE);
        return;
    }
    if (write) {
        nvme_counters.writes++;
        nvme_counters.blocks_written += count;
    } else {
        nvme_counters.reads++;
        nvme_counters.blocks_read += count;
    }
    cmd->lba = (uint32_t)lba;
    cmd->pages = count;
    cmd->issued = 0;
    cmd->ended = 0;
    nvme_map(cmd, count * PAGE_SIZE, issue);
}

/* ---- flush, write zeroes, data set management ---- */

static struct nvme_cmd *cmd_of(struct ftl_exclusive *x, size_t offset) {
    return (struct nvme_cmd *)((uint8_t *)x - offset);
}

static void flushed(struct ftl_exclusive *x, enum ftl_status status) {
    nvme_complete(cmd_of(x, offsetof(struct nvme_cmd, checkpoint)), status == FTL_OK ? NVME_OK : NVME_WRITE_FAULT);
}

static void flush(struct nvme_cmd *cmd) {
    memset(&cmd->checkpoint, 0, sizeof cmd->checkpoint);
    cmd->checkpoint.clean = ftl.clean;
    cmd->checkpoint.x.done = flushed;
    ftl_checkpoint(&cmd->checkpoint);
}

static void trimmed(struct ftl_exclusive *x, enum ftl_status status) {
    struct nvme_cmd *cmd = cmd_of(x, offsetof(struct nvme_cmd, trim));
    if (cmd->slot != NULL) {
        slot_put(cmd->slot);
    }
    nvme_complete(cmd, status == FTL_OK ? NVME_OK : status == FTL_FULL ? NVME_CAPACITY : NVME_WRITE_FAULT);
}

static void zeroes_prepare(struct ftl_trim *t) {
    struct nvme_cmd *cmd = cmd_of(&t->x, offsetof(struct nvme_cmd, trim));
    t->count = 1;
    hal_write(DRAM_TRIM + 8, cmd->lba);
    hal_write(DRAM_TRIM + 12, cmd->pages);
}

static void write_zeroes(struct nvme_cmd *cmd) {
    uint64_t lba = cmd->sqe[10] | (uint64_t)cmd->sqe[11] << 32;
    uint32_t count = (cmd->sqe[12] & 0xffffu) + 1;
    /* Bit 25 (deallocate) asks for what happens anyway. */
    if ((cmd->sqe[12] & 0x3dff0000u) != 0) {
        nvme_complete(cmd, NVME_INVALID_FIELD);
        return;
    }
    if (!in_range(lba, count)) {
        nvme_complete(cmd, NVME_LBA_RANGE);
        return;
    }
    cmd->lba = (uint32_t)lba;
    cmd->pages = count;
    memset(&cmd->trim, 0, sizeof cmd->trim);
    cmd->trim.prepare = zeroes_prepare;
    cmd->trim.x.done = trimmed;
    ftl_trim(&cmd->trim);
}

static void dsm_prepare(struct ftl_trim *t) {
    struct nvme_cmd *cmd = cmd_of(&t->x, offsetof(struct nvme_cmd, trim));
    t->count = cmd->pages;
    for (uint32_t i = 0; i < cmd->pages; i++) {
        hal_write(DRAM_TRIM + 8 + i * 8, hal_read(cmd->slot->buffer + i * 16 + 8));
        hal_write(DRAM_TRIM + 12 + i * 8, hal_read(cmd->slot->buffer + i * 16 + 4));
    }
}

static void dsm_fetched(struct dma_job *job) {
    struct nvme_cmd *cmd = job->arg;
    uint32_t status = job->error || cmd->orphan ? NVME_DATA_TRANSFER : NVME_OK;
    for (uint32_t i = 0; i < cmd->pages && status == NVME_OK; i++) {
        uint32_t at = cmd->slot->buffer + i * 16;
        uint32_t count = hal_read(at + 4);
        uint64_t lba = hal_read(at + 8) | (uint64_t)hal_read(at + 12) << 32;
        if (count > 0 && !in_range(lba, count)) {
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

static void dsm_start(struct nvme_cmd *cmd) {
    cmd->slot = slot_get();
    nvme_transfer(cmd, cmd->slot->buffer, cmd->pages * 16, false, dsm_fetched);
}

static void dsm_mapped(struct nvme_cmd *cmd) {
    if (slot_free != NULL) {
        dsm_start(cmd);
    } else {
        cmd->next = buffer_wait;
        buffer_wait = cmd;
        io_waits = true;
    }
}

static void dsm(struct nvme_cmd *cmd) {
    cmd->pages = (cmd->sqe[10] & 0xffu) + 1;
    nvme_map(cmd, cmd->pages * 16, dsm_mapped);
}

void io_command(struct nvme_cmd *cmd) {
    uint32_t nsid = cmd_nsid(cmd);
    uint8_t opcode = cmd_opcode(cmd);
    bool known = opcode == IO_FLUSH || opcode == IO_WRITE || opcode == IO_READ || opcode == IO_WRITE_ZEROES ||
                 opcode == IO_DSM || opcode == SCOMP_OPCODE_IO_ABORT || opcode == SCOMP_OPCODE_IO_EXEC ||
                 opcode == SCOMP_OPCODE_IO_READ || opcode == SCOMP_OPCODE_IO_FEED;
    if (!known) {
        nvme_complete(cmd, NVME_INVALID_OPCODE);
        return;
    }
    if (nsid != 1 && !(opcode == IO_FLUSH && nsid == NSID_ALL)) {
        nvme_complete(cmd, NVME_INVALID_NS);
        return;
    }
    if (ftl.lbas == 0) {
        nvme_complete(cmd, NVME_NS_NOT_READY);
        return;
    }
    switch (opcode) {
    case IO_FLUSH:
        flush(cmd);
        break;
    case IO_WRITE:
    case IO_READ:
        read_write(cmd);
        break;
    case IO_WRITE_ZEROES:
        write_zeroes(cmd);
        break;
    case IO_DSM:
        dsm(cmd);
        break;
    default:
        scomp_command(cmd);
        break;
    }
}
