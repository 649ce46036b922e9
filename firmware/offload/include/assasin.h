/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Intrinsics of the ASSASIN cores: what an offload (a function that runs inside the drive) may use.
 *
 * An offload is one C source that defines `int compute(void)`. Its input streams are the pages the host named, its
 * output streams come back to the host. The same source compiles for the stream instructions (rv32im) and, with
 * ASSASIN_NATIVE defined, for the machine it is built on, where streams are memory buffers; results are the same byte
 * for byte.
 *
 * **End of stream.** A load names the label that gets control when fewer bytes than it asks for are left in its stream:
 *
 *     int compute(void)
 *     {
 *         uint32_t sum = 0;
 *         for (;;)
 *             sum += ASSASIN_LOAD_U32(0, end);
 *     end:
 *         ASSASIN_STORE_U32(0, sum);
 *         return 0;
 *     }
 *
 * On a core the jump is made by the hardware, at no cost in the loop, to the address in CSR SEPILOGUE, which the
 * runtime sets before it calls compute. Local variables keep their values: the compiler knows of the jump. There is one
 * SEPILOGUE, so all loads of an offload must name the same label; the build refuses an offload whose loads would end in
 * different places, which also happens when a load's end would need different registers than the others' (see tools in
 * the Makefile; ASSASIN_KEEP is the remedy).
 *
 * **Stream numbers** are part of the instruction: they must be integer constants, 0..7. A number at or above the number
 * of streams the request gave is an illegal instruction and ends the piece with a trap.
 *
 * **Result.** Returning 0 from compute ends the piece with status OK, any other value with EXIT_CODE and that value.
 *
 * Source of the instructions: the ASSASIN paper, Table III; encodings: hw/isa.
 */
#ifndef ASSASIN_OFFLOAD_ASSASIN_H
#define ASSASIN_OFFLOAD_ASSASIN_H

#include <assasin_contract.h>
#include <stddef.h>
#include <stdint.h>

/** The offload. \return 0, or the exit code that the host shall see (1..2^32-1 as unsigned). */
int compute(void);

#ifdef ASSASIN_NATIVE
#include "assasin_native.h"
#else

/* Fields of the R-type encoding, taken out of a match constant of the contract. */
#define ASSASIN_INSN_FIELDS(match) [op] "i"((match)&0x7f), [f3] "i"((match) >> 12 & 7), [f7] "i"((match) >> 25 & 0x7f)

/*
 * StreamLoad. `asm goto` tells the compiler that control may continue at `end` with every live variable intact; the
 * temporary keeps the edge free of an output. Every load records its landing place: in .assasin.landing for the build's
 * check, and as the symbol that the runtime puts into SEPILOGUE.
 */
#define ASSASIN_LOAD(match, type, stream, end)                                                                         \
    __extension__({                                                                                                    \
        uint32_t assasin_value;                                                                                        \
        __asm__ volatile goto(".insn r %[op], %[f3], %[f7], %[rd], x%[s], x0\n\t"                                      \
                              ".pushsection .assasin.landing, \"\", @progbits\n\t"                                     \
                              ".word %l[" #end "]\n\t"                                                                 \
                              ".popsection\n\t"                                                                        \
                              ".globl assasin_landing\n\t"                                                             \
                              ".set assasin_landing, %l[" #end "]"                                                     \
                              : [rd] "=r"(assasin_value)                                                               \
                              : ASSASIN_INSN_FIELDS(match), [s] "i"(stream)                                            \
                              :                                                                                        \
                              : end);                                                                                  \
        (type) assasin_value;                                                                                          \
    })

#define ASSASIN_STORE(match, stream, value)                                                                            \
    __asm__ volatile(".insn r %[op], %[f3], %[f7], x0, x%[s], %[v]"                                                    \
                     :                                                                                                 \
                     : ASSASIN_INSN_FIELDS(match), [s] "i"(stream), [v] "r"((uint32_t)(value)))

#define ASSASIN_PEEK(match, type, stream, distance)                                                                    \
    __extension__({                                                                                                    \
        uint32_t assasin_value;                                                                                        \
        __asm__ volatile(".insn r %[op], %[f3], %[f7], %[rd], x%[s], %[d]"                                             \
                         : [rd] "=r"(assasin_value)                                                                    \
                         : ASSASIN_INSN_FIELDS(match), [s] "i"(stream), [d] "r"((uint32_t)(distance)));                \
        (type) assasin_value;                                                                                          \
    })

#define ASSASIN_CSR(number)                                                                                            \
    __extension__({                                                                                                    \
        uint32_t assasin_value;                                                                                        \
        __asm__ volatile("csrr %0, %1" : "=r"(assasin_value) : "i"(number));                                           \
        assasin_value;                                                                                                 \
    })

/** What the firmware put there for this piece: index, argument bytes, lengths of the input streams. */
static inline const struct scomp_task *assasin_task(void) {
    return (const struct scomp_task *)ASSASIN_CORE_SPAD_BASE;
}

/** Arguments of the request, assasin_task()->args_bytes bytes, 8-byte aligned. */
static inline const void *assasin_args(void) {
    return (const void *)(ASSASIN_CORE_SPAD_BASE + SCOMP_SPAD_ARGS);
}

/** Bytes of input stream `stream` consumed so far, modulo 2^32. */
#define ASSASIN_IN_HEAD(stream)  ASSASIN_CSR(ASSASIN_CSR_IHEAD + (stream))
/** Bytes of input stream `stream` delivered so far, modulo 2^32; changes by itself. */
#define ASSASIN_IN_TAIL(stream)  ASSASIN_CSR(ASSASIN_CSR_ITAIL + (stream))
/** Bytes appended to output stream `stream` so far, modulo 2^32. */
#define ASSASIN_OUT_HEAD(stream) ASSASIN_CSR(ASSASIN_CSR_OHEAD + (stream))

/** Makes the compiler hold `variable` (an integer) in one register here, without an instruction. */
#define ASSASIN_KEEP(variable)   __asm__ volatile("" : "+r"(variable))

#endif /* ASSASIN_NATIVE */

/**
 * StreamLoad: the next byte, halfword or word (little-endian, any alignment) of input stream `stream`; at its end: goto
 * `end`. The value is a uint32_t (zero-extended) or int32_t (sign-extended).
 */
#define ASSASIN_LOAD_U8(stream, end)  ASSASIN_LOAD(ASSASIN_MATCH_STREAM_LBU, uint32_t, stream, end)
#define ASSASIN_LOAD_S8(stream, end)  ASSASIN_LOAD(ASSASIN_MATCH_STREAM_LB, int32_t, stream, end)
#define ASSASIN_LOAD_U16(stream, end) ASSASIN_LOAD(ASSASIN_MATCH_STREAM_LHU, uint32_t, stream, end)
#define ASSASIN_LOAD_S16(stream, end) ASSASIN_LOAD(ASSASIN_MATCH_STREAM_LH, int32_t, stream, end)
#define ASSASIN_LOAD_U32(stream, end) ASSASIN_LOAD(ASSASIN_MATCH_STREAM_LW, uint32_t, stream, end)
#define ASSASIN_LOAD_S32(stream, end) ASSASIN_LOAD(ASSASIN_MATCH_STREAM_LW, int32_t, stream, end)

/** StreamStore: appends the low 8, 16 or 32 bits of `value` to output stream `stream`; waits while the stream is full.
 */
#define ASSASIN_STORE_U8(stream, value)  ASSASIN_STORE(ASSASIN_MATCH_STREAM_SB, stream, value)
#define ASSASIN_STORE_U16(stream, value) ASSASIN_STORE(ASSASIN_MATCH_STREAM_SH, stream, value)
#define ASSASIN_STORE_U32(stream, value) ASSASIN_STORE(ASSASIN_MATCH_STREAM_SW, stream, value)

/** ReadIStream: reads input stream `stream` `distance` bytes before its Tail, without consuming; out of range traps
 * (STREAM_RANGE). */
#define ASSASIN_PEEK_IN_U8(stream, distance)  ASSASIN_PEEK(ASSASIN_MATCH_STREAM_READI_BU, uint32_t, stream, distance)
#define ASSASIN_PEEK_IN_U16(stream, distance) ASSASIN_PEEK(ASSASIN_MATCH_STREAM_READI_HU, uint32_t, stream, distance)
#define ASSASIN_PEEK_IN_U32(stream, distance) ASSASIN_PEEK(ASSASIN_MATCH_STREAM_READI_W, uint32_t, stream, distance)

/** ReadOStream: reads back what was stored to output stream `stream`, `distance` bytes before its Head. */
#define ASSASIN_PEEK_OUT_U8(stream, distance)  ASSASIN_PEEK(ASSASIN_MATCH_STREAM_READO_BU, uint32_t, stream, distance)
#define ASSASIN_PEEK_OUT_U16(stream, distance) ASSASIN_PEEK(ASSASIN_MATCH_STREAM_READO_HU, uint32_t, stream, distance)
#define ASSASIN_PEEK_OUT_U32(stream, distance) ASSASIN_PEEK(ASSASIN_MATCH_STREAM_READO_W, uint32_t, stream, distance)

#endif
