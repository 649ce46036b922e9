/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/buffer.h"

#include <assert.h>
#include <string.h>

#include "platform/fill.h"

#define BUFFERS 384u

static struct page_buffer buffers[BUFFERS];
static_assert(BUFFERS * PAGE_SIZE <= DRAM_BUFFERS_SIZE, "page buffers");
struct list buffers_free;
uint32_t buffer_wanted;

static_assert(BUFFER_SCRATCH <= sizeof buffers, "the mount's memory");

void *buffer_scratch(void) {
    return buffers;
}

void buffer_init(void) {
    memset(buffers, 0, sizeof buffers);
    buffers_free = (struct list){0};
    buffer_wanted = 0;
    for (uint32_t i = BUFFERS; i-- > 0;) {
        buffers[i].addr = DRAM_BUFFERS + i * PAGE_SIZE;
        buffers[i].op = nand_op_get();
        buffer_put(&buffers[i]);
    }
}

void buffer_wipe(void) {
    for (uint32_t i = 0; i < BUFFERS * PAGE_SIZE; i += DRAM_ZERO_SIZE) {
        dram_zero(DRAM_BUFFERS + i, DRAM_ZERO_SIZE);
    }
}
