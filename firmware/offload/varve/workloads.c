/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Workloads of docs/varve/bench.md 4 besides the filters: bitpacking and RAID5. A macro chooses the form: VARVE_SCALAR,
 * VARVE_ZVE (intrinsics, VARVE_LMUL registers a vector), VARVE_PUP or VARVE_FULL (varve.h). The piece's arguments say
 * which workload. With VARVE_BUFFERS the last two take all of the piece's streams, where they lie in stream buffers.
 * Another program names its job, a variable of its own, by VARVE_JOB.
 */
#ifndef VARVE_JOB
#include <assasin.h>
#endif
#include <stdint.h>
/** A call; host-driver/python/assasin/varve_workloads.py has the same structure. */
struct job {
    uint32_t kernel, n; /**< n: values, or words of a stream */
    uint32_t result;    /**< set at the end: values or words written */
    uint32_t in[5], out;
#ifdef VARVE_TRAFFIC
    uint32_t widths[4]; /**< of the inputs, where values have widths of their own */
#endif
};
#ifdef VARVE_JOB
extern struct job VARVE_JOB;
#define JOB (&VARVE_JOB)
#else
#define JOB ((struct job *)(ASSASIN_CORE_SPAD_BASE + SCOMP_SPAD_ARGS))
#endif
/* A place of the job. */
#define AT(place) ((void *)(uintptr_t)(place))

#define INLINE static inline __attribute__((always_inline, unused))
#define APART  static __attribute__((noinline, unused))

#if defined VARVE_ZVE
#include <riscv_vector.h>
#include <stddef.h>
#elif !defined VARVE_SCALAR
#define STREAMS
#include <varve.h>
#ifdef VARVE_TRAFFIC
#define INPUT(id, base, width, count)                                                                                  \
    VV_LEFT(id, count);                                                                                                \
    if (JOB->widths[id]) {                                                                                             \
        VV_IN_VR(id, base, JOB->widths[id], count, VV_UNSIGNED);                                                       \
    } else {                                                                                                           \
        VV_IN_FR(id, base, width, count, VV_UNSIGNED);                                                                 \
    }                                                                                                                  \
    ((void)0)
#elif defined VARVE_BUFFERS
#define INPUT(id, base, width, count)                                                                                  \
    (void)(base), (void)(count);                                                                                       \
    VV_IN_FR(id, 0, width, VV_TO_END, VV_UNSIGNED | VV_BUFFER)
#define OUTPUT(id, base, width)                                                                                        \
    (void)(base);                                                                                                      \
    VV_OUT_FW(id, 0, width, VV_UNSIGNED | VV_BUFFER)
#else
#define INPUT(id, base, width, count) VV_IN_FR(id, base, width, count, VV_UNSIGNED)
#endif
#ifndef OUTPUT
#define OUTPUT(id, base, width) VV_OUT_FW(id, base, width, VV_UNSIGNED)
#endif
#endif

/* -- bitpacking: `count` values, a multiple of 32, each of `bits` bits of a word or byte of `padded` bits */

#if !defined STREAMS
INLINE uint32_t padded_value(const uint8_t *in, uint32_t i, unsigned padded) {
    return padded == 8    ? in[i]
           : padded == 16 ? ((const uint16_t *)(uintptr_t)in)[i]
                          : ((const uint32_t *)(uintptr_t)in)[i];
}

/* A word is stored when it is full. */
INLINE uint32_t bitpack_scalar(uint32_t count, const uint8_t *in, unsigned padded, uint32_t *out, unsigned bits) {
    uint32_t word = 0, have = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t v = padded_value(in, i, padded);
        word |= v << have;
        have += bits;
        if (have >= 32) {
            *out++ = word;
            have -= 32;
            word = v >> (bits - have);
        }
    }
    return count;
}

/* A block of 32 values has its shifts as constants. */
INLINE uint32_t bitpack_unrolled(uint32_t count, const uint8_t *in, unsigned padded, uint32_t *out, unsigned bits) {
    for (uint32_t i = 0; i < count; i += 32, in += 4 * padded) {
        uint32_t word = 0, have = 0;
#pragma GCC unroll 32
        for (unsigned k = 0; k < 32; k++) {
            const uint32_t v = padded_value(in, k, padded);
            word |= v << have;
            have += bits;
            if (have >= 32) {
                *out++ = word;
                have -= 32;
                word = have ? v >> (bits - have) : 0;
            }
        }
    }
    return count;
}
APART uint32_t bitpack5_unrolled(uint32_t count, const void *in, void *out) {
    return bitpack_unrolled(count, in, 8, out, 5);
}
APART uint32_t bitpack15_unrolled(uint32_t count, const void *in, void *out) {
    return bitpack_unrolled(count, in, 32, out, 15);
}
APART uint32_t bitpack15_of16(uint32_t count, const void *in, void *out) {
    return bitpack_scalar(count, in, 16, out, 15);
}
#endif

#if defined VARVE_SCALAR
APART uint32_t bitpack5(uint32_t count, const void *in, void *out) {
    return bitpack_scalar(count, in, 8, out, 5);
}
APART uint32_t bitpack15(uint32_t count, const void *in, void *out) {
    return bitpack_scalar(count, in, 32, out, 15);
}

#elif defined VARVE_ZVE
#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c)  PASTE_(a, b, c)
#if VARVE_LMUL == 1
#define GROUP m1
#elif VARVE_LMUL == 2
#define GROUP m2
#elif VARVE_LMUL == 4
#define GROUP m4
#elif VARVE_LMUL == 8
#define GROUP m8
#endif
typedef PASTE(vuint32, GROUP, _t) words_t;
#define LENGTH(left)           PASTE(__riscv_vsetvl_e32, GROUP, )(left)
#define LOAD(p, vl)            PASTE(__riscv_vle32_v_u32, GROUP, )(p, vl)
#define LOAD_EACH(p, step, vl) PASTE(__riscv_vlse32_v_u32, GROUP, )(p, step, vl)

/* A lane has 32 values of a block: it reads them with a stride, and writes `bits` words with one. */
APART uint32_t bitpack5(uint32_t count, const void *in, void *out) {
    const uint32_t *from = in;
    uint32_t *to = out;
    for (size_t left = count / 32, vl; left; left -= vl, from += 8 * vl, to += 5 * vl) {
        vl = LENGTH(left);
        words_t word = LOAD_EACH(from, 32, vl), v = word;
        /* Four values of a byte each in a word: their 20 bits side by side. From 16 bits to 10, and from 32 to 20. */
#define JOIN(v)                                                                                                        \
    (v = __riscv_vor(__riscv_vand(v, 0x001f001f, vl), __riscv_vsrl(__riscv_vand(v, 0x1f001f00, vl), 3, vl), vl),       \
     __riscv_vmacc(v, (uint32_t)-0xfc00, __riscv_vsrl(v, 16, vl), vl))
#define NEXT(k) (v = LOAD_EACH(from + (k), 32, vl), v = JOIN(v))
#define PUT(k)  __riscv_vsse32(to + (k), 20, word, vl)
        word = JOIN(v);
        NEXT(1);
        word = __riscv_vor(word, __riscv_vsll(v, 20, vl), vl);
        PUT(0);
        word = __riscv_vsrl(v, 12, vl);
        NEXT(2);
        word = __riscv_vor(word, __riscv_vsll(v, 8, vl), vl);
        NEXT(3);
        word = __riscv_vor(word, __riscv_vsll(v, 28, vl), vl);
        PUT(1);
        word = __riscv_vsrl(v, 4, vl);
        NEXT(4);
        word = __riscv_vor(word, __riscv_vsll(v, 16, vl), vl);
        PUT(2);
        word = __riscv_vsrl(v, 16, vl);
        NEXT(5);
        word = __riscv_vor(word, __riscv_vsll(v, 4, vl), vl);
        NEXT(6);
        word = __riscv_vor(word, __riscv_vsll(v, 24, vl), vl);
        PUT(3);
        word = __riscv_vsrl(v, 8, vl);
        NEXT(7);
        word = __riscv_vor(word, __riscv_vsll(v, 12, vl), vl);
        PUT(4);
    }
    return count;
}

#if VARVE_LMUL >= 4
#if VARVE_LMUL == 4
#define HALF     m2
typedef vuint16m2_t halves_t;
typedef vuint32m2_t pairs_t;
typedef vbool16_t mask_t;
#define AS_PAIRS __riscv_vreinterpret_v_u16m2_u32m2
#else
#define HALF     m4
typedef vuint16m4_t halves_t;
typedef vuint32m4_t pairs_t;
typedef vbool8_t mask_t;
#define AS_PAIRS __riscv_vreinterpret_v_u16m4_u32m4
#endif
/* A lane has two values, 30 bits; of 16 lanes 15 words are made, word j of lanes j and j + 1. */
APART uint32_t bitpack15(uint32_t count, const void *in, void *out) {
    const uint32_t *from = in;
    uint32_t *to = out;
    const size_t most = PASTE(__riscv_vsetvlmax_e32, HALF, )() & ~(size_t)15;
    const pairs_t place = __riscv_vand(PASTE(__riscv_vid_v_u32, HALF, )(most), 15, most);
    const pairs_t down = __riscv_vsll(place, 1, most), up = __riscv_vrsub(down, 30, most);
    const mask_t kept = __riscv_vmsne(place, 15, most);
    for (size_t pairs = count / 2, vl; pairs; pairs -= vl, from += 2 * vl, to += vl / 16 * 15) {
        vl = pairs < most ? pairs : most;
        const halves_t h = __riscv_vncvt_x(LOAD(from, 2 * vl), 2 * vl);
        pairs_t p = AS_PAIRS(h);
        p = __riscv_vmacc(p, (uint32_t)-0x8000, __riscv_vsrl(p, 16, vl), vl);
        const pairs_t next = __riscv_vslide1down(p, 0, vl);
        p = __riscv_vor(__riscv_vsrl(p, down, vl), __riscv_vsll(next, up, vl), vl);
        __riscv_vse32(to, __riscv_vcompress(p, kept, vl), vl / 16 * 15);
    }
    return count;
}
#else
/* A vector of pairs would have fewer than 16 lanes. */
APART uint32_t bitpack15(uint32_t count, const void *in, void *out) {
    return bitpack_scalar(count, in, 32, out, 15);
}
#endif

#else
INLINE uintptr_t bitpack(uintptr_t count, const void *in, unsigned padded, void *out, unsigned bits) {
    INPUT(0, in, padded, count);
    OUTPUT(0, out, bits);
    VV_BEGIN();
    VV_STRIPS_FAR(1) {
        vv_pack(vv_unpack(0), 0);
    }
    VV_END_IN(0);
    return VV_END_OUT(0);
}
APART uint32_t bitpack5(uint32_t count, const void *in, void *out) {
    return bitpack(count, in, 8, out, 5);
}
APART uint32_t bitpack15(uint32_t count, const void *in, void *out) {
    return bitpack(count, in, 32, out, 15);
}
APART uint32_t bitpack15_of16(uint32_t count, const void *in, void *out) {
    return bitpack(count, in, 16, out, 15);
}
#endif

/* -- RAID5: the parity of four streams of words. Decoding is the same, with the parity in place of one of them. */

#if defined VARVE_SCALAR
APART uint32_t raid5(uint32_t n, const struct job *j) {
    const uint32_t *a = AT(j->in[0]), *b = AT(j->in[1]), *c = AT(j->in[2]), *d = AT(j->in[3]);
    uint32_t *restrict out = AT(j->out);
    for (uint32_t i = 0; i < n; i++)
        out[i] = a[i] ^ b[i] ^ (c[i] ^ d[i]);
    return n;
}
#elif defined VARVE_ZVE
APART uint32_t raid5(uint32_t n, const struct job *j) {
    const uint32_t *a = AT(j->in[0]), *b = AT(j->in[1]), *c = AT(j->in[2]), *d = AT(j->in[3]);
    uint32_t *out = AT(j->out);
    for (size_t left = n, vl; left; left -= vl, a += vl, b += vl, c += vl, d += vl, out += vl) {
        vl = LENGTH(left);
        const words_t ab = __riscv_vxor(LOAD(a, vl), LOAD(b, vl), vl);
        __riscv_vse32(out, __riscv_vxor(ab, __riscv_vxor(LOAD(c, vl), LOAD(d, vl), vl), vl), vl);
    }
    return n;
}
#else
APART uint32_t raid5(uint32_t n, const struct job *j) {
    INPUT(0, AT(j->in[0]), 32, n);
    INPUT(1, AT(j->in[1]), 32, n);
    INPUT(2, AT(j->in[2]), 32, n);
    INPUT(3, AT(j->in[3]), 32, n);
    OUTPUT(0, AT(j->out), 32);
    VV_BEGIN();
    VV_STRIPS_FAR(15) {
        /* In registers of their own, so that no unpack waits for an operation. */
        const vv_t a = vv_unpack(0), b = vv_unpack(1), c = vv_unpack(2), d = vv_unpack(3);
        vv_pack(vv_xor(vv_xor(a, b), vv_xor(c, d)), 0);
        vv_keep(a), vv_keep(b), vv_keep(c), vv_keep(d);
    }
    VV_END_IN(0);
    VV_END_IN(1);
    VV_END_IN(2);
    VV_END_IN(3);
    return VV_END_OUT(0);
}
#endif

int compute(void) {
    struct job *j = JOB;
    const void *in = AT(j->in[0]);
    void *out = AT(j->out);
    switch (j->kernel) {
    case 0:
        j->result = bitpack5(j->n, in, out);
        return 0;
    case 1:
        j->result = bitpack15(j->n, in, out);
        return 0;
    case 2:
        j->result = raid5(j->n, j);
        return 0;
    case 5:
        j->result = bitpack15_of16(j->n, in, out);
        return 0;
#if !defined STREAMS
    case 3:
        j->result = bitpack5_unrolled(j->n, in, out);
        return 0;
    case 4:
        j->result = bitpack15_unrolled(j->n, in, out);
        return 0;
#endif
    default:
        return 1;
    }
}
