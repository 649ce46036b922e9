/* SPDX-License-Identifier: BSD-3-Clause */
/* PRPs against the definition: walking them must visit exactly the bytes of the buffer. */
#include "prp.h"

#include "check.h"
#include "dma.h"

#include <errno.h>

#define LIST_BUS 0x700000000ull

static uint64_t list[DMA_PAGE / 8];

/* The byte addresses that a controller visits, as (first, count) runs merged; returns bytes covered when they are
 * contiguous from bus. */
static size_t walk(uint64_t bus, size_t bytes, const uint64_t prp[2]) {
    size_t done = 0;
    uint64_t pages = (bus % DMA_PAGE + bytes + DMA_PAGE - 1) / DMA_PAGE;
    for (uint64_t i = 0; i < pages; i++) {
        uint64_t at = i == 0 ? prp[0] : pages == 2 ? prp[1] : list[i - 1];
        CHECK(i == 0 || at % DMA_PAGE == 0);
        CHECK(at == bus + done);
        size_t room = DMA_PAGE - at % DMA_PAGE;
        done += room < bytes - done ? room : bytes - done;
    }
    return done;
}

static void covers_every_length_and_offset(void) {
    for (uint64_t offset = 0; offset < DMA_PAGE; offset += 4)
        for (size_t bytes = 1; bytes < 5 * DMA_PAGE; bytes += 509) {
            uint64_t prp[2], bus = 0x123400000ull + offset;
            CHECK(prp_build(bus, bytes, list, LIST_BUS, prp) == 0);
            CHECK(walk(bus, bytes, prp) == bytes);
            uint64_t pages = (offset + bytes + DMA_PAGE - 1) / DMA_PAGE;
            CHECK(pages > 1 || prp[1] == 0);
            CHECK(pages <= 2 || prp[1] == LIST_BUS);
        }
}

static void limits(void) {
    uint64_t prp[2];
    CHECK(prp_build(0x1000, 0, list, LIST_BUS, prp) == -EINVAL);
    CHECK(prp_build(0x1002, 16, list, LIST_BUS, prp) == -EINVAL);
    CHECK(prp_build(0x1000, 513 * (size_t)DMA_PAGE, list, LIST_BUS, prp) == 0);
    CHECK(prp_build(0x1000, 513 * (size_t)DMA_PAGE + 1, list, LIST_BUS, prp) == -EMSGSIZE);
    CHECK(prp_build(0x1004, 513 * (size_t)DMA_PAGE, list, LIST_BUS, prp) == -EMSGSIZE);
}

int main(void) {
    RUN(covers_every_length_and_offset);
    RUN(limits);
    return 0;
}
