/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The layers of a network for MNIST (docs/varve/bench.md 4.3): convolution of 8 filters with ReLU and the maximum over
 * 2 x 2, and the dense layer of 5 classes over some of the features. A macro chooses the form, as in workloads.c;
 * mnist_net.h has the weights of the convolution.
 */
#include <assasin.h>

#include "mnist_net.h"

enum { SIDE = 28, OUT = 26, POOLED = 13, PLANE = 14, TAPS = 9, GROUP = 8, CLASSES = 5 };
/** Places of a plane's rows that are computed, with the one between two rows. */
enum { PLACES = 12 * PLANE + 13, STRIDE = PLACES + 1 };

/** A call; host-driver/python/assasin/varve_mnist.py has the same structure. All numbers have 32 bits. */
struct job {
    uint32_t kernel, group;
    /** Convolution: 28 x 28 pixels, or four planes of 14 x 14, of even and odd rows and columns. Dense layer: features
     */
    uint32_t in;
    uint32_t room;             /**< convolution: for the sums before the maximum */
    uint32_t columns;          /**< for each filter 13 rows of 14 bits, of which the last is 0, without gaps */
    uint32_t n;                /**< dense layer: features */
    uint32_t weights[CLASSES]; /**< of each class, n */
    uint32_t out;              /**< features of 8 filters, or a sum of each class */
};

#define INLINE static inline __attribute__((always_inline, unused))
#define APART  static __attribute__((noinline, unused))
#define JOB    ((struct job *)(ASSASIN_CORE_SPAD_BASE + SCOMP_SPAD_ARGS))

#if defined VARVE_ZVE
#include <riscv_vector.h>
#include <stddef.h>
#elif !defined VARVE_SCALAR
#define STREAMS
#include <varve.h>
#endif

#define ROW(t)    ((t) / 3)
#define COLUMN(t) ((t) % 3)

/** Where tap t of phase (py, px) begins: row y of the planes is y / 2 of plane y mod 2. */
INLINE const int32_t *plane_tap(const int32_t *planes, unsigned py, unsigned px, unsigned t) {
    const unsigned y = py + ROW(t), x = px + COLUMN(t);
    return planes + ((y & 1) * 2 + (x & 1)) * PLANE * PLANE + (y >> 1) * PLANE + (x >> 1);
}

#define EACH_FILTER(g, DO) DO(g, 0) DO(g, 1) DO(g, 2) DO(g, 3) DO(g, 4) DO(g, 5) DO(g, 6) DO(g, 7)
#define EACH_TAP(DO)       DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8)

/* -- convolution, place by place: `room` has of each phase, and in it of each filter, STRIDE words */
enum { PHASE_WORDS = GROUP * STRIDE };

#if defined VARVE_SCALAR
INLINE int32_t most(int32_t a, int32_t b) {
    return a > b ? a : b;
}

#elif defined VARVE_ZVE
#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c)  PASTE_(a, b, c)
#if VARVE_LMUL == 1
#define LMUL m1
#elif VARVE_LMUL == 2
#define LMUL m2
#elif VARVE_LMUL == 4
#define LMUL m4
#elif VARVE_LMUL == 8
#define LMUL m8
#endif
typedef PASTE(vint32, LMUL, _t) words_t;
#define LENGTH(left) PASTE(__riscv_vsetvl_e32, LMUL, )(left)
#define LOAD(p, vl)  PASTE(__riscv_vle32_v_i32, LMUL, )(p, vl)
#define DUP(x, vl)   PASTE(__riscv_vmv_v_x_i32, LMUL, )(x, vl)

#define NO_SUM() s = DUP(0, vl);
#if VARVE_LMUL <= 2
/* The taps of a strip are loaded once for all filters. */
#define FIRST_SUM(t, w) s = __riscv_vmul(x##t, w, vl);
#define NEXT_SUM(t, w)  s = __riscv_vmacc(s, w, x##t, vl);
#define LOAD_TAP(t)                                                                                                    \
    const words_t x##t = LOAD(taps[t] + at, vl);                                                                       \
    (void)x##t;
#define STRIP(g, f)                                                                                                    \
    {                                                                                                                  \
        words_t s;                                                                                                     \
        MNIST_##g##_##f(FIRST_SUM, NEXT_SUM, NO_SUM);                                                                  \
        __riscv_vse32(sums + f * STRIDE + at, s, vl);                                                                  \
    }
#define PHASE(g)                                                                                                       \
    for (size_t at = 0, vl; at < PLACES; at += vl) {                                                                   \
        vl = LENGTH(PLACES - at);                                                                                      \
        EACH_TAP(LOAD_TAP)                                                                                             \
        EACH_FILTER(g, STRIP)                                                                                          \
    }
#else
/* There are registers for one filter's taps at a time. */
#define FIRST_SUM(t, w) s = __riscv_vmul(LOAD(taps[t] + at, vl), w, vl);
#define NEXT_SUM(t, w)  s = __riscv_vmacc(s, w, LOAD(taps[t] + at, vl), vl);
#define STRIP(g, f)                                                                                                    \
    for (size_t at = 0, vl; at < PLACES; at += vl) {                                                                   \
        vl = LENGTH(PLACES - at);                                                                                      \
        words_t s;                                                                                                     \
        MNIST_##g##_##f(FIRST_SUM, NEXT_SUM, NO_SUM);                                                                  \
        __riscv_vse32(sums + f * STRIDE + at, s, vl);                                                                  \
    }
#define PHASE(g) EACH_FILTER(g, STRIP)
#endif
#define PLACES_OF(g)                                                                                                   \
    APART void places_##g(const struct job *j) {                                                                       \
        for (unsigned phase = 0; phase < 4; phase++) {                                                                 \
            const int32_t *taps[TAPS];                                                                                 \
            int32_t *sums = (int32_t *)j->room + phase * PHASE_WORDS;                                                  \
            for (unsigned t = 0; t < TAPS; t++)                                                                        \
                taps[t] = plane_tap((const int32_t *)j->in, phase >> 1, phase & 1, t);                                 \
            PHASE(g)                                                                                                   \
        }                                                                                                              \
        pool(j);                                                                                                       \
    }                                                                                                                  \
    struct job /* a declaration, for the semicolon behind it */
APART void pool(const struct job *j) {
    int32_t *out = (int32_t *)j->out;
    const int32_t *sums = (const int32_t *)j->room;
    for (unsigned f = 0; f < GROUP; f++, sums += STRIDE)
        for (unsigned y = 0; y < POOLED; y++) {
            const int32_t *p = sums + y * PLANE;
            for (size_t left = POOLED, vl; left; left -= vl, p += vl, out += vl) {
                vl = LENGTH(left);
                const words_t a = __riscv_vmax(LOAD(p, vl), LOAD(p + PHASE_WORDS, vl), vl);
                const words_t b = __riscv_vmax(LOAD(p + 2 * PHASE_WORDS, vl), LOAD(p + 3 * PHASE_WORDS, vl), vl);
                const words_t top = __riscv_vmax(__riscv_vmax(a, b, vl), 0, vl);
                __riscv_vse32(out, __riscv_vsra(top, MNIST_SHIFT, vl), vl);
            }
        }
}

#else
#define SUM(g, f)          vv_t s##f, p##f __attribute__((unused));
#define FIRST_SUM(f, t, w) s##f = vv_mul_x(x##t, w);
#define NEXT_MUL(f, t, w)  p##f = vv_mul_x(x##t, w);
#define NEXT_ADD(f)        s##f = vv_add(s##f, p##f);
#define NO_SUM(f)          s##f = vv_mul_x(x0, 0);
#define RELU(g, f)         s##f = vv_max_x(s##f, 0);
#define DECLARE_TAP(t)     VV_IN_FR(t, plane_tap((const int32_t *)j->in, py, px, t), 32, PLACES, VV_UNSIGNED);
#define END_TAP(t)         VV_END_IN(t);
#define UNPACK(t)                                                                                                      \
    const vv_t x##t = vv_unpack(t);                                                                                    \
    (void)x##t;
#define KEEP(t)           vv_keep(x##t);
#define DECLARE_OUT(g, f) VV_OUT_FW(f, (int32_t *)j->room + (2 * py + px) * PHASE_WORDS + f * STRIDE, 32, VV_UNSIGNED);
#define END_OUT(g, f)     VV_END_OUT(f);
#define PACK(g, f)        vv_pack(s##f, f);
#define PLACES_OF(g)                                                                                                   \
    APART void phase_##g(const struct job *j, unsigned py, unsigned px) {                                              \
        EACH_TAP(DECLARE_TAP)                                                                                          \
        EACH_FILTER(g, DECLARE_OUT)                                                                                    \
        VV_BEGIN();                                                                                                    \
        VV_STRIPS(0x1ff){EACH_TAP(UNPACK) EACH_FILTER(g, SUM) MNIST_GROUP_##g(FIRST_SUM, NEXT_MUL, NEXT_ADD, NO_SUM)   \
                             EACH_FILTER(g, RELU) EACH_FILTER(g, PACK) EACH_TAP(KEEP)} EACH_TAP(END_TAP)               \
            EACH_FILTER(g, END_OUT)                                                                                    \
    }                                                                                                                  \
    APART void places_##g(const struct job *j) {                                                                       \
        for (unsigned phase = 0; phase < 4; phase++)                                                                   \
            phase_##g(j, phase >> 1, phase & 1);                                                                       \
        pool(j);                                                                                                       \
    }                                                                                                                  \
    struct job /* a declaration, for the semicolon behind it */

/* The place between two rows is left out by a mask. */
APART void pool(const struct job *j) {
    const int32_t *sums = (const int32_t *)j->room;
    VV_IN_FR(0, j->columns, 1, PHASE_WORDS, VV_UNSIGNED);
    VV_IN_FR(1, sums, 32, PHASE_WORDS, VV_UNSIGNED);
    VV_IN_FR(2, sums + PHASE_WORDS, 32, PHASE_WORDS, VV_UNSIGNED);
    VV_IN_FR(3, sums + 2 * PHASE_WORDS, 32, PHASE_WORDS, VV_UNSIGNED);
    VV_IN_FR(4, sums + 3 * PHASE_WORDS, 32, PHASE_WORDS, VV_UNSIGNED);
    VV_OUT_FW(0, j->out, 32, VV_UNSIGNED);
    VV_BEGIN();
    VV_STRIPS(31) {
        const vv_t chosen = vv_unpack(0), p = vv_unpack(1), q = vv_unpack(2), r = vv_unpack(3), s = vv_unpack(4);
        const vvmask_t m = vv_eq_x(chosen, 1);
        const vv_t a = vv_max(p, q), b = vv_max(r, s);
        vv_pack_m(m, vv_asr_x(vv_max(a, b), MNIST_SHIFT), 0);
        vv_keep(chosen), vv_keep(p), vv_keep(q), vv_keep(r), vv_keep(s);
    }
    VV_END_IN(0), VV_END_IN(1), VV_END_IN(2), VV_END_IN(3), VV_END_IN(4);
    VV_END_OUT(0);
}
#endif
#ifdef PLACES_OF
PLACES_OF(0);
PLACES_OF(1);
PLACES_OF(2);
PLACES_OF(3);
#endif

/* -- convolution, pixel by pixel: each that is not 0 is added, with its weights, to the sums of the 9 places around it.
   `room` has 30 x 30 places of 8 sums, so that no place lies outside. Only for scalar code and for LMUL 1. */

enum { WIDE = SIDE + 2 };
#if defined VARVE_SCALAR || VARVE_LMUL == 1 && defined VARVE_ZVE
#define PIXELS_OF(g)                                                                                                   \
    APART void pixels_##g(const struct job *j) {                                                                       \
        const int32_t *pixel = (const int32_t *)j->in;                                                                 \
        int32_t *sums = (int32_t *)j->room;                                                                            \
        CLEAR(sums)                                                                                                    \
        WEIGHTS(g)                                                                                                     \
        sums += (2 * WIDE + 2) * GROUP;                                                                                \
        for (unsigned y = 0; y < SIDE; y++, sums += (WIDE - SIDE) * GROUP)                                             \
            for (unsigned x = 0; x < SIDE; x++, sums += GROUP) {                                                       \
                const int32_t v = *pixel++;                                                                            \
                if (!v)                                                                                                \
                    continue;                                                                                          \
                ADD_PIXEL(g)                                                                                           \
            }                                                                                                          \
        pool_pixels(j);                                                                                                \
    }                                                                                                                  \
    struct job /* a declaration, for the semicolon behind it */
#define PLACE_OF(t) (sums - (ROW(t) * WIDE + COLUMN(t)) * GROUP)
#if defined VARVE_SCALAR
#define CLEAR(sums)                                                                                                    \
    for (unsigned i = 0; i < WIDE * WIDE * GROUP; i++)                                                                 \
        sums[i] = 0;
#define WEIGHTS(g)
#define ADD_WEIGHT(f, t, w) PLACE_OF(t)[f] += (w)*v;
#define NOTHING(f)
#define ADD_PIXEL(g) MNIST_GROUP_##g(ADD_WEIGHT, ADD_WEIGHT, NOTHING, NOTHING)
APART void pool_pixels(const struct job *j) {
    int32_t *out = (int32_t *)j->out;
    const int32_t *p = (const int32_t *)j->room + (2 * WIDE + 2) * GROUP;
    for (unsigned y = 0; y < POOLED; y++, p += (2 * WIDE - OUT) * GROUP)
        for (unsigned x = 0; x < POOLED; x++, p += 2 * GROUP)
            for (unsigned f = 0; f < GROUP; f++) {
                const int32_t top =
                    most(most(p[f], p[f + GROUP]), most(p[f + WIDE * GROUP], p[f + (WIDE + 1) * GROUP]));
                *out++ = most(top, 0) >> MNIST_SHIFT;
            }
}
#else
#define CLEAR(sums)                                                                                                    \
    for (unsigned i = 0; i < WIDE * WIDE * GROUP; i += GROUP)                                                          \
        __riscv_vse32(sums + i, DUP(0, GROUP), GROUP);
static const int32_t weights[4][TAPS][GROUP] = MNIST_WEIGHTS;
#define LOAD_WEIGHT(t) const words_t w##t = LOAD(of[t], GROUP);
#define WEIGHTS(g)                                                                                                     \
    const int32_t(*of)[GROUP] = weights[g];                                                                            \
    EACH_TAP(LOAD_WEIGHT)
#define ADD_TAP(t)   __riscv_vse32(PLACE_OF(t), __riscv_vmacc(LOAD(PLACE_OF(t), GROUP), v, w##t, GROUP), GROUP);
#define ADD_PIXEL(g) EACH_TAP(ADD_TAP)
APART void pool_pixels(const struct job *j) {
    int32_t *out = (int32_t *)j->out;
    const int32_t *p = (const int32_t *)j->room + (2 * WIDE + 2) * GROUP;
    for (unsigned y = 0; y < POOLED; y++, p += (2 * WIDE - OUT) * GROUP)
        for (unsigned x = 0; x < POOLED; x++, p += 2 * GROUP, out += GROUP) {
            const words_t a = __riscv_vmax(LOAD(p, GROUP), LOAD(p + GROUP, GROUP), GROUP);
            const words_t b = __riscv_vmax(LOAD(p + WIDE * GROUP, GROUP), LOAD(p + (WIDE + 1) * GROUP, GROUP), GROUP);
            const words_t top = __riscv_vmax(__riscv_vmax(a, b, GROUP), 0, GROUP);
            __riscv_vse32(out, __riscv_vsra(top, MNIST_SHIFT, GROUP), GROUP);
        }
}
#endif
PIXELS_OF(0);
PIXELS_OF(1);
PIXELS_OF(2);
PIXELS_OF(3);
#endif

/* -- dense layer: 5 classes */

#if defined VARVE_SCALAR
APART void dense(const struct job *j) {
    const int32_t *x = (const int32_t *)j->in, *a = (const int32_t *)j->weights[0], *b = (const int32_t *)j->weights[1],
                  *c = (const int32_t *)j->weights[2], *d = (const int32_t *)j->weights[3],
                  *e = (const int32_t *)j->weights[4];
    int32_t sum[CLASSES] = {0};
    for (uint32_t i = 0; i < j->n; i++) {
        const int32_t v = x[i];
        if (!v)
            continue;
        sum[0] += v * a[i];
        sum[1] += v * b[i];
        sum[2] += v * c[i];
        sum[3] += v * d[i];
        sum[4] += v * e[i];
    }
    for (unsigned k = 0; k < CLASSES; k++)
        ((int32_t *)j->out)[k] = sum[k];
}
#elif defined VARVE_ZVE
APART void dense(const struct job *j) {
    const int32_t *x = (const int32_t *)j->in, *a = (const int32_t *)j->weights[0], *b = (const int32_t *)j->weights[1],
                  *c = (const int32_t *)j->weights[2], *d = (const int32_t *)j->weights[3],
                  *e = (const int32_t *)j->weights[4];
    const size_t all = LENGTH(~(size_t)0);
    words_t p = DUP(0, all), q = DUP(0, all), r = DUP(0, all), s = DUP(0, all), t = DUP(0, all);
    /* Lanes behind vl keep their sums. */
#define MACC(sum, w) sum = PASTE(__riscv_vmacc_vv_i32, LMUL, _tu)(sum, v, LOAD(w, vl), vl)
    for (size_t left = j->n, vl; left; left -= vl, x += vl, a += vl, b += vl, c += vl, d += vl, e += vl) {
        vl = LENGTH(left);
        const words_t v = LOAD(x, vl);
        MACC(p, a);
        MACC(q, b);
        MACC(r, c);
        MACC(s, d);
        MACC(t, e);
    }
    int32_t *out = (int32_t *)j->out;
    const vint32m1_t zero = __riscv_vmv_v_x_i32m1(0, 1);
#define TOTAL(sum)   __riscv_vmv_x(__riscv_vredsum(sum, zero, all))
    out[0] = TOTAL(p);
    out[1] = TOTAL(q);
    out[2] = TOTAL(r);
    out[3] = TOTAL(s);
    out[4] = TOTAL(t);
}
#else
/* A sum is added one strip late, so that the core does not wait for it. */
APART void dense(const struct job *j) {
    const uint32_t n = j->n;
    VV_IN_FR(0, j->in, 32, n, VV_UNSIGNED);
    VV_IN_FR(1, j->weights[0], 32, n, VV_SIGNED);
    VV_IN_FR(2, j->weights[1], 32, n, VV_SIGNED);
    VV_IN_FR(3, j->weights[2], 32, n, VV_SIGNED);
    VV_IN_FR(4, j->weights[3], 32, n, VV_SIGNED);
    VV_IN_FR(5, j->weights[4], 32, n, VV_SIGNED);
    int32_t a = 0, b = 0, c = 0, d = 0, e = 0, sa = 0, sb = 0, sc = 0, sd = 0, se = 0;
    VV_BEGIN();
    VV_STRIPS(63) {
        const vv_t x = vv_unpack(0), v = vv_unpack(1), w = vv_unpack(2), y = vv_unpack(3), z = vv_unpack(4),
                   u = vv_unpack(5);
        const vv_t p = vv_mul(x, v), q = vv_mul(x, w), r = vv_mul(x, y), s = vv_mul(x, z), t = vv_mul(x, u);
        a += sa, b += sb, c += sc, d += sd, e += se;
        sa = vv_sum32(p), sb = vv_sum32(q), sc = vv_sum32(r), sd = vv_sum32(s), se = vv_sum32(t);
        vv_keep(x), vv_keep(v), vv_keep(w), vv_keep(y), vv_keep(z), vv_keep(u);
    }
    VV_END_IN(0), VV_END_IN(1), VV_END_IN(2), VV_END_IN(3), VV_END_IN(4), VV_END_IN(5);
    int32_t *out = (int32_t *)j->out;
    out[0] = a + sa, out[1] = b + sb, out[2] = c + sc, out[3] = d + sd, out[4] = e + se;
}
#endif

/** Of kernel and group: a convolution by places is kernel 0, by pixels 1, the dense layer 2. */
int compute(void) {
    const struct job *j = JOB;
    switch (4 * j->kernel + j->group) {
#ifdef PLACES_OF
    case 0:
        places_0(j);
        return 0;
    case 1:
        places_1(j);
        return 0;
    case 2:
        places_2(j);
        return 0;
    case 3:
        places_3(j);
        return 0;
#endif
#ifdef PIXELS_OF
    case 4:
        pixels_0(j);
        return 0;
    case 5:
        pixels_1(j);
        return 0;
    case 6:
        pixels_2(j);
        return 0;
    case 7:
        pixels_3(j);
        return 0;
#endif
    case 8:
        dense(j);
        return 0;
    default:
        return 1;
    }
}
