/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/scan.h"

#include <assert.h>

#include "ftl/buffer.h"

struct scan_page *scan_pages;
static_assert(SCAN_MAX * sizeof(struct scan_page) + SCAN_SPARE <= BUFFER_SCRATCH, "pages under way");

void scan_init(void) {
    scan_pages = buffer_scratch();
}

void *scan_spare(void) {
    return scan_pages + SCAN_MAX;
}

static void scan_done(struct nand_op *op, uint32_t status) {
    struct scan_page *p = op->arg;
    p->oob0 = op->data0;
    p->oob1 = op->data1;
    p->status = status;
    nand_op_put(op);
}

static void start(struct scan_page *p, uint32_t ppa, uint32_t dst, uint32_t bytes, bool plain) {
    struct nand_op *op = nand_op_wait();
    p->ppa = ppa;
    p->status = SCAN_UNDER_WAY;
    op->done = scan_done;
    op->arg = p;
    nand_read(op, ppa, dst, bytes);
    op->plain = plain;
    nand_submit(op);
}

void scan_read(struct scan_page *p, uint32_t ppa, uint32_t dst, uint32_t bytes) {
    start(p, ppa, dst, bytes, false);
}

void scan_read_once(struct scan_page *p, uint32_t ppa, uint32_t dst, uint32_t bytes) {
    start(p, ppa, dst, bytes, true);
}

void scan_end(const struct scan_page *p) {
    while (p->status == SCAN_UNDER_WAY) {
        nand_wait();
    }
}
