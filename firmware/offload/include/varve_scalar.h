/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * varve.h in plain C: a strip is one value. Streams lie in memory; there are no Huffman streams. Values of 8, 16 and 32
 * bits must be aligned.
 */
#ifndef ASSASIN_OFFLOAD_VARVE_SCALAR_H
#define ASSASIN_OFFLOAD_VARVE_SCALAR_H

typedef int32_t vv_t;
typedef bool vvmask_t;

struct vv_stream {
    uint8_t *at;      /**< the byte that holds bit `bit` */
    uint8_t *widths;  /**< NULL: all have `width` bits */
    uintptr_t left;   /**< inputs: values that are left */
    uintptr_t done;   /**< values read or written */
    uint32_t width;   /**< bits */
    uint32_t bit;     /**< 0 to 7 */
    uint32_t partial; /**< outputs: the bits below `bit` of the last byte */
    bool is_unsigned;
};

VV_INLINE vv_t vv_scalar_read(struct vv_stream *s) {
    uint32_t width = s->widths ? *s->widths++ : s->width, v = 0;
    if (!s->bit && width == 32 && !s->widths) {
        v = *(const uint32_t *)s->at;
        s->at += 4;
    } else if (!s->bit && width == 8) {
        v = *s->at++;
    } else if (!s->bit && width == 16 && !s->widths) {
        v = *(const uint16_t *)s->at;
        s->at += 2;
    } else {
        uint32_t have = 0;
        while (have < width) {
            uint32_t some = 8 - s->bit < width - have ? 8 - s->bit : width - have;
            uint32_t part = (uint32_t)*s->at >> s->bit & ((1u << some) - 1);
            if (have < 32)
                v |= part << have;
            have += some;
            s->bit += some;
            if (s->bit == 8) {
                s->bit = 0;
                s->at++;
            }
        }
    }
    s->done++;
    if (!s->is_unsigned && width && width < 32)
        v = (uint32_t)((int32_t)(v << (32 - width)) >> (32 - width));
    return (vv_t)v;
}

VV_INLINE uintptr_t vv_scalar_write(struct vv_stream *s, vv_t value, bool on) {
    if (!on)
        return 0;
    uint32_t v = (uint32_t)value, width = s->width;
    s->done++;
    if (s->widths) {
        width = 0;
        if (s->is_unsigned)
            while (width < 32 && v >> width)
                width++;
        else if (value)
            for (width = 1;
                 width < 32 && (value < -(int32_t)(1u << (width - 1)) || value >= (int32_t)(1u << (width - 1)));)
                width++;
        *s->widths++ = (uint8_t)width;
    }
    if (!s->bit && width == 32 && !s->widths) {
        *(uint32_t *)s->at = v;
        s->at += 4;
        return 1;
    }
    for (uint32_t have = 0; have < width;) {
        uint32_t some = 8 - s->bit < width - have ? 8 - s->bit : width - have;
        uint32_t part = have < 32 ? v >> have : !s->is_unsigned && value < 0 ? UINT32_MAX : 0;
        if (have < 32 && have + some > 32 && !s->is_unsigned && value < 0)
            part |= UINT32_MAX << (32 - have);
        s->partial |= (part & ((1u << some) - 1)) << s->bit;
        have += some;
        s->bit += some;
        if (s->bit == 8) {
            *s->at++ = (uint8_t)s->partial;
            s->bit = s->partial = 0;
        }
    }
    return 1;
}

VV_INLINE uintptr_t vv_scalar_end(struct vv_stream *s) {
    if (s->bit)
        *s->at = (uint8_t)s->partial;
    return s->done;
}

#define VV_SCALAR_IN(id, base, w, aux, count, flags)                                                                   \
    _Static_assert(!((flags)&VV_BUFFER), "varve.h: VARVE_SCALAR has no stream buffers");                               \
    struct vv_stream vv_in_##id = {.at = (uint8_t *)(uintptr_t)(base),                                                 \
                                   .widths = (uint8_t *)(uintptr_t)(aux),                                              \
                                   .left = (uintptr_t)(count),                                                         \
                                   .width = (w),                                                                       \
                                   .is_unsigned = ((flags)&VV_UNSIGNED) != 0}
#define VV_SCALAR_OUT(id, base, w, aux, flags)                                                                         \
    _Static_assert(!((flags)&VV_BUFFER), "varve.h: VARVE_SCALAR has no stream buffers");                               \
    struct vv_stream vv_out_##id = {.at = (uint8_t *)(uintptr_t)(base),                                                \
                                    .widths = (uint8_t *)(uintptr_t)(aux),                                             \
                                    .width = (w),                                                                      \
                                    .is_unsigned = ((flags)&VV_UNSIGNED) != 0}
#define VV_IN_FR(id, base, width, count, flags)  VV_SCALAR_IN(id, base, width, 0, count, flags)
#define VV_IN_VR(id, base, widths, count, flags) VV_SCALAR_IN(id, base, 0, widths, count, flags)
#define VV_OUT_FW(id, base, width, flags)        VV_SCALAR_OUT(id, base, width, 0, flags)
#define VV_OUT_VW(id, base, widths, flags)       VV_SCALAR_OUT(id, base, 0, widths, flags)
#define VV_END_IN(id)                            vv_scalar_end(&(struct vv_stream){.done = vv_in_##id.done})
#define VV_END_OUT(id)                           vv_scalar_end(&vv_out_##id)
#define VV_BEGIN()                               ((void)0)

static struct vv_stream vv_in_0 __attribute__((unused)), vv_in_1 __attribute__((unused)),
    vv_in_2 __attribute__((unused)), vv_in_3 __attribute__((unused)), vv_in_4 __attribute__((unused)),
    vv_in_5 __attribute__((unused)), vv_in_6 __attribute__((unused)), vv_in_7 __attribute__((unused)),
    vv_in_8 __attribute__((unused));
#define VV_LESS(set, id, least) ((set) >> (id)&1 && vv_in_##id.left < (least) ? vv_in_##id.left : (least))
/* The streams move together, so that how many strips there are is known before the first. */
#define VV_LEAST_LEFT(set)                                                                                             \
    VV_LESS(                                                                                                           \
        set, 0,                                                                                                        \
        VV_LESS(set, 1,                                                                                                \
                VV_LESS(set, 2,                                                                                        \
                        VV_LESS(set, 3,                                                                                \
                                VV_LESS(set, 4,                                                                        \
                                        VV_LESS(set, 5,                                                                \
                                                VV_LESS(set, 6, VV_LESS(set, 7, VV_LESS(set, 8, UINTPTR_MAX)))))))))
#define VV_STRIPS(set) for (uintptr_t vv_left = VV_LEAST_LEFT(set); vv_left; vv_left--)

#define vv_unpack(id)             vv_scalar_read(&vv_in_##id)
#define vv_unpack_m(m, id)        ((void)(m), vv_unpack(id))
#define vv_pack_count(v, id)      vv_scalar_write(&vv_out_##id, v, true)
#define vv_pack_count_m(m, v, id) vv_scalar_write(&vv_out_##id, v, m)
#define vv_pack(v, id)            ((void)vv_pack_count(v, id))
#define vv_pack_m(m, v, id)       ((void)vv_pack_count_m(m, v, id))

#define VV_OP(name, expression)                                                                                        \
    VV_INLINE vv_t vv_##name(vv_t a, vv_t b) {                                                                         \
        return (vv_t)(expression);                                                                                     \
    }                                                                                                                  \
    VV_INLINE vv_t vv_##name##_x(vv_t a, intptr_t x) {                                                                 \
        return vv_##name(a, (vv_t)x);                                                                                  \
    }                                                                                                                  \
    VV_INLINE vv_t vv_##name##_m(vvmask_t m, vv_t a, vv_t b) {                                                         \
        return m ? vv_##name(a, b) : 0;                                                                                \
    }                                                                                                                  \
    VV_INLINE vv_t vv_##name##_xm(vvmask_t m, vv_t a, intptr_t x) {                                                    \
        return m ? vv_##name(a, (vv_t)x) : 0;                                                                          \
    }
VV_OP(add, (uint32_t)a + (uint32_t)b)
VV_OP(sub, (uint32_t)a - (uint32_t)b)
VV_OP(rsub, (uint32_t)b - (uint32_t)a)
VV_OP(mul, (uint32_t)a *(uint32_t)b)
VV_OP(min, a < b ? a : b)
VV_OP(max, a > b ? a : b)
VV_OP(and, a &b)
VV_OP(or, a | b)
VV_OP(xor, a ^ b)
VV_OP(bic, a & ~b)
VV_OP(asl, (uint32_t)a << (b & 31))
VV_OP(asr, a >> (b & 31))
VV_OP(div, b == 0 ? 0 : b == -1 ? (vv_t)(0u - (uint32_t)a) : a / b)
#define VV_COMPARE(name, relation)                                                                                     \
    VV_INLINE vvmask_t vv_##name(vv_t a, vv_t b) {                                                                     \
        return a relation b;                                                                                           \
    }                                                                                                                  \
    VV_INLINE vvmask_t vv_##name##_x(vv_t a, intptr_t x) {                                                             \
        return a relation x;                                                                                           \
    }                                                                                                                  \
    VV_INLINE vvmask_t vv_##name##_m(vvmask_t m, vv_t a, vv_t b) {                                                     \
        return m && a relation b;                                                                                      \
    }                                                                                                                  \
    VV_INLINE vvmask_t vv_##name##_xm(vvmask_t m, vv_t a, intptr_t x) {                                                \
        return m && a relation x;                                                                                      \
    }
VV_COMPARE(eq, ==)
VV_COMPARE(ne, !=)
VV_COMPARE(lt, <)
VV_COMPARE(le, <=)
VV_COMPARE(gt, >)
VV_COMPARE(ge, >=)
#define vv_mask_and(a, b)  ((a) && (b))
#define vv_mask_or(a, b)   ((a) || (b))
#define vv_mask_andn(a, b) ((a) && !(b))
#define vv_mask_not(a)     (!(a))
#define vv_dup(x)          ((vv_t)(x))
#define vv_sum32(v)        ((int32_t)(v))
#define vv_sum32_m(m, v)   ((m) ? (int32_t)(v) : 0)
#define vv_sum(v)          ((int64_t)(v))

#endif
