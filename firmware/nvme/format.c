/* SPDX-License-Identifier: BSD-3-Clause */
/* Format NVM: every block of the drive's namespace is deallocated, durably; with a user data erase the medium is erased
 * too before the command completes. */
#include <string.h>

#include "nvme/nvme.h"
#include "platform/console.h"

#define SES_NONE      0u
#define SES_USER_DATA 1u

uint32_t blocks_barred;

/** NULL: the host has reset the controller since. */
static struct nvme_cmd *command;
/** A shutdown does not wait until everything is erased. */
static bool stopped;
static struct ftl_trim trim;
static struct ftl_drain drain;

static void trimmed(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    struct nvme_cmd *cmd = command;
    command = NULL;
    blocks_barred = NVME_OK;
    console_printf("nvme: formatted%s\n", status == FTL_OK ? "" : ": failed");
    if (cmd != NULL) {
        nvme_complete(cmd, status == FTL_OK ? NVME_OK : stopped ? NVME_ABORTED : NVME_INTERNAL);
    }
}

void format_orphan(void) {
    if (command != NULL) {
        struct nvme_cmd *cmd = command;
        command = NULL;
        nvme_complete(cmd, NVME_ABORTED);
    }
}

/** What was in the write cache is on the medium, or never will be: either way it is to be forgotten. */
static void drained(struct ftl_drain *d, enum ftl_status status) {
    (void)d;
    (void)status;
    if (stopped) {
        trimmed(&trim.x, FTL_MEDIA);
        return;
    }
    ftl_trim(&trim);
}

static void prepare(struct ftl_trim *t) {
    t->count = 1;
    hal_write(DRAM_TRIM + 8, 0);
    hal_write(DRAM_TRIM + 12, ftl.lbas);
}

void format_stop(void) {
    stopped = blocks_barred == NVME_FORMAT_IN_PROGRESS;
    if (stopped) {
        ftl_erase_stop();
    }
}

void format_init(void) {
    blocks_barred = NVME_OK;
    command = NULL;
}

void format_command(struct nvme_cmd *cmd) {
    uint32_t v = cmd->sqe[10];
    uint32_t nsid = cmd_nsid(cmd);
    uint32_t status = nsid == NSID_ALL ? NVME_OK : namespace_check(nsid);
    if (status != NVME_OK) {
        nvme_refuse(cmd, status, 1);
    } else if (nsid != NSID_ALL && namespace_csi(nsid) != CSI_NVM) {
        nvme_refuse(cmd, NVME_INVALID_NS, 1);
    } else if ((v & 0x1ffu) != 0) {
        /* One format: no metadata, no protection information. */
        nvme_refuse(cmd, NVME_FORMAT_INVALID, 10);
    } else if ((v >> 9 & 7u) > SES_USER_DATA) {
        /* Nothing on the medium is encrypted, so there is no key to throw away: FNA bit 2 is 0. */
        nvme_refuse(cmd, NVME_INVALID_FIELD, 10);
    } else if (ftl.lbas == 0) {
        nvme_complete(cmd, NVME_NS_NOT_READY);
    } else if (blocks_barred != NVME_OK) {
        nvme_complete(cmd, blocks_barred);
    } else if ((v >> 9 & 7u) == SES_USER_DATA && !csd_idle()) {
        /* Requests of functions hold pages that the map does not know yet. */
        nvme_refuse(cmd, NVME_SEQUENCE, 10);
    } else {
        command = cmd;
        stopped = false;
        blocks_barred = NVME_FORMAT_IN_PROGRESS;
        test_stop(TEST_FORMAT);
        memset(&trim, 0, sizeof trim);
        trim.prepare = prepare;
        trim.erase = (v >> 9 & 7u) == SES_USER_DATA;
        trim.x.done = trimmed;
        drain.done = drained;
        ftl_drain(&drain);
    }
}
