/* SPDX-License-Identifier: BSD-3-Clause */
#include "queue.h"

#include "prp.h"

#include <errno.h>
#include <stdlib.h>

#define NO_SLOT    UINT32_MAX
#define LIST_WORDS (DMA_PAGE / sizeof(uint64_t))

int queue_init(struct queue *q, struct dma *dma, uint32_t entries) {
    *q = (struct queue){.dma = dma, .entries = entries, .phase = 1, .free_slot = 0};
    uint32_t slots = entries - 1;
    q->sq = dma_alloc(dma, entries * sizeof(*q->sq));
    q->cq = dma_alloc(dma, entries * sizeof(*q->cq));
    q->lists = dma_alloc(dma, (size_t)slots * DMA_PAGE);
    q->slots = calloc(slots, sizeof(*q->slots));
    if (!q->sq || !q->cq || !q->lists || !q->slots) {
        queue_destroy(q);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < slots; i++)
        q->slots[i].next_free = i + 1 < slots ? i + 1 : NO_SLOT;
    return 0;
}

void queue_destroy(struct queue *q) {
    dma_free(q->dma, q->sq);
    dma_free(q->dma, q->cq);
    dma_free(q->dma, q->lists);
    free(q->slots);
    *q = (struct queue){0};
}

int queue_submit(struct queue *q, const struct assasin_command *command, void *data, size_t bytes, assasin_done_fn done,
                 void *arg) {
    uint32_t id = q->free_slot;
    if (id == NO_SLOT)
        return -EAGAIN;
    struct assasin_command *entry = &q->sq[q->sq_tail];
    *entry = *command;
    if (data) {
        uint64_t bus = dma_address(q->dma, data, bytes), prp[2];
        if (bus == UINT64_MAX)
            return -EFAULT;
        uint64_t *list = q->lists + id * LIST_WORDS;
        int rc = prp_build(bus, bytes, list, dma_address(q->dma, list, DMA_PAGE), prp);
        if (rc)
            return rc;
        entry->dw[6] = (uint32_t)prp[0];
        entry->dw[7] = (uint32_t)(prp[0] >> 32);
        entry->dw[8] = (uint32_t)prp[1];
        entry->dw[9] = (uint32_t)(prp[1] >> 32);
    }
    entry->dw[0] = (command->dw[0] & 0xFFFFu) | id << 16;
    struct queue_slot *slot = &q->slots[id];
    q->free_slot = slot->next_free;
    *slot = (struct queue_slot){.done = done, .arg = arg, .busy = true};
    q->sq_tail = (q->sq_tail + 1) % q->entries;
    q->in_flight++;
    return 0;
}

int queue_reap(struct queue *q) {
    int reaped = 0;
    for (;;) {
        struct nvme_cqe *entry = &q->cq[q->cq_head];
        /* The drive writes the phase last: nothing of the entry may be read before it. */
        uint32_t id_status = __atomic_load_n(&entry->id_status, __ATOMIC_ACQUIRE);
        if ((id_status >> 16 & 1) != q->phase)
            return reaped;
        uint32_t id = id_status & 0xFFFFu, field = id_status >> 17;
        struct assasin_completion completion = {
            .dw0 = entry->dw0,
            .dw1 = entry->dw1,
            .status = (uint16_t)(field & 0x7FFu),
            .more = field >> 13 & 1,
            .no_retry = field >> 14 & 1,
        };
        q->cq_head = (q->cq_head + 1) % q->entries;
        if (q->cq_head == 0)
            q->phase ^= 1;
        if (id >= q->entries - 1 || !q->slots[id].busy) {
            q->strays++;
            continue;
        }
        struct queue_slot slot = q->slots[id];
        q->slots[id] = (struct queue_slot){.next_free = q->free_slot};
        q->free_slot = id;
        q->in_flight--;
        reaped++;
        if (slot.done)
            slot.done(slot.arg, &completion);
    }
}
