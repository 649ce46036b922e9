/* SPDX-License-Identifier: BSD-3-Clause */
#include "csd/schedule.h"

#include <string.h>

#include "csd/core.h"
#include "ftl/map.h"
#include "media/dispatch.h"
#include "platform/copy.h"

_Static_assert(OOB_UNCOMMITTED == 1u << 30, "FLASH.W0.CHECK leaves this bit out");

struct stream streams[MAX_CORES * MAX_STREAMS];
struct stream_counters stream_counters;
bool stream_poll_wanted;
uint32_t stream_ahead;
uint32_t stream_gated;
uint32_t stream_window, slot_window;

static inline __attribute__((always_inline)) void page_done(struct stream *s);

/* Out of line: what is rare must not cost the page loop registers. */
#define RARE __attribute__((noinline))

/** The next map entries: the rest of the extent or of the map page, whichever is shorter. */
static RARE void next_entries(struct stream *s) {
    if (!s->end_set && s->total - s->pushed <= STREAM_END_PAGES) {
        stream_mark_end(s);
    }
    if (s->extent == 0) {
        s->entries = STREAM_END_PAGES / 2;
        return;
    }
    if (s->lba_left == 0) {
        s->lba = hal_read(s->extent);
        s->lba_left = hal_read(s->extent + 8);
        s->extent += sizeof(struct scomp_extent);
    }
    uint32_t n = MAP_ENTRIES - (s->lba & (MAP_ENTRIES - 1));
    if (n > s->lba_left) {
        n = s->lba_left;
    }
    s->map = map_page(s->lba) + (s->lba & (MAP_ENTRIES - 1)) * 4;
    s->entries = n;
    s->lba += n;
    s->lba_left -= n;
}

void stream_open(struct stream *s, uint64_t bytes, uint32_t map, uint32_t extent, bool gated) {
    s->map = map;
    s->extent = extent;
    s->listed = extent == 0;
    s->limit = s->ring_pages;
    s->total = (uint32_t)((bytes + PAGE_SIZE - 1) >> PAGE_LOG2);
    s->last_bytes = (uint16_t)((((uint32_t)bytes - 1) & (PAGE_SIZE - 1)) + 1);
    s->end = (uint32_t)bytes;
    s->mode = gated ? STREAM_GATED : STREAM_START;
    if (!gated && s->core >= scomp_cores) {
        /* A kernel consumes from the first page on. */
        s->mode = STREAM_RUN;
        s->limit = slot_window;
        stream_ahead |= STREAM_AHEAD_ALONE;
    }
    s->w0 = PLACE(FLASH_W0, OP, FLASH_OP_READ) | PLACE(FLASH_W0, STREAM, 1) | PLACE(FLASH_W0, CHECK, 1) |
            PLACE(FLASH_W0, CORE, s->core) | PLACE(FLASH_W0, STREAM_ID, s->id) | PLACE(FLASH_W0, TAIL, 1) |
            PLACE(FLASH_W0, TAG, NAND_TAG_STREAM + (uint32_t)(s - streams));
    if (s->total == 0) {
        stream_mark_end(s);
    }
}

RARE uint32_t stream_room(const struct stream *s) {
    uint32_t filled = (s->pushed - (hal_read(s->ihead) >> PAGE_LOG2)) & POSITION_PAGES;
    return filled < s->ring_pages ? s->ring_pages - filled : 0;
}

void stream_arrived(struct stream *s) {
    stream_counters.pages++;
    page_done(s);
}

static void zero_copied(uint32_t arg) {
    stream_arrived(&streams[arg]);
}

/** A page never written: zeros from DRAM. The copy engine does not wait for room, so there has to be some. */
static RARE bool push_zero(struct stream *s, uint32_t page, uint32_t bytes) {
    if (copy_space() == 0) {
        stream_poll_wanted = true;
        return false;
    }
    copy_submit(DRAM_ZERO, copy_to_stream(s->core, s->id), page << PAGE_LOG2, bytes, zero_copied,
                (uint32_t)(s - streams));
    return true;
}

static RARE void wait_for(struct stream *s, struct nand_way *way) {
    s->waiting = 1;
    s->way = way;
    list_put(&way->streams, &s->waiter);
    way->waiting = 1;
}

/** Block of the stream's next page. */
static inline uint32_t next_lba(const struct stream *s) {
    return s->extent != 0 ? s->lba - s->entries : hal_read(s->map + LOCAL_NAMES);
}

static void pump(struct stream *s) {
    while (s->pushed != s->total && (int32_t)(s->limit - s->pushed) > 0) {
        if (s->entries == 0) {
            next_entries(s);
        }
        uint32_t ppa = hal_read(s->map);
        uint32_t bytes = s->pushed + 1 == s->total ? s->last_bytes : PAGE_SIZE;
        if (ppa != 0) {
            struct nand_way *way = &nand_ways[ppa >> 24];
            if (way->credit == 0) {
                if (!nand_has_way(ppa)) {
                    ppa = NAND_NO_BLOCK;
                    way = &nand_ways[ppa >> 24];
                }
                if (way->credit == 0) {
                    wait_for(s, way);
                    return;
                }
            }
            way->credit--;
            nand_push_stream(s->w0, ppa, next_lba(s), s->pushed << PAGE_LOG2, bytes);
        } else if (stream_room(s) == 0) {
            stream_poll_wanted = true;
            return;
        } else if (!push_zero(s, s->pushed, bytes)) {
            return;
        }
        s->map += 4;
        s->entries--;
        s->pushed++;
    }
}

bool stream_again(struct stream *s, uint32_t page, uint32_t lba) {
    uint32_t ppa = stream_ppa(s, page, lba);
    uint32_t bytes = page + 1 == s->total ? s->last_bytes : PAGE_SIZE;
    if (ppa == 0) {
        return push_zero(s, page, bytes);
    }
    ppa = nand_has_way(ppa) ? ppa : NAND_NO_BLOCK;
    if (nand_ways[ppa >> 24].credit == 0) {
        return false;
    }
    nand_ways[ppa >> 24].credit--;
    nand_push_stream(s->w0, ppa, lba, page << PAGE_LOG2, bytes);
    return true;
}

/** Limit of a stream in GATED or ABREAST mode whose core's Head is at `head`. */
static inline uint32_t limit_of(const struct stream *s, uint32_t head) {
    uint32_t filled = (s->pushed - (head >> PAGE_LOG2)) & POSITION_PAGES;
    uint32_t limit = s->pushed + s->ring_pages - filled;
    /* As long as the ring has room it is enough to fill that. */
    bool ahead = filled >= s->ring_pages && s->mode == STREAM_ABREAST && head != 0;
    return ahead && abreast_ahead(s, s->pushed - filled) ? limit + s->ahead : limit;
}

/** A stream in GATED or ABREAST mode has been looked at. The next page that arrives has it looked at again; so does the
 * timer, when none or only one is on its way: its core goes on to take what is in the ring. */
static inline void gated_looked(const struct stream *s) {
    stream_gated += s->pushed != s->total && stream_in_flight(s) <= 1;
}

/** Set the limit of a stream that is not in RUN mode from the core's Head. */
static void regate(struct stream *s) {
    uint32_t head = hal_read(s->ihead);
    if (s->mode == STREAM_START && head != 0) {
        s->mode = STREAM_RUN;
        stream_ahead |= STREAM_AHEAD_ALONE;
        s->limit = s->delivered + (s->core < scomp_cores ? stream_window : slot_window);
        return;
    }
    s->limit = limit_of(s, head);
}

void stream_pump(struct stream *s) {
    if (!s->waiting) {
        pump(s);
    }
}

void stream_poll(struct stream *s) {
    if (s->mode == STREAM_FED) {
        feed_go(s);
        return;
    }
    if (s->pushed == s->total || s->mode == STREAM_EDGE || s->mode == STREAM_RECALL) {
        return;
    }
    if (s->mode != STREAM_RUN) {
        if (s->mode != STREAM_START && stream_in_flight(s) > 1) {
            return;
        }
        regate(s);
    }
    stream_pump(s);
    gated_looked(s);
}

void stream_unwait(struct stream *s) {
    if (!s->waiting) {
        return;
    }
    s->waiting = 0;
    list_remove(&s->way->streams, &s->waiter);
}

/** The way that a stream waits for has a place. */
static void resume(struct node *waiter) {
    struct stream *s = CONTAINER(waiter, struct stream, waiter);
    s->waiting = 0;
    pump(s);
}

void stream_init(void) {
    memset(streams, 0, sizeof streams);
    nand_stream_go = resume;
}

static RARE void pump_on(struct stream *s) {
    pump(s);
}

/** One page further for one that has arrived: what pump does for nearly every page of a stream in RUN mode. */
static inline __attribute__((always_inline)) void push_next(struct stream *s, uint32_t limit, uint32_t total) {
    uint32_t pushed = s->pushed;
    uint32_t entries = s->entries;
    uint32_t map = s->map;
    uint32_t lba = s->lba;
    s->limit = limit;
    if (entries == 0 || limit - pushed != 1 || total - pushed <= 1) {
        pump_on(s);
        return;
    }
    uint32_t ppa = hal_read(map);
    struct nand_way *way = &nand_ways[ppa >> 24];
    uint32_t credit = way->credit;
    if (ppa == 0 || credit == 0) {
        pump_on(s);
        return;
    }
    s->map = map + 4;
    s->entries = entries - 1;
    s->pushed = pushed + 1;
    way->credit = (uint8_t)(credit - 1);
    nand_push_stream(s->w0, ppa, lba - entries, pushed << PAGE_LOG2, PAGE_SIZE);
}

/** A page of a stream in GATED or ABREAST mode has arrived, and its core may have taken others. */
static inline void page_done_gated(struct stream *s) {
    uint32_t total = s->total;
    if (s->pushed != total) {
        uint32_t limit = limit_of(s, hal_read(s->ihead));
        if ((int32_t)(limit - s->pushed) > 0) {
            push_next(s, limit, total);
        }
        gated_looked(s);
    }
    if (s->delivered == 1 || s->delivered == total) {
        core_page(s, FLASH_STATUS_OK, 0);
    }
}

/** A page of a stream that is not read straight ahead has arrived. */
static RARE void page_done_special(struct stream *s) {
    if (s->special == STREAM_GATED || s->special == STREAM_ABREAST) {
        page_done_gated(s);
        return;
    }
    if (s->mode == STREAM_RUN) {
        s->limit++;
    } else if (s->mode == STREAM_RECALL) {
        core_page(s, FLASH_STATUS_OK, 0);
        return;
    } else if (s->pushed != s->total) {
        regate(s);
    }
    stream_pump(s);
    gated_looked(s);
    if (s->delivered == 1 || s->delivered == s->total) {
        core_page(s, FLASH_STATUS_OK, 0);
    }
}

static inline __attribute__((always_inline)) void page_done(struct stream *s) {
    uint32_t delivered = s->delivered + 1;
    s->delivered = delivered;
    if (s->special != 0) {
        page_done_special(s);
        return;
    }
    uint32_t total = s->total;
    push_next(s, s->limit + 1, total);
    if (delivered == 1 || delivered == total) {
        core_page(s, FLASH_STATUS_OK, 0);
    }
}

/** The read of a page of `s` has ended with `status`, the oldest completion of the channel at `base`. */
static void page_failed(struct stream *s, uint32_t status, uint32_t base) {
    uint32_t position = hal_read(base + FLASH_CPL_DATA);
    uint32_t lba = hal_read(base + FLASH_CPL_DATA1);
    if (status == FLASH_STATUS_DROPPED && recall_dropped(s, position >> PAGE_LOG2, lba)) {
        return;
    }
    if (status != FLASH_STATUS_DROPPED) {
        if (rescue_page(s, lba, status)) {
            return;
        }
        if (core_active(&cores[s->core])) {
            stream_lost(s, lba, status, hal_read(base + FLASH_CPL_CODE));
        }
    }
    s->delivered++;
    core_page(s, status, lba);
}

static inline __attribute__((always_inline)) void arrived(uint32_t stream) {
    page_done(&streams[stream]);
}

static RARE void failed(uint32_t stream, uint32_t status, uint32_t base) {
    page_failed(&streams[stream], status, base);
}

uint32_t stream_poll_flash(void) {
    uint32_t pages = nand_dispatch(arrived, failed);
    stream_counters.pages += pages;
    stream_counters.media_pages += pages;
    return pages;
}
