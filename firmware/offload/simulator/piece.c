/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a piece on the instruction-set simulator of an ASSASIN core (board/native/model/iss.c); loaded by
 * host-driver/python/assasin/offload/simulator.py.
 *
 * Pages arrive and leave when the core waits or at random, and what the core has given back or not yet got reads as
 * 0xEE, so that an offload which looks there computes something else. */
#include <assasin_contract.h>
#include <iss.h>
#include <iss_varve.h>
#include <string.h>

#define POISON 0xEE

enum status { EXITED, TRAPPED, HUNG, TIMEOUT, OUTPUT_FULL };

/** One run; simulator.py has the same structure. */
struct job {
    uint8_t *imem, *spad; /* CORE_IMEM_SIZE, CORE_SPAD_SIZE bytes, loaded */
    const uint8_t *in[ISS_STREAMS];
    uint8_t *out[ISS_STREAMS];
    uint32_t in_bytes[ISS_STREAMS], out_bytes[ISS_STREAMS]; /* out_bytes: room, then what was drained */
    uint32_t s_log2, page, entry, seed;                     /* seed 0: pages arrive and leave as early as possible */
    uint32_t software;                                      /* 1: software stream pointers */
    uint64_t limit;                                         /* instructions */
    uint32_t vlen, g;                                       /* of VarVE, bits; vlen 0: there is none */
    /* results */
    uint32_t status, exit_code, cause, pc, tval, sepilogue;
    uint32_t in_head[ISS_STREAMS];
    uint64_t instructions, cycles;
    uint64_t strips, elements; /* of VarVE */
    uint64_t *spent, *runs;    /* cycles and runs of each instruction, CORE_IMEM_SIZE / 4 of each; NULL: not counted */
};

static uint8_t isb[ISS_BUFFER], osb[ISS_BUFFER];
static uint64_t random_state;

static uint32_t chance(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32);
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* The next page of input stream s, if there is one and room for it. */
static bool deliver(struct iss_core *c, unsigned s) {
    struct job *j = c->user;
    uint32_t at = c->itail[s], bytes = least(j->page - at % j->page, j->in_bytes[s] - at);
    uint32_t limit = (c->ihead[s] / j->page) * j->page + c->ring;
    if (!bytes || at + bytes > limit)
        return false;
    /* A ring is a multiple of a page, so a page does not wrap around. */
    memcpy(c->isb + s * c->ring + at % c->ring, j->in[s] + at, bytes);
    c->itail[s] += bytes;
    return true;
}

/* The next page of output stream s, or at the end its rest. */
static bool drain(struct iss_core *c, unsigned s, bool rest) {
    struct job *j = c->user;
    uint32_t drained = c->olimit[s] - c->ring, bytes = least(j->page, c->ohead[s] - drained);
    if (!bytes || (bytes < j->page && !rest))
        return false;
    if (drained + bytes > j->out_bytes[s]) {
        j->status = OUTPUT_FULL;
        return false;
    }
    memcpy(j->out[s] + drained, c->osb + s * c->ring + drained % c->ring, bytes);
    c->olimit[s] += bytes;
    return true;
}

static void traffic(struct iss_core *c) {
    struct job *j = c->user;
    for (unsigned s = 0; s < c->streams; s++) {
        if (!j->seed) {
            while (deliver(c, s)) {
            }
            while (drain(c, s, false)) {
            }
        } else {
            if (chance() % 4 == 0)
                deliver(c, s);
            if (chance() % 4 == 0)
                drain(c, s, false);
        }
    }
}

static void consumed(struct iss_core *c, unsigned s, uint32_t from) {
    struct job *j = c->user;
    /* Whole pages go back and may be overwritten at once, but not those that nothing follows. */
    uint32_t head = c->ihead[s], to = head / j->page * j->page;
    for (uint32_t p = from / j->page * j->page; p != to && j->software && head != j->in_bytes[s]; p++)
        c->isb[s * c->ring + p % c->ring] = POISON;
}

static enum status execute(struct iss_core *c) {
    struct job *j = c->user;
    while (c->instructions < j->limit) {
        traffic(c);
        if (j->status == OUTPUT_FULL)
            return OUTPUT_FULL;
        uint64_t some = j->seed ? 1 + chance() % 512 : 64;
        switch (iss_core_run(c, some < j->limit - c->instructions ? some : j->limit - c->instructions)) {
        case ISS_EXITED:
            return EXITED;
        case ISS_TRAPPED:
            return TRAPPED;
        case ISS_HUNG:
            return HUNG;
        case ISS_SLEEPS: /* no core does */
        case ISS_LIMIT:
            break;
        case ISS_WAITS:
            if (!(c->waits_output ? drain(c, c->waits_for, false) : deliver(c, c->waits_for)))
                return j->status == OUTPUT_FULL ? OUTPUT_FULL : HUNG;
            break;
        }
    }
    return TIMEOUT;
}

void iss_run(struct job *job);
void iss_run(struct job *job) {
    struct iss_core c = {.imem = job->imem,
                         .spad = job->spad,
                         .isb = isb,
                         .osb = osb,
                         .ring = ISS_BUFFER >> job->s_log2,
                         .streams = 1u << job->s_log2,
                         .software = job->software,
                         .extended = true,
                         .consumed = consumed,
                         .user = job,
                         .spent = job->spent,
                         .runs = job->runs,
                         .pc = job->entry,
                         .sgrain = 1};
    memset(isb, POISON, sizeof isb);
    memset(osb, POISON, sizeof osb);
    for (unsigned s = 0; s < c.streams; s++) {
        c.iend[s] = job->in_bytes[s];
        c.ended[s] = true;
        c.olimit[s] = c.ring;
    }
    random_state = 0x9E3779B97F4A7C15u * (job->seed + 1);
    job->status = EXITED;
    struct varve_params params = {.vlen = job->vlen, .g = job->g, .mbmax = 64, .z = 1, .nin = 9, .pup = 1, .full = 1};
    if (job->vlen && !iss_varve_attach(&c, &params)) {
        job->status = TRAPPED; /* cause 0: no such unit */
        return;
    }
    enum status status = execute(&c);
    if (c.vector) {
        struct varve_counts counts;
        varve_read_counts(iss_varve_model(&c), &counts);
        job->strips = counts.strips;
        job->elements = counts.elements;
        iss_varve_detach(&c);
    }
    for (unsigned s = 0; s < c.streams; s++)
        while (drain(&c, s, true)) {
        }
    job->status = job->status == OUTPUT_FULL ? OUTPUT_FULL : status;
    job->instructions = c.instructions;
    job->cycles = c.cycles;
    job->exit_code = c.exit_code;
    job->cause = c.cause;
    job->tval = c.tval;
    job->pc = c.pc;
    job->sepilogue = c.sepilogue;
    for (unsigned s = 0; s < ISS_STREAMS; s++) {
        job->out_bytes[s] = s < c.streams ? c.olimit[s] - c.ring : 0;
        job->in_head[s] = c.ihead[s];
    }
}
