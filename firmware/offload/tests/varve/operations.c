/* SPDX-License-Identifier: BSD-3-Clause */
/* Every operation of varve.h, in every form of its operands, so that each word that the header assembles is executed.
 */
#include <varve.h>

#define CASE(number, body)                                                                                             \
    case number:                                                                                                       \
        VV_STRIPS(3) {                                                                                                 \
            vv_t p = vv_unpack(0), q = vv_unpack(1);                                                                   \
            (void)q;                                                                                                   \
            body;                                                                                                      \
        }                                                                                                              \
        break;
/* Six cases: two vectors, a constant of five bits, a number, and the first and last of them under a mask (q > 0). */
#define RESULTS(number, name)                                                                                          \
    CASE(number, vv_pack(vv_##name(p, q), 0))                                                                          \
    CASE(number + 3, vvmask_t m = vv_gt_x(q, 0); vv_pack(vv_##name##_m(m, p, q), 0))                                   \
    NUMBERS(number, name)
#define NUMBERS(number, name)                                                                                          \
    CASE(number + 1, vv_pack(vv_##name##_x(p, 13), 0))                                                                 \
    CASE(number + 2, vv_pack(vv_##name##_x(p, x), 0))                                                                  \
    CASE(number + 4, vvmask_t m = vv_gt_x(q, 0); vv_pack(vv_##name##_xm(m, p, 13), 0))                                 \
    CASE(number + 5, vvmask_t m = vv_gt_x(q, 0); vv_pack(vv_##name##_xm(m, p, x), 0))
#define COMPARES(number, name)                                                                                         \
    CASE(number, vv_pack_m(vv_##name(p, q), p, 0))                                                                     \
    CASE(number + 1, vv_pack_m(vv_##name##_x(p, 13), p, 0))                                                            \
    CASE(number + 2, vv_pack_m(vv_##name##_x(p, x), p, 0))                                                             \
    CASE(number + 3, vvmask_t m = vv_gt_x(q, 0); vv_pack_m(vv_##name##_m(m, p, q), p, 0))                              \
    CASE(number + 4, vvmask_t m = vv_gt_x(q, 0); vv_pack_m(vv_##name##_xm(m, p, 13), p, 0))                            \
    CASE(number + 5, vvmask_t m = vv_gt_x(q, 0); vv_pack_m(vv_##name##_xm(m, p, x), p, 0))

/* Operation `op` on n words of a and b to `out`. Returns the words written, or the sum; UINTPTR_MAX: no such operation.
 */
uintptr_t operate(uintptr_t n, const void *a, const void *b, void *out, unsigned op, unsigned number);
uintptr_t operate(uintptr_t n, const void *a, const void *b, void *out, unsigned op, unsigned number) {
    intptr_t x = (int32_t)number;
    uint32_t sum = 0, last = 0;
    VV_IN_FR(0, a, 32, n, VV_SIGNED);
    VV_IN_FR(1, b, 32, n, VV_SIGNED);
    VV_OUT_FW(0, out, 32, VV_SIGNED);
    VV_BEGIN();
    switch (op) {
        RESULTS(0, add)
        RESULTS(10, sub)
        RESULTS(20, min)
        RESULTS(30, max)
        RESULTS(40, bic)
        RESULTS(50, and)
        RESULTS(60, or)
        RESULTS(70, xor)
        RESULTS(80, mul)
        RESULTS(90, asl)
        RESULTS(100, asr)
        NUMBERS(110, rsub)
#ifndef VARVE_PUP
        RESULTS(120, div)
#endif
        COMPARES(200, eq)
        COMPARES(210, ne)
        COMPARES(220, lt)
        COMPARES(230, le)
        COMPARES(240, gt)
        COMPARES(250, ge)
        CASE(300, vv_pack_m(vv_mask_and(vv_gt_x(p, 0), vv_gt_x(q, 0)), p, 0))
        CASE(301, vv_pack_m(vv_mask_or(vv_gt_x(p, 0), vv_gt_x(q, 0)), p, 0))
        CASE(302, vv_pack_m(vv_mask_andn(vv_gt_x(p, 0), vv_gt_x(q, 0)), p, 0))
        CASE(303, vv_pack_m(vv_mask_not(vv_gt_x(p, 0)), p, 0))
        CASE(304, vv_pack(vv_add(p, vv_dup(x)), 0))
        CASE(305, vv_pack(vv_add(p, vv_dup(13)), 0))
        CASE(306, sum += last; last = (uint32_t)vv_sum32(vv_add(p, q)))
        CASE(307, vvmask_t m = vv_gt_x(q, 0); sum += last; last = (uint32_t)vv_sum32_m(m, p))
    default:
        sum = UINT32_MAX;
    }
    VV_END_IN(0);
    VV_END_IN(1);
    uintptr_t written = VV_END_OUT(0);
    return op == 306 || op == 307 ? sum + last : sum == UINT32_MAX ? sum : written;
}
