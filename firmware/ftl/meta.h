/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Pages of metadata on their way to an area: two programs each. A page of which a copy fails is written again at
 * another place, as long as there is one.
 */
#ifndef ASSASIN_FW_META_H
#define ASSASIN_FW_META_H

#include <stdbool.h>
#include <stdint.h>

#include "media/nand.h"

/** Pages that can be in flight: others need descriptors, too. */
#define META_PAGES 32u
/** Places of the area that may be lost to failed programs in one checkpoint before it fails. */
#define META_TRIES 8u

struct meta_page {
    uint32_t tag;  /**< OOB word 0 */
    uint32_t data; /**< DRAM address */
    uint32_t
        ppa; /**< a copy that was written: where both were, the one that the page's number in its block says; 0: none */
    struct nand_op *ops[2];
    void (*done)(struct meta_page *p, bool ok);
    uint8_t index;     /**< the owner's */
    uint8_t in_flight; /**< copies */
    bool failed;       /**< .. a copy of this place has */
    bool any;          /**< .. a copy of this place was written */
};

/** A checkpoint begins. */
void meta_begin(void);
/** A page to be written. NULL: wait for others to end, or for descriptors. */
struct meta_page *meta_get(void);
void meta_put(struct meta_page *p);
/** Pages between the two. */
uint32_t meta_in_flight(void);
/** DRAM address of its buffer for a copy. */
uint32_t meta_buffer(const struct meta_page *p);
/** Write both copies; `done` runs at the end, at once when the area is full. */
void meta_write(struct meta_page *p, void (*done)(struct meta_page *p, bool ok));

#endif
