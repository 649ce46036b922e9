/* SPDX-License-Identifier: BSD-3-Clause */
/* fgrep8: counts the places of an 8-byte pattern, at any offset, overlapping ones too (struct fgrep8_args and
 * fgrep8_result): XSSD's fgrep-8 on a core. Wherever a place begins, one whole word of the stream lies in the pattern's
 * first seven bytes and is one of four words; only when such a word comes along its neighbours are looked at. */
#include <assasin.h>
#include <offloads.h>

#define BYTES 8u

/* What is needed behind the end has to be in the same register at every load. */
#ifdef __riscv
#define WORD_IN(variable, name) register uint32_t variable __asm__(#name)
#else
#define WORD_IN(variable, name) uint32_t variable
#endif

static uint8_t key[BYTES];
static uint32_t key_low, key_high;

static int in_key(uint32_t byte) {
    for (unsigned i = 0; i < BYTES; i++)
        if (key[i] == byte)
            return 1;
    return 0;
}

/* Places whose whole word is `word`, between the words `before` and `after`, which has 0 to 3 of the place's bytes. */
static uint32_t __attribute__((noinline)) places(uint32_t before, uint32_t word, uint32_t after) {
    uint32_t count = word == key_low && after == key_high;
    for (unsigned bits = 8; bits < 32; bits += 8) {
        uint32_t whole = key_low >> (32 - bits) | key_high << bits;
        count += before >> bits == key_low << bits >> bits && word == whole &&
                 after << (32 - bits) == key_high >> (32 - bits) << (32 - bits);
    }
    return count;
}

/* `next` is loaded while `word`, the one before it, is compared: so no comparison waits for its load. `found` keeps the
 * compiler from making the copy for the call before it knows that there is one. */
#define STEP(before, word, next)                                                                                       \
    ASSASIN_LOAD_INTO_U32(0, next, end);                                                                               \
    if (__builtin_expect_with_probability(word == w0 || word == w1 || word == w2 || word == w3, 0, 1.0)) {             \
        uint32_t found;                                                                                                \
        __asm__ volatile("" : "=r"(found) : "0"(word));                                                                \
        count += places(before, found, next);                                                                          \
        ASSASIN_KEEP(count);                                                                                           \
    }
#define STEPS STEP(y, z, x) STEP(z, x, y) STEP(x, y, z)

int compute(void) {
    ASSASIN_IN(0);
    ASSASIN_OUT(0);
    if (assasin_task()->args_bytes != sizeof(struct fgrep8_args))
        ASSASIN_RETURN(FGREP8_BAD_ARGUMENTS);
    const struct fgrep8_args *args = assasin_args();
    for (unsigned i = 0; i < BYTES; i++) {
        key[i] = args->key[i];
        if (i < 4)
            key_low |= (uint32_t)key[i] << (8 * i);
        else
            key_high |= (uint32_t)key[i] << (8 * (i - 4));
    }
    uint32_t w0 = key_low, w1 = key_low >> 24 | key_high << 8, w2 = key_low >> 16 | key_high << 16,
             w3 = key_low >> 8 | key_high << 24;
    /* What lies before the stream is made of a byte that the pattern does not have. */
    uint32_t other = 0;
    while (in_key(other))
        other++;
    WORD_IN(x, s2) = other * 0x01010101u;
    WORD_IN(y, s3) = x;
    WORD_IN(z, s4) = x;
    uint32_t count = 0;
    ASSASIN_KEEP(x);
    ASSASIN_KEEP(y);
    ASSASIN_KEEP(z);
    ASSASIN_KEEP(count);
    for (;;) {
        STEPS
#ifndef ASSASIN_LITTLE_UNROLLING
        STEPS STEPS STEPS
#endif
    }
end:;
    /* The last whole word has not been compared; behind it are up to three bytes more. */
    uint32_t head = ASSASIN_IN_HEAD(0), rest = ASSASIN_IN_END(0) - head, after = other * 0x01010101u;
    for (unsigned bits = 0; rest--; bits += 8)
        after = (after & ~(0xffu << bits)) | ASSASIN_TAKE_U8(0) << bits;
    unsigned last = head / 4 % 3;
    count += last == 0 ? places(y, z, after) : last == 1 ? places(z, x, after) : places(x, y, after);
    ASSASIN_STORE_U32(0, count);
    ASSASIN_STORE_U32(0, 0);
    ASSASIN_RETURN(0);
}
