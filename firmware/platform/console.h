/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Console output.
 */
#ifndef ASSASIN_FW_CONSOLE_H
#define ASSASIN_FW_CONSOLE_H

/**
 * Print to the console FIFO. Knows %s %c %u %d %x %08x-style widths with zero fill, and %%; `l` and `ll` are accepted,
 * `ll` being 64 bits. Never waits: characters beyond the FIFO push out the oldest.
 */
void console_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Print and stop the processor. */
void panic(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
