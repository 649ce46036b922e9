/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/buffer.h"

#include <assert.h>
#include <string.h>

#include "platform/fill.h"
#include "platform/work.h"

#define BUFFERS 384u

static struct page_buffer buffers[BUFFERS];
static_assert(BUFFERS * PAGE_SIZE <= DRAM_BUFFERS_SIZE, "page buffers");
static struct list free_buffers;
uint32_t buffer_wanted;

static_assert(BUFFER_SCRATCH <= sizeof buffers, "the mount's memory");

void *buffer_scratch(void) {
    return buffers;
}

void buffer_init(void) {
    memset(buffers, 0, sizeof buffers);
    free_buffers = (struct list){0};
    buffer_wanted = 0;
    for (uint32_t i = BUFFERS; i-- > 0;) {
        buffers[i].addr = DRAM_BUFFERS + i * PAGE_SIZE;
        buffers[i].op = nand_op_get();
        buffer_put(&buffers[i]);
    }
}

struct page_buffer *buffer_get(void) {
    struct node *n = list_take(&free_buffers);
    return CONTAINER_OR_NULL(n, struct page_buffer, node);
}

void buffer_put(struct page_buffer *b) {
    list_push(&free_buffers, &b->node);
    work_pending |= buffer_wanted;
    buffer_wanted = 0;
}

void buffer_wipe(void) {
    for (uint32_t i = 0; i < BUFFERS * PAGE_SIZE; i += DRAM_ZERO_SIZE) {
        dram_zero(DRAM_BUFFERS + i, DRAM_ZERO_SIZE);
    }
}
