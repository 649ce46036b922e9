// SPDX-License-Identifier: BSD-3-Clause
#include "ftl/victim.h"

#include "ftl/summary.h"

/** What emptying a superblock is worth: gain / cost. */
struct worth {
    uint64_t gain;
    uint32_t cost;
};

/** Older ones are equal: gain * cost has to fit 64 bits. */
#define AGE_MOST 0xffffu

static struct worth worth_of(uint32_t n, uint32_t valid, bool cheap) {
    uint32_t age = superblock_age(n);
    age = cheap ? 1 : age < AGE_MOST ? age + 1 : AGE_MOST;
    return (struct worth){.gain = (uint64_t)(log_sectors(n) - valid) * age, .cost = valid};
}

/** a > b: 1; equal: 0; less: -1. Sectors of a superblock have at most 24 bits. */
static int compare(struct worth a, struct worth b) {
    uint64_t left = a.gain * b.cost;
    uint64_t right = b.gain * a.cost;
    return (left > right) - (left < right);
}

uint32_t victim_pick(uint32_t gain, uint32_t most, bool cheap) {
    uint32_t best = SB_NONE;
    struct worth best_worth = {0, 1};
    for (uint32_t n = 0; n < sb.used; n++) {
        if (sb.state[n] != SB_CLOSED) {
            continue;
        }
        uint32_t valid = superblock_valid(n);
        if (valid == 0 || valid > most || valid + gain > log_sectors(n) || superblock_pins(n) != 0) {
            continue;
        }
        struct worth w = worth_of(n, valid, cheap);
        int better = best == SB_NONE ? 1 : compare(w, best_worth);
        if (better > 0 || (better == 0 && superblock_erases(n) < superblock_erases(best))) {
            best = n;
            best_worth = w;
        }
    }
    return best;
}
