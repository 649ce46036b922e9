/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Back end of assasin.h for cores without stream instructions, whose stream buffers are memory: windows as fast as the
 * scratchpad (ASSASIN_SP: AssasinSp) or cached DRAM (ASSASIN_MEM: Baseline, Prefetch). Included by assasin.h; not by an
 * offload.
 *
 * Software keeps the pointers. Between two calls of the runtime (runtime/memory.c) an offload works in a window of a
 * ring: `assasin_inN` or `assasin_outN` is the address of the next byte, and an access of one, two or four bytes is
 * allowed there while that address is below `..._end8`, `..._end16` or `..._end32`. All four are local variables of
 * compute, so they stay in registers, and those that nothing uses vanish. A limit of 0 sends the next access of that
 * width to the runtime: an access narrower than a word leaves the word's limit at 0, because the address may be
 * misaligned then, which the core does not take. The runtime copies an element that straddles windows, or is
 * misaligned, to an aligned place of its own.
 */
#ifndef ASSASIN_OFFLOAD_MEMORY_H
#define ASSASIN_OFFLOAD_MEMORY_H

/** What the runtime keeps of one stream. */
struct assasin_stream_state {
    uint32_t position; /**< stream position of the byte at `start` */
    uintptr_t start;   /**< address at which the window began */
    uint32_t granted;  /**< position up to which the core may read or write the ring without asking */
    uint32_t element;  /**< input: where a straddling or misaligned element is put together */
};
extern struct assasin_stream_state assasin_in_state[SCOMP_MAX_STREAMS], assasin_out_state[SCOMP_MAX_STREAMS];

typedef uint8_t __attribute__((may_alias)) assasin_u8;
typedef uint16_t __attribute__((may_alias)) assasin_u16;
typedef uint32_t __attribute__((may_alias)) assasin_u32;

/** log2 of a stream's ring in bytes. */
static inline uint32_t assasin_ring_log2(void) {
    uint32_t value;
    __asm__("csrr %0, %1" : "=r"(value) : "i"(ASSASIN_CSR_STREAMCFG)); /* constant: not volatile */
    return value >> 8 & 31;
}

/** Head of a stream: consumed or stored, of which `cursor` is the local variable. */
static inline uint32_t assasin_position(const struct assasin_stream_state *state, uintptr_t cursor) {
    return state->position + (uint32_t)(cursor - state->start);
}

#define ASSASIN_IN(stream)                                                                                             \
    uintptr_t assasin_in##stream = 0, assasin_in##stream##_end8 = 0, assasin_in##stream##_end16 = 0,                   \
              assasin_in##stream##_end32 = 0;                                                                          \
    (void)assasin_in##stream, (void)assasin_in##stream##_end8, (void)assasin_in##stream##_end16,                       \
        (void)assasin_in##stream##_end32

/* However compute returns, what the window holds is handed over. */
#define ASSASIN_OUT(stream)                                                                                            \
    __attribute__((cleanup(assasin_flush_##stream))) uintptr_t assasin_out##stream = 0;                                \
    uintptr_t assasin_out##stream##_end8 = 0, assasin_out##stream##_end16 = 0, assasin_out##stream##_end32 = 0;        \
    uintptr_t assasin_out##stream##_base = ASSASIN_CORE_OSB_BASE + ((uintptr_t)(stream) << assasin_ring_log2());       \
    (void)assasin_out##stream##_end8, (void)assasin_out##stream##_end16, (void)assasin_out##stream##_end32,            \
        (void)assasin_out##stream##_base

/* Branches reach 4 KiB: the cold paths of much unrolled code are too far away for one instruction. */
#define ASSASIN_LITTLE_UNROLLING 1

#define ASSASIN_RETURN(value) return (value)

#define ASSASIN_FLUSH(stream)                                                                                          \
    static inline __attribute__((always_inline, unused)) void assasin_flush_##stream(const uintptr_t *cursor) {        \
        if (*cursor) /* something was stored */                                                                        \
            __asm__ volatile("csrw %0, %1"                                                                             \
                             :                                                                                         \
                             : "i"(ASSASIN_CSR_OHEADW + stream),                                                       \
                               "r"(assasin_position(&assasin_out_state[stream], *cursor))                              \
                             : "memory");                                                                              \
    }
ASSASIN_FLUSH(0)
ASSASIN_FLUSH(1)
ASSASIN_FLUSH(2)
ASSASIN_FLUSH(3)
ASSASIN_FLUSH(4)
ASSASIN_FLUSH(5)
ASSASIN_FLUSH(6)
ASSASIN_FLUSH(7)
#undef ASSASIN_FLUSH

/* The runtime's functions take their operands and return the new cursor and its limit in a0 and a1; apart from
 * these they change only what is listed here (the Makefile compiles them so). */
#define ASSASIN_RUNTIME_CLOBBERS "ra", "t0", "t1", "t2", "a3", "a4", "a5", "memory"

/* `limit` is for the width that was asked for. The wider limits stay 0: the runtime finds out when it is asked. */
#define ASSASIN_WINDOW(name, cursor, limit, width)                                                                     \
    name = (cursor);                                                                                                   \
    name##_end8 = (limit) + (width)-1;                                                                                 \
    name##_end16 = (width) < 2 ? 0 : (limit) + (width)-2;                                                              \
    name##_end32 = (width) < 4 ? 0 : (limit)

/* Gets a window in which an element of `width` bytes can be loaded. */
#define ASSASIN_REFILL(stream, width, label)                                                                           \
    {                                                                                                                  \
        register uintptr_t assasin_a0 __asm__("a0") = assasin_in##stream;                                              \
        register uintptr_t assasin_a1 __asm__("a1") = width;                                                           \
        __asm__ volatile("call assasin_refill_" #stream                                                                \
                         : "+r"(assasin_a0), "+r"(assasin_a1)                                                          \
                         :                                                                                             \
                         : "a2", ASSASIN_RUNTIME_CLOBBERS);                                                            \
        if (!assasin_a1)                                                                                               \
            goto label;                                                                                                \
        ASSASIN_WINDOW(assasin_in##stream, assasin_a0, assasin_a1, width);                                             \
    }

#define ASSASIN_MEMORY_LOAD(stream, type, limit, label)                                                                \
    __extension__({                                                                                                    \
        if (__builtin_expect_with_probability(assasin_in##stream >= assasin_in##stream##limit, 0, 0.9999))             \
            ASSASIN_REFILL(stream, sizeof(type), label)                                                                \
        type assasin_value = *(const volatile type *)assasin_in##stream;                                               \
        assasin_in##stream += sizeof(type);                                                                            \
        if (sizeof(type) < 2)                                                                                          \
            assasin_in##stream##_end16 = 0;                                                                            \
        if (sizeof(type) < 4)                                                                                          \
            assasin_in##stream##_end32 = 0;                                                                            \
        assasin_value;                                                                                                 \
    })

/* The runtime stores the element itself: it may have to wait in the middle. */
#define ASSASIN_MEMORY_STORE(stream, type, limit, value)                                                               \
    __extension__({                                                                                                    \
        uint32_t assasin_stored = (uint32_t)(value);                                                                   \
        if (__builtin_expect_with_probability(assasin_out##stream >= assasin_out##stream##limit, 0, 0.9999)) {         \
            register uintptr_t assasin_a0 __asm__("a0") = assasin_out##stream;                                         \
            register uint32_t assasin_a1 __asm__("a1") = assasin_stored;                                               \
            register uint32_t assasin_a2 __asm__("a2") = sizeof(type);                                                 \
            __asm__ volatile("call assasin_append_" #stream                                                            \
                             : "+r"(assasin_a0), "+r"(assasin_a1), "+r"(assasin_a2)                                    \
                             :                                                                                         \
                             : ASSASIN_RUNTIME_CLOBBERS);                                                              \
            ASSASIN_WINDOW(assasin_out##stream, assasin_a0, assasin_a1, sizeof(type));                                 \
        } else {                                                                                                       \
            *(type *)assasin_out##stream = (type)assasin_stored;                                                       \
            assasin_out##stream += sizeof(type);                                                                       \
            if (sizeof(type) < 2)                                                                                      \
                assasin_out##stream##_end16 = 0;                                                                       \
            if (sizeof(type) < 4)                                                                                      \
                assasin_out##stream##_end32 = 0;                                                                       \
        }                                                                                                              \
    })

/** `width` bytes of the ring of `bytes` bytes at `base`, little-endian, from `distance` before offset or address `at`.
 */
static inline uint32_t assasin_ring_read(uintptr_t base, uintptr_t bytes, uintptr_t at, uint32_t distance,
                                         uint32_t width) {
    uintptr_t p = at - distance;
    uint32_t value = 0;
    if (p < base)
        p += bytes;
    for (uint32_t i = 0; i < width; i++) {
        value |= (uint32_t) * (const volatile assasin_u8 *)p << (8 * i);
        if (width > 1 && ++p == base + bytes)
            p = base;
    }
    return value;
}
#define ASSASIN_PEEK_IN(stream, width, distance)                                                                       \
    __extension__({                                                                                                    \
        uintptr_t assasin_ring = (uintptr_t)1 << assasin_ring_log2();                                                  \
        uintptr_t assasin_base = ASSASIN_CORE_ISB_BASE + (stream)*assasin_ring;                                        \
        uintptr_t assasin_at = assasin_base + (ASSASIN_IN_TAIL(stream) & (assasin_ring - 1));                          \
        assasin_ring_read(assasin_base, assasin_ring, assasin_at, distance, width);                                    \
    })
#define ASSASIN_PEEK_OUT(stream, width, distance)                                                                      \
    assasin_ring_read(assasin_out##stream##_base, (uintptr_t)1 << assasin_ring_log2(), assasin_out##stream, distance,  \
                      width)

#define ASSASIN_LOAD_U8(stream, end)  ((uint32_t)ASSASIN_MEMORY_LOAD(stream, assasin_u8, _end8, end))
#define ASSASIN_LOAD_S8(stream, end)  ((int32_t)(int8_t)ASSASIN_MEMORY_LOAD(stream, assasin_u8, _end8, end))
#define ASSASIN_LOAD_U16(stream, end) ((uint32_t)ASSASIN_MEMORY_LOAD(stream, assasin_u16, _end16, end))
#define ASSASIN_LOAD_S16(stream, end) ((int32_t)(int16_t)ASSASIN_MEMORY_LOAD(stream, assasin_u16, _end16, end))
#define ASSASIN_LOAD_U32(stream, end) ((uint32_t)ASSASIN_MEMORY_LOAD(stream, assasin_u32, _end32, end))
#define ASSASIN_LOAD_S32(stream, end) ((int32_t)ASSASIN_MEMORY_LOAD(stream, assasin_u32, _end32, end))
#define ASSASIN_MEMORY_TAKE(stream, load)                                                                              \
    __extension__({                                                                                                    \
        __label__ assasin_none;                                                                                        \
        uint32_t assasin_taken = 0;                                                                                    \
        assasin_taken = load(stream, assasin_none);                                                                    \
    assasin_none:                                                                                                      \
        assasin_taken;                                                                                                 \
    })
#define ASSASIN_LOAD_INTO_U32(stream, variable, end) ((variable) = ASSASIN_LOAD_U32(stream, end))
#define ASSASIN_TAKE_U8(stream)                      ASSASIN_MEMORY_TAKE(stream, ASSASIN_LOAD_U8)
#define ASSASIN_TAKE_U32(stream)                     ASSASIN_MEMORY_TAKE(stream, ASSASIN_LOAD_U32)
#define ASSASIN_STORE_U8(stream, value)              ASSASIN_MEMORY_STORE(stream, assasin_u8, _end8, value)
#define ASSASIN_STORE_U16(stream, value)             ASSASIN_MEMORY_STORE(stream, assasin_u16, _end16, value)
#define ASSASIN_STORE_U32(stream, value)             ASSASIN_MEMORY_STORE(stream, assasin_u32, _end32, value)
#define ASSASIN_PEEK_IN_U8(stream, distance)         ASSASIN_PEEK_IN(stream, 1, distance)
#define ASSASIN_PEEK_IN_U16(stream, distance)        ASSASIN_PEEK_IN(stream, 2, distance)
#define ASSASIN_PEEK_IN_U32(stream, distance)        ASSASIN_PEEK_IN(stream, 4, distance)
#define ASSASIN_PEEK_OUT_U8(stream, distance)        ASSASIN_PEEK_OUT(stream, 1, distance)
#define ASSASIN_PEEK_OUT_U16(stream, distance)       ASSASIN_PEEK_OUT(stream, 2, distance)
#define ASSASIN_PEEK_OUT_U32(stream, distance)       ASSASIN_PEEK_OUT(stream, 4, distance)

#define ASSASIN_IN_HEAD(stream)  assasin_position(&assasin_in_state[stream], assasin_in##stream)
#define ASSASIN_IN_TAIL(stream)  ASSASIN_CSR(ASSASIN_CSR_ITAIL + (stream))
#define ASSASIN_RING_LOG2        assasin_ring_log2()
#define ASSASIN_IN_END(stream)   ASSASIN_CSR(ASSASIN_CSR_IEND + (stream))
#define ASSASIN_OUT_HEAD(stream) assasin_position(&assasin_out_state[stream], assasin_out##stream)

#endif
