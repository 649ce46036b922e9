/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks in and out, many commands in flight; blocks that are compared, trimmed, zeroed; identify and log pages. */
#include "drive.h"

#include "marks.h"

#include <assasin_contract.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* Bytes of one read or write command: small enough that a few megabytes fill the queue, large enough that firmware time
 * does not rule. */
#define COMMAND_BYTES 32768u
/* Commands of one transfer in flight. */
#define TRANSFER_DEPTH 64u

struct transfer;

struct transfer_slot {
    struct transfer *transfer;
    void *buffer;
    uint64_t offset;
    uint32_t bytes;
    bool busy;
};

/* What a transfer does with its blocks. */
struct verb {
    uint32_t opcode;
    const char *doing, *name;
};

static const struct verb verb_read = {NVME_READ, "reading", "read"};
static const struct verb verb_write = {NVME_WRITE, "writing", "write"};
static const struct verb verb_compare = {NVME_COMPARE, "comparing", "compare"};

struct transfer {
    struct assasin_drive *drive;
    const struct verb *verb;
    uint64_t lba;
    const struct iovec *parts;
    uint64_t total;
    uint64_t next;
    uint64_t done;
    unsigned in_flight;
    int failed;
    struct transfer_slot slots[TRANSFER_DEPTH];
};

/* Copies bytes between a buffer and the caller's memory, from byte `offset` of all its parts on. */
static void copy(const struct transfer *t, uint64_t offset, uint8_t *buffer, size_t bytes) {
    const struct iovec *part = t->parts;
    for (; offset >= part->iov_len; part++)
        offset -= part->iov_len;
    for (; bytes; part++, offset = 0) {
        size_t here = part->iov_len - (size_t)offset < bytes ? part->iov_len - (size_t)offset : bytes;
        uint8_t *memory = (uint8_t *)part->iov_base + offset;
        if (!here)
            continue;
        if (t->verb == &verb_read)
            memcpy(memory, buffer, here);
        else
            memcpy(buffer, memory, here);
        buffer += here;
        bytes -= here;
    }
}

static void slot_done(void *arg, const struct assasin_completion *completion) {
    struct transfer_slot *slot = arg;
    struct transfer *t = slot->transfer;
    char what[80];
    uint64_t first = t->lba + slot->offset / t->drive->info.block_bytes;
    snprintf(what, sizeof(what), "%s blocks %llu..%llu", t->verb->doing, (unsigned long long)first,
             (unsigned long long)(first + slot->bytes / t->drive->info.block_bytes - 1));
    if (!t->failed)
        t->failed = drive_check(t->drive, what, completion);
    if (!completion->status && t->verb == &verb_read)
        copy(t, slot->offset, slot->buffer, slot->bytes);
    t->done += slot->bytes;
    t->in_flight--;
    slot->busy = false;
}

static int start(struct transfer *t, struct transfer_slot *slot) {
    uint32_t block = t->drive->info.block_bytes;
    uint32_t most = t->drive->info.transfer_bytes < COMMAND_BYTES ? t->drive->info.transfer_bytes : COMMAND_BYTES;
    uint64_t left = t->total - t->next, lba = t->lba + t->next / block;
    uint32_t bytes = left < most ? (uint32_t)left : most;
    if (!slot->buffer && !(slot->buffer = drive_alloc(t->drive, most)))
        return t->in_flight ? -EAGAIN : drive_fail(t->drive, ENOMEM, "no DMA memory for %u bytes is left", most);
    if (t->verb != &verb_read)
        copy(t, t->next, slot->buffer, bytes);
    *slot =
        (struct transfer_slot){.transfer = t, .buffer = slot->buffer, .offset = t->next, .bytes = bytes, .busy = true};
    struct assasin_command command = {.dw = {t->verb->opcode, t->drive->link->namespace_id, [10] = (uint32_t)lba,
                                             [11] = (uint32_t)(lba >> 32), [12] = bytes / block - 1}};
    int rc = assasin_submit(t->drive, ASSASIN_IO, &command, slot->buffer, bytes, slot_done, slot);
    if (rc) {
        slot->busy = false;
        return rc;
    }
    t->next += bytes;
    t->in_flight++;
    return 0;
}

static int fill(struct transfer *t) {
    for (unsigned i = 0; i < TRANSFER_DEPTH && t->next < t->total; i++) {
        if (t->slots[i].busy)
            continue;
        int rc = start(t, &t->slots[i]);
        if (rc)
            return rc == -EAGAIN ? 0 : rc;
    }
    return 0;
}

/* What a transfer that was stopped has done: commands may complete in any order. */
static int stopped(struct transfer *t, int code) {
    uint64_t first = t->next, block = t->drive->info.block_bytes, lba = t->lba;
    if (t->verb != &verb_write)
        return drive_fail(t->drive, code, "interrupted while %s, after %llu of %llu bytes", t->verb->doing,
                          (unsigned long long)t->done, (unsigned long long)t->total);
    for (unsigned i = 0; i < TRANSFER_DEPTH; i++)
        if (t->slots[i].busy && t->slots[i].offset < first)
            first = t->slots[i].offset;
    char certain[64] = "no block is certain to be written", maybe[64] = "";
    if (first)
        snprintf(certain, sizeof(certain), "blocks %llu..%llu are written", (unsigned long long)lba,
                 (unsigned long long)(lba + first / block - 1));
    if (first < t->next)
        snprintf(maybe, sizeof(maybe), ", blocks %llu..%llu may be", (unsigned long long)(lba + first / block),
                 (unsigned long long)(lba + t->next / block - 1));
    return drive_fail(t->drive, code, "interrupted while writing: %s%s, the others hold what they held", certain,
                      maybe);
}

static int run(struct transfer *t, assasin_progress_fn progress, void *arg) {
    struct wait w = drive_wait_begin(t->drive, t->verb->doing);
    int stop = 0; /* why the caller ended it */
    while (t->in_flight || (t->next < t->total && !t->failed)) {
        int rc = t->failed ? 0 : fill(t);
        if (rc && !t->failed)
            t->failed = rc;
        int reaped = assasin_poll(t->drive);
        if (reaped < 0)
            return reaped;
        if (reaped)
            drive_wait_progress(t->drive, &w);
        else if ((rc = drive_wait_nap(t->drive, &w)))
            return rc == -EINTR ? stopped(t, EINTR) : rc;
        if (w.ended_ms && !t->failed)
            t->failed = stop = -EINTR;
        else if (reaped && progress && !t->failed && progress(arg, t->done, t->total))
            t->failed = stop = -ECANCELED;
    }
    return stop ? stopped(t, -stop) : t->failed;
}

static int transfer(struct assasin_drive *drive, const struct verb *verb, uint64_t lba, const struct iovec *parts,
                    int count, assasin_progress_fn progress, void *arg) {
    if (drive->dead)
        return drive->dead;
    uint64_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += parts[i].iov_len;
    if (bytes == 0 || bytes % drive->info.block_bytes)
        return drive_fail(drive, EINVAL, "%llu bytes: a transfer is a multiple of the block of %u bytes, and not empty",
                          (unsigned long long)bytes, drive->info.block_bytes);
    struct transfer *t = calloc(1, sizeof(*t));
    if (!t)
        return drive_fail(drive, ENOMEM, "out of memory");
    t->drive = drive;
    t->verb = verb;
    t->lba = lba;
    t->parts = parts;
    t->total = bytes;
    marks_begin(drive, verb->name, bytes);
    int rc = run(t, progress, arg);
    marks_end(drive, verb->name, bytes, rc);
    /* Commands that never completed still point at the slots and their buffers: both stay until the process ends. */
    if (t->in_flight == 0) {
        for (unsigned i = 0; i < TRANSFER_DEPTH; i++)
            drive_free(drive, t->slots[i].buffer);
        free(t);
    }
    return rc;
}

int assasin_read(struct assasin_drive *drive, uint64_t lba, void *data, uint64_t bytes, assasin_progress_fn progress,
                 void *arg) {
    return transfer(drive, &verb_read, lba, &(struct iovec){data, bytes}, 1, progress, arg);
}

int assasin_write(struct assasin_drive *drive, uint64_t lba, const void *data, uint64_t bytes,
                  assasin_progress_fn progress, void *arg) {
    return transfer(drive, &verb_write, lba, &(struct iovec){(void *)data, bytes}, 1, progress, arg);
}

int assasin_readv(struct assasin_drive *drive, uint64_t lba, const struct iovec *parts, int count,
                  assasin_progress_fn progress, void *arg) {
    return transfer(drive, &verb_read, lba, parts, count, progress, arg);
}

int assasin_writev(struct assasin_drive *drive, uint64_t lba, const struct iovec *parts, int count,
                   assasin_progress_fn progress, void *arg) {
    return transfer(drive, &verb_write, lba, parts, count, progress, arg);
}

int assasin_compare(struct assasin_drive *drive, uint64_t lba, const void *data, uint64_t bytes,
                    assasin_progress_fn progress, void *arg) {
    return transfer(drive, &verb_compare, lba, &(struct iovec){(void *)data, bytes}, 1, progress, arg);
}

int assasin_trim(struct assasin_drive *drive, const struct assasin_extent *extents, uint32_t count) {
    struct nvme_dsm_range ranges[NVME_DSM_RANGES];
    if (count == 0)
        return drive_fail(drive, EINVAL, "no extent: name the blocks that are not needed any more");
    for (uint32_t done = 0; done < count;) {
        uint32_t n = count - done < NVME_DSM_RANGES ? count - done : NVME_DSM_RANGES;
        memset(ranges, 0, sizeof(ranges));
        for (uint32_t i = 0; i < n; i++) {
            if (extents[done + i].count == 0)
                return drive_fail(drive, EINVAL, "extent %u has no blocks", done + i);
            ranges[i].lba = extents[done + i].lba;
            ranges[i].blocks = extents[done + i].count;
        }
        struct assasin_command command = {
            .dw = {NVME_DATASET_MANAGEMENT, drive->link->namespace_id, [10] = n - 1, [11] = NVME_DSM_DEALLOCATE}};
        int rc = drive_execute(drive, ASSASIN_IO, &command, ranges, sizeof(ranges), "trim", NULL);
        if (rc)
            return rc;
        done += n;
    }
    return 0;
}

int assasin_write_zeroes(struct assasin_drive *drive, uint64_t lba, uint64_t blocks) {
    if (blocks == 0)
        return drive_fail(drive, EINVAL, "0 blocks: name at least one");
    while (blocks > 0) {
        uint32_t n = blocks < NVME_MAX_BLOCKS ? (uint32_t)blocks : NVME_MAX_BLOCKS;
        struct assasin_command command = {
            .dw = {NVME_WRITE_ZEROES,
                   drive->link->namespace_id, [10] = (uint32_t)lba, [11] = (uint32_t)(lba >> 32), [12] = n - 1}};
        int rc = drive_execute(drive, ASSASIN_IO, &command, NULL, 0, "write zeroes", NULL);
        if (rc)
            return rc;
        lba += n;
        blocks -= n;
    }
    return 0;
}

int assasin_flush(struct assasin_drive *drive) {
    struct assasin_command command = {.dw = {NVME_FLUSH, drive->link->namespace_id}};
    return drive_execute(drive, ASSASIN_IO, &command, NULL, 0, "flush", NULL);
}

int assasin_identify(struct assasin_drive *drive, uint8_t cns, uint32_t nsid, void *data) {
    struct assasin_command command = {.dw = {NVME_ADMIN_IDENTIFY, nsid, [10] = cns}};
    return drive_execute(drive, ASSASIN_ADMIN, &command, data, NVME_IDENTIFY_BYTES, "identify", NULL);
}

int assasin_log_page(struct assasin_drive *drive, uint8_t page, void *data, uint32_t bytes) {
    if (bytes == 0 || bytes % 4)
        return drive_fail(drive, EINVAL, "a log page is read in multiples of 4 bytes, not %u", bytes);
    uint32_t dwords = bytes / 4 - 1;
    struct assasin_command command = {
        .dw = {NVME_ADMIN_GET_LOG_PAGE, 0xFFFFFFFFu, [10] = (dwords & 0xFFFFu) << 16 | page, [11] = dwords >> 16}};
    return drive_execute(drive, ASSASIN_ADMIN, &command, data, bytes, "get log page", NULL);
}

int assasin_nand_block(struct assasin_drive *drive, uint8_t way, uint32_t address, uint32_t step, uint32_t first,
                       void *block) {
    uint32_t bytes = sizeof(struct scomp_block);
    struct assasin_command command = {
        .dw = {SCOMP_OPCODE_ADMIN_NAND_BLOCK, [10] = way, [11] = address, [12] = step, [13] = first, [14] = bytes}};
    return drive_execute(drive, ASSASIN_ADMIN, &command, block, bytes, "read block of a NAND package", NULL);
}
