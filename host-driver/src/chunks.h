/* SPDX-License-Identifier: BSD-3-Clause */
/** \file Takes the chunks that IO_READ delivers apart and checks that the output of every stream of every piece is
 * whole. */
#ifndef ASSASIN_SRC_CHUNKS_H
#define ASSASIN_SRC_CHUNKS_H

#include "error.h"

/** State of one job's output. */
struct chunks {
    uint32_t pieces;
    uint32_t streams;
    uint32_t nodes;
    bool all_here; /**< every output stream goes to the host */
    const struct assasin_sink *sink;
    void *arg;
    uint64_t *position; /**< next byte expected, pieces x streams */
    bool *ended;        /**< pieces */
    uint32_t ends;      /**< pieces that have ended */
    uint32_t failed;    /**< of these, with a status that is not OK */
};

/** \return 0 or -ENOMEM. */
int chunks_init(struct chunks *c, const struct assasin_job *job, const struct assasin_sink *sink, void *arg);
void chunks_destroy(struct chunks *c);

/**
 * Feeds whole chunks. \param data 64-byte multiples as IO_READ delivered them.
 * \return 0; -EPROTO what the drive sent contradicts itself (message in `error`); or what the sink returned.
 */
int chunks_feed(struct chunks *c, const void *data, size_t bytes, struct assasin_error *error);

#endif
