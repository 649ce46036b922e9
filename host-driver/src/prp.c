/* SPDX-License-Identifier: BSD-3-Clause */
#include "prp.h"

#include "dma.h"

#include <errno.h>

#define LIST_ENTRIES (DMA_PAGE / sizeof(uint64_t))

int prp_build(uint64_t bus, size_t bytes, uint64_t *list, uint64_t list_bus, uint64_t prp[2]) {
    if (bytes == 0 || bus % 4)
        return -EINVAL;
    uint64_t first_page = bus / DMA_PAGE, last_page = (bus + bytes - 1) / DMA_PAGE;
    uint64_t further = last_page - first_page;
    prp[0] = bus;
    prp[1] = 0;
    if (further == 1)
        prp[1] = last_page * DMA_PAGE;
    if (further <= 1)
        return 0;
    if (further > LIST_ENTRIES)
        return -EMSGSIZE;
    for (uint64_t i = 0; i < further; i++)
        list[i] = (first_page + 1 + i) * DMA_PAGE;
    prp[1] = list_bus;
    return 0;
}
