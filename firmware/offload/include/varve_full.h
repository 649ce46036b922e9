/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * varve.h on VarVE-full. Vectors and masks have types of the compiler so that it allocates registers; it may copy them
 * (vmv1r.v copies the widths too) but not keep them in memory, which check-vector looks after.
 */
#ifndef ASSASIN_OFFLOAD_VARVE_FULL_H
#define ASSASIN_OFFLOAD_VARVE_FULL_H

#define VV_LEFT(id, count) ((void)0)
#include "varve_streams.h"

typedef vint8m1_t vv_t;
typedef vbool8_t vvmask_t;

/* vl and vtype for the mask logic and the compiler's copies; an empty vs.rcnum sets NumE to its greatest. Mask logic
   takes vl bits. Where a register may hold more elements (EMAX, bits from 16 on of VVCFG) masks would lose some, so the
   program stops there by an illegal instruction, unless it was built for such units. */
#ifdef VARVE_FINE
#define VV_HOLDS "li %1, 0"
#else
#define VV_HOLDS "csrr %1, 0x845\n\tsrli %1, %1, 16\n\tbgeu %0, %1, 1f\n\tunimp\n1:"
#endif
#define VV_BEGIN()                                                                                                     \
    do {                                                                                                               \
        uintptr_t vv_vl, vv_most;                                                                                      \
        __asm__ volatile("vsetvli %0, x0, e8, m1, ta, ma\n\t" VV_HOLDS "\n\t.insn i 0x5b, 1, x0, x0, 0"                \
                         : "=&r"(vv_vl), "=&r"(vv_most)                                                                \
                         :                                                                                             \
                         : "vl", "vtype", "memory");                                                                   \
    } while (0)

/* The immediate has bit 11 as its sign. */
#define vv_next(set)                                                                                                   \
    __extension__({                                                                                                    \
        uintptr_t vv_n;                                                                                                \
        __asm__ volatile(".insn i 0x5b, 1, %0, x0, %1" : "=r"(vv_n) : "i"(((set) ^ 0x800) - 0x800) : "memory");        \
        vv_result(vv_n);                                                                                               \
    })
#define vv_nume() vv_next(0)
#define vv_consume(id, n)                                                                                              \
    __asm__ volatile(".insn r 0x5b, 0, 16, x0, %0, x%1" : : "r"((uintptr_t)(n)), "i"(id) : "memory")

#ifdef VARVE_PUBLISHED
#define VV_CONSUME_ONE(set, id, n)                                                                                     \
    do {                                                                                                               \
        if ((set) >> (id)&1)                                                                                           \
            vv_consume(id, n);                                                                                         \
    } while (0)
#define VV_STRIPS(set)                                                                                                 \
    for (uintptr_t vv_now = 1; vv_now; __extension__({                                                                 \
             vv_now = vv_nume();                                                                                       \
             VV_CONSUME_ONE(set, 0, vv_now);                                                                           \
             VV_CONSUME_ONE(set, 1, vv_now);                                                                           \
             VV_CONSUME_ONE(set, 2, vv_now);                                                                           \
             VV_CONSUME_ONE(set, 3, vv_now);                                                                           \
             VV_CONSUME_ONE(set, 4, vv_now);                                                                           \
             VV_CONSUME_ONE(set, 5, vv_now);                                                                           \
             VV_CONSUME_ONE(set, 6, vv_now);                                                                           \
             VV_CONSUME_ONE(set, 7, vv_now);                                                                           \
             VV_CONSUME_ONE(set, 8, vv_now);                                                                           \
         }))
#else
/* The branch tests the NumE of the strip before, so that the core need not wait for the unit; one empty strip more at
   the end does nothing. */
#define VV_STRIPS(set)                                                                                                 \
    _Pragma("clang loop unroll_count(2)") for (uintptr_t vv_now = 1, vv_before = 1; vv_before;                         \
                                               vv_before = vv_now, vv_now = vv_next(set))
/* The NumE of the strip two before, and two empty strips more. */
#define VV_STRIPS_FAR(set)                                                                                             \
    _Pragma("clang loop unroll_count(3)") for (uintptr_t vv_now = 1, vv_before = 1, vv_first = 1; vv_first;            \
                                               vv_first = vv_before, vv_before = vv_now, vv_now = vv_next(set))
#endif

#define vv_unpack(id)                                                                                                  \
    __extension__({                                                                                                    \
        vv_t vv_r;                                                                                                     \
        VV_UNPACK_INSN(vv_r, 0, id);                                                                                   \
        vv_r;                                                                                                          \
    })
#define vv_unpack_m(m, id)                                                                                             \
    __extension__({                                                                                                    \
        vv_t vv_r;                                                                                                     \
        __asm__ volatile(".insn r 0x5b, 2, %1, %0, x0, %2" : "=vr"(vv_r) : "i"((id) << 1), "vr"(m) : "memory");        \
        vv_r;                                                                                                          \
    })
/* The compiler gives the register of an unpack to the next result that it can: the unpack of the next strip then waits
   until that has been packed. */
VV_INLINE void vv_keep(vv_t v) {
    __asm__ volatile("" : : "vr"(v));
}
#define vv_pack(v, id)      VV_APPEND_INSN(0, v, id)
#define vv_pack_m(m, v, id) VV_APPEND_M_INSN(0, m, v, id)
#define vv_pack_count(v, id)                                                                                           \
    __extension__({                                                                                                    \
        uintptr_t vv_n;                                                                                                \
        VV_PACK_INSN(vv_n, 0, v, id);                                                                                  \
        vv_result(vv_n);                                                                                               \
    })
#define vv_pack_count_m(m, v, id)                                                                                      \
    __extension__({                                                                                                    \
        uintptr_t vv_n;                                                                                                \
        VV_PACK_M_INSN(vv_n, 0, m, v, id);                                                                             \
        vv_result(vv_n);                                                                                               \
    })

/* Forms of an operation with funct6 `f6`. low, high: what fits five bits. A destination of a predicated operation must
   not be v0, which the mask has: hence "=&vr". */
#define VV_IS_IMMEDIATE(x, low, high) (__builtin_constant_p(x) && (x) >= (low) && (x) <= (high))
#define VV_VV(name, type, f6)                                                                                          \
    VV_INLINE type vv_##name(vv_t a, vv_t b) {                                                                         \
        type r;                                                                                                        \
        __asm__ volatile(".insn r 0x2b, 0, %1, %0, %3, %2" : "=vr"(r) : "i"((f6) << 1 | 1), "vr"(a), "vr"(b));         \
        return r;                                                                                                      \
    }                                                                                                                  \
    VV_INLINE type vv_##name##_m(vvmask_t m, vv_t a, vv_t b) {                                                         \
        type r;                                                                                                        \
        __asm__ volatile(".insn r 0x2b, 0, %1, %0, %3, %2" : "=&vr"(r) : "i"((f6) << 1), "vr"(a), "vr"(b), "vm"(m));   \
        return r;                                                                                                      \
    }
#define VV_VX(name, type, f6, low, high)                                                                               \
    VV_INLINE type vv_##name##_x(vv_t a, intptr_t x) {                                                                 \
        type r;                                                                                                        \
        if (VV_IS_IMMEDIATE(x, low, high))                                                                             \
            __asm__ volatile(".insn r 0x2b, 3, %1, %0, x%3, %2"                                                        \
                             : "=vr"(r)                                                                                \
                             : "i"((f6) << 1 | 1), "vr"(a), "i"(x & 31));                                              \
        else                                                                                                           \
            __asm__ volatile(".insn r 0x2b, 4, %1, %0, %3, %2" : "=vr"(r) : "i"((f6) << 1 | 1), "vr"(a), "r"(x));      \
        return r;                                                                                                      \
    }                                                                                                                  \
    VV_INLINE type vv_##name##_xm(vvmask_t m, vv_t a, intptr_t x) {                                                    \
        type r;                                                                                                        \
        if (VV_IS_IMMEDIATE(x, low, high))                                                                             \
            __asm__ volatile(".insn r 0x2b, 3, %1, %0, x%3, %2"                                                        \
                             : "=&vr"(r)                                                                               \
                             : "i"((f6) << 1), "vr"(a), "i"(x & 31), "vm"(m));                                         \
        else                                                                                                           \
            __asm__ volatile(".insn r 0x2b, 4, %1, %0, %3, %2"                                                         \
                             : "=&vr"(r)                                                                               \
                             : "i"((f6) << 1), "vr"(a), "r"(x), "vm"(m));                                              \
        return r;                                                                                                      \
    }
#define VV_OP(name, type, f6)                                                                                          \
    VV_VV(name, type, f6)                                                                                              \
    VV_VX(name, type, f6, -16, 15)
VV_OP(add, vv_t, 0x00)
VV_OP(sub, vv_t, 0x02)
VV_VX(rsub, vv_t, 0x03, -16, 15)
VV_OP(min, vv_t, 0x05)
VV_OP(max, vv_t, 0x07)
VV_OP(bic, vv_t, 0x08)
VV_OP(and, vv_t, 0x09)
VV_OP(or, vv_t, 0x0a)
VV_OP(xor, vv_t, 0x0b)
VV_OP(div, vv_t, 0x21)
VV_OP(mul, vv_t, 0x24)
VV_VV(asl, vv_t, 0x25)
VV_VX(asl, vv_t, 0x25, 0, 31)
VV_VV(asr, vv_t, 0x29)
VV_VX(asr, vv_t, 0x29, 0, 31)
VV_OP(eq, vvmask_t, 0x18)
VV_OP(ne, vvmask_t, 0x19)
VV_OP(lt, vvmask_t, 0x1b)
VV_OP(le, vvmask_t, 0x1d)
VV_VX(ge, vvmask_t, 0x1e, -16, 15)
VV_VX(gt, vvmask_t, 0x1f, -16, 15)
#define vv_gt(a, b)      vv_lt(b, a)
#define vv_ge(a, b)      vv_le(b, a)
#define vv_gt_m(m, a, b) vv_lt_m(m, b, a)
#define vv_ge_m(m, a, b) vv_le_m(m, b, a)

VV_INLINE vv_t vv_dup(intptr_t x) {
    vv_t r;
    if (VV_IS_IMMEDIATE(x, -16, 15))
        __asm__ volatile(".insn r 0x2b, 3, 0x2f, %0, x%1, x0" : "=vr"(r) : "i"(x & 31));
    else
        __asm__ volatile(".insn r 0x2b, 4, 0x2f, %0, %1, x0" : "=vr"(r) : "r"(x));
    return r;
}
/** \param step a constant, -16 to 15 */
#define vv_index(first, step)                                                                                          \
    __extension__({                                                                                                    \
        vv_t vv_r;                                                                                                     \
        __asm__ volatile(".insn r 0x2b, 4, 0x29, %0, %1, x%2"                                                          \
                         : "=vr"(vv_r)                                                                                 \
                         : "r"((uintptr_t)(first)), "i"((step)&31));                                                   \
        vv_r;                                                                                                          \
    })
/* The first n elements, at most a register's, of a vector of fixed width, LMUL 1: signed, or unsigned. vl and vtype are
   set for the instruction, and then as VV_BEGIN does. */
#define VV_LOG2_BYTES(v)                                                                                               \
    _Generic((v), vint8m1_t : 0, vuint8m1_t : 0, vint16m1_t : 1, vuint16m1_t : 1, vint32m1_t : 2, vuint32m1_t : 2)
#define VV_FROM(v, n, is_unsigned)                                                                                     \
    __extension__({                                                                                                    \
        vv_t vv_r;                                                                                                     \
        uintptr_t vv_old;                                                                                              \
        __asm__ volatile(".insn i 0x57, 7, x0, %3, %4\n\t.insn r 0x2b, 2, 0x25, %0, x%5, %2\n\t"                       \
                         "vsetvli %1, x0, e8, m1, ta, ma"                                                              \
                         : "=&vr"(vv_r), "=r"(vv_old)                                                                  \
                         : "vr"(v), "r"((uintptr_t)(n)), "i"(0xc0 | VV_LOG2_BYTES(v) << 3), "i"(is_unsigned)           \
                         : "vl", "vtype");                                                                             \
        vv_r;                                                                                                          \
    })
#define vv_from_s(v, n) VV_FROM(v, n, 0)
#define vv_from_u(v, n) VV_FROM(v, n, 1)
VV_INLINE uintptr_t vv_num(vv_t v) {
    uintptr_t n;
    __asm__ volatile(".insn r 0x2b, 2, 0x21, %0, x0, %1" : "=r"(n) : "vr"(v));
    return n;
}
VV_INLINE int32_t vv_sum32(vv_t v) {
    intptr_t s;
    __asm__ volatile(".insn r 0x2b, 2, 0x21, %0, x1, %1" : "=r"(s) : "vr"(v));
    return (int32_t)s;
}
VV_INLINE int32_t vv_sum32_m(vvmask_t m, vv_t v) {
    intptr_t s;
    __asm__ volatile(".insn r 0x2b, 2, 0x20, %0, x1, %1" : "=r"(s) : "vr"(v), "vm"(m));
    return (int32_t)s;
}
VV_INLINE int64_t vv_sum(vv_t v) {
#if __riscv_xlen == 32
    uint32_t low, high;
    __asm__ volatile(".insn r 0x2b, 2, 0x21, %0, x1, %1" : "=r"(low) : "vr"(v));
    __asm__ volatile(".insn r 0x2b, 2, 0x21, %0, x2, %1" : "=r"(high) : "vr"(v));
    return (int64_t)((uint64_t)high << 32 | low);
#else
    int64_t s;
    __asm__ volatile(".insn r 0x2b, 2, 0x21, %0, x1, %1" : "=r"(s) : "vr"(v));
    return s;
#endif
}

/* Assembly, because the compiler would set vl for its own mask instructions. Not volatile: these touch no NumE. */
#ifdef VARVE_FINE
/* Slots of fewer than 8 bits: a register may hold more elements than VV_BEGIN's vl. All VLEN bits of a mask are taken.
 */
#define VV_MASK(name, insn)                                                                                            \
    VV_INLINE vvmask_t vv_mask_##name(vvmask_t a, vvmask_t b) {                                                        \
        vvmask_t r;                                                                                                    \
        uintptr_t vv_old;                                                                                              \
        __asm__("vsetvli %1, x0, e8, m8, ta, ma\n\t" insn " %0, %2, %3\n\tvsetvli %1, x0, e8, m1, ta, ma"              \
                : "=vr"(r), "=&r"(vv_old)                                                                              \
                : "vr"(a), "vr"(b)                                                                                     \
                : "vl", "vtype");                                                                                      \
        return r;                                                                                                      \
    }
#else
#define VV_MASK(name, insn)                                                                                            \
    VV_INLINE vvmask_t vv_mask_##name(vvmask_t a, vvmask_t b) {                                                        \
        vvmask_t r;                                                                                                    \
        __asm__(insn " %0, %1, %2" : "=vr"(r) : "vr"(a), "vr"(b));                                                     \
        return r;                                                                                                      \
    }
#endif
VV_MASK(and, "vmand.mm")
VV_MASK(or, "vmor.mm")
VV_MASK(andn, "vmandn.mm")
VV_MASK(nand, "vmnand.mm")
#define vv_mask_not(m) vv_mask_nand(m, m)

#endif
