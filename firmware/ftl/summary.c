// SPDX-License-Identifier: BSD-3-Clause
#include "ftl/summary.h"

#include <string.h>

#include "ftl/ftl.h"
#include "ftl/planes.h"
#include "platform/fill.h"

/** Pages of the smallest superblocks that have summaries. */
#define LEAST 256u
/** Chunks of the smallest. */
#define LEAST_CHUNKS 4u
/** Most sectors that are on their way to the medium: each has a page buffer, or is one of collection's. */
#define DELAY ((DRAM_BUFFERS_SIZE + DRAM_COPIES_SIZE) / PAGE_SIZE)
/** log2 of the words of a buffer, and its groups of words. */
#define WORDS_LOG2 (PAGE_LOG2 - 2)
#define GROUPS     (1u << (WORDS_LOG2 - SUMMARY_GROUP_LOG2))
/** Summaries in programming at a time: the last chunks of a superblock have theirs one behind the other. */
#define PROGRAMS 4u

struct summary_layout summary;
uint8_t summary_pending[APPEND_POINTS * SUMMARY_BUFFERS * GROUPS];

/** What a buffer holds. */
struct buffer {
    uint32_t n, chunk; /**< of superblock `n`; SB_NONE: of none */
    bool programming;
};

static struct {
    uint32_t no;    /**< running number of the chunk that is filled: its buffer is no % SUMMARY_BUFFERS */
    uint32_t end;   /**< position behind it; SB_NONE: none is filled */
    uint32_t chunk; /**< its number in the superblock */
    uint32_t next;  /**< chunk whose summary comes next */
} points[APPEND_POINTS];
static struct buffer buffers[APPEND_POINTS][SUMMARY_BUFFERS];

/** A summary on its way to the medium. */
static struct program {
    struct ftl_write w;
    struct buffer *buffer; /**< NULL: the program is free */
} programs[PROGRAMS];

void summary_init(void) {
    summary = (struct summary_layout){0};
    memset(points, 0, sizeof points);
    memset(buffers, 0, sizeof buffers);
    memset(summary_pending, 0, sizeof summary_pending);
    memset(programs, 0, sizeof programs);
    for (uint32_t i = 0; i < APPEND_POINTS; i++) {
        append[i].due = SB_NONE;
        append[i].notes = SUMMARY_NONE;
        for (uint32_t b = 0; b < SUMMARY_BUFFERS; b++) {
            buffers[i][b].n = SB_NONE;
        }
    }
    if (sb.pages < LEAST * nand_geo.sectors || nand_geo.paired) {
        /* Where pages share cells, sectors that were written well may be lost behind their summary. */
        return;
    }
    uint32_t chunk = sb.pages / LEAST_CHUNKS & ~((1u << SUMMARY_GROUP_LOG2) - 1);
    summary.chunk = chunk < SUMMARY_MOST ? chunk : SUMMARY_MOST;
    summary.delay = DELAY < summary.chunk ? DELAY : summary.chunk;
    summary.chunks = (sb.pages + summary.chunk - 1) / summary.chunk;
    summary.taken = summary.chunks * nand_geo.sectors;
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        programs[i].w.op = nand_op_get();
    }
}

uint32_t summary_place(uint32_t k) {
    uint32_t place = (k + 1) * summary.chunk + summary.delay;
    uint32_t last = sb.pages - (summary.chunks - k) * nand_geo.sectors;
    return place < last ? place : last;
}

bool summary_at(uint32_t position) {
    if (summary.chunk == 0 || position < summary.chunk + summary.delay) {
        return false;
    }
    uint32_t last = (sb.pages - position) >> nand_geo.sector_log2;
    uint32_t k = last <= summary.chunks ? summary.chunks - last : (position - summary.delay) / summary.chunk - 1;
    return summary_place(k) == position;
}

/** First word of buffer `b` of `point`. */
static uint32_t buffer_word(enum append_point point, uint32_t b) {
    return (point * SUMMARY_BUFFERS + b) << WORDS_LOG2;
}

/** Groups of the buffer whose first word is `word` with programs that have not ended, a bit each. */
static uint32_t unsettled(uint32_t word) {
    uint32_t bits = 0;
    for (uint32_t g = 0; g < GROUPS; g++) {
        bits |= (uint32_t)(summary_pending[(word >> SUMMARY_GROUP_LOG2) + g] != 0) << g;
    }
    return bits;
}

/** Where something is due next. */
static void set_due(enum append_point point) {
    uint32_t place = points[point].next < summary.chunks ? summary_place(points[point].next) : sb.pages;
    uint32_t end = points[point].end;
    append[point].due = place < end ? place : end;
}

/** Begin the chunk that `position` of the open superblock is in. Its summary says something from position `first` on.
 */
static void begin(enum append_point point, uint32_t position, uint32_t first) {
    uint32_t k = position / summary.chunk;
    uint32_t b = ++points[point].no % SUMMARY_BUFFERS;
    uint32_t word = buffer_word(point, b);
    struct buffer *buffer = &buffers[point][b];
    points[point].chunk = k;
    points[point].end = (k + 1) * summary.chunk < sb.pages ? (k + 1) * summary.chunk : sb.pages;
    append[point].notes = SUMMARY_NONE;
    if (buffer->programming || unsettled(word) != 0) {
        /* Programs of long ago have not ended: a mount reads the sectors of this chunk. */
        return;
    }
    *buffer = (struct buffer){.n = append[point].cur.sb, .chunk = k};
    dram_zero(DRAM_SUMMARIES + word * 4, PAGE_SIZE);
    hal_write(DRAM_SUMMARIES + (word + SUMMARY_CHUNK) * 4, k);
    hal_write(DRAM_SUMMARIES + (word + SUMMARY_FIRST) * 4, first);
    append[point].notes = word + SUMMARY_HEAD - k * summary.chunk;
}

void summary_open(enum append_point point, uint32_t position) {
    points[point].end = SB_NONE;
    append[point].due = SB_NONE;
    append[point].notes = SUMMARY_NONE;
    if (summary.chunk == 0 || append[point].cur.sb == SB_NONE) {
        return;
    }
    points[point].next = 0;
    while (points[point].next < summary.chunks && summary_place(points[point].next) < position) {
        points[point].next++;
    }
    begin(point, position, position);
    set_due(point);
}

uint32_t summary_to_come(enum append_point point) {
    return summary.chunk == 0 ? 0 : (summary.chunks - points[point].next) * nand_geo.sectors;
}

static void program_ended(struct ftl_write *w) {
    if (parity_defers(PARITY_SUMMARY, w, program_ended)) {
        return;
    }
    struct program *p = CONTAINER(w, struct program, w);
    p->buffer->programming = false;
    p->buffer = NULL;
    ftl.in_turn[w->turn]--;
    ftl_settled();
    work_set(WORK_COLLECT);
    ftl_kick();
}

static void programmed(struct nand_op *op, uint32_t status) {
    struct ftl_write *w = op->arg;
    if (status != FLASH_STATUS_OK) {
        planes_failed(w);
    } else {
        bad_worked(w->ppa);
    }
    planes_ended(w);
    program_ended(w);
}

/** Program the summary of chunk `k` to the page `ppa`. Without a free program the page stays blank. */
static void program(enum append_point point, uint32_t k, uint32_t ppa) {
    uint32_t back = points[point].chunk - k;
    uint32_t b = (points[point].no - back) % SUMMARY_BUFFERS;
    struct buffer *buffer = &buffers[point][b];
    struct program *p = programs;
    while (p < programs + PROGRAMS && p->buffer != NULL) {
        p++;
    }
    if (back >= SUMMARY_BUFFERS || buffer->n != ppa_block(ppa) || buffer->chunk != k || p == programs + PROGRAMS) {
        return;
    }
    uint32_t word = buffer_word(point, b);
    hal_write(DRAM_SUMMARIES + (word + SUMMARY_UNSETTLED) * 4, unsettled(word));
    buffer->programming = true;
    p->buffer = buffer;
    struct nand_op *op = p->w.op;
    p->w = (struct ftl_write){.op = op, .ppa = ppa, .lba = OOB_SUMMARY};
    op->done = programmed;
    op->arg = &p->w;
    nand_program(op, ppa, DRAM_SUMMARIES + word * 4, OOB_SUMMARY, point == APPEND_HOST ? ftl.seq : 0);
    p->w.turn = ftl.turn;
    ftl.in_turn[ftl.turn]++;
    parity_placed(point, &p->w);
    planes_program(&p->w);
}

bool summary_due(enum append_point point, uint32_t position) {
    if (position >= points[point].end) {
        begin(point, position, 0);
    }
    bool due = false;
    /* Places in bad blocks are behind the cursor already. */
    while (points[point].next < summary.chunks && summary_place(points[point].next) <= position) {
        due = summary_place(points[point].next) == position;
        if (due) {
            program(point, points[point].next, cursor_ppa(&append[point].cur));
        }
        points[point].next++;
    }
    set_due(point);
    return due;
}

void summary_failed(uint16_t note) {
    const struct buffer *buffer = &buffers[0][0] + (note >> WORDS_LOG2);
    if (buffer->programming) {
        /* The summary on its way says that the sectors were not settled. */
        return;
    }
    for (uint32_t i = 0; i < nand_geo.sectors; i++) {
        hal_write(DRAM_SUMMARIES + (note + i) * 4, 0);
    }
}
