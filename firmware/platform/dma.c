/* SPDX-License-Identifier: BSD-3-Clause */
#include "platform/dma.h"

#include <stddef.h>
#include <string.h>

#include "platform/console.h"
#include "platform/copy.h"
#include "platform/work.h"
#include "platform/xor.h"

#define DEPTH 16u

struct dma_counters dma_counters;
void (*dma_queue_failed)(void);
uint32_t dma_wanted;

/** One direction: jobs waiting, and what the hardware's queue holds, in order. */
struct direction {
    struct list waiting;
    struct {
        struct dma_job *job;
        bool last;
    } ring[DEPTH];
    uint32_t pushed, done; /**< transfers, modulo 2^32 as the hardware counts */
    bool to_host;
};
static struct direction dirs[2];

/*
 * XDMA registers (PG195): control and status (read clears) of the channels that take descriptors from the bypass ports,
 * which are those with number 1; interrupt vectors and enable. An error is logged and stops a channel only where the
 * control register says so.
 */
#define XDMA_H2C_CONTROL   0x0104u
#define XDMA_C2H_CONTROL   0x1104u
#define XDMA_RUN           1u
#define XDMA_LOG_ERRORS    (0x1fu << 9 | 0x1fu << 14)
#define XDMA_H2C_STATUS_RC 0x0144u
#define XDMA_C2H_STATUS_RC 0x1144u
/** Channel status: errors of alignment, descriptors, reads and writes. */
#define XDMA_STATUS_ERRORS 0x00fffe38u
#define XDMA_USER_ENABLE   0x2004u
#define XDMA_USER_VECTOR   0x2080u

void dma_start(void) {
    hal_write(ASSASIN_XDMA_BASE + XDMA_H2C_CONTROL, XDMA_RUN | XDMA_LOG_ERRORS);
    hal_write(ASSASIN_XDMA_BASE + XDMA_C2H_CONTROL, XDMA_RUN | XDMA_LOG_ERRORS);
    /* User interrupt n goes out as vector n; four vectors a register. */
    for (uint32_t i = 0; i < 4; i++) {
        hal_write(ASSASIN_XDMA_BASE + XDMA_USER_VECTOR + i * 4, 0x03020100u + i * 0x04040404u);
    }
    hal_write(ASSASIN_XDMA_BASE + XDMA_USER_ENABLE, 0xffffu);
}

void dma_init(void) {
    memset(dirs, 0, sizeof dirs);
    dirs[1].to_host = true;
    dma_wanted = 0;
    dirs[0].pushed = dirs[0].done = hdma_read(HDMA_H2C_DONE);
    dirs[1].pushed = dirs[1].done = hdma_read(HDMA_C2H_DONE);
    copy_init();
    xor_init();
    dma_start();
}

/** Host address of byte `off` and how many bytes are contiguous there, at most `want`. */
static inline __attribute__((always_inline)) uint64_t page_at(const struct dma_pages *p, uint32_t off, uint32_t want,
                                                              uint32_t *bytes) {
    if (off < p->first_bytes) {
        uint32_t n = p->first_bytes - off;
        *bytes = n < want ? n : want;
        return p->first + off;
    }
    off -= p->first_bytes;
    uint32_t i = off / DMA_PAGE;
    uint64_t base = p->list != NULL ? p->list[i] : p->second;
    uint32_t n = DMA_PAGE - off % DMA_PAGE;
    if (p->list != NULL) {
        /* One descriptor for host pages that follow each other. */
        while (n < want && p->list[i + 1] == p->list[i] + DMA_PAGE) {
            n += DMA_PAGE;
            i++;
        }
    }
    *bytes = n < want ? n : want;
    return base + off % DMA_PAGE;
}

static struct dma_job *first(const struct direction *d) {
    return CONTAINER_OR_NULL(d->waiting.first, struct dma_job, node);
}

static inline bool has_room(const struct direction *d) {
    return d->pushed - d->done < DEPTH;
}

/** Push the next transfer of `job`, for which there is room. True when that was the last one. */
static inline bool push_next(struct direction *d, struct dma_job *job) {
    uint32_t bytes = job->left;
    uint64_t host = job->pages != NULL ? page_at(job->pages, job->off, job->left, &bytes) : job->host;
    bool last = bytes == job->left;
    hdma_write(HDMA_HOST_LO, (uint32_t)host);
    d->ring[d->pushed % DEPTH].job = job;
    hdma_write(HDMA_HOST_HI, (uint32_t)(host >> 32));
    d->ring[d->pushed % DEPTH].last = last;
    hdma_write(HDMA_DEV, job->dev);
    d->pushed++;
    hdma_write(d->to_host ? HDMA_C2H_PUSH : HDMA_H2C_PUSH, bytes);
    job->off += bytes;
    if (!last) {
        job->dev += bytes;
        job->left -= bytes;
    }
    return last;
}

uint32_t dma_room(void) {
    return list_empty(&dirs[0].waiting) ? DEPTH - (dirs[0].pushed - dirs[0].done) : 0;
}

void dma_fetch_page(struct dma_job *job, const dma_address *host, uint32_t dev) {
    struct direction *d = &dirs[0];
    const uint32_t *words = (const uint32_t *)host;
    hdma_write(HDMA_HOST_LO, words[0]);
    job->error = false;
    uint32_t at = d->pushed++;
    hdma_write(HDMA_HOST_HI, words[1]);
    d->ring[at % DEPTH].job = job;
    d->ring[at % DEPTH].last = true;
    hdma_write(HDMA_DEV, dev);
    hdma_write(HDMA_H2C_PUSH, DMA_PAGE);
}

static void push(struct direction *d) {
    while (!list_empty(&d->waiting) && has_room(d)) {
        if (push_next(d, first(d))) {
            list_take(&d->waiting);
        }
    }
}

void dma_submit(struct dma_job *job) {
    struct direction *d = &dirs[job->to_host];
    job->error = false;
    if (job->pages == NULL) {
        /* A list of pages: not the host's data. */
    } else if (job->to_host) {
        dma_counters.to_host += job->left;
    } else {
        dma_counters.from_host += job->left;
    }
    list_put(&d->waiting, &job->node);
    if (has_room(d)) {
        push(d);
    }
}

static void collect(struct direction *d, uint32_t done) {
    while (d->done != done) {
        struct dma_job *job = d->ring[d->done % DEPTH].job;
        bool last = d->ring[d->done % DEPTH].last;
        d->done++;
        if (last) {
            job->done(job);
        }
    }
    if (!list_empty(&d->waiting)) {
        push(d);
    }
    /* Not for each transfer: what is still under way lasts longer than it takes to push others behind it. */
    if (d->pushed - d->done <= DEPTH / 2) {
        work_pending |= dma_wanted;
        dma_wanted = 0;
    }
}

static void mark_errors(struct direction *d) {
    for (uint32_t i = d->done; i != d->pushed; i++) {
        d->ring[i % DEPTH].job->error = true;
    }
}

static void cancel(struct direction *d) {
    struct list all = list_take_all(&d->waiting);
    if (!list_empty(&all) && d->pushed != d->done) {
        struct dma_job *job = CONTAINER(all.first, struct dma_job, node);
        if (d->ring[(d->pushed - 1) % DEPTH].job == job) {
            /* Partly pushed: it ends with its last piece in hardware. */
            d->ring[(d->pushed - 1) % DEPTH].last = true;
            job->error = true;
            list_take(&all);
        }
    }
    while (!list_empty(&all)) {
        struct dma_job *job = CONTAINER(list_take(&all), struct dma_job, node);
        job->error = true;
        job->done(job);
    }
}

void dma_cancel(void) {
    cancel(&dirs[0]);
    cancel(&dirs[1]);
}

/** A channel has stopped for an error. */
static void failed(void) {
    hdma_write(HDMA_EVENT, HDMA_EVENT_ERROR_MASK << HDMA_EVENT_ERROR_SHIFT);
    uint32_t h2c = hal_read(ASSASIN_XDMA_BASE + XDMA_H2C_STATUS_RC);
    uint32_t c2h = hal_read(ASSASIN_XDMA_BASE + XDMA_C2H_STATUS_RC);
    console_printf("hdma: XDMA error, status h2c %08x c2h %08x\n", h2c, c2h);
    /* With no transfer of the firmware under way it was the front end's: a queue entry did not get through. */
    bool fetch = (h2c & XDMA_STATUS_ERRORS) != 0 && dirs[0].pushed == dirs[0].done;
    bool post = (c2h & XDMA_STATUS_ERRORS) != 0 && dirs[1].pushed == dirs[1].done;
    mark_errors(&dirs[0]);
    mark_errors(&dirs[1]);
    dma_start();
    if ((fetch || post) && dma_queue_failed != NULL) {
        dma_queue_failed();
    }
}

void dma_poll(void) {
    uint32_t event = hdma_read(HDMA_EVENT);
    /* Clear first: what finishes after this raises it again. */
    hdma_write(HDMA_EVENT, event);
    uint32_t h2c_done = FIELD(HDMA_EVENT, H2C, event) ? hdma_read(HDMA_H2C_DONE) : dirs[0].done;
    uint32_t c2h_done = FIELD(HDMA_EVENT, C2H, event) ? hdma_read(HDMA_C2H_DONE) : dirs[1].done;
    /* A channel stops before it counts the transfer that failed, so an error of what is counted above shows by now. */
    if (FIELD(HDMA_EVENT, ERROR, event | hdma_read(HDMA_EVENT))) {
        failed();
    }
    if (dirs[0].done != h2c_done) {
        collect(&dirs[0], h2c_done);
    }
    if (dirs[1].done != c2h_done) {
        collect(&dirs[1], c2h_done);
    }
    if (FIELD(HDMA_EVENT, COPY, event)) {
        copy_collect(hdma_read(HDMA_COPY_DONE));
    }
    if (FIELD(HDMA_EVENT, PARITY, event)) {
        xor_poll();
    }
}
