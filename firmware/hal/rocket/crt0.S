/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry, where the boot ROM jumps to: trap vector, stack, bss, interrupt, main. No register is taken to hold anything. */
    .set    PLIC_PRIORITY_1, 0x0c000004
    .set    PLIC_ENABLE, 0x0c002000
    .set    PLIC_THRESHOLD, 0x0c200000
    .set    PLIC_CLAIM, 0x0c200004
    .set    MIE_MEIE, 1 << 11
    .set    MSTATUS_MIE, 1 << 3
    .section .init, "ax"
    .globl _start
_start:
    csrci   mstatus, MSTATUS_MIE
    csrw    mie, zero
    la      t0, trap_entry
    csrw    mtvec, t0
    la      sp, __stack_top
    .option push
    .option norelax
    la      gp, __global_pointer$
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
    /* The drive's interrupt, source 1, ends WFI; mstatus.MIE stays 0. */
2:  li      t1, 1
    li      t0, PLIC_PRIORITY_1
    sw      t1, 0(t0)
    li      t1, 1 << 1
    li      t0, PLIC_ENABLE
    sw      t1, 0(t0)
    li      t0, PLIC_THRESHOLD
    sw      zero, 0(t0)
    /* A reset of the tile leaves the controller as it is: what it has claimed is completed here. */
    li      t1, 1
    li      t0, PLIC_CLAIM
    sw      t1, 0(t0)
    fence
    li      t0, MIE_MEIE
    csrw    mie, t0
    call    main
    unimp

    .balign 4
    /* Never left. A trap in it ends in the loop. */
trap_entry:
    la      t0, trap_end
    csrw    mtvec, t0
    csrw    mie, zero
    la      sp, __stack_top
    .option push
    .option norelax
    la      gp, __global_pointer$
    .option pop
    csrr    a0, mcause
    csrr    a1, mepc
    csrr    a2, mtval
    call    trap
    .balign 4
trap_end:
    wfi
    j       trap_end
