/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that gcc may call by itself in freestanding code. The linker drops what an offload does not need. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
    uint8_t *d = to;
    const uint8_t *s = from;
    while (bytes--)
        *d++ = *s++;
    return to;
}

void *memmove(void *to, const void *from, size_t bytes) {
    uint8_t *d = to;
    const uint8_t *s = from;
    if ((uintptr_t)d <= (uintptr_t)s)
        return memcpy(to, from, bytes);
    while (bytes--)
        d[bytes] = s[bytes];
    return to;
}

void *memset(void *to, int value, size_t bytes) {
    uint8_t *d = to;
    while (bytes--)
        *d++ = (uint8_t)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes) {
    const uint8_t *x = a, *y = b;
    for (; bytes--; x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}
