/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Writes on their way to a page, between the FTL's own files.
 */
#ifndef ASSASIN_FW_WRITE_H
#define ASSASIN_FW_WRITE_H

#include "ftl/ftl.h"

void write_init(void);
/** The medium is mounted, or formatted: whether it has parity is known. */
void write_begin(void);
/** The first of the writes of the next page, NULL when there is none. */
struct ftl_write *write_gathered(void);
/** The write behind `w` of all that have not ended, NULL: the first; NULL when there is none. */
struct ftl_write *write_after(const struct ftl_write *w);
/** Whether a write of block `lba`, taken or not, has not ended. */
bool write_under_way(uint32_t lba);
/** Start what can be started. */
void ftl_pump(void);

#endif
