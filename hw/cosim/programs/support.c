/* SPDX-License-Identifier: BSD-3-Clause */
// What the compiler may call for.
#include <stddef.h>

void *memset(void *to, int value, size_t size) {
    for (char *p = to; size != 0; size--)
        *p++ = (char)value;
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    const char *f = from;
    for (char *p = to; size != 0; size--)
        *p++ = *f++;
    return to;
}
