/* SPDX-License-Identifier: BSD-3-Clause */
/* aes: AES-128 (FIPS 197) of a stream: ECB, or CTR (SP 800-38A), struct aes_args. Words are columns, row 0 in the low
 * byte. SubBytes, ShiftRows and MixColumns of a column are four lookups in tables that the core makes itself; with
 * ASSASIN_ZK they are four instructions of Zkne or Zknd. The decryption is the equivalent inverse cipher. */
#include <aes_tables.h>
#include <assasin.h>
#include <offloads.h>
#include <string.h>

/* Byte i of x, for table t: in the first four SubBytes and MixColumns, in the last four only SubBytes. */
#ifdef ASSASIN_ZK
#define ZK(op, sum, x, i) __asm__(op " %0, %1, %2, %3" : "=r"(sum) : "r"(sum), "r"(x), "i"(i));
#define COLUMN(op, t, out, key, a, b, c, d)                                                                            \
    uint32_t out = (key);                                                                                              \
    ZK(op, out, a, 0) ZK(op, out, b, 1) ZK(op, out, c, 2) ZK(op, out, d, 3)
#define ENCRYPT_MIX  "aes32esmi"
#define ENCRYPT_LAST "aes32esi"
#define DECRYPT_MIX  "aes32dsmi"
#define DECRYPT_LAST "aes32dsi"
#else
#define LOOKUP(x, i, t) (*(const uint32_t *)(tables + ((t)-4) * 1024 + (((i) ? (x) >> (8 * (i)-2) : (x) << 2) & 0x3fc)))
#define COLUMN(op, t, out, key, a, b, c, d)                                                                            \
    uint32_t out = LOOKUP(a, 0, t) ^ LOOKUP(b, 1, (t) + 1) ^ LOOKUP(c, 2, (t) + 2) ^ LOOKUP(d, 3, (t) + 3) ^ (key);
#endif

/* State words s0..s3 to t0..t3, round key r. */
#define ENCRYPT_ROUND(op, t, r, s, n)                                                                                  \
    COLUMN(op, t, n##0, aes_key[4 * (r)], s##0, s##1, s##2, s##3)                                                      \
    COLUMN(op, t, n##1, aes_key[4 * (r) + 1], s##1, s##2, s##3, s##0)                                                  \
    COLUMN(op, t, n##2, aes_key[4 * (r) + 2], s##2, s##3, s##0, s##1)                                                  \
    COLUMN(op, t, n##3, aes_key[4 * (r) + 3], s##3, s##0, s##1, s##2)
#define DECRYPT_ROUND(op, t, r, s, n)                                                                                  \
    COLUMN(op, t, n##0, aes_key[4 * (r)], s##0, s##3, s##2, s##1)                                                      \
    COLUMN(op, t, n##1, aes_key[4 * (r) + 1], s##1, s##0, s##3, s##2)                                                  \
    COLUMN(op, t, n##2, aes_key[4 * (r) + 2], s##2, s##1, s##0, s##3)                                                  \
    COLUMN(op, t, n##3, aes_key[4 * (r) + 3], s##3, s##2, s##1, s##0)
/* The block in s0..s3, to out##0..3. */
#define BLOCK(WAY, out)                                                                                                \
    uint32_t a0 = s0 ^ aes_key[0], a1 = s1 ^ aes_key[1], a2 = s2 ^ aes_key[2], a3 = s3 ^ aes_key[3];                   \
    WAY##_ROUND(WAY##_MIX, 0, 1, a, b) WAY##_ROUND(WAY##_MIX, 0, 2, b, c) WAY##_ROUND(WAY##_MIX, 0, 3, c, d)           \
        WAY##_ROUND(WAY##_MIX, 0, 4, d, e) WAY##_ROUND(WAY##_MIX, 0, 5, e, f) WAY##_ROUND(WAY##_MIX, 0, 6, f, g)       \
            WAY##_ROUND(WAY##_MIX, 0, 7, g, h) WAY##_ROUND(WAY##_MIX, 0, 8, h, i) WAY##_ROUND(WAY##_MIX, 0, 9, i, j)   \
                WAY##_ROUND(WAY##_LAST, 4, 10, j, out)

#define ECB_LOOP(WAY)                                                                                                  \
    for (;;) {                                                                                                         \
        uint32_t s0 = ASSASIN_LOAD_U32(0, end), s1 = ASSASIN_LOAD_U32(0, end);                                         \
        uint32_t s2 = ASSASIN_LOAD_U32(0, end), s3 = ASSASIN_LOAD_U32(0, end);                                         \
        BLOCK(WAY, y)                                                                                                  \
        ASSASIN_STORE_U32(0, y0);                                                                                      \
        ASSASIN_STORE_U32(0, y1);                                                                                      \
        ASSASIN_STORE_U32(0, y2);                                                                                      \
        ASSASIN_STORE_U32(0, y3);                                                                                      \
    }
#define CTR_WORD(x)                                                                                                    \
    word = ASSASIN_LOAD_U32(0, end);                                                                                   \
    ASSASIN_STORE_U32(0, word ^ (x));

static uint32_t swapped(uint32_t v) {
    return v << 24 | (v & 0xff00) << 8 | (v >> 8 & 0xff00) | v >> 24;
}

/* What is needed behind the end of the stream lies in memory, so that no register has to be the same on all ways there.
 */
static volatile uint32_t mode;
static volatile uint64_t first; /* counter blocks of the pieces before */

/* The counter block `blocks` behind the first one, as numbers, most significant first. */
static void count_from(uint32_t counter[4], const struct aes_args *args, uint64_t blocks) {
    for (int i = 3; i >= 0; i--) {
        uint32_t bytes;
        memcpy(&bytes, args->counter + 4 * i, sizeof bytes);
        uint64_t sum = (uint64_t)swapped(bytes) + (uint32_t)blocks;
        counter[i] = (uint32_t)sum;
        blocks = (blocks >> 32) + (sum >> 32);
    }
}

/* Whether the counters of this piece, of so many bytes, are its own: those of one key must never repeat. */
static int counters_fit(const struct aes_args *args, uint32_t bytes) {
    const struct scomp_task *task = assasin_task();
    uint32_t piece_bytes = args->piece_blocks * 16;
    if (args->mode != AES_CTR || task->pieces < 2)
        return 1;
    return task->piece + 1 == task->pieces ? args->piece_blocks && bytes <= piece_bytes : bytes == piece_bytes;
}

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    if (assasin_task()->args_bytes != sizeof(struct aes_args))
        ASSASIN_RETURN(AES_BAD_ARGUMENTS);
    const struct aes_args *args = assasin_args();
    if (args->mode > AES_CTR)
        ASSASIN_RETURN(AES_BAD_ARGUMENTS);
    /* How long a stream is that another node feeds is known at its end. */
    if (assasin_task()->bytes[0] != UINT32_MAX && !counters_fit(args, assasin_task()->bytes[0]))
        ASSASIN_RETURN(AES_BAD_PIECES);
    first = (uint64_t)assasin_task()->piece * args->piece_blocks;
    mode = args->mode;
    aes_expand_key(args->key, mode == AES_ECB_DECRYPT);
#ifndef ASSASIN_ZK
    aes_make_tables(mode == AES_ECB_DECRYPT);
    uintptr_t tables = (uintptr_t)aes_table[4];
    ASSASIN_KEEP(tables);
#endif

    if (mode == AES_ECB_ENCRYPT)
        ECB_LOOP(ENCRYPT)
    if (mode == AES_ECB_DECRYPT)
        ECB_LOOP(DECRYPT)
    uint32_t counter[4];
    count_from(counter, args, first);
    uint32_t n0 = counter[0], n1 = counter[1], n2 = counter[2], n3 = counter[3];
    uint32_t s0 = swapped(n0), s1 = swapped(n1), s2 = swapped(n2);
    for (;;) {
        uint32_t s3 = swapped(n3), word;
        BLOCK(ENCRYPT, y)
        if (++n3 == 0) {
            if (++n2 == 0 && ++n1 == 0)
                ++n0;
            s0 = swapped(n0);
            s1 = swapped(n1);
            s2 = swapped(n2);
        }
        CTR_WORD(y0)
        CTR_WORD(y1)
        CTR_WORD(y2)
        CTR_WORD(y3)
    }
end:;
    uint32_t length = ASSASIN_IN_END(0), done = ASSASIN_OUT_HEAD(0);
    if (mode != AES_CTR)
        ASSASIN_RETURN(length % 16 ? AES_PARTIAL_BLOCK : 0);
    args = assasin_args();
    if (!counters_fit(args, length))
        ASSASIN_RETURN(AES_BAD_PIECES);
    if (done != length) { /* the last bytes, with the key stream's word for them once more */
        uint32_t last[4];
        count_from(last, args, first + done / 16);
        uint32_t s0 = swapped(last[0]), s1 = swapped(last[1]), s2 = swapped(last[2]), s3 = swapped(last[3]);
#ifndef ASSASIN_ZK
        uintptr_t tables = (uintptr_t)aes_table[4];
#endif
        BLOCK(ENCRYPT, y)
        uint32_t x = done & 8 ? (done & 4 ? y3 : y2) : (done & 4 ? y1 : y0);
        for (; done != length; done++, x >>= 8)
            ASSASIN_STORE_U8(0, ASSASIN_TAKE_U8(0) ^ x);
    }
    ASSASIN_RETURN(0);
}
