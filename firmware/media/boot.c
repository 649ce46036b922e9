/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting in a loop, which only boot does. */
#include "media/dispatch.h"

void nand_poll(void) {
    nand_dispatch(NULL, NULL);
}

void nand_wait(void) {
    if (sys_read(SYS_FLASH_PENDING) == 0) {
        hal_wfi();
    }
    nand_poll();
}

void nand_wait_idle(void) {
    while (nand_outstanding > 0) {
        nand_wait();
    }
}

struct nand_op *nand_op_wait(void) {
    struct nand_op *op;
    while ((op = nand_op_get()) == NULL) {
        nand_wait();
    }
    return op;
}
