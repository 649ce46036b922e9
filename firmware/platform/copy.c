/* SPDX-License-Identifier: BSD-3-Clause */
#include "platform/copy.h"

#include <stdbool.h>
#include <string.h>

#include "platform/dram.h"

/** Of the hardware's queue, and of the list before it. */
#define DEPTH  16u
#define COPIES 256u

/** Those that wait for a place in the hardware's queue have their four registers in DRAM_COPY_QUEUE. */
#define WAITING 16u

static struct {
    struct {
        uint32_t arg;
        copy_done_fn done;
    } ring[COPIES];
    uint32_t queued, pushed, done;
} copies;

void copy_init(void) {
    memset(&copies, 0, sizeof copies);
    copies.queued = copies.pushed = copies.done = hdma_read(HDMA_COPY_DONE);
}

static void push(uint32_t src, uint32_t dst, uint32_t pos, uint32_t len) {
    copies.pushed++;
    hdma_write(HDMA_COPY_SRC, src);
    hdma_write(HDMA_COPY_DST, dst);
    hdma_write(HDMA_COPY_POS, pos);
    hdma_write(HDMA_COPY_PUSH, len);
}

/** Push those that wait while the hardware has places. */
static void push_waiting(void) {
    while (copies.pushed != copies.queued && copies.pushed - copies.done < DEPTH) {
        uint32_t at = DRAM_COPY_QUEUE + copies.pushed % COPIES * WAITING;
        push(hal_read(at), hal_read(at + 4), hal_read(at + 8), hal_read(at + 12));
    }
}

uint32_t copy_space(void) {
    return COPIES - (copies.queued - copies.done);
}

void copy_submit(uint32_t src, uint32_t dst, uint32_t pos, uint32_t len, copy_done_fn done, uint32_t arg) {
    bool at_once = copies.pushed == copies.queued && copies.pushed - copies.done < DEPTH;
    uint32_t i = copies.queued++ % COPIES;
    copies.ring[i].done = done;
    copies.ring[i].arg = arg;
    if (at_once) {
        push(src, dst, pos, len);
        return;
    }
    uint32_t at = DRAM_COPY_QUEUE + i * WAITING;
    hal_write(at, src);
    hal_write(at + 4, dst);
    hal_write(at + 8, pos);
    hal_write(at + 12, len);
}

void copy_collect(uint32_t done) {
    if (copies.done == done) {
        return;
    }
    while (copies.done != done) {
        uint32_t i = copies.done++ % COPIES;
        copies.ring[i].done(copies.ring[i].arg);
    }
    push_waiting();
}
