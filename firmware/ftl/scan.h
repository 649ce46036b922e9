/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Reading pages at boot: many at a time, to see what they hold.
 */
#ifndef ASSASIN_FW_SCAN_H
#define ASSASIN_FW_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "media/nand.h"
#include "platform/dram.h"

/** Scan buffer: the page buffers of the host path are idle at boot. */
#define SCAN_BUFFER DRAM_BUFFERS
#define SCAN_MAX    256u

struct scan_page {
    uint32_t ppa, oob0, oob1;
    uint32_t status; /**< FLASH_STATUS_*, SCAN_UNDER_WAY */
};
/** SCAN_MAX of them. */
extern struct scan_page *scan_pages;

/** Status of a page whose read has not ended; and of one of a bad block, which is not read. */
#define SCAN_UNDER_WAY 0xffu
#define SCAN_LEFT_OUT  0xfeu

/** Before anything else of this file. */
void scan_init(void);
/** Other memory of the TCM for the mount: SCAN_SPARE bytes. */
#define SCAN_SPARE 8192u
void *scan_spare(void);
/** Start reading `bytes` of page `ppa` to DRAM `dst`. */
void scan_read(struct scan_page *p, uint32_t ppa, uint32_t dst, uint32_t bytes);
/** Likewise, and do not repeat it when it fails. */
void scan_read_once(struct scan_page *p, uint32_t ppa, uint32_t dst, uint32_t bytes);
/** Wait until the read of `p` has ended. */
void scan_end(const struct scan_page *p);

static inline bool scan_good(const struct scan_page *p) {
    return p->status == FLASH_STATUS_OK;
}
static inline bool scan_blank(const struct scan_page *p) {
    return p->status == FLASH_STATUS_ERASED;
}
/** Whether what was read is what a program leaves that failed, or that a power cut stopped. */
static inline bool scan_torn(const struct scan_page *p) {
    return p->status == FLASH_STATUS_UNCORRECTABLE || p->status == FLASH_STATUS_MISMATCH;
}

#endif
