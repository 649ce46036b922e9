/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry at address 0 after CTRL.RESET: stack, bss, main. mtvec stays 0, so a trap stops the processor and shows in CTRL.FW_STATE. */
    .section .init, "ax"
    .globl _start
_start:
    lui     sp, %hi(__stack_top)
    addi    sp, sp, %lo(__stack_top)
    .option push
    .option norelax
    lui     gp, %hi(__global_pointer$)
    addi    gp, gp, %lo(__global_pointer$)
    .option pop
    la      t0, __bss_start
    la      t1, __bss_end
    /* The linker script rounds bss to 64 bytes. */
1:  bgeu    t0, t1, 2f
    .set    offset, 0
    .rept   16
    sw      zero, offset(t0)
    .set    offset, offset + 4
    .endr
    addi    t0, t0, 64
    j       1b
2:  call    main
    unimp
