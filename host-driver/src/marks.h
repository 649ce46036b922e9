/* SPDX-License-Identifier: BSD-3-Clause */
/** \file Marks: when a program did what with the drive, for who measures it from outside (`assasin power`). */
#ifndef ASSASIN_SRC_MARKS_H
#define ASSASIN_SRC_MARKS_H

#include "drive.h"

/** Name of the environment variable that names the file of marks. Without it nothing is written and nothing is asked of
 * the drive. */
#define MARKS_VARIABLE "ASSASIN_MARKS"

/**
 * An operation begins, or has ended: appends a JSON line to the file of marks, which must exist. An error of that file
 * is not the caller's: then there are no marks.
 *
 * Keys: t_ns (CLOCK_REALTIME), clock (the drive's timebase in cycles; not over the kernel's driver, which does not
 * reach it), edge
 * ("begin", "end"), what, bytes, rc (at the end: 0 or negative errno), process, drive (tells drives of one process
 * apart).
 *
 * \param what  "offload", "read" or "write"
 * \param bytes input of the job, or length of the transfer
 */
void marks_begin(struct assasin_drive *drive, const char *what, uint64_t bytes);
void marks_end(struct assasin_drive *drive, const char *what, uint64_t bytes, int rc);

#endif
