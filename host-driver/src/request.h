/* SPDX-License-Identifier: BSD-3-Clause */
/** \file The data of IO_EXEC (struct scomp_request and what follows it), and words for the places in it. */
#ifndef ASSASIN_SRC_REQUEST_H
#define ASSASIN_SRC_REQUEST_H

#include <assasin/assasin.h>

/** Bytes of the request of a job. */
size_t request_bytes(const struct assasin_job *job);

/** Writes the request. \param to room for request_bytes(). */
void request_write(const struct assasin_job *job, uint8_t *to);

/** Says what lies at byte `offset` of the request, for example "extent 3". \return `text`. */
const char *request_where(const struct assasin_job *job, uint32_t offset, struct assasin_error *text);

#endif
