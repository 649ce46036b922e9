// SPDX-License-Identifier: BSD-3-Clause
/*
 * What reads find on the medium: the channels' counters, sectors that were lost, and the log page that tells of both.
 * The host hears of a lost block by the status Unrecovered Read Error (SCT 2h, SC 81h), whatever it is that the sector
 * fails in; the other statuses for damaged data (82h to 84h) are those of protection information, which is not offered.
 */
#include <string.h>

#include "platform/console.h"
#include "nvme/nvme.h"
#include "csd/scomp.h"

/** Lost sectors that the log page names. */
#define NAMED 8u
/** Lost sectors that the console names. */
#define PRINTED 32u
/** Sectors lost since power-on from which on the medium counts as degraded. */
#define DEGRADED 16u
/** Seconds after which the channels' counters are looked at again. At a million sectors a second and channel with 64
 * bits corrected in each they come round after 67 s. */
#define COUNT_SECONDS 30u

struct lost {
    uint32_t lba, address, found;
};

/** A channel's counters, and its registers at the last look. */
struct counter {
    uint64_t sum;
    uint32_t last;
};

static struct counter counters[NAND_MAX_CHANNELS][3];
static struct lost lost[NAMED];
static uint64_t lost_count;
static uint64_t due;

static const char *const found_names[] = {[FLASH_STATUS_TIMEOUT] = "the chip does not answer",
                                          [FLASH_STATUS_MISDIRECTED] = "another block's sector",
                                          [FLASH_STATUS_UNCORRECTABLE] = "more errors than the code corrects",
                                          [FLASH_STATUS_ERASED] = "erased",
                                          [FLASH_STATUS_MISMATCH] = "CRC differs",
                                          [FLASH_STATUS_FOREIGN] = "another layout"};

void media_init(void) {
    memset(lost, 0, sizeof lost);
    lost_count = 0;
    memset(counters, 0, sizeof counters);
    media_count();
}

void media_count(void) {
    static const uint32_t registers[3] = {FLASH_SECTORS_READ, FLASH_BITS_CORRECTED, FLASH_SECTORS_FAILED};
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        for (uint32_t i = 0; i < 3; i++) {
            struct counter *c = &counters[ch][i];
            uint32_t now = flash_read(ch, registers[i]);
            c->sum += now - c->last;
            c->last = now;
        }
    }
    due = time_now() + (uint64_t)nand_geo.clock_mhz * 1000000u * COUNT_SECONDS;
}

uint64_t media_due(void) {
    return due;
}

bool media_degraded(void) {
    return lost_count >= DEGRADED;
}

void media_lost_stream(uint32_t lba, const struct nand_op *op, uint32_t status) {
    uint32_t address = op->way << 24 | op->row;
    lost[lost_count++ % NAMED] =
        (struct lost){.lba = lba, .address = address, .found = status << 28 | (op->code & 0xfffffu)};
    health.kept.media_errors++;
    if (lost_count <= PRINTED) {
        const char *name = status < sizeof found_names / sizeof found_names[0] ? found_names[status] : NULL;
        console_printf("nand: block %u lost: channel %u way %u sector address %x: %s (status %u, codewords %x)%s\n",
                       lba, address >> 28, address >> 24 & 15, address & 0xffffffu, name != NULL ? name : "failed",
                       status, FIELD(FLASH_CPL_CODE, FAILED, op->code),
                       lost_count == PRINTED ? "; further ones are only counted" : "");
    }
    health_check();
}

void media_lost(struct nvme_cmd *cmd, uint32_t lba, const struct nand_op *op, uint32_t status) {
    if (cmd->status == NVME_OK) {
        cmd->status = NVME_READ_ERROR;
        cmd->lost_lba = lba;
    } else if (cmd->status == NVME_READ_ERROR && lba < cmd->lost_lba) {
        cmd->lost_lba = lba;
    }
    media_lost_stream(lba, op, status);
}

void media_log(void) {
    media_count();
    struct scomp_media *m = (struct scomp_media *)admin_buffer;
    memcpy(m->id, nand_geo.id, sizeof m->id);
    memcpy(m->model, nand_geo.model, sizeof m->model);
    m->layout = NAND_LAYOUT_VERSION;
    m->code_t = nand_geo.code_t;
    m->code_parity = nand_geo.code_parity;
    for (uint32_t i = 0; i < 8; i++) {
        m->codes[i] = flash_read(0, FLASH_CODE_INFO + i * 4);
    }
    m->page_bytes = nand_geo.page_bytes;
    m->spare_bytes = nand_geo.spare;
    m->page_sectors = nand_geo.sectors;
    m->sector_bytes = nand_geo.sector_bytes;
    m->block_sectors = nand_geo.pages;
    m->blocks = nand_geo.blocks;
    m->planes = nand_geo.planes;
    m->luns = nand_geo.luns;
    m->ways = nand_geo.ways;
    m->channels = nand_geo.channels;
    m->plane_shift = nand_geo.plane_shift;
    m->block_shift = nand_geo.block_shift;
    m->lun_shift = nand_geo.lun_shift;
    m->erased_limit = nand_geo.erased_limit;
    m->retry_levels = nand_part != NULL ? nand_part->retry_levels : 0;
    m->superblocks = sb.count;
    m->retries = nand_counters.retries;
    m->rescued = nand_counters.rescued;
    m->lost = lost_count;
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        m->sectors_read[ch] = counters[ch][0].sum;
        m->bits_corrected[ch] = counters[ch][1].sum;
        m->sectors_failed[ch] = counters[ch][2].sum;
    }
    for (uint32_t i = 0; i < NAMED && i < lost_count; i++) {
        const struct lost *l = &lost[(lost_count - 1 - i) % NAMED];
        m->error_lba[i] = l->lba;
        m->error_address[i] = l->address;
        m->error_found[i] = l->found;
    }
}
