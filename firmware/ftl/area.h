/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Where metadata lie: the candidate blocks for root records, and behind them two areas of superblocks that checkpoints
 * are appended to in turn.
 *
 * A place of an area is two pages, for the two copies of a page of metadata, on two dies: the first half of the dies
 * have a partner each in the second half. On a drive of one die they are in two planes, or in two superblocks of the
 * area. A place of which one block is bad takes one copy.
 */
#ifndef ASSASIN_FW_AREA_H
#define ASSASIN_FW_AREA_H

#include <stdbool.h>
#include <stdint.h>

/** Make the superblocks of the areas SB_META. False when there are too few. */
bool area_mark(void);
/** Superblock `n` of area `area`. */
uint32_t area_superblock(uint32_t area, uint32_t n);
/** Put ckpt.at on page ckpt.used of area ckpt.area. */
void area_seek(void);
/** Sectors of an area that are walked: every place begins with one of them. */
uint32_t area_sectors(void);
/** Places of the area behind ckpt.used, of whole stripes, at least. */
uint32_t area_left(void);
/** The next place of the area: the address of its first page; 0: there is none. */
uint32_t area_take(void);
/** The other page of the place that `ppa` is of. */
uint32_t area_partner(uint32_t ppa);
/** Whether the area can do without the block of `ppa`. */
bool area_spares(uint32_t ppa);
/** What lies behind ckpt.used is blank: go on with the next stripe, all of whose places are. */
void area_align(void);

/** Pages of a root block, and the sector of page `page` of candidate `which` that takes a record. */
uint32_t area_root_pages(void);
uint32_t area_root_ppa(uint32_t which, uint32_t page);

#endif
