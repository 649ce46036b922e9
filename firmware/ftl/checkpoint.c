/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints. Superblock 0 holds two root blocks that take root records in turn; then come two areas of superblocks in
 * which the changed map pages, directory pages and the superblock table are appended. When an area cannot take the next
 * checkpoint, or a checkpoint failed, everything goes to the area that the newest root record does not name, erased
 * first. The root record is written last, and never in place of the newest one. All of these take one sector each, the
 * first of a page of its own: what a program that fails or a power cut spoils is one of them.
 */
#include "ftl/checkpoint.h"

#include <assert.h>
#include <string.h>

#include "ftl/collect.h"
#include "ftl/ftl.h"
#include "ftl/root.h"
#include "lib/crc.h"
#include "platform/console.h"
#include "platform/work.h"

struct checkpoint_state ckpt;

#define TABLE_PER_PAGE (PAGE_SIZE / 8u)
/** Descriptors a checkpoint keeps in flight. */
#define WINDOW 64u
/** Entries of directories that a slice looks at. */
#define SCAN 256u

static_assert(WINDOW * PAGE_SIZE <= DRAM_META_COPIES_SIZE && ROOT_TABLE_PAGES <= WINDOW, "copies of pages");

static struct sb_erase area_erase;

static void checkpoint_init(void);

uint32_t checkpoint_meta_superblocks(void) {
    return ckpt.end;
}

bool checkpoint_areas(void) {
    uint32_t end = ckpt.first + 2 * ckpt.area_sbs;
    if (end > sb.count) {
        return false;
    }
    for (uint32_t n = 0; n < end; n++) {
        superblock_set_state(n, SB_META);
    }
    ckpt.end = end;
    sb.rotor = end;
    return true;
}

/** Sectors that one area takes: one full checkpoint and a quarter more in small ones. */
static uint32_t area_sectors(void) {
    return (ckpt.full_pages + ckpt.full_pages / 4 + 16) * nand_geo.sectors;
}

/** Sectors of the good blocks of area `area`. */
static uint32_t area_good(uint32_t area) {
    uint32_t good = 0;
    for (uint32_t n = 0; n < ckpt.area_sbs; n++) {
        good += bad_sectors(checkpoint_area_sb(area, n));
    }
    return good;
}

const char *checkpoint_areas_fit(void) {
    while (area_good(0) < area_sectors() || area_good(1) < area_sectors()) {
        if (ckpt.first + 2 * (ckpt.area_sbs + 1) > sb.count) {
            console_printf("ftl: checkpoints need two areas of %u sectors: superblocks %u to %u have too few\n",
                           area_sectors(), ckpt.first, sb.count - 1);
            return "too few good blocks where checkpoints have to be";
        }
        ckpt.area_sbs++;
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
    uint32_t blocks = sb.count * bad.units < BAD_MOST ? sb.count * bad.units : BAD_MOST;
    ckpt.full_pages = lbas_max / MAP_ENTRIES + 1 + (lbas_max >> MAP_DIR_BITS) + 1 +
                      (sb.count + TABLE_PER_PAGE - 1) / TABLE_PER_PAGE + (blocks + BAD_PER_PAGE - 1) / BAD_PER_PAGE;
    ckpt.area_sbs = (area_sectors() + sb.pages - 1) / sb.pages;
    checkpoint_areas();
    superblock_unchanged();
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
    return ckpt.first + area * ckpt.area_sbs + n;
}

void checkpoint_meta_seek(void) {
    cursor_seek(&ckpt.at, checkpoint_area_sb(ckpt.area, ckpt.used / sb.pages), ckpt.used % sb.pages);
}

uint32_t checkpoint_table_words(uint32_t i) {
    uint32_t words = i < ROOT_SB_PAGES ? 2 * ckpt.table_used : ckpt.bad;
    uint32_t before = (i < ROOT_SB_PAGES ? i : i - ROOT_SB_PAGES) * BAD_PER_PAGE;
    return words <= before ? 0 : words - before < BAD_PER_PAGE ? words - before : BAD_PER_PAGE;
}

uint32_t checkpoint_crc(uint32_t data, uint32_t words) {
    uint32_t crc = 0;
    for (uint32_t i = 0; i < words; i++) {
        crc = crc32c_word(crc, hal_read(data + i * 4));
    }
    return crc;
}

/** Sectors of the area behind ckpt.used whose blocks are good, of whole stripes. */
static uint32_t area_left(void) {
    uint32_t good = 0;
    uint32_t used = ckpt.used;
    for (uint32_t n = used / sb.pages; n < ckpt.area_sbs; n++) {
        uint32_t stripes = (sb.pages - used % sb.pages) / (bad.units * nand_geo.sectors);
        good += stripes * (bad.units - bad_blocks(checkpoint_area_sb(ckpt.area, n))) * nand_geo.sectors;
        used = (n + 1) * sb.pages;
    }
    return good;
}

/** The next page of the area; 0: there is none. */
static uint32_t meta_alloc(void) {
    while (ckpt.used < ckpt.area_sbs * sb.pages) {
        if (ckpt.at.left == 0) {
            cursor_open(&ckpt.at, checkpoint_area_sb(ckpt.area, ckpt.used / sb.pages));
        }
        uint32_t ppa = cursor_ppa(&ckpt.at);
        cursor_next_page(&ckpt.at);
        ckpt.used += nand_geo.sectors;
        if (!bad_at(ppa)) {
            return ppa;
        }
    }
    return 0;
}

/* ---- the steps of a checkpoint: erase the other area, map pages, directory pages, table, root ---- */

enum step { STEP_MAP, STEP_DIR, STEP_TABLE, STEP_ROOT, STEP_DONE };

static struct {
    struct ftl_exclusive *owner;
    enum step step;
    bool clean;
    bool live;      /**< writes go on */
    bool begun;     /**< of such a one: what is to be its log is noted, and it waits for older writes */
    bool settling;  /**< .. it still waits */
    bool root_only; /**< nothing but the root record is new */
    bool whole;     /**< the root record says all anew: it does not repeat what the newest one says */
    bool failed;
    bool stepping;     /**< step() is on the stack */
    bool waits;        /**< for the root writer */
    bool root_pending; /**< the root record is on its way */
    uint32_t tries;    /**< blocks that turned out bad */
    uint32_t erase_sb; /**< next superblock of the area to erase, counted from its start */
    uint32_t in_flight;
    uint32_t index;          /**< progress inside the step */
    uint32_t scan_top;       /**< progress when the dirty list is incomplete */
    uint32_t bad_changed;    /**< pages of the list of bad blocks that are not in the area as they are */
    bool anew;               /**< everything goes to an area that was erased */
    uint32_t dirty_count;    /**< map pages in the list, or more than it takes */
    uint32_t extra;          /**< map pages that may be written twice before the area is too small */
    uint64_t buffers;        /**< of DRAM_META_COPIES in use, a bit each */
    uint32_t closings;       /**< superblocks that were full when it began */
    uint32_t trims, copies;  /**< ftl.log_trims, ftl.log_copies then */
    struct log_position log; /**< where recovery reads on from when it succeeds */
} job;

static void step(void);

static void checkpoint_init(void) {
    memset(&job, 0, sizeof job);
}

static void area_erased(struct sb_erase *e, bool ok) {
    (void)e;
    /* Blocks that were not erased are left out. */
    (void)ok;
    job.erase_sb++;
    step();
}

/** Program a page. False, and the checkpoint has failed: the area is full. */
static bool meta_submit(struct nand_op *op, uint32_t data, uint32_t oob0, uint32_t oob1) {
    uint32_t ppa = meta_alloc();
    if (ppa == 0) {
        job.failed = true;
        ckpt.rewrite = true;
        return false;
    }
    nand_program(op, ppa, data, oob0, oob1);
    job.in_flight++;
    nand_submit(op);
    return true;
}

/** Blocks of the area that may turn out bad in one checkpoint before it fails. */
#define META_TRIES 8u

/** What a page's program left to be done. */
enum outcome { WRITTEN, AGAIN, GIVEN_UP };

static enum outcome meta_ended(const struct nand_op *op, uint32_t status) {
    job.in_flight--;
    if (status == FLASH_STATUS_OK) {
        bad_worked(nand_op_ppa(op));
        return WRITTEN;
    }
    /* Others in flight to a block that has just failed may fail with it. */
    job.tries += !bad_at(nand_op_ppa(op));
    if (area_good(ckpt.area) >= area_sectors() + nand_geo.pages) {
        /* Otherwise the area could not do without it. */
        bad_block(nand_op_ppa(op), BAD_PROGRAM);
    }
    if (!job.failed && job.tries <= META_TRIES) {
        return AGAIN;
    }
    /* Marks of what was changed are gone: the next checkpoint writes everything. */
    job.failed = true;
    ckpt.rewrite = true;
    return GIVEN_UP;
}

/** Copy page `page` to copy `n`, where nothing changes it. */
static uint32_t meta_copy(uint32_t n, uint32_t page) {
    uint32_t to = DRAM_META_COPIES + n * PAGE_SIZE;
    for (uint32_t at = 0; at < PAGE_SIZE; at += 4) {
        hal_write(to + at, hal_read(page + at));
    }
    return to;
}

static void map_program(struct nand_op *op, uint32_t number, uint32_t data) {
    if (!meta_submit(op, data, OOB_META | number, ckpt.root_seq + 1)) {
        hal_write(map_dir_entry(number), hal_read(map_dir_entry(number)) & ~MAP_ENTRY_MARKS);
        nand_op_put(op);
    }
}

/** Program a copy of map page `number`. */
static void map_submit_copy(struct nand_op *op, uint32_t number) {
    uint32_t entry = map_dir_entry(number);
    uint32_t page = hal_read(entry) & ~MAP_ENTRY_MARKS;
    uint32_t n = 0;
    while ((job.buffers >> n & 1) != 0) {
        n++;
    }
    job.buffers |= 1ull << n;
    hal_write(entry, page);
    map_program(op, number, meta_copy(n, page));
}

/** Program map page `number`. One that changes on its way is copied then, and written once more. */
static void map_submit(struct nand_op *op, uint32_t number) {
    uint32_t page = hal_read(map_dir_entry(number)) & ~MAP_ENTRY_MARKS;
    if (!job.live) {
        hal_write(map_dir_entry(number), page);
    } else if (job.extra == 0) {
        map_submit_copy(op, number);
        return;
    } else {
        job.extra--;
        hal_write(map_dir_entry(number), page | MAP_ENTRY_FLYING);
    }
    map_program(op, number, page);
}

static void map_written(struct nand_op *op, uint32_t status) {
    uint32_t number = (uint32_t)(uintptr_t)op->arg;
    uint32_t ppa = nand_op_ppa(op);
    enum outcome outcome = meta_ended(op, status);
    if (outcome == AGAIN && meta_submit(op, op->w2, OOB_META | number, ckpt.root_seq + 1)) {
        return;
    }
    uint32_t entry = hal_read(map_dir_entry(number));
    bool touched = false;
    if (op->w2 - DRAM_META_COPIES < WINDOW * PAGE_SIZE) {
        job.buffers &= ~(1ull << (op->w2 - DRAM_META_COPIES) / PAGE_SIZE);
    } else if ((entry & MAP_ENTRY_FLYING) != 0) {
        touched = (entry & MAP_ENTRY_TOUCHED) != 0;
        hal_write(map_dir_entry(number), entry & ~MAP_ENTRY_MARKS);
        if (touched && outcome == WRITTEN && !job.failed) {
            map_submit_copy(op, number);
            step();
            return;
        }
        job.extra += outcome == WRITTEN;
    }
    nand_op_put(op);
    if (outcome == WRITTEN && !touched) {
        hal_write(map_dir_entry(number) + MAP_DIR_FLASH, ppa);
        map.top[number / MAP_ENTRIES].dirty = 1;
    }
    step();
}

/** Program the copies of `d`'s pages' addresses. False: there is no room. */
static bool dir_submit(struct nand_op *op, const struct map_dir *d) {
    uint32_t page = d->addr + MAP_DIR_FLASH;
    return meta_submit(op, page, OOB_DIR | (uint32_t)(d - map.top), checkpoint_crc(page, d->stored));
}

static void dir_written(struct nand_op *op, uint32_t status) {
    struct map_dir *d = op->arg;
    uint32_t ppa = nand_op_ppa(op);
    enum outcome outcome = meta_ended(op, status);
    if (outcome == AGAIN && dir_submit(op, d)) {
        return;
    }
    nand_op_put(op);
    if (outcome == WRITTEN) {
        d->ppa = ppa;
        d->dirty = 0;
    }
    step();
}

/** Program the copy of page `i` of the table. False: there is no room. */
static bool table_submit(struct nand_op *op, uint32_t i) {
    uint32_t copy = DRAM_META_COPIES + i * PAGE_SIZE;
    return meta_submit(op, copy, OOB_TABLE, checkpoint_crc(copy, checkpoint_table_words(i)));
}

static void table_written(struct nand_op *op, uint32_t status) {
    uint32_t ppa = nand_op_ppa(op);
    uint32_t page = (uint32_t)(uintptr_t)op->arg;
    enum outcome outcome = meta_ended(op, status);
    if (outcome == AGAIN && table_submit(op, page)) {
        return;
    }
    nand_op_put(op);
    if (outcome == WRITTEN) {
        ckpt.table[page] = ppa;
    }
    step();
}

/** The slice has come to its end: there may be more. */
#define LATER 0xfffffffeu

/** Number of the next map page to be written, SB_NONE, or LATER. */
static uint32_t next_dirty_map(void) {
    if (!map.all && job.dirty_count <= MAP_DIRTY_LIST) {
        uint32_t list = DRAM_DIRTY + (map.turn ^ 1) * PAGE_SIZE;
        return job.index < job.dirty_count ? hal_read(list + job.index++ * 4) : SB_NONE;
    }
    uint32_t due = MAP_ENTRY_DIRTY(map.turn ^ 1);
    uint32_t budget = SCAN;
    while (job.scan_top < MAP_TOP) {
        const struct map_dir *d = &map.top[job.scan_top];
        while (job.index < d->count) {
            if (job.live && budget-- == 0) {
                return LATER;
            }
            uint32_t i = job.index++;
            map.from = job.scan_top * MAP_ENTRIES + job.index;
            uint32_t page = hal_read(d->addr + i * 4);
            if (map.all ? page != 0 && page < map.end : (page & due) != 0) {
                return job.scan_top * MAP_ENTRIES + i;
            }
        }
        map.from = (job.scan_top + 1) * MAP_ENTRIES;
        job.index = 0;
        job.scan_top++;
    }
    return SB_NONE;
}

/** Whether page `i` of the table has to be written. */
static bool table_page_due(uint32_t i) {
    return i < ROOT_SB_PAGES ? i * TABLE_PER_PAGE < ckpt.table_used
                             : bad_page_due(i - ROOT_SB_PAGES, ckpt.bad, job.bad_changed, job.anew);
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
    superblock_unchanged();
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
    root_put(ckpt.bad);
    root_put(job.log.listed);
    root_put(ckpt.area_sbs);
    for (uint32_t i = 0; i < ROOT_TABLE_PAGES; i++) {
        root_put(ckpt.table[i]);
    }
    for (uint32_t t = 0; t < dirs; t++) {
        root_put(map.top[t].ppa);
        root_put(map.top[t].stored);
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

static void finish(void) {
    bool ok = !job.failed;
    struct ftl_exclusive *owner = job.owner;
    job.owner = NULL;
    if (ok) {
        ftl.clean = job.clean;
        ftl.failures = 0;
        ftl.read_only = false;
        if (job.whole) {
            ckpt.log = job.log;
            ckpt.root_area = ckpt.area;
        }
        if (!job.root_only) {
            if (!job.live) {
                ftl.changed = false;
            }
            ftl.unlogged = false;
            ckpt.rewrite = false;
            bad.saved = ckpt.bad;
            superblock_unlog(job.closings);
            collect_bad();
            ftl_log_restart(job.trims, job.copies);
        }
    } else {
        ftl.changed |= !job.root_only;
        ftl.owner_changed = true;
        ftl.read_only |= ++ftl.failures >= FTL_FAILURES || ckpt.root_lost;
    }
    append_list();
    if (job.live) {
        ftl_live_end(ok ? FTL_OK : FTL_MEDIA);
    } else {
        ftl_exclusive_end(owner, ok ? FTL_OK : FTL_MEDIA);
    }
}

/** Map pages are written: what changes from here on is for the next checkpoint. */
static void map_ended(void) {
    map.writing = false;
    map.all = false;
    ckpt.table_used = sb.used;
}

/** Descriptors in flight: beside writes one a way, or these would wait for many. */
static uint32_t window(void) {
    uint32_t ways = nand_geo.channels * nand_geo.ways;
    return job.live && ways < WINDOW ? ways : WINDOW;
}

/** Do as much as descriptors allow; every completion comes back here. */
static void step(void) {
    if (job.stepping || job.owner == NULL || job.waits || job.settling) {
        return;
    }
    job.stepping = true;
    while (job.erase_sb < ckpt.area_sbs && bad_sectors(checkpoint_area_sb(ckpt.area, job.erase_sb)) == 0) {
        job.erase_sb++;
    }
    if (job.erase_sb < ckpt.area_sbs && !job.failed) {
        if (!area_erase.active) {
            superblock_erase(&area_erase, checkpoint_area_sb(ckpt.area, job.erase_sb), area_erased);
        }
        job.stepping = false;
        /* An erase never ends inside superblock_erase: completions come from the main loop only. */
        return;
    }
    while (job.step < STEP_ROOT && job.in_flight < window()) {
        if (job.failed) {
            break;
        }
        struct nand_op *op = nand_op_get();
        if (op == NULL) {
            break;
        }
        if (job.step == STEP_MAP) {
            uint32_t number = next_dirty_map();
            if (number == LATER) {
                nand_op_put(op);
                work_set(WORK_CHECKPOINT);
                break;
            }
            if (number != SB_NONE) {
                op->done = map_written;
                op->arg = (void *)(uintptr_t)number;
                map_submit(op, number);
                continue;
            }
        } else if (job.step == STEP_DIR) {
            while (job.index < MAP_TOP && !map.top[job.index].dirty) {
                job.index++;
            }
            if (job.index < MAP_TOP) {
                op->done = dir_written;
                op->arg = &map.top[job.index];
                map.top[job.index].stored = map.top[job.index].count & 0x7fff;
                if (!dir_submit(op, &map.top[job.index])) {
                    nand_op_put(op);
                }
                job.index++;
                /* A checksum takes long: let others have a turn. The program's end leads back here. */
                break;
            }
        } else {
            while (job.index < ROOT_TABLE_PAGES && !table_page_due(job.index)) {
                job.index++;
            }
            if (job.index < ROOT_TABLE_PAGES) {
                op->done = table_written;
                op->arg = (void *)(uintptr_t)job.index;
                /* Erases that end meanwhile are counted there, and blocks that become bad are listed. */
                meta_copy(job.index, DRAM_TABLE + job.index * PAGE_SIZE);
                if (!table_submit(op, job.index)) {
                    nand_op_put(op);
                }
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
        if (job.step == STEP_DIR) {
            map_ended();
        } else if (job.step == STEP_TABLE) {
            ckpt.bad = bad_add_areas(ckpt.bad);
            job.bad_changed |= bad.changed;
        }
    }
    if (job.failed && job.in_flight == 0 && !job.root_pending && job.step < STEP_DONE) {
        ckpt.rewrite = true;
        map_ended();
        job.step = STEP_DONE;
    }
    if (job.step == STEP_ROOT && !job.root_pending) {
        if (root_busy()) {
            /* It lists a superblock. */
            job.waits = true;
        } else {
            root_start();
        }
    }
    job.stepping = false;
    if (job.step == STEP_DONE) {
        finish();
    }
}

/** Note where the log stands: recovery reads on from here. */
static void log_snapshot(enum append_point point) {
    const struct append *a = &append[point];
    job.log.sb[point] = a->cur.sb;
    job.log.left[point] = a->cur.left;
    if (a->next_ready) {
        job.log.list[job.log.listed++] = a->next | (point == APPEND_COPY ? ROOT_LIST_COPY : 0);
    }
    if (point == APPEND_HOST) {
        job.log.seq = ftl.seq;
    }
}

bool checkpoint_busy(void) {
    return job.owner != NULL && !job.live;
}

void checkpoint_listed(enum append_point point, uint32_t entry) {
    if (job.owner != NULL && job.live && job.begun && (point == APPEND_HOST || !job.settling)) {
        job.log.list[job.log.listed++] = entry;
    }
}

void checkpoint_unlisted(uint32_t entry) {
    /* None was added behind it: one is listed at a time. */
    if (job.owner != NULL && job.live && job.log.listed > 0 && job.log.list[job.log.listed - 1] == entry) {
        job.log.listed--;
    }
}

bool checkpoint_waits(void) {
    return job.owner != NULL && job.settling;
}

void checkpoint_run(struct ftl_exclusive *x) {
    checkpoint_start(x, ((const struct ftl_checkpoint *)x)->clean);
}

bool checkpoint_writes_pages(void) {
    return ftl.changed || ckpt.rewrite;
}

static void begin(void);
static void settled(void);

static void start(struct ftl_exclusive *x, bool clean, bool root_only, bool live) {
    memset(&job, 0, sizeof job);
    job.owner = x;
    job.clean = clean;
    job.live = live;
    job.erase_sb = ckpt.area_sbs;
    job.root_only = root_only;
    job.waits = root_busy();
    work_clear(WORK_CHECKPOINT);
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
    start(x, clean, !pages, false);
}

void checkpoint_live(struct ftl_exclusive *x) {
    bool pages = checkpoint_writes_pages();
    if (ckpt.root_lost || (pages && ftl.clean)) {
        ftl_live_end(FTL_MEDIA);
        return;
    }
    if (!pages && !ftl.owner_changed) {
        ftl_live_end(FTL_OK);
        return;
    }
    start(x, ftl.clean, !pages, true);
}

void checkpoint_poll(void) {
    work_clear(WORK_CHECKPOINT);
    step();
}

/** The superblocks that are listed are known: begin. Recovery will read on from here. */
static void begin(void) {
    log_snapshot(APPEND_HOST);
    job.closings = sb.closings;
    job.begun = true;
    if (job.root_only) {
        log_snapshot(APPEND_COPY);
        job.step = STEP_ROOT;
        step();
        return;
    }
    /* Of a superblock that is listed, but not open yet, a mount passes over the blocks that this list has: it must not
     * have any that the log will be in. */
    ckpt.bad = bad_snapshot();
    job.bad_changed = bad.changed;
    bad.changed = 0;
    if (job.live) {
        ftl.changed = false;
        job.settling = true;
        ftl_turn();
        work_set(WORK_COLLECT);
        checkpoint_look();
    } else {
        settled();
    }
}

void checkpoint_look(void) {
    if (job.settling && !job.waits && ftl_turn_left() == 0 && collect_idle() && ftl_running() == NULL) {
        job.waits = root_busy();
        if (!job.waits) {
            settled();
        }
    }
}

/** All that was written before is in the map, and collection has nothing on its way. */
static void settled(void) {
    job.settling = false;
    log_snapshot(APPEND_COPY);
    job.trims = ftl.log_trims;
    job.copies = ftl.log_copies;
    job.dirty_count = map.dirty_count;
    ckpt.table_used = sb.used;
    uint32_t dirty = map.dirty_count <= MAP_DIRTY_LIST ? map.dirty_count : map.pages;
    uint32_t need = dirty + MAP_TOP + ROOT_TABLE_PAGES;
    if (need > ckpt.full_pages) {
        need = ckpt.full_pages;
    }
    need += META_TRIES;
    map.turn ^= 1;
    map.dirty_count = 0;
    map.from = 0;
    map.end = DRAM_MAP + map.pages * PAGE_SIZE;
    map.writing = job.live;
    if (ckpt.rewrite || bad.rewrite || need * nand_geo.sectors > area_left()) {
        job.anew = true;
        bad.rewrite = false;
        ckpt.area = ckpt.root_area ^ 1;
        ckpt.used = 0;
        job.erase_sb = 0;
        map.all = true;
        for (uint32_t t = 0; t < MAP_TOP; t++) {
            map.top[t].dirty = map.top[t].addr != 0;
        }
        checkpoint_meta_seek();
        /* Until the root is written this area is not to be trusted. */
        ckpt.rewrite = true;
        need = ckpt.full_pages + META_TRIES;
    }
    uint32_t room = area_left() / nand_geo.sectors;
    job.extra = room > need ? room - need : 0;
    /* Entries lose their mark one by one from here on. */
    map.last_dirty = MAP_NO_PAGE;
    table_refresh();
    work_set(WORK_COLLECT);
    step();
}

void checkpoint_root_free(void) {
    if (!job.waits) {
        return;
    }
    job.waits = false;
    if (!job.begun) {
        begin();
    } else if (job.settling) {
        checkpoint_look();
    } else {
        step();
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
        uint32_t ppa = hal_read(map_dir_entry(i) + MAP_DIR_FLASH);
        *tag = OOB_META | i++;
        if (ppa != 0) {
            *n = ROOT_TABLE_PAGES + MAP_TOP + i;
            return ppa;
        }
    }
    return 0;
}

void checkpoint_mark_dirty_run(struct ftl_exclusive *x) {
    start(x, false, true, false);
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
    /* Which blocks came bad has to be on the medium before anything else is: a mount does not look for their marks. */
    c = (struct ftl_checkpoint){
        .x = {.run = bad.count > 0 ? checkpoint_run : checkpoint_mark_dirty_run, .done = format_ended}};
    ftl_exclusive(&c.x);
    ftl_boot_wait(&format_flag);
    /* The areas' contents are unknown, whatever the root says. */
    ckpt.rewrite = true;
    return ftl.fault;
}
