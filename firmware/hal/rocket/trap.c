/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>

#include "platform/console.h"

_Noreturn void trap(uintptr_t cause, uintptr_t pc, uintptr_t tval);

/** CTRL.FW_STATE cannot show a trap of a tile, so the console does. crt0.S calls this with a stack of its own. */
void trap(uintptr_t cause, uintptr_t pc, uintptr_t tval) {
    panic("trap: cause %u, pc %08x, tval %08x", (unsigned)cause, (unsigned)pc, (unsigned)tval);
}
