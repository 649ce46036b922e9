/* SPDX-License-Identifier: BSD-3-Clause */
/* Life of an ASSASIN core: load, run, end. */
#include "csd/core.h"

#include <string.h>

#include "platform/copy.h"
#include "platform/timer.h"

/** Cycles between two looks at how far reads run ahead of their rings. */
#define AHEAD_LOOK 8192u

uint32_t scomp_cores, scomp_tiles;
bool core_deadline_changed;
struct core cores[MAX_CORES];

void core_init(void) {
    memset(cores, 0, sizeof cores);
    stream_init();
    scomp_cores = FIELD(SYS_CONFIG, CORES, sys_read(SYS_CONFIG));
    scomp_tiles = scomp_cores + FIELD(SYS_CONFIG2, SLOTS, sys_read(SYS_CONFIG2));
    for (uint32_t i = 0; i < scomp_tiles; i++) {
        cores[i].index = i;
        core_write(i, CORE_CTRL, 0);
        core_write(i, CORE_EVENT_ENABLE, 0);
    }
    piece_init();
    rescue_init();
}

/* ---- start ---- */

static void run(struct core *c) {
    c->phase = CORE_RUNNING;
    c->t_start = time_now();
    c->deadline = c->t_start + c->piece->request->watchdog;
    core_deadline_changed = true;
    hal_write(core_reg(c, CORE_ENTRY), c->function->entry);
    hal_write(core_reg(c, CORE_CTRL), PLACE(CORE_CTRL, RUN, 1));
}

/** Start the kernel of slot `c` with the scalars at DRAM `args`. */
static void run_kernel(struct core *c, uint32_t args) {
    run(c);
    uint32_t base = ASSASIN_SLOT_BASE + (c->index - scomp_cores) * ASSASIN_SLOT_STRIDE;
    for (uint32_t i = 0; i < c->function->scalars; i++) {
        hal_write(base + KERNEL_SCALAR + i * 8, hal_read(args + i * 4));
    }
    hal_write(base + KERNEL_GIE, 1);
    hal_write(base + KERNEL_IER, 1);
    hal_write(base + KERNEL_CTRL, PLACE(KERNEL_CTRL, AP_START, 1));
}

void core_pump(struct core *c) {
    for (uint32_t i = 0; i < c->streams_in && core_active(c); i++) {
        struct stream *s = core_stream(c, i);
        if (s->mode == STREAM_FED) {
            feed_go(s);
        } else if (s->mode != STREAM_EDGE) {
            stream_pump(s);
        }
    }
}

static void copied(uint32_t index) {
    struct core *c = &cores[index];
    if (--c->copies > 0) {
        return;
    }
    if (c->phase == CORE_LOADING) {
        run(c);
        if (c->wiping) {
            c->wiping = false;
            core_pump(c);
        }
    } else {
        core_end_check(c);
    }
}

void core_copy(struct core *c, uint32_t src, uint32_t offset, uint32_t bytes) {
    c->copies++;
    copy_submit(src, PLACE(HDMA_COPY_DST, OFFSET, offset) | PLACE(HDMA_COPY_DST, CORE, c->index), 0, bytes, copied,
                c->index);
}

void stream_mark_end(struct stream *s) {
    uint32_t base = ASSASIN_CORE_BASE + s->core * ASSASIN_CORE_STRIDE;
    s->end_set = 1;
    hal_write(base + CORE_IEND + s->id * 4, s->end);
    hal_write(base + CORE_IEND_VALID, hal_read(base + CORE_IEND_VALID) | 1u << s->id);
}

void core_load(struct core *c, uint32_t args, uint32_t args_bytes) {
    const struct request *r = c->piece->request;
    const struct function *f = c->function;
    if (f->kernel != 0) {
        run_kernel(c, args);
        return;
    }
    struct scomp_task task = {.piece = c->piece->number,
                              .pieces = r->pieces,
                              .args_bytes = args_bytes,
                              .streams_in = c->streams_in,
                              .streams_out = c->streams_out,
                              .node = c->node};
    for (uint32_t i = 0; i < c->streams_in; i++) {
        const struct stream *s = core_stream(c, i);
        task.bytes[i] = s->mode == STREAM_EDGE ? UINT32_MAX : s->end;
    }
    uint32_t words[sizeof task / 4];
    memcpy(words, &task, sizeof words);
    uint32_t at = DRAM_TASK + c->index * (uint32_t)sizeof task;
    for (uint32_t i = 0; i < sizeof words / 4; i++) {
        hal_write(at + i * 4, words[i]);
    }
    /* Counts itself until all copies are queued: the first ones may end before. */
    c->copies = 1;
    bool same = c->generation == f->generation;
    if (!same) {
        core_wipe(c);
    }
    for (uint32_t i = same ? f->code_copies : 0; i < f->copies_count; i++) {
        struct function_copy copy = function_copy(f, i);
        core_copy(c, copy.src, copy.offset, copy.bytes);
    }
    c->generation = f->generation;
    if (args_bytes > 0) {
        core_copy(c, args, ASSASIN_XB_SPAD_BASE + SCOMP_SPAD_ARGS, args_bytes);
    }
    core_copy(c, at, ASSASIN_XB_SPAD_BASE, sizeof task);
    c->copies--;
}

void core_window_update(void) {
    uint32_t busy = 0;
    for (uint32_t i = 0; i < scomp_tiles; i++) {
        busy += core_active(&cores[i]);
    }
    uint32_t share = nand_geo.channels * nand_geo.ways * 3 / 4;
    share = busy > 0 ? share / busy : share;
    share = share < STREAM_WINDOW_MIN ? STREAM_WINDOW_MIN : share;
    slot_window = share > SLOT_WINDOW_MAX ? SLOT_WINDOW_MAX : share;
    stream_window = share > STREAM_WINDOW_MAX ? STREAM_WINDOW_MAX : share;
}

void core_unblock(struct request *r) {
    for (uint32_t i = 0; i < scomp_tiles; i++) {
        struct core *c = &cores[i];
        if (c->phase != CORE_FREE && c->piece->request == r && c->results_full != 0) {
            output_retry(c, true);
        }
    }
}

void core_throttle(struct request *r, bool on) {
    for (uint32_t i = 0; i < scomp_tiles; i++) {
        struct core *c = &cores[i];
        if (c->phase == CORE_FREE || c->piece->request != r || r->tree || r->out_table != 0) {
            continue;
        }
        if (r->streams_in > 1) {
            abreast_set(c, !on);
            continue;
        }
        struct stream *s = core_stream(c, 0);
        if (s->mode != STREAM_FED && s->mode != STREAM_RECALL) {
            s->mode = on || c->rescued ? STREAM_GATED : STREAM_START;
            stream_gated++;
        }
    }
}

/* ---- end ---- */

/** The outputs that lead to other nodes end where they are. */
static void edges_end(struct core *c) {
    for (uint32_t i = 0; i < c->streams_out; i++) {
        struct stream *to = c->sinks[i].to;
        if (c->sinks[i].kind != SINK_NODE || !core_active(&cores[to->core])) {
            continue;
        }
        uint32_t left = hal_read(core_reg(c, CORE_OHEAD + i * 4)) - (uint32_t)c->out[i];
        uint64_t bytes = c->out[i] + left;
        to->total = (uint32_t)((bytes + PAGE_SIZE - 1) >> PAGE_LOG2);
        to->end = (uint32_t)bytes;
        stream_mark_end(to);
    }
}

void core_end_check(struct core *c) {
    if (c->phase != CORE_ENDING || c->copies > 0) {
        return;
    }
    bool flowing = false;
    for (uint32_t i = 0; i < c->streams_in; i++) {
        const struct stream *s = core_stream(c, i);
        flowing |= stream_in_flight(s) > 0 || (s->mode == STREAM_FED && s->feeding);
    }
    /* An aborted node's output is not wanted. */
    bool wanted = c->status != SCOMP_STATUS_ABORTED;
    if ((wanted && !output_rest(c)) || c->drains_pushed != c->drains_done || flowing || c->phase != CORE_ENDING) {
        return;
    }
    hal_write(core_reg(c, CORE_CTRL), 0);
    hal_write(core_reg(c, CORE_EVENT_ENABLE), 0);
    if (c->discarding) {
        nand_discard(c->index, false);
    }
    c->phase = CORE_QUIET;
    c->piece->quiet++;
    piece_check(c->piece);
}

void core_end(struct core *c, uint32_t status) {
    if (c->phase == CORE_LOADING || status == SCOMP_STATUS_WATCHDOG || status == SCOMP_STATUS_ABORTED ||
        status == SCOMP_STATUS_MEDIA || status == SCOMP_STATUS_NO_ROOM || status == SCOMP_STATUS_CAPACITY ||
        status == SCOMP_STATUS_DEADLOCK) {
        hal_write(core_reg(c, CORE_CTRL), 0);
    }
    recall_end(c);
    rescue_end(c);
    c->phase = CORE_ENDING;
    core_deadline_changed = true;
    core_window_update();
    c->status = status;
    c->t_end = time_now();
    bool flowing = false;
    for (uint32_t i = 0; i < c->streams_in; i++) {
        struct stream *s = core_stream(c, i);
        stream_unwait(s);
        s->total = s->pushed;
        flowing |= stream_in_flight(s) > 0;
    }
    if (flowing) {
        c->discarding = true;
        nand_discard(c->index, true);
    }
    if (status == SCOMP_STATUS_OK) {
        edges_end(c);
    } else {
        piece_node_failed(c->piece, c);
    }
    core_end_check(c);
}

static void stopped(struct core *c) {
    uint32_t s = hal_read(core_reg(c, CORE_STATUS));
    uint32_t status = SCOMP_STATUS_OK;
    switch (FIELD(CORE_STATUS, STATE, s)) {
    case CORE_STATE_EXITED:
        c->exit_code = hal_read(core_reg(c, CORE_EXIT_CODE));
        status = c->exit_code == 0 ? SCOMP_STATUS_OK : SCOMP_STATUS_EXIT_CODE;
        break;
    case CORE_STATE_TRAPPED:
        c->cause = FIELD(CORE_STATUS, CAUSE, s);
        c->pc = hal_read(core_reg(c, CORE_PC));
        c->tval = hal_read(core_reg(c, CORE_TVAL));
        status = SCOMP_STATUS_TRAP;
        break;
    case CORE_STATE_HUNG:
        break;
    default:
        return;
    }
    core_end(c, status);
}

void core_page(struct stream *s, uint32_t status, uint32_t lba) {
    struct core *c = &cores[s->core];
    if (c->phase == CORE_ENDING) {
        nand_attention = true;
        core_end_check(c);
        return;
    }
    if (status != FLASH_STATUS_OK) {
        nand_attention = true;
        uint32_t input;
        c->cause = status;
        c->tval = lba;
        c->position = (uint64_t)stream_find(s, lba, &input) << PAGE_LOG2;
        c->input = (uint8_t)input;
        core_end(c, SCOMP_STATUS_MEDIA);
        return;
    }
    recall_check(c);
    uint64_t now = time_now();
    if (c->t_first == 0) {
        c->t_first = now;
    }
    c->t_last = now;
}

void core_event(uint32_t pending) {
    for (uint32_t i = 0; pending != 0; i++, pending >>= 1) {
        if ((pending & 1) == 0) {
            continue;
        }
        struct core *c = &cores[i];
        uint32_t event = hal_read(core_reg(c, CORE_EVENT));
        hal_write(core_reg(c, CORE_EVENT), event & CORE_EVENTS);
        if (c->phase == CORE_FREE || c->phase == CORE_QUIET) {
            hal_write(core_reg(c, CORE_EVENT_ENABLE), 0);
            continue;
        }
        if (FIELD(CORE_EVENT, DRAINED, event)) {
            output_drained(c);
        }
        if (FIELD(CORE_EVENT, STOPPED, event) && c->phase == CORE_RUNNING) {
            stopped(c);
        } else if (c->phase == CORE_ENDING) {
            core_end_check(c);
        } else if (FIELD(CORE_EVENT, OUT_PAGE, event) && c->phase == CORE_RUNNING) {
            output_pages(c);
        }
    }
}

void core_timer(void) {
    uint64_t now = time_now();
    /* How far reads run ahead takes register accesses, and changes slowly. */
    static uint64_t looked;
    bool look = now - looked >= AHEAD_LOOK;
    uint32_t ahead = look ? 0 : stream_ahead;
    if (look && stream_ahead != 0) {
        looked = now;
        abreast_balance();
    }
    for (uint32_t i = 0; i < scomp_tiles; i++) {
        struct core *c = &cores[i];
        if (c->phase == CORE_RUNNING && now >= c->deadline &&
            FIELD(CORE_STATUS, HALTED, hal_read(core_reg(c, CORE_STATUS)))) {
            // A debugger takes its time: the limit begins anew.
            c->deadline = now + c->piece->request->watchdog;
            core_deadline_changed = true;
        }
        if (c->phase == CORE_RUNNING && now >= c->deadline) {
            c->pc = hal_read(core_reg(c, CORE_PC));
            core_end(c, SCOMP_STATUS_WATCHDOG);
        }
        for (uint32_t s = 0; core_active(c) && !c->wiping && s < c->streams_in; s++) {
            stream_poll(core_stream(c, s));
        }
        if (stream_ahead != 0 && core_active(c) && (look || c->dropped > 0)) {
            ahead |= recall_look(c);
        }
        if (c->blocked != 0) {
            output_retry(c, false);
        }
        /* Once a piece, after the last of its cores has been looked at or before the first: it takes two looks anyway.
         */
        if (c->phase != CORE_FREE && c->node == 0 && c->piece->nodes > 1) {
            deadlock_check(c->piece);
        }
    }
    stream_ahead = ahead;
    rescue_go();
}

uint64_t core_deadline(void) {
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < scomp_tiles; i++) {
        if (cores[i].phase == CORE_RUNNING && cores[i].deadline < first) {
            first = cores[i].deadline;
        }
    }
    return first;
}

bool core_all_free(void) {
    for (uint32_t i = 0; i < scomp_tiles; i++) {
        if (cores[i].phase != CORE_FREE) {
            return false;
        }
    }
    return true;
}
