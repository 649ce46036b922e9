/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks itself in the manner of riscv-tests: gp holds the number of the test under way, `tohost` gets 1 for success or number * 2 + 1.
 * With -DINTERRUPT also takes the external interrupt; with -DBREAK=n test n fails on purpose; with -DENDLESS it never ends. */

#ifndef BREAK
#define BREAK 0
#endif

/* Test NUMBER: REG must hold VALUE. */
.macro expect number, reg, value
    li      gp, \number
    li      t6, \value
    .if     \number == BREAK
    xori    t6, t6, 1
    .endif
    bne     \reg, t6, finish
.endm

    .option norelax             /* gp is no pointer here */
    .section .text.init, "ax"
    .globl  _start
_start:
    la      t0, on_trap
    csrw    mtvec, t0
    li      s11, 0

    /* Data, all widths. */
    la      s0, values
    lb      a0, 3(s0)
    expect  2, a0, 0xffffff87
    lhu     a0, 2(s0)
    expect  3, a0, 0x8765
    lw      a0, 4(s0)
    lw      a1, 0(s0)
    mulhu   a2, a0, a1
    expect  4, a2, 0x0bae6226
    divu    a2, a1, a0
    expect  5, a2, 6
    rem     a2, a1, a0
    expect  6, a2, 0xf5d3b18f

    /* Trap causes and values: on_trap leaves mcause in s2 and mtval in s3, and skips the instruction. */
    ecall
    expect  7, s2, 11
    .word   0
    expect  8, s2, 2
    expect  9, s3, 0
    lw      a0, 1(s0)
    expect  10, s2, 4
    sub     s3, s3, s0
    expect  11, s3, 1
    sw      a0, -4(zero)
    expect  12, s2, 7
    expect  13, s3, -4
    csrr    a0, satp
    expect  14, s2, 2
    csrw    mhartid, a0
    expect  15, s2, 2
    expect  16, s11, 6

    /* Code that was just written. */
    la      t0, patched
    li      t1, 0x02a00513      /* li a0, 42 */
    sw      t1, 0(t0)
    fence.i
patched:
    li      a0, 7
    expect  17, a0, 42

#ifdef INTERRUPT
    li      s2, 0
    li      t0, 0x800
    csrw    mie, t0
    la      s4, meip
    li      t0, 1
    sw      t0, 0(s4)
    nop
    nop
    expect  18, s2, 0           /* mstatus.MIE is off */
    csrr    a0, mip
    expect  19, a0, 0x800
    csrsi   mstatus, 8
    nop
    nop
    expect  20, s2, 0x8000000b
    expect  21, s11, 7
#endif

    /* What the signature shows. */
    la      t0, begin_signature
    li      t1, 0x01234567
    sw      t1, 0(t0)
    sw      s11, 4(t0)

#ifdef ENDLESS
1:  j       1b
#endif
    li      gp, 0
finish:
    slli    gp, gp, 1
    ori     gp, gp, 1
    la      t0, tohost
    sw      gp, 0(t0)
    sw      zero, 4(t0)
1:  j       1b

    .align  2
on_trap:
    csrr    s2, mcause
    csrr    s3, mtval
    addi    s11, s11, 1
    bltz    s2, 1f
    csrr    t5, mepc
    addi    t5, t5, 4
    csrw    mepc, t5
    mret
1:  sw      zero, 0(s4)
    mret

    .data
    .align  4
values:
    .word   0x87654321, 0x16161616
    .globl  tohost, fromhost, meip, begin_signature, end_signature
    .align  6
tohost:
    .dword  0
fromhost:
    .dword  0
meip:
    .word   0
    .align  4
begin_signature:
    .word   0, 0, 0xcafef00d
end_signature:
