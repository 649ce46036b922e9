/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/area.h"

#include <string.h>

#include "ftl/bad.h"
#include "ftl/checkpoint.h"
#include "ftl/ftl.h"
#include "ftl/pairs.h"
#include "platform/console.h"

/** Entries of the superblock table a page. */
#define TABLE_PER_PAGE (PAGE_SIZE / 8u)
/** Superblocks of so few blocks give two of them to root records. */
#define ROOT_BLOCKS_LEAST 4u

/* ---- places ---- */

/** Dies of the first half. */
static uint32_t half(void) {
    return bad_dies() / 2;
}

/** Superblocks of an area that are walked: where they have one block each, the other half take the second copies. */
static uint32_t walked(void) {
    return bad.units > 1 ? ckpt.area_sbs : ckpt.area_sbs / 2;
}

/** Pages of a place in a stripe. */
static uint32_t stripe_places(void) {
    return half() > 0 ? half() * nand_geo.planes : bad.units > 1 ? bad.units / 2 : 1;
}

/** Places of a stripe of superblock `n` with a good block, at least: two bad blocks may be of one place. */
static uint32_t places(uint32_t n) {
    uint32_t blocks = bad_blocks(n) + (bad.units > 1 ? 0 : bad_blocks(n + walked()));
    return stripe_places() - blocks / 2;
}

/** Whether `ppa` is the first page of a place. */
static bool first(uint32_t ppa) {
    if (half() > 0) {
        return bad_die(ppa) < half();
    }
    return bad.units == 1 || (ppa_row(ppa) >> nand_geo.plane_shift & (nand_geo.planes - 1)) < nand_geo.planes / 2;
}

uint32_t area_partner(uint32_t ppa) {
    if (half() > 0) {
        uint32_t die = bad_die(ppa);
        uint32_t in_die = ppa_row(ppa) & ((1u << nand_geo.lun_shift) - 1);
        return bad_die_ppa(die < half() ? die + half() : die - half()) | in_die;
    }
    if (bad.units > 1) {
        return ppa ^ (nand_geo.planes / 2) << nand_geo.plane_shift;
    }
    uint32_t distance = walked() << nand_geo.block_shift;
    return (ppa_block(ppa) - ckpt.first) % ckpt.area_sbs < walked() ? ppa + distance : ppa - distance;
}

uint32_t area_take(void) {
    while (ckpt.used < area_sectors()) {
        if (ckpt.at.left == 0) {
            cursor_open(&ckpt.at, area_superblock(ckpt.area, ckpt.used / sb.pages));
            ckpt.exposed = 0;
        }
        if (pairs_blank(ckpt.at.page, ckpt.exposed)) {
            uint32_t before = ckpt.at.left;
            pairs_step_over(&ckpt.at, ckpt.exposed);
            ckpt.used += before - ckpt.at.left;
            continue;
        }
        uint32_t ppa = cursor_ppa(&ckpt.at);
        cursor_next_page(&ckpt.at);
        ckpt.used += nand_geo.sectors;
        if (first(ppa) && (!bad_at(ppa) || !bad_at(area_partner(ppa)))) {
            return ppa;
        }
    }
    return 0;
}

/* ---- areas ---- */

uint32_t checkpoint_meta_superblocks(void) {
    return ckpt.end;
}

uint32_t area_superblock(uint32_t area, uint32_t n) {
    return ckpt.first + area * ckpt.area_sbs + n;
}

uint32_t area_sectors(void) {
    return walked() * sb.pages;
}

void area_seek(void) {
    cursor_seek(&ckpt.at, area_superblock(ckpt.area, ckpt.used / sb.pages), ckpt.used % sb.pages);
}

/** Sectors of a stripe. */
static uint32_t stripe(void) {
    return bad.units * nand_geo.sectors;
}

void area_align(void) {
    ckpt.used = (ckpt.used + stripe() - 1) / stripe() * stripe();
    area_seek();
}

bool area_mark(void) {
    uint32_t end = ckpt.first + 2 * ckpt.area_sbs;
    if (end > sb.count) {
        return false;
    }
    for (uint32_t n = 0; n < end; n++) {
        superblock_set_state(n, SB_META);
    }
    ckpt.end = end;
    sb.rotor = end;
    return true;
}

/** Places that one area has to have: one full checkpoint and a quarter more in small ones. */
static uint32_t wanted(void) {
    return ckpt.full_pages + ckpt.full_pages / 4 + 16;
}

/** Places of area `area`, at least. */
static uint32_t area_places(uint32_t area) {
    uint32_t sum = 0;
    for (uint32_t n = 0; n < walked(); n++) {
        sum += places(area_superblock(area, n)) * area_root_pages();
    }
    return sum;
}

bool area_spares(uint32_t ppa) {
    return !bad_at(area_partner(ppa)) || area_places(ckpt.area) >= wanted() + area_root_pages();
}

uint32_t area_left(void) {
    uint32_t sum = 0;
    uint32_t used = ckpt.used;
    for (uint32_t n = used / sb.pages; n < walked(); n++) {
        sum += (sb.pages - used % sb.pages) / stripe() * places(area_superblock(ckpt.area, n));
        used = (n + 1) * sb.pages;
    }
    /* What stays blank behind the newest checkpoint. */
    uint32_t lost = ckpt.used % sb.pages != 0 ? pairs_lost() / stripe() * stripe_places() : 0;
    return sum > lost ? sum - lost : 0;
}

const char *checkpoint_areas_fit(void) {
    uint32_t step = bad.units > 1 ? 1 : 2;
    while (area_places(0) < wanted() || area_places(1) < wanted()) {
        if (ckpt.first + 2 * (ckpt.area_sbs + step) > sb.count) {
            console_printf("ftl: checkpoints need two areas of %u pages, each on two dies: superblocks %u to %u have "
                           "too few\n",
                           wanted(), ckpt.first, sb.count - 1);
            return "too few good blocks where checkpoints have to be";
        }
        ckpt.area_sbs += step;
    }
    area_mark();
    return NULL;
}

/* ---- root blocks ---- */

uint32_t area_root_pages(void) {
    return nand_geo.pages >> nand_geo.sector_log2;
}

uint32_t area_root_ppa(uint32_t which, uint32_t page) {
    return ckpt.root_block[which] + (page << nand_geo.sector_log2);
}

/** The candidates: blocks of the superblocks before the areas, of as many dies as there are, evenly spread. */
static void roots_layout(void) {
    uint32_t dies = bad_dies();
    for (uint32_t i = 0; i < ckpt.first * bad.units && ckpt.roots < ROOT_BLOCKS; i++) {
        uint32_t plane = i / dies % nand_geo.planes;
        uint32_t die = dies > ROOT_BLOCKS ? i * dies / ROOT_BLOCKS : i % dies;
        ckpt.root_block[ckpt.roots++] =
            bad_die_ppa(die) | plane << nand_geo.plane_shift | i / bad.units << nand_geo.block_shift;
    }
}

void checkpoint_layout(void) {
    memset(&ckpt, 0, sizeof ckpt);
    ckpt.first = bad.units < ROOT_BLOCKS_LEAST ? 2 : 1;
    roots_layout();
    uint32_t lbas_max = sb.count > MAP_MAX_LBAS / sb.pages ? MAP_MAX_LBAS : sb.count * sb.pages;
    uint32_t blocks = sb.count * bad.units < BAD_MOST ? sb.count * bad.units : BAD_MOST;
    ckpt.full_pages = lbas_max / MAP_ENTRIES + 1 + (lbas_max >> MAP_DIR_BITS) + 1 +
                      (sb.count + TABLE_PER_PAGE - 1) / TABLE_PER_PAGE + (blocks + BAD_PER_PAGE - 1) / BAD_PER_PAGE;
    uint32_t each = stripe_places() * area_root_pages();
    ckpt.area_sbs = (wanted() + each - 1) / each * (bad.units > 1 ? 1 : 2);
    area_mark();
    superblock_unchanged();
    sb.used = 0;
    ckpt.rewrite = true;
    checkpoint_init();
    ckpt.log.sb[APPEND_HOST] = ckpt.log.sb[APPEND_COPY] = SB_NONE;
}
