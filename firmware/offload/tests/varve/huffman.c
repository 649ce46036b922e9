/* SPDX-License-Identifier: BSD-3-Clause */
/* Huffman streams of 8-bit symbols in the scratchpad, decoded or encoded; on a core with VarVE. */
#include <assasin.h>
#include <varve.h>

/** The arguments; varve_forms.py has the same structure. a: input, table, output. */
struct job {
    uint32_t kernel, n, a[6];
    uint32_t result;
};

static uintptr_t decode(uintptr_t count, const void *in, const struct varve_huffman *table, void *out) {
    VV_IN_HR(0, in, table, 8, count, VV_UNSIGNED);
    VV_OUT_FW(0, out, 8, VV_UNSIGNED);
    VV_BEGIN();
    VV_STRIPS(1) {
        vv_pack(vv_unpack(0), 0);
    }
    VV_END_IN(0);
    return VV_END_OUT(0);
}

static uintptr_t encode(uintptr_t count, const void *in, const struct varve_huffman *table, void *out) {
    VV_IN_FR(0, in, 8, count, VV_UNSIGNED);
    VV_OUT_HW(0, out, table, 8, VV_UNSIGNED);
    VV_BEGIN();
    VV_STRIPS(1) {
        vv_pack(vv_unpack(0), 0);
    }
    VV_END_IN(0);
    return VV_END_OUT(0);
}

int compute(void) {
    struct job *j = (struct job *)(ASSASIN_CORE_SPAD_BASE + SCOMP_SPAD_ARGS);
    const struct varve_huffman *table = (const struct varve_huffman *)j->a[1];
    j->result = (j->kernel ? encode : decode)(j->n, (const void *)j->a[0], table, (void *)j->a[2]);
    return 0;
}
