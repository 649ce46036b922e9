/* SPDX-License-Identifier: BSD-3-Clause */
/* Get and Set Features. Nothing is saved over a reset: SAVE is refused and the saved values are the defaults. */
#include <string.h>

#include "nvme/nvme.h"
#include "platform/timer.h"

enum {
    FEAT_ARBITRATION = 0x01,
    FEAT_POWER = 0x02,
    FEAT_TEMPERATURE = 0x04,
    FEAT_ERROR_RECOVERY = 0x05,
    FEAT_CACHE = 0x06,
    FEAT_QUEUES = 0x07,
    FEAT_COALESCING = 0x08,
    FEAT_VECTOR = 0x09,
    FEAT_ATOMICITY = 0x0a,
    FEAT_EVENTS = 0x0b,
    FEAT_TIMESTAMP = 0x0e,
    FEAT_PROFILE = 0x19,
    FEAT_COUNT
};

enum { SELECT_CURRENT, SELECT_DEFAULT, SELECT_SAVED, SELECT_CAPABILITIES };
#define CAP_CHANGEABLE 0x4u
#define CAP_NAMESPACE  0x2u

/** Error recovery: time limit of repetitions, which is kept and reported; reads of unwritten blocks fail. */
#define ERROR_TIME      0xffffu
#define ERROR_UNWRITTEN 0x10000u

#define QUEUES_VALUE ((NVME_IO_QUEUES - 1) | (NVME_IO_QUEUES - 1) << 16)

/** Threshold over which the drive is too warm, kelvin; what it is rated for. */
#define TEMP_OVER_DEFAULT 343u
/** TMPSEL: the composite temperature, the one sensor there is, and all of them. */
#define SENSOR_ONE 1u
#define SENSOR_ALL 15u
/** Events that there are: health warnings, and changes of namespaces. */
#define EVENTS_OFFERED 0x1ffu

static const uint32_t defaults[FEAT_COUNT] = {
    [FEAT_ARBITRATION] = 7, /* no burst limit */
    [FEAT_CACHE] = 1,       /* enabled */
    [FEAT_QUEUES] = QUEUES_VALUE,
};
bool unwritten_fails;
static uint32_t current[FEAT_COUNT];
static uint32_t vector_config[16];
/** Thresholds of the composite temperature and of sensor 1: over, under. */
static uint16_t thresholds[2][2];
/** Milliseconds that the host set, at timebase `timestamp_at`; origin: 0 cleared by a reset, 1 set by the host. */
static uint64_t timestamp, timestamp_at;
static uint32_t timestamp_origin;

void features_init(void) {
    memcpy(current, defaults, sizeof current);
    ftl.cache_off = false;
    unwritten_fails = false;
    for (uint32_t i = 0; i < 2; i++) {
        thresholds[i][0] = TEMP_OVER_DEFAULT;
        thresholds[i][1] = 0;
    }
    memset(vector_config, 0, sizeof vector_config);
    timestamp = 0;
    timestamp_at = time_now();
    timestamp_origin = 0;
}

uint32_t features_event_config(void) {
    return current[FEAT_EVENTS];
}

void features_temperature(uint32_t *over, uint32_t *under) {
    /* Sensor 1 is the composite temperature's: whichever threshold is passed first counts. */
    *over = thresholds[0][0] < thresholds[1][0] ? thresholds[0][0] : thresholds[1][0];
    *under = thresholds[0][1] > thresholds[1][1] ? thresholds[0][1] : thresholds[1][1];
}

/** Whether the feature exists. */
static bool known(uint32_t id) {
    const uint32_t ids = 1u << FEAT_ARBITRATION | 1u << FEAT_POWER | 1u << FEAT_TEMPERATURE |
                         1u << FEAT_ERROR_RECOVERY | 1u << FEAT_QUEUES | 1u << FEAT_COALESCING | 1u << FEAT_VECTOR |
                         1u << FEAT_ATOMICITY | 1u << FEAT_EVENTS | 1u << FEAT_TIMESTAMP |
                         (ftl_has_cache() ? 1u << FEAT_CACHE : 0) | (controller_all_sets ? 1u << FEAT_PROFILE : 0);
    return id < FEAT_COUNT && (ids >> id & 1) != 0;
}

/** Whether temperature threshold `v` names something that exists. */
static bool sensor_ok(uint32_t v, bool set) {
    uint32_t sensor = v >> 16 & 15u;
    return (sensor <= SENSOR_ONE || (set && sensor == SENSOR_ALL)) && (v >> 20 & 3u) <= 1;
}

void features_get(struct nvme_cmd *cmd) {
    uint32_t id = cmd->sqe[10] & 0xffu;
    uint32_t select = cmd->sqe[10] >> 8 & 7u;
    uint32_t v = cmd->sqe[11];
    if (!known(id) || select > SELECT_CAPABILITIES) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 10);
        return;
    }
    if (select == SELECT_CAPABILITIES) {
        cmd->op.result[0] = CAP_CHANGEABLE | (id == FEAT_ERROR_RECOVERY ? CAP_NAMESPACE : 0);
        nvme_complete(cmd, NVME_OK);
        return;
    }
    bool now = select == SELECT_CURRENT;
    cmd->op.result[0] = now ? current[id] : defaults[id];
    switch (id) {
    case FEAT_TEMPERATURE:
        if (!sensor_ok(v, false)) {
            nvme_refuse(cmd, NVME_INVALID_FIELD, 11);
            return;
        }
        cmd->op.result[0] = now ? thresholds[v >> 16 & 1u][v >> 20 & 1u] : (v >> 20 & 1u) ? 0 : TEMP_OVER_DEFAULT;
        break;
    case FEAT_VECTOR:
        if ((v & 0xffffu) > 15) {
            nvme_refuse(cmd, NVME_INVALID_FIELD, 11);
            return;
        }
        cmd->op.result[0] = (v & 15u) | (now ? vector_config[v & 15u] : 0);
        break;
    case FEAT_ERROR_RECOVERY: {
        uint32_t status = cmd_nsid(cmd) == NSID_ALL ? NVME_INVALID_NS : namespace_check(cmd_nsid(cmd));
        if (status != NVME_OK) {
            nvme_refuse(cmd, status, 1);
            return;
        }
        break;
    }
    case FEAT_TIMESTAMP: {
        uint64_t ms = now ? timestamp + (time_now() - timestamp_at) / (nand_geo.clock_mhz * 1000u) : 0;
        memset(admin_buffer, 0, 8);
        put64(0, ms & 0xffffffffffffull);
        put8(6, now ? timestamp_origin << 1 : 0);
        admin_send(cmd, 8);
        return;
    }
    default:
        break;
    }
    nvme_complete(cmd, NVME_OK);
}

static void take_timestamp(struct nvme_cmd *cmd) {
    timestamp = admin_buffer[0] | (uint64_t)(admin_buffer[1] & 0xffffu) << 32;
    timestamp_at = time_now();
    timestamp_origin = 1;
    nvme_complete(cmd, NVME_OK);
}

static uint32_t set_temperature(uint32_t v) {
    if (!sensor_ok(v, true)) {
        return NVME_INVALID_FIELD;
    }
    for (uint32_t i = 0; i < 2; i++) {
        if ((v >> 16 & 15u) == i || (v >> 16 & 15u) == SENSOR_ALL) {
            thresholds[i][v >> 20 & 1u] = (uint16_t)v;
        }
    }
    health_check();
    return NVME_OK;
}

static uint32_t set_error_recovery(uint32_t nsid, uint32_t v) {
    uint32_t status = nsid == NSID_ALL ? NVME_OK : namespace_check(nsid);
    if (status == NVME_OK) {
        current[FEAT_ERROR_RECOVERY] = v & (ERROR_TIME | ERROR_UNWRITTEN);
        unwritten_fails = (v & ERROR_UNWRITTEN) != 0;
    }
    return status;
}

static uint32_t set_queues(struct nvme_cmd *cmd, uint32_t v) {
    if (queues.created > 0) {
        return NVME_SEQUENCE;
    }
    if ((v & 0xffffu) == 0xffffu || v >> 16 == 0xffffu) {
        return NVME_INVALID_FIELD;
    }
    cmd->op.result[0] = QUEUES_VALUE;
    return NVME_OK;
}

static uint32_t set_vector(uint32_t v) {
    if ((v & 0xffffu) > 15) {
        return NVME_INVALID_FIELD;
    }
    vector_config[v & 15u] = v & 0x10000u;
    return NVME_OK;
}

static void cache_set(struct nvme_cmd *cmd) {
    nvme_complete(cmd, NVME_OK);
}

void features_set(struct nvme_cmd *cmd) {
    uint32_t id = cmd->sqe[10] & 0xffu;
    uint32_t v = cmd->sqe[11];
    uint32_t nsid = cmd_nsid(cmd);
    if (!known(id)) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 10);
        return;
    }
    if (cmd->sqe[10] >> 31) {
        nvme_refuse(cmd, NVME_NOT_SAVEABLE, 10);
        return;
    }
    if (id != FEAT_ERROR_RECOVERY && nsid != 0 && nsid != NSID_ALL) {
        nvme_refuse(cmd, nsid <= namespace_count() ? NVME_NOT_NAMESPACE : NVME_INVALID_NS, 1);
        return;
    }
    uint32_t status = NVME_OK;
    switch (id) {
    case FEAT_POWER:
        /* Only power state 0, any workload hint. */
        status = (v & 0x1fu) != 0 ? NVME_INVALID_FIELD : NVME_OK;
        break;
    case FEAT_TEMPERATURE:
        status = set_temperature(v);
        break;
    case FEAT_ERROR_RECOVERY:
        status = set_error_recovery(nsid, v);
        break;
    case FEAT_QUEUES:
        status = set_queues(cmd, v);
        break;
    case FEAT_COALESCING:
        /* Kept and reported; interrupts are never held back. */
        current[id] = v & 0xffffu;
        break;
    case FEAT_VECTOR:
        status = set_vector(v);
        break;
    case FEAT_ATOMICITY:
        current[id] = v & 1u;
        break;
    case FEAT_CACHE:
        current[id] = v & 1u;
        ftl.cache_off = (v & 1u) == 0;
        if (ftl.cache_off) {
            io_drain(cmd, cache_set);
            return;
        }
        break;
    case FEAT_EVENTS:
        current[id] = v & EVENTS_OFFERED;
        health_check();
        break;
    case FEAT_TIMESTAMP:
        admin_receive(cmd, 8, take_timestamp);
        return;
    case FEAT_PROFILE:
        /* The one combination of command sets. */
        status = (v & 0x1ffu) != 0 ? NVME_COMBINATION : NVME_OK;
        break;
    default:
        current[id] = v;
        break;
    }
    if (status != NVME_OK) {
        nvme_refuse(cmd, status, 11);
    } else {
        nvme_complete(cmd, NVME_OK);
    }
}
