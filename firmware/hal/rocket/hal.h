/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Hardware access on a Rocket tile: the contract's addresses are the tile's addresses, registers uncached, DRAM through
 * the tile's caches.
 *
 * The drive's port to DRAM is coherent with the caches, and the drive answers a register read only when all packets
 * that were on their way to DRAM are there. So nothing is ever flushed; but a processor may order accesses to DRAM and
 * to registers as it likes, so each register access has a fence between itself and DRAM.
 */
#ifndef ASSASIN_FW_HAL_H
#define ASSASIN_FW_HAL_H

#include <stdbool.h>
#include <stdint.h>

/** The platform-level interrupt controller. The drive's interrupt is the only source, number 1; context 0 is the first
 * hart's machine mode. */
#define HAL_PLIC_CLAIM 0x0c200004u

/** Code, data and stack are in DRAM_FIRMWARE, which host DMA reaches. */
#define HAL_FIRMWARE_IN_DRAM 1

static inline volatile uint32_t *hal_at(uint32_t addr) {
    return (volatile uint32_t *)(uintptr_t)addr;
}

static inline bool hal_in_dram(uint32_t addr) {
    return addr >> 31 != 0;
}

/** Read a 32-bit register or DRAM word. What the register tells of DRAM holds for every access behind it. */
static inline uint32_t hal_read(uint32_t addr) {
    uint32_t v = *hal_at(addr);
    if (!hal_in_dram(addr)) {
        __asm__ volatile("fence i, rw" ::: "memory");
    }
    return v;
}

/** Write a 32-bit register or DRAM word. What the register starts finds every access to DRAM before it done. */
static inline void hal_write(uint32_t addr, uint32_t value) {
    if (!hal_in_dram(addr)) {
        __asm__ volatile("fence rw, o" ::: "memory");
    }
    *hal_at(addr) = value;
}

/** Sleep until (SYS.EVENT & SYS.EVENT_ENABLE) != 0, or for less. The interrupt is a level, so check-then-sleep has no
 * race. mstatus.MIE stays 0: WFI ends, and no trap is taken. The claim lets the controller look at the level again. */
static inline void hal_wfi(void) {
    __asm__ volatile("wfi" ::: "memory");
    uint32_t source = hal_read(HAL_PLIC_CLAIM);
    if (source != 0) {
        hal_write(HAL_PLIC_CLAIM, source);
    }
}

/** Low half of the processor's cycle counter. */
static inline uint32_t hal_cycle(void) {
    uintptr_t v;
    __asm__ volatile("csrr %0, mcycle" : "=r"(v));
    return (uint32_t)v;
}

/** Address under which the DMA engines see an object of the firmware. */
static inline uint32_t hal_dma_addr(const volatile void *p) {
    return (uint32_t)(uintptr_t)p;
}

/** Stop for good: an illegal instruction, whose trap the firmware writes to SYS.TRAP (trap.c). */
static inline void hal_halt(void) {
    __asm__ volatile("unimp");
    __builtin_unreachable();
}

#endif
