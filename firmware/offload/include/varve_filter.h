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

/** A column in memory. */
struct varve_filter_stream {
    void *base;     /**< of the first value; aligned to the column's padded width */
    uintptr_t bits; /**< of a value; VARVE_SCALAR and VARVE_ZVE take only the column's padded width */
};

/** A call of a filter. filters.json names the columns: its inputs, then its outputs. */
struct varve_filter_args {
    uintptr_t filter; /**< its number in filters.json */
    uintptr_t rows;   /**< of every input */
    uintptr_t found;  /**< set at the end: rows stored */
    uintptr_t zero;
    struct varve_filter_stream stream[17];
};

/** Stores the selected columns of the rows that satisfy the predicate, and returns how many they are. */
typedef uintptr_t varve_filter(const struct varve_filter_args *a);

extern varve_filter *const varve_filters[];
extern const uintptr_t varve_filter_count;

#endif
