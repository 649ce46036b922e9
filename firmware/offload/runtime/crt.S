/* SPDX-License-Identifier: BSD-3-Clause */
/* Start of an offload: the firmware has loaded all segments and set PC to _start; registers and mtvec are 0, so a trap stops the core. */
#include <assasin_contract.h>

    .weak assasin_landing           /* where every StreamLoad lands at the end of its stream; see assasin.h. 0: the core hangs */

    .section .text.start, "ax", @progbits
    .globl _start
    .type _start, @function
_start:
    .option push
    .option norelax
    la      gp, __global_pointer$
    .option pop
    la      sp, __stack_top
    la      t0, __bss_start
    la      t1, __bss_end
1:  bgeu    t0, t1, 2f
    sw      zero, 0(t0)
    addi    t0, t0, 4
    j       1b
2:
#if !defined(ASSASIN_SP) && !defined(ASSASIN_MEM)
    lui     t0, %hi(assasin_landing)
    addi    t0, t0, %lo(assasin_landing)
    csrw    ASSASIN_CSR_SEPILOGUE, t0
#endif
#ifdef ASSASIN_SP                   /* ping-pong: waits are for half a ring */
    csrr    t0, ASSASIN_CSR_STREAMCFG
    srli    t0, t0, 8
    li      t1, 1
    sll     t1, t1, t0
    srli    t1, t1, 1
    csrw    ASSASIN_CSR_SGRAIN, t1
#endif
#ifdef ASSASIN_VARVE
    li      t0, 0x200               /* mstatus.VS: initial */
    csrs    mstatus, t0
    .word   0xcc00f057              /* vsetivli x0, 1, e8, m1, ta, ma: a copy of a vector register is illegal under vill */
#endif
    call    compute
    ecall                           /* ends the piece, a0 = exit code */
3:  j       3b
    .size _start, . - _start

/* Which cores this is built for: the drive refuses others' (enum ScompVariant of the contract). */
#if defined(ASSASIN_SP)
#define VARIANT SCOMP_VARIANT_SP
#elif defined(ASSASIN_MEM)
#define VARIANT SCOMP_VARIANT_MEM
#elif defined(ASSASIN_ZK)
#define VARIANT SCOMP_VARIANT_SBX
#elif defined(ASSASIN_VARVE)        /* SCOMP_VARIANT_V, _VP or _VF */
#define VARIANT ASSASIN_VARVE
#else
#define VARIANT SCOMP_VARIANT_SB
#endif
    .section .note.assasin, "a", @note
    .balign 4
    .word   8, 4, SCOMP_NOTE_VARIANT
    .string "ASSASIN"
    .word   VARIANT
