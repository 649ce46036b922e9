/* SPDX-License-Identifier: BSD-3-Clause */
#include "dma.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DMA_INSIDE UINT32_MAX

int dma_init(struct dma *dma, void *memory, size_t bytes, uint64_t bus) {
    *dma = (struct dma){.memory = memory, .bus = bus, .pages = (uint32_t)(bytes / DMA_PAGE)};
    dma->run = calloc(dma->pages, sizeof(*dma->run));
    return dma->run ? 0 : -ENOMEM;
}

void dma_runs(struct dma *dma, size_t bytes, const uint64_t *bus) {
    dma->bus_pages = (uint32_t)(bytes / DMA_PAGE);
    dma->bus_run = bus;
}

/* Whether page i begins a run of addresses that does not follow the one before it. */
static bool broken(const struct dma *dma, uint32_t i) {
    if (!dma->bus_pages || i % dma->bus_pages || i == 0)
        return false;
    const uint64_t *run = dma->bus_run + i / dma->bus_pages;
    return run[0] != run[-1] + (uint64_t)dma->bus_pages * DMA_PAGE;
}

void dma_destroy(struct dma *dma) {
    free(dma->run);
    dma->run = NULL;
}

void *dma_alloc(struct dma *dma, size_t bytes) {
    uint64_t need = (bytes + DMA_PAGE - 1) / DMA_PAGE;
    if (need == 0 || need > dma->pages)
        return NULL;
    uint32_t free_pages = 0;
    for (uint32_t i = 0; i < dma->pages;) {
        if (dma->run[i]) {
            i += dma->run[i];
            free_pages = 0;
            continue;
        }
        if (broken(dma, i))
            free_pages = 0;
        i++;
        if (++free_pages < need)
            continue;
        uint32_t first = i - (uint32_t)need;
        for (uint32_t p = first; p < i; p++)
            dma->run[p] = DMA_INSIDE;
        dma->run[first] = (uint32_t)need;
        return memset(dma->memory + (size_t)first * DMA_PAGE, 0, need * DMA_PAGE);
    }
    return NULL;
}

void dma_free(struct dma *dma, void *memory) {
    if (!memory)
        return;
    size_t first = (size_t)((uint8_t *)memory - dma->memory) / DMA_PAGE;
    uint32_t pages = dma->run[first];
    memset(dma->run + first, 0, pages * sizeof(*dma->run));
}

uint64_t dma_address(const struct dma *dma, const void *memory, size_t bytes) {
    uintptr_t base = (uintptr_t)dma->memory, at = (uintptr_t)memory, size = (uintptr_t)dma->pages * DMA_PAGE;
    if (at < base || at - base >= size || bytes > size - (at - base))
        return UINT64_MAX;
    if (!dma->bus_pages)
        return dma->bus + (at - base);
    uintptr_t run_bytes = (uintptr_t)dma->bus_pages * DMA_PAGE;
    return dma->bus_run[(at - base) / run_bytes] + (at - base) % run_bytes;
}
