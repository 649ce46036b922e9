/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one of the generated filters on a core: the piece's arguments are a struct varve_filter_args. */
#include <assasin.h>
#include <varve_filter.h>

int compute(void) {
    struct varve_filter_args *a = (struct varve_filter_args *)(ASSASIN_CORE_SPAD_BASE + SCOMP_SPAD_ARGS);
    if (a->filter >= varve_filter_count)
        return 1;
    a->found = varve_filters[a->filter](a);
    return 0;
}
