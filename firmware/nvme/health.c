/* SPDX-License-Identifier: BSD-3-Clause */
/* The health log (SMART): what is counted, what is kept over power cycles, and the warnings made of it. */
#include <string.h>

#include "media/health.h"
#include "nvme/nvme.h"
#include "platform/timer.h"

#define WARN_SPARE       0x01u
#define WARN_TEMPERATURE 0x02u
#define WARN_RELIABILITY 0x04u
#define WARN_READ_ONLY   0x08u

#define INFO_RELIABILITY 0u
#define INFO_TEMPERATURE 1u
#define INFO_SPARE       2u
#define HEALTH_LOG       2u
/** Counters older than that are put on the medium without another reason. */
#define SAVE_MINUTES 10u

struct health health;
static uint32_t reported; /**< warnings that hold and were reported */
static struct ftl_checkpoint power_record;
static bool save_again; /**< the counters have changed since power_record was begun */

_Static_assert(sizeof(struct health_saved) <= SAVED_IDENTITY, "counters kept by the FTL");

/** Minutes, or hours, of `cycles`. */
static uint64_t minutes(uint64_t cycles) {
    return cycles / ((uint64_t)nand_geo.clock_mhz * 1000000u * 60u);
}

static uint64_t kept_at;

/** Count the time up to now. */
static void advance(void) {
    uint64_t now = time_now();
    health.saved.on_cycles += now - health.on_since;
    health.on_since = now;
}

/** A root record is being made. */
static void keep(void) {
    advance();
    kept_at = health.on_since;
    memcpy(ftl_owner_data, &health.saved, sizeof health.saved);
    sanitize_keep();
    test_keep();
}

void health_save(void) {
    if (ftl.lbas == 0 || ftl.read_only || health.saved.powered == 0) {
        /* A shutdown takes it along, and nothing may follow that. */
        return;
    }
    ftl.owner_changed = true;
    save_again = power_record.x.queued;
    if (!save_again) {
        power_record.clean = ftl.clean;
        ftl_checkpoint(&power_record);
    }
}

static void save_ended(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    if (save_again && status == FTL_OK) {
        health_save();
    }
    save_again = false;
}

/** Have the medium say that the drive is in use: unless a shutdown follows, the loss of power is an unsafe one. */
static void record_power_on(void) {
    health.saved.powered = 1;
    health_save();
}

void health_look(void) {
    if (minutes(time_now() - kept_at) >= SAVE_MINUTES) {
        health_save();
    }
}

static void sector_lost(void) {
    /* The medium hears of the first ones at once, and of many without wearing for it. */
    bool power_of_two = (health.saved.media_errors & (health.saved.media_errors + 1)) == 0;
    health.saved.media_errors++;
    health_check();
    if (power_of_two) {
        health_save();
    }
}

void health_init(void) {
    memset(&health, 0, sizeof health);
    memcpy(&health.saved, ftl_owner_data, sizeof health.saved);
    health.saved.power_cycles++;
    /* Records of a firmware that did not keep `powered` tell of a shutdown by the FTL alone. */
    health.saved.unsafe_shutdowns += ftl.unclean || health.saved.powered != 0;
    health.on_since = time_now();
    kept_at = health.on_since;
    ftl_owner_update = keep;
    ftl_spare_fell = health_check;
    nand_lost_notice = sector_lost;
    reported = 0;
    memset(&power_record, 0, sizeof power_record);
    power_record.x.done = save_ended;
    save_again = false;
    record_power_on();
}

uint32_t health_warning(void) {
    uint32_t over, under;
    features_temperature(&over, &under);
    uint32_t warning = ftl.lbas == 0 || ftl_read_only() ? WARN_READ_ONLY : 0;
    if (HEALTH_KELVIN >= over || HEALTH_KELVIN <= under) {
        warning |= WARN_TEMPERATURE;
    }
    if (ftl.lbas > 0 && ftl_spare() < FTL_SPARE_THRESHOLD) {
        warning |= WARN_SPARE;
    }
    if (nand_health_degraded()) {
        warning |= WARN_RELIABILITY;
    }
    return warning;
}

void health_check(void) {
    if (controller != CTRL_READY) {
        return;
    }
    uint32_t warning = health_warning();
    uint32_t fresh = warning & ~reported & features_event_config();
    /* What ceased may be reported again when it comes back. */
    reported = (reported & warning) | fresh;
    if (fresh & WARN_TEMPERATURE) {
        event_report(EVENT_HEALTH, INFO_TEMPERATURE, HEALTH_LOG);
    }
    if (fresh & WARN_SPARE) {
        event_report(EVENT_HEALTH, INFO_SPARE, HEALTH_LOG);
    }
    if (fresh & (WARN_READ_ONLY | WARN_RELIABILITY)) {
        event_report(EVENT_HEALTH, INFO_RELIABILITY, HEALTH_LOG);
    }
}

void health_enable(void) {
    reported = 0;
    ftl_lend();
    if (health.saved.powered == 0) {
        record_power_on();
    }
}

void health_shutdown(void) {
    health.saved.powered = 0;
    ftl.owner_changed = true;
}

/** Data units: thousands of 512 bytes, rounded up. */
static uint64_t data_units(uint64_t blocks) {
    return (blocks * (PAGE_SIZE / 512) + 999) / 1000;
}

uint64_t health_hours(void) {
    return minutes(health.saved.on_cycles + time_now() - health.on_since) / 60u;
}

void health_log(void) {
    advance();
    const struct health_saved *k = &health.saved;
    put8(0, health_warning());
    put16(1, HEALTH_KELVIN);
    put8(3, ftl.lbas > 0 ? ftl_spare() : 0);
    put8(4, FTL_SPARE_THRESHOLD);
    put8(5, ftl_used());
    put64(32, data_units(k->blocks_read));
    put64(48, data_units(k->blocks_written));
    put64(64, k->reads);
    put64(80, k->writes);
    put64(96, minutes(k->busy_cycles));
    put64(112, k->power_cycles);
    put64(128, health_hours());
    put64(144, k->unsafe_shutdowns);
    put64(160, k->media_errors);
    put64(176, k->errors);
    put16(200, HEALTH_KELVIN); /* temperature sensor 1: the composite one */
}
