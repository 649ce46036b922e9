/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Page buffers: a block's room in DRAM with what it takes to move the block between host, DRAM and medium.
 */
#ifndef ASSASIN_FW_BUFFER_H
#define ASSASIN_FW_BUFFER_H

#include <stdint.h>

#include "ftl/ftl.h"
#include "platform/dma.h"
#include "platform/work.h"

struct page_buffer {
    struct node node;
    void *owner;
    uint32_t index; /**< the owner's */
    uint32_t addr;  /**< DRAM */
    uint32_t
        readers; /**< reads that send the host this buffer, and BUFFER_WRITTEN: the write that filled it has ended */
    struct page_buffer *source; /**< a read of a block in the write cache: whose buffer is sent */
    struct nand_op *op;
    union {
        struct dma_job job;
        struct ftl_write write;
    };
};
#define BUFFER_WRITTEN 0x80000000u

/** Memory of the TCM for the mount, BUFFER_SCRATCH bytes of it: the buffers' own, which nobody has before buffer_init.
 */
#define BUFFER_SCRATCH 16384u
void *buffer_scratch(void);
/** All are free. After the mount, which needs the operations. */
void buffer_init(void);
extern struct list buffers_free;
/** NULL when none is free. */
static inline struct page_buffer *buffer_get(void) {
    struct node *n = list_take(&buffers_free);
    return CONTAINER_OR_NULL(n, struct page_buffer, node);
}
/** Work that goes on when a buffer is put: bits of enum work. */
extern uint32_t buffer_wanted;
static inline void buffer_put(struct page_buffer *b) {
    list_push(&buffers_free, &b->node);
    work_pending |= buffer_wanted;
    buffer_wanted = 0;
}
/** Zeros in all of them; while nobody has one. */
void buffer_wipe(void);

#endif
