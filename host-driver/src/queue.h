/* SPDX-License-Identifier: BSD-3-Clause */
/** \file One submission and completion queue pair in DMA memory. It knows no registers: its owner rings the doorbells.
 */
#ifndef ASSASIN_SRC_QUEUE_H
#define ASSASIN_SRC_QUEUE_H

#include "dma.h"
#include "nvme_spec.h"

#include <assasin/assasin.h>

/** A command in flight. */
struct queue_slot {
    assasin_done_fn done;
    void *arg;
    uint32_t next_free;
    bool busy;
};

struct queue {
    struct dma *dma;
    struct assasin_command *sq; /**< ring of `entries` */
    struct nvme_cqe *cq;        /**< ring of `entries` */
    uint64_t *lists;            /**< a page of PRP list for every slot */
    struct queue_slot *slots;   /**< entries - 1: the ring is full then; the index is the command identifier */
    uint32_t entries;
    uint32_t free_slot;
    uint32_t in_flight;
    uint32_t sq_tail, cq_head;
    uint32_t sq_rung, cq_rung; /**< pointer values last written to the doorbells */
    uint32_t phase;
    uint64_t strays; /**< completions for commands that were not in flight */
};

/** \param entries 2..65536. \return 0 or -ENOMEM. */
int queue_init(struct queue *q, struct dma *dma, uint32_t entries);
void queue_destroy(struct queue *q);

/** Puts a command on the ring; see assasin_submit(). \return 0, -EAGAIN, -EFAULT, -EMSGSIZE or -EINVAL. */
int queue_submit(struct queue *q, const struct assasin_command *command, void *data, size_t bytes, assasin_done_fn done,
                 void *arg);

/** Handles the completions that are there. \return how many. */
int queue_reap(struct queue *q);

#endif
