// SPDX-License-Identifier: BSD-3-Clause
#include "media/health.h"

#include <string.h>

#include "platform/console.h"
#include "platform/timer.h"

/** Lost sectors that the console names. */
#define PRINTED 32u
/** Sectors lost since power-on from which on the medium counts as degraded. */
#define DEGRADED 16u
/** Seconds after which the channels' counters are looked at again. At a million sectors a second and channel with 64
 * bits corrected in each they come round after 67 s. */
#define COUNT_SECONDS 30u

/** One of a channel's counters, and its register at the last look. */
struct counter {
    uint64_t sum;
    uint32_t last;
};

static struct counter counters[NAND_MAX_CHANNELS][NAND_COUNTS];
static struct nand_lost lost[NAND_LOST];
static uint64_t lost_count;
static uint64_t due;
/** Low half of nand_counters.reads at the last look. */
static uint32_t own_reads;
void (*nand_lost_notice)(void);

static const char *const found_names[] = {[FLASH_STATUS_TIMEOUT] = "the chip does not answer",
                                          [FLASH_STATUS_MISDIRECTED] = "another block's sector",
                                          [FLASH_STATUS_UNCORRECTABLE] = "more errors than the code corrects",
                                          [FLASH_STATUS_ERASED] = "erased",
                                          [FLASH_STATUS_MISMATCH] = "CRC differs",
                                          [FLASH_STATUS_FOREIGN] = "another layout"};

void nand_health_init(void) {
    memset(lost, 0, sizeof lost);
    lost_count = 0;
    nand_lost_notice = NULL;
    memset(counters, 0, sizeof counters);
    nand_health_count();
    nand_streamed = 0;
}

void nand_health_count(void) {
    static const uint32_t registers[NAND_COUNTS] = {FLASH_SECTORS_READ, FLASH_BITS_CORRECTED, FLASH_SECTORS_FAILED};
    uint32_t own = (uint32_t)nand_counters.reads - own_reads;
    own_reads += own;
    uint32_t all = 0;
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        for (uint32_t i = 0; i < NAND_COUNTS; i++) {
            struct counter *c = &counters[ch][i];
            uint32_t now = flash_read(ch, registers[i]);
            c->sum += now - c->last;
            all += i == NAND_SECTORS_READ ? now - c->last : 0;
            c->last = now;
        }
    }
    nand_streamed += all > own ? all - own : 0;
    due = time_now() + (uint64_t)nand_geo.clock_mhz * 1000000u * COUNT_SECONDS;
}

uint64_t nand_health_due(void) {
    return due;
}

uint64_t nand_health_counter(uint32_t ch, enum nand_count n) {
    return counters[ch][n].sum;
}

uint64_t nand_health_lost_count(void) {
    return lost_count;
}

const struct nand_lost *nand_health_lost_at(uint32_t n) {
    return &lost[(lost_count - 1 - n) % NAND_LOST];
}

bool nand_health_degraded(void) {
    return lost_count >= DEGRADED;
}

void nand_health_lost(uint32_t lba, const struct nand_op *op, uint32_t status) {
    uint32_t address = nand_op_ppa(op);
    lost[lost_count++ % NAND_LOST] =
        (struct nand_lost){.lba = lba, .address = address, .found = status << 28 | (op->code & 0xfffffu)};
    if (lost_count <= PRINTED) {
        const char *name = status < sizeof found_names / sizeof found_names[0] ? found_names[status] : NULL;
        console_printf("nand: block %u lost: channel %u way %u sector address %x: %s (status %u, codewords %x)%s\n",
                       lba, address >> 28, address >> 24 & 15, address & 0xffffffu, name != NULL ? name : "failed",
                       status, FIELD(FLASH_CPL_CODE, FAILED, op->code),
                       lost_count == PRINTED ? "; further ones are only counted" : "");
    }
    if (nand_lost_notice != NULL) {
        nand_lost_notice();
    }
}
