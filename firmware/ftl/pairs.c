// SPDX-License-Identifier: BSD-3-Clause
#include "ftl/pairs.h"

#include "ftl/bad.h"
#include "ftl/cache.h"
#include "ftl/checkpoint.h"
#include "ftl/parity.h"
#include "ftl/write.h"
#include "platform/console.h"

/**
 * Programs of upper pages in flight, by turns: those that begin when somebody waits are of the other turn than those
 * that are waited for.
 */
static uint32_t in_flight[2];
static uint8_t turn;
/** Who waits for the turn that is not the present one; who came meanwhile. */
static struct list waiting, next;

/** Blocks that are being declared lost, at most: those of a page of every plane. */
#define LOSSES 32u
static struct ftl_write losses[LOSSES];
uint32_t pairs_losses;

/** Blocks that are lost while a newer version of them is on its way, or that the log cannot take yet. */
static struct {
    uint32_t count;
    bool more; /**< than there is room for */
    struct lost_block {
        uint32_t lba, ppa;
    } block[LOSSES];
} unlogged;

/** Uncommitted pages that are gone; when there are more, each may be. They are all forgotten when none is left. */
#define GONE 32u
static uint32_t gone[GONE];
uint32_t pairs_gone_count;

void pairs_init(void) {
    in_flight[0] = in_flight[1] = 0;
    turn = 0;
    pairs_losses = 0;
    unlogged.count = 0;
    unlogged.more = false;
    pairs_gone_count = 0;
    waiting = next = (struct list){0};
}

/** Pages 0 and 2, 1 and 4, 3 and 6, ... share cells, and the last page and the last but two. */
uint32_t pairs_lower(uint32_t page) {
    uint32_t rows = nand_geo.pages >> nand_geo.sector_log2;
    if (rows < 4 || page < 2) {
        return UINT32_MAX;
    }
    if (page == rows - 1) {
        return page - 2;
    }
    return (page & 1) != 0 ? UINT32_MAX : page == 2 ? 0 : page - 3;
}

uint32_t pairs_rows(const struct sb_cursor *c) {
    if (c->left == 0) {
        return nand_geo.pages >> nand_geo.sector_log2;
    }
    bool begun = (c->channel | c->way | c->lun | c->plane | c->sector) != 0;
    return c->page + (begun ? 1u : 0u);
}

void pairs_step_over(struct sb_cursor *c, uint32_t exposed) {
    uint32_t row = bad.units * nand_geo.sectors;
    while (c->left > 0 && pairs_blank(c->page, exposed)) {
        cursor_seek(c, c->sb, (c->page + 1u) * row);
    }
}

void pairs_expose(enum append_point point) {
    struct append *a = &append[point];
    if (!nand_geo.paired || a->cur.sb == SB_NONE) {
        return;
    }
    uint32_t rows = pairs_rows(&a->cur);
    a->exposed = rows > a->exposed ? rows : a->exposed;
    if (parity_on) {
        parity_exposed(point);
    }
}

uint8_t pairs_hold(uint32_t ppa) {
    uint32_t page = (ppa_row(ppa) & (nand_geo.pages - 1)) >> nand_geo.sector_log2;
    if (!nand_geo.paired || pairs_lower(page) == UINT32_MAX) {
        return 0;
    }
    in_flight[turn]++;
    return (uint8_t)(turn + 1);
}

void pairs_let(uint8_t upper) {
    if (upper != 0) {
        in_flight[upper - 1]--;
        pairs_look();
    }
}

void pairs_begin(struct ftl_write *first) {
    for (struct ftl_write *w = first; w != NULL; w = ftl_write_next(w)) {
        w->upper = 0;
    }
    first->upper = pairs_hold(first->ppa);
}

static void end(struct ftl_write *first) {
    for (struct ftl_write *w = first; w != NULL; w = ftl_write_next(w)) {
        if (w->upper != 0) {
            in_flight[w->upper - 1]--;
            w->upper = 0;
        }
    }
}

/* ---- programs that fail ---- */

/** Where the sector at `ppa` is noted: by its place in the superblock. Others of the same place are of another
 * superblock, and the map tells these apart. */
static uint32_t note_at(enum append_point point, uint32_t ppa) {
    uint32_t half = DRAM_NOTES_SIZE / 2;
    return DRAM_NOTES + point * half + superblock_position(ppa) % (half / 8) * 8;
}

void pairs_note(enum append_point point, uint32_t ppa, uint32_t lba, uint32_t from) {
    uint32_t at = note_at(point, ppa);
    hal_write(at, lba);
    hal_write(at + 4, from);
}

uint32_t pairs_noted(enum append_point point, uint32_t ppa, uint32_t *from) {
    uint32_t at = note_at(point, ppa);
    *from = hal_read(at + 4);
    return hal_read(at);
}

/** The copy at `ppa` is gone: the map names the original again. Nothing has erased that: who does exposes the copy
 * first. */
static void take_back(uint32_t lba, uint32_t from) {
    map_set(lba, from);
    if (sb.state[ppa_block(from)] == SB_FREE) {
        superblock_set_state(ppa_block(from), SB_CLOSED);
    }
    checkpoint_spoilt();
}

static void unlogged_add(uint32_t lba, uint32_t ppa) {
    if (unlogged.count < LOSSES) {
        unlogged.block[unlogged.count++] = (struct lost_block){lba, ppa};
    } else {
        unlogged.more = true;
    }
}

static void loss_taken(struct ftl_write *w) {
    (void)w;
}

static void loss_logged(struct ftl_write *w, enum ftl_status status) {
    nand_op_put(w->op);
    pairs_losses &= ~(1u << (w - losses));
    if (status != FTL_OK) {
        unlogged_add(w->lba, map_get(w->lba));
    }
    cache_look();
}

/** Have the log say that block `lba` is gone. False: that cannot begin now. */
static bool log_loss(uint32_t lba) {
    struct nand_op *op = !write_under_way(lba) && pairs_losses != UINT32_MAX ? nand_op_get() : NULL;
    if (op == NULL) {
        return false;
    }
    uint32_t n = 0;
    while ((pairs_losses >> n & 1) != 0) {
        n++;
    }
    pairs_losses |= 1u << n;
    losses[n] = (struct ftl_write){
        .op = op, .lba = lba, .buffer = DRAM_ZERO, .lost = 1, .take = loss_taken, .done = loss_logged};
    ftl_announce();
    ftl_write(&losses[n]);
    return true;
}

bool pairs_unlogged(void) {
    for (uint32_t i = unlogged.count; i-- > 0;) {
        struct lost_block b = unlogged.block[i];
        bool gone = map_get(b.lba) == b.ppa;
        if (gone && write_under_way(b.lba)) {
            continue;
        }
        unlogged.block[i] = unlogged.block[--unlogged.count];
        if (gone && !log_loss(b.lba)) {
            unlogged.block[unlogged.count++] = b;
            break;
        }
        /* What has been begun may have brought this function here again. */
        i = i < unlogged.count ? i : unlogged.count;
    }
    bool some = unlogged.count > 0 || unlogged.more;
    unlogged.more &= unlogged.count > 0;
    return some;
}

/** Block `lba`, at `ppa`, is gone, and the host takes it for written: the log says so, or a newer version is written
 * first, or a cut would bring an older one back. */
static void declare_lost(uint32_t lba, uint32_t ppa) {
    ftl.lost = true;
    console_printf("ftl: block %u is lost: it shared cells with a page whose program failed\n", lba);
    if (!log_loss(lba)) {
        unlogged_add(lba, ppa);
    }
}

static void uncommitted_gone(uint32_t ppa) {
    if (sb.pinned == 0) {
        pairs_gone_count = 0;
        return;
    }
    if (pairs_gone_count < GONE) {
        gone[pairs_gone_count] = ppa;
    }
    pairs_gone_count++;
}

bool pairs_gone(uint32_t ppa) {
    for (uint32_t i = 0; i < pairs_gone_count && i < GONE; i++) {
        if (gone[i] == ppa) {
            return true;
        }
    }
    return pairs_gone_count > GONE;
}

static void spoilt(enum append_point point, uint32_t ppa) {
    uint32_t from;
    uint32_t lba = pairs_noted(point, ppa, &from);
    if (lba >= ftl.lbas) {
        return;
    }
    if (map_get(lba) != ppa) {
        if (point == APPEND_HOST && from != 0) {
            uncommitted_gone(ppa);
        }
        return;
    }
    if (point == APPEND_COPY) {
        take_back(lba, from);
    } else {
        declare_lost(lba, ppa);
    }
}

void pairs_ended(enum append_point point, struct ftl_write *first) {
    end(first);
    if (!first->failed) {
        return;
    }
    for (const struct ftl_write *w = first; w != NULL; w = ftl_write_next(w)) {
        uint32_t page = (ppa_row(w->ppa) & (nand_geo.pages - 1)) >> nand_geo.sector_log2;
        if (w->op->confirm != FLASH_CONFIRM_MORE && pairs_lower(page) != UINT32_MAX) {
            uint32_t lower = w->ppa - ((page - pairs_lower(page)) << nand_geo.sector_log2);
            for (uint32_t i = 0; i < nand_geo.sectors; i++) {
                spoilt(point, (lower & ~(nand_geo.sectors - 1)) + i);
            }
        }
    }
}

/* ---- who relies on what is programmed ---- */

void pairs_look(void) {
    for (;;) {
        if (list_empty(&waiting)) {
            if (list_empty(&next)) {
                return;
            }
            waiting = list_take_all(&next);
            turn ^= 1;
        }
        if (in_flight[turn ^ 1] > 0) {
            return;
        }
        struct list all = list_take_all(&waiting);
        while (!list_empty(&all)) {
            struct pairs_wait *p = CONTAINER(list_take(&all), struct pairs_wait, node);
            p->done(p);
        }
    }
}

void pairs_settle(struct pairs_wait *p, bool copies) {
    if (!nand_geo.paired) {
        p->done(p);
        return;
    }
    pairs_expose(APPEND_HOST);
    if (copies) {
        pairs_expose(APPEND_COPY);
    }
    list_put(&next, &p->node);
    pairs_look();
}
