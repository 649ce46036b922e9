/* SPDX-License-Identifier: BSD-3-Clause */
/* The four memory functions that a freestanding compiler may call. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);

/** Both are multiples of 4. */
static int aligned(const void *a, const void *b) {
    return (((uintptr_t)a | (uintptr_t)b) & 3) == 0;
}

/** From the lowest byte on; right where `dst` is below `src`, too, however they overlap. */
static inline __attribute__((always_inline)) void copy_up(uint8_t *d, const uint8_t *s, size_t n) {
    if (aligned(d, s)) {
        for (; n >= 16; n -= 16, d += 16, s += 16) {
            const uint32_t *from = (const uint32_t *)(const void *)s;
            uint32_t *to = (uint32_t *)(void *)d;
            uint32_t w0 = from[0], w1 = from[1], w2 = from[2], w3 = from[3];
            to[0] = w0;
            to[1] = w1;
            to[2] = w2;
            to[3] = w3;
        }
        for (; n >= 4; n -= 4, d += 4, s += 4) {
            *(uint32_t *)(void *)d = *(const uint32_t *)(const void *)s;
        }
    }
    while (n-- > 0) {
        *d++ = *s++;
    }
}

void *memcpy(void *restrict dst, const void *restrict src, size_t n) {
    copy_up(dst, src, n);
    return dst;
}

void *memmove(void *dst, const void *src, size_t n) {
    uint8_t *d = dst;
    const uint8_t *s = src;
    if (d < s) {
        copy_up(d, s, n);
    } else if (d > s) {
        while (n-- > 0) {
            d[n] = s[n];
        }
    }
    return dst;
}

void *memset(void *dst, int c, size_t n) {
    uint8_t *d = dst;
    uint32_t word = (uint8_t)c * 0x01010101u;
    if (((uintptr_t)d & 3) == 0) {
        for (; n >= 16; n -= 16, d += 16) {
            uint32_t *to = (uint32_t *)(void *)d;
            to[0] = word;
            to[1] = word;
            to[2] = word;
            to[3] = word;
        }
        for (; n >= 4; n -= 4, d += 4) {
            *(uint32_t *)(void *)d = word;
        }
    }
    while (n-- > 0) {
        *d++ = (uint8_t)c;
    }
    return dst;
}

int memcmp(const void *a, const void *b, size_t n) {
    const uint8_t *x = a;
    const uint8_t *y = b;
    for (; n > 0; n--, x++, y++) {
        if (*x != *y) {
            return *x - *y;
        }
    }
    return 0;
}
