// SPDX-License-Identifier: BSD-3-Clause
/*
 * Sanitize: a block erase of everything that may hold user data, in the background. That it is under way is on the
 * medium before the command ends and until it has ended itself, so that it goes on after a loss of power.
 */
#include <string.h>

#include "ftl/parity.h"
#include "nvme/nvme.h"
#include "platform/fill.h"
#include "platform/work.h"

enum { ACTION_EXIT_FAILURE = 1, ACTION_BLOCK_ERASE = 2 };
#define DW10_ACTION       7u
#define DW10_UNRESTRICTED 0x8u   /**< AUSE: after a failure the host may have the drive as it is */
#define DW10_NO_DEALLOC   0x200u /**< NDAS */
#define STATUS_ERASED     0x100u /**< GDE */
#define INFO_COMPLETED    1u
#define SANITIZE_LOG      0x81u
#define NO_TIME           0xffffffffu

/** As the status log has them, and FAILED once the host has accepted it. */
enum { SANITIZE_NEVER = 0, SANITIZE_DONE = 1, SANITIZE_RUNNING = 2, SANITIZE_FAILED = 3, SANITIZE_ACCEPTED = 4 };

/** What the medium keeps. */
struct sanitize_saved {
    uint32_t state;
    uint32_t dw10;
    uint32_t erased; /**< nothing was written since */
    uint32_t failures;
};
_Static_assert(SAVED_SANITIZE + sizeof(struct sanitize_saved) <= SAVED_TESTS, "state kept by the FTL");

static struct sanitize_saved saved, before;
static uint32_t erased_seq; /**< ftl.seq when everything was erased */
static enum { IDLE, STARTING, STOPPING, WAITING, WIPING, ERASING, ENDING } phase;
/** NULL: the host has reset the controller since. */
static struct nvme_cmd *command;
static bool paused;
static struct ftl_checkpoint record;
static struct ftl_drain drain;
static struct ftl_trim trim;

/** What the state means for commands. */
static uint32_t barred(void) {
    return saved.state == SANITIZE_RUNNING  ? NVME_SANITIZE_IN_PROGRESS
           : saved.state == SANITIZE_FAILED ? NVME_SANITIZE_FAILED
                                            : NVME_OK;
}

static bool still_erased(void) {
    return saved.erased != 0 && ftl.seq == erased_seq;
}

void sanitize_keep(void) {
    saved.erased = still_erased();
    memcpy(&ftl_owner_data[SAVED_SANITIZE / 4], &saved, sizeof saved);
}

/** Put the state on the medium, then run `done`. */
static void store(void (*done)(struct ftl_exclusive *x, enum ftl_status status)) {
    ftl.owner_changed = true;
    record = (struct ftl_checkpoint){.clean = ftl.clean, .x.done = done};
    ftl_checkpoint(&record);
}

static void go(void) {
    phase = STOPPING;
    work_set(WORK_SESSION);
}

static void started(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    struct nvme_cmd *cmd = command;
    command = NULL;
    if (status == FTL_OK) {
        go();
    } else {
        saved = before;
        blocks_barred = barred();
        phase = IDLE;
    }
    if (cmd != NULL) {
        nvme_complete(cmd, status == FTL_OK ? NVME_OK : NVME_INTERNAL);
    }
}

static void ended(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    if (status != FTL_OK) {
        saved.state = SANITIZE_FAILED;
        saved.erased = 0;
    }
    phase = IDLE;
    blocks_barred = barred();
    event_report(EVENT_IO, INFO_COMPLETED, SANITIZE_LOG);
}

static void erased(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    if (paused && status != FTL_OK) {
        phase = IDLE;
        return;
    }
    /* What collection was moving. */
    dram_zero(DRAM_COPIES, DRAM_COPIES_SIZE);
    saved.state = status == FTL_OK ? SANITIZE_DONE : SANITIZE_FAILED;
    saved.erased = status == FTL_OK;
    saved.failures = ftl_erase_failures();
    erased_seq = ftl.seq;
    if (paused) {
        /* The checkpoint of the shutdown takes it along, and nothing may follow that. */
        ended(NULL, FTL_OK);
    } else {
        phase = ENDING;
        store(ended);
    }
}

static void prepare(struct ftl_trim *t) {
    t->count = 1;
    hal_write(DRAM_TRIM + 8, 0);
    hal_write(DRAM_TRIM + 12, ftl.lbas);
}

/** What was in the write cache is on the medium, or never will be: either way it is to be forgotten. */
static void drained(struct ftl_drain *d, enum ftl_status status) {
    (void)d;
    (void)status;
    if (paused) {
        phase = IDLE;
        return;
    }
    memset(&trim, 0, sizeof trim);
    trim.prepare = prepare;
    trim.erase = true;
    trim.x.done = erased;
    ftl_trim(&trim);
}

/** Local memory is wiped: now what else is in DRAM, then the medium. */
static void wiped(void) {
    if (paused) {
        phase = IDLE;
        return;
    }
    phase = ERASING;
    buffer_wipe();
    rebuild_wipe();
    dram_zero(DRAM_RECALL, DRAM_MARKS - DRAM_RECALL);
    dram_zero(DRAM_RESCUE, DRAM_ZERO_SIZE);
    dram_zero(DRAM_DROP, PAGE_SIZE);
    drain.done = drained;
    ftl_drain(&drain);
}

bool sanitize_poll(void) {
    if (phase == STOPPING) {
        phase = WAITING;
        event_forget(EVENT_IO);
        test_stop(TEST_SANITIZE);
        csd_reset();
        program_reset();
    }
    if (phase != WAITING || paused) {
        return false;
    }
    if (nvme_in_use(NVME_QUEUES) > nvme_in_use(0) || !csd_idle()) {
        return true;
    }
    phase = WIPING;
    memory_wipe(wiped);
    return false;
}

void sanitize_pause(void) {
    paused = true;
    if (phase == ERASING) {
        ftl_erase_stop();
    }
}

void sanitize_go_on(void) {
    paused = false;
    if (saved.state == SANITIZE_RUNNING && (phase == IDLE || phase == WAITING)) {
        go();
    }
}

void sanitize_orphan(void) {
    if (command != NULL) {
        struct nvme_cmd *cmd = command;
        command = NULL;
        nvme_complete(cmd, NVME_ABORTED);
    }
}

uint32_t sanitize_check(uint8_t opcode, uint32_t dw10) {
    if (blocks_barred != NVME_SANITIZE_IN_PROGRESS && blocks_barred != NVME_SANITIZE_FAILED) {
        return NVME_OK;
    }
    /* Queues, Identify, Abort, features, requests for events, Sanitize; of the log pages those that tell no more than
     * the state of the drive. */
    static const uint8_t allowed[] = {0x00, 0x01, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x84};
    static const uint8_t logs[] = {0x01, 0x02, 0x04, 0x05, SANITIZE_LOG, SCOMP_LOG_PERF, SCOMP_LOG_STAGES};
    bool log = opcode == 0x02;
    const uint8_t *list = log ? logs : allowed;
    uint32_t n = log ? sizeof logs : sizeof allowed;
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == (log ? (dw10 & 0xffu) : opcode)) {
            return NVME_OK;
        }
    }
    return blocks_barred;
}

static void exit_failure(struct nvme_cmd *cmd) {
    if (saved.state == SANITIZE_FAILED && (saved.dw10 & DW10_UNRESTRICTED) == 0) {
        nvme_complete(cmd, NVME_SANITIZE_FAILED);
        return;
    }
    if (saved.state == SANITIZE_FAILED) {
        saved.state = SANITIZE_ACCEPTED;
        blocks_barred = barred();
        store(NULL);
    }
    nvme_complete(cmd, NVME_OK);
}

void sanitize_command(struct nvme_cmd *cmd) {
    uint32_t v = cmd->sqe[10];
    uint32_t action = v & DW10_ACTION;
    if (blocks_barred == NVME_SANITIZE_IN_PROGRESS || blocks_barred == NVME_FORMAT_IN_PROGRESS) {
        nvme_complete(cmd, blocks_barred);
    } else if (action == ACTION_EXIT_FAILURE) {
        exit_failure(cmd);
    } else if (action != ACTION_BLOCK_ERASE || (v & DW10_NO_DEALLOC) != 0) {
        /* SANICAP offers no other kind, and that blocks are always deallocated. */
        nvme_refuse(cmd, NVME_INVALID_FIELD, 10);
    } else if (saved.state == SANITIZE_FAILED && (saved.dw10 & DW10_UNRESTRICTED) == 0 &&
               (v & DW10_UNRESTRICTED) != 0) {
        nvme_complete(cmd, NVME_SANITIZE_FAILED);
    } else if (ftl.lbas == 0 || record.x.queued) {
        nvme_complete(cmd, NVME_NS_NOT_READY);
    } else {
        before = saved;
        saved = (struct sanitize_saved){.state = SANITIZE_RUNNING, .dw10 = v};
        command = cmd;
        phase = STARTING;
        blocks_barred = barred();
        store(started);
    }
}

void sanitize_init(void) {
    memcpy(&saved, &ftl_owner_data[SAVED_SANITIZE / 4], sizeof saved);
    memset(&record, 0, sizeof record);
    command = NULL;
    phase = IDLE;
    paused = false;
    erased_seq = ftl.seq;
    saved.erased = saved.erased != 0 && ftl.replayed == 0;
    blocks_barred = barred();
    if (saved.state == SANITIZE_RUNNING) {
        go();
    }
}

/** Seconds that an erase of everything takes at most. */
static uint32_t erase_seconds(void) {
    uint32_t ways = nand_geo.channels * nand_geo.ways;
    uint64_t rounds = (uint64_t)sb.count * nand_geo.luns * nand_geo.planes * ((ways + 95) / 96);
    return (uint32_t)(rounds * nand_geo.erase_us / 1000000u + 2);
}

void sanitize_log(void) {
    static const uint8_t states[] = {0, 1, 2, 3, 3};
    /* It has ended when the medium says so. */
    bool ending = phase == ENDING;
    bool begun = ending || phase == ERASING;
    bool running = ending || saved.state == SANITIZE_RUNNING;
    /* A host may take 65,535 for the end of the operation. */
    uint32_t progress = begun ? ftl_erase_progress() : 0;
    put16(0, !running ? 0xffff : progress < 0xfffe ? progress : 0xfffe);
    put16(2, ending ? SANITIZE_RUNNING : states[saved.state] | (still_erased() ? STATUS_ERASED : 0));
    put32(4, saved.dw10);
    put32(8, NO_TIME); /* overwrite */
    put32(12, erase_seconds());
    put32(16, NO_TIME); /* cryptographic erase */
    put32(20, NO_TIME); /* each of them without deallocation */
    put32(24, NO_TIME);
    put32(28, NO_TIME);
}
