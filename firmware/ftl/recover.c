/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mounting: newest root record, directory, map, then forward through the log by the spare areas. Reads that fail have
 * been repeated already (nand/retry.c).
 */
#include <assert.h>
#include <string.h>

#include "ftl/area.h"
#include "ftl/bad.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "ftl/pairs.h"
#include "ftl/parity.h"
#include "ftl/resume.h"
#include "ftl/rewrite.h"
#include "ftl/root.h"
#include "ftl/rootfind.h"
#include "ftl/scan.h"
#include "ftl/summary.h"
#include "ftl/tail.h"
#include "platform/console.h"
#include "platform/fill.h"

/** More stamps than checkpoints that write everything can fail in a power-on. */
#define STAMPS 65536u

static uint32_t load_errors;
/** Pages that only the second copy was had of. */
static uint32_t load_rescued;
/** Sector that was read last with difficulty. */
static uint32_t faded;

/* ---- map ---- */

/** What names the page of the metadata that was to be read to DRAM `data`: its address, in `word` or in DRAM at `at`.
 */
struct named {
    uint32_t *word;
    uint32_t at;
};

static struct named named(uint32_t tag, uint32_t data) {
    if (tag == OOB_TABLE) {
        return (struct named){.word = &ckpt.table[(data - DRAM_TABLE) / PAGE_SIZE]};
    }
    if (tag == OOB_SUMMARY) {
        return (struct named){.word = &ckpt.log.tail[(data - tail_page(0)) / PAGE_SIZE].ppa};
    }
    if ((tag & OOB_META) == OOB_META) {
        return (struct named){.at = map_dir_entry(tag & ~OOB_META) + MAP_DIR_FLASH};
    }
    return (struct named){.word = &map.top[tag & ~OOB_DIR].ppa};
}

/** The next checkpoint is to write the page again. */
static void write_again(uint32_t tag, uint32_t data) {
    if (tag == OOB_TABLE) {
        uint32_t i = (data - DRAM_TABLE) / PAGE_SIZE;
        bad.changed |= i < ROOT_SB_PAGES ? 0 : 1u << (i - ROOT_SB_PAGES);
    } else if (tag == OOB_SUMMARY) {
        /* The next checkpoint needs none. */
    } else if ((tag & OOB_META) == OOB_META) {
        map_dirty(tag & ~OOB_META);
    } else {
        map.top[tag & ~OOB_DIR].dirty = 1;
    }
}

static void load_faded(uint32_t ppa) {
    faded = ppa;
}

/** Whether `op` has read the page of metadata that it was to read. */
static bool load_good(const struct nand_op *op, uint32_t status) {
    return status == FLASH_STATUS_OK && op->data0 == (uint32_t)(uintptr_t)op->arg && op->data1 == ckpt.stamp;
}

/** The read of the copy that is not named has ended. */
static void load_second_done(struct nand_op *op, uint32_t status) {
    uint32_t tag = (uint32_t)(uintptr_t)op->arg;
    if (!load_good(op, status)) {
        load_errors++;
    } else {
        load_rescued++;
        struct named n = named(tag, op->w2);
        if (n.word != NULL) {
            *n.word = nand_op_ppa(op);
        } else {
            hal_write(n.at, nand_op_ppa(op));
        }
        write_again(tag, op->w2);
    }
    nand_op_put(op);
}

static void load_done(struct nand_op *op, uint32_t status) {
    uint32_t ppa = nand_op_ppa(op);
    if (!load_good(op, status)) {
        uint32_t partner = area_partner(ppa);
        if (superblock_has(partner)) {
            op->done = load_second_done;
            nand_read(op, partner, op->w2, PAGE_SIZE);
            nand_submit(op);
            return;
        }
        load_errors++;
    } else if (ppa == faded) {
        write_again((uint32_t)(uintptr_t)op->arg, op->w2);
    }
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
                uint32_t page = DRAM_MAP + map.pages++ * PAGE_SIZE;
                hal_write(d->addr + i * 4, page);
                load(ppa, page, OOB_META | (t * MAP_ENTRIES + i));
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
    uint32_t flags = root_get();
    *clean = (flags & ROOT_CLEAN) != 0;
    parity_on = (flags & ROOT_PARITY) != 0;
    if (!root_ours(DRAM_ROOT)) {
        root_say(DRAM_ROOT);
        return ROOT_FOREIGN;
    }
    root_at += 3 * 4;
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
    ckpt.stamp = root_get();
    ckpt.root_failed = root_get();
    ckpt.log.tails = root_get();
    root_at += NAND_MAX_CHANNELS * 2;
    if (ckpt.area_sbs == 0 || ckpt.area_sbs > sb.count / 2 || !area_mark()) {
        return "root record out of range";
    }
    if (ckpt.bad > BAD_MOST || dirs > MAP_TOP || ckpt.log.listed > ROOT_LIST_MOST || ckpt.log.tails > TAIL_MOST ||
        (ROOT_WORDS + 2 * dirs + ckpt.log.listed + 2 * ckpt.log.tails) * 4 + FTL_OWNER_BYTES !=
            hal_read(DRAM_ROOT + 8) ||
        ckpt.table_used > sb.count || ckpt.used > area_sectors() || ckpt.area > 1) {
        return "root record out of range";
    }
    for (uint32_t i = 0; i < ROOT_TABLE_PAGES; i++) {
        ckpt.table[i] = root_get();
    }
    for (uint32_t i = 0; i < ROOT_TABLE_PAGES; i++) {
        if (ckpt.table[i] != 0 && checkpoint_table_used(i)) {
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
    for (uint32_t i = 0; i < ckpt.log.tails; i++) {
        ckpt.log.tail[i].name = root_get();
        ckpt.log.tail[i].ppa = root_get();
        if (ckpt.log.tail[i].ppa != 0) {
            load(ckpt.log.tail[i].ppa, tail_page(i), OOB_SUMMARY);
        }
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

/** Apply the trim record at `ppa`. False: it is not whole. */
static bool trim_apply(uint32_t ppa) {
    struct scan_page p = {.status = FLASH_STATUS_OK};
    if (!tail_trim_find(ppa)) {
        scan_read(&p, ppa, DRAM_TRIM, PAGE_SIZE);
        nand_wait_idle();
    }
    uint32_t count = hal_read(DRAM_TRIM + 4);
    if (!scan_good(&p) || hal_read(DRAM_TRIM) != OOB_TRIM || count > FTL_TRIM_RANGES ||
        hal_read(DRAM_TRIM + FTL_TRIM_CRC_AT) != ftl_trim_crc()) {
        /* Of one that was in flight when power went, whose command never ended. */
        console_printf("ftl: trim record at %08x is not whole: left out\n", ppa);
        return false;
    }
    tail_trim(ppa);
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
        ftl.log_trims += hal_read(DRAM_TRIM + 12 + r * 8) / FTL_TRIM_PER_PAGE;
    }
    return true;
}

struct roll {
    bool copies;           /**< of collection: whatever order they have, they are older than the log that is read on */
    uint32_t chunk;        /**< sequence number of the first sector of the chunk */
    uint32_t seq;          /**< expected next */
    uint32_t applied;      /**< sectors of the log found */
    uint32_t blanks;       /**< blank sectors since the last one found */
    uint32_t end;          /**< sequence number behind the last one found */
    bool ended;            /**< the superblock's last sector is not the log's */
    struct sb_cursor tail; /**< then: the sector behind the last one found */
};

/** Programs of a die that may fail one behind the other before its block is left out. */
#define FAILED_ROUNDS 2u

/**
 * Rounds of the log without a page that prove its end. A page whose program failed may read blank, too, with pages
 * behind it whose programs had begun and went well, while nothing was written to other dies any more, since their
 * blocks had failed before.
 */
static uint32_t end_rounds(void) {
    return resume_cut_rounds() + nand_geo.luns * nand_geo.planes * FAILED_ROUNDS;
}

/** Apply the log's sector at `ppa` with OOB word 0 `oob0` to the map. False: no sector of the log has that word. */
static bool roll_apply(struct roll *r, uint32_t oob0, uint32_t ppa) {
    if (oob0 < ftl.lbas) {
        uint32_t before = map_replay(oob0, ppa);
        if (r->copies) {
            pairs_note(APPEND_COPY, ppa, oob0, before);
        }
    } else if ((oob0 ^ OOB_LOST) < ftl.lbas) {
        map_set(oob0 ^ OOB_LOST, MAP_LOST);
    } else if (r->copies || oob0 == OOB_SUMMARY) {
        return oob0 == OOB_SUMMARY;
    } else if (oob0 == OOB_TRIM) {
        if (!trim_apply(ppa)) {
            return true;
        }
    } else if ((oob0 ^ OOB_UNCOMMITTED) >= ftl.lbas) {
        return false;
    }
    tail_note(r->seq - r->chunk, oob0);
    return true;
}

/** Take the sector `p`, which is that of sequence number r->seq if it is the log's. True when it is. */
static bool roll_sector(struct roll *r, const struct scan_page *p) {
    return scan_good(p) && (r->copies || p->oob1 == r->seq) && roll_apply(r, p->oob0, p->ppa);
}

/** Sectors without one of the log that prove its end. */
static uint32_t end_sectors(void) {
    return end_rounds() * resume_round_pages() * nand_geo.sectors;
}

/**
 * Read the sectors of superblock `n` from `position` to `end`, as many ahead as may yet be the log's; end_rounds()
 * without a sector of the log are its end. Blocks that the checkpoint knew to be bad hold nothing of the log, but may
 * hold what no erase has removed.
 */
static void roll_sectors(struct roll *r, uint32_t n, uint32_t position, uint32_t end) {
    bool holes = bad_blocks(n) > 0;
    uint32_t most = end_sectors();
    uint32_t left = sb.pages - end;
    struct sb_cursor ahead;
    cursor_seek(&ahead, n, position);
    struct sb_cursor at = ahead;
    uint32_t oldest = 0;
    uint32_t under_way = 0;
    for (; at.left > left && r->blanks < most; cursor_next(&at), r->seq++) {
        for (; ahead.left > left && under_way < SCAN_MAX && r->blanks + under_way < most; cursor_next(&ahead)) {
            uint32_t place = (oldest + under_way++) % SCAN_MAX;
            if (holes && bad_at(cursor_ppa(&ahead))) {
                scan_pages[place].status = SCAN_LEFT_OUT;
            } else {
                scan_read(&scan_pages[place], cursor_ppa(&ahead), SCAN_BUFFER + place * 64, 64);
            }
        }
        const struct scan_page *p = &scan_pages[oldest];
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
        r->blanks += scan_blank(p);
        if (scan_good(p) && oob_parity(p->oob0)) {
            /* It is of this log: the superblock was erased for it. */
            r->blanks = 0;
        }
        if (!r->ended) {
            r->ended = true;
            r->tail = at;
        }
    }
    nand_wait_idle();
}

/** Read the summary of chunk `k` of superblock `n`, whose sequence number is `seq`. True when it can be used for the
 * chunk's sectors from `position` on. */
static bool summary_read(const struct roll *r, uint32_t n, uint32_t k, uint32_t seq, uint32_t position) {
    struct sb_cursor c;
    cursor_seek(&c, n, summary_place(k));
    if (bad_at(cursor_ppa(&c))) {
        return false;
    }
    struct scan_page *p = &scan_pages[0];
    scan_read(p, cursor_ppa(&c), DRAM_SUMMARIES, PAGE_SIZE);
    nand_wait_idle();
    map_cache(DRAM_DIRECTORY);
    return scan_good(p) && p->oob0 == OOB_SUMMARY && (r->copies || p->oob1 == seq) &&
           hal_read(DRAM_SUMMARIES + SUMMARY_CHUNK * 4) == k &&
           hal_read(DRAM_SUMMARIES + SUMMARY_FIRST * 4) <= position;
}

/** Apply the sectors of superblock `n` from `position` to `end` as the page at DRAM address `page`, a summary or a tail
 * of their chunk, which begins at `chunk`, has them. Those that had not ended when a summary was written are read. */
static void roll_page(struct roll *r, uint32_t page, uint32_t n, uint32_t chunk, uint32_t position, uint32_t end) {
    uint32_t unsettled = hal_read(page + SUMMARY_UNSETTLED * 4);
    struct sb_cursor c;
    cursor_seek(&c, n, position);
    while (position < end) {
        uint32_t word = SUMMARY_HEAD + position - chunk;
        uint32_t group = word >> SUMMARY_GROUP_LOG2;
        uint32_t most = ((group + 1) << SUMMARY_GROUP_LOG2) - word;
        most = most < end - position ? most : end - position;
        if ((unsettled >> group & 1) != 0) {
            uint32_t seq = r->seq;
            roll_sectors(r, n, position, position + most);
            r->seq = seq + most;
            cursor_seek(&c, n, position + most);
        } else {
            for (uint32_t i = 0; i < most; i++, word++, r->seq++, cursor_next(&c)) {
                uint32_t entry = hal_read(page + word * 4);
                if (entry != 0 && roll_apply(r, ~entry, cursor_ppa(&c))) {
                    r->applied++;
                    r->end = r->seq + 1;
                }
            }
        }
        position += most;
        /* The log goes on to the summary at least. */
        r->blanks = 0;
    }
    r->ended = false;
}

/** The log ends before `position` of superblock `n`. */
static void roll_ended(struct roll *r, uint32_t n, uint32_t position) {
    r->ended = true;
    cursor_seek(&r->tail, n, position);
}

/**
 * Read what superblock `n` holds of the log from `position` on, by tails and summaries where there are any. The log may
 * go on in the next superblock though it ends here: r->seq is its first sector's.
 */
static void roll_superblock(struct roll *r, uint32_t n, uint32_t position) {
    uint32_t seq = r->seq - position;
    uint32_t size = tail_chunk();
    uint32_t begin = position;
    bool stopped = false;
    bool tailed = false;
    r->blanks = 0;
    r->ended = false;
    while (!stopped && position < sb.pages && r->blanks < end_sectors()) {
        uint32_t k = position / size;
        uint32_t chunk = k * size;
        uint32_t end = chunk + size < sb.pages ? chunk + size : sb.pages;
        uint32_t t = tail_find(n, k);
        r->chunk = seq + chunk;
        r->seq = seq + position;
        tailed = false;
        if (t < ckpt.log.tails) {
            stopped = ckpt.log.tail[t].ppa == 0;
            tailed = !stopped;
            if (tailed) {
                roll_page(r, tail_page(t), n, chunk, position, end);
            }
        } else if (summary.chunk != 0 && summary_read(r, n, k, seq + summary_place(k), position)) {
            if (hal_read(DRAM_SUMMARIES + SUMMARY_UNSETTLED * 4) != 0) {
                tail_begin(n, k, position);
            }
            roll_page(r, DRAM_SUMMARIES, n, chunk, position, end);
        } else {
            tail_begin(n, k, position);
            roll_sectors(r, n, position, end);
        }
        tail_end();
        if (!stopped) {
            position = end;
        }
    }
    if (!stopped) {
        tail_stop(n, (position + size - 1) / size);
    }
    if (stopped || tailed) {
        uint32_t found = r->end - seq;
        roll_ended(r, n, found > begin && found <= position ? found : begin);
    }
    r->seq = seq + sb.pages;
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
static uint32_t weak[RECOVER_WEAK];
static uint32_t weak_count;
/** Stripes before the log's end in which such pages may lie: dies get pages ahead. */
#define WEAK_STRIPES 10u

/** Sectors at the end of a log whose pages may be weakly programmed. */
static uint32_t weak_sectors(void) {
    return WEAK_STRIPES * (1 + pairs_gap()) * bad.units * nand_geo.sectors;
}

uint32_t recover_weak(uint32_t i) {
    return i < weak_count ? weak[i] : SB_NONE;
}

/** The superblock `n` of an append point, behind `before`, is the last one with pages of the log, up to `position`. */
static void weak_add(uint32_t n, uint32_t before, uint32_t position) {
    if (n != SB_NONE) {
        weak[weak_count++] = n;
    }
    if (before != SB_NONE && position < weak_sectors()) {
        weak[weak_count++] = before;
    }
}

/** Superblocks that earlier mounts found so. What finds no place is left to scrub. */
static void weak_before(void) {
    for (uint32_t i = 0; i < ckpt.log.tails && weak_count < sizeof weak / sizeof *weak - 2 * APPEND_POINTS; i++) {
        uint32_t n = ckpt.log.tail[i].name >> 16;
        uint32_t known = 0;
        while (known < weak_count && weak[known] != n) {
            known++;
        }
        if (known == weak_count && n < sb.count) {
            weak[weak_count++] = n;
        }
    }
}

/** The log has pages in superblock `n` up to `position`, and the superblock `before` was the last one with some. The
 * last ones may be weakly programmed where it ends early, and so may those before a beginning. */
static void ends_add(uint32_t n, uint32_t before, uint32_t position) {
    if (before != SB_NONE && position < weak_sectors()) {
        rewrite_add(before, sb.pages, weak_sectors());
    }
    rewrite_add(n, position, weak_sectors());
}

/** Where the log ends in the superblock that `r` has read. */
static uint32_t roll_position(const struct roll *r) {
    return r->ended ? sb.pages - r->tail.left : sb.pages;
}

/** Let the map name the originals again of `copies` that are being read, where these are of the same version and
 * strong: their superblock goes on behind them. */
static void take_originals(uint32_t copies) {
    nand_wait_idle();
    for (uint32_t i = 0; i < copies; i++) {
        const struct scan_page *copy = &scan_pages[i * RECOVER_COPY_READS];
        const struct scan_page *original = copy + 1;
        const struct scan_page *behind = copy + 2;
        uint32_t from;
        uint32_t lba = pairs_noted(APPEND_COPY, copy->ppa, &from);
        if (!scan_blank(behind) && scan_good(original) && original->oob0 == lba &&
            (!scan_good(copy) || original->oob1 == copy->oob1)) {
            map_set(lba, from);
            if (sb.state[ppa_block(from)] == SB_FREE) {
                superblock_set_state(ppa_block(from), SB_CLOSED);
            }
        }
    }
}

/**
 * The page of the superblock of `ppa` that is blank if the program of `ppa` may have been the last one on its die. A
 * die programs the pages of a block in order, so that is the next page of the block. Where pages share cells a later
 * program may have taken the page along: then it is one as far behind as dies get pages ahead, as it is behind a
 * block's last page.
 */
static uint32_t page_behind(uint32_t ppa) {
    uint32_t at = ppa_row(ppa) & ((1u << nand_geo.plane_shift) - 1);
    uint32_t next = (at & ~(nand_geo.sectors - 1)) + nand_geo.sectors;
    if (!nand_geo.paired && next < nand_geo.pages) {
        return ppa - at + next;
    }
    uint32_t position = superblock_position(ppa) + weak_sectors();
    struct sb_cursor c;
    do {
        position = (position < sb.pages ? position : sb.pages) - nand_geo.sectors;
        cursor_seek(&c, ppa_block(ppa), position & ~(nand_geo.sectors - 1));
    } while (bad_at(cursor_ppa(&c)) && position >= nand_geo.sectors);
    return cursor_ppa(&c);
}

/** The last copies in superblock `n`, which has them from `begin` to `end`, may be weakly programmed: such a page reads
 * well, but not for long. Most of their originals are still there, because no superblock is erased before what it held
 * is elsewhere: the map names these again. None of them is a copy of this log. */
static void prefer_originals(uint32_t n, uint32_t begin, uint32_t end) {
    uint32_t most = weak_sectors() < RECOVER_COPIES ? weak_sectors() : RECOVER_COPIES;
    begin = end - begin > most ? end - most : begin;
    struct sb_cursor c;
    cursor_seek(&c, n, begin);
    uint32_t copies = 0;
    for (; begin < end; begin++, cursor_next(&c)) {
        uint32_t ppa = cursor_ppa(&c);
        uint32_t from;
        uint32_t lba = pairs_noted(APPEND_COPY, ppa, &from);
        if (lba >= ftl.lbas || map_get(lba) != ppa || from <= MAP_LOST || !superblock_has(from)) {
            continue;
        }
        uint32_t at[RECOVER_COPY_READS] = {ppa, from, page_behind(from)};
        for (uint32_t i = 0; i < RECOVER_COPY_READS; i++) {
            uint32_t k = copies * RECOVER_COPY_READS + i;
            scan_read_once(&scan_pages[k], at[i], SCAN_BUFFER + k * 64, 64);
        }
        if (++copies == SCAN_MAX / RECOVER_COPY_READS) {
            take_originals(copies);
            copies = 0;
        }
    }
    take_originals(copies);
}

/** Where the log of copies begins in superblock `n`. */
static uint32_t copies_begin(uint32_t n) {
    return n == ckpt.log.sb[APPEND_COPY] ? sb.pages - ckpt.log.left[APPEND_COPY] : 0;
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
        roll_superblock(&r, n, copies_begin(n));
        applied += r.applied;
        if (r.applied > 0) {
            before = newest;
            newest = n;
            position = roll_position(&r);
            ends_add(n, before, position);
        }
        if (r.ended) {
            *last = r.tail;
        } else {
            cursor_seek(last, n, sb.pages);
        }
        if (r.applied > 0 && tail_names(n)) {
            /* The mount that wrote the tails preferred the originals, too, but did not write its map to the medium:
             * this mount has to come to the same result. */
            prefer_originals(n, copies_begin(n), roll_position(&r));
        }
    }
    uint32_t earlier = weak_count;
    weak_add(newest, before, position);
    for (uint32_t i = earlier; i < weak_count; i++) {
        prefer_originals(weak[i], copies_begin(weak[i]), weak[i] == newest ? position : sb.pages);
    }
    return applied;
}

/** What following the log has found. */
struct rolled {
    uint32_t applied; /**< sectors */
    uint32_t copied;  /**< of them: of the copies' append point */
    uint32_t seq;     /**< behind the last superblock */
    uint32_t end;     /**< behind the last sector found */
    uint32_t again;   /**< sectors that were written again */
    bool resumed;     /**< copies go on in a superblock that was open */
};

/**
 * Follow the log from the checkpoint on. What was open is not written again: the pages behind the last may be weakly
 * programmed though they read blank.
 */
static struct rolled roll_forward(void) {
    struct sb_cursor last = {.sb = SB_NONE};
    for (uint32_t i = 0; i < ckpt.log.listed; i++) {
        /* Their bad blocks hold pages from before the erase, which belong to no stripe any more. */
        bad_erased(ckpt.log.list[i] & ~ROOT_LIST_COPY);
    }
    weak_count = 0;
    rewrite_init();
    weak_before();
    tail_init();
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
            ends_add(n, before, position);
        }
    }
    weak_add(newest, before, position);
    map_replay_end();
    for (uint32_t i = 0; i < sb.count; i++) {
        if (sb.state[i] == SB_OPEN) {
            superblock_closed(i);
        }
    }
    for (uint32_t i = 0; i < ckpt.log.listed; i++) {
        superblock_erased(ckpt.log.list[i] & ~ROOT_LIST_COPY);
    }
    bool resumed = resume_copies(&last);
    return (struct rolled){
        .applied = r.applied + copied, .copied = copied, .seq = r.seq, .end = r.end, .resumed = resumed};
}

/**
 * Whether some superblock has been written again, with what comes after the log's end `seq`: then a newer
 * root record was complete, which freed it, and its checkpoint is not this one.
 */
static bool log_goes_on(uint32_t seq) {
    uint32_t width = resume_round_pages() < SCAN_MAX ? resume_round_pages() : SCAN_MAX;
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
            /* One page of these is enough; where a die is dead all of its superblocks' would be repeated. */
            scan_read_once(&scan_pages[batch], cursor_ppa(&c), SCAN_BUFFER + batch * 64, 64);
            batch++;
        }
        nand_wait_idle();
        for (uint32_t i = 0; i < batch; i++) {
            const struct scan_page *p = &scan_pages[i];
            if (scan_good(p) && !oob_parity(p->oob0) && p->oob1 - seq < most) {
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
    while (!ckpt.rewrite && ckpt.used < area_sectors()) {
        area_seek();
        struct sb_cursor c = ckpt.at;
        resume_skip_blank(&c);
        ckpt.used += ckpt.at.left - c.left;
        if (c.left > 0) {
            break;
        }
    }
    /* Where a place has one page behind here and one before, that one may be weakly programmed. */
    area_align();
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

/** Whether a cut before the next checkpoint leaves enough: superblocks that are empty, of which that one takes some,
 * and room in the list for others. */
static bool room_for_another(void) {
    uint32_t free = 0;
    for (uint32_t i = checkpoint_meta_superblocks(); i < sb.count; i++) {
        free += sb.state[i] == SB_FREE || (sb.state[i] == SB_CLOSED && superblock_valid(i) == 0);
    }
    return free >= ROOM_COPIES && ckpt.log.listed < ROOT_LIST_MOST / 2;
}

/** The log goes on as if power had not been lost: the next checkpoint runs beside the host's commands. Until then the
 * root record says what was found in pages that another mount might find otherwise. False: that cannot be. */
static bool log_continues(const struct rolled *r) {
    if (ckpt.rewrite || r->resumed || !room_for_another() || !tail_write()) {
        return false;
    }
    ftl.log_copies += r->copied;
    ftl.log_gap = ftl.seq - ckpt.log.seq - (r->applied - r->copied) - r->again;
    ftl.hurry = true;
    boot_exclusive(checkpoint_mark_dirty_run);
    console_printf("ftl: the checkpoint follows; %u tails of the log are listed\n", ckpt.log.tails);
    return true;
}

/** Roll forward. `doubt`: the root record may not be the newest; `whole`: metadata have to be written again. */
static const char *recover_roll(bool doubt, bool whole) {
    /* Each entry of the log is looked up in a summary, the directory and the map. */
    map_cache(DRAM_DIRECTORY);
    static_assert(MAP_REPLAY_BYTES <= SCAN_SPARE, "counts of a mount");
    map_replay_begin(scan_spare());
    struct rolled r = roll_forward();
    map_cache(DRAM_MAP);
    ftl.replayed = r.applied;
    console_printf("ftl: recovered %u pages after the checkpoint, %u pages mapped\n", r.applied, map.mapped);
    /* Before anything is written: the next mount would not know any more. */
    if (doubt && log_goes_on(r.end)) {
        return ROOT_OLDER;
    }
    area_resume();
    /* Note from where on the area is used, before it is: this boot may be cut short as well, and what it leaves may
     * read blank. That also brings the newest record to two blocks, before anything changes that only it allows. */
    boot_exclusive(checkpoint_mark_dirty_run);
    ckpt.rewrite |= ftl.read_only;
    ftl.changed = true;
    ftl.seq = r.seq;
    if (!ftl_read_only() && !r.resumed) {
        r.again = rewrite_run();
    }
    if (!doubt && !whole && log_continues(&r)) {
        return NULL;
    }
    /* The next boot starts behind a checkpoint, and nobody reads past this log's end again. Its sequence numbers are
     * far from any that a lost page may carry. */
    ftl.seq += append[APPEND_HOST].cur.sb == SB_NONE ? sb.pages : 0;
    if (!ftl.read_only) {
        boot_exclusive(checkpoint_run);
    }
    if (ftl.read_only) {
        console_printf("ftl: the checkpoint after recovery failed: the drive is read only\n");
    }
    return NULL;
}

const char *recover_mount(bool *is_blank) {
    scan_init();
    load_errors = 0;
    load_rescued = 0;
    faded = 0;
    weak_count = 0;
    struct root_look look;
    const char *wrong = root_find(&look);
    *is_blank = look.blank;
    if (wrong != NULL || look.blank) {
        return wrong;
    }
    bool clean;
    nand_faded = load_faded;
    wrong = root_load(&clean);
    nand_faded = NULL;
    if (wrong != NULL) {
        return wrong;
    }
    root_found();
    ckpt.root_area = ckpt.area;
    /* Attempts that a loss of power has ended may have used some. */
    ckpt.stamp_next = ckpt.stamp + STAMPS;
    ckpt.rewrite = false;
    ftl.clean = clean;
    ftl.unclean = !clean;
    area_seek();
    ftl_log_restart(0, 0);
    if (load_rescued > 0) {
        console_printf("ftl: %u pages of metadata were had from their second copies only: they are written again\n",
                       load_rescued);
    }
    if (!clean || look.doubt || look.single || load_rescued > 0) {
        ftl.clean = false;
        return recover_roll(look.doubt, look.single || load_rescued > 0);
    }
    ftl.seq = ckpt.log.seq;
    append_resume();
    console_printf("ftl: clean medium, %u pages mapped\n", map.mapped);
    return NULL;
}
