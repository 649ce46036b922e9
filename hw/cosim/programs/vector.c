/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops that the compiler vectorises, each held against itself compiled without vectors. main returns 0, or the number
 * of the first loop whose results differ.
 */
#include <stddef.h>
#include <stdint.h>

#define COUNT 317 /* no multiple of any vector's length */

static uint8_t bytes[COUNT], more[COUNT];
static int16_t halves[COUNT];
static int32_t words[COUNT], others[COUNT];
static uint32_t results[2][COUNT];

/* LOOP(name, body) makes name_vector and name_scalar of one body over `out` and `n`; both return a sum. */
#define LOOP(name, ...)                                                                                                \
    __attribute__((noinline)) static uint32_t name##_vector(uint32_t *restrict out, size_t n) {                        \
        uint32_t sum = 0;                                                                                              \
        _Pragma("clang loop vectorize(enable)") for (size_t i = 0; i < n; i++) __VA_ARGS__ return sum;                 \
    }                                                                                                                  \
    __attribute__((noinline)) static uint32_t name##_scalar(uint32_t *restrict out, size_t n) {                        \
        uint32_t sum = 0;                                                                                              \
        _Pragma("clang loop vectorize(disable) interleave(disable)") for (size_t i = 0; i < n; i++)                    \
            __VA_ARGS__ return sum;                                                                                    \
    }

LOOP(add, { out[i] = (uint32_t)words[i] + (uint32_t)others[i]; })
LOOP(logic, { out[i] = ((uint32_t)words[i] << 3 ^ (uint32_t)(others[i] >> 5)) & ~(uint32_t)words[i]; })
LOOP(bytes, { ((uint8_t *)out)[i] = (uint8_t)(bytes[i] > more[i] ? bytes[i] - more[i] : more[i]); })
LOOP(choose, { out[i] = words[i] < others[i] ? (uint32_t)words[i] : 7u; })
LOOP(extend, { out[i] = (uint32_t)halves[i] + bytes[i]; })
LOOP(multiply, { out[i] = (uint32_t)words[i] * (uint32_t)others[i]; })
LOOP(narrow, { ((uint8_t *)out)[i] = (uint8_t)(words[i] >> 7); })
LOOP(divide, { out[i] = (uint32_t)words[i] / (bytes[i] | 1u); })
LOOP(widen, { out[i] = (uint32_t)(halves[i] * (int32_t)(int16_t)others[i]); })
LOOP(total, {
    (void)out;
    sum += (uint32_t)words[i];
})
LOOP(dot, {
    (void)out;
    sum += (uint32_t)bytes[i] * more[i];
})
LOOP(stride, { out[i] = (uint32_t)words[(i * 3) % 64 + (i & 1)]; })
LOOP(gather, { out[i] = (uint32_t)words[bytes[i]]; })
LOOP(reverse, { out[i] = (uint32_t)words[n - 1 - i]; })

struct loop {
    uint32_t (*vector)(uint32_t *restrict, size_t);
    uint32_t (*scalar)(uint32_t *restrict, size_t);
};
#define BOTH(name)                                                                                                     \
    { name##_vector, name##_scalar }
static const struct loop loops[] = {BOTH(add),      BOTH(logic),   BOTH(bytes),  BOTH(choose), BOTH(extend),
                                    BOTH(multiply), BOTH(narrow),  BOTH(divide), BOTH(widen),  BOTH(total),
                                    BOTH(dot),      BOTH(reverse), BOTH(stride), BOTH(gather)};

int main(void) {
    uint32_t state = 12345;
    __asm__ volatile("csrs mstatus, %0" : : "r"(0x600)); /* the vector unit is on */
    for (size_t i = 0; i < COUNT; i++) {
        state = state * 1664525u + 1013904223u;
        words[i] = (int32_t)state;
        others[i] = (int32_t)(state * 2654435761u);
        halves[i] = (int16_t)(state >> 11);
        bytes[i] = (uint8_t)(state >> 24);
        more[i] = (uint8_t)(state >> 13);
    }
    for (unsigned k = 0; k < sizeof loops / sizeof *loops; k++)
        for (size_t n = 0; n <= COUNT; n += n < 70 ? 1 : 49) {
            uint32_t sums[2];
            for (int form = 0; form < 2; form++) {
                for (size_t i = 0; i < COUNT; i++)
                    results[form][i] = 0x5a5a5a5a;
                sums[form] = form ? loops[k].scalar(results[1], n) : loops[k].vector(results[0], n);
            }
            if (sums[0] != sums[1])
                return (int)k + 1;
            for (size_t i = 0; i < COUNT; i++)
                if (results[0][i] != results[1][i])
                    return (int)k + 1;
        }
    return 0;
}
