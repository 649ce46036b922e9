/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * varve.h on the functional model (hw/cosim/varve_model.h), for programs of the machine that it is built on: each
 * intrinsic executes the word that VARVE_FULL would assemble. runtime/varve_native.cpp has the functions. Streams lie
 * in the process' memory. Registers are given to results in turn, so a strip may not use a value after 31 more results
 * unless vv_hold names it; that stops the program with a message, as does every trap.
 */
#ifndef ASSASIN_OFFLOAD_VARVE_MODEL_H
#define ASSASIN_OFFLOAD_VARVE_MODEL_H

#ifdef __cplusplus
extern "C" {
#endif

/** A register and which result it holds. */
typedef struct {
    uint32_t reg, serial;
} vv_t;
typedef struct {
    uint32_t reg, serial;
} vvmask_t;

/** Builds a model with these parameters (bits); without it, the first intrinsic builds one of 256, 8, 64. */
void vv_model_configure(uint32_t vlen, uint32_t g, uint32_t mbmax);
/** Instructions and strips executed since the last vv_model_configure. */
void vv_model_counts(uint64_t *instructions, uint64_t *strips);
/** Executes a word; returns what rd gets. Stops the program at a trap. */
uintptr_t vv_model_step(uint32_t insn, uintptr_t rs1, uintptr_t rs2);
void vv_model_csr(uint32_t number, uintptr_t value);
/** A register for a result, 1 to 31. */
vv_t vv_model_result(void);
/** The register of a value that is still there. */
uint32_t vv_model_use(uint32_t reg, uint32_t serial);
/** Keeps the register of a value from other results until the end of the strip. */
void vv_model_hold(vv_t v);
/** Copies a mask to v0. */
void vv_model_mask(vvmask_t m);

#ifdef __cplusplus
}
#endif

VV_INLINE void vv_model_declare(uint32_t funct7, uint32_t id, uint32_t format, uintptr_t aux, const void *base,
                                uintptr_t count) {
    vv_model_csr(0x840, format);
    vv_model_csr(0x841, aux);
    /* rs1 and rs2 are any registers; an output has none for rs2 */
    vv_model_step(funct7 << 25 | (funct7 & 8 ? 0 : 11u << 20) | 10u << 15 | id << 7 | 0x5b, (uintptr_t)base, count);
}
#define VV_IN_FR(id, base, width, count, flags)                                                                        \
    vv_model_declare(0, id, VV_FORMAT(width, flags), 0, (const void *)(uintptr_t)(base), count)
#define VV_IN_VR(id, base, widths, count, flags)                                                                       \
    vv_model_declare(1, id, VV_FORMAT_AUX(flags, widths), (uintptr_t)(widths), (const void *)(uintptr_t)(base), count)
#define VV_IN_HR(id, base, table, width, count, flags)                                                                 \
    vv_model_declare(2, id, VV_FORMAT(width, flags), (uintptr_t)(table), (const void *)(uintptr_t)(base), count)
#define VV_OUT_FW(id, base, width, flags) vv_model_declare(8, id, VV_FORMAT(width, flags), 0, base, 0)
#define VV_OUT_VW(id, base, widths, flags)                                                                             \
    vv_model_declare(9, id, VV_FORMAT_AUX(flags, widths), (uintptr_t)(widths), base, 0)
#define VV_OUT_HW(id, base, table, width, flags)                                                                       \
    vv_model_declare(10, id, VV_FORMAT(width, flags), (uintptr_t)(table), base, 0)
#define VV_END_IN(id)     vv_model_step(24u << 25 | (uint32_t)(id) << 20 | 10u << 7 | 0x5b, 0, 0)
#define VV_END_OUT(id)    vv_model_step(25u << 25 | (uint32_t)(id) << 20 | 10u << 7 | 0x5b, 0, 0)
#define VV_BEGIN()        ((void)vv_next(0))
#define vv_next(set)      vv_model_step((uint32_t)(set) << 20 | 1u << 12 | 10u << 7 | 0x5b, 0, 0)
#define vv_nume()         vv_next(0)
#define vv_hold(v)        vv_model_hold(v)
#define vv_consume(id, n) ((void)vv_model_step(16u << 25 | (uint32_t)(id) << 20 | 10u << 15 | 0x5b, n, 0))
#define VV_STRIPS(set)    for (uintptr_t vv_now = 1, vv_before = 1; vv_before; vv_before = vv_now, vv_now = vv_next(set))

VV_INLINE vv_t vv_unpack(uint32_t id) {
    vv_t r = vv_model_result();
    vv_model_step(id << 26 | 1u << 25 | 2u << 12 | r.reg << 7 | 0x5b, 0, 0);
    return r;
}
VV_INLINE vv_t vv_unpack_m(vvmask_t m, uint32_t id) {
    uint32_t mask = vv_model_use(m.reg, m.serial);
    vv_t r = vv_model_result();
    vv_model_step(id << 26 | mask << 20 | 2u << 12 | r.reg << 7 | 0x5b, 0, 0);
    return r;
}
VV_INLINE uintptr_t vv_pack_count(vv_t v, uint32_t id) {
    return vv_model_step(id << 26 | 1u << 25 | vv_model_use(v.reg, v.serial) << 15 | 3u << 12 | 10u << 7 | 0x5b, 0, 0);
}
VV_INLINE uintptr_t vv_pack_count_m(vvmask_t m, vv_t v, uint32_t id) {
    return vv_model_step(id << 26 | vv_model_use(m.reg, m.serial) << 20 | vv_model_use(v.reg, v.serial) << 15 |
                             3u << 12 | 10u << 7 | 0x5b,
                         0, 0);
}

#define vv_pack(v, id)      ((void)vv_pack_count(v, id))
#define vv_pack_m(m, v, id) ((void)vv_pack_count_m(m, v, id))

/* funct3: 0 two vectors, 3 immediate, 4 register; vm: 1 without a mask. */
VV_INLINE vv_t vv_model_vv(uint32_t funct6, uint32_t vm, vv_t a, vv_t b) {
    uint32_t x = vv_model_use(a.reg, a.serial), y = vv_model_use(b.reg, b.serial);
    vv_t r = vv_model_result();
    vv_model_step(funct6 << 26 | vm << 25 | x << 20 | y << 15 | r.reg << 7 | 0x2b, 0, 0);
    return r;
}
VV_INLINE vv_t vv_model_vx(uint32_t funct6, uint32_t vm, vv_t a, intptr_t x) {
    uint32_t y = vv_model_use(a.reg, a.serial);
    bool shift = funct6 == 0x25 || funct6 == 0x29, immediate = shift ? x >= 0 && x < 32 : x >= -16 && x < 16;
    vv_t r = vv_model_result();
    uint32_t form = immediate ? ((uint32_t)x & 31) << 15 | 3u << 12 : 10u << 15 | 4u << 12;
    vv_model_step(funct6 << 26 | vm << 25 | y << 20 | form | r.reg << 7 | 0x2b, (uintptr_t)x, 0);
    return r;
}
VV_INLINE vv_t vv_model_self(vv_t v) {
    return v;
}
VV_INLINE vvmask_t vv_model_as_mask(vv_t v) {
    return (vvmask_t){v.reg, v.serial};
}
#define VV_VV(name, type, f6, to)                                                                                      \
    VV_INLINE type vv_##name(vv_t a, vv_t b) {                                                                         \
        return to(vv_model_vv(f6, 1, a, b));                                                                           \
    }                                                                                                                  \
    VV_INLINE type vv_##name##_m(vvmask_t m, vv_t a, vv_t b) {                                                         \
        vv_model_mask(m);                                                                                              \
        return to(vv_model_vv(f6, 0, a, b));                                                                           \
    }
#define VV_VX(name, type, f6, to)                                                                                      \
    VV_INLINE type vv_##name##_x(vv_t a, intptr_t x) {                                                                 \
        return to(vv_model_vx(f6, 1, a, x));                                                                           \
    }                                                                                                                  \
    VV_INLINE type vv_##name##_xm(vvmask_t m, vv_t a, intptr_t x) {                                                    \
        vv_model_mask(m);                                                                                              \
        return to(vv_model_vx(f6, 0, a, x));                                                                           \
    }
#define VV_OP(name, f6)                                                                                                \
    VV_VV(name, vv_t, f6, vv_model_self)                                                                               \
    VV_VX(name, vv_t, f6, vv_model_self)
#define VV_COMPARE(name, f6)                                                                                           \
    VV_VV(name, vvmask_t, f6, vv_model_as_mask)                                                                        \
    VV_VX(name, vvmask_t, f6, vv_model_as_mask)
VV_OP(add, 0x00)
VV_OP(sub, 0x02)
VV_VX(rsub, vv_t, 0x03, vv_model_self)
VV_OP(min, 0x05)
VV_OP(max, 0x07)
VV_OP(bic, 0x08)
VV_OP(and, 0x09)
VV_OP(or, 0x0a)
VV_OP(xor, 0x0b)
VV_OP(div, 0x21)
VV_OP(mul, 0x24)
VV_OP(asl, 0x25)
VV_OP(asr, 0x29)
VV_COMPARE(eq, 0x18)
VV_COMPARE(ne, 0x19)
VV_COMPARE(lt, 0x1b)
VV_COMPARE(le, 0x1d)
VV_VX(ge, vvmask_t, 0x1e, vv_model_as_mask)
VV_VX(gt, vvmask_t, 0x1f, vv_model_as_mask)
#define vv_gt(a, b)      vv_lt(b, a)
#define vv_ge(a, b)      vv_le(b, a)
#define vv_gt_m(m, a, b) vv_lt_m(m, b, a)
#define vv_ge_m(m, a, b) vv_le_m(m, b, a)

VV_INLINE vv_t vv_dup(intptr_t x) {
    vv_t r = vv_model_result();
    vv_model_step(0x17u << 26 | 1u << 25 | 10u << 15 | 4u << 12 | r.reg << 7 | 0x2b, (uintptr_t)x, 0);
    return r;
}
VV_INLINE vv_t vv_index(intptr_t first, int step) {
    vv_t r = vv_model_result();
    vv_model_step(0x14u << 26 | 1u << 25 | ((uint32_t)step & 31) << 20 | 10u << 15 | 4u << 12 | r.reg << 7 | 0x2b,
                  (uintptr_t)first, 0);
    return r;
}
VV_INLINE uintptr_t vv_num(vv_t v) {
    return vv_model_step(0x10u << 26 | 1u << 25 | vv_model_use(v.reg, v.serial) << 20 | 2u << 12 | 10u << 7 | 0x2b, 0,
                         0);
}
VV_INLINE int64_t vv_sum(vv_t v) {
    return (int64_t)vv_model_step(
        0x10u << 26 | 1u << 25 | vv_model_use(v.reg, v.serial) << 20 | 1u << 15 | 2u << 12 | 10u << 7 | 0x2b, 0, 0);
}
VV_INLINE int32_t vv_sum32(vv_t v) {
    return (int32_t)vv_sum(v);
}
VV_INLINE int32_t vv_sum32_m(vvmask_t m, vv_t v) {
    vv_model_mask(m);
    return (int32_t)vv_model_step(
        0x10u << 26 | vv_model_use(v.reg, v.serial) << 20 | 1u << 15 | 2u << 12 | 10u << 7 | 0x2b, 0, 0);
}

/* vmand.mm and its relatives */
VV_INLINE vvmask_t vv_model_logic(uint32_t funct6, vvmask_t a, vvmask_t b) {
    uint32_t x = vv_model_use(a.reg, a.serial), y = vv_model_use(b.reg, b.serial);
    vv_t r = vv_model_result();
    vv_model_step(funct6 << 26 | 1u << 25 | x << 20 | y << 15 | 2u << 12 | r.reg << 7 | 0x57, 0, 0);
    return vv_model_as_mask(r);
}
#define vv_mask_and(a, b)  vv_model_logic(0x19, a, b)
#define vv_mask_or(a, b)   vv_model_logic(0x1a, a, b)
#define vv_mask_andn(a, b) vv_model_logic(0x18, a, b)
#define vv_mask_not(a)     vv_model_logic(0x1d, a, a)

#endif
