/* SPDX-License-Identifier: BSD-3-Clause */
/* Controller registers: enable, reset, shutdown, queues in hardware. */
#include <string.h>

#include "nvme/nvme.h"
#include "platform/console.h"
#include "platform/work.h"

enum controller_state controller;
bool controller_all_sets;
struct nvme_queues queues;

#define CC_EN        0x1u
#define CC_SHN(cc)   (((cc) >> 14) & 3u)
#define CC_CSS(cc)   (((cc) >> 4) & 7u)
#define CC_MPS(cc)   (((cc) >> 7) & 15u)
#define CC_AMS(cc)   (((cc) >> 11) & 7u)
#define CSTS_RDY     0x1u
#define CSTS_CFS     0x2u
#define CSTS_SHST(x) ((uint32_t)(x) << 2)
#define CAP_LO       (NVME_MQES | 1u << 16) /* CQR; TO is added */
/* NSSRS; CSS: NVM command set, all command sets; DSTRD 0; MPSMIN = MPSMAX = 4 KiB */
#define CAP_HI (1u << 4 | 1u << 5 | 1u << 11)
/** Most that CAP.TO can say, half seconds. */
#define TIMEOUT_MOST 255u
/** Least that hosts are told to wait for a mount or a shutdown: the clock of a simulated drive runs slower than theirs.
 */
#define PATIENCE_MS   60000u
#define CSS_NVM       0u
#define CSS_ALL       6u
#define ERROR_LOG     1u
#define INFO_DB_REG   0u
#define INFO_DB_VALUE 1u
/** Invalid Field: what a bad doorbell has in the error log. */
#define DOORBELL_STATUS NVME_INVALID_FIELD

/** Shutdown: commands come to their ends, then a checkpoint is written, then it is reported done. */
static enum { SHUT_NONE, SHUT_DRAINING, SHUT_SAVING, SHUT_DONE } shutdown_state;
static struct ftl_drain shutdown_drain;
static struct ftl_checkpoint shutdown_checkpoint;
/** The checkpoint is under way, also when the host has no use for the answer any more. */
static bool saving;

/** A session lasts: the host has enabled the controller and not disabled it. */
static bool controller_up(void) {
    return controller == CTRL_READY || controller == CTRL_FATAL || controller == CTRL_SHUTDOWN;
}

static void csts_update(void) {
    uint32_t v = controller_up() ? CSTS_RDY : 0;
    v |= controller == CTRL_FATAL ? CSTS_CFS : 0;
    v |= CSTS_SHST(shutdown_state == SHUT_DONE ? 2 : shutdown_state != SHUT_NONE ? 1 : 0);
    nvme_write(NVME_CSTS, v);
}

void queue_sq_delete(uint32_t qid) {
    nvme_write(NVME_QSEL, qid);
    nvme_write(NVME_SQ_CFG, 0);
    queues.sq[qid] = false;
}

void queue_cq_delete(uint32_t qid) {
    nvme_write(NVME_QSEL, qid);
    nvme_write(NVME_CQ_CFG, 0);
    queues.cq[qid] = false;
}

static void enable(uint32_t cc) {
    uint32_t aqa = nvme_read(NVME_AQA);
    uint32_t asq = nvme_read(NVME_ASQ_LO);
    uint32_t acq = nvme_read(NVME_ACQ_LO);
    uint32_t sq_size = aqa & 0xfffu;
    uint32_t cq_size = aqa >> 16 & 0xfffu;
    if ((CC_CSS(cc) != CSS_NVM && CC_CSS(cc) != CSS_ALL) || CC_MPS(cc) != 0 || CC_AMS(cc) != 0 || sq_size == 0 ||
        cq_size == 0 || sq_size > NVME_MQES || cq_size > NVME_MQES || ((asq | acq) & (DMA_PAGE - 1)) != 0) {
        console_printf("nvme: cannot enable: CC %08x AQA %08x ASQ %08x ACQ %08x; 4 KiB pages, NVM or all command sets "
                       "and up to %u "
                       "entries are supported\n",
                       cc, aqa, asq, acq, NVME_MQES + 1);
        nvme_write(NVME_CSTS, CSTS_CFS);
        return;
    }
    /* A bus reset may have cleared the DMA engine's Run bits. */
    dma_start();
    memset(&queues, 0, sizeof queues);
    controller_all_sets = CC_CSS(cc) == CSS_ALL;
    features_init();
    health_enable();
    nvme_write(NVME_QSEL, 0);
    nvme_write(NVME_CQ_BASE_LO, acq);
    nvme_write(NVME_CQ_BASE_HI, nvme_read(NVME_ACQ_HI));
    nvme_write(NVME_CQ_CFG, PLACE(NVME_CQ_CFG, SIZE, cq_size) | PLACE(NVME_CQ_CFG, VECTOR, 0) |
                                PLACE(NVME_CQ_CFG, IEN, 1) | PLACE(NVME_CQ_CFG, EN, 1));
    nvme_write(NVME_SQ_BASE_LO, asq);
    nvme_write(NVME_SQ_BASE_HI, nvme_read(NVME_ASQ_HI));
    nvme_write(NVME_SQ_CFG,
               PLACE(NVME_SQ_CFG, SIZE, sq_size) | PLACE(NVME_SQ_CFG, CQID, 0) | PLACE(NVME_SQ_CFG, EN, 1));
    queues.sq[0] = true;
    queues.cq[0] = true;
    shutdown_state = SHUT_NONE;
    controller = CTRL_READY;
    csts_update();
    sanitize_go_on();
    test_go_on();
}

/** Start a reset: nothing new begins, nothing old is reported. controller_poll finishes it. */
static void reset_start(void) {
    controller = CTRL_RESETTING;
    work_set(WORK_SESSION);
    for (uint32_t q = NVME_QUEUES; q-- > 0;) {
        queue_sq_delete(q);
        queue_cq_delete(q);
    }
    memset(&queues, 0, sizeof queues);
    csts_update();
    /* Transfers under way have to end, also when a bus reset has cleared the DMA engine's Run bits. */
    dma_start();
    nvme_orphan(NVME_QUEUES);
    admin_orphan();
    test_reset();
    csd_reset();
    program_reset();
    io_orphan();
    ranges_drop(NULL);
    compare_drop(NULL);
    memory_drop(NULL);
    dma_cancel();
    nvme_post();
}

static void shutdown_done(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    console_printf("nvme: shut down%s\n", status == FTL_OK ? "" : "; checkpoint failed");
    saving = false;
    if (shutdown_state == SHUT_SAVING) {
        shutdown_state = SHUT_DONE;
        csts_update();
    }
}

/** Nothing moves data to or from the host, and no command that waits will: only requests for events may wait. */
static bool quiet(void) {
    return nvme_in_use(NVME_QUEUES) == event_waiting() && csd_idle();
}

/** The host asks for a shutdown: commands under way end, offloads are stopped, no command is taken any more. */
static void shutdown_start(void) {
    shutdown_state = SHUT_DRAINING;
    format_stop();
    work_set(WORK_SESSION);
    csts_update();
    if (controller == CTRL_READY) {
        controller = CTRL_SHUTDOWN;
        csd_reset();
    }
    controller_poll();
}

static void shutdown_drained(struct ftl_drain *d, enum ftl_status status) {
    (void)d;
    if (status != FTL_OK) {
        console_printf("nvme: shutdown: the write cache could not be written out\n");
        ftl_cache_lost();
    }
    shutdown_checkpoint.clean = true;
    shutdown_checkpoint.x.done = shutdown_done;
    ftl_checkpoint(&shutdown_checkpoint);
}

static void shutdown_poll(void) {
    if (shutdown_state != SHUT_DRAINING || saving || !quiet()) {
        return;
    }
    shutdown_state = SHUT_SAVING;
    saving = true;
    if (ftl.lbas == 0) {
        shutdown_done(&shutdown_checkpoint.x, FTL_OK);
        return;
    }
    health_shutdown();
    sanitize_pause();
    shutdown_drain.done = shutdown_drained;
    ftl_drain(&shutdown_drain);
}

/** Memory that the controller itself needs cannot be reached: CSTS.CFS. */
static void controller_fatal(void) {
    if (controller != CTRL_READY) {
        return;
    }
    console_printf("nvme: queue memory cannot be read or written: fatal until the next reset\n");
    controller = CTRL_FATAL;
    csts_update();
}

static bool session_waits(void) {
    return controller == CTRL_RESETTING || shutdown_state == SHUT_DRAINING;
}

static void reset_poll(void) {
    if (controller != CTRL_RESETTING || !quiet()) {
        return;
    }
    /* Every transfer belongs to a command, and none is left. */
    nvme_write(NVME_RESET_DONE, 1);
    controller = CTRL_DISABLED;
    if (shutdown_state == SHUT_DONE) {
        shutdown_state = SHUT_NONE;
    }
    csts_update();
    uint32_t cc = nvme_read(NVME_CC);
    if (cc & CC_EN) {
        enable(cc);
    }
}

void controller_poll(void) {
    bool deletions = admin_poll();
    bool sanitize = sanitize_poll();
    shutdown_poll();
    reset_poll();
    work_put(WORK_SESSION, deletions || sanitize || session_waits());
}

static void cc_changed(void) {
    uint32_t cc = nvme_read(NVME_CC);
    /* RDY reads 0 although the controller was ready: the host cleared EN, perhaps set it again already. */
    bool up = controller_up();
    bool was_cleared = up && (nvme_read(NVME_CSTS) & CSTS_RDY) == 0;
    if (up && (was_cleared || !(cc & CC_EN))) {
        reset_start();
    } else if (controller == CTRL_DISABLED && (cc & CC_EN)) {
        enable(cc);
    } else if (controller == CTRL_DISABLED) {
        csts_update();
    }
    if (CC_SHN(cc) != 0 && shutdown_state == SHUT_NONE) {
        shutdown_start();
    }
}

void controller_event(void) {
    uint32_t event = nvme_read(NVME_EVENT);
    nvme_write(NVME_EVENT, event);
    if (FIELD(NVME_EVENT, BAD_DOORBELL, event) && controller == CTRL_READY) {
        /* Doorbells come in pairs; an absent queue is a bad register, else the value was out of range. */
        uint32_t bad = nvme_read(NVME_BAD_DB);
        uint32_t qid = (bad & 0xffffu) >> 1;
        bool exists = qid < NVME_QUEUES && ((bad & 1) ? queues.cq[qid] : queues.sq[qid]);
        log_error(NULL, DOORBELL_STATUS);
        event_report(EVENT_ERROR, exists ? INFO_DB_VALUE : INFO_DB_REG, ERROR_LOG);
    }
    if (FIELD(NVME_EVENT, CC, event) || FIELD(NVME_EVENT, NSSR, event)) {
        cc_changed();
    }
}

uint32_t controller_patience(uint32_t ms) {
    return ms > PATIENCE_MS ? ms : PATIENCE_MS;
}

void controller_announce(void) {
    nvme_write(NVME_CAP_LO, CAP_LO | TIMEOUT_MOST << 24);
    nvme_write(NVME_CAP_HI, CAP_HI);
}

void controller_init(void) {
    controller = CTRL_DISABLED;
    controller_all_sets = false;
    shutdown_state = SHUT_NONE;
    saving = false;
    memset(&queues, 0, sizeof queues);
    dma_queue_failed = controller_fatal;
    /* TO: the longest mount, half seconds. */
    uint32_t timeout = (controller_patience(ftl_bounds.mount_ms) + 499) / 500;
    nvme_write(NVME_CAP_LO, CAP_LO | (timeout < TIMEOUT_MOST ? timeout : TIMEOUT_MOST) << 24);
    csts_update();
    /* The host may have enabled the controller while the firmware booted. The event has to be taken too: until then RDY
     * stays 0. */
    controller_event();
}
