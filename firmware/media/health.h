// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * What reads find on the medium: the channels' counters, and the sectors that were lost.
 */
#ifndef ASSASIN_FW_HEALTH_H
#define ASSASIN_FW_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "media/nand.h"

/** Lost sectors that are remembered. */
#define NAND_LOST 8u

struct nand_lost {
    uint32_t lba;
    uint32_t address; /**< physical page address */
    uint32_t found;   /**< FLASH_STATUS_* << 28, CPL_CODE[19:0] */
};

/** A channel's counters since power-on. */
enum nand_count { NAND_SECTORS_READ, NAND_BITS_CORRECTED, NAND_SECTORS_FAILED, NAND_COUNTS };

/** Runs when a sector was lost; NULL: nobody's. */
extern void (*nand_lost_notice)(void);

void nand_health_init(void);
/** Take over the channels' counters, which are modulo 2^32. */
void nand_health_count(void);
/** When that is due at the latest while streams run; timebase. */
uint64_t nand_health_due(void);
/** Counter `n` of channel `ch` at the last look. */
uint64_t nand_health_counter(uint32_t ch, enum nand_count n);
/** Block `lba` could not be read: `op` says where it lies, `status` what was found first. */
void nand_health_lost(uint32_t lba, const struct nand_op *op, uint32_t status);
/** Sectors lost since power-on, and the one that was lost `n` before the last; n < NAND_LOST and the number lost. */
uint64_t nand_health_lost_count(void);
const struct nand_lost *nand_health_lost_at(uint32_t n);
/** So many sectors have been lost since power-on that the medium is not to be trusted. */
bool nand_health_degraded(void);

#endif
