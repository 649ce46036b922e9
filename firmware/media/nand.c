/* SPDX-License-Identifier: BSD-3-Clause */
#include "media/nand.h"

/** Status byte: the last program or erase has failed. */
#define STATUS_FAIL 1u

struct nand_geometry nand_geo;
struct nand_op nand_ops[NAND_OPS];
struct nand_way nand_ways[NAND_MAX_CHANNELS * NAND_MAX_WAYS];
struct nand_counters nand_counters;
uint32_t nand_streamed;
const struct nand_part *nand_part;
uint32_t nand_outstanding;
bool nand_attention;

void (*nand_stream_go)(struct node *waiter);
void (*nand_faded)(uint32_t ppa);
bool (*nand_rebuild)(struct nand_op *op, uint32_t status);
bool (*nand_rebuild_first)(struct nand_op *op, uint32_t status);

static struct list free_ops;

void nand_queues_init(void) {
    free_ops = (struct list){0};
    nand_faded = NULL;
    nand_rebuild = NULL;
    nand_rebuild_first = NULL;
    for (uint32_t i = NAND_OPS; i-- > 0;) {
        nand_op_put(&nand_ops[i]);
    }
    for (uint32_t i = 0; i < NAND_MAX_CHANNELS * NAND_MAX_WAYS; i++) {
        nand_ways[i] = (struct nand_way){.credit = nand_has_way(i << 24) ? NAND_WAY_DEPTH : 0};
    }
}

struct nand_op *nand_op_get(void) {
    struct node *n = list_take(&free_ops);
    return CONTAINER_OR_NULL(n, struct nand_op, node);
}

void nand_op_put(struct nand_op *op) {
    list_push(&free_ops, &op->node);
}

/** The descriptor of a repetition: W0 but for the way and the tag; `*row`, `*w2`. */
static __attribute__((noinline)) uint32_t repetition(const struct nand_op *op, uint32_t *row, uint32_t *w2) {
    if (op->retry == NAND_RETRY_READ) {
        return PLACE(FLASH_W0, OP, FLASH_OP_READ) | PLACE(FLASH_W0, CHECK, op->check) | PLACE(FLASH_W0, FRESH, 1);
    }
    *row = nand_part->retry_feature;
    *w2 = op->retry == NAND_RETRY_LEVEL ? op->level : 0;
    return PLACE(FLASH_W0, OP, FLASH_OP_SET_FEATURE);
}

/**
 * Where a package has several LUNs, 78h with a row tells of the row's plane only: behind a program of several planes
 * the others are asked by descriptors with the same tag, before anything else of the way can change the answer.
 */
static __attribute__((noinline)) void push_status(struct nand_way *way, struct nand_op *op) {
    uint32_t base = ASSASIN_FLASH_BASE + (op->way >> 4) * ASSASIN_FLASH_STRIDE;
    way->credit--;
    hal_write(base + FLASH_W0, PLACE(FLASH_W0, OP, FLASH_OP_READ_STATUS) | PLACE(FLASH_W0, WAY, op->way) |
                                   PLACE(FLASH_W0, TAG, (uint32_t)(op - nand_ops)));
    hal_write(base + FLASH_W1, op->row - ((uint32_t)op->asking << nand_geo.plane_shift));
    hal_write(base + FLASH_W3, 0);
    way->open = --op->asking != 0;
}

/** Push the descriptor of `op`, or the next one of several: until op->asking is 0 it stays at the head of its way. */
static void push(struct nand_way *way, struct nand_op *op) {
    if (op->asking != 0) {
        push_status(way, op);
        return;
    }
    way->credit--;
    uint32_t base = ASSASIN_FLASH_BASE + (op->way >> 4) * ASSASIN_FLASH_STRIDE;
    uint32_t w0 =
        PLACE(FLASH_W0, OP, op->op) | PLACE(FLASH_W0, WAY, op->way) | PLACE(FLASH_W0, TAG, (uint32_t)(op - nand_ops));
    uint32_t row = op->row;
    uint32_t w2 = op->w2;
    uint32_t w3 = PLACE(FLASH_W3, BYTES, op->bytes);
    hal_write(base + FLASH_OOB0, op->data0);
    if (op->op == FLASH_OP_READ) {
        w0 |= PLACE(FLASH_W0, CHECK, op->check) | PLACE(FLASH_W0, FRESH, op->plain);
        if (op->retry != NAND_RETRY_NONE) {
            w0 = repetition(op, &row, &w2) | PLACE(FLASH_W0, WAY, op->way) |
                 PLACE(FLASH_W0, TAG, (uint32_t)(op - nand_ops));
        }
    } else if (op->op == FLASH_OP_PROGRAM) {
        op->asking = op->before;
        op->attempt = 0;
        op->status = FLASH_STATUS_OK;
        way->open = op->confirm == FLASH_CONFIRM_MORE || op->confirm == FLASH_CONFIRM_PLANE || op->before != 0;
        w3 |= PLACE(FLASH_W3, CONFIRM, op->confirm);
        hal_write(base + FLASH_OOB1, op->data1);
    }
    hal_write(base + FLASH_W0, w0);
    hal_write(base + FLASH_W1, row);
    hal_write(base + FLASH_W2, w2);
    hal_write(base + FLASH_W3, w3);
}

void nand_submit(struct nand_op *op) {
    struct nand_way *way = &nand_ways[op->way];
    nand_outstanding++;
    op->asking = 0;
    if (way->credit > 0 && list_empty(&way->ops)) {
        do {
            push(way, op);
            if (op->asking == 0) {
                return;
            }
        } while (way->credit > 0);
    }
    if (__builtin_expect(!nand_has_way(nand_op_ppa(op)), 0)) {
        /* A damaged entry of the map names it, which only reads come from. */
        nand_outstanding--;
        op->way = (uint8_t)ppa_way(NAND_NO_BLOCK);
        op->row = ppa_row(NAND_NO_BLOCK);
        nand_submit(op);
        return;
    }
    list_put(&way->ops, &op->node);
    way->waiting = 1;
}

void nand_way_refill(struct nand_way *way) {
    while (way->credit > 0) {
        bool host = !list_empty(&way->ops);
        bool streams = !list_empty(&way->streams);
        if (!host && !streams) {
            way->waiting = 0;
            return;
        }
        /* Both wait: take turns, so that neither host I/O nor streams starve. */
        if (host && (!streams || way->open != 0 || (way->turn ^= 1) != 0)) {
            struct nand_op *op = CONTAINER(way->ops.first, struct nand_op, node);
            push(way, op);
            if (op->asking == 0) {
                list_take(&way->ops);
            }
        } else {
            nand_stream_go(list_take(&way->streams));
        }
    }
}

void nand_ended(struct nand_op *op, uint32_t status) {
    bool failed = status != FLASH_STATUS_OK && op->op == FLASH_OP_READ && !op->plain;
    if (!failed || nand_rebuild == NULL || !nand_rebuild(op, status)) {
        nand_deliver(op, status);
    }
}

void nand_deliver(struct nand_op *op, uint32_t status) {
    switch (op->op) {
    case FLASH_OP_READ:
        nand_counters.reads++;
        /* An erased sector is an answer, unless a block was asked for. */
        nand_counters.read_errors += status != FLASH_STATUS_OK && (op->check || status != FLASH_STATUS_ERASED);
        break;
    case FLASH_OP_PROGRAM:
        nand_counters.programs++;
        nand_counters.program_errors += status != FLASH_STATUS_OK;
        break;
    case FLASH_OP_ERASE:
        nand_counters.erases++;
        nand_counters.erase_errors += status != FLASH_STATUS_OK;
        break;
    default:
        break;
    }
    op->done(op, status);
}

/** The end of a descriptor that failed, or that is a repetition. */
static __attribute__((noinline)) void ended_otherwise(struct nand_op *op, uint32_t status, uint32_t data0) {
    if (op->op == FLASH_OP_PROGRAM && op->before != 0) {
        if (status == FLASH_STATUS_OK && (data0 & STATUS_FAIL) != 0) {
            status = FLASH_STATUS_FAIL;
        }
        if (op->status == FLASH_STATUS_OK) {
            op->status = (uint8_t)status;
        }
        if (op->attempt++ < op->before) {
            nand_outstanding++;
            return;
        }
        status = op->status;
    }
    if (op->retry > NAND_RETRY_READ) {
        nand_retry_done(op, status);
        return;
    }
    bool again = status != FLASH_STATUS_OK && op->op == FLASH_OP_READ && nand_retry_wanted(op, status);
    /* What the sector has to hold is needed once more. */
    op->data0 = again ? op->data0 : data0;
    if (op->retry != NAND_RETRY_NONE) {
        nand_retry_done(op, status);
    } else if (again) {
        if (nand_rebuild_first == NULL || !nand_rebuild_first(op, status)) {
            nand_retry_start(op, status);
        }
    } else {
        nand_ended(op, status);
    }
}

void nand_complete(uint32_t tag, uint32_t cpl, uint32_t data0, uint32_t data1, uint32_t code) {
    struct nand_op *op = &nand_ops[tag];
    uint32_t status = FIELD(FLASH_CPL, STATUS, cpl);
    nand_outstanding--;
    nand_attention = true;
    if (op->retry <= NAND_RETRY_READ) {
        op->data1 = data1;
        op->errors = (uint8_t)FIELD(FLASH_CPL, ERRORS, cpl);
        op->code = code;
    }
    if (status == FLASH_STATUS_OK && op->retry == NAND_RETRY_NONE && op->op == FLASH_OP_READ) {
        op->data0 = data0;
        nand_counters.reads++;
        if (op->errors != 0 && op->errors > nand_geo.code_t * 3 / 4 && nand_faded != NULL) {
            nand_faded(nand_op_ppa(op));
        }
        op->done(op, FLASH_STATUS_OK);
    } else {
        ended_otherwise(op, status, data0);
    }
}

void nand_discard(uint32_t core, bool on) {
    for (uint32_t ch = 0; ch < nand_geo.channels; ch++) {
        uint32_t v = flash_read(ch, FLASH_DISCARD);
        flash_write(ch, FLASH_DISCARD, on ? v | 1u << core : v & ~(1u << core));
    }
}
