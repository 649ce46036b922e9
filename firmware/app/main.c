/* SPDX-License-Identifier: BSD-3-Clause */
/* Boot and the main loop: everything happens in answer to an event, and between events the processor sleeps. */
#include "csd/check.h"
#include "csd/core.h"
#include "ftl/collect.h"
#include "ftl/parity.h"
#include "ftl/refresh.h"
#include "media/health.h"
#include "media/nand.h"
#include "nvme/nvme.h"
#include "platform/console.h"
#include "platform/dram.h"
#include "platform/fill.h"
#include "platform/regs.h"
#include "platform/timer.h"
#include "platform/work.h"

#define EVENT(name) (SYS_EVENT_##name##_MASK << SYS_EVENT_##name##_SHIFT)
#define EVENTS_ALL                                                                                                     \
    (EVENT(TIMER) | EVENT(SQE) | EVENT(CTRL) | EVENT(HDMA) | EVENT(CONSOLE_RX) | EVENT(FLASH) | EVENT(CORE))
#define EVENTS_RARE (EVENT(TIMER) | EVENT(CTRL) | EVENT(CONSOLE_RX) | EVENT(CORE))
/** How soon to look again at streams that wait for room, and at a full completion path. */
#define POLL_STREAMS 2048u
#define POLL_POST    1024u
/** Of the cycles until the next look at streams that are read as their rings have room: so many for each, as a look
 * takes a hundred. */
#define POLL_GATED 256u
/** How soon to look at streams whose reads run ahead, while others use the flash. */
#define POLL_AHEAD 16384u

#ifdef ASSASIN_HOST_BUILD
#define FIRMWARE_ENTRY __attribute__((visibility("default")))
#else
#define FIRMWARE_ENTRY
int main(void);
#endif

/* The native tests drive the firmware by these two. */
FIRMWARE_ENTRY void firmware_boot(void);
FIRMWARE_ENTRY void firmware_step(void);

static uint64_t poll_at;
/** `poll_at` is for something that is wanted soon. */
static bool poll_soon;
static uint32_t enabled;

/** Who goes on with which work, in this order. */
static const struct module {
    enum work bit;
    void (*poll)(void);
} modules[] = {
    {WORK_TRIM, ftl_trim_poll},
    {WORK_FTL, ftl_poll},
    {WORK_CHECKPOINT, checkpoint_poll},
    {WORK_DISCARD, ftl_discard_poll},
    {WORK_IO, io_poll},
    {WORK_RANGES, ranges_poll},
    {WORK_COMPARE, compare_poll},
    {WORK_MEMORY, memory_poll},
    {WORK_CHECK, check_poll},
    {WORK_TEST, test_poll},
    {WORK_SESSION, controller_poll},
    {WORK_POST, nvme_post},
    {WORK_FETCH, nvme_fetch},
    {WORK_COLLECT, collect_poll},
    {WORK_ERASE, superblock_erase_poll},
    {WORK_PARITY, parity_poll},
    {WORK_RESIDUE, collect_residue_poll},
};

static __attribute__((noinline)) void poll_work(void) {
    /* Most often it is this alone: reads and writes find a buffer or room in the host DMA again. */
    if (work_pending == WORK_IO) {
        io_poll();
        if (work_pending == 0) {
            return;
        }
    }
    for (uint32_t i = 0; i < sizeof modules / sizeof modules[0]; i++) {
        if ((work_pending & modules[i].bit) != 0) {
            modules[i].poll();
        }
    }
}

/** Entries that cannot be taken now must not keep the processor awake. */
static inline void fetch_enable(void) {
    uint32_t enable = (work_pending & WORK_FETCH) != 0 ? EVENTS_ALL & ~EVENT(SQE) : EVENTS_ALL;
    if (__builtin_expect(enable != enabled, 0)) {
        enabled = enable;
        sys_write(SYS_EVENT_ENABLE, enabled);
    }
}

void firmware_boot(void) {
    uint32_t start = hal_cycle();
    uint64_t t_start = time_now();
    /* Before anything else: a host program that writes device address 0 must not reach this code. */
    uint32_t dma = hal_dma_addr(&nvme_dma);
    sys_write(SYS_TCM_WRITE_FIRST, dma);
    sys_write(SYS_TCM_WRITE_END, dma + sizeof nvme_dma);
    if (HAL_FIRMWARE_IN_DRAM) {
        sys_write(SYS_DRAM_CLOSED_FIRST, DRAM_FIRMWARE);
        sys_write(SYS_DRAM_CLOSED_END, DRAM_FIRMWARE + DRAM_FIRMWARE_SIZE);
    }
    controller_announce();
    console_printf("ASSASIN firmware " FW_VERSION "\n");
    timer_init();
    work_pending = 0;
    poll_at = TIMER_NEVER;
    sys_write(SYS_EVENT_ENABLE, EVENT(FLASH));
    dma_init();
    dram_zero(DRAM_ZERO, DRAM_ZERO_SIZE);
    const char *fault = nand_init();
    if (fault == NULL) {
        ftl_init(FIELD(SYS_BOOT_ARG, FORMAT, sys_read(SYS_BOOT_ARG)) != 0, identity_spare(), identity_parity());
        fault = ftl.fault;
    } else {
        ftl.lbas = 0;
        ftl.fault = fault;
    }
    if (fault != NULL) {
        console_printf("drive: no namespace: %s\n", fault);
    } else {
        console_printf("drive: %u blocks of %u B (%u MiB)\n", ftl.lbas, PAGE_SIZE,
                       (uint32_t)((uint64_t)ftl.lbas * PAGE_SIZE >> 20));
    }
    nand_health_init();
    nvme_commands_init();
    admin_init();
    features_init();
    log_init();
    block_init();
    /* Before the record of the power-on: a checkpoint under way would not take the identity along. */
    identity_init();
    format_init();
    sanitize_init();
    test_init();
    health_init();
    buffer_init();
    io_init();
    ranges_init();
    compare_init();
    memory_init();
    csd_init();
    program_init();
    enabled = EVENTS_ALL;
    sys_write(SYS_EVENT_ENABLE, enabled);
    controller_init();
    console_printf("boot: %u cycles awake and asleep, %u of the processor's\n", (uint32_t)(time_now() - t_start),
                   hal_cycle() - start);
}

/** The earliest time that something here is to be looked at without an event: watchdogs, and while cores run the
 * channels' counters; the age of the log; and poll_at. */
static void timer_update(void) {
    uint64_t next = core_deadline();
    if (next != TIMER_NEVER && next > nand_health_due()) {
        next = nand_health_due();
    }
    next = ftl_log_old_at() < next ? ftl_log_old_at() : next;
    timer_set(poll_at < next ? poll_at : next);
}

/** Cycles until the next look at what no event tells of; 0: none is wanted. `soon`: it is not only for streams. */
static uint32_t poll_after(bool posting, bool soon) {
    if (soon) {
        return posting ? POLL_POST : POLL_STREAMS;
    }
    if (stream_gated > 0) {
        uint32_t after = stream_gated * POLL_GATED;
        return after < POLL_STREAMS ? POLL_STREAMS : after < POLL_AHEAD ? after : POLL_AHEAD;
    }
    return stream_ahead >= STREAM_AHEAD_ABREAST || (stream_ahead != 0 && nand_outstanding > 0) ? POLL_AHEAD : 0;
}

/** Something is to be looked at again later, or the timer's event has come. */
static __attribute__((noinline)) void look_at_time(uint32_t event) {
    bool posting = (work_pending & WORK_POST) != 0;
    bool soon = stream_poll_wanted || posting;
    uint32_t after = poll_at == TIMER_NEVER || (soon && !poll_soon) ? poll_after(posting, soon) : 0;
    if (after > 0) {
        uint64_t at = time_now() + after;
        poll_at = at < poll_at ? at : poll_at;
        poll_soon = soon;
    }
    if (after > 0 || core_deadline_changed || (event & EVENT(TIMER)) != 0) {
        core_deadline_changed = false;
        timer_update();
    }
}

/** Everything that an event may have let go on. Each line costs a load and a branch when there is nothing to do. */
static inline void go_on(uint32_t event) {
    scrub_look();
    if (work_pending != 0) {
        poll_work();
    }
    if ((event & EVENT(SQE)) != 0) {
        nvme_fetch();
    }
    fetch_enable();
    uint32_t timed = (work_pending & WORK_POST) | (event & EVENT(TIMER)) | stream_gated;
    if (__builtin_expect((timed | stream_poll_wanted | stream_ahead | core_deadline_changed) != 0, 0)) {
        look_at_time(event);
    }
}

/** Events that no plain read or write brings. */
static __attribute__((noinline)) void handle_rare(uint32_t event) {
    if (event & EVENT(CORE)) {
        core_event(sys_read(SYS_CORE_PENDING));
    }
    if (event & EVENT(CTRL)) {
        controller_event();
    }
    if (event & EVENT(TIMER)) {
        poll_at = TIMER_NEVER;
        stream_poll_wanted = false;
        stream_gated = 0;
        core_timer();
        ftl_log_age();
        if (time_now() >= nand_health_due()) {
            nand_health_count();
        }
    }
    if (event & EVENT(CONSOLE_RX)) {
        /* No console commands: input is taken so that it does not keep the processor awake. */
        (void)sys_read(SYS_CONSOLE_RX);
    }
}

/** One round: handle what is pending, or sleep until something is. */
void firmware_step(void) {
    uint32_t event = sys_read(SYS_EVENT) & enabled;
    if (event == 0) {
        bool awake = (work_pending & WORK_AWAKE) != 0;
        if (work_pending != 0) {
            poll_work();
            fetch_enable();
        }
        /* What has just ended may be what other work has waited for, and no event tells: one more look before sleeping.
         */
        if (!awake && (work_pending & WORK_AWAKE) == 0) {
            if (ftl.changed != ftl_log_watched) {
                ftl_log_watch();
                timer_update();
            }
            hal_wfi();
        }
        return;
    }
    uint32_t start = hal_cycle();
    if (event & EVENT(FLASH)) {
        nand_attention = false;
        if (stream_poll_flash() > 0) {
            stream_counters.cycles += hal_cycle() - start;
        }
        if (event == EVENT(FLASH) && !nand_attention && !stream_poll_wanted &&
            (stream_gated == 0 || poll_at != TIMER_NEVER)) {
            /* Pages for streams only: nothing else has anything new to look at. */
            return;
        }
    }
    if (event & EVENT(HDMA)) {
        dma_poll();
    }
    if (event & EVENTS_RARE) {
        handle_rare(event);
    }
    go_on(event);
}

#ifndef ASSASIN_HOST_BUILD
int main(void) {
    firmware_boot();
    for (;;) {
        firmware_step();
    }
}
#endif
