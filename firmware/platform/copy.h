/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The copy engine: DRAM to a core's memories and stream buffers.
 */
#ifndef ASSASIN_FW_COPY_H
#define ASSASIN_FW_COPY_H

#include <stdint.h>

#include "platform/regs.h"

typedef void (*copy_done_fn)(uint32_t arg);

void copy_init(void);
/** Free places in the list of copies. */
uint32_t copy_space(void);
/** Queue a copy from DRAM `src` (64-byte aligned) to HDMA.COPY_DST `dst` at stream position `pos`. Only with
 * copy_space() > 0. */
void copy_submit(uint32_t src, uint32_t dst, uint32_t pos, uint32_t len, copy_done_fn done, uint32_t arg);
/** `done` copies have ended since power-on, modulo 2^32. */
void copy_collect(uint32_t done);

/** HDMA.COPY_DST for stream `stream` of core `core`. */
static inline uint32_t copy_to_stream(uint32_t core, uint32_t stream) {
    return PLACE(HDMA_COPY_DST, CORE, core) | PLACE(HDMA_COPY_DST, STREAM_ID, stream) | PLACE(HDMA_COPY_DST, STREAM, 1);
}

#endif
