/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The ONFI parameter page.
 */
#ifndef ASSASIN_FW_ONFI_H
#define ASSASIN_FW_ONFI_H

#include <stdbool.h>
#include <stdint.h>

/** READ ID addresses: maker and part; the ONFI signature. */
#define READ_ID_PART 0x00u
#define READ_ID_ONFI 0x20u

#define ONFI_PARAM_BYTES   256u
#define ONFI_PARAM_COPIES  3u
#define ONFI_SIGNATURE     0x49464e4fu /* "ONFI" */
#define ONFI_VENDOR_BLOCK  0xa551u     /* vendor revision that marks the timing block */
#define ONFI_NO_MODE       0xffu       /* the part has no NV-DDR2 */
#define ONFI_MICRON        0x2cu       /* JEDEC id of the maker who has the block that the next line marks */
#define ONFI_MICRON_BLOCK  1u          /* vendor revision of Micron's own block */
#define ONFI_MAX_ENDURANCE 10000000u   /* most erases that are believed */
#define ONFI_MAX_LEVELS    16u         /* most read levels that are believed */

/** Byte 158 of the parameter page: what feature 02h can turn on. */
#define ONFI_RE_C  0x08u
#define ONFI_DQS_C 0x10u
#define ONFI_VREFQ 0x20u /* external VREFQ: needed from ONFI_MODE_200 on */
/** Slowest NV-DDR2 mode of 200 MT/s and more. */
#define ONFI_MODE_200 4u

/**
 * What the firmware takes from the parameter page. Times in ns. Those of a part without the timing block are what every
 * part has to keep in its fastest NV-DDR2 mode (ONFI 4.0, NV-DDR2 timing), the longest where that depends on what is
 * connected; tADL and tCCS are longer where the parameter page asks for more.
 */
struct onfi_param {
    char model[21];
    uint32_t page_bytes;
    uint32_t spare_bytes;
    uint32_t pages_block;
    uint32_t blocks_lun; /**< over all planes */
    uint32_t luns;
    uint32_t plane_bits;
    uint32_t bad_blocks; /**< of a LUN, at most, as long as the part is to last; 0: none */
    uint32_t endurance;  /**< erases that a block is good for; 0: the page does not say */
    bool multi_plane;    /**< pages of several planes can be programmed together */
    uint32_t t_wc, t_cs, t_wb, t_rr, t_rpre, t_pst, t_whr, t_adl, t_ccs;
    uint32_t program_us, erase_us, read_us; /**< longest page program, block erase and page read, microseconds */
    uint32_t beat_ps;                       /**< one data byte, picoseconds */
    uint32_t timing_mode;                   /**< fastest NV-DDR2 mode, ONFI_NO_MODE: none */
    uint32_t modes;                         /**< NV-DDR2 modes offered, a bit each */
    uint32_t signals;                       /**< ONFI_DQS_C and others */
    uint32_t read_levels;                   /**< of feature 89h, the normal one included; 0: the page does not say */
    bool paired;                            /**< two pages share cells, see pairs.h of the FTL */
    uint16_t crc;
};

/** Check signature and CRC of one copy and decode it. Returns false when the copy is damaged. */
bool onfi_parse(const uint8_t *copy, struct onfi_param *out);

/**
 * Slow the part's bus down to a byte in `byte_ps` picoseconds, and choose its slowest mode that is as fast. Returns
 * false when the part is slower than that.
 */
bool onfi_slow_down(struct onfi_param *p, uint32_t byte_ps);

#endif
