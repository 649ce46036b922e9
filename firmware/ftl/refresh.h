/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Refresh: superblocks of which reads say that they fade are written anew, before they can no longer be read. Scrub:
 * so that data which nobody reads are found as well, a share of all reads goes to a stripe of each superblock in turn.
 */
#ifndef ASSASIN_FW_REFRESH_H
#define ASSASIN_FW_REFRESH_H

#include <stdbool.h>
#include <stdint.h>

#include "media/nand.h"

/** After the mount. */
void refresh_init(void);
/** Some superblock waits for it. */
bool refresh_waits(void);
/** The superblock to be emptied next for that, whose data have to fit `most` sectors, or SB_NONE. */
uint32_t refresh_victim(uint32_t most);

/** Sectors read since power-on, modulo 2^32. */
static inline uint32_t scrub_reads(void) {
    return (uint32_t)nand_counters.reads + nand_streamed;
}
/** Reads at which the next page is due. */
extern uint32_t scrub_at;
/** Read the next page of scrub, unless one is on its way. */
void scrub_start(void);
/** Whenever reads may have ended. */
static inline void scrub_look(void) {
    if ((int32_t)(scrub_reads() - scrub_at) >= 0) {
        scrub_start();
    }
}

#endif
