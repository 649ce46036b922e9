/* SPDX-License-Identifier: BSD-3-Clause */
/* Vector kernels on a Rocket tile, each against the same in scalar C, at arrays of N bytes or words. For each kernel it
 * reports four words: its number, cycles of the scalar code, cycles of the vector code with everything that they have
 * put under way, and 1 if both gave the same. Ends with the number of kernels that differ. */
#include <riscv_vector.h>
#include <stdint.h>

enum { BYTES = 4096, WORDS = 1024 };

#ifdef HTIF
static volatile uint32_t report[2];
#define REPORT report
#else
#define REPORT ((volatile uint32_t *)0x10003000u)
#endif

static uint8_t a[BYTES + 64], b[BYTES + 64], c[BYTES + 64], d[BYTES + 64];
static uint32_t x[WORDS], y[WORDS], z[WORDS], w[WORDS];

static inline uint32_t cycle(void) {
    uint64_t v;
    __asm__ volatile("fence\n\tcsrr %0, mcycle" : "=r"(v)::"memory");
    return (uint32_t)v;
}

/** Keeps the compiler from making vector code of the scalar loops, or nothing. */
#define OPAQUE(v) __asm__ volatile("" : "+r"(v)::"memory")

static void fill(void) {
    uint32_t s = 1;
    for (uint32_t i = 0; i < BYTES + 64; i++) {
        s = s * 1664525u + 1013904223u;
        a[i] = (uint8_t)(s >> 24);
        b[i] = c[i] = d[i] = 0;
    }
    for (uint32_t i = 0; i < WORDS; i++) {
        s = s * 1664525u + 1013904223u;
        x[i] = s >> 8;
        y[i] = s * 3;
        z[i] = w[i] = 0;
    }
}

static uint32_t scalar(uint32_t kernel) {
    uint32_t sum = 0;
    switch (kernel) {
    case 0:
    case 1:
        for (uint32_t i = 0; i < BYTES; i++) {
            uint8_t v = a[i + 3 * kernel];
            OPAQUE(v);
            b[i + kernel] = v;
        }
        return 0;
    case 2:
        for (uint32_t i = 0; i < WORDS; i++) {
            uint32_t v = x[i] * 7 + y[i];
            OPAQUE(v);
            z[i] = v;
        }
        return 0;
    case 3:
        for (uint32_t i = 0; i < WORDS; i++) {
            sum += x[i];
            OPAQUE(sum);
        }
        return sum;
    case 4:
        for (uint32_t i = 0; i < BYTES; i++) {
            sum += a[i] > 200;
            OPAQUE(sum);
        }
        return sum;
    case 5:
        for (uint32_t i = 0; i < WORDS; i += 4) {
            sum += x[i];
            OPAQUE(sum);
        }
        return sum;
    case 6:
        for (uint32_t i = 0; i < WORDS; i++) {
            uint32_t v = y[x[i] % WORDS];
            OPAQUE(v);
            z[i] = v;
        }
        return 0;
    case 7:
        for (uint32_t i = 0; i < BYTES; i++) {
            b[sum] = a[i];
            sum += a[i] < 100;
            OPAQUE(sum);
        }
        b[sum] = 0;
        return sum;
    default:
        for (uint32_t i = 0; i < BYTES; i++) {
            sum += (uint32_t)a[i] * a[BYTES - 1 - i];
            OPAQUE(sum);
        }
        return sum;
    }
}

static uint32_t vector(uint32_t kernel) {
    uint32_t sum = 0;
    size_t vl;
    switch (kernel) {
    case 0:
    case 1:
        for (size_t i = 0; i < BYTES; i += vl) {
            vl = __riscv_vsetvl_e8m8(BYTES - i);
            __riscv_vse8_v_u8m8(d + i + kernel, __riscv_vle8_v_u8m8(a + i + 3 * kernel, vl), vl);
        }
        return 0;
    case 2:
        for (size_t i = 0; i < WORDS; i += vl) {
            vl = __riscv_vsetvl_e32m4(WORDS - i);
            vuint32m4_t v = __riscv_vmul_vx_u32m4(__riscv_vle32_v_u32m4(x + i, vl), 7, vl);
            __riscv_vse32_v_u32m4(w + i, __riscv_vadd_vv_u32m4(v, __riscv_vle32_v_u32m4(y + i, vl), vl), vl);
        }
        return 0;
    case 3: {
        vuint32m1_t s = __riscv_vmv_s_x_u32m1(0, 1);
        for (size_t i = 0; i < WORDS; i += vl) {
            vl = __riscv_vsetvl_e32m4(WORDS - i);
            s = __riscv_vredsum_vs_u32m4_u32m1(__riscv_vle32_v_u32m4(x + i, vl), s, vl);
        }
        return __riscv_vmv_x_s_u32m1_u32(s);
    }
    case 4:
        for (size_t i = 0; i < BYTES; i += vl) {
            vl = __riscv_vsetvl_e8m4(BYTES - i);
            sum += (uint32_t)__riscv_vcpop_m_b2(__riscv_vmsgtu_vx_u8m4_b2(__riscv_vle8_v_u8m4(a + i, vl), 200, vl), vl);
        }
        return sum;
    case 5: {
        vuint32m1_t s = __riscv_vmv_s_x_u32m1(0, 1);
        for (size_t i = 0; i < WORDS / 4; i += vl) {
            vl = __riscv_vsetvl_e32m4(WORDS / 4 - i);
            s = __riscv_vredsum_vs_u32m4_u32m1(__riscv_vlse32_v_u32m4(x + 4 * i, 16, vl), s, vl);
        }
        return __riscv_vmv_x_s_u32m1_u32(s);
    }
    case 6:
        for (size_t i = 0; i < WORDS; i += vl) {
            vl = __riscv_vsetvl_e32m4(WORDS - i);
            vuint32m4_t at = __riscv_vand_vx_u32m4(__riscv_vle32_v_u32m4(x + i, vl), WORDS - 1, vl);
            at = __riscv_vsll_vx_u32m4(at, 2, vl);
            __riscv_vse32_v_u32m4(w + i, __riscv_vluxei32_v_u32m4(y, at, vl), vl);
        }
        return 0;
    case 7:
        for (size_t i = 0; i < BYTES; i += vl) {
            vl = __riscv_vsetvl_e8m4(BYTES - i);
            vuint8m4_t v = __riscv_vle8_v_u8m4(a + i, vl);
            vbool2_t keep = __riscv_vmsltu_vx_u8m4_b2(v, 100, vl);
            size_t n = __riscv_vcpop_m_b2(keep, vl);
            __riscv_vse8_v_u8m4(d + sum, __riscv_vcompress_vm_u8m4(v, keep, vl), n);
            sum += (uint32_t)n;
        }
        d[sum] = 0;
        return sum;
    default: {
        vuint32m1_t s = __riscv_vmv_s_x_u32m1(0, 1);
        for (size_t i = 0; i < BYTES; i += vl) {
            vl = __riscv_vsetvl_e8m2(BYTES - i);
            vuint8m2_t u = __riscv_vle8_v_u8m2(a + i, vl);
            vuint8m2_t v = __riscv_vlse8_v_u8m2(a + BYTES - 1 - i, -1, vl);
            s = __riscv_vwredsumu_vs_u16m4_u32m1(__riscv_vwmulu_vv_u16m4(u, v, vl), s, vl);
        }
        return __riscv_vmv_x_s_u32m1_u32(s);
    }
    }
}

int main(void) {
    int differ = 0;
    for (uint32_t kernel = 0; kernel <= 8; kernel++) {
        fill();
        uint32_t t0 = cycle();
        uint32_t wanted = scalar(kernel);
        uint32_t t1 = cycle();
        uint32_t got = vector(kernel);
        uint32_t t2 = cycle();
        uint32_t same = wanted == got;
        for (uint32_t i = 0; i < BYTES + 64; i++) {
            same &= b[i] == d[i];
        }
        for (uint32_t i = 0; i < WORDS; i++) {
            same &= z[i] == w[i];
        }
        differ += !same;
        REPORT[0] = kernel;
        REPORT[0] = t1 - t0;
        REPORT[0] = t2 - t1;
        REPORT[0] = same;
    }
    return differ;
}
