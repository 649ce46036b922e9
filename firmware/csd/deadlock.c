/* SPDX-License-Identifier: BSD-3-Clause */
/* Trees whose functions wait for each other: where two ways through a tree meet again, one way's buffers can fill up
 * while the function at the end waits for the other way. Nothing outside can help then, so the piece ends with a status
 * that says so instead of delayed its cores until the watchdog. */
#include "csd/core.h"

/** Whether only another node of the piece can let this one go on. `full`: it has output that another has no room for.
 */
static bool waits_for_node(const struct core *c, bool *full) {
    if (c->phase == CORE_QUIET) {
        return true;
    }
    if (c->drains_pushed != c->drains_done || c->results_full != 0) {
        return false;
    }
    if (c->phase == CORE_ENDING) {
        for (uint32_t s = 0; s < c->streams_out; s++) {
            if ((c->blocked >> s & 1) != 0 && c->sinks[s].kind != SINK_NODE) {
                return false;
            }
        }
        *full |= c->blocked != 0;
        return c->blocked != 0;
    }
    if (c->phase != CORE_RUNNING) {
        return false;
    }
    uint32_t status = hal_read(core_reg(c, CORE_STATUS));
    uint32_t s = FIELD(CORE_STATUS, STREAM_ID, status);
    if (FIELD(CORE_STATUS, WAIT_OUT, status)) {
        bool blocked = (c->blocked >> s & 1) != 0 && c->sinks[s].kind == SINK_NODE;
        *full |= blocked;
        return blocked;
    }
    return FIELD(CORE_STATUS, WAIT_IN, status) && core_stream(c, s)->mode == STREAM_EDGE;
}

void deadlock_check(struct piece *p) {
    uint32_t retired = 0;
    const struct core *full = NULL;
    for (uint32_t n = 0; n < p->nodes; n++) {
        const struct core *c = &cores[p->core[n]];
        bool is_full = false;
        if (!waits_for_node(c, &is_full)) {
            p->waited = false;
            return;
        }
        full = is_full ? c : full;
        retired += hal_read(core_reg(c, CORE_INSTRET_LO));
    }
    /* The nodes are looked at one after the other; that none has retired an instruction since the last look shows that
     * they all wait at once. */
    bool same = p->waited && p->retired == retired;
    p->waited = true;
    p->retired = retired;
    if (same && full != NULL && p->status == SCOMP_STATUS_OK) {
        struct core *c = &cores[full->index];
        c->pc = hal_read(core_reg(c, CORE_PC));
        if (core_active(c)) {
            core_end(c, SCOMP_STATUS_DEADLOCK);
        } else {
            c->status = SCOMP_STATUS_DEADLOCK;
            piece_node_failed(p, c);
            output_retry(c, false);
        }
    }
}
