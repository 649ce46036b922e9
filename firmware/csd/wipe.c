// SPDX-License-Identifier: BSD-3-Clause
/* What a program leaves in a core's memories is not for the next one: before another function is loaded, everything
 * that it can read is zeros. Stream instructions read nothing but what was delivered or stored since the pointers were
 * cleared, so the stream buffers are left alone where only they reach them. A program's loads reach both buffers of
 * AssasinSp: what is written to the input buffer of a core that does not run goes to its output buffer as well. */
#include "csd/core.h"
#include "ftl/map.h"
#include "platform/fill.h"

_Static_assert(ASSASIN_CORE_SPAD_SIZE <= DRAM_ZERO_SIZE && ASSASIN_XB_ISB_SIZE <= DRAM_ZERO_SIZE, "one copy of zeros");

void core_wipe(struct core *c) {
    uint32_t arch = sys_read(SYS_ARCH);
    bool in_dram = arch == CORE_ARCH_BASELINE || arch == CORE_ARCH_PREFETCH;
    if (in_dram || arch == CORE_ARCH_SB_CACHE) {
        /* What is left in the caches is dropped when the core starts. */
        dram_zero(ASSASIN_DRAM_TILES_BASE + c->index * ASSASIN_DRAM_TILES_STRIDE, ASSASIN_DRAM_TILES_SIZE);
    }
    if (!in_dram) {
        core_copy(c, DRAM_ZERO, ASSASIN_XB_SPAD_BASE, ASSASIN_CORE_SPAD_SIZE);
    }
    if (arch == CORE_ARCH_SP) {
        core_copy(c, DRAM_ZERO, ASSASIN_XB_ISB_BASE, ASSASIN_XB_ISB_SIZE);
        c->wiping = true;
    }
    core_copy(c, DRAM_ZERO, ASSASIN_XB_IMEM_BASE, ASSASIN_CORE_IMEM_SIZE);
}
