// SPDX-License-Identifier: BSD-3-Clause
/*
 * Reads that fail are repeated before anybody hears of it: the array is read again, and what the code could not correct
 * is read at the part's other levels. One operation of a way at a time: a level is the whole way's, and reads of others
 * that meet it and fail line up here, too. Every attempt is a descriptor like any other, so a way is never held up for
 * more than one read.
 */
#include "media/nand.h"

/** Repetitions at the normal level: errors come and go. */
#define REREADS 2u

/** Step `op`, which has its way's retries to itself, on: true when a descriptor of it is under way. */
static bool step(struct nand_op *op) {
    struct nand_way *way = &nand_ways[op->way];
    uint32_t n = op->attempt++;
    if (n < REREADS) {
        op->retry = NAND_RETRY_READ;
        nand_submit(op);
        return true;
    }
    /* Another level moves the threshold between the bits, no address. */
    bool bits = op->status == FLASH_STATUS_UNCORRECTABLE || op->status == FLASH_STATUS_MISMATCH;
    n -= REREADS;
    if (!bits || n >= nand_geo.retry_levels) {
        return false;
    }
    /* The level that helped last on this way first, then the others in their order. */
    uint32_t level = n + 1;
    if (way->level != 0) {
        level = n == 0 ? way->level : n < way->level ? n : n + 1;
    }
    op->level = (uint8_t)level;
    op->retry = NAND_RETRY_LEVEL;
    nand_submit(op);
    return true;
}

/** It is the turn of `op`. */
static void begin(struct nand_way *way, struct nand_op *op) {
    way->retrying = true;
    step(op);
}

/** End the retries of `op` with the status that its reads had. */
static void end(struct nand_op *op) {
    struct nand_way *way = &nand_ways[op->way];
    uint32_t status = op->status;
    op->retry = NAND_RETRY_NONE;
    way->retrying = false;
    if (status == FLASH_STATUS_OK) {
        nand_counters.rescued++;
        if (nand_faded != NULL) {
            nand_faded(nand_op_ppa(op));
        }
        if (op->level != 0) {
            way->level = op->level;
        }
    }
    nand_ended(op, status);
    /* The next one has waited: what it stumbled over may have gone. */
    if (!way->retrying && !list_empty(&way->retries)) {
        begin(way, CONTAINER(list_take(&way->retries), struct nand_op, node));
    }
}

/** The normal level again, or the end. */
static void restore(struct nand_op *op) {
    if (op->level == 0) {
        end(op);
        return;
    }
    op->retry = NAND_RETRY_RESTORE;
    nand_submit(op);
}

bool nand_retry_wanted(const struct nand_op *op, uint32_t status) {
    switch (status) {
    case FLASH_STATUS_UNCORRECTABLE:
    case FLASH_STATUS_MISMATCH:
    case FLASH_STATUS_MISDIRECTED:
        return !op->plain;
    case FLASH_STATUS_ERASED:
    case FLASH_STATUS_FOREIGN:
        /* Right answers, unless it is known what the sector has to hold. */
        return !op->plain && op->check;
    default:
        return false;
    }
}

void nand_retry_start(struct nand_op *op, uint32_t status) {
    struct nand_way *way = &nand_ways[op->way];
    op->status = (uint8_t)status;
    op->attempt = 0;
    op->level = 0;
    op->retry = NAND_RETRY_WAIT;
    if (!way->retrying) {
        begin(way, op);
    } else {
        list_put(&way->retries, &op->node);
    }
}

void nand_retry_done(struct nand_op *op, uint32_t status) {
    switch (op->retry) {
    case NAND_RETRY_LEVEL:
        if (status != FLASH_STATUS_OK) {
            restore(op);
            return;
        }
        op->retry = NAND_RETRY_READ;
        nand_submit(op);
        return;
    case NAND_RETRY_READ:
        nand_counters.retries++;
        if (status == FLASH_STATUS_OK) {
            op->status = FLASH_STATUS_OK;
            restore(op);
        } else if (!nand_retry_wanted(op, status) || !step(op)) {
            /* What the first read found is what the sector's owner hears. */
            restore(op);
        }
        return;
    default:
        end(op);
        return;
    }
}
