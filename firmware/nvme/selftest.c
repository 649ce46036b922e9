// SPDX-License-Identifier: BSD-3-Clause
/*
 * Device self-tests. Three segments follow each other: DRAM that is free at the moment; pages of metadata, read again;
 * and blocks of the map, read again. The short test takes a sample of each, the extended one all metadata and all
 * blocks. It goes on in slices, with fewer reads in flight while commands of the host are under way.
 */
#include <string.h>

#include "media/health.h"
#include "nvme/nvme.h"
#include "platform/work.h"

enum { NO_TEST = 0, SHORT_TEST = 1, EXTENDED_TEST = 2, CODE_ABORT = 15 };
enum segment { SEGMENT_NONE = 0, SEGMENT_DRAM, SEGMENT_METADATA, SEGMENT_MEDIA, SEGMENT_END };
/** Byte of the saved NSID that stands for all. */
#define NSID_SAVED_ALL 0xffu
#define RESULTS        20u
#define RESULT_BYTES   28u
#define RESULT_UNUSED  15u
/* Which fields of a result are valid. */
#define VALID_NSID   1u
#define VALID_LBA    2u
#define VALID_STATUS 0xcu

/** Free buffers that are tested; words of one in a slice. */
#define DRAM_PAGES 4u
#define DRAM_SLICE 128u
/** Pages of metadata, and blocks, in the sample of a short test. */
#define SAMPLE 64u
/** Reads in flight. */
#define READS_IDLE 8u
#define READS_BUSY 1u
/** Entries of the map that a slice looks at. */
#define MAP_SLICE 256u

/** What the medium keeps of a test that has ended. */
struct test_saved {
    uint8_t code;    /**< kind of the test << 4 | result; 0: none */
    uint8_t segment; /**< first that has failed */
    uint8_t nsid;
    uint8_t valid; /**< VALID_LBA */
    uint32_t lba;
    uint32_t hours;
};
/** And of the one that is under way. */
struct test_state {
    uint8_t kind;
    uint8_t segment;
    uint8_t nsid;
    uint8_t failed; /**< first segment that has failed */
    uint32_t at;    /**< progress in the segment: word, number of the page, block */
    uint32_t lba;   /**< first block that could not be read */
};
static struct {
    struct test_state now;
    struct test_saved results[RESULTS]; /**< newest first */
} kept;
_Static_assert(SAVED_TESTS + sizeof kept <= FTL_OWNER_BYTES, "self-tests kept by the FTL");

static uint32_t in_flight;
static bool interrupted; /**< by a loss of power */
static uint32_t sampled; /**< reads of the short test in this segment */
static struct page_buffer *pages[DRAM_PAGES];

void test_keep(void) {
    memcpy(&ftl_owner_data[SAVED_TESTS / 4], &kept, sizeof kept);
}

static void pages_put(void) {
    for (uint32_t i = 0; i < DRAM_PAGES; i++) {
        if (pages[i] != NULL) {
            buffer_put(pages[i]);
            pages[i] = NULL;
        }
    }
}

/** The test under way ends with `result`. */
static void end(uint32_t result) {
    struct test_state *t = &kept.now;
    memmove(&kept.results[1], &kept.results[0], (RESULTS - 1) * sizeof kept.results[0]);
    kept.results[0] = (struct test_saved){.code = (uint8_t)(t->kind << 4 | result),
                                          .segment = t->failed,
                                          .nsid = t->nsid,
                                          .valid = t->failed == SEGMENT_MEDIA ? VALID_LBA : 0,
                                          .lba = t->lba,
                                          .hours = (uint32_t)health_hours()};
    *t = (struct test_state){0};
    pages_put();
    work_clear(WORK_TEST);
    health_save();
}

static void fail(enum segment segment, uint32_t lba) {
    if (kept.now.failed == SEGMENT_NONE) {
        kept.now.failed = (uint8_t)segment;
        kept.now.lba = lba;
    }
}

static void next_segment(void) {
    kept.now.segment++;
    kept.now.at = 0;
    sampled = 0;
    pages_put();
    /* Namespaces without blocks, and the controller alone, have no more than that. */
    bool media = kept.now.nsid == NSID_DRIVE || kept.now.nsid == NSID_SAVED_ALL;
    if (kept.now.segment == SEGMENT_END || (kept.now.segment == SEGMENT_MEDIA && !media)) {
        end(kept.now.failed != SEGMENT_NONE ? TEST_FAILED : TEST_PASSED);
    }
}

/* ---- DRAM ---- */

static void dram_slice(void) {
    uint32_t page = kept.now.at / (PAGE_SIZE / 4);
    if (page == DRAM_PAGES) {
        next_segment();
        return;
    }
    if (pages[page] == NULL) {
        pages[page] = buffer_get();
        if (pages[page] == NULL) {
            return;
        }
    }
    uint32_t from = pages[page]->addr + kept.now.at % (PAGE_SIZE / 4) * 4;
    for (uint32_t pass = 0; pass < 2; pass++) {
        uint32_t flip = pass == 0 ? 0 : UINT32_MAX;
        for (uint32_t i = 0; i < DRAM_SLICE * 4; i += 4) {
            hal_write(from + i, ((from + i) * 0x9e3779b1u) ^ flip);
        }
        for (uint32_t i = 0; i < DRAM_SLICE * 4; i += 4) {
            if (hal_read(from + i) != (((from + i) * 0x9e3779b1u) ^ flip)) {
                fail(SEGMENT_DRAM, 0);
            }
        }
    }
    kept.now.at += DRAM_SLICE;
}

/* ---- reads ---- */

/** Whether what `op` has read is what it was, and not something written elsewhere meanwhile. */
static bool current(const struct page_buffer *buffer, const struct nand_op *op) {
    uint32_t ppa = nand_op_ppa(op);
    if (buffer->owner == NULL) {
        return map_get(buffer->index) == ppa;
    }
    uint32_t n = buffer->index;
    uint32_t tag;
    return ftl_metadata(&n, &tag) == ppa && n == buffer->index + 1;
}

static void page_read(struct nand_op *op, uint32_t status) {
    struct page_buffer *buffer = op->arg;
    bool metadata = buffer->owner != NULL;
    uint32_t n = buffer->index;
    uint32_t tag = 0;
    bool bad = status != FLASH_STATUS_OK || (metadata && ftl_metadata(&n, &tag) != 0 && op->data0 != tag);
    if (bad && kept.now.kind != NO_TEST && current(buffer, op)) {
        if (!metadata) {
            nand_health_lost(buffer->index, op, status);
        }
        fail(metadata ? SEGMENT_METADATA : SEGMENT_MEDIA, metadata ? 0 : buffer->index);
    }
    buffer_put(buffer);
    in_flight--;
    work_set(WORK_TEST);
}

/** Read sector `ppa`: block `number`, or page `number` of the metadata. False without a buffer. */
static bool read(uint32_t ppa, uint32_t number, bool metadata) {
    struct page_buffer *buffer = buffer_get();
    if (buffer == NULL) {
        return false;
    }
    buffer->index = number;
    buffer->owner = metadata ? &kept : NULL;
    struct nand_op *op = buffer->op;
    op->done = page_read;
    op->arg = buffer;
    if (metadata) {
        nand_read(op, ppa, buffer->addr, PAGE_SIZE);
    } else {
        nand_read_block(op, ppa, number, buffer->addr);
    }
    in_flight++;
    nand_submit(op);
    return true;
}

static bool sample_full(void) {
    return kept.now.kind == SHORT_TEST && sampled == SAMPLE;
}

/** True when there was something to read. */
static bool metadata_next(void) {
    uint32_t n = kept.now.at;
    uint32_t tag;
    uint32_t ppa = sample_full() ? 0 : ftl_metadata(&n, &tag);
    if (ppa == 0) {
        if (in_flight == 0) {
            next_segment();
        }
        return false;
    }
    if (!read(ppa, n - 1, true)) {
        return false;
    }
    kept.now.at = n;
    sampled++;
    return true;
}

static bool media_next(void) {
    uint32_t step = kept.now.kind == SHORT_TEST && ftl.lbas > SAMPLE ? ftl.lbas / SAMPLE : 1;
    for (uint32_t i = 0; i < MAP_SLICE; i++) {
        uint32_t lba = kept.now.at;
        if (lba >= ftl.lbas) {
            if (in_flight == 0) {
                next_segment();
            }
            return false;
        }
        uint32_t ppa = map_get(lba);
        if (ppa > MAP_LOST) {
            if (!read(ppa, lba, false)) {
                return false;
            }
            /* The short test goes on with the next part of the drive. */
            kept.now.at = lba - lba % step + step;
            return true;
        }
        kept.now.at++;
    }
    return false;
}

void test_poll(void) {
    if (kept.now.kind == NO_TEST || controller != CTRL_READY || blocks_barred != NVME_OK) {
        work_clear(WORK_TEST);
        return;
    }
    if (kept.now.segment == SEGMENT_DRAM) {
        dram_slice();
        return;
    }
    uint32_t most = nvme_in_use(NVME_QUEUES) > nvme_in_use(0) ? READS_BUSY : READS_IDLE;
    while (in_flight < most && (kept.now.segment == SEGMENT_METADATA ? metadata_next() : media_next())) {
    }
    bool all_sent = kept.now.segment == SEGMENT_METADATA || kept.now.at >= ftl.lbas;
    if (in_flight >= most || (in_flight > 0 && all_sent)) {
        work_clear(WORK_TEST);
    }
}

void test_stop(enum test_result why) {
    if (kept.now.kind != NO_TEST) {
        end(why);
    }
}

void test_reset(void) {
    if (kept.now.kind == SHORT_TEST) {
        end(TEST_RESET);
    }
}

void test_go_on(void) {
    if (interrupted) {
        test_reset();
        interrupted = false;
    }
    work_put(WORK_TEST, kept.now.kind != NO_TEST);
}

void test_command(struct nvme_cmd *cmd) {
    uint32_t code = cmd->sqe[10] & 15u;
    uint32_t nsid = cmd_nsid(cmd);
    if (nsid != 0 && nsid != NSID_ALL && namespace_check(nsid) != NVME_OK) {
        nvme_refuse(cmd, namespace_check(nsid), 1);
    } else if (code == CODE_ABORT) {
        test_stop(TEST_ABORTED);
        nvme_complete(cmd, NVME_OK);
    } else if (code != SHORT_TEST && code != EXTENDED_TEST) {
        nvme_refuse(cmd, NVME_INVALID_FIELD, 10);
    } else if (kept.now.kind != NO_TEST) {
        nvme_complete(cmd, NVME_SELF_TEST_IN_PROGRESS);
    } else if (blocks_barred != NVME_OK) {
        nvme_complete(cmd, blocks_barred);
    } else {
        kept.now =
            (struct test_state){.kind = (uint8_t)code, .nsid = nsid == NSID_ALL ? NSID_SAVED_ALL : (uint8_t)nsid};
        next_segment();
        work_set(WORK_TEST);
        nvme_complete(cmd, NVME_OK);
    }
}

void test_init(void) {
    memcpy(&kept, &ftl_owner_data[SAVED_TESTS / 4], sizeof kept);
    memset(pages, 0, sizeof pages);
    in_flight = 0;
    sampled = 0;
    work_clear(WORK_TEST);
    interrupted = true;
}

uint32_t test_minutes(void) {
    /* Reads of 100 us, READS_IDLE at once. */
    uint64_t minutes = (uint64_t)ftl.lbas * 100u / READS_IDLE / 60000000u + 1;
    return minutes < 0xffff ? (uint32_t)minutes : 0xffff;
}

/** Per cent of the test under way. */
static uint32_t percent(void) {
    switch (kept.now.segment) {
    case SEGMENT_DRAM:
        return 0;
    case SEGMENT_METADATA:
        return 5;
    default:
        return 10 + (ftl.lbas > 0 ? (uint32_t)((uint64_t)kept.now.at * 90 / ftl.lbas) : 0);
    }
}

void test_log(void) {
    put8(0, kept.now.kind);
    put8(1, kept.now.kind != NO_TEST ? percent() : 0);
    for (uint32_t i = 0; i < RESULTS; i++) {
        const struct test_saved *r = &kept.results[i];
        uint32_t at = 4 + i * RESULT_BYTES;
        if (r->code == 0) {
            put8(at, RESULT_UNUSED);
            continue;
        }
        bool lba = r->valid == VALID_LBA;
        put8(at, r->code);
        put8(at + 1, r->segment);
        put8(at + 2, VALID_NSID | (lba ? VALID_LBA | VALID_STATUS : 0));
        put64(at + 4, r->hours);
        put32(at + 12, r->nsid == NSID_SAVED_ALL ? NSID_ALL : r->nsid);
        put64(at + 16, lba ? r->lba : 0);
        put8(at + 24, lba ? NVME_READ_ERROR >> 8 : 0);
        put8(at + 25, lba ? NVME_READ_ERROR & 0xff : 0);
    }
}
