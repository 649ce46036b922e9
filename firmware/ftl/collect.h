/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Collection: closed superblocks that hold stale sectors are emptied, by moving what is in use to the append point for
 * copies, and become free.
 *
 * It runs while few superblocks are free, and stops for exclusive operations, at whose beginning nothing of it is on
 * its way. Only superblocks are taken that recovery does not read: what is moved is then older than everything in the
 * host's log that a mount reads.
 */
#ifndef ASSASIN_FW_COLLECT_H
#define ASSASIN_FW_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

void collect_init(void);
/** WORK_COLLECT */
void collect_poll(void);
/** WORK_RESIDUE */
void collect_residue_poll(void);
/** Sectors that the host has written since the victim was taken, or since none was worth taking. */
extern uint32_t collect_written;
/** The host's append point has given out `sectors`. */
void collect_paid(uint32_t sectors);
/** Whether the host's append point may give out a page: collection keeps pace with it. */
bool collect_allows(void);
/** Nothing that collection could do makes room. */
bool collect_spent(void);
/** Nothing of it is on its way. */
bool collect_idle(void);
/** Everything was trimmed: the victim is none. Only while nothing is on its way. */
void collect_forget(void);
/** Superblocks with data on bad blocks may have become closed. */
void collect_bad(void);
/** An exclusive operation waits: what is on its way is finished. */
void collect_pause(void);

#endif
