/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Back end of assasin.h for cores with stream instructions (AssasinSb and its relatives). Included by assasin.h; not by
 * an offload.
 */
#ifndef ASSASIN_OFFLOAD_STREAM_H
#define ASSASIN_OFFLOAD_STREAM_H

/* The core keeps the pointers: a declaration only checks the number. */
#define ASSASIN_DECLARE(stream)                                                                                        \
    _Static_assert((stream) >= 0 && (stream) < SCOMP_MAX_STREAMS, "stream numbers are 0 to 7")
#define ASSASIN_IN(stream)    ASSASIN_DECLARE(stream)
#define ASSASIN_OUT(stream)   ASSASIN_DECLARE(stream)
#define ASSASIN_RETURN(value) return (value)
#define ASSASIN_ANY_ALIGNMENT 1

/* Fields of the R-type encoding, taken out of a match constant of the contract. */
#define ASSASIN_INSN_FIELDS(match) [op] "i"((match)&0x7f), [f3] "i"((match) >> 12 & 7), [f7] "i"((match) >> 25 & 0x7f)

/*
 * StreamLoad. `asm goto` tells the compiler that control may continue at `end` with every live variable intact; the
 * temporary keeps the edge free of an output. Every load records its landing place: in .assasin.landing for the build's
 * check, and as the symbol that the runtime puts into SEPILOGUE.
 */
#define ASSASIN_STREAM_LOAD(match, type, stream, end)                                                                  \
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

/* The same into a variable that keeps its value on the way to `end`, where rd is not written. */
#define ASSASIN_STREAM_LOAD_INTO(match, stream, variable, end)                                                         \
    __asm__ volatile goto(".insn r %[op], %[f3], %[f7], %[rd], x%[s], x0\n\t"                                          \
                          ".pushsection .assasin.landing, \"\", @progbits\n\t"                                         \
                          ".word %l[" #end "]\n\t"                                                                     \
                          ".popsection\n\t"                                                                            \
                          ".globl assasin_landing\n\t"                                                                 \
                          ".set assasin_landing, %l[" #end "]"                                                         \
                          : [rd] "+r"(variable)                                                                        \
                          : ASSASIN_INSN_FIELDS(match), [s] "i"(stream)                                                \
                          :                                                                                            \
                          : end)

#define ASSASIN_STREAM_TAKE(match, stream)                                                                             \
    __extension__({                                                                                                    \
        uint32_t assasin_value;                                                                                        \
        __asm__ volatile(".insn r %[op], %[f3], %[f7], %[rd], x%[s], x0"                                               \
                         : [rd] "=r"(assasin_value)                                                                    \
                         : ASSASIN_INSN_FIELDS(match), [s] "i"(stream));                                               \
        assasin_value;                                                                                                 \
    })

#define ASSASIN_STREAM_STORE(match, stream, value)                                                                     \
    __asm__ volatile(".insn r %[op], %[f3], %[f7], x0, x%[s], %[v]"                                                    \
                     :                                                                                                 \
                     : ASSASIN_INSN_FIELDS(match), [s] "i"(stream), [v] "r"((uint32_t)(value)))

#define ASSASIN_STREAM_PEEK(match, type, stream, distance)                                                             \
    __extension__({                                                                                                    \
        uint32_t assasin_value;                                                                                        \
        __asm__ volatile(".insn r %[op], %[f3], %[f7], %[rd], x%[s], %[d]"                                             \
                         : [rd] "=r"(assasin_value)                                                                    \
                         : ASSASIN_INSN_FIELDS(match), [s] "i"(stream), [d] "r"((uint32_t)(distance)));                \
        (type) assasin_value;                                                                                          \
    })

#define ASSASIN_LOAD_U8(stream, end)  ASSASIN_STREAM_LOAD(ASSASIN_MATCH_STREAM_LBU, uint32_t, stream, end)
#define ASSASIN_LOAD_S8(stream, end)  ASSASIN_STREAM_LOAD(ASSASIN_MATCH_STREAM_LB, int32_t, stream, end)
#define ASSASIN_LOAD_U16(stream, end) ASSASIN_STREAM_LOAD(ASSASIN_MATCH_STREAM_LHU, uint32_t, stream, end)
#define ASSASIN_LOAD_S16(stream, end) ASSASIN_STREAM_LOAD(ASSASIN_MATCH_STREAM_LH, int32_t, stream, end)
#define ASSASIN_LOAD_U32(stream, end) ASSASIN_STREAM_LOAD(ASSASIN_MATCH_STREAM_LW, uint32_t, stream, end)
#define ASSASIN_LOAD_S32(stream, end) ASSASIN_STREAM_LOAD(ASSASIN_MATCH_STREAM_LW, int32_t, stream, end)
#define ASSASIN_LOAD_INTO_U32(stream, variable, end)                                                                   \
    ASSASIN_STREAM_LOAD_INTO(ASSASIN_MATCH_STREAM_LW, stream, variable, end)
#define ASSASIN_TAKE_U8(stream)          ASSASIN_STREAM_TAKE(ASSASIN_MATCH_STREAM_LBU, stream)
#define ASSASIN_TAKE_U32(stream)         ASSASIN_STREAM_TAKE(ASSASIN_MATCH_STREAM_LW, stream)
#define ASSASIN_STORE_U8(stream, value)  ASSASIN_STREAM_STORE(ASSASIN_MATCH_STREAM_SB, stream, value)
#define ASSASIN_STORE_U16(stream, value) ASSASIN_STREAM_STORE(ASSASIN_MATCH_STREAM_SH, stream, value)
#define ASSASIN_STORE_U32(stream, value) ASSASIN_STREAM_STORE(ASSASIN_MATCH_STREAM_SW, stream, value)
#define ASSASIN_PEEK_IN_U8(stream, distance)                                                                           \
    ASSASIN_STREAM_PEEK(ASSASIN_MATCH_STREAM_READI_BU, uint32_t, stream, distance)
#define ASSASIN_PEEK_IN_U16(stream, distance)                                                                          \
    ASSASIN_STREAM_PEEK(ASSASIN_MATCH_STREAM_READI_HU, uint32_t, stream, distance)
#define ASSASIN_PEEK_IN_U32(stream, distance)                                                                          \
    ASSASIN_STREAM_PEEK(ASSASIN_MATCH_STREAM_READI_W, uint32_t, stream, distance)
#define ASSASIN_PEEK_OUT_U8(stream, distance)                                                                          \
    ASSASIN_STREAM_PEEK(ASSASIN_MATCH_STREAM_READO_BU, uint32_t, stream, distance)
#define ASSASIN_PEEK_OUT_U16(stream, distance)                                                                         \
    ASSASIN_STREAM_PEEK(ASSASIN_MATCH_STREAM_READO_HU, uint32_t, stream, distance)
#define ASSASIN_PEEK_OUT_U32(stream, distance)                                                                         \
    ASSASIN_STREAM_PEEK(ASSASIN_MATCH_STREAM_READO_W, uint32_t, stream, distance)

#define ASSASIN_IN_HEAD(stream)  ASSASIN_CSR(ASSASIN_CSR_IHEAD + (stream))
#define ASSASIN_IN_TAIL(stream)  ASSASIN_CSR(ASSASIN_CSR_ITAIL + (stream))
#define ASSASIN_RING_LOG2        (ASSASIN_CSR(ASSASIN_CSR_STREAMCFG) >> 8 & 31)
#define ASSASIN_IN_END(stream)   ASSASIN_CSR(ASSASIN_CSR_IEND + (stream))
#define ASSASIN_OUT_HEAD(stream) ASSASIN_CSR(ASSASIN_CSR_OHEAD + (stream))

#endif
