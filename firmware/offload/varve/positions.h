/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * For programs that count memory traffic, included before varve.h: how far each stream in memory has come when it is
 * ended, from the window VSSEL, VSDAT (docs/varve/isa.md 2.2).
 */
#ifndef ASSASIN_OFFLOAD_VARVE_POSITIONS_H
#define ASSASIN_OFFLOAD_VARVE_POSITIONS_H

#include <assasin.h>

/** Addresses behind the last byte of a stream's values that was begun, and behind its last width byte. */
struct varve_position {
    uint32_t data, widths;
};
/** Of stream `object`: the number of an input, or 16 and that of an output. Behind all arguments. */
#define VARVE_POSITIONS ((struct varve_position *)(ASSASIN_CORE_SPAD_BASE + SCOMP_SPAD_ARGS + 0x400u))

static inline uint32_t varve_window(unsigned object, unsigned index) {
    uint32_t word;
    __asm__ volatile("csrw 0x842, %1\n\tcsrr %0, 0x843" : "=r"(word) : "r"(object | index << 8) : "memory");
    return word;
}

/* In each place where a stream is ended it would not fit the instruction memory. */
static __attribute__((noinline, unused)) void varve_tell_position(unsigned object) {
    struct varve_position *at = &VARVE_POSITIONS[object];
    at->data = varve_window(object, 1) + ((varve_window(object, 3) & 7) != 0);
    at->widths = varve_window(object, 4);
}

/** What varve.h does before it ends a stream. */
#define VV_ENDING(object) varve_tell_position(object)

#endif
