/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plain greedy choice of victims, in place of ftl/victim.c: what `assasin bench ftl` compares the firmware's choice
 * with.
 */
#include "ftl/summary.h"
#include "ftl/victim.h"

uint32_t victim_pick(uint32_t gain, uint32_t most, bool cheap) {
    (void)cheap;
    uint32_t best = SB_NONE, least = 0;
    for (uint32_t n = 0; n < sb.used; n++) {
        if (sb.state[n] != SB_CLOSED) {
            continue;
        }
        uint32_t valid = superblock_valid(n);
        if (valid > 0 && valid <= most && valid + gain <= log_sectors(n) && superblock_pins(n) == 0 &&
            (best == SB_NONE || valid < least)) {
            best = n;
            least = valid;
        }
    }
    return best;
}
