/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * An instruction-set simulator of an ASSASIN core with its scratchpad and streams. RV32IM, Zba, Zbb, Zkne and Zknd as
 * the specifications have them; stream instructions or software stream pointers as docs/architecture.md has them.
 * Cycles as the pipeline spends them (hw/src/main/scala/assasin/core/Core.scala), without cache misses.
 *
 * Whoever runs it moves the pages: between two calls of iss_core_run() pages may come into the rings and leave them.
 */
#ifndef ASSASIN_ISS_H
#define ASSASIN_ISS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ISS_STREAMS 8
#define ISS_BUFFER  65536u

enum iss_status {
    ISS_EXITED,
    ISS_TRAPPED,
    ISS_HUNG,
    ISS_LIMIT,  /**< as many instructions as asked for */
    ISS_WAITS,  /**< for stream `waits_for` */
    ISS_SLEEPS, /**< has done WFI; only with `tcm` */
};

struct iss_core;

/** A core's vector unit: executes the words and CSRs that the core does not know. */
struct iss_vector {
    void *unit;
    /** Executes a word; a, b: what rs1 and rs2 hold. ISS_LIMIT: done, rd gets *value where *writes. ISS_TRAPPED: cause
     * and tval are set. ISS_WAITS: waits_for and waits_output are set, and nothing else has changed. */
    enum iss_status (*step)(struct iss_core *c, uint32_t insn, uint32_t a, uint32_t b, uint32_t *value, bool *writes);
    /** Reads a CSR, or writes it; false: there is none. */
    bool (*csr)(struct iss_core *c, uint32_t number, bool write, uint32_t source, uint32_t *value);
    /** Whether the unit has this stream, so that the core's own stream instructions must not move it. */
    bool (*owns)(struct iss_core *c, unsigned s, bool output);
};

/** A core. Positions of streams are bytes modulo 2^32; a ring's byte p is at p modulo `ring`. */
struct iss_core {
    uint8_t *imem, *spad;        /**< CORE_IMEM_SIZE, CORE_SPAD_SIZE bytes */
    uint8_t *isb, *osb;          /**< ISS_BUFFER bytes each: the rings of stream 0, 1, ... */
    uint32_t ring, streams;      /**< bytes of a ring; how many there are */
    bool software;               /**< software stream pointers instead of stream instructions */
    bool extended;               /**< has Zba, Zbb, Zkne and Zknd */
    uint32_t ihead[ISS_STREAMS]; /**< consumed */
    uint32_t itail[ISS_STREAMS]; /**< delivered */
    uint32_t iend[ISS_STREAMS];  /**< the end of the stream, where `ended` */
    bool ended[ISS_STREAMS];
    uint32_t ohead[ISS_STREAMS];  /**< produced */
    uint32_t olimit[ISS_STREAMS]; /**< drained + ring */
    /** The core has consumed bytes of stream s, from position `from` on; may be NULL. */
    void (*consumed)(struct iss_core *c, unsigned s, uint32_t from);
    void *user;
    const struct iss_vector *vector; /**< NULL: the core has no vector unit */
    /** The drive's own processor instead of a core: code and data lie here from address 0 on. NULL: a core. */
    uint8_t *tcm;
    uint32_t tcm_bytes;
    /** Its accesses to words beyond the TCM; `*stall` is how many cycles longer one takes. False: an access fault. */
    bool (*outside)(struct iss_core *c, uint32_t address, bool write, uint32_t *value, uint32_t *stall);
    /** Cycles and runs of each instruction of the TCM; NULL: they are not counted. */
    uint64_t *spent, *runs;

    uint32_t x[32], pc, sepilogue, sgrain;
    uint64_t instructions, cycles; /**< without waiting for streams */
    uint64_t ready[32];            /**< cycle in which a register can be used in EX */

    uint32_t exit_code, cause, tval; /**< of EXITED; of TRAPPED */
    unsigned waits_for;
    bool waits_output;
};

/** Goes on, for at most `limit` instructions. */
enum iss_status iss_core_run(struct iss_core *c, uint64_t limit);

/** Memory of the core at [address, address + bytes); NULL where there is none. */
uint8_t *iss_memory(struct iss_core *c, uint32_t address, uint32_t bytes);
/** Moves IHEAD of stream s, as loads do. */
void iss_consume(struct iss_core *c, unsigned s, uint32_t head);

#ifdef __cplusplus
}
#endif

#endif
