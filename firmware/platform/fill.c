/* SPDX-License-Identifier: BSD-3-Clause */
#include "platform/fill.h"

#include "platform/regs.h"

static void wait(void) {
    while (hdma_read(HDMA_FILL_BUSY) & 1) {
    }
}

void dram_zero(uint32_t addr, uint32_t len) {
    wait();
    hdma_write(HDMA_FILL_DST, addr);
    hdma_write(HDMA_FILL_PUSH, len);
    wait();
}
