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
uint32_t assasin_native_take(uint32_t match, unsigned stream);
void assasin_native_store(uint32_t match, unsigned stream, uint32_t value);
uint32_t assasin_native_peek(uint32_t match, unsigned stream, uint32_t distance);
uint32_t assasin_native_csr(uint32_t number);
const struct scomp_task *assasin_task(void);
const void *assasin_args(void);

#define ASSASIN_DECLARE(stream)                                                                                        \
    _Static_assert((stream) >= 0 && (stream) < SCOMP_MAX_STREAMS, "stream numbers are 0 to 7")
#define ASSASIN_IN(stream)    ASSASIN_DECLARE(stream)
#define ASSASIN_OUT(stream)   ASSASIN_DECLARE(stream)
#define ASSASIN_RETURN(value) return (value)
#define ASSASIN_ANY_ALIGNMENT 1

#define ASSASIN_NATIVE_LOAD(match, type, stream, end)                                                                  \
    __extension__({                                                                                                    \
        uint32_t assasin_value;                                                                                        \
        if (!assasin_native_load(match, stream, &assasin_value))                                                       \
            goto end;                                                                                                  \
        (type) assasin_value;                                                                                          \
    })
#define ASSASIN_LOAD_U8(stream, end)                 ASSASIN_NATIVE_LOAD(ASSASIN_MATCH_STREAM_LBU, uint32_t, stream, end)
#define ASSASIN_LOAD_S8(stream, end)                 ASSASIN_NATIVE_LOAD(ASSASIN_MATCH_STREAM_LB, int32_t, stream, end)
#define ASSASIN_LOAD_U16(stream, end)                ASSASIN_NATIVE_LOAD(ASSASIN_MATCH_STREAM_LHU, uint32_t, stream, end)
#define ASSASIN_LOAD_S16(stream, end)                ASSASIN_NATIVE_LOAD(ASSASIN_MATCH_STREAM_LH, int32_t, stream, end)
#define ASSASIN_LOAD_U32(stream, end)                ASSASIN_NATIVE_LOAD(ASSASIN_MATCH_STREAM_LW, uint32_t, stream, end)
#define ASSASIN_LOAD_S32(stream, end)                ASSASIN_NATIVE_LOAD(ASSASIN_MATCH_STREAM_LW, int32_t, stream, end)
#define ASSASIN_LOAD_INTO_U32(stream, variable, end) ((variable) = ASSASIN_LOAD_U32(stream, end))
#define ASSASIN_TAKE_U8(stream)                      assasin_native_take(ASSASIN_MATCH_STREAM_LBU, stream)
#define ASSASIN_TAKE_U32(stream)                     assasin_native_take(ASSASIN_MATCH_STREAM_LW, stream)
#define ASSASIN_STORE_U8(stream, value)              assasin_native_store(ASSASIN_MATCH_STREAM_SB, stream, (uint32_t)(value))
#define ASSASIN_STORE_U16(stream, value)             assasin_native_store(ASSASIN_MATCH_STREAM_SH, stream, (uint32_t)(value))
#define ASSASIN_STORE_U32(stream, value)             assasin_native_store(ASSASIN_MATCH_STREAM_SW, stream, (uint32_t)(value))
#define ASSASIN_PEEK_IN_U8(stream, distance)         assasin_native_peek(ASSASIN_MATCH_STREAM_READI_BU, stream, distance)
#define ASSASIN_PEEK_IN_U16(stream, distance)        assasin_native_peek(ASSASIN_MATCH_STREAM_READI_HU, stream, distance)
#define ASSASIN_PEEK_IN_U32(stream, distance)        assasin_native_peek(ASSASIN_MATCH_STREAM_READI_W, stream, distance)
#define ASSASIN_PEEK_OUT_U8(stream, distance)        assasin_native_peek(ASSASIN_MATCH_STREAM_READO_BU, stream, distance)
#define ASSASIN_PEEK_OUT_U16(stream, distance)       assasin_native_peek(ASSASIN_MATCH_STREAM_READO_HU, stream, distance)
#define ASSASIN_PEEK_OUT_U32(stream, distance)       assasin_native_peek(ASSASIN_MATCH_STREAM_READO_W, stream, distance)
#define ASSASIN_IN_HEAD(stream)                      assasin_native_csr(ASSASIN_CSR_IHEAD + (stream))
#define ASSASIN_IN_TAIL(stream)                      assasin_native_csr(ASSASIN_CSR_ITAIL + (stream))
#define ASSASIN_RING_LOG2                            16
#define ASSASIN_IN_END(stream)                       assasin_native_csr(ASSASIN_CSR_IEND + (stream))
#define ASSASIN_OUT_HEAD(stream)                     assasin_native_csr(ASSASIN_CSR_OHEAD + (stream))
#define ASSASIN_KEEP(variable)                       __asm__ volatile("" : "+r"(variable))

#endif
