// SPDX-License-Identifier: BSD-3-Clause
#include "ftl/bad.h"

#include <assert.h>
#include <string.h>

#include "ftl/append.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "platform/console.h"
#include "platform/fill.h"

struct bad_state bad;

static_assert(BAD_PAGES * PAGE_SIZE == DRAM_BAD_LIST_SIZE, "the list of bad blocks");

/** Dies whose last operations failed, and how many of their blocks. */
#define SUSPECTS 8u
static struct {
    uint32_t die;
    uint32_t failures;
    uint32_t last; /**< superblock of the last one: planes that are programmed together fail together */
} suspects[SUSPECTS];

bool bad_init(void) {
    memset(&bad, 0, sizeof bad);
    bad.sound = SB_NONE;
    memset(suspects, 0, sizeof suspects);
    bad.units = nand_geo.channels * nand_geo.ways * nand_geo.luns * nand_geo.planes;
    bad.words = (bad.units + 31) / 32;
    uint32_t bytes = sb.count * (bad.words + 1) * 4;
    if (bad.units > BAD_UNITS || bytes > DRAM_BAD_SIZE) {
        return false;
    }
    dram_zero(DRAM_BAD, (bytes + 63) & ~63u);
    dram_zero(DRAM_BAD_LIST, BAD_PAGES * PAGE_SIZE);
    return true;
}

/* ---- where ---- */

uint32_t bad_die(uint32_t ppa) {
    uint32_t lun = ppa_row(ppa) >> nand_geo.lun_shift;
    return (lun * nand_geo.ways + (ppa_way(ppa) & 15)) * nand_geo.channels + (ppa >> 28);
}

/* Units of a die follow each other at this distance. */
uint32_t bad_dies(void) {
    return nand_geo.luns * nand_geo.ways * nand_geo.channels;
}

uint32_t bad_die_ppa(uint32_t die) {
    uint32_t way = die / nand_geo.channels % nand_geo.ways;
    uint32_t lun = die / nand_geo.channels / nand_geo.ways;
    return die % nand_geo.channels << 28 | way << 24 | lun << nand_geo.lun_shift;
}

uint32_t bad_unit(uint32_t ppa) {
    uint32_t plane = ppa_row(ppa) >> nand_geo.plane_shift & (nand_geo.planes - 1);
    return plane * bad_dies() + bad_die(ppa);
}

static uint32_t entry(uint32_t i) {
    return hal_read(DRAM_BAD_LIST + i * 4);
}

static uint32_t entry_superblock(uint32_t e) {
    return e & (SB_MAX - 1);
}

static uint32_t entry_unit(uint32_t e) {
    return e >> 12 & (BAD_UNITS - 1);
}

static uint32_t entry_cause(uint32_t e) {
    return e >> 28 & 3;
}

static uint32_t bits_at(uint32_t n, uint32_t unit) {
    return bad_word(n) + 4 + (unit >> 5) * 4;
}

static bool has(uint32_t n, uint32_t unit) {
    return (hal_read(bits_at(n, unit)) >> (unit & 31) & 1) != 0;
}

bool bad_in(uint32_t n, uint32_t ppa) {
    if (bad_blocks(n) == 0) {
        bad.sound = n;
        return false;
    }
    return has(n, bad_unit(ppa));
}

/** The entry of the list that has the block of `ppa`; 0: none. */
static uint32_t entry_of(uint32_t ppa) {
    uint32_t wanted = ppa_block(ppa) | bad_unit(ppa) << 12;
    for (uint32_t i = 0; i < bad.count; i++) {
        uint32_t e = entry(i);
        if ((entry_superblock(e) | entry_unit(e) << 12) == wanted) {
            return e;
        }
    }
    return 0;
}

bool bad_holds(uint32_t ppa) {
    return bad_moving(ppa_block(ppa)) && (entry_of(ppa) & BAD_HOLDS) != 0;
}

enum bad_cause bad_cause_of(uint32_t ppa) {
    if (ppa_block(ppa) >= sb.count || !bad_at(ppa)) {
        return BAD_NONE;
    }
    uint32_t e = entry_of(ppa);
    return e != 0 ? (enum bad_cause)entry_cause(e) : BAD_NONE;
}

bool bad_grown(uint32_t i) {
    return entry_cause(entry(i)) != BAD_FACTORY && entry_superblock(entry(i)) >= checkpoint_meta_superblocks();
}

uint32_t bad_ppa(uint32_t i) {
    uint32_t unit = entry_unit(entry(i));
    return bad_die_ppa(unit % bad_dies()) | unit / bad_dies() << nand_geo.plane_shift |
           entry_superblock(entry(i)) << nand_geo.block_shift;
}

/* ---- new ones ---- */

/** Whether superblock `n` may hold data. */
static bool in_use(uint32_t n) {
    return sb.state[n] == SB_OPEN || sb.state[n] == SB_VICTIM || superblock_valid(n) > 0 || superblock_pins(n) > 0;
}

static void set(uint32_t n, uint32_t unit) {
    bad.sound = SB_NONE;
    hal_write(bits_at(n, unit), hal_read(bits_at(n, unit)) | 1u << (unit & 31));
    hal_write(bad_word(n), hal_read(bad_word(n)) + 1);
}

static void move(uint32_t n) {
    if (!bad_moving(n)) {
        hal_write(bad_word(n), hal_read(bad_word(n)) | BAD_MOVING);
        bad.moving++;
    }
}

static void add(uint32_t n, uint32_t unit, enum bad_cause cause) {
    set(n, unit);
    append_bad(n);
    uint32_t e = n | unit << 12 | (uint32_t)cause << 28;
    if ((cause == BAD_PROGRAM || cause == BAD_DIE) && sb.state[n] != SB_META && in_use(n)) {
        e |= BAD_HOLDS;
        move(n);
    }
    /* Beyond the list's end it is known until the next power-on. */
    if (bad.count < BAD_MOST) {
        bad.changed |= 1u << bad.count / BAD_PER_PAGE;
        hal_write(DRAM_BAD_LIST + bad.count++ * 4, e);
    }
    if (cause != BAD_FACTORY && sb.state[n] == SB_FREE) {
        superblock_spoilt(n);
    }
}

/** Leave out all of the die of `ppa`. */
static void die_dead(uint32_t ppa) {
    console_printf(
        "ftl: the die of channel %u, way %u, LUN %u is dead: its blocks of %u superblocks failed in a row; it is left "
        "out\n",
        ppa >> 28, ppa_way(ppa) & 15, ppa_row(ppa) >> nand_geo.lun_shift, DIE_DEAD_BLOCKS);
    for (uint32_t n = ckpt.first; n < sb.count; n++) {
        for (uint32_t unit = bad_die(ppa); unit < bad.units; unit += bad_dies()) {
            if (!has(n, unit)) {
                add(n, unit, BAD_DIE);
            }
        }
    }
    bad.rewrite = true;
    ftl.hurry = true;
    work_set(WORK_COLLECT);
}

/** One more block of the die of `ppa` has failed. */
static void suspect(uint32_t ppa) {
    uint32_t die = bad_die(ppa);
    uint32_t at = SUSPECTS;
    for (uint32_t i = SUSPECTS; i-- > 0;) {
        at = suspects[i].failures == 0 ? i : at;
    }
    for (uint32_t i = 0; i < SUSPECTS; i++) {
        at = suspects[i].failures > 0 && suspects[i].die == die ? i : at;
    }
    if (at == SUSPECTS) {
        return;
    }
    if (suspects[at].failures > 0 && suspects[at].last == ppa_block(ppa)) {
        return;
    }
    suspects[at].last = ppa_block(ppa);
    if (suspects[at].failures++ == 0) {
        suspects[at].die = die;
        bad.suspect++;
    }
    if (suspects[at].failures == DIE_DEAD_BLOCKS) {
        die_dead(ppa);
    }
}

void bad_worked_now(uint32_t ppa) {
    uint32_t die = bad_die(ppa);
    for (uint32_t i = 0; i < SUSPECTS; i++) {
        if (suspects[i].failures > 0 && suspects[i].die == die) {
            suspects[i].failures = 0;
            bad.suspect--;
        }
    }
}

void bad_block(uint32_t ppa, enum bad_cause cause) {
    static const char *const causes[] = {"it came bad", "a program failed", "it was not erased", "its die is dead"};
    if (bad_at(ppa)) {
        return;
    }
    uint32_t n = ppa_block(ppa);
    add(n, bad_unit(ppa), cause);
    if (cause == BAD_FACTORY) {
        return;
    }
    console_printf("ftl: block %u of channel %u, way %u, LUN %u, plane %u is left out: %s\n", n, ppa >> 28,
                   ppa_way(ppa) & 15, ppa_row(ppa) >> nand_geo.lun_shift,
                   ppa_row(ppa) >> nand_geo.plane_shift & (nand_geo.planes - 1), causes[cause]);
    ftl.changed = true;
    suspect(ppa);
    room_changed();
}

/* ---- superblocks ---- */

void bad_erased(uint32_t n) {
    if (bad_moving(n)) {
        hal_write(bad_word(n), bad_blocks(n));
        bad.moving--;
        bad.released = true;
        /* Not at the next checkpoint only: another block of it may fail before that. */
        for (uint32_t i = 0; i < bad.count; i++) {
            uint32_t e = entry(i);
            if (entry_superblock(e) == n && (e & BAD_HOLDS) != 0) {
                hal_write(DRAM_BAD_LIST + i * 4, e & ~BAD_HOLDS);
                bad.changed |= 1u << i / BAD_PER_PAGE;
            }
        }
    }
}

bool bad_unsaved(uint32_t n) {
    if (bad_blocks(n) == 0) {
        return false;
    }
    for (uint32_t i = bad.saved; i < bad.count; i++) {
        if (entry_superblock(entry(i)) == n) {
            return true;
        }
    }
    return false;
}

bool bad_to_move(uint32_t n) {
    return sb.state[n] == SB_CLOSED && bad_moving(n) && superblock_valid(n) > 0 && superblock_pins(n) == 0;
}

uint32_t bad_next_to_move(void) {
    for (uint32_t n = 0; n < sb.count && bad.moving > 0; n++) {
        if (bad_to_move(n)) {
            return n;
        }
    }
    return SB_NONE;
}

/* ---- checkpoints ---- */

uint32_t bad_snapshot(void) {
    for (uint32_t i = 0; i < bad.count && bad.released; i++) {
        uint32_t e = entry(i);
        if ((e & BAD_HOLDS) != 0 && !bad_moving(entry_superblock(e))) {
            hal_write(DRAM_BAD_LIST + i * 4, e & ~BAD_HOLDS);
            bad.changed |= 1u << i / BAD_PER_PAGE;
        }
    }
    bad.released = false;
    return bad.count;
}

uint32_t bad_add_areas(uint32_t count) {
    for (uint32_t i = count; i < bad.count; i++) {
        uint32_t e = entry(i);
        if (sb.state[entry_superblock(e)] == SB_META) {
            hal_write(DRAM_BAD_LIST + i * 4, entry(count));
            hal_write(DRAM_BAD_LIST + count++ * 4, e);
        }
    }
    return count;
}

bool bad_page_due(uint32_t i, uint32_t count, uint32_t changed, bool all) {
    return i * BAD_PER_PAGE < count && (all || (changed >> i & 1) != 0);
}

bool bad_load(uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t e = entry(i);
        uint32_t n = entry_superblock(e);
        if (n >= sb.count || entry_unit(e) >= bad.units || has(n, entry_unit(e))) {
            return false;
        }
        set(n, entry_unit(e));
        if ((e & BAD_HOLDS) != 0) {
            move(n);
        }
    }
    bad.count = count;
    bad.saved = count;
    return true;
}
