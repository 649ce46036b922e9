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

/* Months that have been seen, by the last digit of the year and the digits of the month. */
static struct month {
    uint32_t year, rest; /* the text: digits 2 to 4 of the year and '-'; digit 1 and the month and '-' */
    int32_t before;      /* days from 1970-01-01 to the day before the month */
    uint32_t days;
} months[512];

/* Fills in the month of the date whose first character is `c`, then the words `a` and `b`. Returns false when it is
 * none. */
static __attribute__((noinline)) bool learn(struct month *month, uint32_t c, uint32_t a, uint32_t b) {
    static const uint16_t before[12] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    static const uint8_t length[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const uint32_t digits[6] = {c - '0',         (a & 255) - '0',     (a >> 8 & 255) - '0', (a >> 16 & 255) - '0',
                                (b & 255) - '0', (b >> 8 & 255) - '0'};
    for (unsigned i = 0; i < 6; i++)
        if (digits[i] > 9)
            return false;
    uint32_t y = digits[0] * 1000 + digits[1] * 100 + digits[2] * 10 + digits[3], m = digits[4] * 10 + digits[5] - 1;
    if (a >> 24 != '-' || (b >> 16 & 255) != '-' || m > 11)
        return false;
    bool leap = y % 4 == 0 && (y % 100 || y % 400 == 0);
    /* Leap years from year 0, which is one, to the one before y. */
    uint32_t leaps = y ? (y - 1) / 4 - (y - 1) / 100 + (y - 1) / 400 + 1 : 0;
    month->year = a;
    month->rest = b << 8 | c;
    month->before = (int32_t)(365 * y + leaps + before[m] + (leap && m > 1)) - 719529;
    month->days = length[m] + (leap && m == 1);
    return true;
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

/* Adds the separators among the characters of a word to `found`, by lanes: 4 more than '|' sets a byte's highest bit.
 */
#define COUNT(w) found += ((w + 0x04040404) & 0x80808080) >> 7;
#define COUNT2                                                                                                         \
    {                                                                                                                  \
        uint32_t w0 = LOAD32(), w1 = LOAD32();                                                                         \
        COUNT(w0) COUNT(w1)                                                                                            \
    }
#define COUNT4                                                                                                         \
    {                                                                                                                  \
        uint32_t w0 = LOAD32(), w1 = LOAD32(), w2 = LOAD32(), w3 = LOAD32();                                           \
        COUNT(w0) COUNT(w1) COUNT(w2) COUNT(w3)                                                                        \
    }
/* The multiplication lies between the load and the use of what it gives. */
#define DIGIT(done)                                                                                                    \
    {                                                                                                                  \
        c = NEXT();                                                                                                    \
        uint32_t more = v * ten;                                                                                       \
        ASSASIN_KEEP(more);                                                                                            \
        uint32_t t = c - '0';                                                                                          \
        if (UNLIKELY(t > 9))                                                                                           \
            goto done;                                                                                                 \
        v = more + t;                                                                                                  \
    }
#define GO goto * s->code
#define NEXT_STEP                                                                                                      \
    {                                                                                                                  \
        s++;                                                                                                           \
        GO;                                                                                                            \
    }

/* Code stays in the order in which it is written, and equal ends of different steps stay apart: forward branches that
 * are rarely taken and backward branches that often are cost the least. Not for memory back ends, whose calls of the
 * runtime the compiler must move out of the way. */
#if BY_WORDS
__attribute__((optimize("no-reorder-blocks", "no-crossjumping")))
#endif
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
            COUNT4
        }
        if (words & 2) {
            COUNT2
        }
        n -= found * 0x01010101 >> 24;
        if ((int32_t)n < 1)
            goto bad_row;
        c = NEXT();
    }
    uint32_t d;
skip_even:
    d = NEXT();
    if (UNLIKELY(c == '|'))
        goto skip_separator;
skip_odd:
    c = NEXT();
    if (d != '|')
        goto skip_even;
    if (--n)
        goto skip_even;
    NEXT_STEP
skip_separator:
    if (--n)
        goto skip_odd;
    c = d;
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
            goto bad_row;
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
        goto bad_value;
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
            goto bad_value;
        v = v * 10 + t;
        c = NEXT();
    }
integer_done:
    if (c != '|')
        goto bad_value;
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
        goto bad_value;
    DIGIT(decimal_done)
    DIGIT(decimal_done)
    DIGIT(decimal_done)
    DIGIT(decimal_done)
    DIGIT(decimal_done)
    DIGIT(decimal_done)
    DIGIT(decimal_done)
    if (v > INT32_MAX / 100 - 1)
        goto bad_value;
    c = NEXT();
decimal_done:
    if (c == '.') {
        c = NEXT();
        uint32_t t = c - '0';
        if (t > 9)
            goto bad_value;
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
        goto bad_value;
    v = (v ^ sign) - sign;
    c = NEXT();
}
number:
    if (UNLIKELY(v - s->low > s->width))
        goto reject;
    *s->slot = v;
    if (UNLIKELY(s->test != NULL))
        goto test;
    NEXT_STEP
test:
    if (holds(s->test))
        NEXT_STEP
reject:
    s = s->reject;
    GO;

date : {
    uint32_t a = LOAD32(), b = LOAD32(), e = LOAD16(); /* "YYY-", "MM-D", "D|" behind the first digit in c */
    struct month *month = months + ((a >> 16 & 15) << 5 | (b & 1) << 4 | (b >> 8 & 15));
    uint32_t rest = b << 8 | c, day = (b >> 24) - '0', units = (e & 255) - '0';
    c = NEXT();
    if (UNLIKELY(month->year != a || month->rest != rest) && !learn(month, rest & 255, a, b))
        goto bad_value;
    day = day * 10 + units;
    /* Up to the month's days, so the tens are a digit when the units are. */
    if (UNLIKELY(e >> 8 != '|') || UNLIKELY(units > 9) || UNLIKELY(day - 1 >= month->days))
        goto bad_value;
    v = (uint32_t)month->before + day;
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
            goto long_text;
    }
    uint32_t length = (uint32_t)(p - text);
    if (UNLIKELY(length > TBL_MAX_TEXT))
        goto long_text;
    *s->slot = length;
    if (!s->text) {
        p[0] = p[1] = p[2] = 0;
        heap += (length + 3) / 4;
    }
    if (s->test)
        goto test;
    NEXT_STEP
}

rejected:
    if (c != '\n')
        goto bad_row;
    goto next_row;

qualified:
    if (c != '\n')
        goto bad_row;
    TBL_EMIT
    goto next_row;

end:
    if (start == UINT32_MAX || ASSASIN_IN_HEAD(0) == start)
        ASSASIN_RETURN(0);
    why = TBL_TRUNCATED;
    goto fail;
bad_value:
    why = TBL_BAD_VALUE;
    goto fail;
bad_row:
    why = TBL_BAD_ROW;
    goto fail;
long_text:
    why = TBL_LONG_TEXT;
fail:
    ASSASIN_RETURN((int)(why | (start & ~7u)));
}

#endif
