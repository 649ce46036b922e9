/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftl/map.h"

#include <string.h>

#include "ftl/superblock.h"
#include "platform/fill.h"
#include "platform/regs.h"

struct map_state map;

void map_init(void) {
    memset(&map, 0, sizeof map);
    map.last = MAP_NO_PAGE;
    map.last_dirty = MAP_NO_PAGE;
    /* Entries are looked up in turn. What the medium and the fill engine put there, nobody has looked up before. */
    sys_write(SYS_CACHE_END, DRAM_MAP + DRAM_MAP_SIZE);
    map_cache(DRAM_MAP);
}

void map_cache(uint32_t first) {
    sys_write(SYS_CACHE_FIRST, first);
    sys_write(SYS_CACHE_FLUSH, 1);
}

/** Directory page of top entry `t`, made when absent. */
static uint32_t dir_make(uint32_t t) {
    struct map_dir *d = &map.top[t];
    if (d->addr == 0) {
        d->addr = DRAM_DIRECTORY + map.dirs++ * MAP_DIR_STRIDE;
        dram_zero(d->addr, MAP_DIR_STRIDE);
    }
    return d->addr;
}

/** Make map page `number` present. Returns its DRAM address. */
static uint32_t map_make(uint32_t number) {
    uint32_t entry = dir_make(number / MAP_ENTRIES) + (number % MAP_ENTRIES) * 4;
    uint32_t page = hal_read(entry);
    if (page == 0) {
        page = DRAM_MAP + map.pages++ * PAGE_SIZE;
        dram_zero(page, PAGE_SIZE);
        hal_write(entry, page);
        struct map_dir *d = &map.top[number / MAP_ENTRIES];
        if (number % MAP_ENTRIES >= d->count) {
            d->count = (uint16_t)(number % MAP_ENTRIES + 1);
        }
    }
    return page & ~MAP_ENTRY_MARKS;
}

void map_dirty(uint32_t number) {
    if (number == map.last_dirty) {
        return;
    }
    map.last_dirty = number;
    uint32_t entry = map_dir_entry(number);
    uint32_t page = hal_read(entry);
    if ((page & MAP_ENTRY_DIRTY(map.turn)) == 0) {
        hal_write(entry, page | MAP_ENTRY_DIRTY(map.turn));
        if (map.dirty_count < MAP_DIRTY_LIST) {
            hal_write(DRAM_DIRTY + map.turn * PAGE_SIZE + map.dirty_count * 4, number);
        }
        map.dirty_count++;
    }
}

/** Whether the running checkpoint is still to take map page `number`, with the change that is made to it. */
static bool takes(uint32_t number) {
    uint32_t entry = map_dir_entry(number);
    uint32_t page = hal_read(entry);
    if ((page & MAP_ENTRY_FLYING) != 0) {
        hal_write(entry, page | MAP_ENTRY_TOUCHED);
        return true;
    }
    return map.all ? number >= map.from && page < map.end : (page & MAP_ENTRY_DIRTY(map.turn ^ 1)) != 0;
}

void map_recount(uint32_t old, uint32_t ppa) {
    if (old > MAP_LOST) {
        superblock_unref(ppa_block(old));
        map.mapped--;
    }
    if (ppa > MAP_LOST) {
        superblock_ref(ppa_block(ppa));
        map.mapped++;
    }
}

uint32_t map_set(uint32_t lba, uint32_t ppa) {
    uint32_t page = map_page(lba);
    if (page == DRAM_ZERO) {
        if (ppa == 0) {
            return 0;
        }
        page = map_make(lba / MAP_ENTRIES);
    }
    uint32_t entry = page + (lba & (MAP_ENTRIES - 1)) * 4;
    uint32_t old = hal_read(entry);
    if (old == ppa) {
        return old;
    }
    hal_write(entry, ppa);
    if (map.writing && takes(lba / MAP_ENTRIES)) {
        if (old > MAP_LOST) {
            superblock_table_count(ppa_block(old), -1);
        }
        if (ppa > MAP_LOST) {
            superblock_table_count(ppa_block(ppa), 1);
        }
    } else {
        map_dirty(lba / MAP_ENTRIES);
    }
    map_recount(old, ppa);
    return old;
}

/** Where map_replay counts the sectors of each superblock that are not in use any more: in the TCM, for the counts of
 * most superblocks are in DRAM. */
static uint16_t *replaced;

void map_replay_begin(uint16_t *memory) {
    replaced = memory;
    memset(replaced, 0, MAP_REPLAY_BYTES);
}

void map_replay_end(void) {
    for (uint32_t n = 0; n < sb.count; n++) {
        if (replaced[n] != 0) {
            *superblock_count(n) -= replaced[n];
            replaced[n] = 0;
        }
    }
    superblock_emptied();
}

uint32_t map_replay(uint32_t lba, uint32_t ppa) {
    uint32_t number = lba / MAP_ENTRIES;
    if (number != map.last || number != map.last_dirty) {
        uint32_t dir = map.top[number / MAP_ENTRIES].addr;
        uint32_t page = dir != 0 ? hal_read(dir + number % MAP_ENTRIES * 4) : 0;
        if ((page & MAP_ENTRY_DIRTY(map.turn)) == 0) {
            return map_set(lba, ppa);
        }
        map.last = map.last_dirty = number;
        map.last_page = page & ~MAP_ENTRY_MARKS;
    }
    uint32_t entry = map.last_page + (lba & (MAP_ENTRIES - 1)) * 4;
    uint32_t old = hal_read(entry);
    if (old == ppa) {
        return old;
    }
    hal_write(entry, ppa);
    if (old > MAP_LOST) {
        map.mapped--;
        if (++replaced[ppa_block(old) % SB_MAX] == UINT16_MAX) {
            map_replay_end();
        }
    }
    if (ppa > MAP_LOST) {
        superblock_ref(ppa_block(ppa));
        map.mapped++;
    }
    return old;
}
