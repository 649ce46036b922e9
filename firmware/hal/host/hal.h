/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Hardware access of the native build: every access goes to a behavioural model of the hardware.
 */
#ifndef ASSASIN_FW_HAL_H
#define ASSASIN_FW_HAL_H

#include <stdint.h>

/* Implemented by the hardware model (board/native/model). */
uint32_t model_read(uint32_t addr);
void model_write(uint32_t addr, uint32_t value);
void model_wfi(void);
uint32_t model_cycle(void);
uint32_t model_dma_addr(const volatile void *p);
void model_halt(void) __attribute__((noreturn));

/** Code, data and stack are in DRAM_FIRMWARE, which host DMA reaches. */
#define HAL_FIRMWARE_IN_DRAM 0

static inline uint32_t hal_read(uint32_t addr) {
    return model_read(addr);
}

static inline void hal_write(uint32_t addr, uint32_t value) {
    model_write(addr, value);
}

static inline void hal_wfi(void) {
    model_wfi();
}

static inline uint32_t hal_cycle(void) {
    return model_cycle();
}

/** Address under which the DMA engines see a static object of the firmware. */
static inline uint32_t hal_dma_addr(const volatile void *p) {
    return model_dma_addr(p);
}

static inline void hal_halt(void) {
    model_halt();
}

#endif
