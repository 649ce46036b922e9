/* SPDX-License-Identifier: BSD-3-Clause */
/* Task decomposition: a table over several extents becomes pieces that the cores work on at the same time. */
#include "split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static int by_lba(const void *a, const void *b) {
    const struct assasin_extent *x = a, *y = b;
    return (x->lba > y->lba) - (x->lba < y->lba);
}

int extents_overlap(const struct assasin_extent *extents, uint32_t count, uint64_t *lba) {
    struct assasin_extent *sorted = malloc((count ? count : 1) * sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    if (count)
        memcpy(sorted, extents, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), by_lba);
    int rc = 0;
    for (uint32_t i = 1; i < count && !rc; i++)
        if (sorted[i].lba - sorted[i - 1].lba < sorted[i - 1].count) {
            *lba = sorted[i].lba;
            rc = -EEXIST;
        }
    free(sorted);
    return rc;
}

/* Walks through the extents, cutting off `blocks` blocks at a time. */
struct cutter {
    const struct assasin_extent *extents;
    uint32_t at, count;
    uint64_t offset; /* blocks of extents[at] already used */
    struct assasin_extent *parts;
    uint32_t room, used;
};

static void cut(struct cutter *c, uint64_t blocks) {
    while (blocks && c->at < c->count) {
        uint64_t left = c->extents[c->at].count - c->offset, take = left < blocks ? left : blocks;
        if (take) {
            if (c->parts && c->used < c->room)
                c->parts[c->used] = (struct assasin_extent){c->extents[c->at].lba + c->offset, (uint32_t)take};
            c->used++;
        }
        c->offset += take;
        blocks -= take;
        if (c->offset == c->extents[c->at].count) {
            c->at++;
            c->offset = 0;
        }
    }
}

/* Checks the arguments of both kinds. \return 0 or what assasin_split() says. */
static int check(const struct assasin_extent *extents, uint32_t extent_count, uint64_t bytes, uint32_t unit,
                 uint32_t block_bytes, uint32_t pieces) {
    if (bytes == 0 || unit == 0 || block_bytes == 0 || pieces == 0)
        return -EINVAL;
    uint64_t held = 0;
    for (uint32_t i = 0; i < extent_count; i++)
        held += (uint64_t)extents[i].count * block_bytes;
    if (held < bytes)
        return -ERANGE;
    uint64_t overlap;
    return extents_overlap(extents, extent_count, &overlap);
}

int assasin_split(const struct assasin_extent *extents, uint32_t extent_count, uint64_t bytes, uint32_t record_bytes,
                  uint32_t block_bytes, uint32_t pieces, struct assasin_input *inputs, struct assasin_extent *parts,
                  uint32_t *part_count) {
    int rc = check(extents, extent_count, bytes, record_bytes, block_bytes, pieces);
    if (rc)
        return rc;
    /* A piece is a whole number of steps: the least length that ends at a record and a block at once. */
    uint64_t step = (uint64_t)record_bytes / gcd(record_bytes, block_bytes) * block_bytes;
    uint64_t steps = (bytes + step - 1) / step;
    uint32_t made = steps < pieces ? (uint32_t)steps : pieces;
    struct cutter c = {.extents = extents, .count = extent_count, .parts = parts, .room = parts ? *part_count : 0};
    uint64_t done = 0;
    for (uint32_t i = 0; i < made; i++) {
        /* The first steps % made pieces get one step more. */
        uint64_t length = (steps / made + (i < steps % made)) * step;
        if (length > bytes - done)
            length = bytes - done;
        uint32_t first = c.used;
        cut(&c, (length + block_bytes - 1) / block_bytes);
        inputs[i] = (struct assasin_input){.first_extent = first, .extent_count = c.used - first, .bytes = length};
        done += length;
    }
    *part_count = c.used;
    return parts && c.used > c.room ? -ENOSPC : (int)made;
}

int assasin_split_text(const struct assasin_extent *extents, uint32_t extent_count, uint64_t bytes, uint32_t overlap,
                       uint32_t block_bytes, uint32_t pieces, struct assasin_input *inputs,
                       struct assasin_extent *parts, uint32_t *part_count, uint64_t *own_bytes) {
    int rc = check(extents, extent_count, bytes, overlap, block_bytes, pieces);
    if (rc)
        return rc;
    if (overlap % block_bytes)
        return -EINVAL;
    uint64_t steps = (bytes + block_bytes - 1) / block_bytes, own = (steps + pieces - 1) / pieces;
    uint32_t made = (uint32_t)((steps + own - 1) / own), used = 0, room = parts ? *part_count : 0;
    for (uint32_t i = 0; i < made; i++) {
        uint64_t begin = i * own * block_bytes, length = own * block_bytes + overlap;
        if (length > bytes - begin)
            length = bytes - begin;
        /* Each stream is cut from the whole table: the parts overlap. */
        struct cutter skip = {.extents = extents, .count = extent_count};
        cut(&skip, i * own);
        struct cutter c = {.extents = extents,
                           .at = skip.at,
                           .offset = skip.offset,
                           .count = extent_count,
                           .parts = parts,
                           .room = room,
                           .used = used};
        cut(&c, (length + block_bytes - 1) / block_bytes);
        inputs[i] = (struct assasin_input){.first_extent = used, .extent_count = c.used - used, .bytes = length};
        used = c.used;
    }
    *part_count = used;
    *own_bytes = own * block_bytes;
    return parts && used > room ? -ENOSPC : (int)made;
}
