/* SPDX-License-Identifier: BSD-3-Clause */
/* saxpy: A = alpha * B + C over vectors of IEEE 754 single precision (struct saxpy_args): XSSD's saxpy on a core.
 * Streams 0 and 1 are B and C; it ends with the shorter one. The cores have no floating point unit: normal numbers are
 * multiplied and added here, each rounded to nearest even; zeros, subnormal numbers, infinities and NaNs are left to
 * libgcc. */
#include <assasin.h>
#include <offloads.h>
#include <string.h>

#define SIGN     0x80000000u
#define IMPLICIT 0x00800000u
/* Bits behind the sum's last one: what rounding needs. The lowest one says whether there is anything behind it. */
#define GUARD 6
#define TOP   (IMPLICIT << GUARD)

static uint32_t __attribute__((noinline)) by_library(uint32_t alpha_bits, uint32_t b_bits, uint32_t c_bits) {
    float alpha, b, c;
    memcpy(&alpha, &alpha_bits, sizeof alpha);
    memcpy(&b, &b_bits, sizeof b);
    memcpy(&c, &c_bits, sizeof c);
    float a = alpha * b;
    a = a + c;
    uint32_t a_bits;
    memcpy(&a_bits, &a, sizeof a_bits);
    return a_bits;
}

static inline uint32_t exponent(uint32_t bits) {
    return bits >> 23 & 0xff;
}

/* Neither zero, subnormal, infinite nor NaN. */
static inline int is_normal(uint32_t biased) {
    return biased - 1 < 254;
}

/* A number of this exponent with a significand of 24 bits; one that rounding has made 2^24 counts in the exponent. */
static inline uint32_t packed(uint32_t sign, uint32_t biased, uint32_t significand) {
    return sign + ((biased - 1) << 23) + significand;
}

static inline uint32_t multiply_add(uint32_t alpha, uint32_t b, uint32_t c) {
    uint32_t alpha_exponent = exponent(alpha), b_exponent = exponent(b), c_exponent = exponent(c);
    if (!is_normal(b_exponent) || !is_normal(c_exponent))
        return by_library(alpha, b, c);

    /* The product, its highest bit at bit 31 of `high`. */
    uint64_t exact = (uint64_t)(alpha << 8 | SIGN) * (b << 8 | SIGN);
    uint32_t high = (uint32_t)(exact >> 32), low = (uint32_t)exact, p_exponent = alpha_exponent + b_exponent - 126;
    if (!(high & SIGN)) {
        high = high << 1 | low >> 31;
        low <<= 1;
        p_exponent--;
    }
    if (!is_normal(p_exponent) || !is_normal(alpha_exponent))
        return by_library(alpha, b, c);
    uint32_t p = high >> 8, rest = high << 24 | (low != 0);
    p += rest > SIGN - (p & 1);
    p = packed((alpha ^ b) & SIGN, p_exponent, p);
    p_exponent = exponent(p);
    if (p_exponent == 255)
        return by_library(alpha, b, c);

    /* `large` is the one of greater magnitude. */
    uint32_t large = p, small = c, e = p_exponent, behind = p_exponent - c_exponent;
    if (p << 1 < c << 1) {
        large = c;
        small = p;
        e = c_exponent;
        behind = -behind;
    }
    uint32_t x = (large << 8 | SIGN) >> (8 - GUARD), y = (small << 8 | SIGN) >> (8 - GUARD);
    if (behind) {
        if (behind > 31)
            behind = 31;
        y = y >> behind | (y << (32 - behind) != 0);
    }
    uint32_t sum;
    if ((large ^ small) & SIGN) {
        sum = x - y;
        if (!sum)
            return 0;
        while (!(sum & TOP)) {
            sum <<= 1;
            e--;
        }
    } else {
        sum = x + y;
        if (sum & TOP << 1) {
            sum = sum >> 1 | (sum & 1);
            e++;
        }
    }
    if (!is_normal(e))
        return by_library(alpha, b, c);
    uint32_t a = sum >> GUARD;
    a += (sum << (32 - GUARD)) > SIGN - (a & 1);
    return packed(large & SIGN, e, a);
}

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_IN(1);
    ASSASIN_OUT(0);
    if (assasin_task()->args_bytes != sizeof(struct saxpy_args) || assasin_task()->streams_in != 2)
        ASSASIN_RETURN(SAXPY_BAD_ARGUMENTS);
    const struct saxpy_args *args = assasin_args();
    uint32_t alpha;
    memcpy(&alpha, &args->alpha, sizeof alpha);
    for (;;) {
        uint32_t b = ASSASIN_LOAD_U32(0, end), c = ASSASIN_LOAD_U32(1, end);
        ASSASIN_STORE_U32(0, multiply_add(alpha, b, c));
    }
end:
    ASSASIN_RETURN(0);
}
