/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Intrinsics of the ASSASIN cores: what an offload (a function that runs inside the drive) may use.
 *
 * An offload is one C source that defines `int compute(void)`. Its input streams are the pages the host named, its
 * output streams come back to the host. The same source compiles for every architecture of the drive's cores and for
 * the machine it is built on; results are the same byte for byte. The back ends:
 *
 * | macro          | streams are                                                 | file             |
 * |----------------|-------------------------------------------------------------|------------------|
 * | none           | stream buffers, accessed by the stream instructions         | assasin_stream.h |
 * | ASSASIN_SP     | rings in windows as fast as the scratchpad, in halves       | assasin_memory.h |
 * | ASSASIN_MEM    | rings in cached DRAM, page by page                          | assasin_memory.h |
 * | ASSASIN_NATIVE | memory buffers of a process                                 | assasin_native.h |
 *
 * **Declarations.** compute begins with ASSASIN_IN(n); for every input stream and ASSASIN_OUT(n); for every output
 * stream that it uses, and ends by ASSASIN_RETURN(code). A stream is used in the function that declares it, or in
 * macros there. Where software keeps the stream pointers the declaration makes them local variables.
 *
 * **End of stream.** A load names the label that gets control when fewer bytes than it asks for are left in its stream:
 *
 *     int compute(void)
 *     {
 *         ASSASIN_IN(0);
 *         ASSASIN_OUT(0);
 *         uint32_t sum = 0;
 *         for (;;)
 *             sum += ASSASIN_LOAD_U32(0, end);
 *     end:
 *         ASSASIN_STORE_U32(0, sum);
 *         ASSASIN_RETURN(0);
 *     }
 *
 * On a core with stream instructions the jump is made by the hardware, at no cost in the loop, to the address in CSR
 * SEPILOGUE, which the runtime sets before it calls compute. Local variables keep their values: the compiler knows of
 * the jump. There is one SEPILOGUE, so all loads of an offload must name the same label; the build refuses an offload
 * whose loads would end in different places, which also happens when a load's end would need different registers than
 * the others' (see check-landing; ASSASIN_KEEP is the remedy).
 *
 * **Intrinsics**, S a stream number, D a distance in bytes, V a value; U8 also as U16 and U32:
 *
 * - `ASSASIN_LOAD_U8(S, end)`, also S8, S16, S32: StreamLoad. The next byte, halfword or word, little-endian, any
 *   alignment (an offload for memory back ends is slow where words are misaligned), as uint32_t zero-extended or
 *   int32_t sign-extended; where the stream has fewer bytes left: goto end, nothing consumed.
 * - `ASSASIN_LOAD_INTO_U32(S, variable, end)`: the next word into a variable that the code behind the label uses too,
 * where it has its old value then: saves a copy, and the check of landing places complaints about it.
 * - `ASSASIN_TAKE_U8(S)`, `ASSASIN_TAKE_U32(S)`: the same where the stream is known to have as much, so that no label
 * is needed: for the rest behind the end of the words.
 * - `ASSASIN_STORE_U8(S, V)`: StreamStore. Appends the low 8, 16 or 32 bits of V; waits while the stream is full.
 * - `ASSASIN_PEEK_IN_U8(S, D)`: ReadIStream. Reads D bytes before the input's Tail (what has been delivered), without
 *   consuming. D from the width to the ring's size and to Tail, else trap STREAM_RANGE (memory back ends: undefined).
 * - `ASSASIN_PEEK_OUT_U8(S, D)`: ReadOStream. Reads back what was stored, D bytes before the output's Head; limits
 * alike.
 * - `ASSASIN_IN_HEAD(S)`, `ASSASIN_IN_TAIL(S)`: bytes consumed; bytes delivered, which changes by itself.
 *   `ASSASIN_OUT_HEAD(S)`: bytes stored. All modulo 2^32.
 * - `ASSASIN_IN_END(S)`: where the stream ends, modulo 2^32; 0xFFFFFFFF until that is known. It is when a load has gone
 * to its label. `ASSASIN_ENDS_AT(S, P)`: whether stream S, of which no more than P bytes are consumed, ends at P; waits
 *   until that can be said.
 * - `ASSASIN_RING_LOG2`: log2 of a ring in bytes, which is how far back ASSASIN_PEEK_... can look.
 * - `ASSASIN_ANY_ALIGNMENT` is defined where misaligned words of a stream cost no more than aligned ones,
 *   `ASSASIN_LITTLE_UNROLLING` where a loop should not have more than about a hundred loads and stores.
 *
 * **Stream numbers** are part of the instruction: they must be integer constants, 0..7. A number at or above the number
 * of streams S of the core is an illegal instruction and ends the piece with a trap.
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

#define ASSASIN_CSR(number)                                                                                            \
    __extension__({                                                                                                    \
        uint32_t assasin_value;                                                                                        \
        __asm__ volatile("csrr %0, %1" : "=r"(assasin_value) : "i"(number));                                           \
        assasin_value;                                                                                                 \
    })

#if defined(ASSASIN_SP) || defined(ASSASIN_MEM)
#include "assasin_memory.h"
#else
#include "assasin_stream.h"
#endif

/** What the firmware put there for this piece: index, argument bytes, lengths of the input streams. */
static inline const struct scomp_task *assasin_task(void) {
    return (const struct scomp_task *)ASSASIN_CORE_SPAD_BASE;
}

/** Arguments of the request, assasin_task()->args_bytes bytes, 8-byte aligned. */
static inline const void *assasin_args(void) {
    return (const void *)(ASSASIN_CORE_SPAD_BASE + SCOMP_SPAD_ARGS);
}

/** Makes the compiler hold `variable` (an integer) in one register here, without an instruction. */
#define ASSASIN_KEEP(variable) __asm__ volatile("" : "+r"(variable))

#endif /* ASSASIN_NATIVE */

/** Declares output streams 0 to 7, for functions whose task says how many there are. */
#define ASSASIN_OUT_ALL                                                                                                \
    ASSASIN_OUT(0);                                                                                                    \
    ASSASIN_OUT(1);                                                                                                    \
    ASSASIN_OUT(2);                                                                                                    \
    ASSASIN_OUT(3);                                                                                                    \
    ASSASIN_OUT(4);                                                                                                    \
    ASSASIN_OUT(5);                                                                                                    \
    ASSASIN_OUT(6);                                                                                                    \
    ASSASIN_OUT(7)

#define ASSASIN_ENDS_AT(stream, position)                                                                              \
    __extension__({                                                                                                    \
        uint32_t assasin_end;                                                                                          \
        do                                                                                                             \
            assasin_end = ASSASIN_IN_END(stream);                                                                      \
        while (assasin_end == UINT32_MAX && (int32_t)(ASSASIN_IN_TAIL(stream) - (position)) <= 0);                     \
        assasin_end == (position);                                                                                     \
    })

#endif
