/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>

#include "platform/console.h"
#include "platform/regs.h"

void trap(uintptr_t cause, uintptr_t pc, uintptr_t tval);

/** The drive does not see a tile's traps, so it is told; CTRL.FW_STATE and FW_PC then show the trap. crt0.S calls this
 * with a stack of its own and sleeps for ever when it returns. */
void trap(uintptr_t cause, uintptr_t pc, uintptr_t tval) {
    console_printf("trap: cause %u, pc %08x, tval %08x\n", (unsigned)cause, (unsigned)pc, (unsigned)tval);
    sys_write(SYS_TRAP_PC, (uint32_t)pc);
    sys_write(SYS_TRAP, PLACE(SYS_TRAP, STOPPED, 1) | PLACE(SYS_TRAP, CAUSE, cause));
}
