/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * \file
 * Intrinsics of VarVE, the vector unit for values of every width (docs/varve/isa.md).
 *
 * A kernel is written once, in the terms of VarVE-full: declare streams, and for each strip unpack, compute, pack. One
 * macro chooses what it becomes; results are the same as long as no value leaves VARVE_LANE bits:
 *
 * | macro        | a strip is                                             | file           | compiler   |
 * |--------------|--------------------------------------------------------|----------------|------------|
 * | VARVE_FULL   | as many values as fit the registers, each of its width | varve_full.h   | clang 19   |
 * | VARVE_PUP    | a vector of VARVE_LANE-bit lanes, from packed streams  | varve_pup.h    | clang 19   |
 * | VARVE_SCALAR | one value                                              | varve_scalar.h | any C11    |
 * | VARVE_MODEL  | as VARVE_FULL, executed by the functional model        | varve_model.h  | the host's |
 *
 * With VARVE_FULL and -DVARVE_PUBLISHED the loop consumes by separate instructions, as the dissertation's does; with
 * -DVARVE_FINE programs also run on units whose slots have fewer than 8 bits (three instructions for one of mask
 * logic); without it VV_BEGIN stops there by an illegal instruction.
 *
 *     uintptr_t q03c(uintptr_t rows, const void *custkey, const void *segment, void *out) {
 *         VV_IN_FR(0, segment, 8, rows, VV_UNSIGNED);
 *         VV_IN_FR(1, custkey, 32, rows, VV_UNSIGNED);
 *         VV_OUT_FW(0, out, 32, VV_UNSIGNED);
 *         VV_BEGIN();
 *         VV_STRIPS(3) {
 *             vvmask_t m = vv_eq_x(vv_unpack(0), 1);
 *             vv_pack_m(m, vv_unpack_m(m, 1), 0);
 *         }
 *         VV_END_IN(0);
 *         VV_END_IN(1);
 *         return VV_END_OUT(0);
 *     }
 *
 * **Declarations** stand in the function that uses the stream; `id` is an integer constant, 0 to 7 for outputs, 0 to
 * NIN - 1 for inputs. They may make local variables. flags: VV_UNSIGNED or VV_SIGNED; VV_MB8, VV_MB16, VV_MB64 (default
 * 32), the width at which results wrap; VV_BUFFER: stream buffer `id` instead of memory, `base` is then the number of
 * bits (0 to 7) to leave out, and `count` may be VV_TO_END.
 *
 * - `VV_IN_FR(id, base, width, count, flags)`: values of `width` bits, 1 to 64, without gaps, bit 0 first
 * - `VV_IN_VR(id, base, widths, count, flags)`: each of its own width, one byte each at `widths` (with VV_BUFFER: a
 *   stream number)
 * - `VV_IN_HR(id, base, table, width, count, flags)`: Huffman codes of `width`-bit symbols; full, pup and model only
 * - `VV_OUT_FW(id, base, width, flags)`, `VV_OUT_VW(id, base, widths, flags)`, `VV_OUT_HW(id, base, table, width,
 *   flags)`
 * - `VV_END_IN(id)`, `VV_END_OUT(id)`: end a stream; values consumed, written. A last partial byte of an output is
 *   written with zeros above
 * - `VV_BEGIN()`: behind the declarations, before the first strip
 * - `VV_STRIPS(set) { ... }`: once a strip, until the streams of `set` (bit s: input s) are at their end. In it come
 *   unpacking and computing first, then packing and sums: unpacking or computing behind a pack is an illegal
 *   instruction. Every input of the loop is in `set` and unpacked once. With VARVE_PUP streams with VV_TO_END must
 *   be of equal length, and a strip with sums must have a counted one.
 * - `VV_STRIPS_FAR(set) { ... }`: the same. With VARVE_FULL the core runs one strip further ahead of the unit, for one
 *   empty strip more at the end: faster where there are many strips and the core has little to do in one
 *
 * **Values** are vv_t, masks vvmask_t; x is a number (constants from -16 to 15 cost no register), m a mask.
 *
 * - `vv_unpack(id)`, `vv_unpack_m(m, id)`: next values; under a mask the others are not used
 * - `vv_pack(v, id)`, `vv_pack_m(m, v, id)`: append. VV_END_OUT says how many there were; in a strip
 *   `vv_pack_count(v, id)` and `vv_pack_count_m(m, v, id)` append and return it, for which the core waits
 * - `vv_add(a, b)`, also sub mul min max and or xor bic asl asr (div: not with VARVE_PUP); `vv_add_x(a, x)`, also rsub;
 *   `vv_add_m(m, a, b)`, `vv_add_xm(m, a, x)`: 0 where the mask is off
 * - `vv_eq(a, b)`, also ne lt le; `vv_eq_x(a, x)`, also gt ge; `vv_eq_m(m, a, b)`, `vv_eq_xm(m, a, x)`: off where m is
 * - `vv_mask_and`, `vv_mask_or`, `vv_mask_andn` (first and not second), `vv_mask_not`; `vv_mask_between_x(a, low,
 * high)`
 * - `vv_dup(x)`; `vv_sum32(v)`, `vv_sum32_m(m, v)`: sum of the strip's elements modulo 2^32; `vv_sum(v)`: modulo 2^64
 * (not with VARVE_PUP)
 * - VARVE_FULL and VARVE_MODEL only: `vv_index(first, step)`: first, first + step, ... modulo 2^32, step a constant
 * from -16 to 15; `vv_num(v)`: number of elements. VARVE_FULL only: `vv_from_s(v, n)`, `vv_from_u(v, n)`: the first n
 *   elements of a vector of riscv_vector.h, LMUL 1
 *
 * - `vv_number(x)`: x in a register of the core from here on. Before a loop it keeps the compiler from loading a
 * constant in every strip.
 * - `vv_hold(v)`: v is used after more than 31 further results of the strip. Only VARVE_MODEL, which gives registers to
 *   results in turn, needs to know.
 * - `vv_keep(v)`, behind the packs: no result since v has v's register. Where v was unpacked, the next strip's can be
 *   written while this strip's results wait to be packed. Only VARVE_FULL gains from it.
 *
 * A value unpacked under a mask is used only under that mask or one inside it, or where a zero does no harm.
 */
#ifndef ASSASIN_OFFLOAD_VARVE_H
#define ASSASIN_OFFLOAD_VARVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VV_SIGNED   0u
#define VV_UNSIGNED 0x80u
#define VV_MB8      0x1000000u
#define VV_MB16     0x2000000u
#define VV_MB64     0x4000000u
#define VV_BUFFER   0x400u
/** Until the end of the stream buffer's stream. */
#define VV_TO_END UINTPTR_MAX

/** VSFMT of a declaration. */
#define VV_FORMAT(width, flags)                                                                                        \
    ((width) | ((flags)&0x480u) |                                                                                      \
     ((flags)&VV_MB8    ? 0x000u                                                                                       \
      : (flags)&VV_MB16 ? 0x100u                                                                                       \
      : (flags)&VV_MB64 ? 0x300u                                                                                       \
                        : 0x200u))
/** The same of a VarWidth stream: `widths` is the number of a stream buffer where the flags say so. */
#define VV_FORMAT_AUX(flags, widths)                                                                                   \
    (VV_FORMAT(0u, flags) | ((flags)&VV_BUFFER ? ((uint32_t)(uintptr_t)(widths)&7u) << 11 : 0u))

/** A Huffman table (isa.md 5.3): canonical codes, shorter first. */
struct varve_huffman {
    uint16_t magic;       /**< VARVE_HUFFMAN_MAGIC */
    uint16_t symbols;     /**< how many, 1 to 256 */
    uint8_t longest;      /**< bits of the longest code, 1 to 15 */
    uint8_t width;        /**< bits of a symbol, 1 to 16 */
    uint16_t zero;        /**< 0 */
    uint16_t count[16];   /**< [L]: codes of L bits; [0] = 0 */
    uint16_t symbol[256]; /**< in the order of the codes */
} __attribute__((aligned(8)));

#define VARVE_HUFFMAN_MAGIC 0x4856u
_Static_assert(sizeof(struct varve_huffman) == 552, "the unit reads 552 bytes");

#define VV_INLINE static inline __attribute__((always_inline, unused))

#if defined(VARVE_FULL)
#include "varve_full.h"
#elif defined(VARVE_PUP)
#include "varve_pup.h"
#elif defined(VARVE_SCALAR)
#include "varve_scalar.h"
#elif defined(VARVE_MODEL)
#include "varve_model.h"
#else
#error "varve.h: define VARVE_FULL, VARVE_PUP, VARVE_SCALAR or VARVE_MODEL"
#endif

#ifndef VARVE_MODEL
#define vv_hold(v) ((void)(v))
#endif
#ifndef VARVE_FULL
#define vv_keep(v) ((void)(v))
#endif
#ifndef VV_STRIPS_FAR
#define VV_STRIPS_FAR VV_STRIPS
#endif
#if defined(VARVE_MODEL) || defined(VARVE_SCALAR)
#define vv_number(x) ((intptr_t)(x))
#endif

/** Elements between two numbers, both included. */
VV_INLINE vvmask_t vv_mask_between_x(vv_t a, intptr_t low, intptr_t high) {
    return vv_mask_and(vv_ge_x(a, low), vv_le_x(a, high));
}

#endif
