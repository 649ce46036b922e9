/* SPDX-License-Identifier: BSD-3-Clause */
/* Signed 32-bit values, limited to 0..255, as bytes; of those alone that are not 0 in the mask column. */
#include <varve.h>

uintptr_t limit(uintptr_t count, const void *values, const void *mask, void *out);
uintptr_t limit(uintptr_t count, const void *values, const void *mask, void *out) {
    VV_IN_FR(0, mask, 8, count, VV_UNSIGNED);
    VV_IN_FR(1, values, 32, count, VV_SIGNED);
    VV_OUT_FW(0, out, 8, VV_UNSIGNED);
    VV_BEGIN();
    VV_STRIPS(3) { /* inputs 0 and 1 */
        vvmask_t on = vv_ne_x(vv_unpack(0), 0);
        vv_t v = vv_unpack_m(on, 1);
        vv_pack_m(on, vv_min_x(vv_max_x(v, 0), 255), 0);
    }
    VV_END_IN(0);
    VV_END_IN(1);
    return VV_END_OUT(0);
}

#ifdef __riscv /* on a core: the piece's arguments say where the data lie in the scratchpad */
#include <assasin.h>

int compute(void) {
    uint32_t *a = (uint32_t *)(ASSASIN_CORE_SPAD_BASE + SCOMP_SPAD_ARGS);
    a[4] = limit(a[0], (void *)a[1], (void *)a[2], (void *)a[3]);
    return 0;
}
#else /* on the host */
#include <stdio.h>

int main(void) {
    static const int32_t values[] = {-7, 3, 255, 256, 1000000, 12, -1, 77};
    static const uint8_t mask[] = {1, 1, 0, 1, 1, 0, 1, 1};
    uint8_t out[8];
    uintptr_t n = limit(8, values, mask, out);
    for (uintptr_t i = 0; i < n; i++)
        printf("%u\n", out[i]);
    return 0;
}
#endif
