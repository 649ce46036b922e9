/* SPDX-License-Identifier: BSD-3-Clause */
/** \file The jobs of a drive that are under way. */
#ifndef ASSASIN_SRC_EXEC_H
#define ASSASIN_SRC_EXEC_H

#include "drive.h"

/** Lets every job of the drive go on as far as what has completed allows; receivers of their output are called.
 * \param idle nothing has completed since the last time. \return 0 or a connection error. */
int executions_advance(struct assasin_drive *drive, bool idle);

/** Cancels all jobs of a drive and waits until they have ended. Their handles are gone. */
void executions_cancel(struct assasin_drive *drive);

/** Frees all jobs of a drive whose link is closed. */
void executions_forget(struct assasin_drive *drive);

#endif
