/* SPDX-License-Identifier: BSD-3-Clause */
#include "platform/copy.h"

#include <string.h>

/** Of the hardware's queue, and of the list before it. */
#define DEPTH  16u
#define COPIES 256u

static struct {
    struct {
        uint32_t src, dst, pos, len, arg;
        copy_done_fn done;
    } ring[COPIES];
    uint32_t queued, pushed, done;
} copies;

void copy_init(void) {
    memset(&copies, 0, sizeof copies);
    copies.queued = copies.pushed = copies.done = hdma_read(HDMA_COPY_DONE);
}

static void push(void) {
    while (copies.pushed != copies.queued && copies.pushed - copies.done < DEPTH) {
        uint32_t i = copies.pushed++ % COPIES;
        hdma_write(HDMA_COPY_SRC, copies.ring[i].src);
        hdma_write(HDMA_COPY_DST, copies.ring[i].dst);
        hdma_write(HDMA_COPY_POS, copies.ring[i].pos);
        hdma_write(HDMA_COPY_PUSH, copies.ring[i].len);
    }
}

uint32_t copy_space(void) {
    return COPIES - (copies.queued - copies.done);
}

void copy_submit(uint32_t src, uint32_t dst, uint32_t pos, uint32_t len, copy_done_fn done, uint32_t arg) {
    uint32_t i = copies.queued++ % COPIES;
    copies.ring[i].src = src;
    copies.ring[i].dst = dst;
    copies.ring[i].pos = pos;
    copies.ring[i].len = len;
    copies.ring[i].done = done;
    copies.ring[i].arg = arg;
    push();
}

void copy_collect(uint32_t done) {
    if (copies.done == done) {
        return;
    }
    while (copies.done != done) {
        uint32_t i = copies.done++ % COPIES;
        copies.ring[i].done(copies.ring[i].arg);
    }
    push();
}
