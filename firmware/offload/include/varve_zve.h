/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Types and accesses of the generated filters in RVV's Zve32x. VARVE_LMUL (1, 2, 4, 8; default 1) is the number of
 * registers that a vector of 32-bit columns takes. Columns of 8 bits have as many elements and take a quarter. They are
 * compared at 8 bits with VARVE_NARROW, which VARVE_LMUL above 1 implies, and as 32-bit lanes without it, which is the
 * shape of the dissertation's code.
 */
#ifndef ASSASIN_OFFLOAD_VARVE_ZVE_H
#define ASSASIN_OFFLOAD_VARVE_ZVE_H

#include <riscv_vector.h>
#include <stddef.h>
#include <stdint.h>

#define VZ_INLINE static inline __attribute__((always_inline, unused))

#ifndef VARVE_LMUL
#define VARVE_LMUL 1
#endif
#if VARVE_LMUL > 1 && !defined(VARVE_NARROW)
#define VARVE_NARROW
#endif

#define VZ_PASTE_(a, b, c) a##b##c
#define VZ_PASTE(a, b, c)  VZ_PASTE_(a, b, c)
#if VARVE_LMUL == 1
#define VZ_GROUP32 m1
#define VZ_GROUP8  mf4
typedef vbool32_t vzmask_t;
#elif VARVE_LMUL == 2
#define VZ_GROUP32 m2
#define VZ_GROUP8  mf2
typedef vbool16_t vzmask_t;
#elif VARVE_LMUL == 4
#define VZ_GROUP32 m4
#define VZ_GROUP8  m1
typedef vbool8_t vzmask_t;
#elif VARVE_LMUL == 8
#define VZ_GROUP32 m8
#define VZ_GROUP8  m2
typedef vbool4_t vzmask_t;
#else
#error "varve_zve.h: VARVE_LMUL must be 1, 2, 4 or 8"
#endif

/** Values of 32 bits, compared as signed numbers. */
typedef VZ_PASTE(vint32, VZ_GROUP32, _t) vz32_t;
/** Values of 8 bits. */
typedef VZ_PASTE(vuint8, VZ_GROUP8, _t) vz8_t;

/** Elements of this strip, for `left` that are left. */
VZ_INLINE size_t vz_length(size_t left) {
    return VZ_PASTE(__riscv_vsetvl_e32, VZ_GROUP32, )(left);
}
VZ_INLINE vz32_t vz_load32(const int32_t *p, size_t vl) {
    return VZ_PASTE(__riscv_vle32_v_i32, VZ_GROUP32, )(p, vl);
}
VZ_INLINE vz8_t vz_load8(const uint8_t *p, size_t vl) {
    return VZ_PASTE(__riscv_vle8_v_u8, VZ_GROUP8, )(p, vl);
}
VZ_INLINE void vz_store32(int32_t *p, vz32_t v, size_t vl) {
    __riscv_vse32(p, v, vl);
}
VZ_INLINE void vz_store8(uint8_t *p, vz8_t v, size_t vl) {
    __riscv_vse8(p, v, vl);
}

/** An 8-bit column as its compares have it. */
#ifdef VARVE_NARROW
typedef vz8_t vzkey8_t;
VZ_INLINE vzkey8_t vz_key8(vz8_t v, size_t vl) {
    (void)vl;
    return v;
}
#else
typedef VZ_PASTE(vuint32, VZ_GROUP32, _t) vzkey8_t;
VZ_INLINE vzkey8_t vz_key8(vz8_t v, size_t vl) {
    return VZ_PASTE(__riscv_vzext_vf4_u32, VZ_GROUP32, )(v, vl);
}
#endif
#define vz_gt8(v, x, vl)  __riscv_vmsgtu(v, x, vl)
#define vz_le8(v, x, vl)  __riscv_vmsleu(v, x, vl)
#define vz_gt32(v, x, vl) __riscv_vmsgt(v, x, vl)
#define vz_le32(v, x, vl) __riscv_vmsle(v, x, vl)

/* A range, with low above the least number: two compares at LMUL 1, as the dissertation's code has it; else a
 * subtraction and one unsigned compare. */
#if VARVE_LMUL == 1
#define vz_between32(v, low, high, vl) __riscv_vmand(vz_gt32(v, (low)-1, vl), vz_le32(v, high, vl), vl)
#define vz_outside32(v, low, high, vl) __riscv_vmor(vz_le32(v, (low)-1, vl), vz_gt32(v, high, vl), vl)
#define vz_between8(v, low, high, vl)  __riscv_vmand(vz_gt8(v, (low)-1, vl), vz_le8(v, high, vl), vl)
#define vz_outside8(v, low, high, vl)  __riscv_vmor(vz_le8(v, (low)-1, vl), vz_gt8(v, high, vl), vl)
#else
VZ_INLINE VZ_PASTE(vuint32, VZ_GROUP32, _t) vz_above32(vz32_t v, int32_t low, size_t vl) {
    return VZ_PASTE(__riscv_vreinterpret_v_i32, VZ_GROUP32, VZ_PASTE(_u32, VZ_GROUP32, ))(__riscv_vsub(v, low, vl));
}
#define vz_between32(v, low, high, vl) __riscv_vmsleu(vz_above32(v, low, vl), (uint32_t)(high) - (uint32_t)(low), vl)
#define vz_outside32(v, low, high, vl) __riscv_vmsgtu(vz_above32(v, low, vl), (uint32_t)(high) - (uint32_t)(low), vl)
#define vz_between8(v, low, high, vl)  __riscv_vmsleu(__riscv_vsub(v, low, vl), (high) - (low), vl)
#define vz_outside8(v, low, high, vl)  __riscv_vmsgtu(__riscv_vsub(v, low, vl), (high) - (low), vl)
#endif

#endif
