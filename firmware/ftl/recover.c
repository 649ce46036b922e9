/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mounting: newest root record, directory, map, then forward through the log by the spare areas. Reads that fail have
 * been repeated already (nand/retry.c).
 */
#include <assert.h>
#include <string.h>

#include "ftl/bad.h"
#include "ftl/buffer.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "ftl/root.h"
#include "lib/crc.h"
#include "platform/console.h"
#include "platform/fill.h"
#include "platform/timer.h"

/** Scan buffer: the page buffers of the host path are idle at boot. */
#define SCAN_BUFFER DRAM_BUFFERS
#define SCAN_MAX    256u

struct scan_page {
    uint32_t ppa, oob0, oob1;
    uint32_t status; /**< FLASH_STATUS_*, UNDER_WAY */
};
static_assert(SCAN_MAX * sizeof(struct scan_page) <= BUFFER_SCRATCH, "pages under way");
/** SCAN_MAX of them. */
static struct scan_page *pages;

/** Status of a page whose read has not ended; and of one of a bad block, which is not read. */
#define UNDER_WAY 0xffu
#define LEFT_OUT  0xfeu

static uint32_t load_errors;

static void scan_done(struct nand_op *op, uint32_t status) {
    struct scan_page *p = op->arg;
    p->oob0 = op->data0;
    p->oob1 = op->data1;
    p->status = status;
    nand_op_put(op);
}

/** Start reading `bytes` of page `ppa` to DRAM `dst`. */
static void scan_read(struct scan_page *p, uint32_t ppa, uint32_t dst, uint32_t bytes) {
    struct nand_op *op = nand_op_wait();
    p->ppa = ppa;
    p->status = UNDER_WAY;
    op->done = scan_done;
    op->arg = p;
    nand_read(op, ppa, dst, bytes);
    nand_submit(op);
}

/** Wait until the read of `p` has ended. */
static void scan_end(const struct scan_page *p) {
    while (p->status == UNDER_WAY) {
        nand_wait();
    }
}

static bool good(const struct scan_page *p) {
    return p->status == FLASH_STATUS_OK;
}

static bool blank(const struct scan_page *p) {
    return p->status == FLASH_STATUS_ERASED;
}

/** Whether what was read is what a program leaves that failed, or that a power cut stopped. */
static bool torn(const struct scan_page *p) {
    return p->status == FLASH_STATUS_UNCORRECTABLE || p->status == FLASH_STATUS_MISMATCH;
}

/* ---- root ---- */

/** Read page `n` of root block `which` into DRAM_ROOT. */
static const struct scan_page *root_read(uint32_t which, uint32_t n) {
    scan_read(&pages[0], checkpoint_root_ppa(which, n), DRAM_ROOT, PAGE_SIZE);
    nand_wait_idle();
    return &pages[0];
}

/** Whether `n` pages of root block `which` from `first` on are blank; those beyond its end are. */
static bool root_blank(uint32_t which, uint32_t first, uint32_t n) {
    uint32_t end = checkpoint_root_pages();
    n = first + n <= end ? n : end - first;
    for (uint32_t i = 0; i < n; i++) {
        scan_read(&pages[i], checkpoint_root_ppa(which, first + i), SCAN_BUFFER + i * 64, 64);
    }
    nand_wait_idle();
    for (uint32_t i = 0; i < n; i++) {
        if (!blank(&pages[i])) {
            return false;
        }
    }
    return true;
}

/** Whether root block `which` ends before page `n`: a single blank page may have root records behind it. */
static bool root_ends(uint32_t which, uint32_t n) {
    return root_blank(which, n, 1) && root_blank(which, n + 1, ROOT_GAP);
}

/** First page of root block `which` behind all that are not blank: they are written in order, so doubling and then
 * halving find it. */
static uint32_t root_count(uint32_t which) {
    uint32_t end = checkpoint_root_pages();
    uint32_t lo = 0;
    uint32_t hi = 1;
    while (hi <= end && !root_ends(which, hi - 1)) {
        lo = hi;
        hi *= 2;
    }
    hi = hi <= end ? hi - 1 : end;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (root_ends(which, mid)) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

/** What is found of root block `which`. */
static struct root_block {
    uint32_t count; /**< pages up to the last one that is not blank */
    uint32_t page;  /**< of the newest good root record, SB_NONE: none */
    uint32_t seq;   /**< its sequence number */
    bool doubt;     /**< behind it is a page that cannot be read and is not a torn one */
    bool torn;      /**< behind it is a page that may be torn, or a record that has become unreadable */
    bool old;       /**< there is a root record of an older firmware */
    bool foreign;   /**< there is a page of another layout version */
} roots[2];

static void root_find(uint32_t which) {
    struct root_block *b = &roots[which];
    *b = (struct root_block){.count = root_count(which), .page = SB_NONE};
    for (uint32_t n = b->count; n-- > 0;) {
        const struct scan_page *p = root_read(which, n);
        if (!good(p)) {
            b->foreign |= p->status == FLASH_STATUS_FOREIGN;
            b->doubt |= !torn(p) && !blank(p);
            b->torn |= torn(p);
        } else if (root_good(DRAM_ROOT)) {
            b->page = n;
            b->seq = hal_read(DRAM_ROOT + 12);
            return;
        } else {
            b->old |= (hal_read(DRAM_ROOT) & ROOT_MAGIC_NAME) == (ROOT_MAGIC & ROOT_MAGIC_NAME);
        }
    }
}

/* ---- map ---- */

static void load_done(struct nand_op *op, uint32_t status) {
    uint32_t tag = (uint32_t)(uintptr_t)op->arg;
    bool good = status == FLASH_STATUS_OK && op->data0 == tag;
    if (good && tag != OOB_TABLE && (tag & OOB_META) == OOB_META) {
        /* Not one of a later checkpoint than the root record. */
        good = (int32_t)(ckpt.root_seq - op->data1) >= 0;
    } else if (good) {
        uint32_t words = tag == OOB_TABLE ? checkpoint_table_words((op->w2 - DRAM_TABLE) / PAGE_SIZE)
                                          : map.top[tag & ~OOB_DIR].stored;
        good = op->data1 == checkpoint_crc(op->w2, words);
    }
    load_errors += !good;
    nand_op_put(op);
}

static void load(uint32_t ppa, uint32_t dst, uint32_t tag) {
    if (!superblock_has(ppa)) {
        load_errors++;
        return;
    }
    struct nand_op *op = nand_op_wait();
    op->done = load_done;
    op->arg = (void *)(uintptr_t)tag;
    nand_read(op, ppa, dst, PAGE_SIZE);
    nand_submit(op);
}

static const char older_root[] = "the newest root record cannot be read: an older one is not safe to use";
static const char unreadable[] = "metadata that the newest root record names cannot be read: nothing is used of it";

/** Take the superblock table. False when it says what cannot be. */
static bool table_load(void) {
    for (uint32_t i = checkpoint_meta_superblocks(); i < ckpt.table_used; i++) {
        if (ckpt.table[i / (PAGE_SIZE / 8)] == 0) {
            continue;
        }
        uint32_t valid = hal_read(DRAM_TABLE + i * 8);
        uint32_t state = hal_read(DRAM_TABLE + i * 8 + 4) >> 16;
        if (valid > sb.pages || state > SB_UNMOVABLE || state == SB_META) {
            return false;
        }
        /* What was open at the checkpoint, and is not in the list, was erased for nothing. */
        bool open = state == SB_OPEN && i != ckpt.log.sb[APPEND_HOST] && i != ckpt.log.sb[APPEND_COPY];
        /* The list of bad blocks may be older than the table: which superblocks have no good one follows from it. */
        bool full = state == SB_LOGGED || state == SB_VICTIM || state == SB_UNMOVABLE || state == SB_BAD;
        superblock_set_state(i, open ? SB_FREE : full ? SB_CLOSED : (enum sb_state)state);
        *superblock_count(i) = valid;
        map.mapped += valid;
    }
    for (uint32_t i = 0; i < ckpt.log.listed; i++) {
        superblock_set_state(ckpt.log.list[i] & ~ROOT_LIST_COPY, SB_OPEN);
    }
    superblock_emptied();
    return true;
}

/** Load the map pages of `dirs` directory pages. */
static const char *map_load(uint32_t dirs) {
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
    superblock_unchanged();
    return load_errors > 0 ? unreadable : NULL;
}

static bool log_in_range(void) {
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        if ((ckpt.log.sb[i] != SB_NONE && ckpt.log.sb[i] >= sb.count) || ckpt.log.left[i] > sb.pages) {
            return false;
        }
    }
    for (uint32_t i = 0; i < ckpt.log.listed; i++) {
        if ((ckpt.log.list[i] & ~ROOT_LIST_COPY) >= sb.count) {
            return false;
        }
    }
    return true;
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
    ckpt.root_seq = root_get();
    *clean = (root_get() & ROOT_CLEAN) != 0;
    uint32_t units = root_get();
    uint32_t blocks = root_get();
    uint32_t block_pages = root_get();
    uint32_t sector_log2 = block_pages >> 24;
    block_pages &= 0xffffffu;
    if (units != (nand_geo.channels | nand_geo.ways << 8 | nand_geo.luns << 16 | nand_geo.planes << 24) ||
        blocks != nand_geo.blocks || block_pages != nand_geo.pages || sector_log2 != nand_geo.sector_log2) {
        console_printf("ftl: the medium was formatted for %u channels x %u ways x %u LUNs x %u planes x %u blocks x %u "
                       "pages x %u sectors\n",
                       units & 0xff, units >> 8 & 0xff, units >> 16 & 0xff, units >> 24, blocks,
                       block_pages >> sector_log2, 1u << sector_log2);
        return "medium of another geometry: start with the right one or format it";
    }
    uint32_t lbas = root_get();
    if (lbas > ftl.lbas) {
        return "medium of a larger capacity";
    }
    ftl.lbas = lbas;
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        ckpt.log.sb[i] = root_get();
        ckpt.log.left[i] = root_get();
    }
    ckpt.log.seq = root_get();
    ckpt.area = root_get();
    ckpt.used = root_get();
    ckpt.table_used = root_get();
    ckpt.epoch = root_get();
    uint32_t dirs = root_get();
    ckpt.bad = root_get();
    ckpt.log.listed = root_get();
    ckpt.area_sbs = root_get();
    if (ckpt.area_sbs == 0 || ckpt.area_sbs > sb.count / 2 || !checkpoint_areas()) {
        return "root record out of range";
    }
    if (ckpt.bad > BAD_MOST || dirs > MAP_TOP || ckpt.log.listed > ROOT_LIST_MOST ||
        (ROOT_WORDS + 2 * dirs + ckpt.log.listed) * 4 + FTL_OWNER_BYTES != hal_read(DRAM_ROOT + 8) ||
        ckpt.table_used > sb.count || ckpt.used > ckpt.area_sbs * sb.pages || ckpt.area > 1) {
        return "root record out of range";
    }
    for (uint32_t i = 0; i < ROOT_TABLE_PAGES; i++) {
        ckpt.table[i] = root_get();
    }
    for (uint32_t i = 0; i < ROOT_TABLE_PAGES; i++) {
        if (ckpt.table[i] != 0 && checkpoint_table_words(i) > 0) {
            load(ckpt.table[i], DRAM_TABLE + i * PAGE_SIZE, OOB_TABLE);
        }
    }
    for (uint32_t t = 0; t < dirs; t++) {
        struct map_dir *d = &map.top[t];
        d->ppa = root_get();
        d->count = (uint16_t)root_get();
        d->stored = d->count & 0x7fff;
        if (d->ppa == 0) {
            continue;
        }
        if (d->count > MAP_ENTRIES || t * MAP_ENTRIES + d->count > (ftl.lbas + MAP_ENTRIES - 1) / MAP_ENTRIES) {
            return "root record out of range";
        }
        d->addr = DRAM_DIRECTORY + map.dirs++ * MAP_DIR_STRIDE;
        dram_zero(d->addr, MAP_DIR_STRIDE);
        load(d->ppa, d->addr + MAP_DIR_FLASH, OOB_DIR | t);
    }
    for (uint32_t i = 0; i < FTL_OWNER_BYTES / 4; i++) {
        ftl_owner_data[i] = root_get();
    }
    for (uint32_t i = 0; i < ckpt.log.listed; i++) {
        ckpt.log.list[i] = root_get();
    }
    nand_wait_idle();
    if (!log_in_range()) {
        return "root record out of range";
    }
    /* Only what was read well says where to read on. */
    return load_errors > 0       ? unreadable
           : !bad_load(ckpt.bad) ? "list of bad blocks out of range"
           : table_load()        ? map_load(dirs)
                                 : "superblock table out of range";
}

/* ---- roll forward ---- */

/** Apply the trim record at `ppa`. */
static void trim_apply(uint32_t ppa) {
    struct scan_page p = {.status = FLASH_STATUS_UNCORRECTABLE};
    scan_read(&p, ppa, DRAM_TRIM, PAGE_SIZE);
    nand_wait_idle();
    uint32_t count = hal_read(DRAM_TRIM + 4);
    if (!good(&p) || hal_read(DRAM_TRIM) != OOB_TRIM || count > FTL_TRIM_RANGES ||
        hal_read(DRAM_TRIM + FTL_TRIM_CRC_AT) != ftl_trim_crc()) {
        /* Of one that was in flight when power went, whose command never ended. */
        console_printf("ftl: trim record at %08x is not whole: left out\n", ppa);
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
    bool copies;           /**< of collection: whatever order they have, they are older than the log that is read on */
    uint32_t seq;          /**< expected next */
    uint32_t applied;      /**< sectors of the log found */
    uint32_t blanks;       /**< blank sectors since the last one found */
    uint32_t end;          /**< sequence number behind the last one found */
    bool ended;            /**< the superblock's last sector is not the log's */
    struct sb_cursor tail; /**< then: the sector behind the last one found */
};

/** Pages of a round: one of every way. */
static uint32_t round_pages(void) {
    return nand_geo.channels * nand_geo.ways;
}

/**
 * Rounds of the log without a page that prove its end. Every LUN programs in order, but pages of planes that it takes
 * together may be there or not one by one. So a LUN whose last plane's page is not the log's has nothing behind that
 * page; such pages follow each other after as many rounds as there are LUNs and planes, and up to one more, since every
 * round begins at another way.
 */
static uint32_t end_rounds(void) {
    return nand_geo.luns * nand_geo.planes + 1;
}

/** Take the sector `p`, which is that of sequence number r->seq if it is the log's. True when it is. */
static bool roll_sector(struct roll *r, const struct scan_page *p) {
    if (r->copies) {
        uint32_t lba = p->oob0 & ~OOB_LOST;
        if (!good(p) || lba >= ftl.lbas) {
            return false;
        }
        map_set(lba, p->oob0 == lba ? p->ppa : MAP_LOST);
        return true;
    }
    bool uncommitted = (p->oob0 ^ OOB_UNCOMMITTED) < ftl.lbas;
    bool lost = (p->oob0 ^ OOB_LOST) < ftl.lbas;
    if (!good(p) || p->oob1 != r->seq || (p->oob0 >= ftl.lbas && !uncommitted && !lost && p->oob0 != OOB_TRIM)) {
        return false;
    }
    if (p->oob0 == OOB_TRIM) {
        trim_apply(p->ppa);
    } else if (lost) {
        map_set(p->oob0 ^ OOB_LOST, MAP_LOST);
    } else if (!uncommitted) {
        map_set(p->oob0, p->ppa);
    }
    return true;
}

/**
 * Read the sectors of superblock `n` from `position` on, as many ahead as may yet be the log's; end_rounds() without a
 * sector of the log are its end. Blocks that the checkpoint knew to be bad hold nothing of the log, but may hold what
 * no erase has removed. The log may go on in the next superblock even so: r->seq is its first sector's.
 */
static void roll_superblock(struct roll *r, uint32_t n, uint32_t position) {
    bool holes = bad_blocks(n) > 0;
    uint32_t behind = r->seq + sb.pages - position;
    r->blanks = 0;
    r->ended = false;
    uint32_t most = end_rounds() * round_pages() * nand_geo.sectors;
    struct sb_cursor ahead;
    cursor_seek(&ahead, n, position);
    struct sb_cursor at = ahead;
    uint32_t oldest = 0;
    uint32_t under_way = 0;
    for (; at.left > 0 && r->blanks < most; cursor_next(&at), r->seq++) {
        for (; ahead.left > 0 && under_way < SCAN_MAX && r->blanks + under_way < most; cursor_next(&ahead)) {
            uint32_t place = (oldest + under_way++) % SCAN_MAX;
            if (holes && bad_at(cursor_ppa(&ahead))) {
                pages[place].status = LEFT_OUT;
            } else {
                scan_read(&pages[place], cursor_ppa(&ahead), SCAN_BUFFER + place * 64, 64);
            }
        }
        const struct scan_page *p = &pages[oldest];
        scan_end(p);
        oldest = (oldest + 1) % SCAN_MAX;
        under_way--;
        if (roll_sector(r, p)) {
            r->blanks = 0;
            r->ended = false;
            r->applied++;
            r->end = r->seq + 1;
            continue;
        }
        r->blanks += blank(p);
        if (!r->ended) {
            r->ended = true;
            r->tail = at;
        }
    }
    nand_wait_idle();
    r->seq = behind;
}

/**
 * Move the cursor on until end_rounds() of pages behind it are blank: nothing but blank pages lies behind them. They
 * stay unused: one page of every LUN and plane may have been in programming when power went, and its first sector reads
 * blank.
 */
static void skip_blank(struct sb_cursor *c) {
    uint32_t width = round_pages() < SCAN_MAX ? round_pages() : SCAN_MAX;
    uint32_t blanks = 0;
    if (c->sector != 0) {
        cursor_next_page(c);
    }
    while (c->left > 0 && blanks < end_rounds() * round_pages()) {
        uint32_t n = 0;
        for (; n < width && c->left > 0; cursor_next_page(c)) {
            /* Nothing is written to bad blocks: they tell nothing. */
            if (!bad_at(cursor_ppa(c))) {
                scan_read(&pages[n], cursor_ppa(c), SCAN_BUFFER + n * 64, 64);
                n++;
            }
        }
        nand_wait_idle();
        for (uint32_t i = 0; i < n; i++) {
            blanks = blank(&pages[i]) ? blanks + 1 : 0;
        }
    }
}

/** Superblock `i` of those of `point` that the log may be in, the one open at the checkpoint first; SB_NONE behind the
 * last. */
static uint32_t log_superblock(enum append_point point, uint32_t i) {
    if (ckpt.log.sb[point] != SB_NONE && i-- == 0) {
        return ckpt.log.sb[point];
    }
    uint32_t kind = point == APPEND_COPY ? ROOT_LIST_COPY : 0;
    for (uint32_t k = 0; k < ckpt.log.listed; k++) {
        if ((ckpt.log.list[k] & ROOT_LIST_COPY) == kind && i-- == 0) {
            return ckpt.log.list[k] & ~ROOT_LIST_COPY;
        }
    }
    return SB_NONE;
}

/** Superblocks whose last pages may be weakly programmed, because power went meanwhile. */
static uint32_t weak[2 * APPEND_POINTS];
static uint32_t weak_count;
/** Stripes before the log's end in which such pages may lie: dies get pages ahead. */
#define WEAK_STRIPES 10u

uint32_t recover_weak(uint32_t i) {
    return i < weak_count ? weak[i] : SB_NONE;
}

/** The superblock `n` of an append point, behind `before`, is the last one with pages of the log, up to `position`. */
static void weak_add(uint32_t n, uint32_t before, uint32_t position) {
    if (n != SB_NONE) {
        weak[weak_count++] = n;
    }
    if (before != SB_NONE && position < WEAK_STRIPES * bad.units * nand_geo.sectors) {
        weak[weak_count++] = before;
    }
}

/** Where the log ends in the superblock that `r` has read. */
static uint32_t roll_position(const struct roll *r) {
    return r->ended ? sb.pages - r->tail.left : sb.pages;
}

/** What collection has moved since the checkpoint. Its superblocks are read to their ends one by one. `*last`: how far
 * the last of them is written. */
static uint32_t roll_copies(struct sb_cursor *last) {
    uint32_t applied = 0;
    uint32_t n;
    uint32_t newest = SB_NONE;
    uint32_t before = SB_NONE;
    uint32_t position = 0;
    for (uint32_t i = 0; (n = log_superblock(APPEND_COPY, i)) != SB_NONE; i++) {
        struct roll r = {.copies = true};
        bool open = n == ckpt.log.sb[APPEND_COPY];
        roll_superblock(&r, n, open ? sb.pages - ckpt.log.left[APPEND_COPY] : 0);
        applied += r.applied;
        if (r.applied > 0) {
            before = newest;
            newest = n;
            position = roll_position(&r);
        }
        if (r.ended) {
            *last = r.tail;
        } else {
            cursor_seek(last, n, sb.pages);
        }
    }
    weak_add(newest, before, position);
    return applied;
}

/**
 * Losses of power one behind the other may close superblocks faster than collection empties any: when none is left that
 * holds nothing, the copies go on where the last of them stopped, behind the pages that may be weakly programmed.
 * Otherwise nothing would ever become free again.
 */
static void copies_resume(struct sb_cursor *last) {
    for (uint32_t i = checkpoint_meta_superblocks(); i < sb.count; i++) {
        if (sb.state[i] == SB_FREE ||
            ((sb.state[i] == SB_CLOSED || sb.state[i] == SB_LOGGED) && superblock_valid(i) == 0)) {
            return;
        }
    }
    if (last->sb != SB_NONE) {
        skip_blank(last);
        append[APPEND_COPY].cur = *last;
        append[APPEND_COPY].holes = bad_blocks(last->sb) > 0;
        superblock_set_state(last->sb, SB_OPEN);
        console_printf("ftl: no superblock is free: copies go on in superblock %u, %u sectors are left\n", last->sb,
                       last->left);
    }
}

/**
 * Follow the log from the checkpoint on and leave ftl.seq where it goes on. Returns the sectors found; `*end`: the
 * sequence number behind the last of them. What was open is not written again: the pages behind the last may be weakly
 * programmed though they read blank.
 */
static uint32_t roll_forward(uint32_t *end) {
    struct sb_cursor last = {.sb = SB_NONE};
    weak_count = 0;
    uint32_t copied = roll_copies(&last);
    struct roll r = {.seq = ckpt.log.seq, .end = ckpt.log.seq};
    uint32_t n;
    uint32_t newest = SB_NONE;
    uint32_t before = SB_NONE;
    uint32_t position = 0;
    for (uint32_t i = 0; (n = log_superblock(APPEND_HOST, i)) != SB_NONE; i++) {
        bool open = n == ckpt.log.sb[APPEND_HOST];
        uint32_t applied = r.applied;
        roll_superblock(&r, n, open ? sb.pages - ckpt.log.left[APPEND_HOST] : 0);
        if (r.applied > applied) {
            before = newest;
            newest = n;
            position = roll_position(&r);
        }
    }
    weak_add(newest, before, position);
    for (uint32_t i = 0; i < sb.count; i++) {
        if (sb.state[i] == SB_OPEN) {
            superblock_closed(i);
        }
    }
    for (uint32_t i = 0; i < ckpt.log.listed; i++) {
        superblock_erased(ckpt.log.list[i] & ~ROOT_LIST_COPY);
    }
    copies_resume(&last);
    /* Far from any sequence number that a lost page may carry. */
    ftl.seq = r.seq + sb.pages;
    *end = r.end;
    return r.applied + copied;
}

/**
 * Whether some superblock has been written again, with what comes after the log's end `seq`: then a newer
 * root record was complete, which freed it, and its checkpoint is not this one.
 */
static bool log_goes_on(uint32_t seq) {
    uint32_t width = round_pages() < SCAN_MAX ? round_pages() : SCAN_MAX;
    for (uint32_t n = checkpoint_meta_superblocks(); n < sb.count; n++) {
        if (sb.state[n] == SB_BAD) {
            continue;
        }
        /* One that was never erased may hold sequence numbers of an earlier format: these are far from this one's. */
        uint32_t most = sb.state[n] == SB_FREE && superblock_erases(n) == 0 ? sb.count * sb.pages : INT32_MAX;
        struct sb_cursor c;
        cursor_open(&c, n);
        uint32_t batch = 0;
        for (; batch < width && c.left > 0; cursor_next_page(&c)) {
            if (bad_at(cursor_ppa(&c))) {
                continue;
            }
            scan_read(&pages[batch], cursor_ppa(&c), SCAN_BUFFER + batch * 64, 64);
            batch++;
        }
        nand_wait_idle();
        for (uint32_t i = 0; i < batch; i++) {
            if (good(&pages[i]) && pages[i].oob1 - seq < most) {
                return true;
            }
        }
    }
    return false;
}

/** Find where the area of the newest root can be continued: a checkpoint may have been under way. */
static void area_resume(void) {
    /* Right after formatting nobody knows what is in it. */
    ckpt.rewrite = ckpt.used == 0;
    while (!ckpt.rewrite && ckpt.used < ckpt.area_sbs * sb.pages) {
        checkpoint_meta_seek();
        struct sb_cursor c = ckpt.at;
        skip_blank(&c);
        ckpt.used += ckpt.at.left - c.left;
        if (c.left > 0) {
            break;
        }
    }
    checkpoint_meta_seek();
}

static bool boot_checkpoint_busy;

static void boot_checkpoint_done(struct ftl_exclusive *x, enum ftl_status status) {
    if (status != FTL_OK && !ftl.read_only) {
        ftl_exclusive(x);
        return;
    }
    boot_checkpoint_busy = false;
}

static void boot_exclusive(void (*run)(struct ftl_exclusive *x)) {
    static struct ftl_checkpoint c;
    c = (struct ftl_checkpoint){.x = {.run = run, .done = boot_checkpoint_done}};
    boot_checkpoint_busy = true;
    ftl_exclusive(&c.x);
    ftl_boot_wait(&boot_checkpoint_busy);
}

/** Roll forward and end with a checkpoint: the next boot starts there, and nobody reads past this log's end again.
 * `doubt`: the root record may not be the newest. */
static const char *recover_roll(bool doubt) {
    uint32_t end;
    uint32_t applied = roll_forward(&end);
    ftl.replayed = applied;
    console_printf("ftl: recovered %u pages after the checkpoint, %u pages mapped\n", applied, map.mapped);
    /* Before anything is written: the next mount would not know any more. */
    if (doubt && log_goes_on(end)) {
        return older_root;
    }
    area_resume();
    if (!ckpt.rewrite) {
        /* Note from where on the area is used, before it is: this boot may be cut short as well, and what it leaves may
         * read blank. */
        boot_exclusive(checkpoint_mark_dirty_run);
        ckpt.rewrite = ftl.read_only;
    }
    ftl.changed = true;
    if (!ftl.read_only) {
        boot_exclusive(checkpoint_run);
    }
    if (ftl.read_only) {
        console_printf("ftl: the checkpoint after recovery failed: the drive is read only\n");
    }
    return NULL;
}

static const char *no_root(bool *is_blank) {
    *is_blank = roots[0].count == 0 && roots[1].count == 0;
    return *is_blank                      ? NULL
           : roots[0].old || roots[1].old ? "medium of an older firmware: format it"
           : roots[0].foreign || roots[1].foreign
               ? "medium of another layout version: start with the firmware that wrote "
                 "it, or format it"
               : "the root blocks are written, but no root record can be read: damaged, or "
                 "written with another code or scrambler; format the medium";
}

const char *recover_mount(bool *is_blank) {
    pages = buffer_scratch();
    load_errors = 0;
    weak_count = 0;
    root_find(0);
    root_find(1);
    if (roots[0].page == SB_NONE && roots[1].page == SB_NONE) {
        return no_root(is_blank);
    }
    uint32_t which = roots[1].page != SB_NONE && (roots[0].page == SB_NONE || roots[1].seq > roots[0].seq);
    /* An older record may name what was erased and written again since: only a torn one, whose checkpoint never ended,
     * is as if it were not there. */
    if (roots[which].doubt || (roots[which ^ 1].page == SB_NONE && roots[which ^ 1].doubt)) {
        return older_root;
    }
    /* What is behind the newest record that can be read may be one that was complete: then it says nothing wrong as
     * long as nothing that a newer one freed is written again, and nothing about whether the log goes on. The other
     * block takes a record when this one is full. */
    bool full = roots[which].count + 1 >= checkpoint_root_pages();
    bool doubt = roots[which].torn || (full && roots[which ^ 1].page == SB_NONE && roots[which ^ 1].torn);
    ckpt.root_which = which;
    ckpt.root_newest = which;
    /* One that was in programming when power went may read blank. */
    ckpt.root_page = roots[which].count < checkpoint_root_pages() ? roots[which].count + 1 : checkpoint_root_pages();
    root_read(which, roots[which].page);
    bool clean;
    const char *wrong = root_load(&clean);
    if (wrong != NULL) {
        return wrong;
    }
    root_found();
    ckpt.root_area = ckpt.area;
    ckpt.rewrite = false;
    ftl.clean = clean;
    ftl.unclean = !clean;
    checkpoint_meta_seek();
    ftl_log_restart(0, 0);
    if (!clean || doubt) {
        ftl.clean = false;
        return recover_roll(doubt);
    }
    ftl.seq = ckpt.log.seq;
    append_resume();
    console_printf("ftl: clean medium, %u pages mapped\n", map.mapped);
    return NULL;
}

uint32_t recover_epoch(void) {
    pages = buffer_scratch();
    uint32_t newest = 0;
    uint32_t epoch = 0;
    for (uint32_t i = 0; i < 2; i++) {
        root_find(i);
        if (roots[i].page != SB_NONE) {
            if (roots[i].seq >= newest) {
                newest = roots[i].seq;
                epoch = hal_read(DRAM_ROOT + ROOT_EPOCH_AT);
            }
        } else if (roots[i].count > 0 && newest == 0) {
            epoch = (uint32_t)time_now() | 1u;
        }
    }
    return epoch + 1;
}
