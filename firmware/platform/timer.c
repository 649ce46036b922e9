/* SPDX-License-Identifier: BSD-3-Clause */
#include "platform/timer.h"

static uint64_t timer_at;

void timer_init(void) {
    timer_at = 0;
    timer_set(TIMER_NEVER);
}

void timer_set(uint64_t t) {
    if (t == timer_at) {
        return;
    }
    timer_at = t;
    /* High half first to all ones: no early match in between. */
    sys_write(SYS_MTIMECMP_HI, UINT32_MAX);
    sys_write(SYS_MTIMECMP_LO, (uint32_t)t);
    sys_write(SYS_MTIMECMP_HI, (uint32_t)(t >> 32));
}
