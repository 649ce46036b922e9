/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The way commands reach a drive. There are two: the library is the drive's NVMe driver itself (controller.c, over the
 * registers and shared memory of a transport: the virtual board's door, or vfio-pci), or the kernel is, and the library
 * passes commands through it (kernel.c, by io_uring or ioctl).
 */
#ifndef ASSASIN_SRC_LINK_H
#define ASSASIN_SRC_LINK_H

#include "transport.h"

#include <assasin/assasin.h>

struct link;

/** What the drive shows of itself to one who waits. */
struct link_state {
    uint64_t clock; /**< cycles of its timebase */
    bool trapped;   /**< its firmware has stopped on a trap */
    uint32_t cause; /**< mcause */
    uint32_t pc;    /**< where */
};

/** What a link does. Those that return int return 0 or a negative errno with a message in the drive. */
struct link_ops {
    int (*start)(struct link *l);                           /**< admin commands are possible from here on */
    int (*geometry)(struct link *l, struct assasin_info *); /**< fills in cores, channels, ways */
    int (*start_io)(struct link *l);                        /**< I/O commands too; fills in info.queue_depth */
    /** See assasin_submit(); `data` may be NULL. */
    int (*submit)(struct link *l, unsigned queue, const struct assasin_command *command, void *data, size_t bytes,
                  assasin_done_fn done, void *arg);
    int (*poll)(struct link *l);                         /**< handles completions that are there; how many */
    int (*sleep)(struct link *l, unsigned microseconds); /**< sleeps, maybe shorter; -ENODEV when the drive is gone */
    int (*look)(struct link *l, struct link_state *state);
    int (*event)(struct link *l); /**< descriptor that completions make readable; NULL: they are only in memory */
    void *(*alloc)(struct link *l, size_t bytes); /**< zeroed pages for data of commands, or NULL */
    void (*free)(struct link *l, void *memory);
    uint64_t (*address)(const struct link *l, const void *memory);   /**< bus address, UINT64_MAX when there is none */
    int (*read32)(struct link *l, uint32_t offset, uint32_t *value); /**< BAR0; NULL when registers are out of reach */
    int (*write32)(struct link *l, uint32_t offset, uint32_t value); /**< likewise */
    int (*shutdown)(struct link *l);                                 /**< ends the use of the drive in good order */
    int (*leave)(struct link *l);                                    /**< stops what is in flight; NULL: cannot */
    void (*close)(struct link *l);                                   /**< frees the link, in any state */
};

/** Base of every link. */
struct link {
    const struct link_ops *ops;
    struct assasin_drive *drive;
    uint32_t in_flight;     /**< commands submitted and not completed */
    uint32_t namespace_id;  /**< namespace that I/O goes to */
    uint32_t looking_costs; /**< cycles that a look at the clock may itself make pass */
    bool ordered;           /**< I/O commands reach the drive in the order of their submission */
    bool raw;               /**< the caller's own PRPs are possible */
};

/** Takes over `transport`, also when it fails. */
int controller_open(struct assasin_drive *drive, struct transport *transport, struct link **out);

/** How the kernel takes commands. */
enum kernel_way { KERNEL_URING, KERNEL_IOCTL };

/** \param path of the namespace's block device or of its generic character device (/dev/nvme0n1, /dev/ng0n1). */
int kernel_open(struct assasin_drive *drive, const char *path, enum kernel_way way, struct link **out);

#endif
