/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Short forms for the contract's registers.
 */
#ifndef ASSASIN_FW_REGS_H
#define ASSASIN_FW_REGS_H

#include "assasin_contract.h"
#include "hal.h"

/** Field `f` of register value `v`, e.g. FIELD(SYS_CONFIG, CORES, v). */
#define FIELD(reg, f, v) (((v) >> reg##_##f##_SHIFT) & reg##_##f##_MASK)
/** Value `x` placed in field `f`. */
#define PLACE(reg, f, x) (((uint32_t)(x)&reg##_##f##_MASK) << reg##_##f##_SHIFT)

static inline uint32_t sys_read(uint32_t reg) {
    return hal_read(ASSASIN_SYS_BASE + reg);
}
static inline void sys_write(uint32_t reg, uint32_t v) {
    hal_write(ASSASIN_SYS_BASE + reg, v);
}
static inline uint32_t nvme_read(uint32_t reg) {
    return hal_read(ASSASIN_NVME_BASE + reg);
}
static inline void nvme_write(uint32_t reg, uint32_t v) {
    hal_write(ASSASIN_NVME_BASE + reg, v);
}
static inline uint32_t hdma_read(uint32_t reg) {
    return hal_read(ASSASIN_HDMA_BASE + reg);
}
static inline void hdma_write(uint32_t reg, uint32_t v) {
    hal_write(ASSASIN_HDMA_BASE + reg, v);
}
static inline uint32_t flash_read(uint32_t ch, uint32_t reg) {
    return hal_read(ASSASIN_FLASH_BASE + ch * ASSASIN_FLASH_STRIDE + reg);
}
static inline void flash_write(uint32_t ch, uint32_t reg, uint32_t v) {
    hal_write(ASSASIN_FLASH_BASE + ch * ASSASIN_FLASH_STRIDE + reg, v);
}
static inline uint32_t core_read(uint32_t core, uint32_t reg) {
    return hal_read(ASSASIN_CORE_BASE + core * ASSASIN_CORE_STRIDE + reg);
}
static inline void core_write(uint32_t core, uint32_t reg, uint32_t v) {
    hal_write(ASSASIN_CORE_BASE + core * ASSASIN_CORE_STRIDE + reg, v);
}
/** A 64-bit counter: reading the low half at `addr` latches the high half at `addr + 4`. */
static inline uint64_t counter_read(uint32_t addr) {
    uint32_t lo = hal_read(addr);
    return lo | (uint64_t)hal_read(addr + 4) << 32;
}

#endif
