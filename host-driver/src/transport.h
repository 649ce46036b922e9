/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The way to a drive's registers and the memory it can reach: the virtual board's door (door.c) or the kernel's
 * vfio-pci (vfio.c).
 */
#ifndef ASSASIN_SRC_TRANSPORT_H
#define ASSASIN_SRC_TRANSPORT_H

#include "error.h"

#include <assasin/assasin.h>

struct transport;

/** What a transport does. All return 0 or a negative errno with the message in transport.error. */
struct transport_ops {
    int (*read32)(struct transport *t, uint32_t offset, uint32_t *value); /**< BAR0 register */
    int (*write32)(struct transport *t, uint32_t offset,
                   uint32_t value);                           /**< BAR0 register; a later read finds it done */
    int (*sleep)(struct transport *t, unsigned microseconds); /**< sleeps; -ENODEV as soon as the drive is gone */
    void (*close)(struct transport *t);                       /**< frees the transport */
};

/** Base of every transport. */
struct transport {
    const struct transport_ops *ops;
    void *memory;                /**< memory that both sides see */
    size_t memory_bytes;         /**< its size, multiple of 4096 */
    uint64_t memory_bus;         /**< its address as the drive sees it, when it is one run of addresses */
    size_t run_bytes;            /**< else: `run_bus` names an address for each so many bytes; 0 */
    const uint64_t *run_bus;     /**< the addresses, or NULL */
    struct assasin_error *error; /**< where messages go */
};

/**
 * Connects to the virtual board behind the socket at `path`.
 * \param options stall_ms is how long a register access may take; tick may end one. They outlive the transport.
 */
int door_open(const char *path, const struct assasin_options *options, struct assasin_error *error,
              struct transport **out);

/** Opens the PCI function at `address` (such as 0000:00:05.0), which the driver vfio-pci must have. */
int vfio_open(const char *address, size_t memory_bytes, struct assasin_error *error, struct transport **out);

#endif
