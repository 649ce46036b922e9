/*
 * Mounting: newest root record, directory, map, then forward through the log by the spare areas.
 */
#include <string.h>

#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "lib/console.h"
#include "lib/crc.h"

/** Scan buffer: the page buffers of the host path are idle at boot. */
#define SCAN_BUFFER DRAM_BUFFERS
#define SCAN_MAX    256u

static struct scan_page {
    uint32_t ppa, oob0, oob1;
    bool bad;
} pages[SCAN_MAX];

static uint32_t load_errors;

static void scan_done(struct nand_op *op, uint32_t status) {
    struct scan_page *p = op->arg;
    p->oob0 = op->data0;
    p->oob1 = op->data1;
    p->bad = status != FLASH_STATUS_OK;
    nand_op_put(op);
}

static struct nand_op *op_wait(void) {
    struct nand_op *op;
    while ((op = nand_op_get()) == NULL) {
        if (sys_read(SYS_FLASH_PENDING) == 0) {
            hal_wfi();
        }
        nand_poll();
    }
    return op;
}

/** Start reading `bytes` of page `ppa` to DRAM `dst`. */
static void scan_read(struct scan_page *p, uint32_t ppa, uint32_t dst, uint32_t bytes) {
    struct nand_op *op = op_wait();
    p->ppa = ppa;
    *op = (struct nand_op){.done = scan_done,
                           .arg = p,
                           .way = ppa_way(ppa),
                           .op = FLASH_OP_READ,
                           .row = ppa_row(ppa),
                           .w2 = dst,
                           .bytes = bytes};
    nand_submit(op);
}

static bool blank(const struct scan_page *p) {
    return p->oob0 == OOB_BLANK && p->oob1 == OOB_BLANK;
}

/* ---- root ---- */

/** Read page `n` of root block `which` into DRAM_ROOT. */
static struct scan_page *root_read(uint32_t which, uint32_t n) {
    scan_read(&pages[0], cp.root_block[which] + n, DRAM_ROOT, PAGE_SIZE);
    nand_wait_idle();
    return &pages[0];
}

/** Whether DRAM_ROOT holds a good root record. */
static bool root_good(void) {
    uint32_t bytes = hal_read(DRAM_ROOT + 8);
    if (hal_read(DRAM_ROOT) != ROOT_MAGIC || bytes < ROOT_WORDS * 4 || bytes > PAGE_SIZE || (bytes & 3) != 0) {
        return false;
    }
    uint32_t crc = 0;
    for (uint32_t i = 8; i < bytes; i += 4) {
        crc = crc32c_word(crc, hal_read(DRAM_ROOT + i));
    }
    return crc == hal_read(DRAM_ROOT + 4);
}

/** Pages of root block `which` that are not blank: they are written in order, so doubling and then halving find the
 * border. */
static uint32_t root_count(uint32_t which) {
    uint32_t lo = 0;
    uint32_t hi = 1;
    while (hi <= nand_geo.pages && !blank(root_read(which, hi - 1))) {
        lo = hi;
        hi *= 2;
    }
    hi = hi <= nand_geo.pages ? hi - 1 : nand_geo.pages;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (blank(root_read(which, mid))) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

/** Newest good root of block `which`: its page, or SB_NONE; `*seq` its sequence number. */
static uint32_t root_newest(uint32_t which, uint32_t count, uint32_t *seq) {
    while (count > 0) {
        count--;
        root_read(which, count);
        if (root_good()) {
            *seq = hal_read(DRAM_ROOT + 12);
            return count;
        }
    }
    return SB_NONE;
}

/* ---- map ---- */

static void load_done(struct nand_op *op, uint32_t status) {
    uint32_t expected = (uint32_t)(uintptr_t)op->arg;
    if (status != FLASH_STATUS_OK || op->data0 != expected) {
        load_errors++;
    }
    nand_op_put(op);
}

static void load(uint32_t ppa, uint32_t dst, uint32_t oob0) {
    struct nand_op *op = op_wait();
    *op = (struct nand_op){.done = load_done,
                           .arg = (void *)(uintptr_t)oob0,
                           .way = ppa_way(ppa),
                           .op = FLASH_OP_READ,
                           .row = ppa_row(ppa),
                           .w2 = dst,
                           .bytes = PAGE_SIZE};
    nand_submit(op);
}

static uint32_t root_at;

static uint32_t root_get(void) {
    uint32_t v = hal_read(DRAM_ROOT + root_at);
    root_at += 4;
    return v;
}

/** Take everything from the root record in DRAM_ROOT. */
static const char *root_load(bool *clean) {
    root_at = 12;
    cp.root_seq = root_get();
    *clean = (root_get() & ROOT_CLEAN) != 0;
    uint32_t units = root_get();
    uint32_t blocks = root_get();
    uint32_t block_pages = root_get();
    if (units != (nand_geo.channels | nand_geo.ways << 8 | nand_geo.luns << 16 | nand_geo.planes << 24) ||
        blocks != nand_geo.blocks || block_pages != nand_geo.pages) {
        console_printf(
            "ftl: the medium was formatted for %u channels x %u ways x %u LUNs x %u planes x %u blocks x %u pages\n",
            units & 0xff, units >> 8 & 0xff, units >> 16 & 0xff, units >> 24, blocks, block_pages);
        return "medium of another geometry: start with the right one or format it";
    }
    uint32_t lbas = root_get();
    if (lbas > ftl.lbas) {
        return "medium of a larger capacity";
    }
    ftl.lbas = lbas;
    cp.log.sb = root_get();
    cp.log.left = root_get();
    cp.log.next = root_get();
    cp.log.rotor = root_get();
    cp.log.seq = root_get();
    cp.area = root_get();
    cp.used = root_get();
    cp.log.used = root_get();
    cp.epoch = root_get();
    uint32_t dirs = root_get();
    if (dirs > MAP_TOP || cp.log.used > sb.count || cp.used > cp.area_sbs * sb.pages || cp.area > 1) {
        return "root record out of range";
    }
    for (uint32_t i = 0; i < ROOT_TABLE_PAGES; i++) {
        cp.table[i] = root_get();
    }
    for (uint32_t i = 0; i * (PAGE_SIZE / 8) < cp.log.used; i++) {
        if (cp.table[i] != 0) {
            load(cp.table[i], DRAM_TABLE + i * PAGE_SIZE, OOB_TABLE);
        }
    }
    for (uint32_t t = 0; t < dirs; t++) {
        struct map_dir *d = &map.top[t];
        d->ppa = root_get();
        d->count = (uint16_t)root_get();
        if (d->ppa != 0) {
            d->addr = DRAM_DIRECTORY + map.dirs++ * MAP_DIR_STRIDE;
            dram_zero(d->addr, MAP_DIR_STRIDE);
            load(d->ppa, d->addr + MAP_DIR_FLASH, OOB_DIR | t);
        }
    }
    for (uint32_t i = 0; i < FTL_KEPT_BYTES / 4 && root_at < hal_read(DRAM_ROOT + 8); i++) {
        ftl_kept[i] = root_get();
    }
    nand_wait_idle();
    for (uint32_t i = checkpoint_meta_superblocks(); i < cp.log.used; i++) {
        if (cp.table[i / (PAGE_SIZE / 8)] == 0) {
            continue;
        }
        sb.valid[i] = hal_read(DRAM_TABLE + i * 8);
        uint32_t w = hal_read(DRAM_TABLE + i * 8 + 4);
        superblock_set_state(i, (enum sb_state)(w >> 16 & 0xff));
        if (w & SB_TABLE_LOOSE) {
            superblock_loose_add(i, 1);
        }
        map.mapped += sb.valid[i];
    }
    for (uint32_t t = 0; t < dirs; t++) {
        const struct map_dir *d = &map.top[t];
        for (uint32_t i = 0; d->addr != 0 && i < d->count; i++) {
            uint32_t ppa = hal_read(d->addr + MAP_DIR_FLASH + i * 4);
            if (ppa != 0) {
                uint32_t number = t * MAP_ENTRIES + i;
                load(ppa, map_make(number, false), OOB_META | number);
            }
        }
    }
    nand_wait_idle();
    memset(sb.changed, 0, sizeof sb.changed);
    return load_errors > 0 ? "a checkpoint page cannot be read" : NULL;
}

/* ---- roll forward ---- */

/** Apply the trim record at `ppa`. */
static void trim_apply(uint32_t ppa) {
    struct scan_page p;
    scan_read(&p, ppa, DRAM_TRIM, PAGE_SIZE);
    nand_wait_idle();
    uint32_t count = hal_read(DRAM_TRIM + 4);
    if (p.bad || hal_read(DRAM_TRIM) != OOB_TRIM || count > FTL_TRIM_RANGES) {
        console_printf("ftl: trim record at %08x damaged\n", ppa);
        return;
    }
    for (uint32_t r = 0; r < count; r++) {
        uint32_t lba = hal_read(DRAM_TRIM + 8 + r * 8);
        uint32_t left = hal_read(DRAM_TRIM + 12 + r * 8);
        while (left > 0 && lba < ftl.lbas) {
            uint32_t n = 1;
            if (map_page(lba) == DRAM_ZERO) {
                n = MAP_ENTRIES - (lba & (MAP_ENTRIES - 1));
                n = n < left ? n : left;
            } else {
                map_set(lba, 0);
            }
            lba += n;
            left -= n;
        }
    }
}

struct roll {
    uint32_t seq;          /**< expected next */
    uint32_t applied;      /**< pages of the log found */
    uint32_t misses;       /**< pages in a row that are not the log's */
    bool ragged;           /**< a page of the log behind one that is not, or one that is neither blank nor the log's */
    struct sb_cursor tail; /**< first page of the latest row of misses */
    uint32_t tail_seq;
};

/**
 * Read the pages of superblock `n` from `position` on. Every way programs in order, so one page of every way that is
 * not the log's proves the end, and any two rounds' worth of pages holds a whole round. Then false, else true: the log
 * may go on in the next superblock.
 */
static bool roll_superblock(struct roll *r, uint32_t n, uint32_t position) {
    uint32_t width = nand_geo.channels * nand_geo.ways;
    struct sb_cursor ahead;
    cursor_seek(&ahead, n, position);
    struct sb_cursor at = ahead;
    while (ahead.left > 0) {
        uint32_t batch = 0;
        while (batch < width && ahead.left > 0) {
            scan_read(&pages[batch], cursor_ppa(&ahead), SCAN_BUFFER + batch * 64, 64);
            cursor_next(&ahead);
            batch++;
        }
        nand_wait_idle();
        for (uint32_t i = 0; i < batch; i++, cursor_next(&at), r->seq++) {
            const struct scan_page *p = &pages[i];
            bool loose = (p->oob0 ^ OOB_LOOSE) < ftl.lbas;
            if (!p->bad && p->oob1 == r->seq && (p->oob0 < ftl.lbas || loose || p->oob0 == OOB_TRIM)) {
                r->ragged |= r->misses > 0;
                r->misses = 0;
                r->applied++;
                if (p->oob0 == OOB_TRIM) {
                    trim_apply(p->ppa);
                } else if (!loose) {
                    map_set(p->oob0, p->ppa);
                }
                continue;
            }
            if (r->misses == 0) {
                r->tail = at;
                r->tail_seq = r->seq;
            }
            r->ragged |= !blank(p);
            r->misses++;
        }
        if (r->misses >= 2 * width) {
            return false;
        }
    }
    return true;
}

/** Follow the log from the checkpoint on and leave ftl.cur and ftl.seq where it ends. Returns false when its end is
 * ragged. */
static bool roll_forward(uint32_t *applied) {
    struct roll r = {.seq = cp.log.seq};
    bool more = true;
    uint32_t n = cp.log.sb;
    if (n != SB_NONE) {
        more = roll_superblock(&r, n, sb.pages - cp.log.left);
    }
    while (more) {
        /* Look into the next superblock in line; without a page of the log it stays in line, whatever it holds. */
        struct roll before = r;
        uint32_t rotor = sb.rotor;
        uint32_t candidate = superblock_pick();
        if (candidate == SB_NONE) {
            break;
        }
        more = roll_superblock(&r, candidate, 0);
        if (r.applied == before.applied) {
            r = before;
            sb.rotor = rotor;
            break;
        }
        if (n != SB_NONE) {
            superblock_set_state(n, SB_CLOSED);
        }
        n = candidate;
        superblock_set_state(n, SB_OPEN);
        superblock_erased(n);
    }
    *applied = r.applied;
    ftl.cur = (struct sb_cursor){.sb = n};
    if (r.ragged) {
        /* Far from any sequence number that a lost page may carry. */
        ftl.seq = r.seq + sb.pages;
        return false;
    }
    if (r.misses > 0 && r.tail.sb == n) {
        ftl.cur = r.tail;
    }
    ftl.seq = r.misses > 0 ? r.tail_seq : r.seq;
    return true;
}

/**
 * Loose pages belonged to something that has not ended. Only now: which superblocks are in line has to be the same as
 * after the checkpoint itself.
 */
static void loose_forget(void) {
    for (uint32_t i = 0; i < sb.count; i++) {
        uint32_t pages = superblock_loose(i);
        if (pages != 0) {
            superblock_loose_add(i, -(int32_t)pages);
        }
    }
}

static bool boot_checkpoint_busy;

static void boot_checkpoint_done(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    boot_checkpoint_busy = false;
    if (status != FTL_OK) {
        ftl.fault = "the checkpoint after recovery failed";
    }
}

static const char *recover_roll(void) {
    uint32_t applied;
    bool smooth = roll_forward(&applied);
    loose_forget();
    ftl.changed = applied > 0;
    console_printf("ftl: recovered %u pages after the checkpoint, %u pages mapped%s\n", applied, map.mapped,
                   smooth ? "" : "; the log's end is ragged");
    if (!smooth) {
        /* Go on in a fresh superblock, from a checkpoint, so that nobody has to read past the ragged end again. */
        static struct ftl_checkpoint c;
        c = (struct ftl_checkpoint){.x.done = boot_checkpoint_done};
        ftl.changed = true;
        boot_checkpoint_busy = true;
        ftl_checkpoint(&c);
        ftl_boot_wait(&boot_checkpoint_busy);
    }
    return ftl.fault;
}

const char *recover_mount(bool *is_blank) {
    uint32_t count[2], page[2], seq[2] = {0, 0};
    load_errors = 0;
    for (uint32_t i = 0; i < 2; i++) {
        count[i] = root_count(i);
        page[i] = root_newest(i, count[i], &seq[i]);
    }
    if (page[0] == SB_NONE && page[1] == SB_NONE) {
        *is_blank = count[0] == 0 && count[1] == 0;
        return *is_blank ? NULL : "no root record is readable: format the medium";
    }
    uint32_t which = page[1] != SB_NONE && (page[0] == SB_NONE || seq[1] > seq[0]);
    cp.root_which = which;
    cp.root_page = count[which];
    root_read(which, page[which]);
    bool clean;
    const char *wrong = root_load(&clean);
    if (wrong != NULL) {
        return wrong;
    }
    ftl_reclaim();
    cp.suspect = !clean;
    ftl.clean = clean;
    ftl.unclean = !clean;
    checkpoint_meta_seek();
    /* A superblock opened ahead goes back in line: whether its erase had ended is not known. */
    sb.rotor = cp.log.rotor;
    if (cp.log.next != SB_NONE) {
        superblock_set_state(cp.log.next, SB_FREE);
        sb.rotor = cp.log.next;
    }
    if (!clean) {
        return recover_roll();
    }
    loose_forget();
    ftl.seq = cp.log.seq;
    if (cp.log.sb != SB_NONE) {
        cursor_seek(&ftl.cur, cp.log.sb, sb.pages - cp.log.left);
    }
    console_printf("ftl: clean medium, %u pages mapped\n", map.mapped);
    return NULL;
}

uint32_t recover_epoch(void) {
    uint32_t newest = 0;
    uint32_t epoch = 0;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t count = root_count(i);
        uint32_t seq;
        if (root_newest(i, count, &seq) != SB_NONE) {
            if (seq >= newest) {
                newest = seq;
                epoch = hal_read(DRAM_ROOT + ROOT_EPOCH_AT);
            }
        } else if (count > 0 && newest == 0) {
            epoch = (uint32_t)time_now() | 1u;
        }
    }
    return epoch + 1;
}
