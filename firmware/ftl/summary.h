/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Summaries of the log: pages that tell what the sectors before them hold, so that a mount need not read each of these.
 *
 * A superblock's sectors are divided into chunks. A while behind a chunk's last sector, when its programs have ended,
 * the append point programs the chunk's summary: OOB word 0 of every sector. The place of each summary follows from the
 * geometry. The chunks at the end of a superblock have theirs in its last pages. Small superblocks have none.
 */
#ifndef ASSASIN_FW_SUMMARY_H
#define ASSASIN_FW_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "ftl/append.h"
#include "ftl/parity.h"
#include "platform/dram.h"

/** A summary: these words, then a word for each sector of the chunk: OOB word 0 inverted, 0 when it holds nothing of
 * the log. */
enum summary_word {
    SUMMARY_CHUNK,     /**< number of the chunk in its superblock */
    SUMMARY_FIRST,     /**< position in the superblock from which on the words say something */
    SUMMARY_UNSETTLED, /**< a bit for each 64 words of the page: programs of these sectors had not ended */
    SUMMARY_HEAD = 16,
};
/** Most sectors of a chunk. */
#define SUMMARY_MOST (PAGE_SIZE / 4u - SUMMARY_HEAD)
/** log2 of the words that a bit of SUMMARY_UNSETTLED stands for. */
#define SUMMARY_GROUP_LOG2 6u
/** Chunks of an append point whose summaries are in DRAM_SUMMARIES. */
#define SUMMARY_BUFFERS 4u
static_assert(APPEND_POINTS * SUMMARY_BUFFERS * PAGE_SIZE <= DRAM_SUMMARIES_SIZE, "summaries");

/** Where chunks and their summaries are. */
struct summary_layout {
    uint32_t chunk;  /**< sectors of a chunk; 0: there are no summaries */
    uint32_t delay;  /**< sectors between a chunk and its summary */
    uint32_t chunks; /**< of a superblock */
    uint32_t taken;  /**< sectors of a superblock that summaries take */
};
extern struct summary_layout summary;

/** From the geometry. The medium is not touched. */
void summary_init(void);
/** Position of the summary of chunk `k` in its superblock. */
uint32_t summary_place(uint32_t k);

/** Whether a chunk's summary is there. `position`: of a page's first sector. */
bool summary_at(uint32_t position);

/** Sectors of data that superblock `n` takes when it is written from the beginning. */
static inline uint32_t log_sectors(uint32_t n) {
    uint32_t good = parity_data(n);
    return good > summary.taken ? good - summary.taken : 0;
}

/* ---- append.c ---- */

/** The cursor of `point` is at `position` of its superblock, where something is due: begin a chunk, or program a
 * summary. True when the page under the cursor was taken for one. */
bool summary_due(enum append_point point, uint32_t position);
/** `point` has opened its superblock at `position`, or closed it. */
void summary_open(enum append_point point, uint32_t position);
/** Sectors that summaries will take of the superblock that is open. */
uint32_t summary_to_come(enum append_point point);

/* ---- who programs pages of the log ---- */

/** Of a page whose chunk has no summary. */
#define SUMMARY_NONE 0xffffu

/** Programs that have not ended, by 64 words of DRAM_SUMMARIES. */
extern uint8_t summary_pending[APPEND_POINTS * SUMMARY_BUFFERS << (PAGE_LOG2 - 2 - SUMMARY_GROUP_LOG2)];

/** Sector `i` of the page with note `note` is programmed with `oob0`. */
static inline void summary_note(uint16_t note, uint32_t i, uint32_t oob0) {
    if (note != SUMMARY_NONE) {
        hal_write(DRAM_SUMMARIES + (note + i) * 4, ~oob0);
    }
}
/** The note of the next page of a row (append_row) of `a`. */
static inline uint16_t summary_row_note(const struct append *a) {
    if (a->notes == SUMMARY_NONE) {
        return SUMMARY_NONE;
    }
    uint16_t note = (uint16_t)(a->notes + sb.pages - a->cur.left);
    summary_pending[note >> SUMMARY_GROUP_LOG2]++;
    return note;
}
/** None of the page's sectors was programmed as it should be. */
void summary_failed(uint16_t note);
/** The page's program has ended. */
static inline void summary_ended(uint16_t note, bool ok) {
    if (note != SUMMARY_NONE) {
        summary_pending[note >> SUMMARY_GROUP_LOG2]--;
        if (!ok) {
            summary_failed(note);
        }
    }
}

#endif
