/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Root records at a mount: which candidate block holds the newest one.
 *
 * The newest record is the one with the greatest sequence number of all that can be read. A record counts from the
 * moment that it can be read in one block; nothing relies on it before its writer has tried to place it in two. One
 * that cannot be read is as if it had never been, unless it may have been complete: that is in doubt when a page behind
 * the last record of a block cannot be read. The mount then looks for traces of what a newer record would have allowed.
 */
#ifndef ASSASIN_FW_ROOTFIND_H
#define ASSASIN_FW_ROOTFIND_H

#include <stdbool.h>
#include <stdint.h>

struct root_look {
    bool blank;  /**< there is no record, and nothing else is in the blocks */
    bool doubt;  /**< a newer record may have been complete */
    bool single; /**< the record is in one block only, though more would take it */
};

/** Put the newest record in DRAM_ROOT, and the writer (ftl/root.h) behind it. NULL, or why the medium is of no use. */
const char *root_find(struct root_look *look);
/** Epoch for a new format: behind that of whatever record the medium holds. Its records follow the newest one's. */
uint32_t root_find_epoch(void);

#endif
