/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The parity engine: sums, by exclusive-or, of sectors in DRAM. It holds one sum at a time, so what is to be added to a
 * sum waits until the engine is free, and is then added together.
 */
#ifndef ASSASIN_FW_XOR_H
#define ASSASIN_FW_XOR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/list.h"

/** A sector that is to be added. Zero: it is not. */
struct xor_source {
    struct node node;
    uint32_t from; /**< DRAM address, 64-byte aligned, and XOR_AWAITED; 0: it has been added, the memory there may be
                      used again */
};
/** Somebody waits for the source to be added: `added` gets it. */
#define XOR_AWAITED 1u

struct xor_sum {
    struct node node;    /**< of those that wait for the engine */
    struct list waiting; /**< sources */
    uint32_t at;         /**< DRAM address of the sum, 64-byte aligned */
    bool blank;          /**< nothing has been added: the memory at `at` says nothing */
    bool queued;
    /** Some sources have been, of which those in `awaited` are XOR_AWAITED; NULL: nobody asks. */
    void (*added)(struct xor_sum *sum, struct list *awaited);
};

void xor_init(void);
/** Add what is at `from` to `sum`. */
void xor_add(struct xor_sum *sum, struct xor_source *source, uint32_t from);
/** Some sources of `sum` have not been added. */
bool xor_busy(const struct xor_sum *sum);
/** The engine may have ended something. */
void xor_poll(void);

#endif
