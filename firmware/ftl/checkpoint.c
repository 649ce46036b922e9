/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints. Superblock 0 holds two root blocks that take root records in turn; then come two areas of superblocks in
 * which the changed map pages, directory pages and the superblock table are appended. When an area cannot take the next
 * checkpoint, or a checkpoint failed, everything goes to the area that the newest root record does not name, erased
 * first. The root record is written last, and never in place of the newest one. All of these take one sector each, the
 * first of a page of its own: what a program that fails or a power cut spoils is one of them.
 */
#include "ftl/checkpoint.h"

#include <string.h>

#include "ftl/ftl.h"
#include "ftl/root.h"
#include "lib/crc.h"
#include "platform/console.h"

struct checkpoint_state ckpt;

#define TABLE_PER_PAGE (PAGE_SIZE / 8u)
/** Descriptors a checkpoint keeps in flight. */
#define WINDOW 64u

static struct sb_erase area_erase;

static void checkpoint_init(void);

uint32_t checkpoint_meta_superblocks(void) {
    return ckpt.end;
}

uint32_t checkpoint_log_superblocks(void) {
    return sb.count - ckpt.first - 2 * ckpt.area_sbs - sb.marked;
}

/** Superblocks from the first on of which a root record can say that the areas leave them out. */
#define SKIP_MOST (32u * ROOT_SKIP_WORDS)

static bool skipped(uint32_t n) {
    n -= ckpt.first;
    return n < SKIP_MOST && (ckpt.skip[n >> 5] >> (n & 31) & 1) != 0;
}

bool checkpoint_areas(void) {
    uint32_t need = 2 * ckpt.area_sbs;
    uint32_t n = 0;
    for (; n < sb.count && (n < ckpt.first || need > 0); n++) {
        bool bad = n >= ckpt.first && skipped(n);
        superblock_set_state(n, bad ? SB_BAD : SB_META);
        need -= n >= ckpt.first && !bad;
    }
    ckpt.end = n;
    sb.rotor = n;
    return need == 0;
}

const char *checkpoint_avoid(void) {
    uint32_t good = 0;
    uint32_t end = sb.count < ckpt.first + SKIP_MOST ? sb.count : ckpt.first + SKIP_MOST;
    for (uint32_t n = ckpt.first; n < end; n++) {
        if (sb.state[n] == SB_BAD) {
            ckpt.skip[(n - ckpt.first) >> 5] |= 1u << ((n - ckpt.first) & 31);
        }
        good += sb.state[n] != SB_BAD;
    }
    if (good < 2 * ckpt.area_sbs) {
        console_printf("ftl: superblocks %u to %u have %u without bad blocks; checkpoints need %u\n", ckpt.first,
                       end - 1, good, 2 * ckpt.area_sbs);
        return "too few good blocks where checkpoints have to be";
    }
    checkpoint_areas();
    return NULL;
}

void checkpoint_layout(void) {
    memset(&ckpt, 0, sizeof ckpt);
    uint32_t width = sb.pages / nand_geo.pages;
    /* One block wide superblocks: the second root block is superblock 1's. */
    ckpt.first = width > 1 ? 1 : 2;
    struct sb_cursor c;
    cursor_open(&c, 0);
    ckpt.root_block[0] = cursor_ppa(&c);
    if (width > 1) {
        cursor_next_page(&c);
    } else {
        cursor_open(&c, 1);
    }
    ckpt.root_block[1] = cursor_ppa(&c);
    uint32_t lbas_max = sb.count > MAP_MAX_LBAS / sb.pages ? MAP_MAX_LBAS : sb.count * sb.pages;
    ckpt.full_pages =
        lbas_max / MAP_ENTRIES + 1 + (lbas_max >> MAP_DIR_BITS) + 1 + (sb.count + TABLE_PER_PAGE - 1) / TABLE_PER_PAGE;
    /* Room for one full checkpoint and a quarter more in small ones. */
    uint32_t want = ckpt.full_pages + ckpt.full_pages / 4 + 16;
    ckpt.area_sbs = (want * nand_geo.sectors + sb.pages - 1) / sb.pages;
    checkpoint_areas();
    memset(sb.changed, 0, sizeof sb.changed);
    sb.used = 0;
    ckpt.rewrite = true;
    checkpoint_init();
    ckpt.log.sb[APPEND_HOST] = ckpt.log.sb[APPEND_COPY] = SB_NONE;
}

uint32_t checkpoint_root_pages(void) {
    return nand_geo.pages >> nand_geo.sector_log2;
}

uint32_t checkpoint_root_ppa(uint32_t which, uint32_t page) {
    return ckpt.root_block[which] + (page << nand_geo.sector_log2);
}

uint32_t checkpoint_area_sb(uint32_t area, uint32_t n) {
    n += area * ckpt.area_sbs;
    uint32_t at = ckpt.first;
    while (skipped(at) || n > 0) {
        n -= !skipped(at);
        at++;
    }
    return at;
}

void checkpoint_meta_seek(void) {
    cursor_seek(&ckpt.at, checkpoint_area_sb(ckpt.area, ckpt.used / sb.pages), ckpt.used % sb.pages);
}

uint32_t checkpoint_crc(uint32_t tag, uint32_t data) {
    uint32_t words;
    if (tag == OOB_TABLE) {
        uint32_t left = ckpt.table_used - (data - DRAM_TABLE) / 8;
        words = 2 * (left < TABLE_PER_PAGE ? left : TABLE_PER_PAGE);
    } else {
        words = map.top[tag & ~OOB_DIR].count;
    }
    uint32_t crc = 0;
    for (uint32_t i = 0; i < words; i++) {
        crc = crc32c_word(crc, hal_read(data + i * 4));
    }
    return crc;
}

static uint32_t meta_alloc(void) {
    if (ckpt.at.left == 0) {
        cursor_open(&ckpt.at, checkpoint_area_sb(ckpt.area, ckpt.used / sb.pages));
    }
    uint32_t ppa = cursor_ppa(&ckpt.at);
    cursor_next_page(&ckpt.at);
    ckpt.used += nand_geo.sectors;
    return ppa;
}

/* ---- the steps of a checkpoint: erase the other area, map pages, directory pages, table, root ---- */

enum step { STEP_MAP, STEP_DIR, STEP_TABLE, STEP_ROOT, STEP_DONE };

static struct {
    struct ftl_exclusive *owner;
    enum step step;
    bool clean;
    bool root_only; /**< nothing but the root record is new */
    bool whole;     /**< the root record says all anew: it does not repeat what the newest one says */
    bool failed;
    bool stepping;     /**< step() is on the stack */
    bool waits;        /**< for the root writer */
    bool root_pending; /**< the root record is on its way */
    uint32_t tries;    /**< programs that failed and were repeated on another page */
    uint32_t erase_sb; /**< next superblock of the area to erase, counted from its start */
    uint32_t in_flight;
    uint32_t index;          /**< progress inside the step */
    uint32_t scan_top;       /**< progress when the dirty list is incomplete */
    struct log_position log; /**< where recovery reads on from when it succeeds */
} job;

static void step(void);

static void checkpoint_init(void) {
    memset(&job, 0, sizeof job);
}

static void area_erased(struct sb_erase *e, bool ok) {
    (void)e;
    job.failed |= !ok;
    job.erase_sb++;
    step();
}

/** DRAM address of the directory's entry of map page `number`. */
static uint32_t dir_entry(uint32_t number) {
    return map.top[number / MAP_ENTRIES].addr + (number % MAP_ENTRIES) * 4;
}

static void meta_submit(struct nand_op *op, uint32_t data, uint32_t oob0, uint32_t oob1) {
    uint32_t ppa = meta_alloc();
    nand_program(op, ppa, data, oob0, oob1);
    job.in_flight++;
    nand_submit(op);
}

/** Where the page that `op` wrote is; the handler knows what it was by the argument. */
static uint32_t op_ppa(const struct nand_op *op) {
    return nand_op_ppa(op);
}

/** Pages of the area that may turn out bad in one checkpoint before it fails. */
#define META_TRIES 8u

/** What a page's program left to be done. */
enum outcome { WRITTEN, AGAIN, GIVEN_UP };

static enum outcome meta_ended(uint32_t status) {
    job.in_flight--;
    if (status == FLASH_STATUS_OK) {
        return WRITTEN;
    }
    if (!job.failed && job.tries++ < META_TRIES && ckpt.used < ckpt.area_sbs * sb.pages) {
        return AGAIN;
    }
    /* Marks of what was changed are gone: the next checkpoint writes everything. */
    job.failed = true;
    ckpt.rewrite = true;
    return GIVEN_UP;
}

static void map_written(struct nand_op *op, uint32_t status) {
    uint32_t number = (uint32_t)(uintptr_t)op->arg;
    uint32_t ppa = op_ppa(op);
    enum outcome outcome = meta_ended(status);
    if (outcome == AGAIN) {
        meta_submit(op, op->w2, OOB_META | number, ckpt.root_seq + 1);
        return;
    }
    nand_op_put(op);
    if (outcome == WRITTEN) {
        hal_write(dir_entry(number) + MAP_DIR_FLASH, ppa);
        map.top[number / MAP_ENTRIES].dirty = 1;
    }
    step();
}

static void dir_written(struct nand_op *op, uint32_t status) {
    struct map_dir *d = op->arg;
    uint32_t ppa = op_ppa(op);
    enum outcome outcome = meta_ended(status);
    if (outcome == AGAIN) {
        uint32_t tag = OOB_DIR | (uint32_t)(d - map.top);
        meta_submit(op, op->w2, tag, checkpoint_crc(tag, op->w2));
        return;
    }
    nand_op_put(op);
    if (outcome == WRITTEN) {
        d->ppa = ppa;
        d->dirty = 0;
    }
    step();
}

static void table_written(struct nand_op *op, uint32_t status) {
    uint32_t ppa = op_ppa(op);
    uint32_t page = (uint32_t)(uintptr_t)op->arg;
    enum outcome outcome = meta_ended(status);
    if (outcome == AGAIN) {
        meta_submit(op, op->w2, OOB_TABLE, checkpoint_crc(OOB_TABLE, op->w2));
        return;
    }
    nand_op_put(op);
    if (outcome == WRITTEN) {
        ckpt.table[page] = ppa;
    }
    step();
}

/** Number of the next changed map page, or SB_NONE. */
static uint32_t next_dirty_map(void) {
    if (map.dirty_count <= MAP_DIRTY_LIST) {
        return job.index < map.dirty_count ? hal_read(DRAM_DIRTY + job.index++ * 4) : SB_NONE;
    }
    while (job.scan_top < MAP_TOP) {
        const struct map_dir *d = &map.top[job.scan_top];
        while (job.index < d->count) {
            uint32_t i = job.index++;
            if (hal_read(d->addr + i * 4) & MAP_ENTRY_DIRTY) {
                return job.scan_top * MAP_ENTRIES + i;
            }
        }
        job.index = 0;
        job.scan_top++;
    }
    return SB_NONE;
}

/** Copy changed entries of the superblock table to DRAM. */
static void table_refresh(void) {
    for (uint32_t i = 0; i < sb.used; i++) {
        if (sb.changed[i >> 3] == 0) {
            i |= 7;
        } else if (sb.changed[i >> 3] >> (i & 7) & 1) {
            uint32_t erases = hal_read(DRAM_TABLE + i * 8 + 4) & SB_TABLE_ERASES;
            hal_write(DRAM_TABLE + i * 8, superblock_valid(i));
            hal_write(DRAM_TABLE + i * 8 + 4, erases | (uint32_t)sb.state[i] << 16);
        }
    }
    memset(sb.changed, 0, sizeof sb.changed);
}

/* ---- root record ---- */

static void root_build(void) {
    uint32_t dirs = 0;
    for (uint32_t t = 0; t < MAP_TOP; t++) {
        if (map.top[t].ppa != 0) {
            dirs = t + 1;
        }
    }
    root_begin();
    root_put(ckpt.root_seq + 1);
    root_put(job.clean ? ROOT_CLEAN : 0);
    root_put(nand_geo.channels | nand_geo.ways << 8 | nand_geo.luns << 16 | nand_geo.planes << 24);
    root_put(nand_geo.blocks);
    root_put(nand_geo.pages | nand_geo.sector_log2 << 24);
    root_put(ftl.lbas);
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        root_put(job.log.sb[i]);
        root_put(job.log.left[i]);
    }
    root_put(job.log.seq);
    root_put(ckpt.area);
    root_put(ckpt.used);
    root_put(ckpt.table_used);
    root_put(ckpt.epoch);
    root_put(dirs);
    root_put(sb.marked);
    root_put(job.log.listed);
    for (uint32_t i = 0; i < ROOT_SKIP_WORDS; i++) {
        root_put(ckpt.skip[i]);
    }
    for (uint32_t i = 0; i < ROOT_TABLE_PAGES; i++) {
        root_put(ckpt.table[i]);
    }
    for (uint32_t t = 0; t < dirs; t++) {
        root_put(map.top[t].ppa);
        root_put(map.top[t].count);
    }
    root_end(&job.log);
}

static void root_ended(bool ok) {
    job.root_pending = false;
    job.failed |= !ok;
    job.step = STEP_DONE;
    step();
}

static void root_start(void) {
    job.root_pending = true;
    job.whole = !job.root_only || root_newest() == 0;
    root_write(job.whole ? root_build : job.clean ? root_clean : root_dirty, root_ended);
}

/* ---- run ---- */

/** Checkpoints that fail in a row before the drive takes no more writes: the log could not be kept short. */

static void finish(void) {
    bool ok = !job.failed;
    struct ftl_exclusive *owner = job.owner;
    job.owner = NULL;
    superblock_table_hold(false);
    if (ok) {
        ftl.clean = job.clean;
        ftl.failures = 0;
        ftl.read_only = false;
        if (job.whole) {
            ckpt.log = job.log;
            ckpt.root_area = ckpt.area;
        }
        if (!job.root_only) {
            ftl.changed = false;
            ftl.unlogged = false;
            ckpt.rewrite = false;
            superblock_unlog();
            ftl_log_restart();
        }
    } else {
        ftl.owner_changed = true;
        ftl.read_only |= ++ftl.failures >= FTL_FAILURES || ckpt.root_lost;
    }
    append_list();
    ftl_exclusive_end(owner, ok ? FTL_OK : FTL_MEDIA);
}

/** Do as much as descriptors allow; every completion comes back here. */
static void step(void) {
    if (job.stepping || job.owner == NULL || job.waits) {
        return;
    }
    job.stepping = true;
    if (job.erase_sb < ckpt.area_sbs && !job.failed) {
        if (!area_erase.active) {
            superblock_erase(&area_erase, checkpoint_area_sb(ckpt.area, job.erase_sb), area_erased);
        }
        job.stepping = false;
        /* An erase never ends inside superblock_erase: completions come from the main loop only. */
        return;
    }
    while (job.step < STEP_ROOT && job.in_flight < WINDOW) {
        if (job.failed) {
            break;
        }
        struct nand_op *op = nand_op_get();
        if (op == NULL) {
            break;
        }
        if (job.step == STEP_MAP) {
            uint32_t number = next_dirty_map();
            if (number != SB_NONE) {
                uint32_t page = hal_read(dir_entry(number)) & ~MAP_ENTRY_DIRTY;
                hal_write(dir_entry(number), page);
                op->done = map_written;
                op->arg = (void *)(uintptr_t)number;
                meta_submit(op, page, OOB_META | number, ckpt.root_seq + 1);
                continue;
            }
        } else if (job.step == STEP_DIR) {
            while (job.index < MAP_TOP && !map.top[job.index].dirty) {
                job.index++;
            }
            if (job.index < MAP_TOP) {
                op->done = dir_written;
                op->arg = &map.top[job.index];
                uint32_t page = map.top[job.index].addr + MAP_DIR_FLASH;
                uint32_t tag = OOB_DIR | job.index;
                meta_submit(op, page, tag, checkpoint_crc(tag, page));
                job.index++;
                /* A checksum takes long: let others have a turn. The program's end leads back here. */
                break;
            }
        } else {
            if (job.index * TABLE_PER_PAGE < ckpt.table_used) {
                op->done = table_written;
                op->arg = (void *)(uintptr_t)job.index;
                uint32_t page = DRAM_TABLE + job.index * PAGE_SIZE;
                meta_submit(op, page, OOB_TABLE, checkpoint_crc(OOB_TABLE, page));
                job.index++;
                break;
            }
        }
        nand_op_put(op);
        if (job.in_flight > 0) {
            break;
        }
        job.index = 0;
        job.step++;
        if (job.step == STEP_TABLE) {
            superblock_table_hold(true);
        }
    }
    if (job.failed && job.in_flight == 0 && !job.root_pending && job.step < STEP_DONE) {
        ckpt.rewrite = true;
        job.step = STEP_DONE;
    }
    if (job.step == STEP_ROOT && !job.root_pending) {
        if (!job.root_only) {
            map.dirty_count = 0;
        }
        root_start();
    }
    job.stepping = false;
    if (job.step == STEP_DONE) {
        finish();
    }
}

/** Note where the log stands: recovery reads on from here. */
static void log_snapshot(void) {
    job.log.listed = 0;
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        job.log.sb[i] = append[i].cur.sb;
        job.log.left[i] = append[i].cur.left;
        if (append[i].next_ready) {
            job.log.list[job.log.listed++] = append[i].next | (i == APPEND_COPY ? ROOT_LIST_COPY : 0);
        }
    }
    job.log.seq = ftl.seq;
    ckpt.table_used = sb.used;
}

bool checkpoint_busy(void) {
    return job.owner != NULL;
}

void checkpoint_run(struct ftl_exclusive *x) {
    checkpoint_start(x, ((const struct ftl_checkpoint *)x)->clean);
}

bool checkpoint_writes_pages(void) {
    return ftl.changed || ckpt.rewrite;
}

static void begin(void);

static void start(struct ftl_exclusive *x, bool clean, bool root_only) {
    memset(&job, 0, sizeof job);
    job.owner = x;
    job.clean = clean;
    job.erase_sb = ckpt.area_sbs;
    job.root_only = root_only;
    job.waits = root_busy();
    if (!job.waits) {
        begin();
    }
}

void checkpoint_start(struct ftl_exclusive *x, bool clean) {
    bool pages = checkpoint_writes_pages();
    if (ckpt.root_lost || (pages && ftl.clean)) {
        /* Pages may only follow a root record that does not say "clean". */
        ftl_exclusive_end(x, FTL_MEDIA);
        return;
    }
    if (!pages && !ftl.owner_changed && ftl.clean == clean) {
        ftl_exclusive_end(x, FTL_OK);
        return;
    }
    start(x, clean, !pages);
}

/** The superblocks that will be listed are known: begin. */
static void begin(void) {
    log_snapshot();
    if (job.root_only) {
        job.step = STEP_ROOT;
        step();
        return;
    }
    uint32_t dirty = map.dirty_count <= MAP_DIRTY_LIST ? map.dirty_count : map.pages;
    uint32_t need = dirty + MAP_TOP + ROOT_TABLE_PAGES;
    if (need > ckpt.full_pages) {
        need = ckpt.full_pages;
    }
    need += META_TRIES;
    if (ckpt.rewrite || ckpt.used + need * nand_geo.sectors > ckpt.area_sbs * sb.pages) {
        ckpt.area = ckpt.root_area ^ 1;
        ckpt.used = 0;
        job.erase_sb = 0;
        map_dirty_all();
        for (uint32_t t = 0; t < MAP_TOP; t++) {
            map.top[t].dirty = map.top[t].addr != 0;
        }
        checkpoint_meta_seek();
        /* Until the root is written this area is not to be trusted. */
        ckpt.rewrite = true;
    }
    /* Entries lose their mark one by one from here on. */
    map.last_dirty = MAP_NO_PAGE;
    table_refresh();
    step();
}

void checkpoint_root_free(void) {
    if (job.waits) {
        job.waits = false;
        begin();
    }
}

uint32_t ftl_metadata(uint32_t *n, uint32_t *tag) {
    for (; *n < ROOT_TABLE_PAGES; ++*n) {
        if (ckpt.table[*n] != 0) {
            *tag = OOB_TABLE;
            return ckpt.table[(*n)++];
        }
    }
    for (; *n < ROOT_TABLE_PAGES + MAP_TOP; ++*n) {
        uint32_t t = *n - ROOT_TABLE_PAGES;
        if (map.top[t].ppa != 0) {
            *tag = OOB_DIR | t;
            ++*n;
            return map.top[t].ppa;
        }
    }
    for (uint32_t i = *n - ROOT_TABLE_PAGES - MAP_TOP; i / MAP_ENTRIES < MAP_TOP;) {
        const struct map_dir *d = &map.top[i / MAP_ENTRIES];
        if (i % MAP_ENTRIES >= d->count) {
            i += MAP_ENTRIES - i % MAP_ENTRIES;
            continue;
        }
        uint32_t ppa = hal_read(dir_entry(i) + MAP_DIR_FLASH);
        *tag = OOB_META | i++;
        if (ppa != 0) {
            *n = ROOT_TABLE_PAGES + MAP_TOP + i;
            return ppa;
        }
    }
    return 0;
}

void checkpoint_mark_dirty_run(struct ftl_exclusive *x) {
    start(x, false, true);
}

/* ---- format ---- */

static void format_op_done(struct nand_op *op, uint32_t status) {
    *(bool *)op->arg |= status != FLASH_STATUS_OK;
    nand_op_put(op);
}

static bool format_flag;

static void format_ended(struct ftl_exclusive *x, enum ftl_status status) {
    (void)x;
    format_flag = false;
    if (status != FTL_OK) {
        ftl.fault = "formatting failed";
    }
}

const char *checkpoint_format(void) {
    static struct ftl_checkpoint c;
    ckpt.epoch = recover_epoch();
    ftl.seq = ckpt.epoch * 0x9e3779b1u;
    bool failed = false;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t ppa = ckpt.root_block[i];
        struct nand_op *op = nand_op_get();
        op->done = format_op_done;
        op->arg = &failed;
        nand_erase(op, ppa);
        nand_submit(op);
    }
    nand_wait_idle();
    if (failed) {
        return "a root block cannot be erased";
    }
    ckpt.root_which = 0;
    ckpt.root_newest = 0;
    ckpt.root_page = 0;
    ckpt.root_seq = 0;
    ckpt.rewrite = true;
    format_flag = true;
    /* Which superblocks are left out has to be on the medium before the log is: recovery follows it without them. */
    c = (struct ftl_checkpoint){
        .x = {.run = sb.marked > 0 ? checkpoint_run : checkpoint_mark_dirty_run, .done = format_ended}};
    ftl_exclusive(&c.x);
    ftl_boot_wait(&format_flag);
    /* The areas' contents are unknown, whatever the root says. */
    ckpt.rewrite = true;
    return ftl.fault;
}
