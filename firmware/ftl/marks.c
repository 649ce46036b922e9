/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks that came bad. The maker marks them: 00h in the first byte of the spare area of the first or the last page.
 * Marks are read once, when the medium is formatted: these blocks are left out from then on, and nothing erases them,
 * because that would erase the mark too. Of the superblocks before those of the areas only the candidates for root
 * records are used; one of these has to be good, and the first blocks of their packages are, which ONFI promises.
 */
#include "ftl/bad.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "platform/console.h"
#include "platform/dram.h"

/** The page buffers of the host path are idle at boot. A column is read in pieces of eight bytes, to multiples of a
 * packet. */
#define MARKS       DRAM_BUFFERS
#define MARK_STRIDE 64u
#define MARK_BYTES  8u
/** Blocks that are read at once, two marks each. */
#define BATCH 128u

static void mark_done(struct nand_op *op, uint32_t status) {
    if (status != FLASH_STATUS_OK) {
        /* Not readable is as good as marked. */
        hal_write(op->w2, 0);
    }
    nand_op_put(op);
}

static void read_done(struct nand_op *op, uint32_t status) {
    *(uint32_t *)op->arg = status;
    nand_op_put(op);
}

/** Start reading the mark of page `ppa` to `to`. */
static void mark_read(uint32_t ppa, uint32_t to) {
    struct nand_op *op = nand_op_wait();
    op->done = mark_done;
    nand_read_raw(op, ppa, nand_geo.page_bytes, to, MARK_BYTES);
    nand_submit(op);
}

/** Whether the block at `ppa` is one that this drive has written: then its byte 00h is data. */
static bool written(uint32_t ppa) {
    uint32_t status = FLASH_STATUS_ERASED;
    struct nand_op *op = nand_op_get();
    op->done = read_done;
    op->arg = &status;
    nand_read(op, ppa, DRAM_DROP, MARK_STRIDE);
    nand_submit(op);
    nand_wait_idle();
    return status == FLASH_STATUS_OK || status == FLASH_STATUS_FOREIGN;
}

static bool marked(uint32_t place, uint32_t ppa) {
    for (uint32_t i = 0; i < 2; i++) {
        if ((hal_read(MARKS + (2 * place + i) * MARK_STRIDE) & 0xffu) == 0 && !written(ppa)) {
            return true;
        }
    }
    return false;
}

/** Step to the next block: of the same superblock, or the first of the next one. */
static void next_block(struct sb_cursor *c) {
    cursor_next_page(c);
    if (c->page != 0) {
        cursor_open(c, c->sb + 1);
    }
}

/** Start reading both marks of the block at `ppa` to place `place`. */
static void marks_start(uint32_t place, uint32_t ppa) {
    mark_read(ppa, MARKS + 2 * place * MARK_STRIDE);
    mark_read(ppa + nand_geo.pages - nand_geo.sectors, MARKS + (2 * place + 1) * MARK_STRIDE);
}

bool marks_block(uint32_t ppa) {
    if (nand_geo.bad_blocks == 0) {
        return false;
    }
    marks_start(0, ppa);
    nand_wait_idle();
    return marked(0, ppa);
}

/** The block at `ppa` of superblock `n` is marked. */
static void leave_out(uint32_t n, uint32_t ppa) {
    if (n >= ckpt.first) {
        bad_block(ppa, BAD_FACTORY);
        return;
    }
    for (uint32_t i = 0; i < ckpt.roots; i++) {
        if (ppa == ckpt.root_block[i]) {
            ckpt.root_failed |= 1u << i;
        }
    }
}

const char *marks_read(void) {
    if (nand_geo.bad_blocks == 0) {
        return NULL;
    }
    struct sb_cursor at;
    cursor_open(&at, 0);
    while (at.sb < sb.count) {
        struct sb_cursor ahead = at;
        uint32_t batch = 0;
        for (; batch < BATCH && ahead.sb < sb.count; batch++, next_block(&ahead)) {
            marks_start(batch, cursor_ppa(&ahead));
        }
        nand_wait_idle();
        for (uint32_t i = 0; i < batch; i++, next_block(&at)) {
            uint32_t ppa = cursor_ppa(&at);
            if (marked(i, ppa)) {
                leave_out(at.sb, ppa);
            }
        }
    }
    if (ckpt.root_failed == (1u << ckpt.roots) - 1) {
        return "all root blocks came bad";
    }
    if (bad.count == BAD_MOST) {
        return "too many blocks came bad";
    }
    for (uint32_t n = ckpt.first; n < sb.count; n++) {
        if (bad_sectors(n) == 0) {
            superblock_set_state(n, SB_BAD);
        }
    }
    if (bad.count > 0) {
        console_printf("ftl: %u of %u blocks came bad: they are left out\n", bad.count, sb.count * bad.units);
    }
    return NULL;
}
