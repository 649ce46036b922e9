/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Which chip enables packages answer at, and which of them are the ways of the drive. A module may have packages at
 * some chip enables only.
 *
 * All channels have as many ways: as the channel with the fewest packages has. A channel's ways are its chip enables
 * with a package, in ascending order. Further packages are left over.
 */
#ifndef ASSASIN_FW_ENABLES_H
#define ASSASIN_FW_ENABLES_H

#include <stdint.h>

/**
 * RESET and identify what is at all chip enables, nand_geo.ways of each channel at the call; set nand_geo.ways and
 * nand_geo.enables, tell the channels, and say on the console what is not in use and why. The channels have their
 * default steps and their reset timing.
 * @return NULL, or what is wrong with the medium.
 */
const char *enables_find(void);

/** Print the numbers of the bits in `mask`, a blank before each. */
void enables_print(uint32_t mask);

#endif
