/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The timebase and its alarm, which raises the TIMER event.
 */
#ifndef ASSASIN_FW_TIMER_H
#define ASSASIN_FW_TIMER_H

#include <stdint.h>

#include "platform/regs.h"

#define TIMER_NEVER UINT64_MAX

/** Timebase, cycles. */
static inline uint64_t time_now(void) {
    return counter_read(ASSASIN_SYS_BASE + SYS_MTIME_LO);
}

/** No alarm. */
void timer_init(void);
/** Raise the event at `t`. */
void timer_set(uint64_t t);

#endif
