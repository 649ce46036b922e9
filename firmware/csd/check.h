/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How far the check of a request is (check.c, extent.c).
 */
#ifndef ASSASIN_FW_CHECK_H
#define ASSASIN_FW_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "csd/service.h"

struct request;

/** Instead of a status: the slice is over, the next one goes on. */
#define CHECK_MORE UINT32_MAX
/** What a slice may cost, and what its parts do, in the time of an extent that nothing limits. */
#define CHECK_SLICE  32u
#define COST_STREAM  2u
#define COST_EXTENT  1u
#define COST_LIMITED 4u /**< an extent of a session with ranges */
#define COST_SIFT    8u /**< a walk down the heap */
#define COST_SEARCH  4u /**< by halves */

enum check_step {
    CHECK_HEAD,
    CHECK_EXTENTS,
    CHECK_INPUTS,
    CHECK_OUTPUTS,
    CHECK_SORT,
    CHECK_OVERLAP,
    CHECK_FUNCTIONS,
};

struct check {
    uint32_t step, left;         /**< left: of the slice */
    uint32_t i, n;               /**< what comes next: extent or stream; extent of it */
    uint64_t blocks, end;        /**< of the extents before; block behind the last one */
    uint32_t run, refused;       /**< where the run began; extents up to the last that may not be read */
    uint32_t sorted, listed;     /**< extents of inputs that were sorted; of outputs */
    uint32_t looked;             /**< extents of inputs that were compared with the outputs */
    bool sorting, writing;       /**< stream `i` is looked at, and its extents are sorted, or listed */
    bool any[SCOMP_MAX_STREAMS]; /**< the last piece's input touches its outputs */
    struct {
        enum { SORT_LIST, SORT_HEAP, SORT_TAKE } step;
        uint32_t at;
    } sort;
};
/** Of the request whose turn it is. */
extern struct check *check;

/** Take `cost` from the slice; true when that is more than is left. */
static inline bool check_pause(uint32_t cost) {
    bool pause = check->left < cost;
    check->left -= pause ? 0 : cost;
    return pause;
}

void check_init(void);
/** Check `r`, whose data are in DRAM; then request_checked. */
void check_request(struct request *r);
/** A slice of it. */
void check_poll(void);

#endif
