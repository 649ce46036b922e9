/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * What varve_full.h and varve_pup.h have in common: declarations and ends of streams (custom-2, funct3 0). Every
 * statement that touches a stream is volatile, which keeps their order; declarations, packs and ends clobber memory.
 */
#ifndef ASSASIN_OFFLOAD_VARVE_STREAMS_H
#define ASSASIN_OFFLOAD_VARVE_STREAMS_H

#include <riscv_vector.h>

/* A value that a macro gives and that need not be used. */
VV_INLINE uintptr_t vv_result(uintptr_t value) {
    return value;
}

VV_INLINE intptr_t vv_number(intptr_t x) {
    __asm__ volatile("" : "+r"(x));
    return x;
}

#define VV_DECLARE(funct7, id, format, base, count)                                                                    \
    __asm__ volatile("csrw 0x840, %0\n\t.insn r 0x5b, 0, %1, x%2, %3, %4"                                              \
                     :                                                                                                 \
                     : "r"((uintptr_t)(format)), "i"(funct7), "i"(id), "r"((uintptr_t)(base)), "r"((uintptr_t)(count)) \
                     : "memory")
/* An output's word has 0 in the field of rs2. */
#define VV_DECLARE_OUT(funct7, id, format, base)                                                                       \
    __asm__ volatile("csrw 0x840, %0\n\t.insn r 0x5b, 0, %1, x%2, %3, x0"                                              \
                     :                                                                                                 \
                     : "r"((uintptr_t)(format)), "i"(funct7), "i"(id), "r"((uintptr_t)(base))                          \
                     : "memory")
#define VV_AUX(address) __asm__ volatile("csrw 0x841, %0" : : "r"((uintptr_t)(address)) : "memory")

#define VV_IN_FR(id, base, width, count, flags)                                                                        \
    VV_LEFT(id, count);                                                                                                \
    VV_DECLARE(0, id, VV_FORMAT(width, flags), base, count)
#define VV_IN_VR(id, base, widths, count, flags)                                                                       \
    VV_LEFT(id, count);                                                                                                \
    VV_AUX(widths);                                                                                                    \
    VV_DECLARE(1, id, VV_FORMAT_AUX(flags, widths), base, count)
#define VV_IN_HR(id, base, table, width, count, flags)                                                                 \
    VV_LEFT(id, count);                                                                                                \
    VV_AUX(table);                                                                                                     \
    VV_DECLARE(2, id, VV_FORMAT(width, flags), base, count)
#define VV_OUT_FW(id, base, width, flags) VV_DECLARE_OUT(8, id, VV_FORMAT(width, flags), base)
#define VV_OUT_VW(id, base, widths, flags)                                                                             \
    VV_AUX(widths);                                                                                                    \
    VV_DECLARE_OUT(9, id, VV_FORMAT_AUX(flags, widths), base)
#define VV_OUT_HW(id, base, table, width, flags)                                                                       \
    VV_AUX(table);                                                                                                     \
    VV_DECLARE_OUT(10, id, VV_FORMAT(width, flags), base)

/* A program may look at a stream before it is ended; `object` as VSSEL has it. */
#ifndef VV_ENDING
#define VV_ENDING(object) ((void)0)
#endif
#define VV_END(funct7, id)                                                                                             \
    __extension__({                                                                                                    \
        uintptr_t vv_done;                                                                                             \
        VV_ENDING(((funct7)&1) << 4 | (id));                                                                           \
        __asm__ volatile(".insn r 0x5b, 0, %1, %0, x0, x%2" : "=r"(vv_done) : "i"(funct7), "i"(id) : "memory");        \
        vv_result(vv_done);                                                                                            \
    })
#define VV_END_IN(id)  VV_END(24, id)
#define VV_END_OUT(id) VV_END(25, id)

/* Transfers (funct3 2 and 3); kind: 0 full, 1 pup. */
#define VV_UNPACK_INSN(result, kind, id)                                                                               \
    __asm__ volatile(".insn r 0x5b, 2, %1, %0, x0, x0" : "=vr"(result) : "i"((kind) << 5 | (id) << 1 | 1) : "memory")
#define VV_PACK_INSN(count, kind, v, id)                                                                               \
    __asm__ volatile(".insn r 0x5b, 3, %1, %0, %2, x0"                                                                 \
                     : "=r"(count)                                                                                     \
                     : "i"((kind) << 5 | (id) << 1 | 1), "vr"(v)                                                       \
                     : "memory")
#define VV_PACK_M_INSN(count, kind, m, v, id)                                                                          \
    __asm__ volatile(".insn r 0x5b, 3, %1, %0, %2, %3"                                                                 \
                     : "=r"(count)                                                                                     \
                     : "i"((kind) << 5 | (id) << 1), "vr"(v), "vr"(m)                                                  \
                     : "memory")
/* Packs whose count nobody wants: no register of the core waits for it. */
#define VV_APPEND_INSN(kind, v, id)                                                                                    \
    __asm__ volatile(".insn r 0x5b, 3, %0, x0, %1, x0" : : "i"((kind) << 5 | (id) << 1 | 1), "vr"(v) : "memory")
#define VV_APPEND_M_INSN(kind, m, v, id)                                                                               \
    __asm__ volatile(".insn r 0x5b, 3, %0, x0, %1, %2" : : "i"((kind) << 5 | (id) << 1), "vr"(v), "vr"(m) : "memory")

#endif
