/* SPDX-License-Identifier: BSD-3-Clause */
/* Stream pointers kept by software, see assasin_memory.h. A window never leaves a grain: half a ring where the rings
 * are ping-pong buffers, a page where they are DRAM. What is used up is given back, and more is asked for, by the CSRs
 * of the contract; the runtime's start has set SGRAIN to the half ring.
 *
 * compute calls these functions from inline assembly, which says what they change; the Makefile has the compiler keep
 * to that. There is one for each stream because a CSR's number is part of its instruction. */
#include <assasin.h>

/** New cursor, and the limit below which it allows accesses of the width asked for, in a0 and a1. */
struct window {
    uintptr_t cursor;
    uintptr_t limit;
};

struct assasin_stream_state assasin_in_state[SCOMP_MAX_STREAMS], assasin_out_state[SCOMP_MAX_STREAMS];

#define INLINE          static inline __attribute__((always_inline))
#define CSR_WRITE(n, v) __asm__ volatile("csrw %0, %1" : : "i"(n), "r"(v) : "memory")
#define MEM_PAGE        4096u /* of flash, docs/architecture.md */

INLINE uint32_t csr_wait(const uint32_t number) {
    uint32_t value;
    __asm__ volatile("csrr %0, %1" : "=r"(value) : "i"(number) : "memory");
    return value;
}

/** Bytes from `position` to the end of its grain. */
INLINE uint32_t in_grain(uint32_t position, uint32_t ring) {
    uint32_t grain = ring / 2;
#ifdef ASSASIN_MEM
    if (grain > MEM_PAGE)
        grain = MEM_PAGE;
#endif
    return grain - (position & (grain - 1));
}

INLINE uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/** Gives back what is granted and takes what has come since. \return whether there is anything; false: the stream's
 * end. */
INLINE int take(const unsigned stream, struct assasin_stream_state *state, uint32_t ring) {
    uint32_t from = state->granted;
    CSR_WRITE(ASSASIN_CSR_IHEADW + stream, from);
    uint32_t more = csr_wait(ASSASIN_CSR_IWAIT + stream) - from;
    state->granted = from + least(more, in_grain(from, ring));
    return more != 0;
}

/* A window whose first `width` bytes can be loaded at the cursor; limit 0: fewer are left in the stream. */
INLINE struct window refill(const unsigned stream, uintptr_t cursor, uint32_t width) {
    struct assasin_stream_state *state = &assasin_in_state[stream];
    uint32_t ring = 1u << assasin_ring_log2();
    uintptr_t base = ASSASIN_CORE_ISB_BASE + stream * ring;
    uint32_t position = assasin_position(state, cursor);

    if (position == state->granted && !take(stream, state, ring))
        return (struct window){cursor, 0};
    if (state->granted - position >= width && !(position & (width - 1))) {
        state->position = position;
        state->start = base + (position & (ring - 1));
        return (struct window){state->start, state->start + (state->granted - position) - (width - 1)};
    }
    /* Byte by byte; at the stream's end nothing has changed for the narrower loads that may follow. */
    uint32_t element = 0;
    for (uint32_t i = 0; i < width; i++) {
        if (position + i == state->granted && !take(stream, state, ring))
            return (struct window){cursor, 0};
        element |= (uint32_t) * (const volatile assasin_u8 *)(base + ((position + i) & (ring - 1))) << (8 * i);
    }
    state->element = element;
    state->position = position;
    state->start = (uintptr_t)&state->element;
    return (struct window){state->start, state->start + 1};
}

/* Stores the low `width` bytes of `value` at the cursor, waiting for room; then a window, possibly empty. */
INLINE struct window append(const unsigned stream, uintptr_t cursor, uint32_t value, uint32_t width) {
    struct assasin_stream_state *state = &assasin_out_state[stream];
    uint32_t ring = 1u << assasin_ring_log2();
    uintptr_t base = ASSASIN_CORE_OSB_BASE + stream * ring;
    uint32_t position = assasin_position(state, cursor);

    for (uint32_t i = 0; i < width; i++, position++, value >>= 8) {
        if (position == state->granted) {
            CSR_WRITE(ASSASIN_CSR_OHEADW + stream, position);
            uint32_t room = csr_wait(ASSASIN_CSR_OWAIT + stream) - position;
            state->granted = position + least(room, in_grain(position, ring));
        }
        *(assasin_u8 *)(base + (position & (ring - 1))) = (uint8_t)value;
    }
    state->position = position;
    state->start = base + (position & (ring - 1));
    /* Where the next element would be misaligned: none but bytes without asking. */
    if (position & (width - 1))
        return (struct window){state->start, 0};
    return (struct window){state->start, state->start + (state->granted - position) - (width - 1)};
}

#define STREAM(n)                                                                                                      \
    struct window assasin_refill_##n(uintptr_t cursor, uint32_t width);                                                \
    struct window assasin_refill_##n(uintptr_t cursor, uint32_t width) {                                               \
        return refill(n, cursor, width);                                                                               \
    }                                                                                                                  \
    struct window assasin_append_##n(uintptr_t cursor, uint32_t value, uint32_t width);                                \
    struct window assasin_append_##n(uintptr_t cursor, uint32_t value, uint32_t width) {                               \
        return append(n, cursor, value, width);                                                                        \
    }
STREAM(0)
STREAM(1)
STREAM(2)
STREAM(3)
STREAM(4)
STREAM(5)
STREAM(6)
STREAM(7)
