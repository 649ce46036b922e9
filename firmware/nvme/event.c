/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous events: requests that wait, events that wait, and what is not reported again yet. */
#include <string.h>

#include "nvme/nvme.h"

/** Events that wait for a request, at most; further ones are lost. */
#define QUEUED 8u

/** Requests that wait. */
static struct list requests;
static uint32_t waiting; /**< how many */
static uint32_t masked;  /**< bit type: reported, its log page not read since */

/** DW0 of events that found no request, oldest first. */
static uint32_t queue[QUEUED];
static uint32_t queued;

/** Complete requests with events that may go. */
static void deliver(void) {
    for (uint32_t i = 0; i < queued && !list_empty(&requests);) {
        uint32_t type = queue[i] & 7u;
        if (masked >> type & 1) {
            i++;
            continue;
        }
        struct nvme_cmd *cmd = nvme_cmd_of(list_take(&requests));
        waiting--;
        masked |= 1u << type;
        cmd->op.result[0] = queue[i];
        queued--;
        memmove(&queue[i], &queue[i + 1], (queued - i) * sizeof queue[0]);
        nvme_complete(cmd, NVME_OK);
    }
}

void event_report(enum event_type type, uint32_t info, uint32_t log) {
    uint32_t dw0 = type | info << 8 | log << 16;
    if ((masked >> type & 1) != 0 || queued == QUEUED) {
        return;
    }
    for (uint32_t i = 0; i < queued; i++) {
        if (queue[i] == dw0) {
            return;
        }
    }
    queue[queued++] = dw0;
    deliver();
}

void event_acknowledge(uint32_t log) {
    static const struct {
        uint8_t log, type;
    } pages[] = {{0x01, EVENT_ERROR}, {0x02, EVENT_HEALTH}, {0x04, EVENT_NOTICE}, {0x81, EVENT_IO}};
    for (uint32_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        if (pages[i].log == log) {
            masked &= ~(1u << pages[i].type);
        }
    }
    deliver();
}

uint32_t event_waiting(void) {
    return waiting;
}

void event_request(struct nvme_cmd *cmd) {
    if (waiting > NVME_AERL) {
        nvme_complete(cmd, NVME_AER_LIMIT);
        return;
    }
    list_put(&requests, &cmd->op.node);
    waiting++;
    deliver();
}

bool event_abort(struct nvme_cmd *cmd) {
    bool found = nvme_drop(&requests, cmd);
    waiting -= found;
    return found;
}

void event_forget(enum event_type type) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < queued; i++) {
        if ((queue[i] & 7u) != type) {
            queue[left++] = queue[i];
        }
    }
    queued = left;
}

void event_orphan(void) {
    waiting = 0;
    nvme_drop(&requests, NULL);
    queued = 0;
    masked = 0;
}
