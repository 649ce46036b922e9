/* SPDX-License-Identifier: BSD-3-Clause */
/** \file How I/O commands are handed to the kernel while others are under way: by io_uring, or by threads that sleep in
 * ioctls. */
#ifndef ASSASIN_SRC_ENGINE_H
#define ASSASIN_SRC_ENGINE_H

#include "error.h"

#include <linux/nvme_ioctl.h>

struct engine;

/** A command that has ended. */
struct engine_done {
    uint32_t slot;   /**< as given at submission */
    int result;      /**< 0, the NVMe status field without the phase bit, or a negative errno of the kernel's */
    uint64_t dwords; /**< DW0 and DW1 of the completion */
};

/** What an engine does. */
struct engine_ops {
    /** Takes `command`, whose data stays where it is until it has ended. \return 0 or a negative errno. */
    int (*submit)(struct engine *e, uint32_t slot, const struct nvme_passthru_cmd64 *command);
    bool (*reap)(struct engine *e, struct engine_done *done); /**< \return whether one had ended */
    void (*sleep)(struct engine *e, unsigned microseconds);   /**< until one has ended, at most so long */
    int (*event)(struct engine *e);                           /**< descriptor that is readable when one has ended */
    void (*close)(struct engine *e);                          /**< waits for what the kernel still has */
};

/** Base of every engine. */
struct engine {
    const struct engine_ops *ops;
    uint32_t depth; /**< commands that may be under way at once */
};

/** \param path of a namespace's generic character device. \return 0; -ENOTSUP the kernel does not offer it. */
int uring_open(const char *path, uint32_t depth, struct assasin_error *error, struct engine **out);

/** \param fd of a namespace's device; it stays the caller's. */
int ioctl_open(int fd, struct assasin_error *error, struct engine **out);

#endif
