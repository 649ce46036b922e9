// SPDX-License-Identifier: BSD-3-Clause
/*
 * Blocks that could not be read, and the log page of the medium. The host hears of a lost block by the status
 * Unrecovered Read Error (SCT 2h, SC 81h), whatever it is that the sector fails in; the other statuses for damaged data
 * (82h to 84h) are those of protection information, which is not offered.
 */
#include <string.h>

#include "ftl/parity.h"
#include "media/health.h"
#include "nvme/nvme.h"

/** `cmd` ends with NVME_READ_ERROR; its error log entry names the lowest such block. */
static void unreadable(struct nvme_cmd *cmd, uint32_t lba) {
    if (cmd->status == NVME_OK) {
        cmd->status = NVME_READ_ERROR;
        cmd->lost_lba = lba;
    } else if (cmd->status == NVME_READ_ERROR && lba < cmd->lost_lba) {
        cmd->lost_lba = lba;
    }
}

void media_lost(struct nvme_cmd *cmd, uint32_t lba, const struct nand_op *op, uint32_t status) {
    unreadable(cmd, lba);
    nand_health_lost(lba, op, status);
}

uint32_t media_absent(struct nvme_cmd *cmd, uint32_t lba, uint32_t ppa) {
    if (ppa == MAP_LOST) {
        /* By Write Uncorrectable, or counted when collection found it. */
        unreadable(cmd, lba);
        return NVME_READ_ERROR;
    }
    return unwritten_fails ? NVME_DEALLOCATED : NVME_OK;
}

void media_log(void) {
    nand_health_count();
    struct scomp_media *m = (struct scomp_media *)admin_buffer;
    memcpy(m->id, nand_geo.id, sizeof m->id);
    memcpy(m->model, nand_geo.model, sizeof m->model);
    for (uint32_t i = 0; ftl.fault != NULL && i + 1 < sizeof m->fault && ftl.fault[i] != 0; i++) {
        m->fault[i] = (uint8_t)ftl.fault[i];
    }
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
    m->retry_levels = nand_geo.retry_levels;
    m->superblocks = sb.count;
    m->retries = nand_counters.retries;
    m->rescued = nand_counters.rescued;
    m->lost = nand_health_lost_count();
    m->parity = parity_on;
    m->rebuilt = nand_counters.rebuilt;
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        m->sectors_read[ch] = nand_health_counter(ch, NAND_SECTORS_READ);
        m->bits_corrected[ch] = nand_health_counter(ch, NAND_BITS_CORRECTED);
        m->sectors_failed[ch] = nand_health_counter(ch, NAND_SECTORS_FAILED);
    }
    for (uint32_t i = 0; i < NAND_LOST && i < m->lost; i++) {
        const struct nand_lost *l = nand_health_lost_at(i);
        m->error_lba[i] = l->lba;
        m->error_address[i] = l->address;
        m->error_found[i] = l->found;
    }
}
