/* SPDX-License-Identifier: BSD-3-Clause */
#include "platform/console.h"

#include <stdarg.h>
#include <stdbool.h>

#include "platform/regs.h"

static void put(char c) {
    sys_write(SYS_CONSOLE_TX, (uint8_t)c);
}

static void put_number(uint64_t v, unsigned base, unsigned width, bool zero) {
    char digits[24];
    unsigned n = 0;
    do {
        digits[n++] = "0123456789abcdef"[v % base];
        v /= base;
    } while (v != 0);
    while (width > n) {
        put(zero ? '0' : ' ');
        width--;
    }
    while (n > 0) {
        put(digits[--n]);
    }
}

static void vprint(const char *fmt, va_list ap) {
    for (; *fmt != 0; fmt++) {
        if (*fmt != '%') {
            put(*fmt);
            continue;
        }
        fmt++;
        bool zero = *fmt == '0';
        unsigned width = 0;
        while (*fmt >= '0' && *fmt <= '9') {
            width = width * 10 + (unsigned)(*fmt++ - '0');
        }
        unsigned longs = 0;
        while (*fmt == 'l') {
            longs++;
            fmt++;
        }
        switch (*fmt) {
        case 's':
            for (const char *s = va_arg(ap, const char *); *s != 0; s++) {
                put(*s);
            }
            break;
        case 'c':
            put((char)va_arg(ap, int));
            break;
        case 'u':
        case 'x': {
            uint64_t v = longs >= 2   ? va_arg(ap, unsigned long long)
                         : longs == 1 ? va_arg(ap, unsigned long)
                                      : va_arg(ap, unsigned);
            put_number(v, *fmt == 'x' ? 16 : 10, width, zero);
            break;
        }
        case 'd': {
            int64_t v = longs >= 2 ? va_arg(ap, long long) : longs == 1 ? va_arg(ap, long) : va_arg(ap, int);
            if (v < 0) {
                put('-');
                v = -v;
            }
            put_number((uint64_t)v, 10, width, zero);
            break;
        }
        default:
            put(*fmt);
            break;
        }
    }
}

void console_printf(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vprint(fmt, ap);
    va_end(ap);
}

void panic(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    console_printf("panic: ");
    vprint(fmt, ap);
    va_end(ap);
    console_printf("\n");
    hal_halt();
    __builtin_unreachable();
}
