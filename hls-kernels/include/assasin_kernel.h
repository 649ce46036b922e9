/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * A kernel's C model as the virtual board loads it: a shared object that exports one `assasin_kernel`. Plain C, no
 * dependencies. `assasin hls build` makes such objects out of Vitis C++; anything that exports the same will do.
 */
#ifndef ASSASIN_KERNEL_H
#define ASSASIN_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of what is in this file: the board refuses objects that say another. */
#define ASSASIN_KERNEL_ABI 1

/** Most input streams and most scalar arguments of a slot's kernel. */
#define ASSASIN_KERNEL_INPUTS  2
#define ASSASIN_KERNEL_SCALARS 8

/** One transfer of an AXI4-Stream of 64 bits. An empty stream is one beat with keep 0 and last 1. */
struct assasin_beat {
    uint64_t data; /**< the stream's next byte in the low bits (TDATA) */
    uint8_t keep;  /**< bit i: byte i is there; ones from bit 0 on (TKEEP). All ones but in the last beat */
    uint8_t last;  /**< 1 in the stream's last beat (TLAST) */
};

/** The slot's side of the kernel's streams. */
struct assasin_kernel_port {
    void *ctx; /**< first argument of the functions */
    /** Takes the next beat of input stream `input`, 0 or 1, waiting for it. \return 0, or -1: `run` must return now */
    int (*read)(void *ctx, unsigned input, struct assasin_beat *beat);
    /** Hands on a beat of the output stream, waiting for room. \return 0, or -1: `run` must return now */
    int (*write)(void *ctx, const struct assasin_beat *beat);
};

/** What the shared object exports under the name `assasin_kernel`. */
struct assasin_kernel {
    uint32_t abi;        /**< ASSASIN_KERNEL_ABI */
    uint32_t id;         /**< CRC-32 (zlib's) of "<name>/<version>"; io_slot_<n>_id */
    const char *name;    /**< of the kernel */
    const char *version; /**< of the kernel */
    uint32_t inputs;     /**< input streams, 1 or 2 */
    uint32_t scalars;    /**< arguments of 32 bits, 0 to 8; the i-th is at 0x10 + 8 * i of the control registers */
    uint32_t ii_num;     /**< initiation interval: ii_num / ii_den cycles from a beat of an input to the next, */
    uint32_t ii_den;     /**< at least 1 */
    uint32_t latency;    /**< cycles from a beat in to the beat out that needed it */
    /** Does the work of one ap_start: reads every input to its end, and writes the output up to a beat with `last`. */
    void (*run)(const struct assasin_kernel_port *port, const uint32_t *scalars);
};

#ifdef __cplusplus
}
#endif

#endif
