/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the main loop has to go on with when nothing new has happened: a bit for each module that asks for it.
 */
#ifndef ASSASIN_FW_WORK_H
#define ASSASIN_FW_WORK_H

#include <stdbool.h>
#include <stdint.h>

/** Bits in the order in which the main loop calls the modules. */
enum work {
    WORK_TRIM = 1u << 0,        /**< a trim waits for a page of the log or for an operation */
    WORK_FTL = 1u << 1,         /**< a slice of an exclusive operation */
    WORK_IO = 1u << 2,          /**< reads and writes wait for page buffers */
    WORK_RANGES = 1u << 3,      /**< Dataset Management waits for a page buffer */
    WORK_COMPARE = 1u << 4,     /**< Compare waits for page buffers */
    WORK_MEMORY = 1u << 5,      /**< a slice of a fill or copy in local memory */
    WORK_SESSION = 1u << 6,     /**< a queue's deletion, a reset or a shutdown waits for commands to end */
    WORK_POST = 1u << 7,        /**< completions wait for room in the front end */
    WORK_FETCH = 1u << 8,       /**< a command in the front end waits for something of the firmware's */
    WORK_COLLECT = 1u << 9,     /**< collection can go on */
    WORK_ERASE = 1u << 10,      /**< erases wait for operations */
    WORK_RESIDUE = 1u << 11,    /**< a slice of the search for what a victim still holds */
    WORK_TEST = 1u << 12,       /**< a device self-test */
    WORK_CHECKPOINT = 1u << 14, /**< a slice of a checkpoint */
    WORK_DISCARD = 1u << 13,    /**< a slice of uncommitted pages that are given up */
    WORK_CHECK = 1u << 15,      /**< a slice of the check of a request */
    WORK_PARITY = 1u << 16,     /**< parity pages, or reads that are rebuilt, wait for operations */
};
/** Work that can go on at once, whatever happens outside: the processor does not sleep. */
#define WORK_AWAKE                                                                                                     \
    (WORK_FTL | WORK_MEMORY | WORK_COLLECT | WORK_RESIDUE | WORK_TEST | WORK_DISCARD | WORK_CHECKPOINT | WORK_CHECK)

extern uint32_t work_pending;

static inline void work_set(enum work bit) {
    work_pending |= bit;
}
static inline void work_clear(enum work bit) {
    work_pending &= ~(uint32_t)bit;
}
static inline void work_put(enum work bit, bool pending) {
    work_pending = pending ? work_pending | bit : work_pending & ~(uint32_t)bit;
}

#endif
