/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "media/health.h"
#include "nvme/nvme.h"
#include "platform/timer.h"
#include "platform/work.h"

struct nvme_counters nvme_counters;

static struct nvme_cmd commands[NVME_COMMANDS];
static struct list free_commands;
static uint32_t in_use[NVME_QUEUES];
static uint32_t in_use_all;
/** Have ended, and wait for room in the front end. */
static struct list posting;
/** Counts commands, for the choice of those that are timed. */
static uint32_t turn;
/** What the front end is known to hold: places that are free at least, and the completion's first dwords. */
static uint32_t post_space, post_dw0, post_dw1;

_Alignas(8) struct nvme_dma nvme_dma;
static_assert(sizeof(struct nvme_dma) % 8 == 0, "the AXI4 slave's limits are multiples of 8");
static uint64_t *list_free[NVME_LISTS];
static uint32_t list_count;
/* What sessions hold for as long as they like leaves some for everything else. */
static_assert(NVME_COMMANDS >= CSD_OPS + NVME_AERL + 1 + 48, "commands beside those of sessions");
/** Wait for a PRP list. */
static struct list unlisted;

static void list_fetch(struct nvme_cmd *cmd);

void nvme_commands_init(void) {
    free_commands = (struct list){0};
    vendor_init();
    for (uint32_t i = NVME_COMMANDS; i-- > 0;) {
        struct nvme_cmd *cmd = &commands[i];
        cmd->used = false;
        vendor_prepare(cmd);
        list_push(&free_commands, &cmd->op.node);
    }
    list_count = 0;
    for (uint32_t i = 0; i < NVME_LISTS; i++) {
        list_free[list_count++] = nvme_dma.lists[i];
    }
    unlisted = (struct list){0};
    posting = (struct list){0};
    memset(in_use, 0, sizeof in_use);
    in_use_all = 0;
    post_space = 0;
    post_dw0 = post_dw1 = 0;
    nvme_write(NVME_CQE_DW0, 0);
    nvme_write(NVME_CQE_DW1, 0);
}

uint32_t nvme_in_use(uint32_t sqid) {
    return sqid == NVME_QUEUES ? in_use_all : in_use[sqid];
}

bool nvme_drop(struct list *l, struct nvme_cmd *cmd) {
    if (cmd != NULL) {
        bool found = list_remove(l, &cmd->op.node);
        if (found) {
            nvme_complete(cmd, NVME_ABORTED);
        }
        return found;
    }
    struct list all = list_take_all(l);
    bool any = !list_empty(&all);
    while (!list_empty(&all)) {
        nvme_complete(nvme_cmd_of(list_take(&all)), NVME_ABORTED);
    }
    return any;
}

struct nvme_cmd *nvme_find(uint32_t sqid, uint32_t cid) {
    for (uint32_t i = 0; i < NVME_COMMANDS; i++) {
        if (commands[i].used && commands[i].op.owner == sqid && cmd_id(&commands[i]) == cid) {
            return &commands[i];
        }
    }
    return NULL;
}

static void cmd_release(struct nvme_cmd *cmd) {
    cmd->used = false;
    in_use[cmd->op.owner]--;
    in_use_all--;
    if (cmd->op.owner != 0 && in_use_all == in_use[0]) {
        health.saved.busy_cycles += time_now() - health.busy_since;
    }
    list_push(&free_commands, &cmd->op.node);
}

static void list_release(struct nvme_cmd *cmd) {
    cmd->list_taken = false;
    list_free[list_count++] = cmd->host.list;
    cmd->host.list = NULL;
    csd_list_give(&cmd->op);
    /* The first that may have one: what a session's commands hold until they end is not all there is. */
    for (struct node *n = unlisted.first; n != NULL; n = n->next) {
        struct nvme_cmd *waiter = nvme_cmd_of(n);
        if (csd_list_take(&waiter->op)) {
            list_remove(&unlisted, n);
            list_fetch(waiter);
            return;
        }
    }
}

/** Reads and writes of the drive: the last dwords of theirs say nothing that is looked at. */
static inline bool short_entry(uint32_t dw0) {
    uint32_t opcode = dw0 & 0xffu;
    return opcode == 1 || opcode == 2;
}

void nvme_fetch(void) {
    work_clear(WORK_FETCH);
    uint32_t waiting;
    do {
        uint32_t s = nvme_read(NVME_SQE_STATUS);
        if (!FIELD(NVME_SQE_STATUS, VALID, s)) {
            return;
        }
        waiting = FIELD(NVME_SQE_STATUS, COUNT, s);
        uint32_t sqid = FIELD(NVME_SQE_STATUS, SQID, s);
        if (controller != CTRL_READY || sqid >= NVME_QUEUES || !queues.sq[sqid]) {
            nvme_write(NVME_SQE_POP, 1);
            continue;
        }
        if (list_empty(&free_commands) || (sqid == 0 && !admin_ready())) {
            work_set(WORK_FETCH);
            return;
        }
        struct nvme_cmd *cmd = nvme_cmd_of(list_take(&free_commands));
        cmd->sampled = ++turn % STAGE_TURNS == 0;
        if (cmd->sampled) {
            cmd->stamp = sys_read(SYS_MTIME_LO);
        }
        uint32_t *e = cmd->sqe;
        uint32_t dw0 = nvme_read(NVME_SQE);
        e[0] = dw0;
        e[1] = nvme_read(NVME_SQE + 4);
        e[6] = nvme_read(NVME_SQE + 24);
        e[7] = nvme_read(NVME_SQE + 28);
        e[8] = nvme_read(NVME_SQE + 32);
        e[9] = nvme_read(NVME_SQE + 36);
        e[10] = nvme_read(NVME_SQE + 40);
        e[11] = nvme_read(NVME_SQE + 44);
        e[12] = nvme_read(NVME_SQE + 48);
        if (sqid == 0 || e[1] != NSID_DRIVE || !short_entry(dw0)) {
            for (uint32_t i = 2; i < 6; i++) {
                e[i] = nvme_read(NVME_SQE + i * 4);
            }
            for (uint32_t i = 13; i < 16; i++) {
                e[i] = nvme_read(NVME_SQE + i * 4);
            }
        }
        nvme_write(NVME_SQE_POP, 1);
        cmd->op.owner = (uint8_t)sqid;
        cmd->op.session = 0;
        cmd->used = true;
        cmd->op.abandoned = false;
        cmd->list_taken = false;
        cmd->timed = false;
        cmd->drained = false;
        cmd->status = NVME_OK;
        cmd->location = LOCATION_NONE;
        cmd->op.result[0] = 0;
        cmd->op.result[1] = 0;
        cmd->host.list = NULL;
        cmd->buffer = NULL;
        cmd->unmapped = NULL;
        in_use[sqid]++;
        in_use_all++;
        /* Fused operations and SGLs are not offered. */
        if ((dw0 & 0xc300u) != 0) {
            nvme_refuse(cmd, NVME_INVALID_FIELD, 0);
        } else if (sqid == 0) {
            admin_command(cmd);
        } else {
            if (in_use_all - in_use[0] == 1) {
                health.busy_since = time_now();
            }
            io_command(cmd);
        }
        /* What came after the last look raises the event again. */
    } while (waiting > 1);
}

/** Whether an error has an entry in the error log: not what the host asked for. */
static bool logged(uint32_t status) {
    return status != NVME_ABORTED && status != NVME_SQ_DELETED;
}

/** Status as the completion carries it. */
static uint32_t status_field(uint32_t status) {
    switch (status) {
    case NVME_OK:
    case NVME_ABORTED:
    case NVME_SQ_DELETED:
        return status;
    case NVME_DATA_TRANSFER:
    case NVME_INTERNAL:
    case NVME_NS_NOT_READY:
    case NVME_FORMAT_IN_PROGRESS:
    case NVME_SANITIZE_IN_PROGRESS:
    case NVME_AER_LIMIT:
    case NVME_VENDOR(NVME_VENDOR_STATUS_NO_RESOURCES):
        return status | NVME_MORE;
    default:
        return status | NVME_MORE | NVME_DNR;
    }
}

void nvme_refuse(struct nvme_cmd *cmd, uint32_t status, uint32_t dword) {
    cmd->location = (uint16_t)(dword * 4);
    nvme_complete(cmd, status);
}

void nvme_complete(struct nvme_cmd *cmd, uint32_t status) {
    nvme_unmap(cmd);
    if ((++nvme_counters.commands & 0xffffu) == 0) {
        nand_health_count();
        health_look();
    }
    if (status != NVME_OK) {
        cmd->status = (uint16_t)status;
        if (!cmd->op.abandoned && logged(status)) {
            log_error(cmd, status);
        }
    }
    list_put(&posting, &cmd->op.node);
    nvme_post();
}

void nvme_post(void) {
    while (!list_empty(&posting)) {
        struct nvme_cmd *cmd = nvme_cmd_of(posting.first);
        if (!cmd->op.abandoned) {
            if (post_space == 0) {
                post_space = nvme_read(NVME_CQE_SPACE);
                if (post_space == 0) {
                    work_set(WORK_POST);
                    return;
                }
            }
            post_space--;
            if (cmd->op.result[0] != post_dw0) {
                post_dw0 = cmd->op.result[0];
                nvme_write(NVME_CQE_DW0, post_dw0);
            }
            if (cmd->op.result[1] != post_dw1) {
                post_dw1 = cmd->op.result[1];
                nvme_write(NVME_CQE_DW1, post_dw1);
            }
            nvme_write(NVME_CQE_ID, PLACE(NVME_CQE_ID, CID, cmd_id(cmd)) | PLACE(NVME_CQE_ID, SQID, cmd->op.owner));
            nvme_write(NVME_CQE_PUSH, status_field(cmd->status));
        }
        list_take(&posting);
        cmd_release(cmd);
    }
    work_clear(WORK_POST);
}

/* ---- PRPs ---- */

/** The PRPs cannot be known, or the command is aborted before they are. */
static void map_failed(struct nvme_cmd *cmd, uint32_t status) {
    if (cmd->unmapped != NULL) {
        cmd->status = (uint16_t)status;
        cmd->unmapped(cmd);
    } else {
        nvme_complete(cmd, status);
    }
}

static void list_fetched(struct dma_job *job) {
    struct nvme_cmd *cmd = job->arg;
    if (cmd->op.abandoned || job->error) {
        map_failed(cmd, NVME_DATA_TRANSFER);
        return;
    }
    /* `fetched` counts what this fetch brings too; a pointer to the next list page comes last when more is wanted. */
    if (cmd->fetched < cmd->wanted) {
        cmd->fetched--;
        uint64_t next = cmd->host.list[cmd->fetched];
        if ((next & (DMA_PAGE - 1)) != 0) {
            map_failed(cmd, NVME_PRP_OFFSET);
            return;
        }
        job->host = next;
        list_fetch(cmd);
        return;
    }
    for (uint32_t i = 0; i < cmd->wanted; i++) {
        if ((cmd->host.list[i] & (DMA_PAGE - 1)) != 0) {
            map_failed(cmd, NVME_PRP_OFFSET);
            return;
        }
    }
    cmd->ready(cmd);
}

/** Fetch the next entries of the list at cmd->job.host. */
static void list_fetch(struct nvme_cmd *cmd) {
    if (!cmd->list_taken) {
        cmd->host.list = list_free[--list_count];
        cmd->list_taken = true;
    }
    uint32_t in_page = (DMA_PAGE - (uint32_t)(cmd->job.host & (DMA_PAGE - 1))) / 8;
    uint32_t need = cmd->wanted - cmd->fetched;
    uint32_t n = need < in_page ? need : in_page;
    cmd->job.pages = NULL;
    cmd->job.dev = hal_dma_addr(&cmd->host.list[cmd->fetched]);
    cmd->job.left = n * 8;
    cmd->job.to_host = false;
    cmd->job.done = list_fetched;
    cmd->job.arg = cmd;
    cmd->fetched = (uint8_t)(cmd->fetched + n);
    dma_submit(&cmd->job);
}

void nvme_map(struct nvme_cmd *cmd, uint32_t bytes, nvme_cmd_fn ready) {
    uint64_t prp1 = cmd->sqe[6] | (uint64_t)cmd->sqe[7] << 32;
    uint64_t prp2 = cmd->sqe[8] | (uint64_t)cmd->sqe[9] << 32;
    cmd->ready = ready;
    if ((prp1 & 3) != 0) {
        map_failed(cmd, NVME_PRP_OFFSET);
        return;
    }
    cmd->host.first = prp1;
    cmd->host.first_bytes = DMA_PAGE - (uint32_t)(prp1 & (DMA_PAGE - 1));
    cmd->host.second = prp2;
    if (bytes <= cmd->host.first_bytes) {
        ready(cmd);
        return;
    }
    uint32_t more = (bytes - cmd->host.first_bytes + DMA_PAGE - 1) / DMA_PAGE;
    if ((prp2 & (more == 1 ? DMA_PAGE - 1 : 7)) != 0) {
        map_failed(cmd, NVME_PRP_OFFSET);
        return;
    }
    if (more == 1) {
        ready(cmd);
        return;
    }
    cmd->fetched = 0;
    cmd->wanted = (uint8_t)more;
    cmd->job.host = prp2;
    if (list_count > 0 && csd_list_take(&cmd->op)) {
        list_fetch(cmd);
        return;
    }
    list_put(&unlisted, &cmd->op.node);
}

void nvme_unmap(struct nvme_cmd *cmd) {
    if (cmd->list_taken) {
        list_release(cmd);
    }
}

void nvme_transfer(struct nvme_cmd *cmd, uint32_t dev, uint32_t bytes, bool to_host, dma_done_fn done) {
    cmd->job = (struct dma_job){
        .pages = &cmd->host, .off = 0, .dev = dev, .left = bytes, .to_host = to_host, .done = done, .arg = cmd};
    dma_submit(&cmd->job);
}

bool nvme_abort_waiter(struct nvme_cmd *cmd) {
    bool found = list_remove(&unlisted, &cmd->op.node);
    if (found) {
        map_failed(cmd, NVME_ABORTED);
    }
    return found;
}

void nvme_orphan(uint32_t sqid) {
    for (uint32_t i = 0; i < NVME_COMMANDS; i++) {
        if (commands[i].used && (sqid == NVME_QUEUES || commands[i].op.owner == sqid)) {
            commands[i].op.abandoned = true;
        }
    }
    if (sqid == NVME_QUEUES) {
        struct list all = list_take_all(&unlisted);
        while (!list_empty(&all)) {
            map_failed(nvme_cmd_of(list_take(&all)), NVME_ABORTED);
        }
    }
}
