/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ASSASIN_SRC_ERROR_H
#define ASSASIN_SRC_ERROR_H

#include <assasin/assasin.h>

/** Writes the message into `error` (may be NULL). \return -code, so that a caller can return it. */
int error_set(struct assasin_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
