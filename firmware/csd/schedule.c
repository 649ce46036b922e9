/* SPDX-License-Identifier: BSD-3-Clause */
#include "csd/schedule.h"

#include "ftl/map.h"
#include "nvme/hdma.h"
#include "csd/core.h"

_Static_assert(OOB_LOOSE == 1u << 30, "FLASH.W0.CHECK leaves this bit out");
/** Completions taken of a channel before the main loop looks at anything else. */
#define PASSES 8u

struct stream streams[MAX_CORES * MAX_STREAMS];
struct stream_counters stream_counters;
bool stream_poll_wanted, stream_ahead;
uint32_t stream_window, slot_window;

static inline __attribute__((always_inline)) void page_done(struct stream *s);

/* Out of line: what is rare must not cost the page loop registers. */
#define RARE __attribute__((noinline))

/** Next run of map entries: the rest of the extent or of the map page, whichever is shorter. */
static RARE void next_run(struct stream *s) {
    if (!s->end_set && s->total - s->pushed <= STREAM_END_PAGES) {
        stream_mark_end(s);
    }
    if (s->extent == 0) {
        s->run = STREAM_END_PAGES / 2;
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
    s->run = n;
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
        stream_ahead = true;
    }
    s->w0 = PLACE(FLASH_W0, OP, FLASH_OP_READ) | PLACE(FLASH_W0, STREAM, 1) | PLACE(FLASH_W0, CHECK, 1) |
            PLACE(FLASH_W0, CORE, s->core) | PLACE(FLASH_W0, STREAM_ID, s->id) | PLACE(FLASH_W0, TAIL, 1) |
            PLACE(FLASH_W0, TAG, NAND_TAG_STREAM + (uint32_t)(s - streams));
    if (s->total == 0) {
        stream_mark_end(s);
    }
}

RARE uint32_t stream_room(const struct stream *s) {
    uint32_t held = (s->pushed - (hal_read(s->ihead) >> PAGE_LOG2)) & POSITION_PAGES;
    return held < s->ring_pages ? s->ring_pages - held : 0;
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
    copy_submit(DRAM_ZERO,
                PLACE(HDMA_COPY_DST, CORE, s->core) | PLACE(HDMA_COPY_DST, STREAM_ID, s->id) |
                    PLACE(HDMA_COPY_DST, STREAM, 1),
                page << PAGE_LOG2, bytes, zero_copied, (uint32_t)(s - streams));
    return true;
}

static RARE void wait_for(struct stream *s, struct nand_way *way) {
    s->waiting = 1;
    s->way = way;
    s->wait_next = NULL;
    if (way->stream_head == NULL) {
        way->stream_head = s;
    } else {
        way->stream_tail->wait_next = s;
    }
    way->stream_tail = s;
    way->waiting = 1;
}

/** Block of the stream's next page. */
static inline uint32_t next_lba(const struct stream *s) {
    return s->extent != 0 ? s->lba - s->run : hal_read(s->map + LOCAL_NAMES);
}

/** Send for page `page`, which lies at `ppa` and is block `lba`. The way has a place. */
static inline __attribute__((always_inline)) void push_page(const struct stream *s, uint32_t ppa, uint32_t lba,
                                                            uint32_t page, uint32_t bytes) {
    uint32_t base = ASSASIN_FLASH_BASE + (ppa >> 28) * ASSASIN_FLASH_STRIDE;
    hal_write(base + FLASH_W0, s->w0 | (ppa >> 24 & 15u) << FLASH_W0_WAY_SHIFT);
    hal_write(base + FLASH_W1, ppa_row(ppa));
    hal_write(base + FLASH_W2, page << PAGE_LOG2);
    hal_write(base + FLASH_OOB0, lba);
    hal_write(base + FLASH_W3, bytes);
}

static void pump(struct stream *s) {
    while (s->pushed != s->total && (int32_t)(s->limit - s->pushed) > 0) {
        if (s->run == 0) {
            next_run(s);
        }
        uint32_t ppa = hal_read(s->map);
        uint32_t bytes = s->pushed + 1 == s->total ? s->last_bytes : PAGE_SIZE;
        if (ppa != 0) {
            struct nand_way *way = &nand_ways[ppa >> 24];
            if (way->credit == 0) {
                wait_for(s, way);
                return;
            }
            way->credit--;
            push_page(s, ppa, next_lba(s), s->pushed, bytes);
        } else if (stream_room(s) == 0) {
            stream_poll_wanted = true;
            return;
        } else if (!push_zero(s, s->pushed, bytes)) {
            return;
        }
        s->map += 4;
        s->run--;
        s->pushed++;
    }
}

bool stream_again(struct stream *s, uint32_t page, uint32_t lba) {
    uint32_t ppa = stream_ppa(s, page, lba);
    uint32_t bytes = page + 1 == s->total ? s->last_bytes : PAGE_SIZE;
    if (ppa == 0) {
        return push_zero(s, page, bytes);
    }
    if (nand_ways[ppa >> 24].credit == 0) {
        return false;
    }
    nand_ways[ppa >> 24].credit--;
    push_page(s, ppa, lba, page, bytes);
    return true;
}

/** Set the limit of a stream that is not in RUN mode from the core's Head. */
static void regate(struct stream *s) {
    uint32_t head = hal_read(s->ihead);
    if (s->mode == STREAM_START && head != 0) {
        s->mode = STREAM_RUN;
        stream_ahead = true;
        s->limit = s->delivered + (s->core < scomp_cores ? stream_window : slot_window);
        return;
    }
    uint32_t held = (s->pushed - (head >> PAGE_LOG2)) & POSITION_PAGES;
    s->limit = s->pushed + s->ring_pages - held;
    stream_poll_wanted = true;
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
    if (s->pushed == s->total || s->mode == STREAM_EDGE || s->mode == STREAM_HELD) {
        return;
    }
    if (s->mode != STREAM_RUN) {
        regate(s);
    }
    stream_pump(s);
}

void stream_unwait(struct stream *s) {
    if (!s->waiting) {
        return;
    }
    s->waiting = 0;
    struct stream *before = NULL;
    for (struct stream *p = s->way->stream_head; p != s; p = p->wait_next) {
        before = p;
    }
    if (before == NULL) {
        s->way->stream_head = s->wait_next;
    } else {
        before->wait_next = s->wait_next;
    }
    if (s->way->stream_tail == s) {
        s->way->stream_tail = before;
    }
}

void stream_resume(struct nand_way *way) {
    struct stream *s = way->stream_head;
    way->stream_head = s->wait_next;
    s->waiting = 0;
    pump(s);
}

/** A page of a stream that is not read straight ahead has arrived. */
static RARE void page_done_special(struct stream *s) {
    if (s->mode == STREAM_RUN) {
        s->limit++;
    } else if (s->mode == STREAM_HELD) {
        core_page(s, FLASH_STATUS_OK, 0);
        return;
    } else if (s->pushed != s->total) {
        regate(s);
    }
    stream_pump(s);
    if (s->delivered == 1 || s->delivered == s->total) {
        core_page(s, FLASH_STATUS_OK, 0);
    }
}

static RARE void pump_on(struct stream *s) {
    pump(s);
}

/** One page further for one that has arrived: what pump does for nearly every page of a stream in RUN mode. */
static inline __attribute__((always_inline)) void push_next(struct stream *s, uint32_t limit, uint32_t total) {
    uint32_t pushed = s->pushed;
    uint32_t run = s->run;
    uint32_t map = s->map;
    uint32_t lba = s->lba;
    s->limit = limit;
    if (run == 0 || limit - pushed != 1 || total - pushed <= 1) {
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
    s->run = run - 1;
    s->pushed = pushed + 1;
    way->credit = (uint8_t)(credit - 1);
    push_page(s, ppa, lba - run, pushed, PAGE_SIZE);
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
static RARE void page_failed(struct stream *s, uint32_t status, uint32_t base) {
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

uint32_t nand_poll(void) {
    uint32_t pages = 0;
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        uint32_t pending = sys_read(SYS_FLASH_PENDING);
        if (pending == 0) {
            break;
        }
        uint32_t base = ASSASIN_FLASH_BASE;
        struct nand_way *ways = nand_ways;
        /* The channel of a lone completion is found in two looks and a step, not in as many steps as its number. */
        for (uint32_t skip = 4; skip >= 2; skip -= 2) {
            if ((pending & ((1u << skip) - 1)) == 0) {
                pending >>= skip;
                base += skip * ASSASIN_FLASH_STRIDE;
                ways += skip * NAND_MAX_WAYS;
            }
        }
        for (; pending != 0; pending >>= 1, base += ASSASIN_FLASH_STRIDE, ways += NAND_MAX_WAYS) {
            if ((pending & 1) == 0) {
                continue;
            }
            uint32_t cpl = hal_read(base + FLASH_CPL);
            if (!FIELD(FLASH_CPL, VALID, cpl)) {
                continue;
            }
            struct nand_way *way = &ways[FIELD(FLASH_CPL, WAY, cpl)];
            uint32_t tag = FIELD(FLASH_CPL, TAG, cpl);
            uint32_t status = FIELD(FLASH_CPL, STATUS, cpl);
            way->credit++;
            if (tag >= NAND_TAG_STREAM && status == FLASH_STATUS_OK) {
                hal_write(base + FLASH_CPL_POP, 1);
                if (way->waiting) {
                    nand_way_refill(way);
                }
                pages++;
                page_done(&streams[tag - NAND_TAG_STREAM]);
            } else if (tag >= NAND_TAG_STREAM) {
                /* First whoever waits: the next sector of a page goes before any read. */
                if (way->waiting) {
                    nand_way_refill(way);
                }
                page_failed(&streams[tag - NAND_TAG_STREAM], status, base);
                hal_write(base + FLASH_CPL_POP, 1);
            } else {
                uint32_t data0 = hal_read(base + FLASH_CPL_DATA);
                uint32_t data1 = hal_read(base + FLASH_CPL_DATA1);
                uint32_t code = status != FLASH_STATUS_OK || FIELD(FLASH_CPL, ERRORS, cpl) != 0
                                    ? hal_read(base + FLASH_CPL_CODE)
                                    : 0;
                hal_write(base + FLASH_CPL_POP, 1);
                if (way->waiting) {
                    nand_way_refill(way);
                }
                nand_complete(tag, cpl, data0, data1, code);
            }
        }
    }
    stream_counters.pages += pages;
    stream_counters.media_pages += pages;
    return pages;
}
