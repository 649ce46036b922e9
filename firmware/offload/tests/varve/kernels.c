/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of docs/varve/isa.md 6.3, written once for every form of varve.h; all streams lie in memory. */
#include <varve.h>

#define BUILDING 1

/* SELECT c_custkey WHERE c_mktsegment = BUILDING. Returns the rows found. */
uintptr_t q03c(uintptr_t rows, const void *custkey, const void *segment, void *out);
uintptr_t q03c(uintptr_t rows, const void *custkey, const void *segment, void *out) {
    VV_IN_FR(0, segment, 8, rows, VV_UNSIGNED);
    VV_IN_FR(1, custkey, 32, rows, VV_UNSIGNED);
    VV_OUT_FW(0, out, 32, VV_UNSIGNED);
    VV_BEGIN();
    VV_STRIPS(3) {
        vvmask_t m = vv_eq_x(vv_unpack(0), BUILDING);
        vv_pack_m(m, vv_unpack_m(m, 1), 0);
    }
    VV_END_IN(0);
    VV_END_IN(1);
    return VV_END_OUT(0);
}

/* Three predicates, one of them a range over a wide column, and two outputs. */
uintptr_t filter3(uintptr_t rows, const void *quantity, const void *discount, const void *price, void *out,
                  void *prices);
uintptr_t filter3(uintptr_t rows, const void *quantity, const void *discount, const void *price, void *out,
                  void *prices) {
    VV_IN_FR(0, quantity, 32, rows, VV_SIGNED);
    VV_IN_FR(1, discount, 8, rows, VV_UNSIGNED);
    VV_IN_FR(2, price, 32, rows, VV_SIGNED);
    VV_OUT_FW(0, out, 8, VV_UNSIGNED);
    VV_OUT_FW(1, prices, 32, VV_SIGNED);
    VV_BEGIN();
    VV_STRIPS(7) {
        vv_t d = vv_unpack(1);
        vvmask_t m = vv_mask_between_x(d, 5, 70);
        m = vv_lt_xm(m, vv_unpack_m(m, 0), 2400);
        vv_t p = vv_unpack_m(m, 2);
        vv_pack_m(m, d, 0);
        vv_pack_m(m, p, 1);
    }
    VV_END_IN(0);
    VV_END_IN(1);
    VV_END_IN(2);
    VV_END_OUT(1);
    return VV_END_OUT(0);
}

/* Parity of four streams of 32-bit words. The xors form a tree, whose two halves do not wait for each other. */
uintptr_t raid5(uintptr_t words, const void *d0, const void *d1, const void *d2, const void *d3, void *out);
uintptr_t raid5(uintptr_t words, const void *d0, const void *d1, const void *d2, const void *d3, void *out) {
    VV_IN_FR(0, d0, 32, words, VV_UNSIGNED);
    VV_IN_FR(1, d1, 32, words, VV_UNSIGNED);
    VV_IN_FR(2, d2, 32, words, VV_UNSIGNED);
    VV_IN_FR(3, d3, 32, words, VV_UNSIGNED);
    VV_OUT_FW(0, out, 32, VV_UNSIGNED);
    VV_BEGIN();
    VV_STRIPS(15) {
        vv_t a = vv_xor(vv_unpack(0), vv_unpack(1));
        vv_pack(vv_xor(a, vv_xor(vv_unpack(2), vv_unpack(3))), 0);
    }
    VV_END_IN(0);
    VV_END_IN(1);
    VV_END_IN(2);
    VV_END_IN(3);
    return VV_END_OUT(0);
}

/* From `padded` bits a value to `bits`. */
uintptr_t bitpack(uintptr_t count, const void *in, unsigned padded, void *out, unsigned bits);
uintptr_t bitpack(uintptr_t count, const void *in, unsigned padded, void *out, unsigned bits) {
    VV_IN_FR(0, in, padded, count, VV_UNSIGNED);
    VV_OUT_FW(0, out, bits, VV_UNSIGNED);
    VV_BEGIN();
    VV_STRIPS(1) {
        vv_pack(vv_unpack(0), 0);
    }
    VV_END_IN(0);
    return VV_END_OUT(0);
}

/* From signed 32-bit words to VarWidth. */
uintptr_t narrow(uintptr_t count, const void *in, void *out, void *widths);
uintptr_t narrow(uintptr_t count, const void *in, void *out, void *widths) {
    VV_IN_FR(0, in, 32, count, VV_SIGNED);
    VV_OUT_VW(0, out, widths, VV_SIGNED);
    VV_BEGIN();
    VV_STRIPS(1) {
        vv_pack(vv_unpack(0), 0);
    }
    VV_END_IN(0);
    return VV_END_OUT(0);
}

/* And back, with three times the value and 7 less. */
uintptr_t widen(uintptr_t count, const void *in, const void *widths, void *out);
uintptr_t widen(uintptr_t count, const void *in, const void *widths, void *out) {
    VV_IN_VR(0, in, widths, count, VV_SIGNED);
    VV_OUT_FW(0, out, 32, VV_SIGNED);
    VV_BEGIN();
    VV_STRIPS(1) {
        vv_pack(vv_sub_x(vv_mul_x(vv_unpack(0), 3), 7), 0);
    }
    VV_END_IN(0);
    return VV_END_OUT(0);
}

/* Dense layer: n features against n weights of each of five classes. Each sum is added one strip late, before the next
   one overwrites it, so that the core does not wait for the unit. */
void dense5(uintptr_t n, const void *features, const int32_t *weights, int32_t *y);
void dense5(uintptr_t n, const void *features, const int32_t *weights, int32_t *y) {
    VV_IN_FR(0, features, 32, n, VV_UNSIGNED);
    VV_IN_FR(1, weights, 32, n, VV_SIGNED);
    VV_IN_FR(2, weights + n, 32, n, VV_SIGNED);
    VV_IN_FR(3, weights + 2 * n, 32, n, VV_SIGNED);
    VV_IN_FR(4, weights + 3 * n, 32, n, VV_SIGNED);
    VV_IN_FR(5, weights + 4 * n, 32, n, VV_SIGNED);
    VV_BEGIN();
    uint32_t y0 = 0, y1 = 0, y2 = 0, y3 = 0, y4 = 0, s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0;
    VV_STRIPS(0x3f) {
        vv_t f = vv_unpack(0);
        vv_t p0 = vv_mul(f, vv_unpack(1));
        vv_t p1 = vv_mul(f, vv_unpack(2));
        vv_t p2 = vv_mul(f, vv_unpack(3));
        vv_t p3 = vv_mul(f, vv_unpack(4));
        vv_t p4 = vv_mul(f, vv_unpack(5));
        y0 += s0, s0 = (uint32_t)vv_sum32(p0);
        y1 += s1, s1 = (uint32_t)vv_sum32(p1);
        y2 += s2, s2 = (uint32_t)vv_sum32(p2);
        y3 += s3, s3 = (uint32_t)vv_sum32(p3);
        y4 += s4, s4 = (uint32_t)vv_sum32(p4);
    }
    VV_END_IN(0);
    VV_END_IN(1);
    VV_END_IN(2);
    VV_END_IN(3);
    VV_END_IN(4);
    VV_END_IN(5);
    y[0] = (int32_t)(y0 + s0), y[1] = (int32_t)(y1 + s1), y[2] = (int32_t)(y2 + s2);
    y[3] = (int32_t)(y3 + s3), y[4] = (int32_t)(y4 + s4);
}
