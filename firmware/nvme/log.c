/* Log pages: error information, health, firmware slot, command effects, and the vendor's performance counters. */
#include <string.h>

#include "nvme/nvme.h"
#include "stream/scomp.h"

enum { LOG_ERROR = 0x01, LOG_SMART = 0x02, LOG_FIRMWARE = 0x03, LOG_EFFECTS = 0x05 };

#define ERROR_ENTRIES (NVME_ELPE + 1u)
#define ERROR_BYTES   64u
#define EFFECT_CSUPP  1u
#define EFFECT_LBCC   2u
#define TEMPERATURE_K 313u

/** One entry of the error log, as on the wire. */
struct error_entry {
    uint64_t count;
    uint16_t sqid;
    uint16_t cid;
    uint16_t status; /**< status field with the phase bit 0 */
    uint16_t location;
    uint64_t lba;
    uint32_t nsid;
    uint8_t vendor;
    uint8_t transport;
    uint16_t reserved0;
    uint64_t specific;
    uint8_t reserved1[24];
};
static_assert(sizeof(struct error_entry) == ERROR_BYTES, "error log entry size");

/** Newest entry is errors[(error_count - 1) % ERROR_ENTRIES]; kept over controller resets. */
static struct error_entry errors[ERROR_ENTRIES];

void log_error(const struct nvme_cmd *cmd, uint32_t status) {
    struct error_entry *e = &errors[nvme_counters.error_entries % ERROR_ENTRIES];
    memset(e, 0, sizeof *e);
    e->count = ++nvme_counters.error_entries;
    e->sqid = cmd->sqid;
    e->cid = cmd_id(cmd);
    e->status = (uint16_t)(status << 1);
    e->location = 0xffffu; /* the parameter in error is not tracked */
    e->nsid = cmd_nsid(cmd);
    if (cmd->sqid > 0) {
        e->lba = cmd->sqe[10] | (uint64_t)cmd->sqe[11] << 32;
    }
    if (status == NVME_READ_ERROR || status == NVME_WRITE_FAULT) {
        nvme_counters.media_errors++;
    }
}

static void put_error(void) {
    struct error_entry *out = (struct error_entry *)admin_buffer;
    uint64_t n = nvme_counters.error_entries;
    for (uint32_t i = 0; i < ERROR_ENTRIES && i < n; i++) {
        out[i] = errors[(n - 1 - i) % ERROR_ENTRIES];
    }
}

static void put64(uint32_t at, uint64_t v) {
    admin_buffer[at / 4] = (uint32_t)v;
    admin_buffer[at / 4 + 1] = (uint32_t)(v >> 32);
}

/** Data units of the health log: thousands of 512 bytes, rounded up. */
static uint64_t data_units(uint64_t blocks) {
    return (blocks * (PAGE_SIZE / 512) + 999) / 1000;
}

static void put_smart(void) {
    uint8_t *b = (uint8_t *)admin_buffer;
    b[0] = ftl.lbas == 0 ? 0x08 : 0; /* critical warning: media read only or absent */
    b[1] = (uint8_t)TEMPERATURE_K;
    b[2] = (uint8_t)(TEMPERATURE_K >> 8);
    b[3] = 100; /* available spare, per cent */
    b[4] = 10;  /* its threshold */
    put64(32, data_units(nvme_counters.blocks_read));
    put64(48, data_units(nvme_counters.blocks_written));
    put64(64, nvme_counters.reads);
    put64(80, nvme_counters.writes);
    put64(160, nvme_counters.media_errors);
    put64(176, nvme_counters.error_entries);
}

static void put_effects(void) {
    static const uint8_t admin[] = {0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0xc0, 0xc1};
    static const uint8_t io[] = {0x00, 0x02, 0xc0, 0xc2, 0xc5};
    static const uint8_t io_changes[] = {0x01, 0x08, 0x09, 0xc1};
    for (uint32_t i = 0; i < sizeof admin; i++) {
        admin_buffer[admin[i]] = EFFECT_CSUPP;
    }
    for (uint32_t i = 0; i < sizeof io; i++) {
        admin_buffer[256 + io[i]] = EFFECT_CSUPP;
    }
    for (uint32_t i = 0; i < sizeof io_changes; i++) {
        admin_buffer[256 + io_changes[i]] = EFFECT_CSUPP | EFFECT_LBCC;
    }
}

static void put_perf(void) {
    struct scomp_perf *p = (struct scomp_perf *)admin_buffer;
    p->time = time_now();
    p->fw_sleep = counter_read(ASSASIN_SYS_BASE + SYS_SLEEP_CYCLES_LO);
    p->fw_stream_pages = stream_counters.pages;
    p->fw_stream_cycles = stream_counters.cycles;
    p->cores = scomp_cores;
    p->channels = nand_geo.channels;
    p->ways = nand_geo.ways;
    p->page_bytes = PAGE_SIZE;
    p->spare_bytes = nand_geo.spare;
    p->bus_cycles_page = nand_geo.bus_cycles;
    p->host_read_bytes = hdma_counters.to_host;
    p->host_write_bytes = hdma_counters.from_host;
    p->dram_read_bytes = counter_read(ASSASIN_SYS_BASE + SYS_DRAM_READ_LO);
    p->dram_write_bytes = counter_read(ASSASIN_SYS_BASE + SYS_DRAM_WRITE_LO);
    p->arch = sys_read(SYS_ARCH);
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        uint32_t base = ASSASIN_FLASH_BASE + ch * ASSASIN_FLASH_STRIDE;
        p->bus_busy[ch] = counter_read(base + FLASH_BUS_BUSY_LO);
        p->data_bytes[ch] = counter_read(base + FLASH_DATA_BYTES_LO);
    }
    p->media_reads = nand_counters.reads + stream_counters.media_pages;
    p->media_programs = nand_counters.programs;
    p->media_erases = nand_counters.erases;
    p->nvme_commands = nvme_counters.commands;
}

void log_command(struct nvme_cmd *cmd) {
    uint32_t lid = cmd->sqe[10] & 0xffu;
    uint64_t dwords = (cmd->sqe[10] >> 16 | (uint64_t)(cmd->sqe[11] & 0xffffu) << 16) + 1;
    uint64_t offset = cmd->sqe[12] | (uint64_t)cmd->sqe[13] << 32;
    uint32_t size;
    memset(admin_buffer, 0, sizeof admin_buffer);
    switch (lid) {
    case LOG_ERROR:
        put_error();
        size = ERROR_ENTRIES * ERROR_BYTES;
        break;
    case LOG_SMART:
        put_smart();
        size = 512;
        break;
    case LOG_FIRMWARE:
        ((uint8_t *)admin_buffer)[0] = 1;
        memcpy((uint8_t *)admin_buffer + 8, FW_VERSION "        ", 8);
        size = 512;
        break;
    case LOG_EFFECTS:
        put_effects();
        size = 4096;
        break;
    case SCOMP_LOG_PERF:
        put_perf();
        size = sizeof(struct scomp_perf);
        break;
    default:
        nvme_complete(cmd, NVME_LOG_INVALID);
        return;
    }
    if ((offset & 3) != 0 || offset >= size) {
        nvme_complete(cmd, NVME_INVALID_FIELD);
        return;
    }
    if ((cmd->sqe[10] >> 15 & 1) == 0) {
        async_event_unmask(lid);
    }
    /* What lies behind the page's end is not sent. */
    uint64_t bytes = dwords * 4;
    if (bytes > size - offset) {
        bytes = size - offset;
    }
    memmove(admin_buffer, (const uint8_t *)admin_buffer + offset, (size_t)bytes);
    admin_send(cmd, (uint32_t)bytes);
}
