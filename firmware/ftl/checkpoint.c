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
#include "lib/crc.h"
#include "platform/console.h"

struct checkpoint_state cp;

#define TABLE_PER_PAGE (PAGE_SIZE / 8u)
/** Descriptors a checkpoint keeps in flight. */
#define WINDOW 64u

static struct sb_erase area_erase;

uint32_t checkpoint_meta_superblocks(void) {
    return cp.end;
}

uint32_t checkpoint_log_superblocks(void) {
    return sb.count - cp.first - 2 * cp.area_sbs - sb.marked;
}

static bool skipped(uint32_t n) {
    n -= cp.first;
    return n < 32 * ROOT_SKIP_WORDS && (cp.skip[n >> 5] >> (n & 31) & 1) != 0;
}

bool checkpoint_areas(void) {
    uint32_t need = 2 * cp.area_sbs;
    uint32_t n = 0;
    for (; n < sb.count && (n < cp.first || need > 0); n++) {
        bool bad = n >= cp.first && skipped(n);
        superblock_set_state(n, bad ? SB_BAD : SB_META);
        need -= n >= cp.first && !bad;
    }
    cp.end = n;
    sb.rotor = n;
    return need == 0;
}

void checkpoint_avoid(void) {
    for (uint32_t n = cp.first; n < sb.count && n - cp.first < 32 * ROOT_SKIP_WORDS; n++) {
        if (sb.state[n] == SB_BAD) {
            cp.skip[(n - cp.first) >> 5] |= 1u << ((n - cp.first) & 31);
        }
    }
    if (!checkpoint_areas()) {
        cp.end = sb.count;
    }
}

void checkpoint_layout(void) {
    memset(&cp, 0, sizeof cp);
    uint32_t width = sb.pages / nand_geo.pages;
    /* One block wide superblocks: the second root block is superblock 1's. */
    cp.first = width > 1 ? 1 : 2;
    struct sb_cursor c;
    cursor_open(&c, 0);
    cp.root_block[0] = cursor_ppa(&c);
    if (width > 1) {
        cursor_next_page(&c);
    } else {
        cursor_open(&c, 1);
    }
    cp.root_block[1] = cursor_ppa(&c);
    uint32_t lbas_max = sb.count > MAP_MAX_LBAS / sb.pages ? MAP_MAX_LBAS : sb.count * sb.pages;
    cp.full_pages =
        lbas_max / MAP_ENTRIES + 1 + (lbas_max >> MAP_DIR_BITS) + 1 + (sb.count + TABLE_PER_PAGE - 1) / TABLE_PER_PAGE;
    /* Room for one full checkpoint and a quarter more in small ones. */
    uint32_t want = cp.full_pages + cp.full_pages / 4 + 16;
    cp.area_sbs = (want * nand_geo.sectors + sb.pages - 1) / sb.pages;
    checkpoint_areas();
    memset(sb.changed, 0, sizeof sb.changed);
    sb.used = 0;
    cp.suspect = true;
}

uint32_t checkpoint_root_pages(void) {
    return nand_geo.pages >> nand_geo.sector_log2;
}

uint32_t checkpoint_root_ppa(uint32_t which, uint32_t page) {
    return cp.root_block[which] + (page << nand_geo.sector_log2);
}

uint32_t checkpoint_area_sb(uint32_t area, uint32_t n) {
    n += area * cp.area_sbs;
    uint32_t at = cp.first;
    while (skipped(at) || n > 0) {
        n -= !skipped(at);
        at++;
    }
    return at;
}

void checkpoint_meta_seek(void) {
    cursor_seek(&cp.at, checkpoint_area_sb(cp.area, cp.used / sb.pages), cp.used % sb.pages);
}

uint32_t checkpoint_crc(uint32_t tag, uint32_t data) {
    uint32_t words;
    if (tag == OOB_TABLE) {
        uint32_t left = cp.log.used - (data - DRAM_TABLE) / 8;
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
    if (cp.at.left == 0) {
        cursor_open(&cp.at, checkpoint_area_sb(cp.area, cp.used / sb.pages));
    }
    uint32_t ppa = cursor_ppa(&cp.at);
    cursor_next_page(&cp.at);
    cp.used += nand_geo.sectors;
    return ppa;
}

/* ---- the steps of a checkpoint: erase the other area, map pages, directory pages, table, root ---- */

enum step { STEP_MAP, STEP_DIR, STEP_TABLE, STEP_ROOT, STEP_DONE };

static struct {
    struct ftl_exclusive *owner;
    enum step step;
    bool clean;
    bool root_only; /**< nothing but the root record is new */
    bool failed;
    bool stepping;     /**< step() is on the stack */
    bool root_pending; /**< the root record or its block's erase is in flight */
    bool root_moved;   /**< it goes to the other block because of failures */
    uint32_t root_tries;
    uint32_t tries;    /**< programs that failed and were repeated on another page */
    uint32_t erase_sb; /**< next superblock of the area to erase, counted from its start */
    uint32_t in_flight;
    uint32_t index;    /**< progress inside the step */
    uint32_t scan_top; /**< progress when the dirty list is incomplete */
} run;

static void step(void);

static void area_erased(struct sb_erase *e, bool ok) {
    (void)e;
    run.failed |= !ok;
    run.erase_sb++;
    step();
}

/** DRAM address of directory slot of map page `number`. */
static uint32_t dir_slot(uint32_t number) {
    return map.top[number / MAP_ENTRIES].addr + (number % MAP_ENTRIES) * 4;
}

static void meta_submit(struct nand_op *op, uint32_t data, uint32_t oob0, uint32_t oob1) {
    uint32_t ppa = meta_alloc();
    nand_program(op, ppa, data, oob0, oob1);
    run.in_flight++;
    nand_submit(op);
}

/** Where the page that `op` wrote is; the handler knows what it was by the argument. */
static uint32_t op_ppa(const struct nand_op *op) {
    return op->way << 24 | op->row;
}

/** Pages of the area that may turn out bad in one checkpoint before it fails. */
#define META_TRIES 8u

/** What a page's program left to be done. */
enum outcome { WRITTEN, AGAIN, GIVEN_UP };

static enum outcome meta_ended(uint32_t status) {
    run.in_flight--;
    if (status == FLASH_STATUS_OK) {
        return WRITTEN;
    }
    if (!run.failed && run.tries++ < META_TRIES && cp.used < cp.area_sbs * sb.pages) {
        return AGAIN;
    }
    /* Marks of what was changed are gone: the next checkpoint writes everything. */
    run.failed = true;
    cp.suspect = true;
    return GIVEN_UP;
}

static void map_written(struct nand_op *op, uint32_t status) {
    uint32_t number = (uint32_t)(uintptr_t)op->arg;
    uint32_t ppa = op_ppa(op);
    enum outcome outcome = meta_ended(status);
    if (outcome == AGAIN) {
        meta_submit(op, op->w2, OOB_META | number, cp.root_seq + 1);
        return;
    }
    nand_op_put(op);
    if (outcome == WRITTEN) {
        hal_write(dir_slot(number) + MAP_DIR_FLASH, ppa);
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
        cp.table[page] = ppa;
    }
    step();
}

/** Number of the next changed map page, or SB_NONE. */
static uint32_t next_dirty_map(void) {
    if (map.dirty_count <= MAP_DIRTY_LIST) {
        return run.index < map.dirty_count ? hal_read(DRAM_DIRTY + run.index++ * 4) : SB_NONE;
    }
    while (run.scan_top < MAP_TOP) {
        const struct map_dir *d = &map.top[run.scan_top];
        while (run.index < d->count) {
            uint32_t i = run.index++;
            if (hal_read(d->addr + i * 4) & MAP_ENTRY_DIRTY) {
                return run.scan_top * MAP_ENTRIES + i;
            }
        }
        run.index = 0;
        run.scan_top++;
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
            hal_write(DRAM_TABLE + i * 8, sb.valid[i]);
            hal_write(DRAM_TABLE + i * 8 + 4, erases | (uint32_t)sb.state[i] << 16);
        }
    }
    memset(sb.changed, 0, sizeof sb.changed);
}

/* ---- root record ---- */

static uint32_t root_word_at;
static uint32_t root_crc;

static void root_put(uint32_t v) {
    hal_write(DRAM_ROOT + root_word_at, v);
    root_crc = crc32c_word(root_crc, v);
    root_word_at += 4;
}

bool checkpoint_root_good(void) {
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

static void root_build(void) {
    uint32_t dirs = 0;
    for (uint32_t t = 0; t < MAP_TOP; t++) {
        if (map.top[t].ppa != 0) {
            dirs = t + 1;
        }
    }
    root_word_at = 8;
    root_crc = 0;
    root_put((ROOT_WORDS + 2 * dirs) * 4 + FTL_KEPT_BYTES);
    root_put(cp.root_seq + 1);
    root_put(run.clean ? ROOT_CLEAN : 0);
    root_put(nand_geo.channels | nand_geo.ways << 8 | nand_geo.luns << 16 | nand_geo.planes << 24);
    root_put(nand_geo.blocks);
    root_put(nand_geo.pages | nand_geo.sector_log2 << 24);
    root_put(ftl.lbas);
    root_put(cp.log.sb);
    root_put(cp.log.left);
    root_put(cp.log.next);
    root_put(cp.log.rotor);
    root_put(cp.log.seq);
    root_put(cp.area);
    root_put(cp.used);
    root_put(cp.log.used);
    root_put(cp.epoch);
    root_put(dirs);
    root_put(sb.marked);
    for (uint32_t i = 0; i < ROOT_SKIP_WORDS; i++) {
        root_put(cp.skip[i]);
    }
    for (uint32_t i = 0; i < ROOT_TABLE_PAGES; i++) {
        root_put(cp.table[i]);
    }
    for (uint32_t t = 0; t < dirs; t++) {
        root_put(map.top[t].ppa);
        root_put(map.top[t].count);
    }
    /* What changes from here on is not in this record, though it is still to be written. */
    ftl.kept_changed = false;
    if (ftl_keep != NULL) {
        ftl_keep();
    }
    for (uint32_t i = 0; i < FTL_KEPT_BYTES / 4; i++) {
        root_put(ftl_kept[i]);
    }
    hal_write(DRAM_ROOT, ROOT_MAGIC);
    hal_write(DRAM_ROOT + 4, root_crc);
}

static void root_place(void);

static void root_end(bool ok) {
    run.root_pending = false;
    run.failed |= !ok;
    if (!ok && run.root_tries > 0) {
        /* A page whose program failed may yet read as a good root record. Whichever a mount finds, nothing that it
         * names may change from here on. */
        cp.root_lost = true;
        console_printf("ftl: no root record can be written: read only until the next power-on\n");
    }
    run.step = STEP_DONE;
    step();
}

/** The page did not take the record: another one. */
static void root_missed(void) {
    console_printf("ftl: root record not written to page %u of root block %u\n", cp.root_page - 1, cp.root_which);
    if (++run.root_tries % ROOT_TRIES == 0) {
        cp.root_page = checkpoint_root_pages();
        if (run.root_moved) {
            root_end(false);
            return;
        }
        run.root_moved = true;
    }
    root_build();
    root_place();
}

static void root_read_back(struct nand_op *op, uint32_t status) {
    nand_op_put(op);
    if (status != FLASH_STATUS_OK || !checkpoint_root_good()) {
        root_missed();
        return;
    }
    cp.root_seq++;
    cp.root_newest = cp.root_which;
    cp.root_area = cp.area;
    root_end(true);
}

static void root_written(struct nand_op *op, uint32_t status) {
    cp.root_page++;
    if (status != FLASH_STATUS_OK) {
        nand_op_put(op);
        root_missed();
        return;
    }
    /* A page that a power cut left half programmed may have read blank: see that it has taken the record. */
    op->done = root_read_back;
    nand_read(op, checkpoint_root_ppa(cp.root_which, cp.root_page - 1), DRAM_ROOT, PAGE_SIZE);
    nand_submit(op);
}

static void root_program(void) {
    uint32_t ppa = checkpoint_root_ppa(cp.root_which, cp.root_page);
    struct nand_op *op = nand_op_get();
    op->done = root_written;
    nand_program(op, ppa, DRAM_ROOT, OOB_ROOT, cp.root_seq + 1);
    nand_submit(op);
}

static void root_block_erased(struct nand_op *op, uint32_t status) {
    nand_op_put(op);
    if (status != FLASH_STATUS_OK) {
        console_printf("ftl: root block %u not erased\n", cp.root_newest ^ 1);
        root_end(false);
        return;
    }
    cp.root_which = cp.root_newest ^ 1;
    cp.root_page = 0;
    root_program();
}

/** Write the root record, to the block that does not hold the newest one when the other takes no more. */
static void root_place(void) {
    if (cp.root_page < checkpoint_root_pages()) {
        root_program();
        return;
    }
    uint32_t ppa = cp.root_block[cp.root_newest ^ 1];
    struct nand_op *op = nand_op_get();
    op->done = root_block_erased;
    nand_erase(op, ppa);
    nand_submit(op);
}

static void root_start(void) {
    run.root_pending = true;
    root_build();
    root_place();
}

/* ---- run ---- */

/** Checkpoints that fail in a row before the drive takes no more writes: the log could not be kept short. */
#define MAX_FAILURES 3u

static void finish(void) {
    bool ok = !run.failed;
    struct ftl_exclusive *owner = run.owner;
    run.owner = NULL;
    superblock_table_hold(false);
    superblock_emptied(ok ? SB_FREE : SB_CLOSED);
    if (ok) {
        ftl.clean = run.clean;
        ftl.failures = 0;
        ftl.read_only = false;
        if (!run.root_only) {
            ftl.changed = false;
            ftl.retired = false;
            cp.suspect = false;
            ftl_log_restart();
        }
    } else {
        ftl.kept_changed = true;
        ftl.read_only |= ++ftl.failures >= MAX_FAILURES || cp.root_lost;
    }
    ftl_exclusive_end(owner, ok ? FTL_OK : FTL_MEDIA);
}

/** Do as much as descriptors allow; every completion comes back here. */
static void step(void) {
    if (run.stepping || run.owner == NULL) {
        return;
    }
    run.stepping = true;
    if (run.erase_sb < cp.area_sbs && !run.failed) {
        if (!area_erase.active) {
            superblock_erase(&area_erase, checkpoint_area_sb(cp.area, run.erase_sb), area_erased);
        }
        run.stepping = false;
        /* An erase never ends inside superblock_erase: completions come from the main loop only. */
        return;
    }
    while (run.step < STEP_ROOT && run.in_flight < WINDOW) {
        if (run.failed) {
            break;
        }
        struct nand_op *op = nand_op_get();
        if (op == NULL) {
            break;
        }
        if (run.step == STEP_MAP) {
            uint32_t number = next_dirty_map();
            if (number != SB_NONE) {
                uint32_t page = hal_read(dir_slot(number)) & ~MAP_ENTRY_DIRTY;
                hal_write(dir_slot(number), page);
                op->done = map_written;
                op->arg = (void *)(uintptr_t)number;
                meta_submit(op, page, OOB_META | number, cp.root_seq + 1);
                continue;
            }
        } else if (run.step == STEP_DIR) {
            while (run.index < MAP_TOP && !map.top[run.index].dirty) {
                run.index++;
            }
            if (run.index < MAP_TOP) {
                op->done = dir_written;
                op->arg = &map.top[run.index];
                uint32_t page = map.top[run.index].addr + MAP_DIR_FLASH;
                uint32_t tag = OOB_DIR | run.index;
                meta_submit(op, page, tag, checkpoint_crc(tag, page));
                run.index++;
                /* A checksum takes long: let others have a turn. The program's end leads back here. */
                break;
            }
        } else {
            if (run.index * TABLE_PER_PAGE < cp.log.used) {
                op->done = table_written;
                op->arg = (void *)(uintptr_t)run.index;
                uint32_t page = DRAM_TABLE + run.index * PAGE_SIZE;
                meta_submit(op, page, OOB_TABLE, checkpoint_crc(OOB_TABLE, page));
                run.index++;
                break;
            }
        }
        nand_op_put(op);
        if (run.in_flight > 0) {
            break;
        }
        run.index = 0;
        run.step++;
        if (run.step == STEP_TABLE) {
            superblock_table_hold(true);
        }
    }
    if (run.failed && run.in_flight == 0 && !run.root_pending && run.step < STEP_DONE) {
        cp.suspect = true;
        run.step = STEP_DONE;
    }
    if (run.step == STEP_ROOT && !run.root_pending) {
        if (!run.root_only) {
            map.dirty_count = 0;
        }
        root_start();
    }
    run.stepping = false;
    if (run.step == STEP_DONE) {
        finish();
    }
}

/** Note where the log stands: recovery reads on from here. */
static void log_snapshot(void) {
    cp.log.sb = ftl.cur.sb;
    cp.log.left = ftl.cur.left;
    cp.log.next = ftl.next;
    cp.log.rotor = sb.rotor;
    cp.log.seq = ftl.seq;
    cp.log.used = sb.used;
}

void checkpoint_run(struct ftl_exclusive *x) {
    checkpoint_start(x, ((const struct ftl_checkpoint *)x)->clean);
}

bool checkpoint_writes_pages(void) {
    return ftl.changed || ftl.retired || cp.suspect;
}

void checkpoint_start(struct ftl_exclusive *x, bool clean) {
    bool pages = checkpoint_writes_pages();
    if (cp.root_lost || (pages && ftl.clean)) {
        /* Pages may only follow a root record that does not say "clean". */
        ftl_exclusive_end(x, FTL_MEDIA);
        return;
    }
    if (!pages && !ftl.kept_changed && ftl.clean == clean) {
        ftl_exclusive_end(x, FTL_OK);
        return;
    }
    memset(&run, 0, sizeof run);
    run.owner = x;
    run.clean = clean;
    run.erase_sb = cp.area_sbs;
    if (!pages) {
        run.root_only = true;
        run.step = STEP_ROOT;
        step();
        return;
    }
    uint32_t dirty = map.dirty_count <= MAP_DIRTY_LIST ? map.dirty_count : map.pages;
    uint32_t need = dirty + MAP_TOP + ROOT_TABLE_PAGES;
    if (need > cp.full_pages) {
        need = cp.full_pages;
    }
    need += META_TRIES;
    if (cp.suspect || cp.used + need * nand_geo.sectors > cp.area_sbs * sb.pages) {
        cp.area = cp.root_area ^ 1;
        cp.used = 0;
        run.erase_sb = 0;
        map_dirty_all();
        for (uint32_t t = 0; t < MAP_TOP; t++) {
            map.top[t].dirty = map.top[t].addr != 0;
        }
        checkpoint_meta_seek();
        /* Until the root is written this area is not to be trusted. */
        cp.suspect = true;
    }
    /* Entries lose their mark one by one from here on. */
    map.last_dirty = MAP_NO_PAGE;
    superblock_empty();
    log_snapshot();
    table_refresh();
    step();
}

void checkpoint_mark_dirty_run(struct ftl_exclusive *x) {
    memset(&run, 0, sizeof run);
    run.owner = x;
    run.root_only = true;
    run.erase_sb = cp.area_sbs;
    run.step = STEP_ROOT;
    step();
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
    cp.epoch = recover_epoch();
    ftl.seq = cp.epoch * 0x9e3779b1u;
    bool failed = false;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t ppa = cp.root_block[i];
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
    cp.root_which = 0;
    cp.root_newest = 0;
    cp.root_page = 0;
    cp.root_seq = 0;
    cp.suspect = true;
    log_snapshot();
    format_flag = true;
    /* Which superblocks are left out has to be on the medium before the log is: recovery follows it without them. */
    c = (struct ftl_checkpoint){
        .x = {.run = sb.marked > 0 ? checkpoint_run : checkpoint_mark_dirty_run, .done = format_ended}};
    ftl_exclusive(&c.x);
    ftl_boot_wait(&format_flag);
    /* The areas' contents are unknown, whatever the root says. */
    cp.suspect = true;
    return ftl.fault;
}
