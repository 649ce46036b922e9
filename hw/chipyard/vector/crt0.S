/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry: vectors on, stack, main; a trap ends the simulation with 1000 and its cause. With HTIF it
 * runs on spike, which takes the exit code from tohost. */
    .section .init, "ax"
    .globl _start
_start:
    la      t0, trapped
    csrw    mtvec, t0
    li      t0, (1 << 9) | (1 << 13)
    csrs    mstatus, t0
    la      sp, __stack_top
    call    main
    j       end
    .balign 4
trapped:
    csrr    a0, mcause
    addi    a0, a0, 1000
end:
#ifdef HTIF
    la      t0, tohost
    slli    a0, a0, 1
    ori     a0, a0, 1
    sd      a0, 0(t0)
#else
    li      t0, 0x10003000
    sw      a0, 4(t0)
#endif
1:  j       1b
#ifdef HTIF
    .section .tohost, "aw", @nobits
    .balign 64
    .globl tohost, fromhost
tohost:
    .skip 64
fromhost:
    .skip 64
#endif
