/* Life of an ASSASIN core: load, run, drain, report. */
#include <string.h>

#include "lib/console.h"
#include "stream/scomp.h"

#define DRAINS        4u
#define RING_BYTES(c) (0x10000u >> (c)->s_log2)
#define EVENTS                                                                                                         \
    (CORE_EVENT_STOPPED_MASK << CORE_EVENT_STOPPED_SHIFT | CORE_EVENT_DRAINED_MASK << CORE_EVENT_DRAINED_SHIFT)
#define OUT_PAGE (CORE_EVENT_OUT_PAGE_MASK << CORE_EVENT_OUT_PAGE_SHIFT)

enum core_phase {
    CORE_FREE,
    CORE_LOADING, /**< copies under way; pages are already on their way too */
    CORE_RUNNING,
    CORE_ENDING, /**< stopped: output drains, pages in flight arrive, the report is written */
};

struct core {
    enum core_phase phase;
    uint32_t index;
    struct request *request;
    uint32_t piece;
    uint32_t s_log2;
    uint32_t generation; /**< function in instruction memory, 0: none */
    uint32_t copies;     /**< copies under way */
    bool out_blocked;    /**< results are full: OUT_PAGE is masked */
    bool discarding;
    uint32_t drains_pushed, drains_done;
    uint32_t drain_chunk[DRAINS];
    uint64_t out[MAX_STREAMS]; /**< output bytes given to drains */
    uint32_t status;           /**< SCOMP_STATUS_* once it ends */
    uint32_t cause, pc, tval, exit_code;
    uint64_t deadline;
    uint64_t t_start, t_end, t_first, t_last;
};

uint32_t scomp_cores;
bool core_deadline_changed;
static struct core cores[MAX_CORES];

static void end_check(struct core *c);

void core_init(void) {
    memset(cores, 0, sizeof cores);
    memset(streams, 0, sizeof streams);
    scomp_cores = FIELD(SYS_CONFIG, CORES, sys_read(SYS_CONFIG));
    for (uint32_t i = 0; i < scomp_cores; i++) {
        cores[i].index = i;
        core_write(i, CORE_CTRL, 0);
        core_write(i, CORE_EVENT_ENABLE, 0);
    }
}

static uint32_t reg(const struct core *c, uint32_t offset) {
    return ASSASIN_CORE_BASE + c->index * ASSASIN_CORE_STRIDE + offset;
}

static struct stream *stream_of(const struct core *c, uint32_t s) {
    return &streams[c->index * MAX_STREAMS + s];
}

/* ---- start ---- */

static void run(struct core *c) {
    c->phase = CORE_RUNNING;
    c->t_start = time_now();
    c->deadline = c->t_start + c->request->watchdog;
    core_deadline_changed = true;
    hal_write(reg(c, CORE_ENTRY), c->request->function->entry);
    hal_write(reg(c, CORE_CTRL), PLACE(CORE_CTRL, RUN, 1));
}

static void copied(uint32_t index) {
    struct core *c = &cores[index];
    if (--c->copies > 0) {
        return;
    }
    if (c->phase == CORE_LOADING) {
        run(c);
    } else {
        end_check(c);
    }
}

static void load(struct core *c, uint32_t src, uint32_t offset, uint32_t bytes) {
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

/** Set up input stream `id` from its table entry. */
static void stream_open(struct core *c, uint32_t id) {
    const struct request *r = c->request;
    uint32_t entry = r->stream_table + (c->piece * r->streams_in + id) * (uint32_t)sizeof(struct scomp_stream);
    uint32_t first = hal_read(entry);
    uint64_t bytes = hal_read(entry + 8) | (uint64_t)hal_read(entry + 12) << 32;
    struct stream *s = stream_of(c, id);
    uint32_t ring_pages = RING_BYTES(c) >> PAGE_LOG2;
    *s = (struct stream){
        .limit = ring_pages,
        .total = (uint32_t)((bytes + PAGE_SIZE - 1) >> PAGE_LOG2),
        .last_bytes = (uint16_t)((((uint32_t)bytes - 1) & (PAGE_SIZE - 1)) + 1),
        .w0 = PLACE(FLASH_W0, OP, FLASH_OP_READ) | PLACE(FLASH_W0, STREAM, 1) | PLACE(FLASH_W0, CORE, c->index) |
              PLACE(FLASH_W0, STREAM_ID, id) | PLACE(FLASH_W0, TAIL, 1) |
              PLACE(FLASH_W0, TAG, NAND_TAG_STREAM + c->index * MAX_STREAMS + id),
        .ihead = reg(c, CORE_IHEAD + id * 4),
        /* With several streams a page waiting for room at the head of a way could hold up the very page its core waits
           for. */
        .mode = r->streams_in > 1 || r->throttled ? STREAM_GATED : STREAM_START,
        .core = (uint8_t)c->index,
        .id = (uint8_t)id,
        .ring_pages = (uint8_t)ring_pages,
        .extent = r->extent_table + first * (uint32_t)sizeof(struct scomp_extent),
        .end = (uint32_t)bytes,
    };
}

/** Task block and arguments, then the function. */
static void load_all(struct core *c) {
    const struct request *r = c->request;
    const struct function *f = r->function;
    struct scomp_task task = {.piece = c->piece,
                              .pieces = r->pieces,
                              .args_bytes = r->args_bytes,
                              .streams_in = r->streams_in,
                              .streams_out = r->streams_out};
    for (uint32_t i = 0; i < r->streams_in; i++) {
        task.bytes[i] = stream_of(c, i)->end;
    }
    uint32_t words[sizeof task / 4];
    memcpy(words, &task, sizeof words);
    uint32_t at = DRAM_TASK + c->index * (uint32_t)sizeof task;
    for (uint32_t i = 0; i < sizeof words / 4; i++) {
        hal_write(at + i * 4, words[i]);
    }
    /* One more than there are copies until all are queued. */
    c->copies = 1;
    bool same = c->generation == f->generation;
    for (uint32_t i = same ? f->code_copies : 0; i < f->copies_count; i++) {
        load(c, f->copies[i].src, f->copies[i].offset, f->copies[i].bytes);
    }
    c->generation = f->generation;
    if (r->args_bytes > 0) {
        load(c, r->data + (uint32_t)sizeof(struct scomp_request), ASSASIN_XB_SPAD_BASE + SCOMP_SPAD_ARGS,
             r->args_bytes);
    }
    load(c, at, ASSASIN_XB_SPAD_BASE, sizeof task);
    c->copies--;
}

/** Share the ways among the cores that are busy. */
static void window_update(void) {
    uint32_t busy = 0;
    for (uint32_t i = 0; i < scomp_cores; i++) {
        busy += cores[i].phase == CORE_LOADING || cores[i].phase == CORE_RUNNING;
    }
    uint32_t share = nand_geo.channels * nand_geo.ways * 3 / 4;
    share = busy > 0 ? share / busy : share;
    stream_window = share < STREAM_WINDOW_MIN   ? STREAM_WINDOW_MIN
                    : share > STREAM_WINDOW_MAX ? STREAM_WINDOW_MAX
                                                : share;
}

bool core_start(struct request *r, uint32_t piece) {
    struct core *c = NULL;
    for (uint32_t i = 0; i < scomp_cores; i++) {
        if (cores[i].phase != CORE_FREE) {
            continue;
        }
        /* A core that holds the code already starts sooner. */
        if (c == NULL || cores[i].generation == r->function->generation) {
            c = &cores[i];
            if (c->generation == r->function->generation) {
                break;
            }
        }
    }
    if (c == NULL || copy_space() < FUNCTION_COPIES + 2) {
        return false;
    }
    uint32_t index = c->index;
    uint32_t generation = c->generation;
    memset(c, 0, sizeof *c);
    c->index = index;
    c->generation = generation;
    c->phase = CORE_LOADING;
    c->request = r;
    c->piece = piece;
    c->s_log2 = r->s_log2;
    r->running++;
    window_update();
    hal_write(reg(c, CORE_CTRL), 0);
    hal_write(reg(c, CORE_PARTITION),
              PLACE(CORE_PARTITION, S_LOG2, c->s_log2) | PLACE(CORE_PARTITION, PAGE_LOG2, PAGE_LOG2));
    hal_write(reg(c, CORE_EVENT), EVENTS);
    hal_write(reg(c, CORE_EVENT_ENABLE), EVENTS | OUT_PAGE);
    /* Streams that the piece does not have end at once. */
    hal_write(reg(c, CORE_IEND_VALID), (1u << (1u << c->s_log2)) - (1u << r->streams_in));
    for (uint32_t i = 0; i < r->streams_in; i++) {
        stream_open(c, i);
    }
    load_all(c);
    for (uint32_t i = 0; i < r->streams_in; i++) {
        stream_pump(stream_of(c, i));
    }
    return true;
}

/* ---- output ---- */

/** Queue one drain of `bytes` of output stream `s`. False when results or the drain queue are full. */
static bool drain(struct core *c, uint32_t s, uint32_t bytes) {
    if (c->drains_pushed - c->drains_done == DRAINS) {
        return false;
    }
    struct scomp_chunk header = {.piece = c->piece, .stream = (uint8_t)s, .bytes = bytes, .position = c->out[s]};
    uint32_t id;
    uint32_t at = result_chunk(c->request, &header, false, &id);
    if (at == 0) {
        c->out_blocked = true;
        hal_write(reg(c, CORE_EVENT_ENABLE), EVENTS);
        return false;
    }
    hal_write(reg(c, CORE_DRAIN_POS), (uint32_t)c->out[s]);
    hal_write(reg(c, CORE_DRAIN_DST), at + (uint32_t)sizeof header);
    hal_write(reg(c, CORE_DRAIN_PUSH), PLACE(CORE_DRAIN_PUSH, LEN, bytes) | PLACE(CORE_DRAIN_PUSH, STREAM_ID, s));
    c->drain_chunk[c->drains_pushed++ % DRAINS] = id;
    c->out[s] += bytes;
    return true;
}

/** Drain the full pages that wait. */
static void drain_pages(struct core *c) {
    uint32_t ready = hal_read(reg(c, CORE_OUT_READY));
    for (uint32_t s = 0; ready != 0; s++, ready >>= 1) {
        if ((ready & 1) == 0) {
            continue;
        }
        uint32_t head = hal_read(reg(c, CORE_OHEAD + s * 4));
        while (head - (uint32_t)c->out[s] >= PAGE_SIZE) {
            if (!drain(c, s, PAGE_SIZE)) {
                return;
            }
        }
    }
}

/** Drain everything that is left. True when nothing is. */
static bool drain_rest(struct core *c) {
    for (uint32_t s = 0; s < c->request->streams_out; s++) {
        uint32_t left = hal_read(reg(c, CORE_OHEAD + s * 4)) - (uint32_t)c->out[s];
        while (left > 0) {
            uint32_t n = left < PAGE_SIZE ? left : PAGE_SIZE;
            if (!drain(c, s, n)) {
                return false;
            }
            left -= n;
        }
    }
    return true;
}

static void drains_collect(struct core *c) {
    uint32_t done = FIELD(CORE_DRAIN_STATE, DONE, hal_read(reg(c, CORE_DRAIN_STATE)));
    while ((c->drains_done & 0xffffu) != done) {
        result_ready(c->request, c->drain_chunk[c->drains_done++ % DRAINS]);
    }
}

void core_unblock(struct request *r) {
    for (uint32_t i = 0; i < scomp_cores; i++) {
        struct core *c = &cores[i];
        if (c->phase == CORE_FREE || c->request != r || !c->out_blocked) {
            continue;
        }
        c->out_blocked = false;
        hal_write(reg(c, CORE_EVENT_ENABLE), EVENTS | OUT_PAGE);
        if (c->phase == CORE_ENDING) {
            end_check(c);
        } else {
            drain_pages(c);
        }
    }
}

void core_throttle(struct request *r, bool on) {
    for (uint32_t i = 0; i < scomp_cores; i++) {
        if (cores[i].phase == CORE_FREE || cores[i].request != r || r->streams_in > 1) {
            continue;
        }
        struct stream *s = stream_of(&cores[i], 0);
        s->mode = on ? STREAM_GATED : STREAM_START;
        stream_poll_wanted = true;
    }
}

/* ---- end ---- */

static void report(struct core *c) {
    struct request *r = c->request;
    struct scomp_report rep = {.core = c->index, .t_start = c->t_start, .t_end = c->t_end};
    for (uint32_t i = 0; i < r->streams_in; i++) {
        const struct stream *s = stream_of(c, i);
        /* Head counts modulo 2^32; it is less than a ring behind what was delivered. */
        uint64_t delivered = (uint64_t)s->delivered << PAGE_LOG2;
        uint32_t head = hal_read(s->ihead);
        rep.bytes_in += delivered - (uint32_t)((uint32_t)delivered - head);
        rep.pages += s->delivered;
    }
    for (uint32_t s = 0; s < MAX_STREAMS; s++) {
        rep.bytes_out += c->out[s];
    }
    rep.cycles = counter_read(reg(c, CORE_CYCLES_LO));
    rep.instret = counter_read(reg(c, CORE_INSTRET_LO));
    rep.wait_in = counter_read(reg(c, CORE_WAIT_IN_CYCLES_LO));
    rep.wait_out = counter_read(reg(c, CORE_WAIT_OUT_CYCLES_LO));
    rep.t_first_page = c->t_first;
    rep.t_last_page = c->t_last;
    struct scomp_chunk header = {.piece = c->piece,
                                 .flags = 1,
                                 .status = (uint16_t)c->status,
                                 .bytes = sizeof rep,
                                 .cause = c->cause,
                                 .pc = c->pc,
                                 .tval = c->tval,
                                 .exit_code = c->exit_code};
    uint32_t id;
    uint32_t at = result_chunk(r, &header, true, &id);
    if (at == 0) {
        /* Cannot happen: room for it was kept when the piece started. */
        panic("no room for the report of piece %u", c->piece);
    }
    uint32_t words[sizeof rep / 4];
    memcpy(words, &rep, sizeof words);
    for (uint32_t i = 0; i < sizeof words / 4; i++) {
        hal_write(at + (uint32_t)sizeof header + i * 4, words[i]);
    }
    result_ready(r, id);
}

/** Everything in flight has landed: hand over the report and free the core. */
static void end_check(struct core *c) {
    struct request *r = c->request;
    if (c->phase != CORE_ENDING || c->copies > 0) {
        return;
    }
    bool flowing = false;
    for (uint32_t i = 0; i < r->streams_in; i++) {
        flowing |= stream_in_flight(stream_of(c, i)) > 0;
    }
    /* An aborted piece's output is not wanted. */
    bool wanted = c->status != SCOMP_STATUS_ABORTED && !r->detached;
    if ((wanted && (c->out_blocked || !drain_rest(c))) || c->drains_pushed != c->drains_done || flowing) {
        return;
    }
    hal_write(reg(c, CORE_CTRL), 0);
    hal_write(reg(c, CORE_EVENT_ENABLE), 0);
    if (c->discarding) {
        nand_discard(c->index, false);
    }
    request_count_piece(r, c->status);
    if (!r->detached) {
        report(c);
    }
    c->phase = CORE_FREE;
    c->request = NULL;
    r->running--;
    request_piece_ended(r);
    scomp_schedule();
}

/** The core has stopped, or is stopped here: no further pages, those in flight are dropped. */
static void end(struct core *c, uint32_t status) {
    if (c->phase == CORE_LOADING || status == SCOMP_STATUS_WATCHDOG || status == SCOMP_STATUS_ABORTED ||
        status == SCOMP_STATUS_MEDIA) {
        hal_write(reg(c, CORE_CTRL), 0);
    }
    c->phase = CORE_ENDING;
    core_deadline_changed = true;
    window_update();
    c->status = status;
    c->t_end = time_now();
    bool flowing = false;
    for (uint32_t i = 0; i < c->request->streams_in; i++) {
        struct stream *s = stream_of(c, i);
        stream_unwait(s);
        s->total = s->pushed;
        flowing |= stream_in_flight(s) > 0;
    }
    if (flowing) {
        c->discarding = true;
        nand_discard(c->index, true);
    }
    end_check(c);
}

static void stopped(struct core *c) {
    uint32_t s = hal_read(reg(c, CORE_STATUS));
    uint32_t status = SCOMP_STATUS_OK;
    switch (FIELD(CORE_STATUS, STATE, s)) {
    case CORE_STATE_EXITED:
        c->exit_code = hal_read(reg(c, CORE_EXIT_CODE));
        status = c->exit_code == 0 ? SCOMP_STATUS_OK : SCOMP_STATUS_EXIT_CODE;
        break;
    case CORE_STATE_TRAPPED:
        c->cause = FIELD(CORE_STATUS, CAUSE, s);
        c->pc = hal_read(reg(c, CORE_PC));
        c->tval = hal_read(reg(c, CORE_TVAL));
        status = SCOMP_STATUS_TRAP;
        break;
    case CORE_STATE_HUNG:
        break;
    default:
        return;
    }
    end(c, status);
}

void core_page(struct stream *s, uint32_t status) {
    struct core *c = &cores[s->core];
    if (c->phase == CORE_ENDING) {
        nand_attention = true;
        end_check(c);
        return;
    }
    if (status != FLASH_STATUS_OK) {
        nand_attention = true;
        nand_counters.read_errors++;
        end(c, SCOMP_STATUS_MEDIA);
        return;
    }
    uint64_t now = time_now();
    if (c->t_first == 0) {
        c->t_first = now;
    }
    if (s->delivered == s->total) {
        c->t_last = now;
    }
}

void core_event(uint32_t pending) {
    for (uint32_t i = 0; pending != 0; i++, pending >>= 1) {
        if ((pending & 1) == 0) {
            continue;
        }
        struct core *c = &cores[i];
        uint32_t event = hal_read(reg(c, CORE_EVENT));
        hal_write(reg(c, CORE_EVENT), event & EVENTS);
        if (c->phase == CORE_FREE) {
            hal_write(reg(c, CORE_EVENT_ENABLE), 0);
            continue;
        }
        if (FIELD(CORE_EVENT, DRAINED, event)) {
            drains_collect(c);
        }
        if (FIELD(CORE_EVENT, STOPPED, event) && c->phase == CORE_RUNNING) {
            stopped(c);
        } else if (c->phase == CORE_ENDING) {
            end_check(c);
        } else if (FIELD(CORE_EVENT, OUT_PAGE, event) && !c->out_blocked) {
            drain_pages(c);
        }
    }
}

void core_abort(struct request *r) {
    for (uint32_t i = 0; i < scomp_cores; i++) {
        struct core *c = &cores[i];
        if (c->request != r) {
            continue;
        }
        if (c->phase == CORE_LOADING || c->phase == CORE_RUNNING) {
            end(c, SCOMP_STATUS_ABORTED);
        } else if (c->phase == CORE_ENDING) {
            end_check(c);
        }
    }
}

void core_timer(void) {
    uint64_t now = time_now();
    for (uint32_t i = 0; i < scomp_cores; i++) {
        struct core *c = &cores[i];
        if (c->phase == CORE_RUNNING && now >= c->deadline) {
            c->pc = hal_read(reg(c, CORE_PC));
            end(c, SCOMP_STATUS_WATCHDOG);
        }
        if (c->phase == CORE_LOADING || c->phase == CORE_RUNNING) {
            for (uint32_t s = 0; s < c->request->streams_in; s++) {
                stream_poll(stream_of(c, s));
            }
        }
    }
}

uint64_t core_deadline(void) {
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < scomp_cores; i++) {
        if (cores[i].phase == CORE_RUNNING && cores[i].deadline < first) {
            first = cores[i].deadline;
        }
    }
    return first;
}

bool core_all_free(void) {
    for (uint32_t i = 0; i < scomp_cores; i++) {
        if (cores[i].phase != CORE_FREE) {
            return false;
        }
    }
    return true;
}
