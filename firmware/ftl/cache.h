/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The write cache: writes that were answered when their data were in their buffers.
 */
#ifndef ASSASIN_FW_CACHE_H
#define ASSASIN_FW_CACHE_H

#include "ftl/ftl.h"

void cache_init(void);
/** Take `w` if that may be. */
void cache_take(struct ftl_write *w);
/** `w`, which was taken, has ended. */
void cache_leave(const struct ftl_write *w, enum ftl_status status);
/** Somebody waits until the cache is empty. */
bool cache_draining(void);
/** End the drains when the cache is empty, or when it cannot be emptied. */
void cache_look(void);
/** End the drains. */
void cache_drained(enum ftl_status status);

#endif
