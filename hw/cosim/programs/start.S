/* SPDX-License-Identifier: BSD-3-Clause */
/* Start-up of a C program for run-elf: stack, bss, main; its result goes to `tohost` (0 = passed). The first instruction executed is at
 * offset 0x80 as well, where some cores begin. */
    .section .text.init, "ax"
    .globl  _start
_start:
    .option push
    .option norelax
    j       1f
    .org    _start + 0x80
1:  la      sp, stack_top
    la      t0, bss_start
    la      t1, bss_end
2:  bgeu    t0, t1, 3f
    sw      zero, 0(t0)
    addi    t0, t0, 4
    j       2b
3:  call    main
    slli    a0, a0, 1
    ori     a0, a0, 1
    la      t0, tohost
    sw      a0, 0(t0)
    sw      zero, 4(t0)
4:  j       4b
    .option pop

    .data
    .align  3
    .globl  tohost, fromhost
tohost:
    .dword  0
fromhost:
    .dword  0
