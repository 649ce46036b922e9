/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * The way to a drive's registers and the memory it can reach. One implementation is the virtual board's door (door.c);
 * one over vfio-pci fits the same interface. (The kernel's NVMe passthrough has no registers: it replaces queue.c's
 * users, not this.)
 */
#ifndef ASSASIN_SRC_TRANSPORT_H
#define ASSASIN_SRC_TRANSPORT_H

#include "error.h"

struct transport;

/** What a transport does. All return 0 or a negative errno with the message in transport.error. */
struct transport_ops {
    int (*read32)(struct transport *t, uint32_t offset, uint32_t *value); /**< BAR0 register */
    int (*write32)(struct transport *t, uint32_t offset,
                   uint32_t value);                           /**< BAR0 register; has reached the drive on return */
    int (*sleep)(struct transport *t, unsigned microseconds); /**< sleeps; -ENODEV as soon as the drive is gone */
    void (*close)(struct transport *t);                       /**< frees the transport */
};

/** Base of every transport. */
struct transport {
    const struct transport_ops *ops;
    void *memory;                /**< memory that both sides see */
    size_t memory_bytes;         /**< its size, multiple of 4096 */
    uint64_t memory_bus;         /**< its address as the drive sees it */
    struct assasin_error *error; /**< where messages go */
};

/**
 * Connects to the virtual board behind the socket at `path`.
 * \param stall_ms how long a register access may take.
 */
int door_open(const char *path, size_t memory_bytes, uint32_t stall_ms, struct assasin_error *error,
              struct transport **out);

#endif
