/* SPDX-License-Identifier: BSD-3-Clause */
/** \file The open drive, as the library's own sources see it. */
#ifndef ASSASIN_SRC_DRIVE_H
#define ASSASIN_SRC_DRIVE_H

#include "link.h"
#include "nvme_spec.h"

/** A wait for something to become true, with the drive's limits on patience. */
struct wait {
    const char *what;   /**< for the message */
    uint64_t start_ms;  /**< beginning of the wait, or latest progress */
    uint64_t probed_ms; /**< latest look at the drive's clock */
    uint64_t moved_ms;  /**< latest time the clock had moved */
    uint64_t clock;     /**< clock at that look */
    unsigned sleep_us;  /**< current length of a nap */
    uint32_t limit_ms;  /**< gives up this long after start_ms */
    uint64_t ended_ms;  /**< when options.tick ended the wait; 0: it did not */
};

struct assasin_drive {
    struct link *link;
    struct assasin_info info;
    struct assasin_options options;
    int dead;         /**< negative errno after which the connection is given up */
    uint16_t session; /**< its number, 0: none is open */
    uint16_t next_handle;
    uint32_t secret[2]; /**< of the session */
    uint16_t status;    /**< of the latest failed call */
    uint64_t ticked_ms; /**< when options.tick was last asked */
    struct assasin_error error;
    struct assasin_execution *executions; /**< jobs that have begun and whose end the caller has not taken (exec.c) */
    uint64_t round;                       /**< of looks at them */
    int event;                            /**< assasin_event_fd(), -1: nobody has asked for it (event.c) */
    int timer;                            /**< of its descriptors */
    bool timing;                          /**< the timer runs */
    struct wait watch;                    /**< for one who waits for that descriptor */
};

/** Remembers that the latest call failed. \return -code. */
int drive_fail(struct assasin_drive *drive, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** After an error of the connection commands may still own memory, so nothing more can be done with the drive.
 * \return rc. */
int drive_give_up(struct assasin_drive *drive, int rc);

/** Turns an unsuccessful completion into an error: message "`what`: status, details". \return 0 for success, else a
 * negative errno. */
int drive_check(struct assasin_drive *drive, const char *what, const struct assasin_completion *completion);

/** drive_check() for an answer to IO_EXEC. \param where says what lies at the offset that DW0 is with some statuses. */
int drive_check_at(struct assasin_drive *drive, const char *what, const struct assasin_completion *completion,
                   const char *where);

/** Zeroed pages for the data of commands. \return NULL when there are none left. */
void *drive_alloc(struct assasin_drive *drive, size_t bytes);
/** Frees them; NULL is allowed. */
void drive_free(struct assasin_drive *drive, void *memory);

/** Milliseconds of wall time from some point on. */
uint64_t drive_now_ms(void);

/** Begins a wait. */
struct wait drive_wait_begin(struct assasin_drive *drive, const char *what);
/** Tells the wait that something happened. */
void drive_wait_progress(struct assasin_drive *drive, struct wait *w);
/** Takes a nap. \return 0, or the connection error that ends the wait: gone, stalled, too long, firmware stopped, or
 * some time after options.tick has ended it: who waits sees wait.ended_ms first, and stops what it does. */
int drive_wait_nap(struct assasin_drive *drive, struct wait *w);

/** Sends a command with data in DMA memory (or none) and waits; no look at the status. \return 0 or a connection error.
 */
int drive_roundtrip(struct assasin_drive *drive, unsigned queue, const struct assasin_command *command, void *data,
                    size_t bytes, const char *what, struct assasin_completion *completion);

/** drive_roundtrip() with bounce buffer and drive_check(). */
int drive_execute(struct assasin_drive *drive, unsigned queue, const struct assasin_command *command, void *data,
                  size_t bytes, const char *what, struct assasin_completion *completion);

/** Opens the drive's session unless it is open. \return 0 or an error. */
int session_open(struct assasin_drive *drive);
/** Closes it: its functions and jobs go. */
void session_close(struct assasin_drive *drive);
/** Names the session in a command that loads or unloads a function. */
void session_name(const struct assasin_drive *drive, struct assasin_command *command);
/** Whether the latest call failed because the session has ended; the next one opens another. */
bool session_lost(struct assasin_drive *drive);
/** Handle of a job, the session's own. */
static inline uint32_t session_handle(struct assasin_drive *drive) {
    return (uint32_t)drive->session << 16 | drive->next_handle++;
}

#endif
