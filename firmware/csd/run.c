// SPDX-License-Identifier: BSD-3-Clause
/*
 * Programs on memory: a run is a request of one piece whose streams are ranges of DRAM. No handle names it.
 */
#include <string.h>

#include "csd/scomp.h"

/** What a request's memory holds behind its head: the arguments, the tables. */
#define ARGS_AT   4096u
#define TABLES_AT 16384u
_Static_assert(ARGS_AT >= CSD_RUN_BEFORE && ARGS_AT + SCOMP_MAX_ARGS <= TABLES_AT, "memory of a run");

uint32_t csd_run_open(struct csd_op *op) {
    struct request *r = request_new(op, SESSION_PROGRAMS, 0);
    if (r == NULL) {
        return 0;
    }
    r->hidden = true;
    op->session = SESSION_PROGRAMS;
    r->args = r->data + ARGS_AT;
    op->context = r;
    return r->args;
}

void csd_run_close(struct csd_op *op) {
    struct request *r = op->context;
    r->exec = NULL;
    request_free(r);
}

bool csd_run_stopped(const struct csd_op *op) {
    const struct request *r = op->context;
    return op->abandoned || r->detached;
}

/** Make the tables of `r`. */
static void tables(struct request *r, const struct csd_run *run) {
    r->stream_table = r->data + TABLES_AT;
    r->out_table = r->stream_table + SCOMP_MAX_STREAMS * (uint32_t)sizeof(struct scomp_stream);
    r->streams_in = run->in;
    r->streams_out = run->out;
    for (uint32_t i = 0; i < run->in + run->out; i++) {
        const struct csd_range *range = &run->ranges[i];
        bool input = i < run->in;
        uint32_t at = input ? request_input(r, 0, i) : request_output(r, 0, i - run->in);
        hal_write(at, range->at);
        hal_write(at + 4, input ? 0 : range->bytes);
        hal_write(at + 8, range->bytes);
        hal_write(at + 12, input ? STREAM_IS_FED | STREAM_IN_MEMORY : 0);
    }
    r->s_log2 = request_s_log2(run->in, run->out);
}

uint32_t csd_run_start(struct csd_op *op, const struct csd_run *run) {
    struct request *r = op->context;
    struct function *f = function_of_program(run->function);
    uint32_t status = CSD_OK;
    if (run->in == 0 || run->in > SCOMP_MAX_STREAMS || run->out > SCOMP_MAX_STREAMS ||
        run->kcycles > SCOMP_WATCHDOG_MAX_KCYCLES) {
        status = CSD_INVALID;
    } else if (f == NULL) {
        status = REFUSED(BAD_FUNCTION);
    } else if (function_mismatch(f, run->in, run->out, run->args_bytes)) {
        status = CSD_INVALID;
    }
    if (status != CSD_OK) {
        csd_run_close(op);
        return status;
    }
    tables(r, run);
    r->args_bytes = run->args_bytes;
    r->nodes = 1;
    r->pieces = 1;
    r->watchdog = (uint64_t)(run->kcycles != 0 ? run->kcycles : SCOMP_WATCHDOG_KCYCLES) * 1000u;
    r->run = true;
    r->detached = true;
    r->outcome = SCOMP_STATUS_ABORTED;
    r->function[0] = f;
    function_use(f);
    request_start(r);
    return CSD_OK;
}

void run_ended(struct csd_op *op, const struct request *r) {
    bool ok = r->outcome == SCOMP_STATUS_OK;
    bool aborted = r->outcome == SCOMP_STATUS_ABORTED;
    if (!aborted) {
        op->result[0] = ok ? (uint32_t)r->written : r->outcome;
        op->result[1] = ok ? (uint32_t)(r->written >> 32) : r->detail;
    }
    op->done(op, ok ? CSD_OK : aborted ? CSD_ABORTED : CSD_FAILED);
}
