/* SPDX-License-Identifier: BSD-3-Clause */
/* VarVE on a Rocket tile: workloads of firmware/offload/varve/workloads.c and a filter, in scalar code, Zve32x and
 * VarVE, and instructions that have to trap. Reports as bench.c does: the workload's number, the form's, cycles, 1 if
 * the result is the scalar code's; of a trap its number, 3, 0, and 1 if it came as it should. Ends with the number that
 * differ. */
#include <stdint.h>

enum { BYTES = 4096, WORDS = 1024, SCALAR = 0, ZVE = 1, VARVE = 2, TRAP = 3 };

#define REPORT ((volatile uint32_t *)0x10003000u)

/* As workloads.c has it. */
struct job {
    uint32_t kernel, n, result, in[5], out;
};
struct job varve_job;
int scalar_compute(void), zve_compute(void), varve_compute(void);
typedef uint32_t filter(uint32_t rows, const uint8_t *segment, const uint32_t *key, uint32_t *out);
filter scalar_filter, zve_filter, varve_filter;

static uint32_t x[4][WORDS];
static uint8_t bytes[BYTES + 64];
static uint8_t wanted[BYTES + 64] __attribute__((aligned(8))), got[BYTES + 64] __attribute__((aligned(8)));

static inline uint32_t cycle(void) {
    uint64_t v;
    __asm__ volatile("fence\n\tcsrr %0, mcycle" : "=r"(v)::"memory");
    return (uint32_t)v;
}

/** Words of `bits` bits, bytes of 5. */
static void fill(uint32_t bits) {
    uint32_t s = 1;
    for (uint32_t i = 0; i < 4 * WORDS; i++) {
        s = s * 1664525u + 1013904223u;
        x[i / WORDS][i % WORDS] = s >> (32 - bits);
        if (i < BYTES + 64)
            bytes[i] = (uint8_t)(s >> 27);
    }
}

/** As many as there are words in an output. */
enum { DOUBLES = BYTES / 8 + 8 };

static void mark(uint8_t *out) {
    for (uint32_t k = 0; k < DOUBLES; k++)
        ((uint64_t *)(void *)out)[k] = 0xa5a5a5a5a5a5a5a5u;
}
/** Whether `got` has `offset` bytes untouched and then what `wanted` has. */
static int agree(uint32_t offset) {
    const uint64_t *a = (const uint64_t *)(const void *)wanted, *b = (const uint64_t *)(const void *)got;
    uint64_t differ = 0;
    if (offset == 0)
        for (uint32_t k = 0; k < DOUBLES; k++)
            differ |= a[k] ^ b[k];
    else
        for (uint32_t k = 0; k < BYTES + 64; k++)
            differ |= got[k] ^ (k < offset ? 0xa5u : wanted[k - offset]);
    return !differ;
}

/* -- workloads */

struct workload {
    uint32_t kernel, n, bits; /* of workloads.c; 9: the filter */
    uint32_t inOffset;
    uint32_t outOffset; /* of VarVE's output; the other forms store whole words */
    uint32_t forms;     /* bit f: it is there in form f */
};
static const struct workload workloads[] = {
    {9, 1024, 24, 0, 0, 7}, /* the filter */
    {0, 2048, 15, 3, 1, 5}, /* bitpacking bytes to 5 bits, from and to odd addresses */
    {2, 1024, 32, 0, 0, 7}, /* RAID5, wide values */
    {2, 1024, 3, 0, 0, 7},  /* narrow ones */
    {1, 1024, 15, 0, 0, 7}, /* bitpacking words to 15 bits */
    {0, 4096, 15, 0, 0, 7}, /* bitpacking bytes to 5 bits */
};

static uint32_t run(const struct workload *w, uint32_t form, uint8_t *out) {
    const uint8_t *in = (w->kernel ? (const uint8_t *)x : bytes) + w->inOffset;
    varve_job.kernel = w->kernel;
    varve_job.n = w->n;
    for (uint32_t i = 0; i < 4; i++)
        varve_job.in[i] = (uint32_t)(uintptr_t)in + 4 * WORDS * i;
    varve_job.out = (uint32_t)(uintptr_t)out;
    if (w->kernel == 9)
        return (form == SCALAR ? scalar_filter
                : form == ZVE  ? zve_filter
                               : varve_filter)(w->n, bytes, x[0], (uint32_t *)(void *)out);
    if (form == SCALAR)
        scalar_compute();
    else if (form == ZVE)
        zve_compute();
    else
        varve_compute();
    return varve_job.result;
}

/* -- traps: the next word is skipped */

static volatile uint64_t cause, value, at;
__attribute__((interrupt("machine"), aligned(4))) static void handler(void) {
    uint64_t pc, c, v;
    __asm__ volatile("csrr %0, mepc\n\tcsrr %1, mcause\n\tcsrr %2, mtval" : "=r"(pc), "=r"(c), "=r"(v));
    at = pc;
    cause = c;
    value = v;
    __asm__ volatile("csrw mepc, %0" : : "r"(pc + 4));
}

/* Whether the one instruction `text` trapped, where it stands, with this cause; and where its value says. */
#define TRAPS(wantedCause, text, ...)                                                                                  \
    __extension__({                                                                                                    \
        uintptr_t place;                                                                                               \
        cause = 99;                                                                                                    \
        __asm__ volatile("la %0, 1f\n\t.balign 4\n\t.option push\n\t.option norvc\n1:\t" text "\n\t.option pop"        \
                         : "=&r"(place)                                                                                \
                         : __VA_ARGS__                                                                                 \
                         : "memory", "t6", "v8");                                                                      \
        cause == (wantedCause) && at == place;                                                                         \
    })
#define WORD_AT(address) (*(const uint32_t *)(uintptr_t)(address))

static int traps(uint32_t number) {
    const uintptr_t zero = 0;
    const uint32_t memory = 32u | 0x80u | 0x200u, buffer = memory | 0x400u;
    int good = 0;
    switch (number) {
    case 0: /* a stream buffer, of which a tile has none */
        __asm__ volatile("csrw 0x840, %0" : : "r"((uintptr_t)buffer));
        good = TRAPS(2, ".insn r 0x5b, 0, 0, x0, %1, %2", "r"(zero), "r"(zero + 8));
        return good && value == WORD_AT(at);
    case 1: /* a pack to a stream that is not open; its register can be used behind it */
        good = TRAPS(2, ".insn r 0x5b, 3, 33, x31, x8, x0", "r"(zero));
        __asm__ volatile("addi t6, t6, 0" : : : "t6");
        return good && value == WORD_AT(at);
    case 2: /* a pack to where no memory is, likewise */
        __asm__ volatile("csrw 0x840, %0\n\t.insn r 0x5b, 0, 8, x0, %1, x0" : : "r"((uintptr_t)memory), "r"(zero));
        __asm__ volatile("vsetivli x0, 4, e32, m1, ta, ma\n\tvmv.v.i v8, 1" : : : "v8");
#ifdef VARVE_FULL
        __asm__ volatile(".insn i 0x5b, 1, x0, x0, 0\n\t.insn r 0x2b, 2, 0x25, v8, x1, v8" : : : "v8");
        good = TRAPS(7, ".insn r 0x5b, 3, 1, x31, x8, x0", "r"(zero));
        __asm__ volatile("addi t6, t6, 0\n\t.insn i 0x5b, 1, x0, x0, 0" : : : "t6");
#else
        good = TRAPS(7, ".insn r 0x5b, 3, 33, x31, x8, x0", "r"(zero));
        __asm__ volatile("addi t6, t6, 0" : : : "t6");
#endif
        good &= value == 0;
        __asm__ volatile(".insn r 0x5b, 0, 25, t6, x0, x0" : : : "t6");
        return good;
    default: /* VarVE off: its CSRs and instructions; then on again */
        __asm__ volatile("csrwi 0x7c0, 0");
        good = TRAPS(2, "csrr t6, 0x840", "r"(zero)) && TRAPS(2, ".insn i 0x5b, 1, x0, x0, 0", "r"(zero));
        __asm__ volatile("csrwi 0x7c0, 1");
        return good && !TRAPS(2, "csrr t6, 0x845", "r"(zero));
    }
}

int main(void) {
    int differ = 0;
    __asm__ volatile("csrw mtvec, %0\n\tcsrwi 0x7c0, 1" : : "r"(handler));
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t good = traps(i) != 0;
        differ += !good;
        REPORT[0] = i;
        REPORT[0] = TRAP;
        REPORT[0] = 0;
        REPORT[0] = good;
    }
    for (uint32_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        const struct workload *w = &workloads[i];
        fill(w->bits);
        uint32_t size = 0;
        for (uint32_t form = SCALAR; form <= VARVE; form++) {
            if (!(w->forms >> form & 1))
                continue;
            uint8_t *out = form == SCALAR ? wanted : got;
            const uint32_t offset = form == VARVE ? w->outOffset : 0;
            mark(out);
            const uint32_t t0 = cycle();
            const uint32_t n = run(w, form, out + offset);
            const uint32_t t1 = cycle();
            if (form == SCALAR)
                size = n;
            const uint32_t same = n == size && n != 0 && (form == SCALAR || agree(offset));
            differ += !same;
            REPORT[0] = i;
            REPORT[0] = form;
            REPORT[0] = t1 - t0;
            REPORT[0] = same;
        }
    }
    return differ;
}
