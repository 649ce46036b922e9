// SPDX-License-Identifier: BSD-3-Clause
#include "ftl/root.h"

#include "ftl/append.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "ftl/pairs.h"
#include "lib/crc.h"
#include "platform/console.h"

#define READ_BACK (DRAM_ROOT + 2 * PAGE_SIZE)

static struct {
    struct nand_op *op; /**< its own: it never has to wait for one */
    void (*build)(void);
    void (*done)(bool ok);
    bool busy;
    bool moved; /**< it goes to the other block because of failures */
    uint32_t tries;
    uint32_t newest; /**< DRAM address of the newest record on the medium */
    uint32_t next;   /**< where the next one is built */
    uint32_t at;     /**< bytes of it */
    uint32_t page;   /**< that the newest record is in, of its block */
} root;

void root_init(void) {
    root.op = nand_op_get();
    root.busy = false;
    root.newest = 0;
    root.next = DRAM_ROOT + PAGE_SIZE;
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

void root_found(uint32_t page) {
    root.page = page;
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

/* ---- building ---- */

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
    if (ckpt.area == ckpt.root_area) {
        hal_write(root.next + ROOT_USED_AT, ckpt.used);
    }
    root_end(&ckpt.log);
}

void root_list(void) {
    again(ftl.clean ? ROOT_CLEAN : 0);
}

void root_dirty(void) {
    again(0);
}

void root_clean(void) {
    again(ROOT_CLEAN);
}

/* ---- writing ---- */

static void place(void);

static void end(bool ok) {
    root.busy = false;
    if (!ok && root.tries > 0) {
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
static void missed(void) {
    console_printf("ftl: root record not written to page %u of root block %u\n", ckpt.root_page - 1, ckpt.root_which);
    if (++root.tries % ROOT_TRIES == 0) {
        ckpt.root_page = checkpoint_root_pages();
        if (root.moved) {
            end(false);
            return;
        }
        root.moved = true;
    }
    root.build();
    place();
}

static void read_back(struct nand_op *op, uint32_t status) {
    (void)op;
    if (status != FLASH_STATUS_OK || !root_good(READ_BACK)) {
        missed();
        return;
    }
    ckpt.root_seq++;
    ckpt.root_newest = ckpt.root_which;
    root.page = ckpt.root_page - 1;
    root.newest = root.next;
    root.next = root.newest == DRAM_ROOT ? DRAM_ROOT + PAGE_SIZE : DRAM_ROOT;
    end(true);
}

static void written(struct nand_op *op, uint32_t status) {
    ckpt.root_page++;
    if (status != FLASH_STATUS_OK) {
        missed();
        return;
    }
    /* A page that a power cut left half programmed may have read blank: see that it has taken the record. */
    op->done = read_back;
    nand_read(op, checkpoint_root_ppa(ckpt.root_which, ckpt.root_page - 1), READ_BACK, PAGE_SIZE);
    nand_submit(op);
}

static void program(void) {
    uint32_t ppa = checkpoint_root_ppa(ckpt.root_which, ckpt.root_page);
    root.op->done = written;
    nand_program(root.op, ppa, root.next, OOB_ROOT, ckpt.root_seq + 1);
    nand_submit(root.op);
}

static void block_erased(struct nand_op *op, uint32_t status) {
    (void)op;
    if (status != FLASH_STATUS_OK) {
        console_printf("ftl: root block %u not erased\n", ckpt.root_newest ^ 1);
        end(false);
        return;
    }
    ckpt.root_which = ckpt.root_newest ^ 1;
    ckpt.root_page = 0;
    program();
}

/** Write the record, to the block that does not hold the newest one when the other takes no more. */
static void place(void) {
    bool spoils = nand_geo.paired && root.newest != 0 && ckpt.root_which == ckpt.root_newest &&
                  pairs_lower(ckpt.root_page) == root.page;
    ckpt.root_page += spoils;
    if (ckpt.root_page < checkpoint_root_pages()) {
        program();
        return;
    }
    uint32_t ppa = ckpt.root_block[ckpt.root_newest ^ 1];
    root.op->done = block_erased;
    nand_erase(root.op, ppa);
    nand_submit(root.op);
}

void root_write(void (*build)(void), void (*done)(bool ok)) {
    root.busy = true;
    root.moved = false;
    root.tries = 0;
    root.build = build;
    root.done = done;
    build();
    place();
}
