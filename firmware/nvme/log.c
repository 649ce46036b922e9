/* SPDX-License-Identifier: BSD-3-Clause */
/* Log pages: error information, health, firmware slot, changed namespaces, command effects, programs, and the vendor's
 * counters. */
#include <string.h>

#include "nvme/nvme.h"
#include "platform/timer.h"

enum {
    LOG_ERROR = 0x01,
    LOG_HEALTH = 0x02,
    LOG_FIRMWARE = 0x03,
    LOG_NAMESPACES = 0x04,
    LOG_EFFECTS = 0x05,
    LOG_SELF_TEST = 0x06,
    LOG_SANITIZE = 0x81,
    LOG_PROGRAMS = 0x82,
    LOG_PROGRAM_TYPES = 0x83,
    LOG_RANGE_SETS = 0x84,
};

#define ERROR_ENTRIES (NVME_ELPE + 1u)
#define ERROR_BYTES   64u
/* Command effects: supported; changes blocks; changes namespace capabilities; no other command to the namespace. */
#define CSUPP 0x1u
#define LBCC  0x2u
#define NCC   0x4u
#define CSE   0x10000u

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

/** Entries since power-on: the newest is entry (errors - 1) % ERROR_ENTRIES of DRAM_ERRORS. */
static uint32_t errors;

void log_init(void) {
    errors = 0;
}

void log_error(const struct nvme_cmd *cmd, uint32_t status) {
    struct error_entry e = {.count = ++health.saved.errors,
                            .sqid = 0xffff,
                            .cid = 0xffff,
                            .status = (uint16_t)(status << 1),
                            .location = LOCATION_NONE};
    if (cmd != NULL) {
        e.sqid = cmd->op.owner;
        e.cid = cmd_id(cmd);
        e.location = cmd->location;
        e.nsid = cmd_nsid(cmd);
        if (status == NVME_READ_ERROR) {
            /* Of a copy from the drive to memory, too. */
            e.nsid = NSID_DRIVE;
            e.lba = cmd->lost_lba;
            e.vendor = SCOMP_LOG_MEDIA;
        } else if (cmd->op.owner > 0 && e.nsid == NSID_DRIVE) {
            e.lba = cmd->sqe[10] | (uint64_t)cmd->sqe[11] << 32;
        }
    }
    uint32_t words[ERROR_BYTES / 4];
    memcpy(words, &e, sizeof words);
    uint32_t at = DRAM_ERRORS + errors++ % ERROR_ENTRIES * ERROR_BYTES;
    for (uint32_t i = 0; i < ERROR_BYTES / 4; i++) {
        hal_write(at + i * 4, words[i]);
    }
    if (status == NVME_WRITE_FAULT) {
        health.saved.media_errors++;
    }
}

static void error_log(void) {
    for (uint32_t n = 0; n < ERROR_ENTRIES && n < errors; n++) {
        uint32_t at = DRAM_ERRORS + (errors - 1 - n) % ERROR_ENTRIES * ERROR_BYTES;
        for (uint32_t i = 0; i < ERROR_BYTES / 4; i++) {
            admin_buffer[n * (ERROR_BYTES / 4) + i] = hal_read(at + i * 4);
        }
    }
}

/** Opcodes with their effects; an entry of 0 ends a list. */
struct effect {
    uint8_t opcode;
    uint32_t effects;
};

static void effects_put(uint32_t base, const struct effect *list) {
    for (; list->effects != 0; list++) {
        admin_buffer[base + list->opcode] = list->effects;
    }
}

/** Commands of the admin queue, and of I/O queues for command set `csi`. */
static void effects_log(uint32_t csi) {
    static const struct effect admin[] = {{0x00, CSUPP},
                                          {0x01, CSUPP},
                                          {0x02, CSUPP},
                                          {0x04, CSUPP},
                                          {0x05, CSUPP},
                                          {0x06, CSUPP},
                                          {0x08, CSUPP},
                                          {0x09, CSUPP},
                                          {0x0a, CSUPP},
                                          {0x0c, CSUPP},
                                          {0x14, CSUPP},
                                          {0x80, CSUPP | LBCC | NCC | CSE},
                                          {0x84, CSUPP | LBCC | CSE},
                                          {SCOMP_OPCODE_ADMIN_FUNC_UNLOAD, CSUPP},
                                          {SCOMP_OPCODE_ADMIN_FUNC_LOAD, CSUPP},
                                          {SCOMP_OPCODE_ADMIN_NAND_BLOCK, CSUPP},
                                          {SCOMP_OPCODE_ADMIN_SESSION_END, CSUPP},
                                          {SCOMP_OPCODE_ADMIN_ACCESS, CSUPP},
                                          {0, 0}};
    static const struct effect admin_programs[] = {{0x85, CSUPP}, {0x88, CSUPP}, {0x89, CSUPP}, {0, 0}};
    static const struct effect nvm[] = {{0x00, CSUPP},
                                        {0x01, CSUPP | LBCC},
                                        {0x02, CSUPP},
                                        {0x04, CSUPP | LBCC},
                                        {0x05, CSUPP},
                                        {0x08, CSUPP | LBCC},
                                        {0x09, CSUPP | LBCC},
                                        {0x0c, CSUPP},
                                        {SCOMP_OPCODE_IO_ABORT, CSUPP},
                                        {SCOMP_OPCODE_IO_EXEC, CSUPP | LBCC},
                                        {SCOMP_OPCODE_IO_READ, CSUPP},
                                        {SCOMP_OPCODE_IO_FEED, CSUPP},
                                        {SCOMP_OPCODE_IO_SESSION_OPEN, CSUPP},
                                        {SCOMP_OPCODE_IO_SESSION_CLOSE, CSUPP},
                                        {0, 0}};
    static const struct effect memory[] = {
        {0x01, CSUPP | LBCC}, {0x02, CSUPP}, {0x04, CSUPP | LBCC}, {0x05, CSUPP | LBCC}, {0, 0}};
    static const struct effect compute[] = {{0x01, CSUPP | LBCC}, {0, 0}};
    effects_put(0, admin);
    if (controller_all_sets) {
        effects_put(0, admin_programs);
    }
    if (csi == CSI_NVM || csi == CSI_MEMORY || csi == CSI_COMPUTE) {
        effects_put(256, csi == CSI_NVM ? nvm : csi == CSI_MEMORY ? memory : compute);
    }
}

static void perf_log(void) {
    struct scomp_perf *p = (struct scomp_perf *)admin_buffer;
    p->time = time_now();
    p->fw_sleep = counter_read(ASSASIN_SYS_BASE + SYS_SLEEP_CYCLES_LO);
    struct csd_counters csd = csd_counters();
    p->fw_stream_pages = csd.pages;
    p->fw_stream_cycles = csd.cycles;
    p->cores = csd.cores;
    p->channels = nand_geo.channels;
    p->ways = nand_geo.ways;
    p->page_bytes = PAGE_SIZE;
    p->spare_bytes = nand_geo.spare;
    p->bus_cycles_page = nand_geo.bus_cycles;
    p->host_read_bytes = dma_counters.to_host;
    p->host_write_bytes = dma_counters.from_host;
    p->dram_read_bytes = counter_read(ASSASIN_SYS_BASE + SYS_DRAM_READ_LO);
    p->dram_write_bytes = counter_read(ASSASIN_SYS_BASE + SYS_DRAM_WRITE_LO);
    p->arch = sys_read(SYS_ARCH);
    p->slots = csd.slots;
    for (uint32_t i = 0; i < p->slots; i++) {
        p->slot_id[i] = sys_read(SYS_SLOT_ID + i * 4);
    }
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        uint32_t base = ASSASIN_FLASH_BASE + ch * ASSASIN_FLASH_STRIDE;
        p->bus_busy[ch] = counter_read(base + FLASH_BUS_BUSY_LO);
        p->data_bytes[ch] = counter_read(base + FLASH_DATA_BYTES_LO);
    }
    p->media_reads = nand_counters.reads + csd.media_pages;
    p->media_programs = nand_counters.programs;
    p->media_erases = nand_counters.erases;
    p->nvme_commands = nvme_counters.commands;
}

static void stages_log(void) {
    struct scomp_stages *s = (struct scomp_stages *)admin_buffer;
    s->time = time_now();
    s->fw_sleep = counter_read(ASSASIN_SYS_BASE + SYS_SLEEP_CYCLES_LO);
    s->reads = stage_reads;
    s->commands = nvme_counters.commands;
    s->fetch = counter_read(ASSASIN_NVME_BASE + NVME_FETCH_TIME_LO);
    s->decode = stage_cycles[STAGE_DECODE];
    s->prp = stage_cycles[STAGE_PRP];
    s->map = stage_cycles[STAGE_MAP];
    s->flash = stage_cycles[STAGE_FLASH];
    s->dma = stage_cycles[STAGE_DMA];
    s->complete = stage_cycles[STAGE_COMPLETE];
    s->post = counter_read(ASSASIN_NVME_BASE + NVME_POST_TIME_LO);
}

/** Fill admin_buffer with log page `lid`. Returns its bytes, 0 when there is no such page. */
static uint32_t fill(uint32_t lid, uint32_t csi) {
    switch (lid) {
    case LOG_ERROR:
        error_log();
        return ERROR_ENTRIES * ERROR_BYTES;
    case LOG_HEALTH:
        health_log();
        return 512;
    case LOG_FIRMWARE:
        put8(0, 1);
        memcpy((uint8_t *)admin_buffer + 8, FW_VERSION "        ", 8);
        return 512;
    case LOG_NAMESPACES:
        /* Namespaces neither come nor go nor change while the controller is enabled. */
        return 4096;
    case LOG_EFFECTS:
        effects_log(csi);
        return 4096;
    case LOG_SELF_TEST:
        test_log();
        return TEST_LOG_BYTES;
    case LOG_SANITIZE:
        sanitize_log();
        return 512;
    case LOG_PROGRAMS:
    case LOG_PROGRAM_TYPES:
    case LOG_RANGE_SETS:
        return controller_all_sets ? program_log(lid) : 0;
    case SCOMP_LOG_PERF:
        perf_log();
        return sizeof(struct scomp_perf);
    case SCOMP_LOG_STAGES:
        stages_log();
        return sizeof(struct scomp_stages);
    case SCOMP_LOG_MEDIA:
        media_log();
        return sizeof(struct scomp_media);
    case SCOMP_LOG_SESSIONS:
        return vendor_sessions_log();
    default:
        return 0;
    }
}

void log_command(struct nvme_cmd *cmd) {
    uint32_t lid = cmd->sqe[10] & 0xffu;
    uint64_t dwords = (cmd->sqe[10] >> 16 | (uint64_t)(cmd->sqe[11] & 0xffffu) << 16) + 1;
    uint64_t offset = cmd->sqe[12] | (uint64_t)cmd->sqe[13] << 32;
    uint32_t csi = cmd->sqe[14] >> 24;
    uint32_t nsid = cmd_nsid(cmd);
    /* Of a set that is defined but not offered no command is supported, which is what the page then says: nvme-cli asks
     * for zoned namespaces whenever there is more than one set. */
    bool csi_ok = csi == CSI_NVM || (controller_all_sets && csi <= CSI_COMPUTE);
    if (lid == LOG_EFFECTS && !csi_ok) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 14);
        return;
    }
    if (nsid != 0 && nsid != NSID_ALL && namespace_check(nsid) != NVME_OK) {
        nvme_refuse(cmd, namespace_check(nsid), 1);
        return;
    }
    memset(admin_buffer, 0, sizeof admin_buffer);
    uint32_t size = fill(lid, csi);
    if (size == 0) {
        nvme_refuse(cmd, NVME_LOG_INVALID, 10);
        return;
    }
    if ((offset & 3) != 0 || offset >= size) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 12);
        return;
    }
    if ((cmd->sqe[10] >> 15 & 1) == 0) {
        event_acknowledge(lid);
    }
    /* What lies behind the page's end is not sent. */
    uint64_t bytes = dwords * 4;
    if (bytes > size - offset) {
        bytes = size - offset;
    }
    memmove(admin_buffer, (const uint8_t *)admin_buffer + offset, (size_t)bytes);
    admin_send(cmd, (uint32_t)bytes);
}
