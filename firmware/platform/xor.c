// SPDX-License-Identifier: BSD-3-Clause
#include "platform/xor.h"

#include <string.h>

#include "platform/regs.h"

/** Sources that are added at once: with the sum's load and its store they fit the engine's queue. */
#define BATCH 30u

static struct {
    struct list sums;    /**< those that wait */
    struct xor_sum *sum; /**< under way; NULL: none */
    struct list batch;   /**< what is added to it */
    uint32_t done;       /**< stores */
} engine;

void xor_init(void) {
    memset(&engine, 0, sizeof engine);
    engine.done = hdma_read(HDMA_PARITY_DONE);
}

static void start(void) {
    struct node *first = list_take(&engine.sums);
    if (first == NULL) {
        return;
    }
    struct xor_sum *sum = CONTAINER(first, struct xor_sum, node);
    engine.sum = sum;
    if (!sum->blank) {
        hdma_write(HDMA_PARITY_LOAD, sum->at);
    }
    for (uint32_t n = 0; n < BATCH && !list_empty(&sum->waiting); n++) {
        struct xor_source *source = CONTAINER(list_take(&sum->waiting), struct xor_source, node);
        hdma_write(HDMA_PARITY_LOAD, source->from & ~XOR_AWAITED);
        list_put(&engine.batch, &source->node);
    }
    hdma_write(HDMA_PARITY_STORE, sum->at);
    sum->blank = false;
    sum->queued = !list_empty(&sum->waiting);
    if (sum->queued) {
        /* Who waits for a sum waits for all of it, and each has an end: one after the other they end soonest. */
        list_push(&engine.sums, &sum->node);
    }
}

void xor_add(struct xor_sum *sum, struct xor_source *source, uint32_t from) {
    source->from = from;
    list_put(&sum->waiting, &source->node);
    if (!sum->queued) {
        sum->queued = true;
        list_put(&engine.sums, &sum->node);
    }
    if (engine.sum == NULL) {
        start();
    }
}

bool xor_busy(const struct xor_sum *sum) {
    return sum->queued || engine.sum == sum;
}

void xor_poll(void) {
    if (engine.sum == NULL || hdma_read(HDMA_PARITY_DONE) == engine.done) {
        return;
    }
    struct xor_sum *sum = engine.sum;
    engine.done++;
    engine.sum = NULL;
    struct list batch = list_take_all(&engine.batch);
    struct list awaited = {0};
    start();
    while (!list_empty(&batch)) {
        struct xor_source *source = CONTAINER(list_take(&batch), struct xor_source, node);
        if ((source->from & XOR_AWAITED) != 0) {
            list_put(&awaited, &source->node);
        }
        source->from = 0;
    }
    if (sum->added != NULL) {
        sum->added(sum, &awaited);
    }
}
