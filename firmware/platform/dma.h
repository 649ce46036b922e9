/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Host DMA: transfers between device memory and memory of the host.
 */
#ifndef ASSASIN_FW_DMA_H
#define ASSASIN_FW_DMA_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/list.h"
#include "platform/regs.h"

#define DMA_PAGE 4096u
/** Most bytes of an operation's host memory. */
#define DMA_MAX (128u * 1024u)
/** Entries of a list of host pages: DMA_MAX bytes at any offset. */
#define DMA_LIST_ENTRIES (DMA_MAX / DMA_PAGE + 1u)

/** An address of host memory in a structure of which there are many: aligned to words, so that it leaves no gaps. */
typedef uint64_t dma_address __attribute__((aligned(4)));

/** Host memory of one operation: a first part, and pages behind it. */
struct dma_pages {
    dma_address first;
    uint32_t first_bytes; /**< to the end of its page */
    dma_address second;   /**< second page when there is no list */
    uint64_t *list;       /**< second and further pages, NULL without a list */
};

struct dma_job;
typedef void (*dma_done_fn)(struct dma_job *job);

/** One transfer between device memory and an operation's host memory, or one host address. */
struct dma_job {
    struct node node;
    const struct dma_pages *pages; /**< NULL: `host` is the address */
    dma_address host;
    uint32_t off;  /**< offset in the operation's data */
    uint32_t dev;  /**< device address */
    uint32_t left; /**< bytes not yet pushed */
    bool to_host;
    bool error; /**< out: XDMA reported an error while it was in flight */
    dma_done_fn done;
    void *arg;
};

/** Bytes moved since power-on, but for what is not an operation's data. */
struct dma_counters {
    uint64_t to_host;
    uint64_t from_host;
};
extern struct dma_counters dma_counters;

/** Runs when XDMA has reported an error that is of no transfer here: a queue entry did not get through. */
extern void (*dma_queue_failed)(void);

void dma_init(void);
/** Set the Run bits of XDMA and the user interrupts' vectors: a host reset may have cleared them. */
void dma_start(void);
/** Transfers from the host that can be pushed at once. */
uint32_t dma_room(void);
/** Work that goes on when there is room again: bits of enum work. */
extern uint32_t dma_wanted;
/** Push a transfer of DMA_PAGE bytes from host address `host` to `dev`, for which there is room; of the job only `done`
 * and `arg` are set. Who calls it counts the bytes. */
void dma_fetch_page(struct dma_job *job, const dma_address *host, uint32_t dev);
/** Queue a transfer of job->left bytes; must not be 0. */
void dma_submit(struct dma_job *job);
/** Finish every transfer that the hardware has not taken yet, with `error` set; what it has taken ends as usual. */
void dma_cancel(void);
/** Handle what has finished, copies (copy.h) too. */
void dma_poll(void);

#endif
