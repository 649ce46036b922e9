// SPDX-License-Identifier: BSD-3-Clause
#include "coremark.h"

#include <stdarg.h>

// The seeds of a performance run over 2000 bytes (TOTAL_DATA_SIZE), which is the run that CoreMark figures are of.
volatile ee_s32 seed1_volatile = 0;
volatile ee_s32 seed2_volatile = 0;
volatile ee_s32 seed3_volatile = 0x66;
volatile ee_s32 seed4_volatile = ITERATIONS;
volatile ee_s32 seed5_volatile = 0;

ee_u32 default_num_contexts = 1;

static CORETIMETYPE started, stopped;

static CORETIMETYPE cycles(void) {
    CORETIMETYPE value;
    __asm__ volatile("csrr %0, mcycle" : "=r"(value)::"memory");
    return value;
}

void start_time(void) {
    started = cycles();
}

void stop_time(void) {
    stopped = cycles();
}

CORE_TICKS get_time(void) {
    return stopped - started;
}

// At 1 MHz. A simulation has no time for the ten seconds that CoreMark asks for, and says so in its report.
secs_ret time_in_secs(CORE_TICKS ticks) {
    return ticks / 1000000;
}

void portable_init(core_portable *p, int *argc, char *argv[]) {
    (void)argc;
    (void)argv;
    p->portable_id = 1;
}

void portable_fini(core_portable *p) {
    p->portable_id = 0;
}

static void put(char c) {
    extern volatile uint32_t tohost[2];
    tohost[0] = (unsigned char)c;
    tohost[1] = 0x01010000;
    while (tohost[1] != 0) {
    }
}

static void put_number(uint32_t value, uint32_t base, unsigned width) {
    char digits[10];
    unsigned n = 0;
    do {
        digits[n++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0 || n < width);
    while (n > 0)
        put(digits[--n]);
}

// What CoreMark prints: %d %u %x, their l forms and %04x, %s.
int ee_printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    for (; *format; format++) {
        if (*format != '%') {
            put(*format);
            continue;
        }
        unsigned width = 0;
        while ((*++format >= '0' && *format <= '9') || *format == 'l')
            if (*format != 'l')
                width = width * 10 + (unsigned)(*format - '0');
        if (*format == 's') {
            for (const char *s = va_arg(arguments, const char *); *s; s++)
                put(*s);
            continue;
        }
        uint32_t value = va_arg(arguments, uint32_t);
        if (*format == 'd' && (int32_t)value < 0) {
            put('-');
            value = -value;
        }
        put_number(value, *format == 'x' ? 16 : 10, width);
    }
    va_end(arguments);
    return 0;
}
