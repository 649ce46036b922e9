/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Static wear levelling: data that do not change are moved from the least worn superblocks to the most worn ones.
 */
#ifndef ASSASIN_FW_WEAR_H
#define ASSASIN_FW_WEAR_H

#include <stdbool.h>
#include <stdint.h>

void wear_init(void);
/**
 * The superblock to be emptied for that, or SB_NONE. When there is one, the append point for copies goes on in the worn
 * superblock that is to take its data.
 */
uint32_t wear_victim(void);
/** Other sectors than those of such superblocks go to the append point for copies. */
void wear_mixed(void);

#endif
