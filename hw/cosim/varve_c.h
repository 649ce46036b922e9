/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The functional model of VarVE (varve_model.h) for C: what lies outside the unit is a table of functions.
 */
#ifndef ASSASIN_VARVE_C_H
#define ASSASIN_VARVE_C_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is built; varve::Params. Widths in bits. */
struct varve_params {
    uint32_t xlen, vlen, g, mbmax, z, nin, streams;
    uint32_t pup, full, meta_slots; /**< 0 or 1 */
};

/** Memory and stream buffers; varve::World says what each does. `end` returns whether the end is known. */
struct varve_world {
    void *user;
    bool (*load)(void *user, uint64_t address, uint8_t *byte);
    bool (*store)(void *user, uint64_t address, uint8_t byte);
    bool (*storable)(void *user, uint64_t address);
    uint64_t (*head)(void *user, uint32_t stream, bool output);
    void (*consumed)(void *user, uint32_t stream, uint64_t position);
    uint8_t (*stream_byte)(void *user, uint32_t stream, uint64_t position);
    uint64_t (*delivered)(void *user, uint32_t stream);
    bool (*end)(void *user, uint32_t stream, uint64_t *position);
    uint64_t (*room)(void *user, uint32_t stream);
    void (*append)(void *user, uint32_t stream, uint8_t byte);
};

enum varve_what { VARVE_DONE, VARVE_WAIT, VARVE_TRAP, VARVE_NOT_MINE };

/** varve::Outcome. */
struct varve_outcome {
    uint32_t what; /**< enum varve_what */
    uint32_t cause;
    uint64_t tval, value;
    uint32_t wen, rd;
    uint32_t waits_output, waits_for;
};

/** varve::Counts. */
struct varve_counts {
    uint64_t instructions, strips, elements, allotted, consumed, appended;
};

struct varve_model;

/** \return NULL when the parameters are illegal. The table of functions is copied. */
struct varve_model *varve_create(const struct varve_params *params, const struct varve_world *world);
void varve_destroy(struct varve_model *m);
/** As the core's start does. */
void varve_reset(struct varve_model *m);
/** Executes a word of custom-1, custom-2, or one of the RVV instructions of varve_rvv.h; others are VARVE_NOT_MINE. */
void varve_step(struct varve_model *m, uint32_t insn, uint64_t rs1, uint64_t rs2, struct varve_outcome *out);
/** A CSR of VarVE, vl, vtype, vlenb or vstart. `op`: 1 write, 2 set, 3 clear. */
void varve_csr(struct varve_model *m, uint32_t number, uint32_t op, uint64_t source, bool write,
               struct varve_outcome *out);
/** mstatus.VS, 0 to 3: the core has it, the model sets it to 3. */
void varve_set_vs(struct varve_model *m, uint32_t vs);
uint32_t varve_vs(const struct varve_model *m);
/** Whether stream.* of custom-0 on stream buffer s is illegal. */
bool varve_owns(const struct varve_model *m, uint32_t s, bool output);
void varve_read_counts(const struct varve_model *m, struct varve_counts *counts);
/** Elements of vector register r when it is VAR, at most `most`; -1 when it is FIXED. Values modulo 2^64. */
int32_t varve_elements(const struct varve_model *m, uint32_t r, uint64_t *values, uint8_t *widths, uint32_t most);
/** Contents of vector register r: VLEN / 8 bytes. */
void varve_raw(const struct varve_model *m, uint32_t r, uint8_t *bytes);
/** Writes register r as an RVV instruction does. */
void varve_write_raw(struct varve_model *m, uint32_t r, const uint8_t *bytes);
/** Whether two models have the same architectural state; the first difference goes to `text`, cut at `bytes`. */
bool varve_same(const struct varve_model *a, const struct varve_model *b, char *text, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
