/* SPDX-License-Identifier: BSD-3-Clause */
/* Stream instructions on a Rocket tile (StreamRoCC): loops over words of a stream against the same loops over memory.
 * Reports as bench.c does: the loop's number, cycles with memory, cycles with streams, 1 if both gave the same. */
#include <stdint.h>

enum { WORDS = 4096 };

#define REPORT ((volatile uint32_t *)0x10003000u)

static uint32_t in[WORDS] __attribute__((aligned(512)));
static uint32_t wanted[WORDS] __attribute__((aligned(512))), got[WORDS] __attribute__((aligned(512)));

static inline uint32_t cycle(void) {
    uint64_t v;
    __asm__ volatile("fence\n\tcsrr %0, mcycle" : "=r"(v)::"memory");
    return (uint32_t)v;
}
static inline void begin_input(const void *from, uintptr_t bytes) {
    __asm__ volatile(".insn r 0x0b, 3, 0, x0, %0, %1" : : "r"(from), "r"(bytes) : "memory");
}
static inline void begin_output(void *to) {
    __asm__ volatile(".insn r 0x0b, 2, 1, x0, %0, x0" : : "r"(to) : "memory");
}
static inline uint32_t stream_load(void) {
    uint64_t v;
    __asm__ volatile(".insn r 0x0b, 4, 2, %0, x0, x0" : "=r"(v));
    return (uint32_t)v;
}
static inline void stream_store(uint32_t v) {
    __asm__ volatile(".insn r 0x0b, 2, 3, x0, %0, x0" : : "r"((uintptr_t)v) : "memory");
}
static inline uint64_t end_output(void) {
    uint64_t v;
    __asm__ volatile(".insn r 0x0b, 4, 4, %0, x0, x0\n\tadd %0, %0, x0" : "=r"(v)::"memory");
    return v;
}

/* Each loop with memory, with streams; `n` words, a multiple of 128. */
static uint32_t scan_memory(uint32_t n) {
    uint32_t sum = 0;
#pragma clang loop unroll(disable)
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = in[i];
        __asm__ volatile("" : "+r"(v));
        sum += v;
    }
    return sum;
}
static uint32_t scan_stream(uint32_t n) {
    uint32_t sum = 0;
    begin_input(in, 4 * n);
#pragma clang loop unroll(disable)
    for (uint32_t i = 0; i < n; i++)
        sum += stream_load();
    return sum;
}
/* Eight loads before the first addition. */
static uint32_t scan8_memory(uint32_t n) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i += 8) {
        uint32_t v[8];
        for (unsigned k = 0; k < 8; k++) {
            v[k] = in[i + k];
            __asm__ volatile("" : "+r"(v[k]));
        }
        for (unsigned k = 0; k < 8; k++)
            sum += v[k];
    }
    return sum;
}
static uint32_t scan8_stream(uint32_t n) {
    uint32_t sum = 0;
    begin_input(in, 4 * n);
    for (uint32_t i = 0; i < n; i += 8) {
        uint32_t v[8];
        for (unsigned k = 0; k < 8; k++)
            v[k] = stream_load();
        for (unsigned k = 0; k < 8; k++)
            sum += v[k];
    }
    return sum;
}
static uint32_t copy_memory(uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = in[i] + 1;
        __asm__ volatile("" : "+r"(v));
        wanted[i] = v;
    }
    return 0;
}
static uint32_t copy_stream(uint32_t n) {
    begin_input(in, 4 * n);
    begin_output(got);
#pragma clang loop unroll_count(8)
    for (uint32_t i = 0; i < n; i++)
        stream_store(stream_load() + 1);
    return (uint32_t)end_output();
}

int main(void) {
    static uint32_t (*const loops[][2])(uint32_t) = {
        {scan_memory, scan_stream}, {scan8_memory, scan8_stream}, {copy_memory, copy_stream}};
    int differ = 0;
    uint32_t s = 1;
    for (uint32_t i = 0; i < WORDS; i++) {
        s = s * 1664525u + 1013904223u;
        in[i] = s;
    }
    for (uint32_t k = 0; k < 3; k++) {
        const uint32_t t0 = cycle();
        const uint32_t a = loops[k][0](WORDS);
        const uint32_t t1 = cycle();
        const uint32_t b = loops[k][1](WORDS);
        const uint32_t t2 = cycle();
        uint32_t same = a == b;
        for (uint32_t i = 0; k == 2 && i < WORDS; i++)
            same &= wanted[i] == got[i];
        differ += !same;
        REPORT[0] = k;
        REPORT[0] = t1 - t0;
        REPORT[0] = t2 - t1;
        REPORT[0] = same;
    }
    return differ;
}
