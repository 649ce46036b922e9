/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Pieces on their cores: what core.c, output.c, feed.c and piece.c share.
 *
 * A piece holds one core for each of its nodes (one, when it is no tree) from its start to its end. A core's output
 * streams have sinks: chunks for the host, uncommitted pages on flash, another node's input, or nothing.
 */
#ifndef ASSASIN_FW_CORE_H
#define ASSASIN_FW_CORE_H

#include "csd/scomp.h"

#define DRAINS 4u /**< depth of a core's drain queue */
/** Page programs of one piece in flight. */
#define PIECE_WRITES 16u

enum core_phase {
    CORE_FREE,
    CORE_LOADING, /**< copies under way; pages are already on their way too */
    CORE_RUNNING,
    CORE_ENDING, /**< stopped: output drains, pages in flight arrive */
    CORE_QUIET,  /**< nothing of it is going on any more; waits for the piece's other nodes */
};

enum sink_kind {
    SINK_DROP,   /**< nobody wants it */
    SINK_HOST,   /**< chunks of external output `ext` */
    SINK_FLASH,  /**< pages under the blocks of external output `ext` */
    SINK_MEMORY, /**< DRAM, for external output `ext` */
    SINK_NODE,   /**< input stream `to` of another core */
};

struct sink {
    uint8_t kind;
    uint8_t ext;
    struct stream *to;
};

/** A drain in a core's queue. */
struct drain {
    uint8_t kind; /**< sink that it was pushed for */
    uint16_t bytes;
    union {
        uint32_t chunk;             /**< SINK_HOST */
        struct page_buffer *buffer; /**< SINK_FLASH */
        struct stream *to;          /**< SINK_NODE */
    };
};

struct piece;

struct core {
    enum core_phase phase;
    uint32_t index;
    struct piece *piece;
    const struct function *function;
    uint8_t node, streams_in, streams_out, s_log2;
    uint8_t blocked;      /**< output streams that wait for room: OUT_PAGE is masked then */
    uint8_t results_full; /**< of them: those that wait for room in the results */
    bool discarding;
    bool wiping;         /**< zeros are on their way to memories that pages go to: no page is sent for */
    uint32_t generation; /**< function in instruction memory, 0: none */
    uint32_t copies;     /**< copies under way */
    uint32_t drains_pushed, drains_done;
    struct drain drains[DRAINS];
    struct sink sinks[MAX_STREAMS];
    uint64_t out[MAX_STREAMS]; /**< output bytes given to drains */
    uint32_t progress;         /**< recall.c: pages taken and, with several streams, arrived, at the last change */
    uint32_t progress_since;   /**< since when, cycles */
    uint32_t dropped;          /**< pages in flight that a recall has brought back */
    bool recalling;            /**< pages in flight are dropped */
    bool rescued;              /**< a page of its stream has failed: reads do not run ahead any more */
    bool abreast;              /**< it has several streams, which may be read ahead of their rings (abreast.c) */
    bool leading;              /**< it is to wait for other cores: its streams are not read ahead */
    uint32_t left;             /**< abreast.c: pages of its streams that were not sent for at the last look */
    uint32_t status;           /**< SCOMP_STATUS_* once it ends */
    uint32_t cause, pc, tval, exit_code;
    uint64_t position; /**< SCOMP_STATUS_MEDIA: where in external input `input` the page lies */
    uint8_t input;
    uint64_t deadline;
    uint64_t t_start, t_end, t_first, t_last;
};
extern struct core cores[MAX_CORES];

/** Where the next page of an output under logical blocks goes; of one in DRAM: `lba` is the address, `left` bytes. */
struct flash_out {
    uint32_t extent; /**< DRAM address of the next extent */
    uint32_t extents;
    uint32_t lba, left;
};

/** A piece that runs. */
struct piece {
    struct request *request; /**< NULL: unused */
    uint32_t number;
    uint32_t status;
    uint8_t nodes;
    uint8_t failed; /**< node that `status` is of */
    uint8_t quiet;  /**< nodes that are */
    bool settling;  /**< the map takes its pages, or they are dropped */
    bool waited;    /**< at the last look every node waited for another; `retired`: their instructions then */
    uint32_t retired;
    uint8_t core[SCOMP_MAX_NODES];
    uint32_t writes;      /**< page programs in flight */
    uint32_t list, pages; /**< uncommitted pages */
    struct ftl_commit commit;
    struct stream *in[MAX_STREAMS]; /**< external inputs */
    struct flash_out flash[MAX_STREAMS];
};

static inline uint32_t core_reg(const struct core *c, uint32_t offset) {
    return ASSASIN_CORE_BASE + c->index * ASSASIN_CORE_STRIDE + offset;
}
static inline struct stream *core_stream(const struct core *c, uint32_t s) {
    return &streams[c->index * MAX_STREAMS + s];
}
/** The core takes input. */
static inline bool core_active(const struct core *c) {
    return c->phase == CORE_LOADING || c->phase == CORE_RUNNING;
}
/** Events of a core but for OUT_PAGE. */
#define CORE_EVENTS                                                                                                    \
    (CORE_EVENT_STOPPED_MASK << CORE_EVENT_STOPPED_SHIFT | CORE_EVENT_DRAINED_MASK << CORE_EVENT_DRAINED_SHIFT)
#define CORE_OUT_PAGE (CORE_EVENT_OUT_PAGE_MASK << CORE_EVENT_OUT_PAGE_SHIFT)

/* ---- core.c ---- */

/** Load `c` with its function and its task; the streams are set up already. `args` and what follows: in DRAM. */
void core_load(struct core *c, uint32_t args, uint32_t args_bytes);
/** The core has stopped, or is stopped here: no further pages, those in flight are dropped. */
void core_end(struct core *c, uint32_t status);
/** Go on with a core that ends. */
void core_end_check(struct core *c);
/** Send for the first pages of the core's streams from outside. */
void core_pump(struct core *c);
/** Share the ways among the cores that are busy. */
void core_window_update(void);

/* ---- output.c ---- */

/** Drain the full pages that wait. */
void output_pages(struct core *c);
/** Drain everything that is left. True when nothing is. */
bool output_rest(struct core *c);
/** Handle the drains that have ended. */
void output_drained(struct core *c);
/** Streams that were blocked try again; of those that wait for results only with `results`. */
void output_retry(struct core *c, bool results);

/* ---- feed.c ---- */

/** Set up the fed input stream `s` of piece `number`, external input `ext`. */
void feed_open(struct stream *s, const struct request *r, uint32_t number, uint32_t ext);
/** A piece has ended, or will never run: its feeds complete. */
void feed_piece_ended(struct request *r, uint32_t number);

/* ---- wipe.c ---- */

/** Queue zeros for all memories of `c` that a program can read: another program's data must not be there. */
void core_wipe(struct core *c);
/** Queue a copy to offset `offset` in `c`, which starts when all its copies are done. */
void core_copy(struct core *c, uint32_t src, uint32_t offset, uint32_t bytes);

/* ---- abreast.c ---- */

/** Let the streams of `c`, which are set up, be read ahead of their rings when they are several from flash. */
void abreast_open(struct core *c);
/** Begin or go on (`on`), or cease to read ahead; pages in flight stay there. */
void abreast_set(struct core *c, bool on);
/** Find the cores that are ahead of others of their request. */
void abreast_balance(void);
/** Whether `s`, of which the core has consumed `head` pages, may go ahead of its ring. */
bool abreast_ahead(const struct stream *s, uint32_t head);

/* ---- recall.c ---- */

/** Drop the pages of `c` that are in flight; they are sent for again as the rings have room. Its streams are all from
 * flash. */
void recall_begin(struct core *c);
/** Look whether `c` holds up ways that others wait for, and go on with what was recalled. Returns the STREAM_AHEAD_* of
 * what runs ahead. */
uint32_t recall_look(struct core *c);
/** Page `page` of `s`, block `lba`, has been dropped. False when it is not wanted again. */
bool recall_dropped(struct stream *s, uint32_t page, uint32_t lba);
/** A page of a stream that is being recalled has arrived. */
void recall_check(struct core *c);
/** The core ends: what was dropped is not wanted any more. */
void recall_end(struct core *c);

/* ---- rescue.c ---- */

void rescue_init(void);
/** The read of block `lba` of `s` has ended with `status`: true when it is repeated. */
bool rescue_page(struct stream *s, uint32_t lba, uint32_t status);
/** Go on with pages that wait for a descriptor or for the copy engine. */
void rescue_go(void);
/** The core ends: pages that wait are not wanted any more. */
void rescue_end(struct core *c);
/** Block `lba` of `s` is lost. @param code CPL_CODE */
void stream_lost(const struct stream *s, uint32_t lba, uint32_t status, uint32_t code);
/** Page of `s`, a stream from flash, that is block `lba`; `*ext` becomes the external input of its piece. */
uint32_t stream_find(const struct stream *s, uint32_t lba, uint32_t *ext);

/* ---- deadlock.c ---- */

/** End the piece when its nodes wait for each other, and did at the last call. Call when the cores are polled. */
void deadlock_check(struct piece *p);

/* ---- piece.c ---- */

/** A node has ended with something else than OK: the others stop. */
void piece_node_failed(struct piece *p, struct core *c);
/** Something of the piece has ended: when it was the last, the piece has. */
void piece_check(struct piece *p);

#endif
