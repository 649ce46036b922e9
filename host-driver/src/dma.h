/* SPDX-License-Identifier: BSD-3-Clause */
/** \file Page allocator over the memory that the drive can reach. */
#ifndef ASSASIN_SRC_DMA_H
#define ASSASIN_SRC_DMA_H

#include <stddef.h>
#include <stdint.h>

/** Unit of allocation; also the NVMe memory page (CC.MPS = 0). */
#define DMA_PAGE 4096u

/** The allocator. The drive sees the memory at one run of addresses, or at several of equal length, and then no
 * allocation reaches over the end of one into another that does not follow it. `run[i]` is the length in pages of the
 * allocation that starts at page i, DMA_INSIDE within one, 0 where free. */
struct dma {
    uint8_t *memory;
    uint64_t bus;
    uint32_t pages;
    uint32_t *run;
    uint32_t bus_pages;      /**< pages of a run of addresses; 0: all are one run from `bus` on */
    const uint64_t *bus_run; /**< where each run begins */
};

/** \return 0 or -ENOMEM. */
int dma_init(struct dma *dma, void *memory, size_t bytes, uint64_t bus);
/** Before anything is allocated: the drive sees each `bytes` bytes (multiple of 4096) at an address of their own. */
void dma_runs(struct dma *dma, size_t bytes, const uint64_t *bus);
void dma_destroy(struct dma *dma);
/** \return zeroed pages, or NULL. */
void *dma_alloc(struct dma *dma, size_t bytes);
void dma_free(struct dma *dma, void *memory);
/** \return the bus address of `memory`, UINT64_MAX when [memory, memory + bytes) is not inside. */
uint64_t dma_address(const struct dma *dma, const void *memory, size_t bytes);

#endif
