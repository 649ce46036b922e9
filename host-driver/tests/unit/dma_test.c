/* SPDX-License-Identifier: BSD-3-Clause */
/* The DMA allocator under random load: allocations are zeroed, aligned, disjoint and inside; freed memory comes back.
 */
#include "dma.h"

#include "check.h"

#include <stdbool.h>
#include <string.h>

#define PAGES 64u
#define BUS   0x100000000ull

static _Alignas(DMA_PAGE) uint8_t memory[PAGES * DMA_PAGE];

static bool all(const uint8_t *p, size_t bytes, uint8_t value) {
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != value)
            return false;
    return true;
}

static void random_load(void) {
    struct dma dma;
    struct {
        uint8_t *at;
        size_t bytes;
    } held[32] = {0};
    CHECK(dma_init(&dma, memory, sizeof(memory), BUS) == 0);
    uint32_t seed = 1;
    for (unsigned round = 0; round < 20000; round++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned i = seed >> 16 & 31;
        if (held[i].at) {
            CHECK(all(held[i].at, held[i].bytes, (uint8_t)(i + 1)));
            dma_free(&dma, held[i].at);
            held[i].at = NULL;
            continue;
        }
        size_t bytes = (seed >> 8) % (6 * DMA_PAGE) + 1;
        uint8_t *p = dma_alloc(&dma, bytes);
        if (!p)
            continue;
        CHECK((p - memory) % DMA_PAGE == 0);
        CHECK(dma_address(&dma, p, bytes) == BUS + (uint64_t)(p - memory));
        CHECK(all(p, bytes, 0));
        memset(p, (int)(i + 1), bytes);
        held[i].at = p;
        held[i].bytes = bytes;
    }
    for (unsigned i = 0; i < 32; i++)
        dma_free(&dma, held[i].at);
    uint8_t *whole = dma_alloc(&dma, sizeof(memory));
    CHECK(whole == memory);
    CHECK(dma_alloc(&dma, 1) == NULL);
    dma_destroy(&dma);
}

static void addresses_outside(void) {
    struct dma dma;
    CHECK(dma_init(&dma, memory, sizeof(memory), BUS) == 0);
    int elsewhere;
    CHECK(dma_address(&dma, &elsewhere, 4) == UINT64_MAX);
    CHECK(dma_address(&dma, memory + sizeof(memory) - 4, 8) == UINT64_MAX);
    CHECK(dma_address(&dma, memory + sizeof(memory) - 8, 8) == BUS + sizeof(memory) - 8);
    CHECK(dma_alloc(&dma, 0) == NULL);
    CHECK(dma_alloc(&dma, sizeof(memory) + 1) == NULL);
    dma_destroy(&dma);
}

/* Four runs of 16 pages; the third follows the second, the others lie apart. */
static void runs_of_addresses(void) {
    static const uint64_t runs[] = {0x700000, 0x100000, 0x110000, 0x900000};
    struct dma dma;
    CHECK(dma_init(&dma, memory, sizeof(memory), 0) == 0);
    dma_runs(&dma, 16 * DMA_PAGE, runs);
    uint8_t *p = dma_alloc(&dma, 10 * DMA_PAGE), *q = dma_alloc(&dma, 10 * DMA_PAGE);
    CHECK(p == memory && dma_address(&dma, p, 10 * DMA_PAGE) == 0x700000);
    CHECK(q == memory + 16 * DMA_PAGE && dma_address(&dma, q, 1) == 0x100000);
    uint8_t *across = dma_alloc(&dma, 20 * DMA_PAGE);
    CHECK(across == memory + 26 * DMA_PAGE && dma_address(&dma, across, 20 * DMA_PAGE) == 0x10A000);
    CHECK(dma_address(&dma, across + 19 * DMA_PAGE, DMA_PAGE) == 0x11D000);
    uint8_t *rest = dma_alloc(&dma, 16 * DMA_PAGE);
    CHECK(rest == memory + 48 * DMA_PAGE && dma_address(&dma, rest, 1) == 0x900000);
    CHECK(dma_alloc(&dma, 7 * DMA_PAGE) == NULL);
    CHECK(dma_alloc(&dma, 6 * DMA_PAGE) == memory + 10 * DMA_PAGE);
    dma_destroy(&dma);
}

int main(void) {
    RUN(random_load);
    RUN(addresses_outside);
    RUN(runs_of_addresses);
    return 0;
}
