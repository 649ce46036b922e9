// SPDX-License-Identifier: BSD-3-Clause
#include "ftl/root.h"

#include <string.h>

#include "ftl/append.h"
#include "ftl/area.h"
#include "ftl/bad.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "ftl/pairs.h"
#include "ftl/parity.h"
#include "lib/crc.h"
#include "media/enables.h"
#include "platform/console.h"

/** Where copy `n` is read back to. */
#define READ_BACK(n) (DRAM_ROOT + (2u + (n)) * PAGE_SIZE)

static struct {
    void (*done)(bool ok);
    bool busy;
    uint32_t newest; /**< DRAM address of the newest record on the medium */
    uint32_t next;   /**< where the next one is built */
    uint32_t at;     /**< bytes of it */
} root;

static struct copy {
    struct nand_op *op; /**< its own: it never has to wait for one */
    uint8_t block;      /**< candidate that it goes to */
    uint8_t misses;     /**< pages of that block in a row that did not take a record */
    bool busy;
    bool ended;
    bool written;
    uint32_t page;   /**< the next one of the block; behind the last one: in another block */
    uint32_t record; /**< page of the block with the newest record, ROOT_NO_RECORD */
} copies[ROOT_COPIES];

void root_init(void) {
    memset(copies, 0, sizeof copies);
    for (uint32_t i = 0; i < ROOT_COPIES; i++) {
        copies[i].op = nand_op_get();
        copies[i].op->arg = &copies[i];
    }
    root.busy = false;
    root.newest = 0;
    root.next = DRAM_ROOT + PAGE_SIZE;
}

void root_resume(uint32_t copy, uint32_t block, uint32_t page, uint32_t record) {
    copies[copy].block = (uint8_t)block;
    copies[copy].page = page;
    copies[copy].record = record;
    copies[copy].misses = 0;
}

bool root_busy(void) {
    return root.busy;
}

uint32_t root_newest(void) {
    return root.newest;
}

uint32_t root_next(void) {
    return root.next;
}

void root_found(void) {
    root.newest = DRAM_ROOT;
    root.next = DRAM_ROOT + PAGE_SIZE;
}

bool root_good(uint32_t at) {
    uint32_t bytes = hal_read(at + 8);
    if (hal_read(at) != ROOT_MAGIC || bytes < ROOT_WORDS * 4 || bytes > PAGE_SIZE || (bytes & 3) != 0) {
        return false;
    }
    uint32_t crc = 0;
    for (uint32_t i = 8; i < bytes; i += 4) {
        crc = crc32c_word(crc, hal_read(at + i));
    }
    return crc == hal_read(at + 4);
}

uint32_t root_units(void) {
    return nand_geo.channels | nand_geo.ways << 8 | nand_geo.luns << 16 | nand_geo.planes << 24;
}

/** Chip enables of channel `ch` that the record at `at` names. */
static uint32_t enables(uint32_t at, uint32_t ch) {
    return hal_read(at + ROOT_ENABLES_AT + ch / 2 * 4) >> (ch & 1) * 16 & 0xffffu;
}

bool root_ours(uint32_t at) {
    bool same = hal_read(at + ROOT_UNITS_AT) == root_units();
    for (uint32_t ch = 0; ch < NAND_MAX_CHANNELS; ch++) {
        same &= enables(at, ch) == nand_geo.enables[ch];
    }
    return same && hal_read(at + ROOT_UNITS_AT + 4) == nand_geo.blocks &&
           hal_read(at + ROOT_UNITS_AT + 8) == (nand_geo.pages | nand_geo.sector_log2 << 24);
}

void root_say(uint32_t at) {
    uint32_t units = hal_read(at + ROOT_UNITS_AT);
    uint32_t pages = hal_read(at + ROOT_UNITS_AT + 8);
    console_printf("ftl: the medium was formatted for %u channels x %u ways x %u LUNs x %u planes x %u blocks x %u "
                   "pages x %u sectors\n",
                   units & 0xff, units >> 8 & 0xff, units >> 16 & 0xff, units >> 24, hal_read(at + ROOT_UNITS_AT + 4),
                   (pages & 0xffffffu) >> (pages >> 24), 1u << (pages >> 24));
    for (uint32_t ch = 0; ch < NAND_MAX_CHANNELS; ch++) {
        uint32_t was = enables(at, ch);
        uint32_t is = nand_geo.enables[ch];
        if (was == is) {
            continue;
        }
        console_printf("ftl: channel %u: it is on chip enables", ch);
        enables_print(was);
        if ((was & ~is) != 0) {
            console_printf("; not in use:");
            enables_print(was & ~is);
        }
        if ((is & ~was) != 0) {
            console_printf("; in use and none of it:");
            enables_print(is & ~was);
        }
        console_printf("\n");
    }
}

/* ---- building ---- */

uint32_t root_flags(bool clean) {
    return (clean ? ROOT_CLEAN : 0) | (parity_on ? ROOT_PARITY : 0);
}

void root_begin(void) {
    root.at = 12;
}

void root_put(uint32_t v) {
    hal_write(root.next + root.at, v);
    root.at += 4;
}

void root_end(const struct log_position *log) {
    /* What changes from here on is not in this record, though it is still to be written. */
    ftl.owner_changed = false;
    if (ftl_owner_update != NULL) {
        ftl_owner_update();
    }
    for (uint32_t i = 0; i < FTL_OWNER_BYTES / 4; i++) {
        root_put(ftl_owner_data[i]);
    }
    for (uint32_t i = 0; i < log->listed; i++) {
        root_put(log->list[i]);
    }
    for (uint32_t i = 0; i < log->tails; i++) {
        root_put(log->tail[i].name);
        root_put(log->tail[i].ppa);
    }
    hal_write(root.next, ROOT_MAGIC);
    hal_write(root.next + 8, root.at);
    uint32_t crc = 0;
    for (uint32_t i = 8; i < root.at; i += 4) {
        crc = crc32c_word(crc, hal_read(root.next + i));
    }
    hal_write(root.next + 4, crc);
}

/** The newest record again, with these flags. */
static void again(uint32_t flags) {
    uint32_t dirs = hal_read(root.newest + ROOT_DIRS_AT);
    root_begin();
    for (uint32_t i = root.at; i < (ROOT_WORDS + 2 * dirs) * 4; i += 4) {
        root_put(hal_read(root.newest + i));
    }
    hal_write(root.next + ROOT_SEQ_AT, ckpt.root_seq + 1);
    hal_write(root.next + ROOT_FLAGS_AT, flags);
    hal_write(root.next + ROOT_LISTED_AT, ckpt.log.listed);
    hal_write(root.next + ROOT_FAILED_AT, ckpt.root_failed);
    hal_write(root.next + ROOT_TAILS_AT, ckpt.log.tails);
    if (ckpt.area == ckpt.root_area) {
        hal_write(root.next + ROOT_USED_AT, ckpt.used);
    }
    root_end(&ckpt.log);
}

void root_list(void) {
    again(root_flags(ftl.clean));
}

void root_dirty(void) {
    again(root_flags(false));
}

void root_clean(void) {
    again(root_flags(true));
}

/* ---- writing ---- */

static void go_on(void);

static struct copy *other(const struct copy *c) {
    return &copies[c == copies];
}

static bool failed(uint32_t block) {
    return (ckpt.root_failed >> block & 1) != 0;
}

/** Candidate `block` is of no use any more. A record of its own says so: a mount need not wonder what is in it. */
static void give_up(uint32_t block, const char *why) {
    console_printf("ftl: root block %u (channel %u, way %u, LUN %u) is left out: %s\n", block,
                   ckpt.root_block[block] >> 28, ppa_way(ckpt.root_block[block]) & 15,
                   ppa_row(ckpt.root_block[block]) >> nand_geo.lun_shift, why);
    ckpt.root_failed |= 1u << block;
    ftl.owner_changed = true;
}

static void end(void) {
    bool ok = false;
    uint32_t holds = 0;
    for (uint32_t i = 0; i < ROOT_COPIES; i++) {
        ok |= copies[i].written;
        holds |= copies[i].written ? 1u << copies[i].block : 0;
    }
    root.busy = false;
    if (ok) {
        for (uint32_t i = 0; i < ROOT_COPIES; i++) {
            copies[i].record = copies[i].written ? copies[i].page - 1 : ROOT_NO_RECORD;
        }
        ckpt.root_seq++;
        ckpt.root_holds = holds;
        root.newest = root.next;
        root.next = root.newest == DRAM_ROOT ? DRAM_ROOT + PAGE_SIZE : DRAM_ROOT;
    } else {
        /* A page whose program failed may yet read as a good root record. Whichever a mount finds, nothing that it
         * names may change from here on. */
        ckpt.root_lost = true;
        ftl.read_only = true;
        console_printf("ftl: no root record can be written: read only until the next power-on\n");
    }
    root.done(ok);
    if (!root.busy) {
        checkpoint_root_free();
    }
    append_list();
}

/** The page did not take the record: another one. */
static void missed(struct copy *c) {
    console_printf("ftl: root record not written to page %u of root block %u\n", c->page - 1, c->block);
    if (++c->misses == ROOT_TRIES) {
        give_up(c->block, "it takes no records");
    }
    go_on();
}

static void read_back(struct nand_op *op, uint32_t status) {
    struct copy *c = op->arg;
    c->busy = false;
    uint32_t at = READ_BACK((uint32_t)(c - copies));
    if (status != FLASH_STATUS_OK || !root_good(at) || hal_read(at + 4) != hal_read(root.next + 4)) {
        missed(c);
        return;
    }
    c->misses = 0;
    c->written = true;
    c->ended = true;
    go_on();
}

static void written(struct nand_op *op, uint32_t status) {
    struct copy *c = op->arg;
    c->page++;
    if (status != FLASH_STATUS_OK) {
        c->busy = false;
        missed(c);
        return;
    }
    /* A page that a power cut left half programmed may have read blank: see that it has taken the record. */
    op->done = read_back;
    nand_read(op, area_root_ppa(c->block, c->page - 1), READ_BACK((uint32_t)(c - copies)), PAGE_SIZE);
    nand_submit(op);
}

static void program(struct copy *c) {
    c->busy = true;
    c->op->done = written;
    nand_program(c->op, area_root_ppa(c->block, c->page), root.next, OOB_ROOT, ckpt.root_seq + 1);
    nand_submit(c->op);
}

static void block_erased(struct nand_op *op, uint32_t status) {
    struct copy *c = op->arg;
    c->busy = false;
    if (status == FLASH_STATUS_OK) {
        c->page = 0;
    } else {
        give_up(c->block, "it was not erased");
    }
    go_on();
}

/** Whether candidate `block` may be erased for `c`. */
static bool free_for(const struct copy *c, uint32_t block, bool same_die) {
    const struct copy *o = other(c);
    if (failed(block) || block == o->block) {
        return false;
    }
    if (!same_die && !failed(o->block) && bad_die(ckpt.root_block[block]) == bad_die(ckpt.root_block[o->block])) {
        return false;
    }
    return o->written || (ckpt.root_holds & ~(1u << block)) != 0 || ckpt.root_holds == 0;
}

/** Take the copy to the next candidate: they are worn in turn. */
static void move(struct copy *c) {
    for (uint32_t i = 1; i <= 2 * ckpt.roots; i++) {
        uint32_t block = (c->block + i) % ckpt.roots;
        if (free_for(c, block, i > ckpt.roots)) {
            c->block = (uint8_t)block;
            c->page = area_root_pages();
            c->record = ROOT_NO_RECORD;
            c->misses = 0;
            c->busy = true;
            ckpt.root_holds &= ~(1u << block);
            c->op->done = block_erased;
            nand_erase(c->op, ckpt.root_block[block]);
            nand_submit(c->op);
            return;
        }
    }
    /* Once the other copy is written, more blocks may be erased. */
    c->ended = c != copies || other(c)->ended;
}

/** Copies with room go at once. One without waits for the other: the record is to be somewhere before a block with the
 * one before it is erased. */
static void go_on(void) {
    for (struct copy *c = copies; c < copies + ROOT_COPIES; c++) {
        if (!c->busy && !c->ended && !failed(c->block) && c->page < area_root_pages()) {
            /* Not the page whose program could take the newest record along. */
            c->page += nand_geo.paired && c->record != ROOT_NO_RECORD && pairs_lower(c->page) == c->record;
        }
        if (!c->busy && !c->ended && !failed(c->block) && c->page < area_root_pages()) {
            program(c);
        }
    }
    for (uint32_t i = 0; i <= ROOT_COPIES; i++) {
        struct copy *c = &copies[i % ROOT_COPIES];
        if (!c->busy && !c->ended && !other(c)->busy) {
            move(c);
        }
    }
    if (copies[0].ended && copies[1].ended) {
        end();
    }
}

bool root_fresh(void) {
    uint32_t copy = 0;
    for (uint32_t i = 0; i < ckpt.roots; i++) {
        if (!failed(i) && copy < ROOT_COPIES) {
            root_resume(copy++, i, 0, ROOT_NO_RECORD);
        }
    }
    ckpt.root_holds = 0;
    if (copy == 1) {
        root_resume(1, copies[0].block, area_root_pages(), ROOT_NO_RECORD);
    }
    return copy > 0;
}

void root_write(void (*build)(void), void (*done)(bool ok)) {
    root.busy = true;
    root.done = done;
    for (uint32_t i = 0; i < ROOT_COPIES; i++) {
        copies[i].ended = false;
        copies[i].written = false;
    }
    build();
    go_on();
}
