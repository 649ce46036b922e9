/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel that behaves as its first scalar says, well or badly: for the tests of slots. Compiled with -DABI=, -DID=
 * and others it also says wrong things about itself. */
#include <assasin_kernel.h>
#include <string.h>

#ifndef ABI
#define ABI ASSASIN_KERNEL_ABI
#endif
#ifndef NAME
#define NAME "probe"
#endif
#ifndef VERSION
#define VERSION "1"
#endif
#ifndef ID
#define ID 0xb07d4d17u
#endif
#ifndef INPUTS
#define INPUTS 1
#endif
#ifndef II_NUM
#define II_NUM 1
#endif
#ifndef II_DEN
#define II_DEN 1
#endif
#ifndef LATENCY
#define LATENCY 6
#endif

enum mode {
    XOR,     /* every beat with scalar 1 in both halves */
    COUNT,   /* bytes, beats and the value of scalar 1, at the end */
    NEVER,   /* reads on behind the end of its input */
    NO_LAST, /* copies without ending its result */
    EARLY,   /* the first beat only, and does not read on */
    NARROW,  /* the low three bytes of every beat */
    EMPTY,   /* nothing */
    SPIN,    /* computes for ever */
    MANY,    /* scalar 1 beats for every one, the beat's number in them */
};

/* What nobody writes; volatile, so that the loop is one. */
static volatile int never;

static void run(const struct assasin_kernel_port *port, const uint32_t *scalars) {
    struct assasin_beat in = {0, 0, 0}, out = {0, 0, 0};
    const uint64_t pattern = (uint64_t)scalars[1] << 32 | scalars[1];
    uint64_t bytes = 0, beats = 0;
    if (scalars[0] == SPIN) {
        while (!never) {
        }
    }
    do {
        if (port->read(port->ctx, 0, &in) != 0) {
            return;
        }
#if INPUTS == 2
        struct assasin_beat other;
        if (port->read(port->ctx, 1, &other) != 0) {
            return;
        }
        in.data += other.data;
#endif
        out = in;
        bytes += (uint64_t)__builtin_popcount(in.keep);
        beats++;
        switch (scalars[0]) {
        case XOR:
            out.data ^= pattern;
            break;
        case EARLY:
            out.last = 1;
            break;
        case NO_LAST:
            out.last = 0;
            break;
        case NARROW:
            out.keep = in.keep & 7;
            break;
        case MANY:
            for (uint32_t i = 0; i < scalars[1]; i++) {
                out.data = beats << 32 | i;
                out.last = in.last && i + 1 == scalars[1];
                if (port->write(port->ctx, &out) != 0) {
                    return;
                }
            }
            continue;
        default:
            continue;
        }
        if (port->write(port->ctx, &out) != 0) {
            return;
        }
    } while (scalars[0] == NEVER || (!in.last && scalars[0] != EARLY));
    out.last = 1;
    if (scalars[0] == COUNT) {
        const uint64_t words[3] = {bytes, beats, scalars[1]};
        for (unsigned i = 0; i < 3; i++) {
            out = (struct assasin_beat){words[i], 0xff, i == 2};
            if (port->write(port->ctx, &out) != 0) {
                return;
            }
        }
    } else if (scalars[0] == EMPTY) {
        out = (struct assasin_beat){0, 0, 1};
        (void)port->write(port->ctx, &out);
    }
}

const struct assasin_kernel assasin_kernel = {
    .abi = ABI,
    .id = ID,
    .name = NAME,
    .version = VERSION,
    .inputs = INPUTS,
    .scalars = 2,
    .ii_num = II_NUM,
    .ii_den = II_DEN,
    .latency = LATENCY,
    .run = run,
};
