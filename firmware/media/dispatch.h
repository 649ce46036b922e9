/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The loop over the channels' completions, and the descriptor of a stream's page: what is done for every page that is
 * streamed. Both are inline, so that whoever owns the streams makes one function of them and of its own handlers.
 */
#ifndef ASSASIN_FW_DISPATCH_H
#define ASSASIN_FW_DISPATCH_H

#include "media/nand.h"

/** Rounds over the channels before the main loop looks at anything else. */
#define NAND_PASSES 8u

/** Push the read of `bytes` of sector `ppa`, which has to hold block `lba`, to stream position `position`. `w0` has the
 * stream, its tag and CHECK. The caller has taken a place of the way. */
static inline __attribute__((always_inline)) void nand_push_stream(uint32_t w0, uint32_t ppa, uint32_t lba,
                                                                   uint32_t position, uint32_t bytes) {
    uint32_t base = ASSASIN_FLASH_BASE + (ppa >> 28) * ASSASIN_FLASH_STRIDE;
    hal_write(base + FLASH_W0, w0 | (ppa >> 24 & 15u) << FLASH_W0_WAY_SHIFT);
    hal_write(base + FLASH_W1, ppa_row(ppa));
    hal_write(base + FLASH_W2, position);
    hal_write(base + FLASH_OOB0, lba);
    hal_write(base + FLASH_W3, bytes);
}

/**
 * Handle every waiting completion. Of a tag from NAND_TAG_STREAM on: `arrived(tag - NAND_TAG_STREAM)`, or, while the
 * completion at the channel's registers `base` is still there, `failed`. Both are constants of the caller, NULL when
 * there are no streams.
 * @return how many pages have arrived
 */
static inline __attribute__((always_inline)) uint32_t
nand_dispatch(void (*arrived)(uint32_t stream), void (*failed)(uint32_t stream, uint32_t status, uint32_t base)) {
    uint32_t pages = 0;
    for (uint32_t pass = 0; pass < NAND_PASSES; pass++) {
        uint32_t pending = sys_read(SYS_FLASH_PENDING);
        if (pending == 0) {
            break;
        }
        uint32_t base = ASSASIN_FLASH_BASE;
        struct nand_way *ways = nand_ways;
        /* The channel of a lone completion is found in two looks and a step, not in as many steps as its number. */
        for (uint32_t skip = 4; skip >= 2; skip -= 2) {
            if ((pending & ((1u << skip) - 1)) == 0) {
                pending >>= skip;
                base += skip * ASSASIN_FLASH_STRIDE;
                ways += skip * NAND_MAX_WAYS;
            }
        }
        for (; pending != 0; pending >>= 1, base += ASSASIN_FLASH_STRIDE, ways += NAND_MAX_WAYS) {
            if ((pending & 1) == 0) {
                continue;
            }
            uint32_t cpl = hal_read(base + FLASH_CPL);
            if (!FIELD(FLASH_CPL, VALID, cpl)) {
                continue;
            }
            struct nand_way *way = &ways[FIELD(FLASH_CPL, WAY, cpl)];
            uint32_t tag = FIELD(FLASH_CPL, TAG, cpl);
            uint32_t status = FIELD(FLASH_CPL, STATUS, cpl);
            way->credit++;
            if (arrived != NULL && __builtin_expect(tag >= NAND_TAG_STREAM && status == FLASH_STATUS_OK, 1)) {
                hal_write(base + FLASH_CPL_POP, 1);
                if (way->waiting) {
                    nand_way_refill(way);
                }
                pages++;
                arrived(tag - NAND_TAG_STREAM);
            } else if (failed != NULL && tag >= NAND_TAG_STREAM) {
                /* First whoever waits: the next sector of a page goes before any read. */
                if (way->waiting) {
                    nand_way_refill(way);
                }
                failed(tag - NAND_TAG_STREAM, status, base);
                hal_write(base + FLASH_CPL_POP, 1);
            } else if (nand_plain_program(&nand_ops[tag]) && status == FLASH_STATUS_OK) {
                hal_write(base + FLASH_CPL_POP, 1);
                if (way->waiting) {
                    nand_way_refill(way);
                }
                nand_programmed(&nand_ops[tag]);
            } else {
                uint32_t data0 = hal_read(base + FLASH_CPL_DATA);
                uint32_t data1 = hal_read(base + FLASH_CPL_DATA1);
                uint32_t code = status != FLASH_STATUS_OK || FIELD(FLASH_CPL, ERRORS, cpl) != 0
                                    ? hal_read(base + FLASH_CPL_CODE)
                                    : 0;
                hal_write(base + FLASH_CPL_POP, 1);
                if (way->waiting) {
                    nand_way_refill(way);
                }
                nand_complete(tag, cpl, data0, data1, code);
            }
        }
    }
    return pages;
}

#endif
