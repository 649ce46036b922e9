/* SPDX-License-Identifier: BSD-3-Clause */
/* compute() of psf and parse (include/tbl.h). Its includer defines TBL_OUTPUTS, the declarations of the output streams,
 * and TBL_EMIT, which stores the row. Included once, because streams are used only in compute.
 *
 * Everywhere `c` is the character that the next thing to do begins with, already loaded: so every character costs a
 * load and a branch, and no branch waits for its load. Steps are threaded code: each jumps to the next one's. */
#ifndef ASSASIN_TBL_ROWS_H
#define ASSASIN_TBL_ROWS_H

#include <assasin.h>
#include <stdbool.h>
#include <tbl.h>

/** A step as the core runs it. */
struct step {
    const void *code;
    uint32_t count, words;
    uint32_t *slot;
    uint32_t low, width;
    const struct tbl_test *test; /* or NULL */
    const struct step *reject;   /* what to do when the row does not qualify */
    uint8_t *text;               /* where a string goes, or NULL: behind the row's words */
    const uint8_t **text_at;     /* where its place is noted */
};

static struct step steps[TBL_MAX_STEPS + 2], rejects[TBL_MAX_STEPS][2];
/* The output of one row, and behind it room for the slack of string copying. */
static uint32_t row[TBL_MAX_SLOTS * (1 + (TBL_MAX_TEXT + 1) / 4) + 4];
static uint32_t values[TBL_MAX_SLOTS];
static uint8_t texts[8][TBL_MAX_TEXT + 9];
static uint32_t *slots[TBL_MAX_SLOTS];
static const uint8_t *text_at[TBL_MAX_SLOTS];
static const struct tbl_test *tests;
static const uint8_t *operands;

static bool starts(const uint8_t *a, const uint8_t *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static bool one_holds(const struct tbl_test *t) {
    uint32_t value = *slots[t->slot];
    if (t->op == TBL_RANGE)
        return value - (uint32_t)t->low <= t->width;
    const uint8_t *text = text_at[t->slot], *operand = operands + t->low;
    uint32_t n = t->width, common = value < n ? value : n, i;
    switch (t->op) {
    case TBL_EQUAL:
        return value == n && starts(text, operand, n);
    case TBL_STARTS:
        return value >= n && starts(text, operand, n);
    case TBL_ENDS:
        return value >= n && starts(text + value - n, operand, n);
    case TBL_CONTAINS:
        for (i = 0; i + n <= value; i++)
            if (starts(text + i, operand, n))
                return true;
        return false;
    default:
        for (i = 0; i < common && text[i] == operand[i]; i++) {
        }
        if (i < common)
            return text[i] < operand[i];
        return value < n || (value == n && t->op == TBL_LESS_EQUAL);
    }
}

static __attribute__((noinline)) bool holds(const struct tbl_test *t) {
    for (;;) {
        unsigned next = one_holds(t) ? t->on_true : t->on_false;
        if (next >= TBL_REJECT)
            return next == TBL_PASS;
        t = tests + next;
    }
}

/* Days from 1970-01-01 to day `d` of month `m` of year `y` (0..9999); INT32_MIN when there is no such day. */
static inline int32_t days_of(uint32_t y, uint32_t m, uint32_t d) {
    static const uint16_t before[12] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    static const uint8_t length[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (m - 1 > 11 || d - 1 >= (uint32_t)length[m - 1]) {
        bool leap = y % 4 == 0 && (y % 100 || y % 400 == 0);
        if (m != 2 || d != 29 || !leap)
            return INT32_MIN;
    }
    uint32_t closed = y - (m <= 2), centuries = closed * 5243 >> 19; /* closed / 100, exact for 4 digits */
    /* Year 0 is a leap year: January and February of it lie before its leap day. */
    if (y == 0 && m <= 2)
        return (int32_t)(before[m - 1] + d) - 719529;
    return (int32_t)(365 * y + closed / 4 - centuries + centuries / 4 + before[m - 1] + d) - 719528;
}

#define UNLIKELY(condition) __builtin_expect_with_probability(condition, 0, 1.0)
#define NEXT()              ASSASIN_LOAD_U8(0, end)

#if defined(ASSASIN_SP) || defined(ASSASIN_MEM)
/* Misaligned words are slow there. */
#define LOAD16()                                                                                                       \
    __extension__({                                                                                                    \
        uint32_t tbl_a = NEXT(), tbl_b = NEXT();                                                                       \
        tbl_a | tbl_b << 8;                                                                                            \
    })
#define LOAD32()                                                                                                       \
    __extension__({                                                                                                    \
        uint32_t tbl_a = NEXT(), tbl_b = NEXT(), tbl_c = NEXT(), tbl_d = NEXT();                                       \
        tbl_a | tbl_b << 8 | tbl_c << 16 | tbl_d << 24;                                                                \
    })
#define BY_WORDS 0
#else
#define LOAD16() ASSASIN_LOAD_U16(0, end)
#define LOAD32() ASSASIN_LOAD_U32(0, end)
#define BY_WORDS 1
#endif

/* Adds the separators among four characters to `found`, by lanes: 4 more than '|' sets a byte's highest bit. */
#define COUNT_WORD                                                                                                     \
    {                                                                                                                  \
        uint32_t w = LOAD32();                                                                                         \
        found += ((w + 0x04040404) & 0x80808080) >> 7;                                                                 \
    }
#define DIGIT(done)                                                                                                    \
    {                                                                                                                  \
        c = NEXT();                                                                                                    \
        uint32_t more = v * ten, t = c - '0';                                                                          \
        if (t > 9)                                                                                                     \
            goto done;                                                                                                 \
        v = more + t;                                                                                                  \
    }
#define FAIL(reason)                                                                                                   \
    {                                                                                                                  \
        why = reason;                                                                                                  \
        goto fail;                                                                                                     \
    }
#define GO goto * s->code
#define NEXT_STEP                                                                                                      \
    {                                                                                                                  \
        s++;                                                                                                           \
        GO;                                                                                                            \
    }
#define REJECT                                                                                                         \
    {                                                                                                                  \
        s = s->reject;                                                                                                 \
        GO;                                                                                                            \
    }

int compute(void) {
    ASSASIN_IN(0);
    TBL_OUTPUTS
    static const void *const code[TBL_KINDS] = {&&skip, &&skip_dates, &&integer, &&decimal, &&date, &&string};
    const struct tbl_args *args = assasin_args();
    uint32_t bytes = assasin_task()->args_bytes, why = TBL_BAD_ARGUMENTS;
    /* Where the row in question begins; ~0: in none. */
    uint32_t start = 0;
    if (bytes < sizeof *args || args->steps - 1u >= TBL_MAX_STEPS || args->tests > TBL_MAX_TESTS ||
        args->outputs - 1u >= TBL_MAX_SLOTS || args->outputs > TBL_LIMIT ||
        bytes != sizeof *args + args->steps * sizeof(struct tbl_step) + args->tests * sizeof(struct tbl_test) +
                     args->text_bytes)
        goto fail;
    const struct tbl_step *given = (const struct tbl_step *)(args + 1);
    tests = (const struct tbl_test *)(given + args->steps);
    operands = (const uint8_t *)(tests + args->tests);
    uint32_t outputs = args->outputs, private_texts = 0, texts_in_row = 0, filled = 0, is_text = 0;
    for (unsigned i = 0; i < args->steps; i++) {
        const struct tbl_step *g = given + i;
        struct step *s = steps + i;
        bool taken = g->kind >= TBL_INT;
        if (g->kind >= TBL_KINDS || g->count == 0 || (taken && (g->count != 1 || g->slot >= TBL_MAX_SLOTS)) ||
            g->words > 63 || g->rest_words > 63 || (g->test != TBL_NONE && (!taken || g->test >= args->tests)) ||
            (i && (uint32_t)given[i - 1].rest != (uint32_t)g->rest + g->count) || (taken && filled >> g->slot & 1))
            goto fail;
        *s = (struct step){.code = code[g->kind], .count = g->count, .words = BY_WORDS ? g->words : 0};
        struct step *reject = rejects[i], *last = g->rest ? reject + 1 : reject;
        if (g->rest)
            *reject = (struct step){.code = &&skip, .count = g->rest, .words = BY_WORDS ? g->rest_words : 0};
        last->code = &&rejected;
        s->reject = reject;
        if (i == args->steps - 1u) {
            s[1] = *reject;
            s[g->rest ? 2 : 1].code = &&qualified;
        }
        if (!taken)
            continue;
        filled |= 1u << g->slot;
        is_text |= (uint32_t)(g->kind == TBL_STRING) << g->slot;
        s->slot = slots[g->slot] = g->slot < outputs ? row + g->slot : values + g->slot;
        s->low = (uint32_t)g->low;
        s->width = g->width;
        s->test = g->test == TBL_NONE ? NULL : tests + g->test;
        s->text_at = text_at + g->slot;
        if (g->kind == TBL_STRING && g->slot >= outputs) {
            if (private_texts == sizeof texts / sizeof *texts)
                goto fail;
            s->text = texts[private_texts++];
        }
        /* Strings of the output lie in the order of the columns, so their slots must be in that order. */
        if (g->kind == TBL_STRING && g->slot < outputs) {
            if (texts_in_row >> g->slot)
                goto fail;
            texts_in_row |= 1u << g->slot;
        }
    }
    if ((filled & ((1u << outputs) - 1)) != (1u << outputs) - 1)
        goto fail;
    for (unsigned i = 0; i < args->tests; i++) {
        const struct tbl_test *t = tests + i;
        if (t->op >= TBL_OPS || t->slot >= TBL_MAX_SLOTS || !(filled >> t->slot & 1) ||
            (is_text >> t->slot & 1) != (t->op != TBL_RANGE) ||
            (t->on_true < TBL_REJECT && (t->on_true <= i || t->on_true >= args->tests)) ||
            (t->on_false < TBL_REJECT && (t->on_false <= i || t->on_false >= args->tests)) ||
            (t->op != TBL_RANGE &&
             ((uint32_t)t->low > args->text_bytes || t->width > args->text_bytes - (uint32_t)t->low)))
            goto fail;
    }
    uint32_t limit = args->flags & TBL_SPLIT ? args->piece_bytes : UINT32_MAX;
    uint32_t *const first_text = row + outputs;
    uint32_t *heap;
    const struct step *s;
    uint32_t c, ten = 10;
    ASSASIN_KEEP(ten);

    if ((args->flags & TBL_SPLIT && assasin_task()->piece) || args->flags & TBL_INSIDE) {
        start = UINT32_MAX;
        ASSASIN_KEEP(start);
        while (NEXT() != '\n') {
        }
    }
next_row:
    start = ASSASIN_IN_HEAD(0);
    ASSASIN_KEEP(start);
    if (start > limit)
        ASSASIN_RETURN(0);
    c = NEXT();
    s = steps;
    heap = first_text;
    GO;

skip : {
    uint32_t n = s->count, words = s->words;
    if (words) {
        uint32_t found = 0;
        n -= c == '|';
        for (; words >= 4; words -= 4) {
            COUNT_WORD COUNT_WORD COUNT_WORD COUNT_WORD
        }
        if (words & 2) {
            COUNT_WORD COUNT_WORD
        }
        n -= found * 0x01010101 >> 24;
        if ((int32_t)n < 1)
            FAIL(TBL_BAD_ROW)
        c = NEXT();
    }
    for (;;) {
        uint32_t d = NEXT();
        if (UNLIKELY(c == '|') && !--n) {
            c = d;
            break;
        }
        c = NEXT();
        if (UNLIKELY(d == '|') && !--n)
            break;
    }
    NEXT_STEP
}

skip_dates : {
    uint32_t n = s->count;
    do {
        (void)LOAD32();
        (void)LOAD32();
        uint32_t last = LOAD16();
        c = NEXT();
        if (last >> 8 != '|')
            FAIL(TBL_BAD_ROW)
    } while (--n);
    NEXT_STEP
}

    uint32_t v;
integer : {
    uint32_t sign = 0;
    if (UNLIKELY(c == '-')) {
        sign = UINT32_MAX;
        c = NEXT();
    }
    v = c - '0';
    if (v > 9)
        FAIL(TBL_BAD_VALUE)
    DIGIT(integer_done)
    DIGIT(integer_done)
    DIGIT(integer_done)
    DIGIT(integer_done)
    DIGIT(integer_done)
    DIGIT(integer_done)
    DIGIT(integer_done)
    DIGIT(integer_done)
    c = NEXT();
    uint32_t t = c - '0';
    if (t <= 9) {
        if (v > INT32_MAX / 10 || (v == INT32_MAX / 10 && t > INT32_MAX % 10))
            FAIL(TBL_BAD_VALUE)
        v = v * 10 + t;
        c = NEXT();
    }
integer_done:
    if (c != '|')
        FAIL(TBL_BAD_VALUE)
    v = (v ^ sign) - sign;
    c = NEXT();
    goto number;
}

decimal : {
    uint32_t sign = 0;
    if (UNLIKELY(c == '-')) {
        sign = UINT32_MAX;
        c = NEXT();
    }
    v = c - '0';
    if (v > 9)
        FAIL(TBL_BAD_VALUE)
    DIGIT(decimal_done)
    DIGIT(decimal_done)
    DIGIT(decimal_done)
    DIGIT(decimal_done)
    DIGIT(decimal_done)
    DIGIT(decimal_done)
    DIGIT(decimal_done)
    if (v > INT32_MAX / 100 - 1)
        FAIL(TBL_BAD_VALUE)
    c = NEXT();
decimal_done:
    if (c == '.') {
        c = NEXT();
        uint32_t t = c - '0';
        if (t > 9)
            FAIL(TBL_BAD_VALUE)
        v = v * ten + t;
        c = NEXT();
        t = c - '0';
        v = v * ten;
        if (t <= 9) {
            v += t;
            c = NEXT();
        }
    } else {
        v *= 100;
    }
    if (c != '|')
        FAIL(TBL_BAD_VALUE)
    v = (v ^ sign) - sign;
    c = NEXT();
}
number:
    if (v - s->low > s->width)
        REJECT
    *s->slot = v;
    if (s->test && !holds(s->test))
        REJECT
    NEXT_STEP

date : {
    uint32_t a = LOAD32(), b = LOAD32(), e = LOAD16(); /* "YYY-", "MM-D", "D|" behind the first digit in c */
    /* High nibbles of digits are 3, and stay so when 6 is added; what is not a digit must be as it is. */
    uint32_t wrong = ((a ^ 0x2D303030) | ((a + 0x00060606) ^ 0x2D303030)) & 0xFFF0F0F0;
    wrong |= ((b ^ 0x302D3030) | ((b + 0x06000606) ^ 0x302D3030)) & 0xF0FFF0F0;
    wrong |= ((e ^ 0x7C30) | ((e + 0x0006) ^ 0x7C30)) & 0xFFF0;
    v = c - '0';
    if (wrong || v > 9)
        FAIL(TBL_BAD_VALUE)
    v = v * 1000 + (a & 15) * 100 + (a >> 8 & 15) * 10 + (a >> 16 & 15);
    v = (uint32_t)days_of(v, (b & 15) * 10 + (b >> 8 & 15), (b >> 24 & 15) * 10 + (e & 15));
    if (v == (uint32_t)INT32_MIN)
        FAIL(TBL_BAD_VALUE)
    c = NEXT();
    goto number;
}

string : {
    uint8_t *text = s->text ? s->text : (uint8_t *)heap, *p = text;
    *s->text_at = text;
    for (;;) {
        uint32_t d = NEXT();
        if (UNLIKELY(c == '|')) {
            c = d;
            break;
        }
        p[0] = (uint8_t)c;
        c = NEXT();
        if (UNLIKELY(d == '|')) {
            p++;
            break;
        }
        p[1] = (uint8_t)d;
        p += 2;
        if (UNLIKELY(p > text + TBL_MAX_TEXT))
            FAIL(TBL_LONG_TEXT)
    }
    uint32_t length = (uint32_t)(p - text);
    if (UNLIKELY(length > TBL_MAX_TEXT))
        FAIL(TBL_LONG_TEXT)
    *s->slot = length;
    if (!s->text) {
        p[0] = p[1] = p[2] = 0;
        heap += (length + 3) / 4;
    }
    if (s->test && !holds(s->test))
        REJECT
    NEXT_STEP
}

rejected:
    if (c != '\n')
        FAIL(TBL_BAD_ROW)
    goto next_row;

qualified:
    if (c != '\n')
        FAIL(TBL_BAD_ROW)
    TBL_EMIT
    goto next_row;

end:
    if (start == UINT32_MAX || ASSASIN_IN_HEAD(0) == start)
        ASSASIN_RETURN(0);
    why = TBL_TRUNCATED;
fail:
    ASSASIN_RETURN((int)(why | (start & ~7u)));
}

#endif
