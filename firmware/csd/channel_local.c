/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CHANNEL_LOCAL requests: every input stream's pages sorted by the channel that they lie on, once, when the request
 * starts. Their superblocks are pinned until it ends, whatever the map says by then.
 */
#include "csd/scomp.h"

/* A quarter of the memory is for the lists of pages, a quarter for their blocks, half for the superblocks that are
 * pinned: one page of each names it. */
#define LISTS     DRAM_LOCAL
#define LISTS_END (DRAM_LOCAL + LOCAL_NAMES)
#define PINS      (DRAM_LOCAL + DRAM_LOCAL_SIZE / 2)
#define PINS_MAX  (DRAM_LOCAL_SIZE / 2 / 8)

static struct {
    bool busy; /**< one request at a time; also until its pages are given up */
    uint32_t pinned_block;
    struct ftl_commit pins;
} local;

static void pin(uint32_t ppa) {
    uint32_t block = ppa_block(ppa);
    if (local.pins.count > 0 && block == local.pinned_block) {
        return;
    }
    uint32_t entry = PINS + local.pins.count++ * 8;
    hal_write(entry, 0);
    hal_write(entry + 4, ppa);
    superblock_pin(block, 1);
    local.pinned_block = block;
}

/** Put the pages of input stream `s` into lists of `room` entries each, from DRAM `lists` on. False when they do not
 * fit. */
static bool sort(const struct request *r, uint32_t s, uint32_t lists, uint32_t room) {
    uint32_t entry = request_input(r, 0, s);
    uint32_t extent = r->extent_table + hal_read(entry) * EXTENT_BYTES;
    uint64_t bytes = hal_read(entry + 8) | (uint64_t)hal_read(entry + 12) << 32;
    uint32_t pages = (uint32_t)((bytes + PAGE_SIZE - 1) >> PAGE_LOG2);
    uint32_t count[NAND_MAX_CHANNELS] = {0};
    uint32_t lba = 0;
    uint32_t left = 0;
    uint32_t last = 0;
    if (pages > PINS_MAX - local.pins.count) {
        return false;
    }
    for (uint32_t i = 0; i < pages; i++, lba++, left--) {
        if (left == 0) {
            lba = hal_read(extent);
            left = hal_read(extent + 8);
            extent += EXTENT_BYTES;
        }
        uint32_t ppa = map_get(lba);
        last = ppa != 0 && nand_has_way(ppa) ? ppa >> 28 : i % nand_geo.channels;
        if (count[last] == room) {
            return false;
        }
        uint32_t entry = lists + (last * room + count[last]++) * 4;
        hal_write(entry, ppa);
        hal_write(entry + LOCAL_NAMES, lba);
        if (ppa > MAP_LOST) {
            pin(ppa);
        }
    }
    uint32_t short_by = (uint32_t)(((uint64_t)pages << PAGE_LOG2) - bytes);
    for (uint32_t c = 0; c < r->pieces; c++) {
        uint32_t at = request_input(r, c, s);
        uint64_t n = ((uint64_t)count[c] << PAGE_LOG2) - (c == last ? short_by : 0);
        hal_write(at, lists + c * room * 4);
        hal_write(at + 8, (uint32_t)n);
        hal_write(at + 12, (uint32_t)(n >> 32));
    }
    return true;
}

static void given_up(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    (void)status;
    local.busy = false;
}

uint32_t local_prepare(struct request *r, uint32_t *where) {
    if (local.busy) {
        return REFUSED(NO_RESOURCES);
    }
    local.busy = true;
    r->local = true;
    local.pins = (struct ftl_commit){.x.done = given_up, .list = PINS};
    uint32_t room = (LISTS_END - LISTS) / 4 / (r->streams_in * nand_geo.channels);
    for (uint32_t s = 0; s < r->streams_in; s++) {
        if (!sort(r, s, LISTS + s * nand_geo.channels * room * 4, room)) {
            *where = request_input(r, 0, s) + 8 - r->data;
            return REFUSED(BAD_REQUEST);
        }
    }
    return 0;
}

void local_release(struct request *r) {
    if (!r->local) {
        return;
    }
    r->local = false;
    if (local.pins.count > 0) {
        ftl_discard(&local.pins);
    } else {
        local.busy = false;
    }
}
