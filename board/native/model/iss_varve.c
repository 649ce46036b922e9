/* SPDX-License-Identifier: BSD-3-Clause */
#include "iss_varve.h"

#include <stdlib.h>

#define MSTATUS    0x300u
#define MSTATUS_SD 0x80000000u

struct unit {
    struct iss_vector vector;
    struct varve_model *model;
    uint32_t mstatus; /* without VS and SD */
};

static struct unit *unit_of(struct iss_core *c) {
    return c->vector->unit;
}

static bool load(void *user, uint64_t address, uint8_t *byte) {
    const uint8_t *p = iss_memory(user, (uint32_t)address, 1);
    if (p)
        *byte = *p;
    return p;
}

static bool storable(void *user, uint64_t address) {
    return iss_memory(user, (uint32_t)address, 1);
}

static bool store(void *user, uint64_t address, uint8_t byte) {
    uint8_t *p = iss_memory(user, (uint32_t)address, 1);
    if (p)
        *p = byte;
    return p;
}

static uint64_t head(void *user, uint32_t s, bool output) {
    struct iss_core *c = user;
    return output ? c->ohead[s] : c->ihead[s];
}

static void consumed(void *user, uint32_t s, uint64_t position) {
    iss_consume(user, s, (uint32_t)position);
}

static uint8_t stream_byte(void *user, uint32_t s, uint64_t position) {
    struct iss_core *c = user;
    return c->isb[s * c->ring + position % c->ring];
}

static uint64_t delivered(void *user, uint32_t s) {
    struct iss_core *c = user;
    return c->itail[s];
}

static bool end(void *user, uint32_t s, uint64_t *position) {
    struct iss_core *c = user;
    *position = c->iend[s];
    return c->ended[s];
}

static uint64_t room(void *user, uint32_t s) {
    struct iss_core *c = user;
    return c->olimit[s];
}

static void append(void *user, uint32_t s, uint8_t byte) {
    struct iss_core *c = user;
    c->osb[s * c->ring + c->ohead[s]++ % c->ring] = byte;
}

static enum iss_status step(struct iss_core *c, uint32_t insn, uint32_t a, uint32_t b, uint32_t *value, bool *writes) {
    struct varve_outcome o;
    varve_step(unit_of(c)->model, insn, a, b, &o);
    switch (o.what) {
    case VARVE_DONE:
        *writes = o.wen;
        *value = (uint32_t)o.value;
        return ISS_LIMIT;
    case VARVE_WAIT:
        c->waits_for = o.waits_for;
        c->waits_output = o.waits_output;
        return ISS_WAITS;
    case VARVE_TRAP:
        c->cause = o.cause;
        c->tval = (uint32_t)o.tval;
        return ISS_TRAPPED;
    default:
        c->cause = 2;
        c->tval = insn;
        return ISS_TRAPPED;
    }
}

static bool csr(struct iss_core *c, uint32_t number, bool write, uint32_t source, uint32_t *value) {
    struct unit *u = unit_of(c);
    if (number == MSTATUS) {
        if (write) {
            varve_set_vs(u->model, source >> 9);
            u->mstatus = source & 0x1888; /* MPP, MPIE, MIE */
        }
        uint32_t vs = varve_vs(u->model);
        *value = u->mstatus | vs << 9 | (vs == 3 ? MSTATUS_SD : 0);
        return true;
    }
    struct varve_outcome o;
    varve_csr(u->model, number, 1, source, write, &o);
    *value = (uint32_t)o.value;
    return o.what == VARVE_DONE;
}

static bool owns(struct iss_core *c, unsigned s, bool output) {
    return varve_owns(unit_of(c)->model, s, output);
}

bool iss_varve_attach(struct iss_core *c, const struct varve_params *params) {
    struct varve_params p = *params;
    struct varve_world w = {
        c, load, store, storable, head, consumed, stream_byte, delivered, end, room, append,
    };
    struct unit *u = calloc(1, sizeof *u);
    if (!u)
        return false;
    p.xlen = 32;
    p.streams = c->streams;
    u->model = varve_create(&p, &w);
    if (!u->model) {
        free(u);
        return false;
    }
    varve_set_vs(u->model, 0);
    u->vector = (struct iss_vector){.unit = u, .step = step, .csr = csr, .owns = owns};
    c->vector = &u->vector;
    return true;
}

void iss_varve_detach(struct iss_core *c) {
    struct unit *u = unit_of(c);
    c->vector = NULL;
    varve_destroy(u->model);
    free(u);
}

struct varve_model *iss_varve_model(struct iss_core *c) {
    return unit_of(c)->model;
}
