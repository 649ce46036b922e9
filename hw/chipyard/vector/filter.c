/* SPDX-License-Identifier: BSD-3-Clause */
/* A filter in the form that a macro names, as in firmware/offload/varve/workloads.c: the keys of the rows whose segment
 * is 1. Returns how many they are. FILTER is the function's name. */
#include <stddef.h>
#include <stdint.h>

uint32_t FILTER(uint32_t rows, const uint8_t *segment, const uint32_t *key, uint32_t *out);

#if defined VARVE_SCALAR
uint32_t FILTER(uint32_t rows, const uint8_t *segment, const uint32_t *key, uint32_t *out) {
    uint32_t *to = out;
    for (uint32_t i = 0; i < rows; i++) {
        if (segment[i] == 1)
            *to++ = key[i];
    }
    return (uint32_t)(to - out);
}
#elif defined VARVE_ZVE
#include <riscv_vector.h>
/* LMUL 4: bytes take one register. */
uint32_t FILTER(uint32_t rows, const uint8_t *segment, const uint32_t *key, uint32_t *out) {
    uint32_t *to = out;
    for (size_t left = rows, vl; left; left -= vl, segment += vl, key += vl) {
        vl = __riscv_vsetvl_e32m4(left);
        const vbool8_t keep = __riscv_vmseq(__riscv_vle8_v_u8m1(segment, vl), 1, vl);
        const size_t found = __riscv_vcpop(keep, vl);
        __riscv_vse32(to, __riscv_vcompress(__riscv_vle32_v_u32m4(key, vl), keep, vl), found);
        to += found;
    }
    return (uint32_t)(to - out);
}
#else
#include <varve.h>
uint32_t FILTER(uint32_t rows, const uint8_t *segment, const uint32_t *key, uint32_t *out) {
    VV_IN_FR(0, segment, 8, rows, VV_UNSIGNED);
    VV_IN_FR(1, key, 32, rows, VV_UNSIGNED);
    VV_OUT_FW(0, out, 32, VV_UNSIGNED);
    VV_BEGIN();
    VV_STRIPS(3) {
        const vvmask_t keep = vv_eq_x(vv_unpack(0), 1);
        vv_pack_m(keep, vv_unpack_m(keep, 1), 0);
    }
    VV_END_IN(0);
    VV_END_IN(1);
    return (uint32_t)VV_END_OUT(0);
}
#endif
