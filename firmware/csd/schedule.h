/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Stream scheduler, hot half: pages of input streams from the map to the flash channels, and their completions.
 *
 * A page costs one DRAM load (its map entry) and eight register accesses; everything else is TCM and power-of-two
 * arithmetic.
 */
#ifndef ASSASIN_FW_SCHEDULE_H
#define ASSASIN_FW_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "ftl/map.h"
#include "media/nand.h"
#include "platform/dram.h"

#define MAX_CORES   16u
#define MAX_STREAMS 8u
/**
 * Pages of a single-stream piece in flight once its core consumes. At least what hides the array's read time for a core
 * at one byte a cycle; at most what the ring and the dies behind a few ways hold. In between the cores share three
 * quarters of the ways: more pages in flight than that wait for each other at the heads of ways.
 */
#define STREAM_WINDOW_MIN 12u
#define STREAM_WINDOW_MAX 24u
/** Likewise of a slot, which takes in as fast as all channels deliver. */
#define SLOT_WINDOW_MAX 96u
/** Likewise of all streams together of a piece with several, beyond what its core has consumed (abreast.c). */
#define ABREAST_WINDOW 24u

/** How far a stream may push. */
enum stream_mode {
    STREAM_RUN, /**< stream_window pages beyond what was delivered: reads run ahead of the ring and wait in the dies */
    STREAM_START,   /**< like GATED until the core has consumed something, then RUN */
    STREAM_GATED,   /**< only pages that the ring has room for already: they never hold up a way for others */
    STREAM_ABREAST, /**< like GATED, and `ahead` pages more while no other stream of the core is behind (abreast.c) */
    STREAM_FED,     /**< the host's bytes, copied from their staging (feed.c) */
    STREAM_EDGE,    /**< another core's output (output.c) */
    STREAM_RECALL,  /**< pages in flight are being recalled (recall.c): none is sent for */
};

/** One input stream of a core; 64 bytes on the drive, so that a tag becomes an address by a shift. */
struct stream {
    uint32_t map;       /**< DRAM address of the next page's map entry */
    uint32_t entries;   /**< pages whose map entries follow each other from `map` on */
    uint32_t pushed;    /**< pages sent for */
    uint32_t limit;     /**< pages that may be sent for */
    uint32_t total;     /**< pages of the stream; lowered to `pushed` when its core stops */
    uint32_t delivered; /**< pages arrived */
    uint32_t w0;        /**< descriptor word 0 but for the way */
    uint32_t ihead;     /**< address of the core's IHEAD register */
    union {
        struct {
            uint8_t mode;        /**< enum stream_mode */
            uint8_t waiting : 1; /**< on the list of `way` */
            uint8_t listed : 1;  /**< CHANNEL_LOCAL: blocks by the list of blocks, not by extents */
        };
        uint16_t special; /**< 0: STREAM_RUN and neither of the others, the page loop's short way */
    };
    uint16_t last_bytes; /**< bytes of the last page */
    uint8_t ring_pages;
    uint8_t core;
    uint8_t id : 7;
    uint8_t end_set : 1; /**< the core knows `end` */
    uint8_t ahead;       /**< pages beyond the ring that STREAM_ABREAST may send for */
    struct node waiter;  /**< on the list of `way` */
    struct nand_way *way;
    union {
        /* Slow path: where the stream goes on when `entries` are used up. */
        struct {
            uint32_t extent; /**< DRAM address of the next extent; 0: `map` goes on to the end */
            uint32_t lba;
            uint32_t lba_left; /**< blocks of the current extent from `lba` on */
        };
        /* STREAM_FED */
        struct {
            uint32_t received; /**< bytes that the staging has got */
            uint32_t memory;   /**< DRAM address of all of it; 0: it comes through the staging */
            uint8_t input;     /**< external input of the piece */
            bool feeding;      /**< a transfer from the host is under way */
        };
    };
    uint32_t end; /**< stream position of its end */
};
#if UINTPTR_MAX == UINT32_MAX
static_assert(sizeof(struct stream) == 64, "struct stream size");
#endif
extern struct stream streams[MAX_CORES * MAX_STREAMS];

struct stream_counters {
    uint64_t pages;       /**< pages delivered to streams */
    uint64_t media_pages; /**< of them read from flash */
    uint64_t cycles;      /**< processor cycles of iterations that delivered pages */
};
extern struct stream_counters stream_counters;

/** Pages in flight for a stream of a core, and of a slot, that starts to run now. */
extern uint32_t stream_window, slot_window;

/** Something waits for room that no completion will announce: poll all streams soon. */
extern bool stream_poll_wanted;

/** Streams in GATED or ABREAST mode that have been found with pages left to read, and hardly any on its way, since the
 * timer looked last. Their cores take pages without a word: poll them by the timer, the more seldom the more there are.
 * A page that arrives has its own stream looked at anyway. */
extern uint32_t stream_gated;

/** Some stream's reads may have run ahead of its ring: a core that does not take them holds up ways. */
extern uint32_t stream_ahead;
#define STREAM_AHEAD_ALONE 1u /**< of cores with one stream: they hold up others only */
/** Of cores with several, or with pages that were recalled: they may hold up themselves, whoever else uses the flash.
 */
#define STREAM_AHEAD_ABREAST 2u
/** Page numbers of 32-bit positions. */
#define POSITION_PAGES ((1u << (32 - PAGE_LOG2)) - 1)
/** CHANNEL_LOCAL: from a page's place in the list of pages to its block's in the list of blocks. */
#define LOCAL_NAMES (DRAM_LOCAL_SIZE / 4)

void stream_init(void);
/** Handle every flash completion. Returns pages that have arrived for streams. */
uint32_t stream_poll_flash(void);
/** Set up a stream from flash of `bytes` bytes: the map entries follow each other from `map` on for all pages, or, with
 * map 0, follow the extents at DRAM `extent`. `gated`: never run ahead of the ring. */
void stream_open(struct stream *s, uint64_t bytes, uint32_t map, uint32_t extent, bool gated);
/** Pages of the ring that hold none, or are not on their way. */
uint32_t stream_room(const struct stream *s);
/** Streams longer than this get their end marked late: positions compare as signed differences. */
#define STREAM_END_PAGES (1u << (30 - PAGE_LOG2))

/** Send for as many pages as the limit and the ways allow. */
void stream_pump(struct stream *s);
/** Go on with a fed stream (feed.c). */
void feed_go(struct stream *s);
/** Look at the core's Head again and pump. */
void stream_poll(struct stream *s);
/** Send again for page `page`, block `lba`, that was dropped; its place in the ring is free. False when it has to wait.
 */
bool stream_again(struct stream *s, uint32_t page, uint32_t lba);
/** A page of `s` that was not read straight to it has arrived. */
void stream_arrived(struct stream *s);
/** Physical address of page `page` of `s`, block `lba`; 0 when it was never written. */
static inline uint32_t stream_ppa(const struct stream *s, uint32_t page, uint32_t lba) {
    return s->extent != 0 ? map_get(lba) : hal_read(s->map - (s->pushed - page) * 4);
}
/** Take the stream off its way's list. */
void stream_unwait(struct stream *s);
/** Pages sent for and not arrived. */
static inline uint32_t stream_in_flight(const struct stream *s) {
    return s->pushed - s->delivered;
}

#endif
