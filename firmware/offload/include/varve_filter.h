/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Arguments of the filters that varve/generate.py makes, and the header of the form for which they are compiled.
 */
#ifndef ASSASIN_OFFLOAD_VARVE_FILTER_H
#define ASSASIN_OFFLOAD_VARVE_FILTER_H

#ifdef VARVE_ZVE
#include "varve_zve.h"
#else
#include "varve.h"
#endif

/** Values of widths of their own, one byte each at `widths`, instead of `bits`. */
#define VARVE_FILTER_VARWIDTH 1u
/** In the stream buffer of the stream's number instead of memory. The same as VV_BUFFER. */
#define VARVE_FILTER_BUFFER 0x400u

/** A column. VARVE_SCALAR and VARVE_ZVE take it from memory in its padded width only, and look at nothing but `base`.
 */
struct varve_filter_stream {
    void *base; /**< of the first value, aligned to the padded width; in a stream buffer: bits (0 to 7) to leave out */
    void *widths;    /**< VarWidth: their bytes; in a stream buffer: the number of another one */
    uintptr_t bits;  /**< of a value, where it is not VarWidth */
    uintptr_t flags; /**< VARVE_FILTER_ */
};

/** A call of a filter. filters.json names the columns: its inputs, then its outputs. */
struct varve_filter_args {
    uintptr_t filter; /**< its number in filters.json */
    uintptr_t rows;   /**< of every input */
    uintptr_t found;  /**< set at the end: rows stored */
    uintptr_t zero;
    struct varve_filter_stream stream[17];
};

#ifndef VV_LEFT
#define VV_LEFT(id, count) ((void)0)
#endif
/** Declares input `id` as a->stream[id] says; sign: VV_SIGNED or VV_UNSIGNED. */
#define VARVE_FILTER_IN(id, rows, sign)                                                                                \
    VV_LEFT(id, rows);                                                                                                 \
    if (a->stream[id].flags & VARVE_FILTER_VARWIDTH) {                                                                 \
        VV_IN_VR(id, a->stream[id].base, a->stream[id].widths, rows, (sign) | VARVE_FILTER_PLACE(id));                 \
    } else {                                                                                                           \
        VV_IN_FR(id, a->stream[id].base, a->stream[id].bits, rows, (sign) | VARVE_FILTER_PLACE(id));                   \
    }                                                                                                                  \
    ((void)0)
/** Declares output `id` as a->stream[at] says. */
#define VARVE_FILTER_OUT(id, at, sign)                                                                                 \
    if (a->stream[at].flags & VARVE_FILTER_VARWIDTH) {                                                                 \
        VV_OUT_VW(id, a->stream[at].base, a->stream[at].widths, (sign) | VARVE_FILTER_PLACE(at));                      \
    } else {                                                                                                           \
        VV_OUT_FW(id, a->stream[at].base, a->stream[at].bits, (sign) | VARVE_FILTER_PLACE(at));                        \
    }                                                                                                                  \
    ((void)0)
#define VARVE_FILTER_PLACE(at) (a->stream[at].flags & VARVE_FILTER_BUFFER)

/** Stores the selected columns of the rows that satisfy the predicate, and returns how many they are. */
typedef uintptr_t varve_filter(const struct varve_filter_args *a);

extern varve_filter *const varve_filters[];
extern const uintptr_t varve_filter_count;

#endif
