/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue pair against a model of the controller that completes in random order: phase, wrap-around, identifiers, full
 * ring. */
#include "queue.h"

#include "check.h"

#include <errno.h>
#include <string.h>

#define ENTRIES 7u

static _Alignas(DMA_PAGE) uint8_t memory[64 * DMA_PAGE];

struct command_state {
    unsigned completed;
    uint32_t dw0;
};

static void done(void *arg, const struct assasin_completion *completion) {
    struct command_state *state = arg;
    state->completed++;
    state->dw0 = completion->dw0;
    CHECK(completion->status == 0x281 && completion->no_retry && !completion->more);
}

static void random_order(void) {
    struct dma dma;
    struct queue q;
    static struct command_state states[5000];
    uint32_t waiting[ENTRIES], count = 0, head = 0, tail = 0, phase = 1, seed = 7, submitted = 0, finished = 0;
    CHECK(dma_init(&dma, memory, sizeof(memory), 0x100000000ull) == 0);
    CHECK(queue_init(&q, &dma, ENTRIES) == 0);
    while (finished < 5000) {
        seed = seed * 1664525u + 1013904223u;
        if (seed >> 31 && submitted < 5000) {
            struct assasin_command command = {.dw = {2, 1, [10] = submitted}};
            int rc = queue_submit(&q, &command, NULL, 0, done, &states[submitted]);
            CHECK(rc == (count == ENTRIES - 1 ? -EAGAIN : 0));
            if (rc == 0) {
                submitted++;
                waiting[count++] = head;
                /* The model fetches at once and remembers identifier and number. */
                uint32_t id = q.sq[head].dw[0] >> 16, number = q.sq[head].dw[10];
                waiting[count - 1] = id << 16 | number;
                head = (head + 1) % ENTRIES;
                CHECK(head == q.sq_tail);
            }
            continue;
        }
        if (!count)
            continue;
        uint32_t pick = (seed >> 8) % count, entry = waiting[pick];
        waiting[pick] = waiting[--count];
        struct nvme_cqe cqe = {.dw0 = entry & 0xFFFF,
                               .id_status = entry >> 16 | phase << 16 | (0x281u | 1u << 14) << 17};
        q.cq[tail] = cqe;
        tail = (tail + 1) % ENTRIES;
        phase ^= tail == 0;
        CHECK(queue_reap(&q) == 1);
        CHECK(states[entry & 0xFFFF].completed == 1 && states[entry & 0xFFFF].dw0 == (entry & 0xFFFF));
        finished++;
    }
    CHECK(q.in_flight == 0 && q.strays == 0 && q.cq_head == tail);
    queue_destroy(&q);
    dma_destroy(&dma);
}

static void foreign_memory_is_refused(void) {
    struct dma dma;
    struct queue q;
    struct assasin_command command = {.dw = {1}};
    uint8_t elsewhere[64];
    CHECK(dma_init(&dma, memory, sizeof(memory), 0x100000000ull) == 0);
    CHECK(queue_init(&q, &dma, ENTRIES) == 0);
    CHECK(queue_submit(&q, &command, elsewhere, sizeof(elsewhere), NULL, NULL) == -EFAULT);
    CHECK(q.in_flight == 0 && q.sq_tail == 0);
    queue_destroy(&q);
    dma_destroy(&dma);
}

int main(void) {
    RUN(random_order);
    RUN(foreign_memory_is_refused);
    return 0;
}
