/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Root records on the medium: two blocks that take them in turn. A record goes to the next page of a block, or to the
 * first one of the other, is read back, and only then counts; the newest one is never erased.
 */
#ifndef ASSASIN_FW_ROOT_H
#define ASSASIN_FW_ROOT_H

#include <stdbool.h>
#include <stdint.h>

/** Write the record that `build` makes, which is asked again for each attempt. One at a time: not while root_busy. */
void root_write(void (*build)(void), void (*done)(bool ok));
bool root_busy(void);
void root_init(void);

/** DRAM address of the newest record on the medium; 0: there is none. And of the one that is built. */
uint32_t root_newest(void);
uint32_t root_next(void);
/** The record at DRAM_ROOT was read from page `page` of its block: it is the newest. */
void root_found(uint32_t page);
/** Whether there is a good record at DRAM address `at`. */
bool root_good(uint32_t at);

/** Builders. The newest record again, with what changes between checkpoints: the list of superblocks that belong to the
 * log, the owner's bytes, and that the medium is in use unless ftl.clean. */
void root_list(void);
/** Likewise, and that the medium is in use. */
void root_dirty(void);
/** Likewise, and that it is not. */
void root_clean(void);

/** For builders of whole records: begin, add words, end. */
void root_begin(void);
void root_put(uint32_t v);
/** The owner's bytes and the list of `log`, then the checksum. */
struct log_position;
void root_end(const struct log_position *log);

#endif
