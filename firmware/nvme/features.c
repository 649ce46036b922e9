/* Get and Set Features. Nothing is saved over a reset: SAVE is refused and the saved values are the defaults. */
#include <string.h>

#include "nvme/nvme.h"

enum {
    FEAT_ARBITRATION = 0x01,
    FEAT_POWER = 0x02,
    FEAT_TEMPERATURE = 0x04,
    FEAT_ERROR_RECOVERY = 0x05,
    FEAT_WRITE_CACHE = 0x06,
    FEAT_QUEUES = 0x07,
    FEAT_COALESCING = 0x08,
    FEAT_VECTOR = 0x09,
    FEAT_ATOMICITY = 0x0a,
    FEAT_EVENTS = 0x0b,
    FEAT_COUNT
};

enum { SELECT_CURRENT, SELECT_DEFAULT, SELECT_SAVED, SELECT_CAPABILITIES };
#define CAP_CHANGEABLE 0x4u
#define CAP_NAMESPACE  0x2u

#define QUEUES_VALUE ((NVME_IO_QUEUES - 1) | (NVME_IO_QUEUES - 1) << 16)

/** Thresholds over and under, kelvin; one sensor (the composite temperature). */
#define TEMP_OVER_DEFAULT 343u

static const uint32_t defaults[FEAT_COUNT] = {
    [FEAT_ARBITRATION] = 7, /* no burst limit */
    [FEAT_TEMPERATURE] = TEMP_OVER_DEFAULT,
    [FEAT_QUEUES] = QUEUES_VALUE,
};
static uint32_t current[FEAT_COUNT];
static uint32_t temp_under;
static uint32_t vector_config[16];

void features_init(void) {
    memcpy(current, defaults, sizeof current);
    temp_under = 0;
    memset(vector_config, 0, sizeof vector_config);
}

uint32_t features_event_config(void) {
    return current[FEAT_EVENTS];
}

/** Whether the feature exists. VWC is 0, so there is no write cache feature. */
static bool known(uint32_t id) {
    return id == FEAT_ARBITRATION || id == FEAT_POWER ||
           (id >= FEAT_TEMPERATURE && id < FEAT_COUNT && id != FEAT_WRITE_CACHE);
}

void features_get(struct nvme_cmd *cmd) {
    uint32_t id = cmd->sqe[10] & 0xffu;
    uint32_t select = cmd->sqe[10] >> 8 & 7u;
    if (!known(id) || select > SELECT_CAPABILITIES) {
        nvme_complete(cmd, NVME_INVALID_FIELD);
        return;
    }
    if (select == SELECT_CAPABILITIES) {
        cmd->dw0 = CAP_CHANGEABLE | (id == FEAT_ERROR_RECOVERY ? CAP_NAMESPACE : 0);
        nvme_complete(cmd, NVME_OK);
        return;
    }
    const uint32_t *values = select == SELECT_CURRENT ? current : defaults;
    cmd->dw0 = values[id];
    if (id == FEAT_TEMPERATURE) {
        uint32_t sensor = cmd->sqe[11] >> 16 & 15u;
        uint32_t under = cmd->sqe[11] >> 20 & 3u;
        if (sensor > 0 || under > 1) {
            nvme_complete(cmd, NVME_INVALID_FIELD);
            return;
        }
        if (under) {
            cmd->dw0 = select == SELECT_CURRENT ? temp_under : 0;
        }
    } else if (id == FEAT_VECTOR) {
        uint32_t vector = cmd->sqe[11] & 0xffffu;
        if (vector > 15) {
            nvme_complete(cmd, NVME_INVALID_FIELD);
            return;
        }
        cmd->dw0 = vector | (select == SELECT_CURRENT ? vector_config[vector] : 0);
    } else if (id == FEAT_ERROR_RECOVERY && cmd_nsid(cmd) != 1 && cmd_nsid(cmd) != 0xffffffffu) {
        nvme_complete(cmd, NVME_INVALID_NS);
        return;
    }
    nvme_complete(cmd, NVME_OK);
}

void features_set(struct nvme_cmd *cmd) {
    uint32_t id = cmd->sqe[10] & 0xffu;
    uint32_t v = cmd->sqe[11];
    uint32_t status = NVME_OK;
    if (!known(id)) {
        status = NVME_INVALID_FIELD;
    } else if (cmd->sqe[10] >> 31) {
        status = NVME_NOT_SAVEABLE;
    } else {
        switch (id) {
        case FEAT_POWER:
            /* Only power state 0. */
            if ((v & 0x1fu) != 0) {
                status = NVME_INVALID_FIELD;
            }
            break;
        case FEAT_TEMPERATURE:
            if ((v >> 16 & 15u) != 0 && (v >> 16 & 15u) != 15) {
                status = NVME_INVALID_FIELD;
            } else if ((v >> 20 & 3u) == 0) {
                current[id] = v & 0xffffu;
            } else if ((v >> 20 & 3u) == 1) {
                temp_under = v & 0xffffu;
            } else {
                status = NVME_INVALID_FIELD;
            }
            break;
        case FEAT_ERROR_RECOVERY:
            if (cmd_nsid(cmd) != 1 && cmd_nsid(cmd) != 0xffffffffu) {
                status = NVME_INVALID_NS;
            } else {
                current[id] = v & 0xffffu;
            }
            break;
        case FEAT_QUEUES:
            if (queues.created > 0) {
                status = NVME_SEQUENCE;
            } else if ((v & 0xffffu) == 0xffffu || v >> 16 == 0xffffu) {
                status = NVME_INVALID_FIELD;
            } else {
                cmd->dw0 = QUEUES_VALUE;
            }
            break;
        case FEAT_COALESCING:
            /* Kept and reported; interrupts are never held back. */
            current[id] = v & 0xffffu;
            break;
        case FEAT_VECTOR:
            if ((v & 0xffffu) > 15) {
                status = NVME_INVALID_FIELD;
            } else {
                vector_config[v & 15u] = v & 0x10000u;
            }
            break;
        default:
            current[id] = v;
            break;
        }
    }
    nvme_complete(cmd, status);
}
