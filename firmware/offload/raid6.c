/* SPDX-License-Identifier: BSD-3-Clause */
/* raid6: P and Q of two to seven data streams of equal length, or any one or two lost streams out of those that are
 * left (struct raid6_args). P is the XOR of the data, Q the sum of g^i times stream i in GF(2^8) modulo x^8 + x^4 + x^3
 * + x^2
 * + 1 (0x11d), g = x, as Linux has it. Q is computed by Horner's rule, four bytes at a time; lost streams out of P and
 * Q of the others by a matrix over GF(2^8), held as tables. */
#include "raid.h"
#include <stdbool.h>

/* Products with both rows of the matrix: byte 0 for the first lost stream, byte 2 for the second. */
static uint32_t of_p[256], of_q[256];

static uint32_t gf_mul(uint32_t a, uint32_t b) {
    uint32_t r = 0;
    for (; b; b >>= 1) {
        if (b & 1)
            r ^= a;
        a = a << 1 ^ (a & 0x80 ? 0x11d : 0);
    }
    return r;
}

static uint32_t gf_inverse(uint32_t a) { /* a^254 */
    uint32_t r = 1;
    for (unsigned i = 0; i < 254; i++)
        r = gf_mul(r, a);
    return r;
}

/* lost = p_part * P + q_part * Q for both lost streams, P and Q summed over what is there. */
static void make_tables(uint32_t p1, uint32_t q1, uint32_t p2, uint32_t q2) {
    for (uint32_t v = 0; v < 256; v++) {
        of_p[v] = gf_mul(p1, v) | gf_mul(p2, v) << 16;
        of_q[v] = gf_mul(q1, v) | gf_mul(q2, v) << 16;
    }
}

/* q = g q in every byte. */
#define TIMES_G(q)                                                                                                     \
    {                                                                                                                  \
        uint32_t high = (q)&0x80808080u;                                                                               \
        (q) ^= high;                                                                                                   \
        high = (high >> 7) * 0x1d;                                                                                     \
        (q) = (q) << 1 ^ high;                                                                                         \
    }

#define FIRST(stream)                                                                                                  \
    uint32_t p = ASSASIN_LOAD_U32(stream, end);                                                                        \
    uint32_t q = p;
#define NEXT(stream)                                                                                                   \
    {                                                                                                                  \
        uint32_t d = ASSASIN_LOAD_U32(stream, end);                                                                    \
        TIMES_G(q)                                                                                                     \
        p ^= d;                                                                                                        \
        q ^= d;                                                                                                        \
    }
#define LOOP(streams, all)                                                                                             \
    case streams:                                                                                                      \
        ASSASIN_KEEP(n);                                                                                               \
        for (;;) {                                                                                                     \
            all ASSASIN_STORE_U32(0, p);                                                                               \
            ASSASIN_STORE_U32(1, q);                                                                                   \
        }

/* One stream of a rebuild: data, with the powers of g up to the next one below it that is there, or P, or Q. */
#define PART(stream, load)                                                                                             \
    if (stream < n) {                                                                                                  \
        uint32_t d = load;                                                                                             \
        if (stream == p_stream)                                                                                        \
            p ^= d;                                                                                                    \
        else if (stream == q_stream)                                                                                   \
            whole_q = d;                                                                                               \
        else {                                                                                                         \
            p ^= d;                                                                                                    \
            q ^= d;                                                                                                    \
            for (uint32_t i = steps >> 4 * stream & 15; i; i--)                                                        \
                TIMES_G(q)                                                                                             \
        }                                                                                                              \
    }
#define ALL_PARTS(LOAD)   LOAD(7) LOAD(6) LOAD(5) LOAD(4) LOAD(3) LOAD(2) LOAD(1) LOAD(0)
#define WORD_PART(stream) PART(stream, ASSASIN_LOAD_U32(stream, end))
#define BYTE_PART(stream) PART(stream, ASSASIN_TAKE_U8(stream))
#define LOOKUP(i)         (of_p[p >> 8 * (i)&0xff] ^ of_q[q >> 8 * (i)&0xff])
/* What is used behind the end: not known better on one way there than on the other. */
#define KEEP_ALL                                                                                                       \
    ASSASIN_KEEP(n);                                                                                                   \
    ASSASIN_KEEP(encode);                                                                                              \
    ASSASIN_KEEP(outputs);                                                                                             \
    ASSASIN_KEEP(p_stream);                                                                                            \
    ASSASIN_KEEP(q_stream);                                                                                            \
    ASSASIN_KEEP(steps);

int compute(void) {
    RAID_IN_ALL;
    ASSASIN_OUT(0);
    ASSASIN_OUT(1);
    const struct raid6_args *args = assasin_args();
    const struct scomp_task *task = assasin_task();
    if (task->args_bytes != sizeof *args)
        ASSASIN_RETURN(RAID_BAD_ARGUMENTS);
    uint32_t k = args->data, lost = args->lost, n = task->streams_in, outputs = task->streams_out;
    if (k < 2 || k > 7 || lost == 0 || lost >> (k + 2))
        ASSASIN_RETURN(RAID_BAD_ARGUMENTS);
    uint32_t lost_data = 0, power[2] = {0, 0}, steps = 0, there = 0;
    uint32_t last = 0, g = 1;
    for (uint32_t i = 0; i < k; i++, g = gf_mul(g, 2)) {
        if (lost >> i & 1) {
            power[lost_data++ & 1] = g;
        } else {
            steps |= (i - last) << 4 * there++;
            last = i;
        }
    }
    bool no_p = lost >> k & 1, no_q = lost >> (k + 1) & 1;
    uint32_t encode = no_p && no_q, lost_all = lost_data + no_p + no_q;
    if (lost_all > 2 || n != k + 2 - lost_all || outputs != lost_all)
        ASSASIN_RETURN(RAID_BAD_ARGUMENTS);
    uint32_t p_stream = no_p ? 8 : there, q_stream = no_q ? 8 : there + !no_p;

    if (encode) {
        KEEP_ALL
        switch (n) {
            LOOP(2, FIRST(1) NEXT(0))
            LOOP(3, FIRST(2) NEXT(1) NEXT(0))
            LOOP(4, FIRST(3) NEXT(2) NEXT(1) NEXT(0))
            LOOP(5, FIRST(4) NEXT(3) NEXT(2) NEXT(1) NEXT(0))
            LOOP(6, FIRST(5) NEXT(4) NEXT(3) NEXT(2) NEXT(1) NEXT(0))
            LOOP(7, FIRST(6) NEXT(5) NEXT(4) NEXT(3) NEXT(2) NEXT(1) NEXT(0))
        }
    }
    /* The lost ones in the order data, P, Q, with p and q the sums over what is there: with both data lost,
     * p = x + y, q = g^x x + g^y y. */
    uint32_t inverse = gf_inverse(power[0] ^ (lost_data == 2 ? power[1] : 0));
    if (lost_data == 2)
        make_tables(gf_mul(inverse, power[1]), inverse, gf_mul(inverse, power[1]) ^ 1, inverse);
    else if (lost_data == 1 && no_p)
        make_tables(0, inverse, 1, inverse);
    else if (lost_data == 1)
        make_tables(1, 0, power[0], 1);
    else
        make_tables(no_p, no_q, 0, 0);
    KEEP_ALL
    for (;;) {
        uint32_t p = 0, q = 0, whole_q = 0;
        ALL_PARTS(WORD_PART)
        q ^= whole_q;
        uint32_t low = LOOKUP(0) | LOOKUP(1) << 8, high = LOOKUP(2) | LOOKUP(3) << 8;
        ASSASIN_STORE_U32(0, (low & 0xffff) | high << 16);
        if (outputs == 2)
            ASSASIN_STORE_U32(1, low >> 16 | (high & 0xffff0000u));
    }
end:;
    uint32_t length;
    RAID_LENGTH(n, length);
    if (encode)
        make_tables(1, 0, 0, 1);
    for (uint32_t rest = length - ASSASIN_IN_HEAD(0); rest; rest--) {
        uint32_t p = 0, q = 0, whole_q = 0;
        ALL_PARTS(BYTE_PART)
        q ^= whole_q;
        uint32_t both = LOOKUP(0);
        ASSASIN_STORE_U8(0, both);
        if (outputs == 2)
            ASSASIN_STORE_U8(1, both >> 16);
    }
    ASSASIN_RETURN(0);
}
