// SPDX-License-Identifier: BSD-3-Clause
/*
 * Sectors of the log that cannot be read, after all repetitions, are made of the others of their stripe: some at a
 * time, some pages of each read at a time. When a die fails reads again and again, its sectors are rebuilt first, and
 * repeated only if that fails. Whoever asked gets them as if they had been read, and their superblock is emptied soon,
 * as one that fades. What a page holds that cannot be read either is taken for nothing: the metadata words tell whether
 * the rest fits together.
 */
#include <assert.h>
#include <string.h>

#include "ftl/checkpoint.h"
#include "ftl/parity.h"
#include "ftl/scan.h"
#include "platform/fill.h"

/** Sectors that are rebuilt at a time, and pages of its stripe that are read for each at a time. */
#define JOBS  4u
#define READS 8u
/** A read of so many bytes asks for the metadata words. */
#define WORDS_ONLY 64u
/** So many reads of a die that failed, and were rebuilt, with none between them that went well: further ones are
 * rebuilt before they are repeated. */
#define DEAF 4u

static_assert(JOBS * (READS + 1) * PAGE_SIZE <= DRAM_REBUILD_SIZE, "pages that rebuild sectors");
/* A mount has SCAN_MAX reads under way, all of which may wait here. */
static_assert(NAND_OPS >= SCAN_MAX + JOBS * READS, "operations of a mount");

/** A page that is read, or on its way into the sum. */
struct member {
    struct xor_source source;
    struct nand_op *op; /**< NULL: it is not read */
};

static struct job {
    struct nand_op *op; /**< read that is rebuilt; NULL: none */
    bool parity;        /**< the stripe's parity was found */
    bool data;          /**< more than the metadata words are asked for */
    uint32_t die;       /**< next one */
    uint32_t low, mix;  /**< metadata words so far */
    bool numbered;      /**< a page with data was found .. */
    uint32_t number;    /**< .. so that this is the sequence number of the superblock's first sector */
    struct xor_sum sum;
    struct member members[READS];
} jobs[JOBS];
/** Reads to be rebuilt. */
static struct list waiting;
/** go() is on the stack. */
static bool running;
/** The die that reads fail of most. */
static struct { uint32_t die, failures; } deaf;

static void go(void);

static void added(struct xor_sum *sum, struct list *awaited) {
    (void)sum;
    (void)awaited;
    go();
}

static bool rebuild(struct nand_op *op, uint32_t status);
static bool rebuild_first(struct nand_op *op, uint32_t status);

void rebuild_init(void) {
    memset(jobs, 0, sizeof jobs);
    for (uint32_t i = 0; i < JOBS; i++) {
        jobs[i].sum.added = added;
    }
    waiting = (struct list){0};
    running = false;
    deaf.failures = 0;
    nand_rebuild = rebuild;
    nand_rebuild_first = rebuild_first;
}

/** Memory of job `j`: the sum, behind it a page for each member. */
static uint32_t memory_of(const struct job *j) {
    return DRAM_REBUILD + (uint32_t)(j - jobs) * (READS + 1) * PAGE_SIZE;
}

/** The sector of the stripe of `ppa` that is on die `die`. */
static uint32_t on_die(uint32_t ppa, uint32_t die) {
    return bad_die_ppa(die) | (ppa_row(ppa) & ((1u << nand_geo.lun_shift) - 1));
}

/** Whether the block of `ppa` may hold a page of its stripe. */
static bool holds(uint32_t ppa) {
    return !bad_at(ppa) || bad_holds(ppa);
}

static void member_read(struct nand_op *op, uint32_t status) {
    struct member *m = op->arg;
    struct job *j = jobs + ((uint8_t *)m - (uint8_t *)jobs) / sizeof *jobs;
    uint32_t ppa = nand_op_ppa(op);
    m->op = NULL;
    if (status == FLASH_STATUS_OK) {
        deaf.failures = bad_die(ppa) == deaf.die ? 0 : deaf.failures;
        bool parity = oob_parity(op->data0);
        j->low ^= parity ? op->data0 - OOB_PARITY : parity_mark(op->data0);
        j->mix ^= parity ? op->data1 : parity_mix(op->data0, ppa);
        if (!parity) {
            j->numbered = true;
            j->number = op->data1 - superblock_position(ppa);
        }
        /* Two of them would be of different stripes. */
        j->mix ^= parity && j->parity;
        j->parity |= parity;
        if (j->data) {
            xor_add(&j->sum, &m->source, op->w2);
        }
    }
    nand_op_put(op);
    go();
}

/** Read what is still to be read, as much as there is room for. False: nothing is left. */
static bool read_more(struct job *j) {
    uint32_t ppa = nand_op_ppa(j->op);
    for (uint32_t i = 0; i < READS && j->die < parity_dies(); i++) {
        struct member *m = &j->members[i];
        if (m->op != NULL || m->source.from != 0) {
            continue;
        }
        uint32_t at = on_die(ppa, j->die);
        while (at == ppa || !holds(at)) {
            if (++j->die == parity_dies()) {
                return false;
            }
            at = on_die(ppa, j->die);
        }
        struct nand_op *op = nand_op_get();
        if (op == NULL) {
            work_set(WORK_PARITY);
            return true;
        }
        j->die++;
        m->op = op;
        op->done = member_read;
        op->arg = m;
        nand_read(op, at, memory_of(j) + (i + 1) * PAGE_SIZE, j->data ? NAND_SECTOR_DATA : WORDS_ONLY);
        nand_submit(op);
    }
    return j->die < parity_dies();
}

static bool busy(const struct job *j) {
    for (uint32_t i = 0; i < READS; i++) {
        if (j->members[i].op != NULL) {
            return true;
        }
    }
    return xor_busy(&j->sum);
}

/** A read of the die of `ppa` failed and was rebuilt. */
static void note_deaf(uint32_t ppa) {
    uint32_t die = bad_die(ppa);
    if (deaf.failures == 0) {
        deaf.die = die;
    }
    if (die != deaf.die) {
        deaf.failures--;
    } else if (deaf.failures < 2 * DEAF) {
        deaf.failures++;
    }
}

/** All has been read: hand the sector over. */
static void end(struct job *j) {
    struct nand_op *op = j->op;
    j->op = NULL;
    nand_outstanding--;
    uint32_t oob0 = parity_unmark(j->low & 0x3fffffffu);
    bool ok = j->parity && parity_mix(oob0, nand_op_ppa(op)) == j->mix &&
              (!op->check || ((oob0 ^ op->data0) & 0xfffffffu) == 0);
    if (!ok && op->attempt != 0) {
        nand_retry_start(op, op->status);
        return;
    }
    if (!ok) {
        nand_deliver(op, op->status);
        return;
    }
    if (j->data && j->sum.blank) {
        dram_zero(j->sum.at, PAGE_SIZE);
    }
    if (j->data && j->sum.at != op->w2) {
        for (uint32_t i = 0; i < op->bytes; i += 4) {
            hal_write(op->w2 + i, hal_read(j->sum.at + i));
        }
    }
    op->data0 = oob0;
    op->data1 = j->numbered ? j->number + superblock_position(nand_op_ppa(op)) : 0;
    op->errors = 0;
    op->code = 0;
    nand_counters.rebuilt++;
    note_deaf(nand_op_ppa(op));
    if (nand_faded != NULL) {
        nand_faded(nand_op_ppa(op));
    }
    nand_deliver(op, FLASH_STATUS_OK);
}

/** Begin with the next read that waits, if there is one and its stripe has its parity. */
static bool begin(struct job *j) {
    struct nand_op *op = CONTAINER_OR_NULL(waiting.first, struct nand_op, node);
    if (op == NULL || parity_pending(nand_op_ppa(op))) {
        return false;
    }
    list_take(&waiting);
    j->op = op;
    j->parity = false;
    j->numbered = false;
    j->die = 0;
    j->low = 0;
    j->mix = 0;
    j->data = op->bytes > WORDS_ONLY;
    j->sum.blank = true;
    j->sum.at = op->bytes == NAND_SECTOR_DATA && (op->w2 & 63) == 0 ? op->w2 : memory_of(j);
    return true;
}

/** Go on with `j`. True when that may let others go on, or this one once more. */
static bool step(struct job *j) {
    if (j->op == NULL && !begin(j)) {
        return false;
    }
    bool more = read_more(j);
    /* At boot nobody else looks at the engine. */
    bool waited = parity_mounting && xor_busy(&j->sum);
    while (parity_mounting && xor_busy(&j->sum)) {
        xor_poll();
    }
    if (more || busy(j)) {
        return more && waited;
    }
    end(j);
    return true;
}

static void go(void) {
    if (running) {
        return;
    }
    running = true;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t i = 0; i < JOBS; i++) {
            again |= step(&jobs[i]);
        }
    }
    running = false;
}

/** Whether a read of the log that ended with `status` is to be rebuilt. */
static bool wanted(const struct nand_op *op, uint32_t status) {
    uint32_t ppa = nand_op_ppa(op);
    bool found = status == FLASH_STATUS_UNCORRECTABLE || status == FLASH_STATUS_MISMATCH ||
                 status == FLASH_STATUS_MISDIRECTED || status == FLASH_STATUS_TIMEOUT ||
                 (op->check && (status == FLASH_STATUS_ERASED || status == FLASH_STATUS_FOREIGN));
    return parity_on && found && op->done != member_read && op->w2 != DRAM_DROP && superblock_has(ppa) &&
           ppa_block(ppa) >= checkpoint_meta_superblocks();
}

static void put(struct nand_op *op, uint32_t status, bool first) {
    op->status = (uint8_t)status;
    op->attempt = first;
    nand_outstanding++;
    list_put(&waiting, &op->node);
    go();
}

static bool rebuild(struct nand_op *op, uint32_t status) {
    if (!wanted(op, status)) {
        return false;
    }
    put(op, status, false);
    return true;
}

static bool rebuild_first(struct nand_op *op, uint32_t status) {
    if (deaf.failures < DEAF || bad_die(nand_op_ppa(op)) != deaf.die || !wanted(op, status)) {
        return false;
    }
    put(op, status, true);
    return true;
}

void rebuild_poll(void) {
    go();
}

void rebuild_wipe(void) {
    dram_zero(DRAM_REBUILD, DRAM_REBUILD_SIZE);
}
