/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels written with the intrinsics of riscv_vector.h, for any VLEN, each held against plain C. main returns 0, or
 * the number of the first kernel whose results differ, as its place in `tests` from 1 on.
 */
#include <stddef.h>
#include <stdint.h>

#include <riscv_vector.h>

#define MOST 300 /* values; more than a group of eight registers of 256 bits has bytes */

static _Alignas(4) uint8_t a8[8 * MOST], b8[MOST], out8[8 * MOST];
static _Alignas(4) uint16_t a16[4 * MOST], b16[MOST], out16[4 * MOST];
static uint32_t a32[4 * MOST], b32[MOST], c32[MOST], out32[4 * MOST];

static uint32_t state = 2463534242u;
static uint32_t chance(void) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static void fill(void) {
    for (size_t i = 0; i < 8 * MOST; i++)
        a8[i] = (uint8_t)(chance() >> 9);
    for (size_t i = 0; i < 4 * MOST; i++) {
        a16[i] = (uint16_t)(chance() >> 7);
        a32[i] = chance();
    }
    for (size_t i = 0; i < MOST; i++) {
        b8[i] = (uint8_t)(chance() >> 11);
        b16[i] = (uint16_t)(chance() >> 3);
        b32[i] = chance() >> (chance() & 31);
        c32[i] = chance();
    }
}

/* Words, as that is faster. */
static void clear(void *out, size_t bytes) {
    for (uint32_t *p = out; bytes != 0; bytes -= 4)
        *p++ = 0xa5a5a5a5;
}

/* Lengths around those of vectors of all sizes. */
static const size_t lengths[] = {0, 1, 3, 8, 17, 33, 64, 127, 257, MOST - 8};

/* Segments: FIELDS values of a structure become FIELDS rows, and back with 1 more. */
#define SEGMENTS(BITS, LMUL, FIELDS, ...)                                                                              \
    static int segment##BITS##LMUL##FIELDS(size_t n) {                                                                 \
        size_t at = 0;                                                                                                 \
        for (size_t vl; at < n; at += vl) {                                                                            \
            vl = __riscv_vsetvl_e##BITS##LMUL(n - at);                                                                 \
            vuint##BITS##LMUL##x##FIELDS##_t t =                                                                       \
                __riscv_vlseg##FIELDS##e##BITS##_v_u##BITS##LMUL##x##FIELDS(a##BITS + FIELDS * at, vl);                \
            __VA_ARGS__                                                                                                \
            __riscv_vsseg##FIELDS##e##BITS##_v_u##BITS##LMUL##x##FIELDS(out##BITS + FIELDS * at, t, vl);               \
        }                                                                                                              \
        for (size_t i = 0; i < FIELDS * (n + 1) && i < sizeof out##BITS / sizeof *out##BITS; i++) {                    \
            uint##BITS##_t want = (uint##BITS##_t)(a##BITS[i] + 1 + i % FIELDS);                                       \
            if (i >= FIELDS * n)                                                                                       \
                want = (uint##BITS##_t)0xa5a5a5a5;                                                                     \
            if (out##BITS[i] != want)                                                                                  \
                return 1;                                                                                              \
        }                                                                                                              \
        return 0;                                                                                                      \
    }
#define FIELD(BITS, LMUL, FIELDS, I)                                                                                   \
    t = __riscv_vset_v_u##BITS##LMUL##_u##BITS##LMUL##x##FIELDS(                                                       \
        t, I,                                                                                                          \
        __riscv_vadd_vx_u##BITS##LMUL(__riscv_vget_v_u##BITS##LMUL##x##FIELDS##_u##BITS##LMUL(t, I), I + 1, vl));
#define FIELDS2(B, L, F) FIELD(B, L, F, 0) FIELD(B, L, F, 1)
#define FIELDS3(B, L, F) FIELDS2(B, L, F) FIELD(B, L, F, 2)
#define FIELDS4(B, L, F) FIELDS3(B, L, F) FIELD(B, L, F, 3)
#define FIELDS5(B, L, F) FIELDS4(B, L, F) FIELD(B, L, F, 4)
#define FIELDS6(B, L, F) FIELDS5(B, L, F) FIELD(B, L, F, 5)
#define FIELDS7(B, L, F) FIELDS6(B, L, F) FIELD(B, L, F, 6)
#define FIELDS8(B, L, F) FIELDS7(B, L, F) FIELD(B, L, F, 7)
SEGMENTS(8, m4, 2, FIELDS2(8, m4, 2))
SEGMENTS(8, m2, 3, FIELDS3(8, m2, 3))
SEGMENTS(8, mf2, 5, FIELDS5(8, mf2, 5))
SEGMENTS(8, m1, 6, FIELDS6(8, m1, 6))
SEGMENTS(8, mf4, 7, FIELDS7(8, mf4, 7))
SEGMENTS(8, m1, 8, FIELDS8(8, m1, 8))
SEGMENTS(16, m1, 3, FIELDS3(16, m1, 3))
SEGMENTS(16, m2, 4, FIELDS4(16, m2, 4))
SEGMENTS(32, m4, 2, FIELDS2(32, m4, 2))
SEGMENTS(32, m1, 4, FIELDS4(32, m1, 4))

/* Every third value, of a strided load, to every second place, of a strided store; the other way round with indices. */
static int strided(size_t n) {
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e16m2(n - at);
        vuint16m2_t v = __riscv_vlse16_v_u16m2(a16 + 3 * at, 6, vl);
        __riscv_vsse16_v_u16m2(out16 + 2 * at, 4, v, vl);
    }
    for (size_t i = 0; i < 2 * n; i++)
        if (out16[i] != (i % 2 ? 0xa5a5 : a16[i / 2 * 3]))
            return 1;
    return 0;
}
static int backwards(size_t n) {
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e32m4(n - at);
        vuint32m4_t v = __riscv_vlse32_v_u32m4(a32 + at + vl - 1, -4, vl);
        __riscv_vsse32_v_u32m4(out32 + at + vl - 1, -4, v, vl);
        v = __riscv_vlse32_v_u32m4(b32 + 5, 0, vl); /* one word for all */
        __riscv_vse32_v_u32m4(out32 + MOST + at, v, vl);
    }
    for (size_t i = 0; i < n; i++)
        if (out32[i] != a32[i] || out32[MOST + i] != b32[5])
            return 1;
    return 0;
}

/* out[i] = a[index[i]] and out[index[i]] = a[i], where a condition holds. */
static int indexed(size_t n) {
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e32m2(n - at);
        vuint16m1_t index = __riscv_vle16_v_u16m1(b16 + at, vl);
        index = __riscv_vsll_vx_u16m1(__riscv_vand_vx_u16m1(index, 0x1ff, vl), 2, vl);
        vbool16_t odd = __riscv_vmsne_vx_u16m1_b16(__riscv_vand_vx_u16m1(index, 4, vl), 0, vl);
        vuint32m2_t old = __riscv_vmv_v_x_u32m2(7, vl);
        vuint32m2_t v = __riscv_vluxei16_v_u32m2_mu(odd, old, a32, index, vl);
        __riscv_vse32_v_u32m2(out32 + at, v, vl);
        vuint8mf2_t place = __riscv_vid_v_u8mf2(vl); /* each place once, 4 bytes a place */
        vl = __riscv_vsetvl_e32m2(vl < 64 ? vl : 64);
        place = __riscv_vxor_vx_u8mf2(__riscv_vsll_vx_u8mf2(place, 2, vl), vl == 64 ? 0xfc : 0, vl);
        __riscv_vsoxei8_v_u32m2_m(odd, out32 + MOST + at, place, __riscv_vle32_v_u32m2(c32 + at, vl), vl);
        for (size_t i = 0; i < vl; i++) {
            const unsigned k = b16[at + i] & 0x1ff;
            const size_t to = MOST + at + (vl == 64 ? 63 - i : i);
            if (out32[at + i] != (k & 1 ? a32[k] : 7) || out32[to] != (k & 1 ? c32[at + i] : 0xa5a5a5a5))
                return 1;
        }
    }
    return 0;
}
static int indexed_segments(size_t n) {
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e16m1(n - at);
        vuint32m2_t index = __riscv_vand_vx_u32m2(__riscv_vle32_v_u32m2(c32 + at, vl), 0x7fe, vl);
        vuint16m1x3_t t = __riscv_vloxseg3ei32_v_u16m1x3(a16, index, vl);
        __riscv_vssseg3e16_v_u16m1x3(out16 + 4 * at, 8, t, vl);
    }
    for (size_t i = 0; i < 4 * n; i++)
        if (out16[i] != (i % 4 == 3 ? 0xa5a5 : a16[(c32[i / 4] & 0x7fe) / 2 + i % 4]))
            return 1;
    return 0;
}

/* Length of a string, and where two differ, by loads that stop at a fault only at their first element. */
static int strings(size_t n) {
    for (size_t i = 0; i < MOST; i++)
        out8[i] = a8[i] = (uint8_t)(a8[i] | 1);
    out8[n] = a8[n] = 0;
    size_t length = 0;
    for (;;) {
        size_t vl = __riscv_vsetvlmax_e8m8();
        vuint8m8_t v = __riscv_vle8ff_v_u8m8(a8 + length, &vl, vl);
        const long first = __riscv_vfirst_m_b1(__riscv_vmseq_vx_u8m8_b1(v, 0, vl), vl);
        if (first >= 0) {
            length += (size_t)first;
            break;
        }
        length += vl;
    }
    if (n / 2 < n)
        out8[n / 2] ^= 0x80;
    size_t at = 0;
    for (;; at++) {
        size_t vl = __riscv_vsetvlmax_e8m2();
        vuint8m2_t x = __riscv_vle8ff_v_u8m2(a8 + at, &vl, vl), y = __riscv_vle8ff_v_u8m2(out8 + at, &vl, vl);
        const vbool4_t differ = __riscv_vmsne_vv_u8m2_b4(x, y, vl), end = __riscv_vmseq_vx_u8m2_b4(x, 0, vl);
        const long first = __riscv_vfirst_m_b4(__riscv_vmor_mm_b4(differ, end, vl), vl);
        at += first < 0 ? vl - 1 : (size_t)first;
        if (first >= 0)
            break;
    }
    return length != n || at != (n / 2 < n ? n / 2 : n);
}

static int reductions(size_t n) {
    uint32_t want[8] = {0, 0, 0xffffffff, 0, 0xffffffff, 0, 0, 0};
    int32_t least = INT32_MAX, greatest = INT32_MIN;
    vuint32m1_t sum = __riscv_vmv_s_x_u32m1(0, 1), or = sum, and = __riscv_vmv_s_x_u32m1(0xffffffff, 1), xor = sum,
                least_u = and, greatest_u = sum, wide = sum, some = sum;
    vint32m1_t least_s = __riscv_vmv_s_x_i32m1(INT32_MAX, 1), greatest_s = __riscv_vmv_s_x_i32m1(INT32_MIN, 1);
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e32m8(n - at);
        vuint32m8_t v = __riscv_vle32_v_u32m8(a32 + at, vl);
        vint32m8_t s = __riscv_vreinterpret_v_u32m8_i32m8(v);
        vbool4_t odd = __riscv_vmsne_vx_u32m8_b4(__riscv_vand_vx_u32m8(v, 1, vl), 0, vl);
        sum = __riscv_vredsum_vs_u32m8_u32m1(v, sum, vl);
        or = __riscv_vredor_vs_u32m8_u32m1(v, or, vl);
        and = __riscv_vredand_vs_u32m8_u32m1(v, and, vl);
        xor = __riscv_vredxor_vs_u32m8_u32m1(v, xor, vl);
        least_u = __riscv_vredminu_vs_u32m8_u32m1(v, least_u, vl);
        greatest_u = __riscv_vredmaxu_vs_u32m8_u32m1(v, greatest_u, vl);
        least_s = __riscv_vredmin_vs_i32m8_i32m1(s, least_s, vl);
        greatest_s = __riscv_vredmax_vs_i32m8_i32m1(s, greatest_s, vl);
        wide = __riscv_vwredsumu_vs_u16m4_u32m1(__riscv_vle16_v_u16m4(a16 + at, vl), wide, vl);
        some = __riscv_vredsum_vs_u32m8_u32m1_m(odd, v, some, vl);
    }
    for (size_t i = 0; i < n; i++) {
        want[0] += a32[i];
        want[1] |= a32[i];
        want[2] &= a32[i];
        want[3] ^= a32[i];
        want[4] = want[4] < a32[i] ? want[4] : a32[i];
        want[5] = want[5] > a32[i] ? want[5] : a32[i];
        want[6] += a16[i];
        want[7] += a32[i] & 1 ? a32[i] : 0;
        least = least < (int32_t)a32[i] ? least : (int32_t)a32[i];
        greatest = greatest > (int32_t)a32[i] ? greatest : (int32_t)a32[i];
    }
    const uint32_t got[8] = {__riscv_vmv_x_s_u32m1_u32(sum),     __riscv_vmv_x_s_u32m1_u32(or),
                             __riscv_vmv_x_s_u32m1_u32(and),     __riscv_vmv_x_s_u32m1_u32(xor),
                             __riscv_vmv_x_s_u32m1_u32(least_u), __riscv_vmv_x_s_u32m1_u32(greatest_u),
                             __riscv_vmv_x_s_u32m1_u32(wide),    __riscv_vmv_x_s_u32m1_u32(some)};
    for (unsigned i = 0; i < 8; i++)
        if (got[i] != want[i])
            return 1;
    return __riscv_vmv_x_s_i32m1_i32(least_s) != least || __riscv_vmv_x_s_i32m1_i32(greatest_s) != greatest;
}

/* Rows that pass, packed: by vcompress, and by viota with an indexed store. Their count. */
static int select_rows(size_t n) {
    size_t packed = 0, scattered = 0, k = 0;
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e32m4(n - at);
        vuint32m4_t v = __riscv_vle32_v_u32m4(a32 + at, vl);
        vbool8_t take = __riscv_vmsltu_vx_u32m4_b8(v, 0x60000000, vl);
        take = __riscv_vmor_mm_b8(take, __riscv_vmsgtu_vx_u32m4_b8(v, 0xf0000000, vl), vl);
        const size_t count = __riscv_vcpop_m_b8(take, vl);
        __riscv_vse32_v_u32m4(out32 + packed, __riscv_vcompress_vm_u32m4(v, take, vl), count);
        packed += count;
        vuint32m4_t to = __riscv_vsll_vx_u32m4(__riscv_viota_m_u32m4(take, vl), 2, vl);
        __riscv_vsuxei32_v_u32m4_m(take, out32 + MOST + scattered, to, v, vl);
        scattered += count;
    }
    for (size_t i = 0; i < n; i++)
        if (a32[i] < 0x60000000 || a32[i] > 0xf0000000) {
            if (out32[k] != a32[i] || out32[MOST + k] != a32[i])
                return 1;
            k++;
        }
    return k != packed || k != scattered || out32[MOST + k] != 0xa5a5a5a5;
}

/* Running sums by slides within a vector and a carry between vectors. */
static int running_sum(size_t n) {
    uint32_t carry = 0, sum = 0;
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e32m2(n - at);
        vuint32m2_t v = __riscv_vle32_v_u32m2(a32 + at, vl), zero = __riscv_vmv_v_x_u32m2(0, vl);
        for (size_t by = 1; by < vl; by *= 2)
            v = __riscv_vadd_vv_u32m2(v, __riscv_vslideup_vx_u32m2(zero, v, by, vl), vl);
        v = __riscv_vadd_vx_u32m2(v, carry, vl);
        __riscv_vse32_v_u32m2(out32 + at, v, vl);
        carry = __riscv_vmv_x_s_u32m2_u32(__riscv_vslidedown_vx_u32m2(v, vl - 1, vl));
    }
    for (size_t i = 0; i < n; i++) {
        sum += a32[i];
        if (out32[i] != sum)
            return 1;
    }
    return 0;
}

/* A filter of three taps: the neighbours come by slides by one. */
static int taps(size_t n) {
    uint32_t before = 0;
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e16m4(n - at);
        vuint16m4_t v = __riscv_vle16_v_u16m4(a16 + at, vl);
        vuint16m4_t left = __riscv_vslide1up_vx_u16m4(v, (uint16_t)before, vl);
        vuint16m4_t right = __riscv_vslide1down_vx_u16m4(v, at + vl < n ? a16[at + vl] : 0, vl);
        vuint32m8_t sum = __riscv_vwaddu_vv_u32m8(left, right, vl);
        sum = __riscv_vwmaccu_vx_u32m8(sum, 2, v, vl);
        __riscv_vse16_v_u16m4(out16 + at, __riscv_vnsrl_wx_u16m4(sum, 2, vl), vl);
        before = a16[at + vl - 1];
    }
    for (size_t i = 0; i < n; i++)
        if (out16[i] != ((i ? a16[i - 1] : 0u) + 2u * a16[i] + (i + 1 < n ? a16[i + 1] : 0u)) >> 2)
            return 1;
    return 0;
}

static int32_t clip(int64_t value, int32_t low, int32_t high, unsigned *saturated) {
    *saturated |= value < low || value > high;
    return (int32_t)(value < low ? low : value > high ? high : value);
}
/* value / 2^bits in rounding mode 0 to 3: to nearest up, to nearest even, down, to odd. */
static int64_t rounded(int64_t value, unsigned bits, unsigned mode) {
    if (bits == 0)
        return value;
    const int64_t down = value >> bits, rest = value - down * ((int64_t)1 << bits), half = (int64_t)1 << (bits - 1);
    switch (mode) {
    case 0:
        return down + (rest >= half);
    case 1:
        return down + (rest > half || (rest == half && (down & 1)));
    case 2:
        return down;
    default:
        return down | (rest != 0);
    }
}
static unsigned take_vxsat(void) {
    unsigned value;
    __asm__ volatile("csrrwi %0, vxsat, 0" : "=r"(value)::"memory");
    return value;
}

/* Fixed point in all rounding modes. */
#define FIXED(MODE, NAME)                                                                                              \
    static int fixed##MODE(size_t n) {                                                                                 \
        unsigned saturated = 0;                                                                                        \
        take_vxsat();                                                                                                  \
        for (size_t at = 0, vl; at < n; at += vl) {                                                                    \
            vl = __riscv_vsetvl_e16m2(n - at);                                                                         \
            vint16m2_t x = __riscv_vle16_v_i16m2((const int16_t *)a16 + at, vl);                                       \
            vint16m2_t y = __riscv_vle16_v_i16m2((const int16_t *)b16 + at, vl);                                       \
            vuint16m2_t by = __riscv_vreinterpret_v_i16m2_u16m2(y);                                                    \
            vint16m2_t v = __riscv_vsadd_vv_i16m2(x, y, vl);                                                           \
            v = __riscv_vsmul_vv_i16m2(v, y, __RISCV_VXRM_##NAME, vl);                                                 \
            v = __riscv_vasub_vx_i16m2(v, -77, __RISCV_VXRM_##NAME, vl);                                               \
            v = __riscv_vssub_vx_i16m2(v, 30000, vl);                                                                  \
            v = __riscv_vssra_vv_i16m2(v, by, __RISCV_VXRM_##NAME, vl);                                                \
            v = __riscv_vaadd_vv_i16m2(v, x, __RISCV_VXRM_##NAME, vl);                                                 \
            __riscv_vse16_v_i16m2((int16_t *)out16 + at, v, vl);                                                       \
            vint8m1_t small = __riscv_vnclip_wx_i8m1(v, 5, __RISCV_VXRM_##NAME, vl);                                   \
            __riscv_vse8_v_i8m1((int8_t *)out8 + at, small, vl);                                                       \
        }                                                                                                              \
        const unsigned got = take_vxsat();                                                                             \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const int16_t x = (int16_t)a16[i], y = (int16_t)b16[i];                                                    \
            int32_t v = clip(x + y, INT16_MIN, INT16_MAX, &saturated);                                                 \
            v = clip(rounded((int64_t)v * y, 15, MODE), INT16_MIN, INT16_MAX, &saturated);                             \
            v = (int32_t)rounded(v + 77, 1, MODE);                                                                     \
            v = clip(v - 30000, INT16_MIN, INT16_MAX, &saturated);                                                     \
            v = (int32_t)rounded(v, (unsigned)y & 15, MODE);                                                           \
            v = (int32_t)rounded(v + x, 1, MODE);                                                                      \
            if ((int16_t)out16[i] != v)                                                                                \
                return 1;                                                                                              \
            if ((int8_t)out8[i] != clip(rounded(v, 5, MODE), INT8_MIN, INT8_MAX, &saturated))                          \
                return 1;                                                                                              \
        }                                                                                                              \
        return got != saturated;                                                                                       \
    }
FIXED(0, RNU)
FIXED(1, RNE)
FIXED(2, RDN)
FIXED(3, ROD)

/* Many numbers of 96 bits, added and subtracted with carries. */
static int long_sums(size_t n) {
    uint32_t *high = out32 + 2 * MOST;
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e32m4(n - at);
        vuint32m4_t x = __riscv_vle32_v_u32m4(a32 + at, vl), y = __riscv_vle32_v_u32m4(b32 + at, vl);
        vuint32m4_t z = __riscv_vle32_v_u32m4(c32 + at, vl), low = __riscv_vadd_vv_u32m4(x, y, vl);
        vbool8_t carry = __riscv_vmadc_vv_u32m4_b8(x, y, vl);
        __riscv_vse32_v_u32m4(out32 + at, low, vl);
        __riscv_vse32_v_u32m4(out32 + MOST + at, __riscv_vadc_vvm_u32m4(z, x, carry, vl), vl);
        carry = __riscv_vmadc_vvm_u32m4_b8(z, x, carry, vl);
        vbool8_t borrow = __riscv_vmsbc_vvm_u32m4_b8(y, z, carry, vl);
        __riscv_vse32_v_u32m4(high + at, __riscv_vsbc_vvm_u32m4(y, z, borrow, vl), vl);
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t low = (uint64_t)a32[i] + b32[i], middle = (uint64_t)c32[i] + a32[i] + (low >> 32);
        const unsigned borrow = (uint64_t)b32[i] < (uint64_t)c32[i] + (middle >> 32);
        if (out32[i] != (uint32_t)low || out32[MOST + i] != (uint32_t)middle || high[i] != b32[i] - c32[i] - borrow)
            return 1;
    }
    return 0;
}

/* A table of 32 bytes looked up by vrgather; a vector reversed by vrgatherei16. */
static int lookup(size_t n) {
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e8m4(n - at);
        vuint8m4_t table = __riscv_vle8_v_u8m4(b8, 32 < __riscv_vsetvlmax_e8m4() ? 32 : __riscv_vsetvlmax_e8m4());
        vuint8m4_t v = __riscv_vle8_v_u8m4(a8 + at, vl);
        v = __riscv_vrgather_vv_u8m4(table, __riscv_vand_vx_u8m4(v, 31, vl), vl);
        vuint16m8_t down = __riscv_vrsub_vx_u16m8(__riscv_vid_v_u16m8(vl), (uint16_t)(vl - 1), vl);
        v = __riscv_vrgatherei16_vv_u8m4(v, down, vl);
        __riscv_vse8_v_u8m4(out8 + at, v, vl);
        for (size_t i = 0; i < vl; i++)
            if (out8[at + i] != b8[a8[at + vl - 1 - i] & 31])
                return 1;
    }
    return 0;
}

/* Rows of 16-bit values by a row of 8-bit weights, 32-bit sums. */
static int products(size_t n) {
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e16m2(n - at);
        vint32m4_t sum = __riscv_vmv_v_x_i32m4(0, vl);
        for (size_t k = 0; k < 5; k++) {
            vint16m2_t x = __riscv_vle16_v_i16m2((const int16_t *)a16 + at + k, vl);
            vint16m2_t y = __riscv_vsext_vf2_i16m2(__riscv_vle8_v_i8m1((const int8_t *)a8 + at + k, vl), vl);
            sum = __riscv_vwmacc_vv_i32m4(sum, x, y, vl);
            sum = __riscv_vwmaccsu_vx_i32m4(sum, -3, __riscv_vreinterpret_v_i16m2_u16m2(x), vl);
        }
        __riscv_vse32_v_i32m4((int32_t *)out32 + at, sum, vl);
    }
    for (size_t i = 0; i < n; i++) {
        int32_t sum = 0;
        for (size_t k = 0; k < 5; k++)
            sum += (int16_t)a16[i + k] * (int8_t)a8[i + k] - 3 * (int32_t)a16[i + k];
        if ((int32_t)out32[i] != sum)
            return 1;
    }
    return 0;
}

/* Quotients and remainders, by 0 and of the most negative by -1 too; high products. */
static int quotients(size_t n) {
    for (size_t i = 0; i < n; i++) {
        a32[i] = i % 7 ? a32[i] : 0x80000000;
        c32[i] = i % 5 == 0 ? 0 : i % 3 == 0 ? 0xffffffff : c32[i] >> (i & 31);
    }
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e32m2(n - at);
        vint32m2_t x = __riscv_vle32_v_i32m2((const int32_t *)a32 + at, vl);
        vint32m2_t y = __riscv_vle32_v_i32m2((const int32_t *)c32 + at, vl);
        vuint32m2_t u = __riscv_vreinterpret_v_i32m2_u32m2(x);
        __riscv_vse32_v_i32m2((int32_t *)out32 + at, __riscv_vdiv_vv_i32m2(x, y, vl), vl);
        __riscv_vse32_v_i32m2((int32_t *)out32 + MOST + at, __riscv_vrem_vv_i32m2(x, y, vl), vl);
        __riscv_vse32_v_u32m2(out32 + 2 * MOST + at, __riscv_vremu_vx_u32m2(u, 1000003, vl), vl);
        __riscv_vse32_v_i32m2((int32_t *)out32 + 3 * MOST + at, __riscv_vmulh_vv_i32m2(x, y, vl), vl);
    }
    for (size_t i = 0; i < n; i++) {
        const int32_t x = (int32_t)a32[i], y = (int32_t)c32[i];
        const int overflow = x == INT32_MIN && y == -1;
        const int32_t quotient = y == 0 ? -1 : overflow ? x : x / y, rest = y == 0 ? x : overflow ? 0 : x % y;
        if ((int32_t)out32[i] != quotient || (int32_t)out32[MOST + i] != rest ||
            out32[2 * MOST + i] != a32[i] % 1000003 || (int32_t)out32[3 * MOST + i] != (int64_t)x * y >> 32)
            return 1;
    }
    return 0;
}

/* What stands before, up to, and at the first separator of each vector. */
static int first_of_mask(size_t n) {
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e8m1(n - at);
        vuint8m1_t v = __riscv_vle8_v_u8m1(a8 + at, vl), one = __riscv_vmv_v_x_u8m1(1, vl);
        vbool8_t comma = __riscv_vmsgtu_vx_u8m1_b8(v, 240, vl),
                 even = __riscv_vmseq_vx_u8m1_b8(__riscv_vand_vx_u8m1(v, 1, vl), 0, vl);
        vuint8m1_t r = __riscv_vmv_v_x_u8m1(0, vl);
        r = __riscv_vadd_vv_u8m1_mu(__riscv_vmsbf_m_b8(comma, vl), r, r, one, vl);
        r = __riscv_vadd_vx_u8m1_mu(__riscv_vmsif_m_b8(comma, vl), r, r, 2, vl);
        r = __riscv_vadd_vx_u8m1_mu(__riscv_vmsof_m_b8(comma, vl), r, r, 4, vl);
        vbool8_t clear = __riscv_vmclr_m_b8(vl);
        r = __riscv_vadd_vx_u8m1_mu(__riscv_vmsof_m_b8_mu(even, clear, comma, vl), r, r, 8, vl);
        __riscv_vse8_v_u8m1(out8 + at, r, vl);
        const long first = __riscv_vfirst_m_b8_m(even, comma, vl);
        unsigned seen = 0, seen_even = 0;
        long want = -1;
        for (size_t i = 0; i < vl; i++) {
            const unsigned c = a8[at + i] > 240, e = !(a8[at + i] & 1);
            unsigned bits = seen ? 0 : c ? 2 + 4 : 1 + 2;
            if (c && e && !seen_even) {
                bits += 8;
                want = (long)i;
            }
            seen |= c;
            seen_even |= c & e;
            if (out8[at + i] != bits)
                return 1;
        }
        if (first != want)
            return 1;
    }
    return 0;
}

/* Elements that a mask leaves out, and those behind vl, stay as they were. */
static int undisturbed(size_t n) {
    const size_t most = __riscv_vsetvlmax_e16m4();
    n = n < most ? n : most;
    vuint16m4_t old = __riscv_vle16_v_u16m4(b16, most), x = __riscv_vle16_v_u16m4(a16, most);
    vbool4_t take = __riscv_vmsgtu_vx_u16m4_b4(x, 0x7000, most);
    vuint16m4_t v = __riscv_vmul_vx_u16m4_tumu(take, old, x, 3, n);
    __riscv_vse16_v_u16m4(out16, v, most);
    __riscv_vse16_v_u16m4(out16 + MOST, __riscv_vmerge_vxm_u16m4(x, 9, take, most), most);
    for (size_t i = 0; i < most; i++)
        if (out16[i] != (i < n && a16[i] > 0x7000 ? (uint16_t)(3 * a16[i]) : b16[i]) ||
            out16[MOST + i] != (a16[i] > 0x7000 ? 9 : a16[i]))
            return 1;
    return 0;
}

/* More groups alive than there are registers, so that the compiler saves some whole. */
static int spilled(size_t n) {
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e32m8(n - at);
        vuint32m8_t x = __riscv_vle32_v_u32m8(a32 + at, vl), y = __riscv_vle32_v_u32m8(b32 + at, vl);
        vuint32m8_t p = __riscv_vmul_vv_u32m8(x, y, vl), q = __riscv_vxor_vv_u32m8(x, y, vl);
        vuint32m8_t r = __riscv_vsub_vv_u32m8(x, y, vl), s = __riscv_vmaxu_vv_u32m8(x, y, vl);
        vuint32m8_t t = __riscv_vmacc_vv_u32m8(p, q, r, vl);
        t = __riscv_vnmsac_vv_u32m8(t, s, x, vl);
        t = __riscv_vadd_vv_u32m8(t, __riscv_vmul_vv_u32m8(p, s, vl), vl);
        t = __riscv_vadd_vv_u32m8(t, __riscv_vadd_vv_u32m8(q, __riscv_vadd_vv_u32m8(r, y, vl), vl), vl);
        __riscv_vse32_v_u32m8(out32 + at, t, vl);
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t x = a32[i], y = b32[i], p = x * y, q = x ^ y, r = x - y, s = x > y ? x : y;
        if (out32[i] != p + q * r - s * x + p * s + q + r + y)
            return 1;
    }
    return 0;
}

/* Fractions of registers, and all extensions. */
static int fractions(size_t n) {
    for (size_t at = 0, vl; at < n; at += vl) {
        vl = __riscv_vsetvl_e8mf4(n - at);
        vuint8mf4_t v = __riscv_vle8_v_u8mf4(a8 + at, vl);
        vint8mf4_t s = __riscv_vreinterpret_v_u8mf4_i8mf4(v);
        vuint32m1_t z = __riscv_vzext_vf4_u32m1(v, vl);
        vint32m1_t x = __riscv_vsext_vf4_i32m1(s, vl);
        vuint16mf2_t h = __riscv_vzext_vf2_u16mf2(v, vl);
        __riscv_vse32_v_u32m1(out32 + at, __riscv_vadd_vv_u32m1(z, __riscv_vreinterpret_v_i32m1_u32m1(x), vl), vl);
        __riscv_vse16_v_u16mf2(out16 + at, __riscv_vmul_vv_u16mf2(h, h, vl), vl);
    }
    for (size_t i = 0; i < n; i++)
        if (out32[i] != (uint32_t)((int32_t)a8[i] + (int8_t)a8[i]) || out16[i] != (uint16_t)(a8[i] * a8[i]))
            return 1;
    return 0;
}

static int (*const tests[])(size_t) = {
    segment8m42,  segment8m23,  segment8mf25, segment8m16,   segment8mf47, segment8m18,      segment16m13, segment16m24,
    segment32m42, segment32m14, strided,      backwards,     indexed,      indexed_segments, strings,      reductions,
    select_rows,  running_sum,  taps,         fixed0,        fixed1,       fixed2,           fixed3,       long_sums,
    lookup,       products,     quotients,    first_of_mask, undisturbed,  spilled,          fractions,
};

/* Not in main, where the compiler may use the unit before it is on. */
__attribute__((noinline)) static int all(void) {
    fill();
    for (unsigned k = 0; k < sizeof tests / sizeof *tests; k++)
        for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            clear(out8, sizeof out8);
            clear(out16, sizeof out16);
            clear(out32, sizeof out32);
            if (tests[k](lengths[i]) != 0)
                return (int)k + 1;
        }
    return 0;
}

int main(void) {
    __asm__ volatile("csrs mstatus, %0" : : "r"(0x600)); /* the vector unit is on */
    return all();
}
