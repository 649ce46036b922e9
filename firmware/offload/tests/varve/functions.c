/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Functions of VarVE-full on streams of any width and sign: products, quotients, shifts, VINDEX, VREDSUM, VTVS. The
 * piece's arguments say which. For the RTL of a tile (host-driver/tests/test_varve_functions.py).
 */
#include <assasin.h>
#include <varve.h>

/** A call; test_varve_functions.py has the same structure. Formats as VSFMT has them. */
struct job {
    uint32_t function, n;
    uint32_t result[2]; /**< set at the end: a sum, or values written; the upper half of the sum, or strips */
    uint32_t x;
    uint32_t a, b, out;
    uint32_t formats[3]; /**< of a, b, out */
};

/* Two vectors, a constant, a number, and the first and last of them where b is above 0. */
#define CASE(number, body)                                                                                             \
    case number:                                                                                                       \
        VV_STRIPS(3) {                                                                                                 \
            vv_t p = vv_unpack(0), q = vv_unpack(1);                                                                   \
            (void)q;                                                                                                   \
            body;                                                                                                      \
            strips++;                                                                                                  \
        }                                                                                                              \
        break;
#define FUNCTION(number, name)                                                                                         \
    CASE(number, vv_pack(vv_##name(p, q), 0))                                                                          \
    CASE(number + 1, vv_pack(vv_##name##_x(p, 13), 0))                                                                 \
    CASE(number + 2, vv_pack(vv_##name##_x(p, x), 0))                                                                  \
    CASE(number + 3, vvmask_t m = vv_gt_x(q, 0); vv_pack(vv_##name##_m(m, p, q), 0))                                   \
    CASE(number + 4, vvmask_t m = vv_gt_x(q, 0); vv_pack(vv_##name##_xm(m, p, x), 0))

/* Numbers first, first + step, .. over all strips. */
#define INDEX(number, step)                                                                                            \
    case number:                                                                                                       \
        for (uintptr_t now = 1, first = x; now; first += now * (uintptr_t)(step), strips++) {                          \
            vv_pack(vv_add(vv_unpack(0), vv_index(first, step)), 0);                                                   \
            now = vv_next(1);                                                                                          \
        }                                                                                                              \
        break;

/* Lanes of fixed width from memory, in a function of its own: check-vector refuses a load beside VarVE-full. */
#define LOAD(bits, sign, type)                                                                                         \
    static __attribute__((noinline)) v##type##bits##m1_t load_##sign##bits(uint32_t at, uint32_t n) {                  \
        return __riscv_vle##bits##_v_##sign##bits##m1((const type##bits##_t *)at, n);                                  \
    }
LOAD(8, i, int)
LOAD(16, i, int)
LOAD(32, i, int)
LOAD(8, u, uint)
LOAD(16, u, uint)
LOAD(32, u, uint)
#define LANES(number, bits, sign)                                                                                      \
    case number:                                                                                                       \
        for (uint32_t done = 0, now = 1; done < n && now; done += now, strips++) {                                     \
            vv_t v = LANES_##sign(load_##sign##bits(j->b + done * (bits) / 8, n - done), n - done);                    \
            vv_pack(vv_add(vv_unpack(0), v), 0);                                                                       \
            now = vv_next(1);                                                                                          \
        }                                                                                                              \
        break;
#define LANES_i(v, n) vv_from_s(v, n)
#define LANES_u(v, n) vv_from_u(v, n)

/* A sum whose value nobody wants still ends the strip at its register's number of elements. */
VV_INLINE void sum_to_nowhere(vv_t v) {
    __asm__ volatile(".insn r 0x2b, 2, 0x21, x0, x1, %0" : : "vr"(v));
}

int compute(void) {
    struct job *j = (struct job *)(ASSASIN_CORE_SPAD_BASE + SCOMP_SPAD_ARGS);
    const uint32_t n = j->n;
    const intptr_t x = (intptr_t)j->x;
    uint64_t sum = 0;
    uint32_t strips = 0;
    VV_DECLARE(0, 0, j->formats[0], j->a, n);
    VV_DECLARE(0, 1, j->formats[1], j->b, n);
    VV_DECLARE_OUT(8, 0, j->formats[2], j->out);
    VV_BEGIN();
    switch (j->function) {
        FUNCTION(0, mul)
        FUNCTION(10, div)
        FUNCTION(20, asl)
        FUNCTION(30, asr)
        FUNCTION(40, add)
        CASE(50, vv_t s = vv_mul(p, q); vv_pack(vv_sub(vv_add(s, vv_div(p, q)), vv_asl_x(vv_asr(p, q), 3)), 0))
        INDEX(60, 1)
        INDEX(61, -1)
        INDEX(62, 15)
        INDEX(63, -16)
        INDEX(64, 0)
        LANES(70, 8, i)
        LANES(71, 16, i)
        LANES(72, 32, i)
        LANES(73, 8, u)
        LANES(74, 16, u)
        LANES(75, 32, u)
        CASE(80, sum += (uint64_t)vv_sum(p))
        CASE(81, sum += (uint32_t)vv_sum32(p))
        CASE(82, vvmask_t m = vv_gt_x(q, 0); sum += (uint32_t)vv_sum32_m(m, p))
        CASE(83, sum += (uint64_t)vv_sum(vv_mul(p, q)))
        /* Packs and sums in one strip, in both orders. */
        CASE(84, vv_pack(p, 0); sum += (uint64_t)vv_sum(q))
        CASE(85, sum += (uint64_t)vv_sum(p); vv_pack(q, 0); sum += (uint32_t)vv_sum32(q))
        CASE(86, sum += vv_num(p); sum_to_nowhere(q); vv_pack(p, 0))
    /* A register of a strip before has few elements: what packs or adds it up ends the strip there. */
    case 87:
    case 88:
    case 89:
        if (n) {
            vv_t few = vv_unpack(1);
            vv_nume();
            for (uint32_t now = 1; now; strips++) {
                vv_t p = vv_unpack(0);
                if (j->function == 87) {
                    vv_pack(few, 0);
                    sum += (uint64_t)vv_sum(p);
                } else if (j->function == 88) {
                    sum_to_nowhere(few);
                    vv_pack(p, 0);
                } else {
                    vv_pack(p, 0);
                    sum_to_nowhere(few);
                }
                now = vv_next(1);
            }
        }
        break;
    default:
        return 1;
    }
    VV_END_IN(0);
    VV_END_IN(1);
    const uint32_t written = VV_END_OUT(0);
    j->result[0] = j->function < 80 ? written : (uint32_t)sum;
    j->result[1] = j->function < 80 ? strips : (uint32_t)(sum >> 32);
    return 0;
}
