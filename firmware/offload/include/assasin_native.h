/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Native back end of assasin.h: streams are memory buffers. Included by assasin.h when ASSASIN_NATIVE is defined; not
 * by an offload.
 */
#ifndef ASSASIN_OFFLOAD_NATIVE_H
#define ASSASIN_OFFLOAD_NATIVE_H

#include <stdbool.h>

/** One stream of the running piece. */
struct assasin_native_stream {
    uint8_t *data;   /**< input: the stream's bytes; output: where stores go */
    size_t bytes;    /**< input: length; output: room */
    size_t position; /**< bytes consumed or stored so far */
};

/** Everything a piece sees. */
struct assasin_native_piece {
    struct scomp_task task;
    const void *args;
    struct assasin_native_stream in[SCOMP_MAX_STREAMS];
    struct assasin_native_stream out[SCOMP_MAX_STREAMS];
    const char *fault; /**< why the piece was stopped, or NULL: what would be a trap or an endless wait on a core */
};

/**
 * Runs compute() on `piece`.
 * \return compute's value, or -1 with piece->fault set.
 */
int assasin_native_run(struct assasin_native_piece *piece);

/* What the macros below use. Width and sign come from the match constant's funct3, as on the core. */
bool assasin_native_load(uint32_t match, unsigned stream, uint32_t *value);
void assasin_native_store(uint32_t match, unsigned stream, uint32_t value);
uint32_t assasin_native_peek(uint32_t match, unsigned stream, uint32_t distance);
uint32_t assasin_native_csr(uint32_t number);
const struct scomp_task *assasin_task(void);
const void *assasin_args(void);

#define ASSASIN_LOAD(match, type, stream, end)                                                                         \
    __extension__({                                                                                                    \
        uint32_t assasin_value;                                                                                        \
        if (!assasin_native_load(match, stream, &assasin_value))                                                       \
            goto end;                                                                                                  \
        (type) assasin_value;                                                                                          \
    })
#define ASSASIN_STORE(match, stream, value)         assasin_native_store(match, stream, (uint32_t)(value))
#define ASSASIN_PEEK(match, type, stream, distance) ((type)assasin_native_peek(match, stream, distance))
#define ASSASIN_IN_HEAD(stream)                     assasin_native_csr(ASSASIN_CSR_IHEAD + (stream))
#define ASSASIN_IN_TAIL(stream)                     assasin_native_csr(ASSASIN_CSR_ITAIL + (stream))
#define ASSASIN_OUT_HEAD(stream)                    assasin_native_csr(ASSASIN_CSR_OHEAD + (stream))
#define ASSASIN_KEEP(variable)                      __asm__ volatile("" : "+r"(variable))

#endif
