/* SPDX-License-Identifier: BSD-3-Clause */
/** \file Sends the input streams that come from the host's memory: IO_FEED commands, several in flight. */
#ifndef ASSASIN_SRC_FEED_H
#define ASSASIN_SRC_FEED_H

#include "drive.h"

/** Bytes of one IO_FEED. */
#define FEED_BYTES (32u << 10)

struct feeder;

struct feed_slot {
    struct feeder *feeder;
    void *buffer;
    uint32_t stream; /**< index of what it carries, piece x streams_in + stream */
    uint32_t bytes;
    bool busy;
};

/** State of one fed stream. */
struct fed_stream {
    uint64_t given; /**< bytes submitted */
    uint32_t in_flight;
    bool over; /**< the drive takes no more: its piece has ended */
};

struct feeder {
    struct assasin_drive *drive;
    const struct assasin_job *job;
    uint32_t handle;
    uint32_t fed;          /**< most streams of one piece that come from the host */
    uint32_t piece_window; /**< pieces that run at once */
    uint32_t first;        /**< first piece that has not ended */
    struct feed_slot *slots;
    struct fed_stream *streams;
    uint32_t busy;
    bool known;     /**< the drive has taken a feed: it knows the request */
    bool too_early; /**< a feed overtook its IO_EXEC */
    int failed;     /**< negative errno, with the message and the NVMe status */
    struct assasin_error error;
    uint16_t status;
};

/** Most cores that a job may use at once so that every stream of every running piece can have a feed in flight: 0 = all
 * of the drive's. */
uint32_t feeder_max_cores(const struct assasin_drive *drive, const struct assasin_job *job);

/** \param max_cores as in the request. \return 0 or -ENOMEM. */
int feeder_init(struct feeder *f, struct assasin_drive *drive, const struct assasin_job *job, uint32_t max_cores);
/** \param dead commands may still have the buffers, which go with the drive's memory. */
void feeder_destroy(struct feeder *f, bool dead);

/** Submits the feeds that there is room for. \param ended for each piece whether it has. \return 0 or a connection
 * error. */
int feeder_pump(struct feeder *f, const bool *ended);

#endif
