#include <string.h>

#include "nvme/nvme.h"
#include "stream/scomp.h"

#define LISTS 64u

struct nvme_counters nvme_counters;

static struct nvme_cmd commands[NVME_COMMANDS];
static struct nvme_cmd *cmd_free;
static uint32_t in_use[NVME_QUEUES];
static uint32_t in_use_all;
struct nvme_cmd *nvme_posting;
bool nvme_fetch_blocked;
static struct nvme_cmd *post_tail;

/* PRP lists; one entry more than a transfer needs, for the pointer to the next list page. */
static uint64_t lists[LISTS][PRP_LIST_ENTRIES + 1];
static uint64_t *list_free[LISTS];
static uint32_t list_count;
static struct nvme_cmd *list_wait_head, *list_wait_tail;

static void list_fetch(struct nvme_cmd *cmd);

void nvme_commands_init(void) {
    cmd_free = NULL;
    for (uint32_t i = NVME_COMMANDS; i-- > 0;) {
        commands[i].used = false;
        commands[i].next = cmd_free;
        cmd_free = &commands[i];
    }
    list_count = 0;
    for (uint32_t i = 0; i < LISTS; i++) {
        list_free[list_count++] = lists[i];
    }
    list_wait_head = list_wait_tail = NULL;
    nvme_fetch_blocked = false;
    nvme_posting = post_tail = NULL;
    memset(in_use, 0, sizeof in_use);
    in_use_all = 0;
}

uint32_t nvme_in_use(uint32_t sqid) {
    return sqid == NVME_QUEUES ? in_use_all : in_use[sqid];
}

struct nvme_cmd *nvme_find(uint32_t sqid, uint32_t cid) {
    for (uint32_t i = 0; i < NVME_COMMANDS; i++) {
        if (commands[i].used && commands[i].sqid == sqid && cmd_id(&commands[i]) == cid) {
            return &commands[i];
        }
    }
    return NULL;
}

static void cmd_release(struct nvme_cmd *cmd) {
    cmd->used = false;
    in_use[cmd->sqid]--;
    in_use_all--;
    cmd->next = cmd_free;
    cmd_free = cmd;
}

static void list_release(struct nvme_cmd *cmd) {
    if (!cmd->list_held) {
        return;
    }
    cmd->list_held = false;
    list_free[list_count++] = cmd->prp.list;
    cmd->prp.list = NULL;
    struct nvme_cmd *waiter = list_wait_head;
    if (waiter != NULL) {
        list_wait_head = waiter->next;
        list_fetch(waiter);
    }
}

void nvme_fetch(void) {
    nvme_fetch_blocked = false;
    for (;;) {
        uint32_t s = nvme_read(NVME_SQE_STATUS);
        if (!FIELD(NVME_SQE_STATUS, VALID, s)) {
            return;
        }
        uint32_t sqid = FIELD(NVME_SQE_STATUS, SQID, s);
        if (controller != CTRL_READY || sqid >= NVME_QUEUES || !queues.sq[sqid]) {
            nvme_write(NVME_SQE_POP, 1);
            continue;
        }
        if (cmd_free == NULL || (sqid == 0 && !admin_ready())) {
            nvme_fetch_blocked = true;
            return;
        }
        struct nvme_cmd *cmd = cmd_free;
        cmd_free = cmd->next;
        for (uint32_t i = 0; i < 16; i++) {
            cmd->sqe[i] = nvme_read(NVME_SQE + i * 4);
        }
        nvme_write(NVME_SQE_POP, 1);
        cmd->sqid = (uint8_t)sqid;
        cmd->used = true;
        cmd->orphan = false;
        cmd->list_held = false;
        cmd->status = NVME_OK;
        cmd->dw0 = 0;
        cmd->prp.list = NULL;
        cmd->slot = NULL;
        cmd->context = NULL;
        cmd->unmapped = NULL;
        in_use[sqid]++;
        in_use_all++;
        /* Fused operations and SGLs are not offered. */
        if ((cmd->sqe[0] & 0xc300u) != 0) {
            nvme_complete(cmd, NVME_INVALID_FIELD);
        } else if (sqid == 0) {
            admin_command(cmd);
        } else {
            io_command(cmd);
        }
    }
}

void nvme_complete(struct nvme_cmd *cmd, uint32_t status) {
    list_release(cmd);
    nvme_counters.commands++;
    if (status != NVME_OK) {
        cmd->status = (uint16_t)status;
        if (!cmd->orphan) {
            log_error(cmd, status);
        }
    }
    cmd->next = NULL;
    if (nvme_posting == NULL) {
        nvme_posting = cmd;
    } else {
        post_tail->next = cmd;
    }
    post_tail = cmd;
    nvme_post();
}

/** Status as the completion carries it. */
static uint32_t status_field(uint32_t status) {
    switch (status) {
    case NVME_OK:
        return 0;
    case NVME_DATA_TRANSFER:
    case NVME_INTERNAL:
    case NVME_ABORTED:
    case NVME_SQ_DELETED:
    case NVME_NS_NOT_READY:
    case NVME_AER_LIMIT:
    case 0x100 | NVME_VENDOR_STATUS_NO_RESOURCES:
        return status;
    default:
        return status | NVME_DNR;
    }
}

bool nvme_post(void) {
    while (nvme_posting != NULL) {
        struct nvme_cmd *cmd = nvme_posting;
        if (!cmd->orphan) {
            if (nvme_read(NVME_CQE_SPACE) == 0) {
                return true;
            }
            nvme_write(NVME_CQE_DW0, cmd->dw0);
            nvme_write(NVME_CQE_DW1, 0);
            nvme_write(NVME_CQE_ID, PLACE(NVME_CQE_ID, CID, cmd_id(cmd)) | PLACE(NVME_CQE_ID, SQID, cmd->sqid));
            nvme_write(NVME_CQE_PUSH, status_field(cmd->status));
        }
        nvme_posting = cmd->next;
        cmd_release(cmd);
    }
    return false;
}

/* ---- PRPs ---- */

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
    if (cmd->orphan || job->error) {
        map_failed(cmd, NVME_DATA_TRANSFER);
        return;
    }
    /* `fetched` counts what this fetch brings too; a pointer to the next list page comes last when more is wanted. */
    if (cmd->fetched < cmd->wanted) {
        cmd->fetched--;
        uint64_t next = cmd->prp.list[cmd->fetched];
        if ((next & (PRP_PAGE - 1)) != 0) {
            map_failed(cmd, NVME_PRP_OFFSET);
            return;
        }
        job->host = next;
        list_fetch(cmd);
        return;
    }
    for (uint32_t i = 0; i < cmd->wanted; i++) {
        if ((cmd->prp.list[i] & (PRP_PAGE - 1)) != 0) {
            map_failed(cmd, NVME_PRP_OFFSET);
            return;
        }
    }
    cmd->ready(cmd);
}

/** Fetch the next entries of the list at cmd->job.host. */
static void list_fetch(struct nvme_cmd *cmd) {
    if (!cmd->list_held) {
        cmd->prp.list = list_free[--list_count];
        cmd->list_held = true;
    }
    uint32_t in_page = (PRP_PAGE - (uint32_t)(cmd->job.host & (PRP_PAGE - 1))) / 8;
    uint32_t need = cmd->wanted - cmd->fetched;
    uint32_t n = need < in_page ? need : in_page;
    cmd->job.prp = NULL;
    cmd->job.dev = hal_dma_addr(&cmd->prp.list[cmd->fetched]);
    cmd->job.left = n * 8;
    cmd->job.to_host = false;
    cmd->job.done = list_fetched;
    cmd->job.arg = cmd;
    cmd->fetched += n;
    hdma_submit(&cmd->job);
}

void nvme_map(struct nvme_cmd *cmd, uint32_t bytes, nvme_cmd_fn ready) {
    uint64_t prp1 = cmd->sqe[6] | (uint64_t)cmd->sqe[7] << 32;
    uint64_t prp2 = cmd->sqe[8] | (uint64_t)cmd->sqe[9] << 32;
    cmd->ready = ready;
    if ((prp1 & 3) != 0) {
        map_failed(cmd, NVME_PRP_OFFSET);
        return;
    }
    cmd->prp.first = prp1;
    cmd->prp.first_bytes = PRP_PAGE - (uint32_t)(prp1 & (PRP_PAGE - 1));
    cmd->prp.second = prp2;
    if (bytes <= cmd->prp.first_bytes) {
        ready(cmd);
        return;
    }
    uint32_t more = (bytes - cmd->prp.first_bytes + PRP_PAGE - 1) / PRP_PAGE;
    if ((prp2 & (more == 1 ? PRP_PAGE - 1 : 7)) != 0) {
        map_failed(cmd, NVME_PRP_OFFSET);
        return;
    }
    if (more == 1) {
        ready(cmd);
        return;
    }
    cmd->fetched = 0;
    cmd->wanted = more;
    cmd->job.host = prp2;
    if (list_count > 0) {
        list_fetch(cmd);
        return;
    }
    cmd->next = NULL;
    if (list_wait_head == NULL) {
        list_wait_head = cmd;
    } else {
        list_wait_tail->next = cmd;
    }
    list_wait_tail = cmd;
}

void nvme_transfer(struct nvme_cmd *cmd, uint32_t dev, uint32_t bytes, bool to_host, dma_done_fn done) {
    cmd->job = (struct dma_job){
        .prp = &cmd->prp, .off = 0, .dev = dev, .left = bytes, .to_host = to_host, .done = done, .arg = cmd};
    hdma_submit(&cmd->job);
}

void nvme_orphan(uint32_t sqid) {
    for (uint32_t i = 0; i < NVME_COMMANDS; i++) {
        if (commands[i].used && (sqid == NVME_QUEUES || commands[i].sqid == sqid)) {
            commands[i].orphan = true;
        }
    }
    if (sqid == NVME_QUEUES) {
        struct nvme_cmd *cmd = list_wait_head;
        list_wait_head = NULL;
        while (cmd != NULL) {
            struct nvme_cmd *next = cmd->next;
            map_failed(cmd, NVME_ABORTED);
            cmd = next;
        }
    }
}
