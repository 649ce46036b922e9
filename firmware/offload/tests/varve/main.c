/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one of kernels.c on a core: the piece's arguments say which, and where its data lie in the scratchpad. */
#include <assasin.h>

/** The arguments; varve_forms.py has the same structure. */
struct job {
    uint32_t kernel, n, a[6];
    uint32_t result;
};

uintptr_t q03c(uintptr_t, const void *, const void *, void *);
uintptr_t filter3(uintptr_t, const void *, const void *, const void *, void *, void *);
uintptr_t raid5(uintptr_t, const void *, const void *, const void *, const void *, void *);
uintptr_t bitpack(uintptr_t, const void *, unsigned, void *, unsigned);
uintptr_t narrow(uintptr_t, const void *, void *, void *);
uintptr_t widen(uintptr_t, const void *, const void *, void *);
uintptr_t operate(uintptr_t, const void *, const void *, void *, unsigned, unsigned);
void dense5(uintptr_t, const void *, const int32_t *, int32_t *);

int compute(void) {
    struct job *j = (struct job *)(ASSASIN_CORE_SPAD_BASE + SCOMP_SPAD_ARGS);
    const uint32_t *a = j->a;
#if defined(VARVE_FULL) || defined(VARVE_PUP)
    __asm__ volatile("csrr zero, 0x845"); /* VVCFG: traps on a core without VarVE */
#endif
    switch (j->kernel) {
    case 0:
        j->result = q03c(j->n, (void *)a[0], (void *)a[1], (void *)a[2]);
        return 0;
    case 1:
        j->result = filter3(j->n, (void *)a[0], (void *)a[1], (void *)a[2], (void *)a[3], (void *)a[4]);
        return 0;
    case 2:
        j->result = raid5(j->n, (void *)a[0], (void *)a[1], (void *)a[2], (void *)a[3], (void *)a[4]);
        return 0;
    case 3:
        j->result = bitpack(j->n, (void *)a[0], a[1], (void *)a[2], a[3]);
        return 0;
    case 4:
        j->result = narrow(j->n, (void *)a[0], (void *)a[1], (void *)a[2]);
        return 0;
    case 5:
        j->result = widen(j->n, (void *)a[0], (void *)a[1], (void *)a[2]);
        return 0;
    case 6:
        dense5(j->n, (void *)a[0], (void *)a[1], (void *)a[2]);
        return 0;
    case 7:
        j->result = operate(j->n, (void *)a[0], (void *)a[1], (void *)a[2], a[3], a[4]);
        return 0;
    default:
        return 1;
    }
}
