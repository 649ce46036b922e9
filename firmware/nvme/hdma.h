/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Host DMA and the DRAM-to-core copy engine.
 */
#ifndef ASSASIN_FW_HDMA_H
#define ASSASIN_FW_HDMA_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/regs.h"

#define PRP_PAGE 4096u
/** Entries of a fetched PRP list: a transfer of MDTS bytes at any offset. */
#define PRP_LIST_ENTRIES 33u

/** Host memory of one command, as its PRPs describe it. */
struct prp {
    uint64_t first;       /**< PRP1 */
    uint32_t first_bytes; /**< from PRP1 to the end of its page */
    uint64_t second;      /**< second page when there is no list */
    uint64_t *list;       /**< second and further pages, NULL without a list */
};

struct dma_job;
typedef void (*dma_done_fn)(struct dma_job *job);

/** One transfer between device memory and a command's host memory (or one raw host address). */
struct dma_job {
    struct dma_job *next;
    const struct prp *prp; /**< NULL: `host` is the address */
    uint64_t host;
    uint32_t off;  /**< offset in the command's data */
    uint32_t dev;  /**< device address */
    uint32_t left; /**< bytes not yet pushed */
    bool to_host;
    bool error; /**< out: XDMA reported an error while it was in flight */
    dma_done_fn done;
    void *arg;
};

/** Bytes moved since power-on. */
struct hdma_counters {
    uint64_t to_host;
    uint64_t from_host;
};
extern struct hdma_counters hdma_counters;

/** Transfers and copies in flight or queued. */
extern uint32_t hdma_outstanding;

void hdma_init(void);
/** Set the Run bits of XDMA and the user interrupts' vectors: a host reset may have cleared them. */
void hdma_start(void);
/** Queue a transfer of job->left bytes; must not be 0. */
void hdma_submit(struct dma_job *job);
/** Finish every transfer that the hardware has not taken yet, with `error` set; what it has taken ends as usual. */
void hdma_cancel(void);
/** Handle what has finished. */
void hdma_poll(void);

typedef void (*copy_done_fn)(uint32_t arg);

/** Free places in the copy list. */
uint32_t copy_space(void);
/** Queue a copy from DRAM `src` (64-byte aligned) to COPY_DST `dst` at stream position `pos`. Only with copy_space() >
 * 0. */
void copy_submit(uint32_t src, uint32_t dst, uint32_t pos, uint32_t len, copy_done_fn done, uint32_t arg);

#endif
