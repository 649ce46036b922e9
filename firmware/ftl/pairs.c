// SPDX-License-Identifier: BSD-3-Clause
#include "ftl/pairs.h"

#include "ftl/bad.h"
#include "ftl/checkpoint.h"

/**
 * Programs of upper pages in flight, by turns: those that begin when somebody waits are of the other turn than those
 * that are waited for.
 */
static uint32_t in_flight[2];
static uint8_t turn;
/** Who waits for the turn that is not the present one; who came meanwhile. */
static struct list waiting, next;

void pairs_init(void) {
    in_flight[0] = in_flight[1] = 0;
    turn = 0;
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
}

void pairs_begin(struct ftl_write *first) {
    uint32_t page = (ppa_row(first->ppa) & (nand_geo.pages - 1)) >> nand_geo.sector_log2;
    for (struct ftl_write *w = first; w != NULL; w = ftl_write_next(w)) {
        w->upper = 0;
    }
    if (pairs_lower(page) != UINT32_MAX) {
        in_flight[turn]++;
        first->upper = (uint8_t)(turn + 1);
    }
}

void pairs_end(struct ftl_write *first) {
    for (struct ftl_write *w = first; w != NULL; w = ftl_write_next(w)) {
        if (w->upper != 0) {
            in_flight[w->upper - 1]--;
            w->upper = 0;
        }
    }
}

/* ---- copies ---- */

/** Where the original of the copy at `ppa` is noted: by its place in the superblock. Others of the same place are of
 * another superblock, and no copy is on its way for longer than a few rows. */
static uint32_t copied_at(uint32_t ppa) {
    return DRAM_COPIED + superblock_position(ppa) % (DRAM_COPIED_SIZE / 8) * 8;
}

void pairs_copied(uint32_t ppa, uint32_t lba, uint32_t from) {
    uint32_t at = copied_at(ppa);
    hal_write(at, lba);
    hal_write(at + 4, from);
}

/** The copy at `ppa` is gone: the map names the original again. Nothing has erased that: who does exposes the copy
 * first. */
static void take_back(uint32_t ppa) {
    uint32_t at = copied_at(ppa);
    uint32_t lba = hal_read(at);
    uint32_t from = hal_read(at + 4);
    if (lba >= ftl.lbas || map_get(lba) != ppa) {
        return;
    }
    map_set(lba, from);
    if (sb.state[ppa_block(from)] == SB_FREE) {
        superblock_set_state(ppa_block(from), SB_CLOSED);
    }
    checkpoint_spoilt();
}

void pairs_failed(const struct ftl_write *first) {
    for (const struct ftl_write *w = first; w != NULL; w = ftl_write_next(w)) {
        uint32_t page = (ppa_row(w->ppa) & (nand_geo.pages - 1)) >> nand_geo.sector_log2;
        if (w->op->confirm != FLASH_CONFIRM_MORE && pairs_lower(page) != UINT32_MAX) {
            uint32_t lower = w->ppa - ((page - pairs_lower(page)) << nand_geo.sector_log2);
            for (uint32_t i = 0; i < nand_geo.sectors; i++) {
                take_back((lower & ~(nand_geo.sectors - 1)) + i);
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
