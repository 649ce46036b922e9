/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Root records on the medium. Candidate blocks for them lie at places that follow from the geometry alone, on as many
 * dies as there are. Each record goes to two blocks on two dies: the next page of each, which is read back, and only
 * then counts. A block that is full, or that fails, is followed by the next candidate, which is erased first; no block
 * is erased that is the only one with the newest record.
 */
#ifndef ASSASIN_FW_ROOT_H
#define ASSASIN_FW_ROOT_H

#include <stdbool.h>
#include <stdint.h>

/** Write the record that `build` makes. One at a time: not while root_busy. It is written when one copy of it is; the
 * other one is tried wherever a candidate takes it. */
void root_write(void (*build)(void), void (*done)(bool ok));
bool root_busy(void);
void root_init(void);

/** DRAM address of the newest record on the medium; 0: there is none. And of the one that is built. */
uint32_t root_newest(void);
uint32_t root_next(void);
/** The record at DRAM_ROOT was read from the medium: it is the newest. */
void root_found(void);
/** Copy `copy` goes on at page `page` of candidate `block`, whose page `record` has the newest record; behind the last
 * page: in the next candidate. */
void root_resume(uint32_t copy, uint32_t block, uint32_t page, uint32_t record);
/** No page of the block has it. */
#define ROOT_NO_RECORD UINT32_MAX
/** The candidates but for ckpt.root_failed are erased. False: there is none. */
bool root_fresh(void);
/** Whether there is a good record at DRAM address `at`. */
bool root_good(uint32_t at);

/** Builders. The newest record again, with what changes between checkpoints: the list of superblocks that belong to the
 * log, the owner's bytes, and that the medium is in use unless ftl.clean. */
void root_list(void);
/** Likewise, and that the medium is in use. */
void root_dirty(void);
/** Likewise, and that it is not. */
void root_clean(void);

/** Channels, ways, LUNs and planes as a record has them. */
uint32_t root_units(void);
/** Whether the record at DRAM address `at` is of a medium on the chip enables in use, and has as many of all these. */
bool root_ours(uint32_t at);
/** Say on the console what medium the record at DRAM address `at` is of. */
void root_say(uint32_t at);

/** The flags of a record that says so. */
uint32_t root_flags(bool clean);
/** For builders of whole records: begin, add words, end. */
void root_begin(void);
void root_put(uint32_t v);
/** The owner's bytes and the list of `log`, then the checksum. */
struct log_position;
void root_end(const struct log_position *log);

#endif
