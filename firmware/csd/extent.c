/* SPDX-License-Identifier: BSD-3-Clause */
/* The extents of a request: ranges, sums, overlaps. */
#include "csd/check.h"
#include "csd/scomp.h"

/* Behind the request's data lie the sums of the blocks, then room to sort. */
#define SUMS_BYTES ((EXTENTS_MAX + 1u) * 8u)
_Static_assert(CSD_DATA_MAX + SUMS_BYTES + (EXTENTS_MAX - 5u) * 8u <= DRAM_REQUEST_STRIDE,
               "a request's head and its one stream take the place of at least five extents");

static uint32_t extent_at(const struct request *r, uint32_t i) {
    return r->extent_table + i * EXTENT_BYTES;
}

static uint32_t sum_at(const struct request *r, uint32_t i) {
    return r->data + CSD_DATA_MAX + i * 8;
}

static uint32_t sort_at(const struct request *r, uint32_t i) {
    return r->data + CSD_DATA_MAX + SUMS_BYTES + i * 8;
}

/** The reserved word of an extent, once it is known to be 0, holds where the run of ascending extents began, and from
 * bit RUN_REFUSED on how many extents there are up to the last one, of this and those before it, that the session may
 * not read: 0 when it may all. */
#define RUN_REFUSED 16u
#define RUN_START   0xffffu
_Static_assert(EXTENTS_MAX < RUN_START, "numbers of extents");
static uint32_t run_at(const struct request *r, uint32_t i) {
    return extent_at(r, i) + 12;
}

static void sum_write(const struct request *r, uint32_t i, uint64_t blocks) {
    hal_write(sum_at(r, i), (uint32_t)blocks);
    hal_write(sum_at(r, i) + 4, (uint32_t)(blocks >> 32));
}

uint32_t extent_check(const struct request *r, uint32_t count, uint32_t *where) {
    bool limited = session_limited(r->session);
    for (; check->i < count; check->i++) {
        if (check_pause(limited ? COST_LIMITED : COST_EXTENT)) {
            return CHECK_MORE;
        }
        uint32_t i = check->i;
        uint32_t at = extent_at(r, i);
        uint64_t lba = hal_read(at) | (uint64_t)hal_read(at + 4) << 32;
        uint32_t n = hal_read(at + 8);
        *where = at - r->data;
        if (n == 0) {
            return REFUSED(BAD_REQUEST);
        }
        if (lba >= ftl.lbas || n > ftl.lbas - lba) {
            return CSD_RANGE;
        }
        if (hal_read(at + 12) != 0) {
            *where += 12;
            return REFUSED(BAD_REQUEST);
        }
        check->run = lba < check->end ? i : check->run;
        check->end = lba + n;
        uint32_t at_lba;
        if (limited && session_refuses(r->session, (uint32_t)lba, n, SCOMP_ACCESS_READ, &at_lba)) {
            check->refused = i + 1;
        }
        hal_write(run_at(r, i), check->run | check->refused << RUN_REFUSED);
        sum_write(r, i, check->blocks);
        check->blocks += n;
    }
    sum_write(r, count, check->blocks);
    return 0;
}

uint64_t extent_blocks_before(const struct request *r, uint32_t i) {
    return hal_read(sum_at(r, i)) | (uint64_t)hal_read(sum_at(r, i) + 4) << 32;
}

bool extent_in_order(const struct request *r, uint32_t first, uint32_t count) {
    return (hal_read(run_at(r, first + count - 1)) & RUN_START) <= first;
}

/** Whether the session of `r` may not do `right` with extent `i`. */
static bool refused(const struct request *r, uint32_t i, uint32_t right, uint32_t *lba) {
    return session_refuses(r->session, hal_read(extent_at(r, i)), hal_read(extent_at(r, i) + 8), right, lba);
}

bool extent_unreadable(const struct request *r, uint32_t first, uint32_t count, uint32_t *lba) {
    uint32_t last = hal_read(run_at(r, first + count - 1)) >> RUN_REFUSED;
    return last > first && refused(r, last - 1, SCOMP_ACCESS_READ, lba);
}

bool extent_unwritable(const struct request *r, uint32_t i, uint32_t *lba) {
    return session_limited(r->session) && refused(r, i, SCOMP_ACCESS_WRITE, lba);
}

/** Move entry `root` of the heap of `count` entries down to its place: parents start at higher blocks. */
static void sift(const struct request *r, uint32_t root, uint32_t count) {
    uint32_t start = hal_read(sort_at(r, root));
    uint32_t number = hal_read(sort_at(r, root) + 4);
    for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
        uint32_t most = hal_read(sort_at(r, child));
        if (child + 1 < count) {
            uint32_t other = hal_read(sort_at(r, child + 1));
            if (other > most) {
                most = other;
                child++;
            }
        }
        if (most <= start) {
            break;
        }
        hal_write(sort_at(r, root), most);
        hal_write(sort_at(r, root) + 4, hal_read(sort_at(r, child) + 4));
    }
    hal_write(sort_at(r, root), start);
    hal_write(sort_at(r, root) + 4, number);
}

/* An entry of the list is the extent's first block (blocks are numbered in 32 bits: ftl.lbas), and its number with the
 * piece's. */
#define LIST_NUMBER 0xffffu
#define LIST_PIECE  16u
_Static_assert(EXTENTS_MAX <= LIST_NUMBER && SCOMP_MAX_PIECES <= LIST_NUMBER, "entry of a list of extents");

void extent_list_add(const struct request *r, uint32_t at, uint32_t i, uint32_t piece) {
    hal_write(sort_at(r, at), hal_read(extent_at(r, i)));
    hal_write(sort_at(r, at) + 4, i | piece << LIST_PIECE);
}

/** Blocks of the extent that entry `i` is of. */
static uint32_t list_blocks(const struct request *r, uint32_t i) {
    return hal_read(extent_at(r, hal_read(sort_at(r, i) + 4) & LIST_NUMBER) + 8);
}

uint32_t extent_list_sort(const struct request *r, uint32_t count, uint32_t *where) {
    if (check->sort.step != SORT_TAKE) {
        if (check->sort.step == SORT_LIST) {
            check->sort.step = SORT_HEAP;
            check->sort.at = count / 2;
        }
        for (; check->sort.at > 0; check->sort.at--) {
            if (check_pause(COST_SIFT)) {
                return CHECK_MORE;
            }
            sift(r, check->sort.at - 1, count);
        }
        check->sort.step = SORT_TAKE;
        check->sort.at = count;
    }
    /* The highest extent leaves the heap first, for the place that the heap gives up. */
    for (; check->sort.at > 0; check->sort.at--) {
        if (check_pause(COST_SIFT)) {
            return CHECK_MORE;
        }
        uint32_t left = check->sort.at;
        uint32_t start = hal_read(sort_at(r, 0));
        uint32_t number = hal_read(sort_at(r, 0) + 4);
        hal_write(sort_at(r, 0), hal_read(sort_at(r, left - 1)));
        hal_write(sort_at(r, 0) + 4, hal_read(sort_at(r, left - 1) + 4));
        hal_write(sort_at(r, left - 1), start);
        hal_write(sort_at(r, left - 1) + 4, number);
        sift(r, 0, left - 1);
        if (left < count && hal_read(sort_at(r, left)) - start < list_blocks(r, left - 1)) {
            *where = extent_at(r, hal_read(sort_at(r, left) + 4) & LIST_NUMBER) - r->data;
            return REFUSED(OVERLAP);
        }
    }
    check->sort.step = SORT_LIST;
    return 0;
}

uint32_t extent_overlap(const struct request *r, uint32_t first, uint32_t count, uint32_t *where) {
    for (; check->sort.step == SORT_LIST && check->n < count; check->n++) {
        if (check_pause(COST_EXTENT)) {
            return CHECK_MORE;
        }
        extent_list_add(r, check->n, first + check->n, 0);
    }
    check->n = 0;
    return extent_list_sort(r, count, where);
}

bool extent_list_hits(const struct request *r, uint32_t count, uint32_t number, uint32_t piece, bool *any) {
    uint32_t start = hal_read(extent_at(r, number));
    uint32_t blocks = hal_read(extent_at(r, number) + 8);
    /* The first entry that ends behind `start`: entries do not overlap, so their ends ascend too. */
    uint32_t lo = 0;
    uint32_t hi = count;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        uint32_t from = hal_read(sort_at(r, mid));
        if (from <= start && start - from >= list_blocks(r, mid)) {
            lo = mid + 1;
        } else if (from > start) {
            hi = mid;
        } else {
            lo = hi = mid;
        }
    }
    for (; lo < count; lo++) {
        uint32_t from = hal_read(sort_at(r, lo));
        if (from > start && from - start >= blocks) {
            return false;
        }
        *any = true;
        if (hal_read(sort_at(r, lo) + 4) >> LIST_PIECE != piece) {
            return true;
        }
    }
    return false;
}
