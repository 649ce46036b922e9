/* SPDX-License-Identifier: BSD-3-Clause */
// Small integer benchmarks: a linked list, a matrix, a state machine over text, a CRC, AES. Prints one line each: name,
// check value, and on the core the cycles of one round. The same source runs natively, which gives the check values to
// expect.
#include <stddef.h>
#include <stdint.h>

#ifdef __riscv
extern volatile uint32_t tohost[2];

static void put(char c) {
    tohost[0] = (uint8_t)c;
    tohost[1] = 0x01010000; // console of run-elf
    while (tohost[1] != 0)
        ;
}

static uint32_t cycles(void) {
    uint32_t value;
    __asm__ volatile("csrr %0, mcycle" : "=r"(value)::"memory");
    return value;
}
#else
#include <stdio.h>

static void put(char c) {
    putchar(c);
}

static uint32_t cycles(void) {
    return 0;
}
#endif

static uint32_t random_state = 1;

static uint32_t random_word(void) {
    random_state = random_state * 1664525 + 1013904223;
    return random_state >> 8;
}

// ---- A linked list: reversed, sorted by merging, searched ---------------------------------------------------------

enum { NODES = 200 };

struct node {
    struct node *next;
    int32_t key;
    uint32_t data;
};

static struct node nodes[NODES];

static struct node *merge(struct node *a, struct node *b) {
    struct node *head = NULL, **end = &head;
    while (a != NULL && b != NULL) {
        struct node **least = b->key < a->key ? &b : &a;
        *end = *least;
        end = &(*least)->next;
        *least = *end;
    }
    *end = a != NULL ? a : b;
    return head;
}

static struct node *sort(struct node *list) {
    struct node *sorted[16] = {NULL}; // lists of 2^i nodes
    while (list != NULL) {
        struct node *one = list;
        list = list->next;
        one->next = NULL;
        unsigned i = 0;
        for (; sorted[i] != NULL; i++) {
            one = merge(sorted[i], one);
            sorted[i] = NULL;
        }
        sorted[i] = one;
    }
    struct node *all = NULL;
    for (unsigned i = 0; i < 16; i++)
        all = merge(sorted[i], all);
    return all;
}

static uint32_t list_round(void) {
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].next = i + 1 < NODES ? &nodes[i + 1] : NULL;
        nodes[i].key = (int32_t)random_word();
        nodes[i].data = i;
    }
    struct node *list = sort(&nodes[0]), *back = NULL;
    while (list != NULL) {
        struct node *next = list->next;
        list->next = back;
        back = list;
        list = next;
    }
    uint32_t check = 0;
    for (unsigned search = 0; search < 20; search++) {
        const int32_t key = nodes[search * 7].key;
        const struct node *n = back;
        while (n->key > key)
            n = n->next;
        check = check * 31 + n->data;
    }
    return check;
}

// ---- Matrix multiplication and a sum with limits
// ----------------------------------------------------------------------

enum { SIDE = 16 };

static int16_t left[SIDE][SIDE], right[SIDE][SIDE];
static int32_t product[SIDE][SIDE];

static uint32_t matrix_round(void) {
    for (unsigned i = 0; i < SIDE; i++)
        for (unsigned j = 0; j < SIDE; j++) {
            left[i][j] = (int16_t)random_word();
            right[i][j] = (int16_t)random_word();
        }
    for (unsigned i = 0; i < SIDE; i++)
        for (unsigned j = 0; j < SIDE; j++) {
            int32_t sum = 0;
            for (unsigned k = 0; k < SIDE; k++)
                sum += (int32_t)((uint32_t)(left[i][k] * right[k][j]) >> 3 & 0xffffff);
            product[i][j] = sum;
        }
    uint32_t check = 0;
    for (unsigned i = 0; i < SIDE; i++)
        for (unsigned j = 0; j < SIDE; j++)
            check += (uint32_t)(product[i][j] > 0x4000000 ? product[i][j] >> 4 : product[i][j]);
    return check;
}

// ---- Numbers of several kinds recognised in text
// ------------------------------------------------------------------------

enum state { START, SIGN, INTEGER, POINT, FRACTION, EXPONENT, POWER, INVALID, STATES };

static uint32_t counts[STATES];

static enum state step(enum state s, char c) {
    const int digit = c >= '0' && c <= '9';
    switch (s) {
    case START:
        return digit ? INTEGER : c == '+' || c == '-' ? SIGN : c == '.' ? POINT : INVALID;
    case SIGN:
        return digit ? INTEGER : c == '.' ? POINT : INVALID;
    case INTEGER:
        return digit ? INTEGER : c == '.' ? FRACTION : c == 'e' ? EXPONENT : INVALID;
    case POINT:
        return digit ? FRACTION : INVALID;
    case FRACTION:
        return digit ? FRACTION : c == 'e' ? EXPONENT : INVALID;
    case EXPONENT:
        return digit || c == '-' ? POWER : INVALID;
    case POWER:
        return digit ? POWER : INVALID;
    default:
        return INVALID;
    }
}

static uint32_t state_round(void) {
    static const char text[] = "5012,+17,-0.25,3.14e10,x9,.5,1e-7,88.8.8,--4,77777,0.0001,12ab,9e,42,-6.02e23,1.5";
    for (unsigned i = 0; i < STATES; i++)
        counts[i] = 0;
    for (unsigned repeat = 0; repeat < 10; repeat++) {
        enum state s = START;
        for (const char *p = text;; p++) {
            if (*p == ',' || *p == '\0') {
                counts[s]++;
                s = START;
                if (*p == '\0')
                    break;
            } else {
                s = step(s, *p);
            }
        }
    }
    uint32_t check = 0;
    for (unsigned i = 0; i < STATES; i++)
        check = check * 101 + counts[i];
    return check;
}

// ---- CRC-32, bit by bit
// -------------------------------------------------------------------------------------------------

static uint32_t crc_round(void) {
    uint32_t crc = ~0u;
    for (unsigned i = 0; i < 256; i++) {
        crc ^= random_word() & 0xff;
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    }
    return ~crc;
}

// ---- AES-128, one block with given round keys: by table, by instruction where there is one
// ------------------------------

enum { AES_ROUNDS = 10 };

static uint32_t round_keys[4 * (AES_ROUNDS + 1)], table[256];
static uint8_t substitute[256];

static uint8_t times(uint8_t a, uint8_t b) {
    uint8_t sum = 0;
    for (; b != 0; b >>= 1) {
        if (b & 1)
            sum ^= a;
        a = (uint8_t)(a << 1 ^ (a & 0x80 ? 0x1b : 0));
    }
    return sum;
}

static void aes_prepare(void) {
    for (unsigned x = 0; x < 256; x++) {
        uint8_t inverse = 0;
        for (unsigned y = 1; y < 256 && inverse == 0; y++)
            if (times((uint8_t)x, (uint8_t)y) == 1)
                inverse = (uint8_t)y;
        uint8_t out = 0x63;
        for (unsigned n = 0; n < 5; n++)
            out ^= (uint8_t)(inverse << n | inverse >> (8 - n));
        substitute[x] = out;
        table[x] = (uint32_t)times(out, 3) << 24 | (uint32_t)out << 16 | (uint32_t)out << 8 | times(out, 2);
    }
    for (unsigned i = 0; i < sizeof round_keys / sizeof *round_keys; i++) {
        const uint32_t high = random_word();
        round_keys[i] = high << 8 ^ random_word();
    }
}

#ifdef __riscv_zkne
#define AES_BYTE(name, sum, word, byte) __asm__(name " %0, %0, %1, %2" : "+r"(sum) : "r"(word), "i"(byte))
#define AES_COLUMN(name, a, b, c, d, key)                                                                              \
    ({                                                                                                                 \
        uint32_t sum_ = (key);                                                                                         \
        AES_BYTE(name, sum_, a, 0);                                                                                    \
        AES_BYTE(name, sum_, b, 1);                                                                                    \
        AES_BYTE(name, sum_, c, 2);                                                                                    \
        AES_BYTE(name, sum_, d, 3);                                                                                    \
        sum_;                                                                                                          \
    })
#define AES_MIDDLE(a, b, c, d, key) AES_COLUMN("aes32esmi", a, b, c, d, key)
#define AES_LAST(a, b, c, d, key)   AES_COLUMN("aes32esi", a, b, c, d, key)
#else
static uint32_t rotated(uint32_t x, unsigned bits) {
    return x << bits | x >> (32 - bits);
}
#define AES_MIDDLE(a, b, c, d, key)                                                                                    \
    (table[(a)&0xff] ^ rotated(table[(b) >> 8 & 0xff], 8) ^ rotated(table[(c) >> 16 & 0xff], 16) ^                     \
     rotated(table[(d) >> 24], 24) ^ (key))
#define AES_LAST(a, b, c, d, key)                                                                                      \
    (((uint32_t)substitute[(a)&0xff] | (uint32_t)substitute[(b) >> 8 & 0xff] << 8 |                                    \
      (uint32_t)substitute[(c) >> 16 & 0xff] << 16 | (uint32_t)substitute[(d) >> 24] << 24) ^                          \
     (key))
#endif

static uint32_t aes_round(void) {
    const uint32_t *key = round_keys;
    uint32_t a = key[0] ^ 1, b = key[1] ^ 2, c = key[2] ^ 3, d = key[3] ^ 4;
    for (unsigned i = 1; i < AES_ROUNDS; i++) {
        key += 4;
        const uint32_t e = AES_MIDDLE(a, b, c, d, key[0]), f = AES_MIDDLE(b, c, d, a, key[1]);
        const uint32_t g = AES_MIDDLE(c, d, a, b, key[2]), h = AES_MIDDLE(d, a, b, c, key[3]);
        a = e, b = f, c = g, d = h;
    }
    key += 4;
    const uint32_t e = AES_LAST(a, b, c, d, key[0]), f = AES_LAST(b, c, d, a, key[1]);
    const uint32_t g = AES_LAST(c, d, a, b, key[2]), h = AES_LAST(d, a, b, c, key[3]);
    return e ^ f << 1 ^ g << 2 ^ h << 3;
}

// ---- Report
// ----------------------------------------------------------------------------------------------------------------

static void put_number(uint32_t value) {
    char digits[10];
    unsigned n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    while (n != 0)
        put(digits[--n]);
}

static void measure(const char *name, uint32_t (*round)(void)) {
    enum { ROUNDS = 10 };
    uint32_t check = 0;
    const uint32_t begin = cycles();
    for (unsigned i = 0; i < ROUNDS; i++)
        check = check * 7 + round();
    const uint32_t spent = cycles() - begin;
    while (*name != '\0')
        put(*name++);
    put(' ');
    put_number(check);
    put(' ');
    put_number(spent / ROUNDS);
    put('\n');
}

int main(void) {
    measure("list", list_round);
    measure("matrix", matrix_round);
    measure("state", state_round);
    measure("crc", crc_round);
    aes_prepare();
    measure("aes", aes_round);
    return 0;
}
