/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/tail.h"

#include <assert.h>

#include "ftl/area.h"
#include "ftl/ftl.h"
#include "ftl/meta.h"
#include "ftl/summary.h"
#include "platform/fill.h"

/** Instead of its page, of a tail that is not on the medium yet, and of one that holds nothing so far. */
#define UNWRITTEN 0xffffffffu
#define EMPTY     0xfffffffeu
/** Instead of the name of a chunk, of a page that is a copy of a trim record. */
#define TRIM 0xffffffffu
/** Where that page has the address of the record. */
#define TRIM_PPA_AT (PAGE_SIZE - 8u)
static_assert(8 + 8 * FTL_TRIM_RANGES <= TRIM_PPA_AT && TRIM_PPA_AT + 4 <= FTL_TRIM_CRC_AT, "trim records");
/** The page buffers of the host path are idle at boot. What is scanned lies before. */
#define BUFFER (DRAM_BUFFERS + 0x40000u)
static_assert(0x40000u + TAIL_MOST * PAGE_SIZE <= DRAM_BUFFERS_SIZE, "tails");

static struct {
    struct log_tail list[TAIL_MOST]; /**< those that were read, and behind them those of this mount */
    uint32_t count;
    uint32_t at; /**< the one that is being made; TAIL_MOST: none is */
    bool full;   /**< there would be more than the list takes */
    bool failed; /**< some was not written */
} tail;

uint32_t tail_chunk(void) {
    return summary.chunk != 0 ? summary.chunk : sb.pages < SUMMARY_MOST ? sb.pages : SUMMARY_MOST;
}

uint32_t tail_page(uint32_t i) {
    return BUFFER + i * PAGE_SIZE;
}

static uint32_t chunk_name(uint32_t n, uint32_t k) {
    return n << 16 | k;
}

uint32_t tail_find(uint32_t n, uint32_t k) {
    uint32_t i = 0;
    while (i < ckpt.log.tails && ckpt.log.tail[i].name != chunk_name(n, k)) {
        i++;
    }
    return i;
}

bool tail_names(uint32_t n) {
    uint32_t i = 0;
    while (i < ckpt.log.tails && ckpt.log.tail[i].name >> 16 != n) {
        i++;
    }
    return i < ckpt.log.tails;
}

void tail_init(void) {
    tail.count = ckpt.log.tails;
    for (uint32_t i = 0; i < tail.count; i++) {
        tail.list[i] = ckpt.log.tail[i];
    }
    tail.at = TAIL_MOST;
    tail.full = nand_geo.paired;
    tail.failed = false;
}

/** Add an entry. NULL: the list is full. */
static struct log_tail *add(uint32_t name, uint32_t ppa) {
    if (tail.full || tail.count == TAIL_MOST) {
        tail.full = true;
        tail.at = TAIL_MOST;
        return NULL;
    }
    struct log_tail *t = &tail.list[tail.count++];
    *t = (struct log_tail){.name = name, .ppa = ppa};
    return t;
}

void tail_begin(uint32_t n, uint32_t k, uint32_t first) {
    if (add(chunk_name(n, k), EMPTY) != NULL) {
        tail.at = tail.count - 1;
        uint32_t page = tail_page(tail.at);
        dram_zero(page, PAGE_SIZE);
        hal_write(page + SUMMARY_CHUNK * 4, k);
        hal_write(page + SUMMARY_FIRST * 4, first);
    }
}

void tail_note(uint32_t i, uint32_t oob0) {
    if (tail.at < TAIL_MOST) {
        tail.list[tail.at].ppa = UNWRITTEN;
        hal_write(tail_page(tail.at) + (SUMMARY_HEAD + i) * 4, ~oob0);
    }
}

void tail_end(void) {
    tail.at = TAIL_MOST;
}

static void copy(uint32_t to, uint32_t from) {
    for (uint32_t at = 0; at < PAGE_SIZE; at += 4) {
        hal_write(to + at, hal_read(from + at));
    }
}

void tail_trim(uint32_t ppa) {
    if (tail.at < TAIL_MOST && add(TRIM, UNWRITTEN) != NULL) {
        uint32_t page = tail_page(tail.count - 1);
        copy(page, DRAM_TRIM);
        hal_write(page + TRIM_PPA_AT, ppa);
    }
}

bool tail_trim_find(uint32_t ppa) {
    for (uint32_t i = 0; i < ckpt.log.tails; i++) {
        if (ckpt.log.tail[i].name == TRIM && hal_read(tail_page(i) + TRIM_PPA_AT) == ppa) {
            copy(DRAM_TRIM, tail_page(i));
            return true;
        }
    }
    return false;
}

void tail_stop(uint32_t n, uint32_t k) {
    while (tail.count > ckpt.log.tails && k > 0 && tail.list[tail.count - 1].name == chunk_name(n, k - 1) &&
           tail.list[tail.count - 1].ppa == EMPTY) {
        tail.count--;
        k--;
    }
    if (k * tail_chunk() < sb.pages) {
        add(chunk_name(n, k), 0);
    }
}

static void written(struct meta_page *p, bool ok) {
    tail.list[p->index].ppa = p->ppa;
    tail.failed |= !ok;
    meta_put(p);
}

bool tail_write(void) {
    if (tail.full || area_left() < tail.count + META_TRIES) {
        return false;
    }
    meta_begin();
    for (uint32_t i = ckpt.log.tails; i < tail.count; i++) {
        if (tail.list[i].ppa == 0) {
            continue;
        }
        struct meta_page *p;
        while ((p = meta_get()) == NULL) {
            nand_wait();
        }
        p->index = (uint8_t)i;
        p->tag = OOB_SUMMARY;
        p->data = tail_page(i);
        meta_write(p, written);
    }
    while (meta_in_flight() > 0) {
        nand_wait();
    }
    if (tail.failed) {
        return false;
    }
    for (uint32_t i = ckpt.log.tails; i < tail.count; i++) {
        ckpt.log.tail[i] = tail.list[i];
    }
    ckpt.log.tails = tail.count;
    return true;
}
