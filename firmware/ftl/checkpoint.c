/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints. Changed map pages, directory pages and the superblock table are appended to an area, each in two copies
 * (meta.c). When the area cannot take the next checkpoint, or a checkpoint failed, everything goes to the area that the
 * newest root record does not name, erased first. The root record (root.c) is written last.
 */
#include "ftl/checkpoint.h"

#include <assert.h>
#include <string.h>

#include "ftl/area.h"
#include "ftl/collect.h"
#include "ftl/ftl.h"
#include "ftl/meta.h"
#include "ftl/pairs.h"
#include "ftl/root.h"
#include "ftl/rootfind.h"
#include "platform/console.h"
#include "platform/work.h"

struct checkpoint_state ckpt;

#define TABLE_PER_PAGE (PAGE_SIZE / 8u)
/** Entries of directories that a slice looks at. */
#define SCAN 256u

static struct sb_erase area_erase;

bool checkpoint_table_used(uint32_t i) {
    uint32_t words = i < ROOT_SB_PAGES ? 2 * ckpt.table_used : ckpt.bad;
    return words > (i < ROOT_SB_PAGES ? i : i - ROOT_SB_PAGES) * BAD_PER_PAGE;
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
    bool stepping;           /**< step() is on the stack */
    bool waits;              /**< for the root writer */
    bool root_pending;       /**< the root record is on its way */
    bool spoilt;             /**< it fails because of what is not its own, and is to be done again */
    bool exposed;            /**< nothing in flight can take what the root record will name */
    uint32_t erase_sb;       /**< next superblock of the area to erase, counted from its start */
    uint32_t index;          /**< progress inside the step */
    uint32_t scan_top;       /**< progress when the dirty list is incomplete */
    uint32_t bad_changed;    /**< pages of the list of bad blocks that are not in the area as they are */
    bool anew;               /**< everything goes to an area that was erased */
    uint32_t dirty_count;    /**< map pages in the list, or more than it takes */
    uint32_t extra;          /**< map pages that may be written twice before the area is too small */
    uint32_t closings;       /**< superblocks that were full when it began */
    uint32_t trims, copies;  /**< ftl.log_trims, ftl.log_copies then */
    struct log_position log; /**< where recovery reads on from when it succeeds */
} job;

static void step(void);

void checkpoint_init(void) {
    memset(&job, 0, sizeof job);
}

static void area_erased(struct sb_erase *e, bool ok) {
    (void)e;
    /* Blocks that were not erased are left out. */
    (void)ok;
    job.erase_sb++;
    step();
}

static void page_ended(struct meta_page *p, bool ok);

/** Start writing `p`: both copies of the page at `data`. */
static void page_write(struct meta_page *p, uint32_t tag, uint32_t data) {
    p->tag = tag;
    p->data = data;
    meta_write(p, page_ended);
}

/** Copy the page at `from` to the buffer of `p`, where nothing changes it. */
static uint32_t page_copy(const struct meta_page *p, uint32_t from) {
    uint32_t to = meta_buffer(p);
    for (uint32_t at = 0; at < PAGE_SIZE; at += 4) {
        hal_write(to + at, hal_read(from + at));
    }
    return to;
}

/** Write a copy of map page `number`. */
static void map_submit_copy(struct meta_page *p, uint32_t number) {
    uint32_t entry = map_dir_entry(number);
    uint32_t page = hal_read(entry) & ~MAP_ENTRY_MARKS;
    hal_write(entry, page);
    page_write(p, OOB_META | number, page_copy(p, page));
}

/** Write map page `number`. One that changes on its way is copied then, and written once more. */
static void map_submit(struct meta_page *p, uint32_t number) {
    uint32_t page = hal_read(map_dir_entry(number)) & ~MAP_ENTRY_MARKS;
    if (!job.live) {
        hal_write(map_dir_entry(number), page);
    } else if (job.extra == 0) {
        map_submit_copy(p, number);
        return;
    } else {
        job.extra--;
        hal_write(map_dir_entry(number), page | MAP_ENTRY_FLYING);
    }
    page_write(p, OOB_META | number, page);
}

/** The map page that is `p` has ended. True when it is written once more. */
static bool map_written(struct meta_page *p, bool ok) {
    uint32_t number = p->tag & ~OOB_META;
    uint32_t entry = hal_read(map_dir_entry(number));
    if ((entry & MAP_ENTRY_FLYING) != 0) {
        hal_write(map_dir_entry(number), entry & ~MAP_ENTRY_MARKS);
        if ((entry & MAP_ENTRY_TOUCHED) != 0) {
            if (ok && !job.failed) {
                map_submit_copy(p, number);
                return true;
            }
            return false;
        }
        job.extra += ok;
    }
    if (ok) {
        hal_write(map_dir_entry(number) + MAP_DIR_FLASH, p->ppa);
        map.top[number / MAP_ENTRIES].dirty = 1;
    }
    return false;
}

static void page_ended(struct meta_page *p, bool ok) {
    if (!ok) {
        /* Marks of what was changed are gone: the next checkpoint writes everything. */
        job.failed = true;
        ckpt.rewrite = true;
    }
    if (p->tag == OOB_TABLE) {
        ckpt.table[p->index] = ok ? p->ppa : ckpt.table[p->index];
    } else if ((p->tag & OOB_META) == OOB_META) {
        if (map_written(p, ok)) {
            step();
            return;
        }
    } else if (ok) {
        struct map_dir *d = &map.top[p->tag & ~OOB_DIR];
        d->ppa = p->ppa;
        d->dirty = 0;
    }
    meta_put(p);
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
    root_put(root_flags(job.clean));
    root_put(root_units());
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
    root_put(ckpt.stamp);
    root_put(ckpt.root_failed);
    root_put(job.log.tails);
    for (uint32_t i = 0; i < NAND_MAX_CHANNELS; i += 2) {
        root_put(nand_geo.enables[i] | (uint32_t)nand_geo.enables[i + 1] << 16);
    }
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

static void root_safe(struct pairs_wait *p) {
    (void)p;
    job.exposed = true;
    job.root_pending = false;
    step();
}

/** The root record names a map that has what was programmed a moment ago. */
static void root_prepare(void) {
    static struct pairs_wait relying;
    job.root_pending = true;
    relying.done = root_safe;
    pairs_settle(&relying, true);
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
        ftl.failures += !job.spoilt;
        ftl.read_only |= ftl.failures >= FTL_FAILURES || ckpt.root_lost;
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

/** Pages in flight: beside writes a program a way, or these would wait for many. */
static uint32_t window(void) {
    uint32_t pages = (nand_geo.channels * nand_geo.ways + 1) / 2;
    return job.live && pages < META_PAGES ? pages : META_PAGES;
}

/** Start writing the next page of this step. False: there is none, or `*later` there may be. */
static bool next_page(struct meta_page *p, bool *later) {
    if (job.step == STEP_MAP) {
        uint32_t number = next_dirty_map();
        *later = number == LATER;
        if (number != LATER && number != SB_NONE) {
            map_submit(p, number);
            return true;
        }
        return false;
    }
    if (job.step == STEP_DIR) {
        while (job.index < MAP_TOP && !map.top[job.index].dirty) {
            job.index++;
        }
        if (job.index < MAP_TOP) {
            struct map_dir *d = &map.top[job.index];
            d->stored = d->count & 0x7fff;
            page_write(p, OOB_DIR | job.index++, d->addr + MAP_DIR_FLASH);
            return true;
        }
        return false;
    }
    while (job.index < ROOT_TABLE_PAGES && !table_page_due(job.index)) {
        job.index++;
    }
    if (job.index < ROOT_TABLE_PAGES) {
        p->index = (uint8_t)job.index++;
        /* Erases that end meanwhile are counted there, and blocks that become bad are listed. */
        page_write(p, OOB_TABLE, page_copy(p, DRAM_TABLE + p->index * PAGE_SIZE));
        return true;
    }
    return false;
}

/** Do as much as descriptors allow; every completion comes back here. */
static void step(void) {
    if (job.stepping || job.owner == NULL || job.waits || job.settling) {
        return;
    }
    job.stepping = true;
    while (job.erase_sb < ckpt.area_sbs && bad_sectors(area_superblock(ckpt.area, job.erase_sb)) == 0) {
        job.erase_sb++;
    }
    if (job.erase_sb < ckpt.area_sbs && !job.failed) {
        if (!area_erase.active) {
            superblock_erase(&area_erase, area_superblock(ckpt.area, job.erase_sb), area_erased);
        }
        job.stepping = false;
        /* An erase never ends inside superblock_erase: completions come from the main loop only. */
        return;
    }
    while (job.step < STEP_ROOT && meta_in_flight() < window()) {
        if (job.failed) {
            break;
        }
        struct meta_page *p = meta_get();
        if (p == NULL) {
            if (meta_in_flight() == 0) {
                work_set(WORK_CHECKPOINT);
            }
            break;
        }
        bool later = false;
        if (next_page(p, &later)) {
            if (job.step == STEP_TABLE) {
                /* A copy takes long: let others have a turn. The program's end leads back here. */
                break;
            }
            continue;
        }
        meta_put(p);
        if (later) {
            work_set(WORK_CHECKPOINT);
            break;
        }
        if (meta_in_flight() > 0) {
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
    if (job.failed && meta_in_flight() == 0 && !job.root_pending && job.step < STEP_DONE) {
        ckpt.rewrite = true;
        map_ended();
        job.step = STEP_DONE;
    }
    if (job.step == STEP_ROOT && !job.root_pending) {
        if (!job.exposed) {
            root_prepare();
        }
        if (job.exposed && root_busy()) {
            /* It lists a superblock. */
            job.waits = true;
        } else if (job.exposed) {
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
    meta_begin();
    map.turn ^= 1;
    map.dirty_count = 0;
    map.from = 0;
    map.end = DRAM_MAP + map.pages * PAGE_SIZE;
    map.writing = job.live;
    if (ckpt.rewrite || bad.rewrite || need > area_left()) {
        job.anew = true;
        bad.rewrite = false;
        ckpt.area = ckpt.root_area ^ 1;
        ckpt.used = 0;
        ckpt.stamp = ckpt.stamp_next++;
        job.erase_sb = 0;
        map.all = true;
        for (uint32_t t = 0; t < MAP_TOP; t++) {
            map.top[t].dirty = map.top[t].addr != 0;
        }
        area_seek();
        /* Until the root is written this area is not to be trusted. */
        ckpt.rewrite = true;
        need = ckpt.full_pages + META_TRIES;
    }
    ckpt.exposed = pairs_rows(&ckpt.at);
    uint32_t room = area_left();
    job.extra = room > need ? room - need : 0;
    /* Entries lose their mark one by one from here on. */
    map.last_dirty = MAP_NO_PAGE;
    table_refresh();
    work_set(WORK_COLLECT);
    step();
}

void checkpoint_spoilt(void) {
    /* While it erases its area it has written none. */
    bool writes = job.owner != NULL && job.live && job.begun && !job.settling && job.erase_sb >= ckpt.area_sbs;
    if (writes && !job.exposed && !job.root_only) {
        job.failed = true;
        job.spoilt = true;
        work_set(WORK_CHECKPOINT);
    }
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

static void root_erased(struct nand_op *op, uint32_t status) {
    if (status != FLASH_STATUS_OK) {
        ckpt.root_failed |= 1u << (uintptr_t)op->arg;
    }
    nand_op_put(op);
}

/** Erase the candidates for root records: all of them may hold records of before. Those of a block that is not erased
 * are older than the new ones. */
static void roots_erase(void) {
    for (uint32_t i = 0; i < ckpt.roots; i++) {
        if ((ckpt.root_failed >> i & 1) == 0) {
            struct nand_op *op = nand_op_get();
            op->done = root_erased;
            op->arg = (void *)(uintptr_t)i;
            nand_erase(op, ckpt.root_block[i]);
            nand_submit(op);
        }
    }
    nand_wait_idle();
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
    ckpt.root_seq = 0;
    ckpt.epoch = root_find_epoch();
    ftl.seq = ckpt.epoch * 0x9e3779b1u;
    ckpt.stamp_next = ftl.seq;
    roots_erase();
    if (!root_fresh()) {
        return "no root block can be erased";
    }
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
