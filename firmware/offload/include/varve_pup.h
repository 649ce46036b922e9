/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * varve.h on VarVE-pup: packed streams to and from vectors of lanes of VARVE_LANE bits (8, 16, 32; default 32), and
 * RVV's instructions between them. A vector takes VARVE_LMUL registers (1, 2, 4, 8; default 1). All instructions are
 * assembly with the vl and vtype that the strip has set; the compiler must be kept from vector code of its own
 * (-fno-vectorize -fno-slp-vectorize -mno-implicit-float).
 */
#ifndef ASSASIN_OFFLOAD_VARVE_PUP_H
#define ASSASIN_OFFLOAD_VARVE_PUP_H

/* Values left of each input; a declaration hides the one of the file. */
#define VV_LEFT(id, count) uintptr_t vv_left_##id __attribute__((unused)) = (uintptr_t)(count)
static uintptr_t vv_left_0 __attribute__((unused)), vv_left_1 __attribute__((unused)),
    vv_left_2 __attribute__((unused)), vv_left_3 __attribute__((unused)), vv_left_4 __attribute__((unused)),
    vv_left_5 __attribute__((unused)), vv_left_6 __attribute__((unused)), vv_left_7 __attribute__((unused)),
    vv_left_8 __attribute__((unused));

#include "varve_streams.h"

#ifndef VARVE_LANE
#define VARVE_LANE 32
#endif
#ifndef VARVE_LMUL
#define VARVE_LMUL 1
#endif
#if VARVE_LANE != 8 && VARVE_LANE != 16 && VARVE_LANE != 32
#error "varve_pup.h: VARVE_LANE must be 8, 16 or 32"
#endif
#if VARVE_LMUL != 1 && VARVE_LMUL != 2 && VARVE_LMUL != 4 && VARVE_LMUL != 8
#error "varve_pup.h: VARVE_LMUL must be 1, 2, 4 or 8"
#endif

#define VV_PASTE_(a, b, c, d, e) a##b##c##d##e
#define VV_PASTE(a, b, c, d, e)  VV_PASTE_(a, b, c, d, e)
/* VARVE_LANE / VARVE_LMUL as the name of a type has it. */
#if VARVE_LANE == VARVE_LMUL
#define VV_LANE_BITS_OF_A_MASK 1
#elif VARVE_LANE == 2 * VARVE_LMUL
#define VV_LANE_BITS_OF_A_MASK 2
#elif VARVE_LANE == 4 * VARVE_LMUL
#define VV_LANE_BITS_OF_A_MASK 4
#elif VARVE_LANE == 8 * VARVE_LMUL
#define VV_LANE_BITS_OF_A_MASK 8
#elif VARVE_LANE == 16 * VARVE_LMUL
#define VV_LANE_BITS_OF_A_MASK 16
#else
#define VV_LANE_BITS_OF_A_MASK 32
#endif
typedef VV_PASTE(vint, VARVE_LANE, m, VARVE_LMUL, _t) vv_t;
typedef VV_PASTE(vbool, VV_LANE_BITS_OF_A_MASK, _t, , ) vvmask_t;

/* vtype of a strip. */
#define VV_TEXT_(x) #x
#define VV_TEXT(x)  VV_TEXT_(x)
#define VV_VTYPE    "e" VV_TEXT(VARVE_LANE) ", m" VV_TEXT(VARVE_LMUL) ", ta, ma"

/* The mask that a compare gives may not lie in the group that it reads, but in its first register (RVV 1.0, 5.2). */
#if VARVE_LMUL == 1
#define VV_MASK_RESULT "=vr"
#else
#define VV_MASK_RESULT "=&vr"
#endif

#define VV_BEGIN() ((void)0)

VV_INLINE uintptr_t vv_set_length(uintptr_t left) {
    uintptr_t vl;
    __asm__ volatile("vsetvli %0, %1, " VV_VTYPE : "=r"(vl) : "r"(left) : "vl", "vtype", "memory");
    return vl;
}
VV_INLINE uintptr_t vv_length(void) {
    uintptr_t vl;
    __asm__ volatile("csrr %0, vl" : "=r"(vl) : : "memory");
    return vl;
}

#define VV_LESS(set, id, least) ((set) >> (id)&1 && vv_left_##id < (least) ? vv_left_##id : (least))
#define VV_LEAST_LEFT(set)                                                                                             \
    __extension__({                                                                                                    \
        uintptr_t vv_least = UINTPTR_MAX;                                                                              \
        vv_least = VV_LESS(set, 0, vv_least);                                                                          \
        vv_least = VV_LESS(set, 1, vv_least);                                                                          \
        vv_least = VV_LESS(set, 2, vv_least);                                                                          \
        vv_least = VV_LESS(set, 3, vv_least);                                                                          \
        vv_least = VV_LESS(set, 4, vv_least);                                                                          \
        vv_least = VV_LESS(set, 5, vv_least);                                                                          \
        vv_least = VV_LESS(set, 6, vv_least);                                                                          \
        vv_least = VV_LESS(set, 7, vv_least);                                                                          \
        vv_least = VV_LESS(set, 8, vv_least);                                                                          \
        vv_least;                                                                                                      \
    })
#define VV_TAKE(set, id, count)                                                                                        \
    do {                                                                                                               \
        if ((set) >> (id)&1)                                                                                           \
            vv_left_##id -= (count);                                                                                   \
    } while (0)
#define VV_TAKE_ALL(set, count)                                                                                        \
    __extension__({                                                                                                    \
        VV_TAKE(set, 0, count);                                                                                        \
        VV_TAKE(set, 1, count);                                                                                        \
        VV_TAKE(set, 2, count);                                                                                        \
        VV_TAKE(set, 3, count);                                                                                        \
        VV_TAKE(set, 4, count);                                                                                        \
        VV_TAKE(set, 5, count);                                                                                        \
        VV_TAKE(set, 6, count);                                                                                        \
        VV_TAKE(set, 7, count);                                                                                        \
        VV_TAKE(set, 8, count);                                                                                        \
        0;                                                                                                             \
    })
/* The streams of a set move together, so one count of what is left is enough. Streams with VV_TO_END (all of the set,
   and given as that constant) end when an unpack has brought vl to 0. */
#define VV_STRIPS(set)                                                                                                 \
    for (uintptr_t vv_total = VV_LEAST_LEFT(set), vv_rest = vv_total, vv_vl;                                           \
         (vv_vl = vv_set_length(vv_rest)) != 0 || VV_TAKE_ALL(set, vv_total - vv_rest);                                \
         vv_rest = __builtin_constant_p(vv_total) && vv_total == VV_TO_END ? (vv_length() ? VV_TO_END : 0)             \
                                                                           : vv_rest - vv_vl)

#define vv_unpack(id)                                                                                                  \
    __extension__({                                                                                                    \
        vv_t vv_r;                                                                                                     \
        VV_UNPACK_INSN(vv_r, 1, id);                                                                                   \
        vv_r;                                                                                                          \
    })
/* Unpacking takes no mask; what the mask leaves out is not used. */
#define vv_unpack_m(m, id)  ((void)(m), vv_unpack(id))
#define vv_pack(v, id)      VV_APPEND_INSN(1, v, id)
#define vv_pack_m(m, v, id) VV_APPEND_M_INSN(1, m, v, id)
#define vv_pack_count(v, id)                                                                                           \
    __extension__({                                                                                                    \
        uintptr_t vv_n;                                                                                                \
        VV_PACK_INSN(vv_n, 1, v, id);                                                                                  \
        vv_result(vv_n);                                                                                               \
    })
#define vv_pack_count_m(m, v, id)                                                                                      \
    __extension__({                                                                                                    \
        uintptr_t vv_n;                                                                                                \
        VV_PACK_M_INSN(vv_n, 1, m, v, id);                                                                             \
        vv_result(vv_n);                                                                                               \
    })

VV_INLINE vvmask_t vv_mask_and(vvmask_t a, vvmask_t b) {
    vvmask_t r;
    __asm__ volatile("vmand.mm %0, %1, %2" : "=vr"(r) : "vr"(a), "vr"(b));
    return r;
}
VV_INLINE vvmask_t vv_mask_or(vvmask_t a, vvmask_t b) {
    vvmask_t r;
    __asm__ volatile("vmor.mm %0, %1, %2" : "=vr"(r) : "vr"(a), "vr"(b));
    return r;
}
VV_INLINE vvmask_t vv_mask_andn(vvmask_t a, vvmask_t b) {
    vvmask_t r;
    __asm__ volatile("vmandn.mm %0, %1, %2" : "=vr"(r) : "vr"(a), "vr"(b));
    return r;
}
VV_INLINE vvmask_t vv_mask_not(vvmask_t a) {
    vvmask_t r;
    __asm__ volatile("vmnand.mm %0, %1, %1" : "=vr"(r) : "vr"(a));
    return r;
}

#define VV_IS_IMMEDIATE(x, low, high) (__builtin_constant_p(x) && (x) >= (low) && (x) <= (high))
/* Zeros first, because RVV leaves inactive elements as they were. */
#define VV_VV(name, insn)                                                                                              \
    VV_INLINE vv_t vv_##name(vv_t a, vv_t b) {                                                                         \
        vv_t r;                                                                                                        \
        __asm__ volatile(insn ".vv %0, %1, %2" : "=vr"(r) : "vr"(a), "vr"(b));                                         \
        return r;                                                                                                      \
    }                                                                                                                  \
    VV_INLINE vv_t vv_##name##_m(vvmask_t m, vv_t a, vv_t b) {                                                         \
        vv_t r;                                                                                                        \
        __asm__ volatile("vmv.v.i %0, 0\n\t" insn ".vv %0, %1, %2, v0.t" : "=&vr"(r) : "vr"(a), "vr"(b), "vm"(m));     \
        return r;                                                                                                      \
    }
#define VV_VX(name, insn)                                                                                              \
    VV_INLINE vv_t vv_##name##_x(vv_t a, intptr_t x) {                                                                 \
        vv_t r;                                                                                                        \
        __asm__ volatile(insn ".vx %0, %1, %2" : "=vr"(r) : "vr"(a), "r"(x));                                          \
        return r;                                                                                                      \
    }                                                                                                                  \
    VV_INLINE vv_t vv_##name##_xm(vvmask_t m, vv_t a, intptr_t x) {                                                    \
        vv_t r;                                                                                                        \
        __asm__ volatile("vmv.v.i %0, 0\n\t" insn ".vx %0, %1, %2, v0.t" : "=&vr"(r) : "vr"(a), "r"(x), "vm"(m));      \
        return r;                                                                                                      \
    }
#define VV_OP(name, insn)                                                                                              \
    VV_VV(name, insn)                                                                                                  \
    VV_VX(name, insn)
VV_OP(add, "vadd")
VV_OP(sub, "vsub")
VV_VX(rsub, "vrsub")
VV_OP(min, "vmin")
VV_OP(max, "vmax")
VV_OP(and, "vand")
VV_OP(or, "vor")
VV_OP(xor, "vxor")
VV_OP(mul, "vmul")
VV_OP(asl, "vsll")
VV_OP(asr, "vsra")
VV_INLINE vv_t vv_bic(vv_t a, vv_t b) {
    return vv_and(a, vv_xor_x(b, -1));
}
VV_INLINE vv_t vv_bic_x(vv_t a, intptr_t x) {
    return vv_and_x(a, ~x);
}

VV_INLINE vv_t vv_bic_m(vvmask_t m, vv_t a, vv_t b) {
    return vv_and_m(m, a, vv_xor_x(b, -1));
}
VV_INLINE vv_t vv_bic_xm(vvmask_t m, vv_t a, intptr_t x) {
    return vv_and_xm(m, a, ~x);
}

/* A compare and one inside a mask. */
#define VV_COMPARE_VV(name, insn)                                                                                      \
    VV_INLINE vvmask_t vv_##name(vv_t a, vv_t b) {                                                                     \
        vvmask_t r;                                                                                                    \
        __asm__ volatile(insn ".vv %0, %1, %2" : VV_MASK_RESULT(r) : "vr"(a), "vr"(b));                                \
        return r;                                                                                                      \
    }                                                                                                                  \
    VV_INLINE vvmask_t vv_##name##_m(vvmask_t m, vv_t a, vv_t b) {                                                     \
        return vv_mask_and(m, vv_##name(a, b));                                                                        \
    }
#define VV_COMPARE_VX(name, insn)                                                                                      \
    VV_INLINE vvmask_t vv_##name##_x(vv_t a, intptr_t x) {                                                             \
        vvmask_t r;                                                                                                    \
        if (VV_IS_IMMEDIATE(x, -16, 15))                                                                               \
            __asm__ volatile(insn ".vi %0, %1, %2" : VV_MASK_RESULT(r) : "vr"(a), "i"(x));                             \
        else                                                                                                           \
            __asm__ volatile(insn ".vx %0, %1, %2" : VV_MASK_RESULT(r) : "vr"(a), "r"(x));                             \
        return r;                                                                                                      \
    }                                                                                                                  \
    VV_INLINE vvmask_t vv_##name##_xm(vvmask_t m, vv_t a, intptr_t x) {                                                \
        return vv_mask_and(m, vv_##name##_x(a, x));                                                                    \
    }
VV_COMPARE_VV(eq, "vmseq")
VV_COMPARE_VX(eq, "vmseq")
VV_COMPARE_VV(ne, "vmsne")
VV_COMPARE_VX(ne, "vmsne")
VV_COMPARE_VV(lt, "vmslt")
VV_COMPARE_VV(le, "vmsle")
VV_COMPARE_VX(le, "vmsle")
VV_COMPARE_VX(gt, "vmsgt")
VV_INLINE vvmask_t vv_lt_x(vv_t a, intptr_t x) {
    vvmask_t r;
    __asm__ volatile("vmslt.vx %0, %1, %2" : VV_MASK_RESULT(r) : "vr"(a), "r"(x));
    return r;
}
VV_INLINE vvmask_t vv_lt_xm(vvmask_t m, vv_t a, intptr_t x) {
    return vv_mask_and(m, vv_lt_x(a, x));
}
#define vv_ge_x(a, x)     vv_mask_not(vv_lt_x(a, x))
#define vv_ge_xm(m, a, x) vv_mask_andn(m, vv_lt_x(a, x))
#define vv_gt(a, b)       vv_lt(b, a)
#define vv_ge(a, b)       vv_le(b, a)
#define vv_gt_m(m, a, b)  vv_lt_m(m, b, a)
#define vv_ge_m(m, a, b)  vv_le_m(m, b, a)

VV_INLINE vv_t vv_dup(intptr_t x) {
    vv_t r;
    __asm__ volatile("vmv.v.x %0, %1" : "=vr"(r) : "r"(x));
    return r;
}
/* A sum has the width of a lane. */
#if VARVE_LANE == 32
VV_INLINE int32_t vv_sum32(vv_t v) {
    intptr_t s;
    vint32m1_t t;
    __asm__ volatile("vmv.s.x %1, x0\n\tvredsum.vs %1, %2, %1\n\tvmv.x.s %0, %1" : "=r"(s), "=&vr"(t) : "vr"(v));
    return (int32_t)s;
}
VV_INLINE int32_t vv_sum32_m(vvmask_t m, vv_t v) {
    intptr_t s;
    vint32m1_t t;
    __asm__ volatile("vmv.s.x %1, x0\n\tvredsum.vs %1, %2, %1, v0.t\n\tvmv.x.s %0, %1"
                     : "=r"(s), "=&vr"(t)
                     : "vr"(v), "vm"(m));
    return (int32_t)s;
}
#endif

#endif
