/* SPDX-License-Identifier: BSD-3-Clause */
/** \file The file descriptor that tells an event loop when assasin_poll() has something to do. */
#ifndef ASSASIN_SRC_EVENT_H
#define ASSASIN_SRC_EVENT_H

#include "drive.h"

/** Takes note that assasin_poll() looks now. */
void event_clear(struct assasin_drive *drive);

/** Has the descriptor become readable when there is something to look at, after something was submitted or has
 * completed. */
void event_expect(struct assasin_drive *drive);

/** Has it become readable at once. */
void event_now(struct assasin_drive *drive);

void event_close(struct assasin_drive *drive);

#endif
