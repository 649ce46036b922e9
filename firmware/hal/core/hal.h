/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Hardware access on the drive itself: the contract's addresses are the firmware processor's addresses.
 */
#ifndef ASSASIN_FW_HAL_H
#define ASSASIN_FW_HAL_H

#include <stdint.h>

/** Code, data and stack are in DRAM_FIRMWARE, which host DMA reaches. */
#define HAL_FIRMWARE_IN_DRAM 0

/** Read a 32-bit register or DRAM word. */
static inline uint32_t hal_read(uint32_t addr) {
    return *(volatile uint32_t *)addr;
}

/** Write a 32-bit register or DRAM word. */
static inline void hal_write(uint32_t addr, uint32_t value) {
    *(volatile uint32_t *)addr = value;
}

/** Sleep until (SYS.EVENT & SYS.EVENT_ENABLE) != 0; returns at once when that holds already, so check-then-sleep has no
 * race. */
static inline void hal_wfi(void) {
    __asm__ volatile("wfi" ::: "memory");
}

/** Low half of the processor's cycle counter. */
static inline uint32_t hal_cycle(void) {
    uint32_t v;
    __asm__ volatile("csrr %0, mcycle" : "=r"(v));
    return v;
}

/** Address under which the DMA engines see a TCM object. */
static inline uint32_t hal_dma_addr(const volatile void *p) {
    return (uint32_t)p;
}

/** Stop for good: an illegal instruction with mtvec 0 stops the processor and shows in CTRL.FW_STATE. */
static inline void hal_halt(void) {
    __asm__ volatile("unimp");
    __builtin_unreachable();
}

#endif
