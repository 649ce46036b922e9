/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computational Programs. The host chooses the indices; the drive chooses the places of the functions behind them. A
 * program runs as a request of one piece, on the same cores and slots: the first ranges of its memory range set are its
 * input streams, the ranges behind them take its output streams.
 */
#include <string.h>

#include "csd/service.h"
#include "nvme/nvme.h"
#include "platform/dram.h"

#define EXECUTE     0x01u
#define RANGE_BYTES 32u /**< of a range as the host describes it */
/** Program types, of the vendor's range: an ELF for the ASSASIN cores; a struct scomp_kernel, which names a kernel in a
 * slot. */
#define TYPE_ELF    0xc0u
#define TYPE_KERNEL 0xc1u
/** Execute: ranges that the host describes, then the arguments. */
#define DATA_MOST (PROGRAM_RANGES * RANGE_BYTES + SCOMP_MAX_ARGS)
_Static_assert(PROGRAM_RANGES *RANGE_BYTES <= CSD_RUN_BEFORE, "ranges before the arguments of a run");
/** Entries of the program list, and of the other two lists of log pages. */
#define DESCRIPTOR 64u
#define LIST_ENTRY 32u

enum { LOG_PROGRAMS = 0x82, LOG_TYPES = 0x83, LOG_SETS = 0x84 };

static struct {
    uint64_t pid;
    uint32_t loaded; /**< bytes of a load that is not complete */
    uint8_t type, pit;
    bool active;
} programs[SCOMP_MAX_FUNCS];

/** Ranges are in DRAM: address and length, PROGRAM_RANGES for each set. */
static struct {
    uint8_t ranges; /**< 0: unused */
    uint8_t users;
} sets[PROGRAM_SETS];

void program_init(void) {
    program_reset();
}

void program_reset(void) {
    memset(programs, 0, sizeof programs);
    for (uint32_t i = 0; i < PROGRAM_SETS; i++) {
        sets[i].ranges = 0;
    }
}

/** Commands of programs are there with their command set, for their namespace or for none. */
static bool absent(struct nvme_cmd *cmd) {
    if (!controller_all_sets) {
        nvme_refuse(cmd, NVME_INVALID_OPCODE, 0);
        return true;
    }
    uint32_t nsid = cmd_nsid(cmd);
    if (nsid != 0 && nsid != NSID_ALL && nsid != NSID_COMPUTE) {
        nvme_refuse(cmd, namespace_check(nsid) == NVME_OK ? NVME_INVALID_NS : namespace_check(nsid), 1);
        return true;
    }
    return false;
}

/** The program index in dword `dword`, SCOMP_MAX_FUNCS when there is none. */
static uint32_t index_of(struct nvme_cmd *cmd, uint32_t dword) {
    uint32_t pind = cmd->sqe[dword] & 0xffffu;
    if (pind < SCOMP_MAX_FUNCS) {
        return pind;
    }
    nvme_refuse(cmd, NVME_PROGRAM_INDEX, dword);
    return SCOMP_MAX_FUNCS;
}

/* ---- load, activation ---- */

/** Program type of a function that is valid, whoever has loaded it. */
static uint8_t type_of(uint32_t pind) {
    return csd_function(pind).kernel ? TYPE_KERNEL : TYPE_ELF;
}

static void loaded(struct dma_job *job) {
    struct nvme_cmd *cmd = job->arg;
    uint32_t pind = cmd->sqe[10] & 0xffffu;
    uint32_t size = cmd->sqe[11];
    csd_filled(&cmd->op);
    if (job->error || cmd->op.abandoned) {
        nvme_complete(cmd, NVME_DATA_TRANSFER);
        return;
    }
    programs[pind].loaded += cmd->op.bytes;
    if (programs[pind].loaded < size) {
        nvme_complete(cmd, NVME_OK);
        return;
    }
    uint32_t error = csd_fill_end(pind, size);
    programs[pind].loaded = 0;
    programs[pind].type = (uint8_t)(cmd->sqe[10] >> 16);
    if (error == 0 && programs[pind].type != type_of(pind)) {
        error = csd_function(pind).kernel ? SCOMP_ELF_ERROR_NOT_ELF : SCOMP_ELF_ERROR_BAD_KERNEL;
        csd_invalidate(pind);
    }
    programs[pind].pit = (uint8_t)(cmd->sqe[10] >> 25 & 7u);
    programs[pind].pid = cmd->sqe[12] | (uint64_t)cmd->sqe[13] << 32;
    cmd->op.result[0] = error;
    nvme_complete(cmd, error == 0 ? NVME_OK : NVME_PROGRAM_DATA);
}

static void load_mapped(struct nvme_cmd *cmd) {
    uint32_t pind = cmd->sqe[10] & 0xffffu;
    struct csd_function f = csd_function(pind);
    if (f.used || f.loading) {
        nvme_refuse(cmd, NVME_PROGRAM_IN_USE, 10);
        return;
    }
    uint32_t to = csd_fill(&cmd->op, pind);
    if (to == 0) {
        nvme_complete(cmd, NVME_PROGRAM_RESOURCES);
        return;
    }
    nvme_transfer(cmd, to + cmd->sqe[15], cmd->op.bytes, false, loaded);
}

void program_load(struct nvme_cmd *cmd) {
    if (absent(cmd)) {
        return;
    }
    uint32_t pind = index_of(cmd, 10);
    if (pind == SCOMP_MAX_FUNCS) {
        return;
    }
    struct csd_function f = csd_function(pind);
    uint32_t size = cmd->sqe[11];
    uint32_t bytes = cmd->sqe[14];
    uint32_t offset = cmd->sqe[15];
    if (programs[pind].active || f.used || f.loading) {
        nvme_refuse(cmd, NVME_PROGRAM_IN_USE, 10);
        return;
    }
    if (cmd->sqe[10] >> 24 & 1) {
        /* The parts of a program that is not complete are unloaded too. */
        uint32_t status = f.valid || programs[pind].loaded > 0 ? NVME_OK : NVME_NO_PROGRAM;
        csd_remove(pind);
        memset(&programs[pind], 0, sizeof programs[pind]);
        nvme_complete(cmd, status);
        return;
    }
    if (offset == 0) {
        programs[pind].loaded = 0;
    }
    uint32_t type = cmd->sqe[10] >> 16 & 0xffu;
    if (type != TYPE_ELF && type != TYPE_KERNEL) {
        nvme_refuse(cmd, NVME_PROGRAM_TYPE, 10);
    } else if (size > SCOMP_MAX_ELF) {
        nvme_refuse(cmd, NVME_PROGRAM_TOO_BIG, 11);
    } else if (bytes == 0 || bytes > NVME_MDTS_BYTES || bytes > size) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 14);
    } else if (offset != programs[pind].loaded || offset > size - bytes) {
        /* The parts come in order. */
        nvme_refuse(cmd, NVME_INVALID_FIELD, 15);
    } else {
        cmd->op.bytes = bytes;
        nvme_map(cmd, bytes, load_mapped);
    }
}

void program_activation(struct nvme_cmd *cmd) {
    if (absent(cmd)) {
        return;
    }
    uint32_t pind = index_of(cmd, 10);
    uint32_t select = cmd->sqe[10] >> 16 & 15u;
    if (pind == SCOMP_MAX_FUNCS) {
        return;
    }
    struct csd_function f = csd_function(pind);
    if (select > 1) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 10);
    } else if (!f.valid || f.loading) {
        nvme_refuse(cmd, NVME_NO_PROGRAM, 10);
    } else if (select == 0 && f.used) {
        nvme_refuse(cmd, NVME_PROGRAM_IN_USE, 10);
    } else {
        programs[pind].active = select == 1;
        nvme_complete(cmd, NVME_OK);
    }
}

/* ---- memory range sets ---- */

static uint32_t set_range(uint32_t set, uint32_t n) {
    return DRAM_RANGES + (set * PROGRAM_RANGES + n) * 8u;
}

/** A range as the host describes it: four words of it. Returns a status. */
static uint32_t range_check(const uint32_t words[4], struct csd_range *range) {
    uint64_t start = words[2] | (uint64_t)words[3] << 32;
    if (words[0] != NSID_MEMORY) {
        return NVME_MEMORY_NS;
    }
    if (words[1] == 0 || (start & (RANGE_ALIGN - 1)) != 0 || start > DRAM_MEMORY_SIZE ||
        words[1] > DRAM_MEMORY_SIZE - start) {
        return NVME_RANGE_SET;
    }
    *range = (struct csd_range){.at = DRAM_MEMORY + (uint32_t)start, .bytes = words[1]};
    memory_touch(range->at, range->bytes);
    return NVME_OK;
}

/** Whether range `r` overlaps one of the first `n` of `ranges`. */
static bool overlaps(const struct csd_range *ranges, uint32_t n, const struct csd_range *r) {
    for (uint32_t i = 0; i < n; i++) {
        if (r->at < ranges[i].at + ranges[i].bytes && ranges[i].at < r->at + r->bytes) {
            return true;
        }
    }
    return false;
}

static void set_create(struct nvme_cmd *cmd) {
    struct csd_range ranges[PROGRAM_RANGES];
    uint32_t n = cmd->sqe[11] & 0xffu;
    uint32_t status = NVME_OK;
    for (uint32_t i = 0; i < n && status == NVME_OK; i++) {
        status = range_check(&admin_buffer[i * (RANGE_BYTES / 4)], &ranges[i]);
        if (status == NVME_OK && overlaps(ranges, i, &ranges[i])) {
            status = NVME_RANGES_OVERLAP;
        }
    }
    uint32_t set = 0;
    while (set < PROGRAM_SETS && sets[set].ranges != 0) {
        set++;
    }
    if (status == NVME_OK && set == PROGRAM_SETS) {
        status = NVME_MAX_RANGE_SETS;
    }
    if (status != NVME_OK) {
        nvme_complete(cmd, status);
        return;
    }
    sets[set].ranges = (uint8_t)n;
    for (uint32_t i = 0; i < n; i++) {
        hal_write(set_range(set, i), ranges[i].at);
        hal_write(set_range(set, i) + 4, ranges[i].bytes);
    }
    cmd->op.result[0] = set + 1;
    nvme_complete(cmd, NVME_OK);
}

void program_ranges(struct nvme_cmd *cmd) {
    if (absent(cmd)) {
        return;
    }
    uint32_t select = cmd->sqe[10] & 15u;
    uint32_t id = cmd->sqe[10] >> 16;
    uint32_t n = cmd->sqe[11] & 0xffu;
    if (select > 1) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 10);
    } else if (select == 1) {
        if (id == 0 || id > PROGRAM_SETS || sets[id - 1].ranges == 0) {
            nvme_refuse(cmd, NVME_RANGE_SET_ID, 10);
        } else if (sets[id - 1].users > 0) {
            nvme_refuse(cmd, NVME_RANGE_SET_IN_USE, 10);
        } else {
            sets[id - 1].ranges = 0;
            nvme_complete(cmd, NVME_OK);
        }
    } else if (n == 0) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 11);
    } else if (n > PROGRAM_RANGES) {
        nvme_refuse(cmd, NVME_MAX_RANGES, 11);
    } else {
        admin_receive(cmd, n * RANGE_BYTES, set_create);
    }
}

/* ---- execute ---- */

/** The run of `cmd` uses no range set any more. */
static void set_release(const struct nvme_cmd *cmd) {
    if (cmd->range_set != 0) {
        sets[cmd->range_set - 1].users--;
    }
}

/** The run of `cmd` is not to be. */
static void refuse(struct nvme_cmd *cmd, uint32_t status) {
    set_release(cmd);
    csd_run_close(&cmd->op);
    nvme_complete(cmd, status);
}

static void run_ended(struct csd_op *op, uint32_t status) {
    struct nvme_cmd *cmd = CONTAINER(op, struct nvme_cmd, op);
    set_release(cmd);
    nvme_complete(cmd, vendor_status(cmd, status));
}

/** Which of `n` ranges are inputs and outputs of `run`: CPARAM1's bytes 0 and 1 say it; 0: one input, the rest outputs.
 */
static uint32_t divide(const struct nvme_cmd *cmd, const struct csd_range *ranges, uint32_t n, struct csd_run *run) {
    run->in = cmd->sqe[10] & 0xffu;
    run->out = cmd->sqe[10] >> 8 & 0xffu;
    if (cmd->sqe[10] == 0) {
        run->in = 1;
        run->out = n > 9 ? 8 : n - 1;
    }
    if (run->in == 0 || run->in > SCOMP_MAX_STREAMS || run->out > SCOMP_MAX_STREAMS || run->in + run->out > n ||
        cmd->sqe[10] >> 16 != 0) {
        return NVME_INVALID_FIELD;
    }
    for (uint32_t i = run->in; i < run->in + run->out; i++) {
        if ((ranges[i].bytes & (RANGE_ALIGN - 1)) != 0) {
            return NVME_RANGE_SET;
        }
    }
    return NVME_OK;
}

/** The ranges that the host describes, before its arguments in DRAM. */
static uint32_t described_ranges(uint32_t n, uint32_t args, struct csd_range *ranges) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t words[4];
        for (uint32_t w = 0; w < 4; w++) {
            words[w] = hal_read(args - (n - i) * RANGE_BYTES + w * 4);
        }
        uint32_t status = range_check(words, &ranges[i]);
        if (status != NVME_OK) {
            return status;
        }
        if (overlaps(ranges, i, &ranges[i])) {
            return NVME_RANGES_OVERLAP;
        }
    }
    return NVME_OK;
}

/** Bytes of the data of `cmd` that describe ranges. */
static uint32_t described_bytes(const struct nvme_cmd *cmd) {
    return cmd->range_set != 0 ? 0 : cmd->sqe[3] * RANGE_BYTES;
}

/** The data of the command, if any, is there; its arguments are at DRAM cmd->args. */
static void start(struct nvme_cmd *cmd) {
    struct csd_range ranges[PROGRAM_RANGES];
    uint32_t n = cmd->sqe[3];
    uint32_t status = NVME_OK;
    if (cmd->range_set != 0) {
        n = sets[cmd->range_set - 1].ranges;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t at = set_range(cmd->range_set - 1u, i);
            ranges[i] = (struct csd_range){.at = hal_read(at), .bytes = hal_read(at + 4)};
        }
    } else {
        status = described_ranges(n, cmd->args, ranges);
    }
    struct csd_run run = {.function = cmd->sqe[2] & 0xffffu,
                          .ranges = ranges,
                          .args_bytes = cmd->op.bytes - described_bytes(cmd),
                          .kcycles = cmd->sqe[11]};
    if (status == NVME_OK) {
        status = divide(cmd, ranges, n, &run);
    }
    if (status != NVME_OK) {
        refuse(cmd, status);
        return;
    }
    cmd->op.done = run_ended;
    uint32_t refused = csd_run_start(&cmd->op, &run);
    if (refused != CSD_OK) {
        set_release(cmd);
        nvme_complete(cmd, refused == CSD_INVALID ? NVME_INVALID_FIELD : NVME_NO_PROGRAM);
    }
}

static void fetched(struct dma_job *job) {
    struct nvme_cmd *cmd = job->arg;
    /* The program may run for long, and others wait for lists. */
    nvme_unmap(cmd);
    if (job->error || csd_run_stopped(&cmd->op)) {
        refuse(cmd, job->error ? NVME_DATA_TRANSFER : NVME_ABORTED);
    } else {
        start(cmd);
    }
}

static void mapped(struct nvme_cmd *cmd) {
    nvme_transfer(cmd, cmd->args - described_bytes(cmd), cmd->op.bytes, false, fetched);
}

static void unmapped(struct nvme_cmd *cmd) {
    refuse(cmd, cmd->status);
}

void program_command(struct nvme_cmd *cmd) {
    if (cmd_opcode(cmd) != EXECUTE) {
        nvme_refuse(cmd, NVME_INVALID_OPCODE, 0);
        return;
    }
    uint32_t pind = index_of(cmd, 2);
    if (pind == SCOMP_MAX_FUNCS) {
        return;
    }
    uint32_t id = cmd->sqe[2] >> 16;
    uint32_t described = id != 0 ? 0 : cmd->sqe[3];
    /* A kernel may have cleared CDW4: then the ranges count themselves and CPARAM2 says how long the arguments are. */
    uint32_t bytes = cmd->sqe[4] != 0 ? cmd->sqe[4] : described * RANGE_BYTES + cmd->sqe[12];
    if (!csd_function(pind).valid) {
        nvme_refuse(cmd, NVME_NO_PROGRAM, 2);
    } else if (!programs[pind].active) {
        nvme_refuse(cmd, NVME_NOT_ACTIVATED, 2);
    } else if (id != 0 && (id > PROGRAM_SETS || sets[id - 1].ranges == 0)) {
        nvme_refuse(cmd, NVME_RANGE_SET_ID, 2);
    } else if (id == 0 && described > PROGRAM_RANGES) {
        nvme_refuse(cmd, NVME_MAX_RANGES, 3);
    } else if (id == 0 && described == 0) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 3);
    } else if (bytes > DATA_MOST || bytes < described * RANGE_BYTES ||
               bytes - described * RANGE_BYTES > SCOMP_MAX_ARGS) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 4);
    } else {
        cmd->args = csd_run_open(&cmd->op);
        if (cmd->args == 0) {
            nvme_complete(cmd, NVME_PROGRAM_RESOURCES);
            return;
        }
        cmd->range_set = (uint8_t)id;
        if (id != 0) {
            sets[id - 1].users++;
        }
        cmd->op.bytes = bytes;
        if (bytes == 0) {
            start(cmd);
            return;
        }
        cmd->unmapped = unmapped;
        nvme_map(cmd, bytes, mapped);
    }
}

/* ---- log pages ---- */

uint32_t program_log(uint32_t lid) {
    uint32_t entry = lid == LOG_PROGRAMS ? DESCRIPTOR : LIST_ENTRY;
    /* The header is as long as an entry, and begins with the number of them. */
    uint32_t at = entry;
    if (lid == LOG_TYPES) {
        put8(at, TYPE_ELF);
        put8(at + entry, TYPE_KERNEL);
        at += 2 * entry;
    } else if (lid == LOG_SETS) {
        /* An entry for each set that exists: its identifier, and its ranges. */
        for (uint32_t i = 0; i < PROGRAM_SETS; i++) {
            if (sets[i].ranges != 0) {
                put16(at, i + 1);
                put16(at + 2, sets[i].ranges);
                at += entry;
            }
        }
    } else {
        for (uint32_t i = 0; i < SCOMP_MAX_FUNCS; i++) {
            bool valid = csd_function(i).valid;
            put8(at, (valid ? 1u : 0) | (programs[i].active ? 4u : 0) | (uint32_t)programs[i].pit << 3);
            put8(at + 1, valid ? type_of(i) : programs[i].type);
            put64(at + 8, programs[i].pid);
            at += entry;
        }
    }
    put16(0, at / entry - 1);
    return at;
}
