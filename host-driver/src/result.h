/* SPDX-License-Identifier: BSD-3-Clause */
/** \file Collects the output of a job. */
#ifndef ASSASIN_SRC_RESULT_H
#define ASSASIN_SRC_RESULT_H

#include <assasin/assasin.h>

/** Receives output for a result, which is its argument. */
extern const struct assasin_sink result_sink;

/** An empty result for the output of a job. \return NULL: out of memory. */
struct assasin_result *result_new(const struct assasin_job *job);

/** \param failed pieces whose status is not 0. */
void result_set_failed(struct assasin_result *result, uint32_t failed);

#endif
