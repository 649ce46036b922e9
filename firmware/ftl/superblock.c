/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/superblock.h"

#include <string.h>

#include "ftl/bad.h"
#include "ftl/map.h"
#include "ftl/parity.h"
#include "platform/console.h"
#include "platform/fill.h"

struct sb_table sb;
/** Erases that wait for operations. */
static struct list erases_waiting;

/** What superblock_find_free found, of least and most worn ones: it is asked again and again, and has to read the whole
 * table. Valid until a superblock changes. */
static struct found {
    bool valid;
    uint32_t rotor, n;
} found[2];

static void forget_found(void) {
    found[false].valid = false;
    found[true].valid = false;
}

void superblock_init(void) {
    memset(&sb, 0, sizeof sb);
    sb.count = nand_geo.blocks;
    if (sb.count > SB_MAX) {
        console_printf("ftl: %u blocks a plane; the first %u are used\n", sb.count, SB_MAX);
        sb.count = SB_MAX;
    }
    sb.pages = nand_geo.channels * nand_geo.ways * nand_geo.luns * nand_geo.planes * nand_geo.pages;
    sb.free = sb.count;
    for (uint32_t i = 0; i < SB_COUNTS; i++) {
        sb.counts[i].n = i;
    }
    dram_zero(DRAM_VALID, (sb.count * 4 + 63) & ~63u);
    forget_found();
    dram_zero(DRAM_TABLE, (sb.count * 8 + 63) & ~63u);
    dram_zero(DRAM_PINS, (sb.count * 4 + 63) & ~63u);
    dram_zero(DRAM_CLOSED, (sb.count * 4 + 63) & ~63u);
    erases_waiting = (struct list){0};
    work_clear(WORK_ERASE);
}

void superblock_fetch(struct sb_count *at, uint32_t n) {
    uint32_t before = at->n & ~SB_COUNT_MARKED;
    if (before != n) {
        hal_write(DRAM_VALID + before * 4, at->valid);
        at->valid = hal_read(DRAM_VALID + n * 4);
    }
    at->n = n | SB_COUNT_MARKED;
    sb_changed(n);
}

void superblock_unchanged(void) {
    memset(sb.changed, 0, sizeof sb.changed);
    for (uint32_t i = 0; i < SB_COUNTS; i++) {
        sb.counts[i].n &= ~SB_COUNT_MARKED;
    }
}

void superblock_set_state(uint32_t n, enum sb_state state) {
    forget_found();
    sb.free += (state == SB_FREE) - (sb.state[n] == SB_FREE);
    sb.logged += (state == SB_LOGGED) - (sb.state[n] == SB_LOGGED);
    sb.bad += (state == SB_BAD) - (sb.state[n] == SB_BAD);
    sb.state[n] = (uint8_t)state;
    sb_changed(n);
}

void superblock_erased(uint32_t n) {
    forget_found();
    uint32_t w = hal_read(DRAM_TABLE + n * 8 + 4);
    if ((w & SB_TABLE_ERASES) != SB_TABLE_ERASES) {
        hal_write(DRAM_TABLE + n * 8 + 4, w + 1);
    }
    sb_changed(n);
}

uint32_t superblock_erases(uint32_t n) {
    return hal_read(DRAM_TABLE + n * 8 + 4) & SB_TABLE_ERASES;
}

uint32_t superblock_pins(uint32_t n) {
    return hal_read(DRAM_PINS + n * 4);
}

void superblock_pin(uint32_t n, int32_t pages) {
    hal_write(DRAM_PINS + n * 4, hal_read(DRAM_PINS + n * 4) + (uint32_t)pages);
    sb.pinned += (uint32_t)pages;
    if (pages < 0) {
        superblock_emptied();
    }
}

void superblock_spoilt(uint32_t n) {
    superblock_set_state(n, bad_sectors(n) == 0 ? SB_BAD : SB_LOGGED);
}

void superblock_closed(uint32_t n) {
    superblock_set_state(n, SB_LOGGED);
    hal_write(DRAM_CLOSED + n * 4, ++sb.closings);
}

uint32_t superblock_age(uint32_t n) {
    return sb.closings - hal_read(DRAM_CLOSED + n * 4);
}

void superblock_table_count(uint32_t n, int32_t sectors) {
    hal_write(DRAM_TABLE + n * 8, hal_read(DRAM_TABLE + n * 8) + (uint32_t)sectors);
}

void superblock_unlog(uint32_t closings) {
    for (uint32_t i = 0; i < sb.count && sb.logged > 0; i++) {
        if (sb.state[i] == SB_LOGGED && (int32_t)(closings - hal_read(DRAM_CLOSED + i * 4)) >= 0) {
            superblock_set_state(i, SB_CLOSED);
        }
    }
    superblock_emptied();
}

bool superblock_release(void) {
    uint32_t before = sb.free;
    sb.emptied = false;
    for (uint32_t i = 0; i < sb.used; i++) {
        bool closed = sb.state[i] == SB_CLOSED || sb.state[i] == SB_UNMOVABLE;
        if (closed && superblock_valid(i) == 0 && superblock_pins(i) == 0 && !parity_writes(i)) {
            if (bad_unsaved(i) || bad_sectors(i) == 0) {
                superblock_spoilt(i);
            } else {
                superblock_set_state(i, SB_FREE);
            }
        }
    }
    return sb.free > before;
}

bool superblock_has(uint32_t ppa) {
    return nand_has_way(ppa) && ppa_row(ppa) >> nand_geo.lun_shift < nand_geo.luns && ppa_block(ppa) < sb.count;
}

uint32_t superblock_find_free(bool worn) {
    struct found *known = &found[worn];
    if (known->valid && known->rotor == sb.rotor) {
        return known->n;
    }
    uint32_t best = SB_NONE;
    uint32_t best_erases = 0;
    uint32_t n = sb.rotor;
    for (uint32_t i = 0; i < sb.count; i++, n++) {
        if (n >= sb.count) {
            n = 0;
        }
        if (sb.state[n] != SB_FREE) {
            continue;
        }
        uint32_t erases = superblock_erases(n);
        if (best == SB_NONE || (worn ? erases > best_erases : erases < best_erases)) {
            best = n;
            best_erases = erases;
        }
    }
    *known = (struct found){.valid = true, .rotor = sb.rotor, .n = best};
    return best;
}

uint32_t superblock_pick(bool worn) {
    uint32_t n = superblock_find_free(worn);
    sb.rotor = n != SB_NONE ? n + 1 : sb.rotor;
    return n;
}

/**
 * First way of round `round`. Two ways a round, one more every 8 and every 64 rounds: streams that start a power
 * of two apart keep at least a way between them, found by simulating eight of them over all such distances.
 */
static uint8_t first_way(uint32_t round) {
    uint32_t sixteenth = (2 * round + (round >> 3) + (round >> 6)) & 15;
    return (uint8_t)(sixteenth * nand_geo.ways >> 4);
}

/** The cursor's round. */
static uint32_t round_of(const struct sb_cursor *c) {
    return c->lun + nand_geo.luns * (c->plane + nand_geo.planes * c->page);
}

void cursor_open(struct sb_cursor *c, uint32_t n) {
    *c = (struct sb_cursor){.sb = n, .left = sb.pages};
}

uint32_t cursor_ppa(const struct sb_cursor *c) {
    uint32_t row = (uint32_t)c->page << nand_geo.sector_log2 | c->sector | (uint32_t)c->plane << nand_geo.plane_shift |
                   c->sb << nand_geo.block_shift | (uint32_t)c->lun << nand_geo.lun_shift;
    uint32_t way = (uint32_t)c->way + c->first_way;
    if (way >= nand_geo.ways) {
        way -= nand_geo.ways;
    }
    return (uint32_t)c->channel << 28 | way << 24 | row;
}

void cursor_next_page(struct sb_cursor *c) {
    c->left -= nand_geo.sectors - c->sector;
    c->sector = 0;
    if (++c->channel < nand_geo.channels) {
        return;
    }
    c->channel = 0;
    if (++c->way < nand_geo.ways) {
        return;
    }
    c->way = 0;
    if (++c->lun == nand_geo.luns) {
        c->lun = 0;
        if (++c->plane == nand_geo.planes) {
            c->plane = 0;
            c->page++;
        }
    }
    c->first_way = first_way(round_of(c));
}

void cursor_next(struct sb_cursor *c) {
    if (c->sector + 1u == nand_geo.sectors) {
        cursor_next_page(c);
    } else {
        c->sector++;
        c->left--;
    }
}

void cursor_seek(struct sb_cursor *c, uint32_t n, uint32_t position) {
    cursor_open(c, n);
    c->left = sb.pages - position;
    c->sector = (uint8_t)(position & (nand_geo.sectors - 1));
    position >>= nand_geo.sector_log2;
    c->channel = (uint8_t)(position % nand_geo.channels);
    position /= nand_geo.channels;
    c->way = (uint8_t)(position % nand_geo.ways);
    position /= nand_geo.ways;
    c->lun = (uint8_t)(position % nand_geo.luns);
    position /= nand_geo.luns;
    c->plane = (uint8_t)(position % nand_geo.planes);
    c->page = (uint16_t)(position / nand_geo.planes);
    c->first_way = first_way(round_of(c));
}

uint32_t superblock_position(uint32_t ppa) {
    uint32_t row = ppa_row(ppa);
    uint32_t page = (row & (nand_geo.pages - 1)) >> nand_geo.sector_log2;
    uint32_t plane = row >> nand_geo.plane_shift & (nand_geo.planes - 1);
    uint32_t round = (row >> nand_geo.lun_shift) + nand_geo.luns * (plane + nand_geo.planes * page);
    uint32_t way = (ppa_way(ppa) & 15) + nand_geo.ways - first_way(round);
    if (way >= nand_geo.ways) {
        way -= nand_geo.ways;
    }
    uint32_t at = (round * nand_geo.ways + way) * nand_geo.channels + (ppa >> 28);
    return at << nand_geo.sector_log2 | (row & (nand_geo.sectors - 1));
}

/* ---- erase ---- */

/** Most blocks of a superblock that are erased at a time: others need operations too. */
#define ERASES 64u

static void erase_pump(struct sb_erase *e);

static void erase_done(struct nand_op *op, uint32_t status) {
    struct sb_erase *e = op->arg;
    uint32_t ppa = nand_op_ppa(op);
    nand_op_put(op);
    if (status == FLASH_STATUS_OK) {
        bad_worked(ppa);
    } else {
        e->failures++;
        bad_block(ppa, BAD_ERASE);
    }
    e->in_flight--;
    erase_pump(e);
}

static void erase_pump(struct sb_erase *e) {
    /* One erase a way in flight: reads that arrive meanwhile wait for at most one more erase, and housekeeping leaves
     * descriptors over. */
    uint32_t limit = nand_geo.channels * nand_geo.ways;
    if (limit > ERASES) {
        limit = ERASES;
    }
    while (e->blocks_left > 0 && e->in_flight < limit) {
        uint32_t ppa = cursor_ppa(&e->at);
        if (bad_at(ppa)) {
            cursor_next_page(&e->at);
            e->blocks_left--;
            continue;
        }
        struct nand_op *op = nand_op_get();
        if (op == NULL) {
            if (e->in_flight == 0 && !e->waits) {
                e->waits = true;
                list_put(&erases_waiting, &e->node);
                work_set(WORK_ERASE);
            }
            return;
        }
        cursor_next_page(&e->at);
        e->blocks_left--;
        e->in_flight++;
        op->done = erase_done;
        op->arg = e;
        nand_erase(op, ppa);
        nand_submit(op);
    }
    if (e->in_flight == 0 && e->active) {
        e->active = false;
        superblock_erased(e->sb);
        bad_erased(e->sb);
        e->done(e, e->failures == 0);
    }
}

void superblock_erase_poll(void) {
    work_clear(WORK_ERASE);
    struct list all = list_take_all(&erases_waiting);
    while (!list_empty(&all)) {
        struct sb_erase *e = CONTAINER(list_take(&all), struct sb_erase, node);
        e->waits = false;
        erase_pump(e);
    }
}

void superblock_erase(struct sb_erase *e, uint32_t n, void (*done)(struct sb_erase *e, bool ok)) {
    e->sb = n;
    cursor_open(&e->at, n);
    e->blocks_left = sb.pages / nand_geo.pages;
    e->in_flight = 0;
    e->failures = 0;
    e->active = true;
    e->waits = false;
    e->done = done;
    erase_pump(e);
}
