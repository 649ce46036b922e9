// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** What the table of OP-V says of an instruction. */
class VectorControls extends Bundle {

  /** The forms that exist: by vector (OPIVV, OPMVV), by scalar (OPIVX, OPMVX), by immediate (OPIVI). */
  val vv = Bool()
  val vx = Bool()
  val vi = Bool()

  /** [[IntegerFunction]]. */
  val function = UInt(IntegerFunction.bits.W)

  /** vmerge (vm = 0) and vmv.v (vm = 1). */
  val merge = Bool()

  /** The result is a bit an element, in a mask register. */
  val maskResult = Bool()

  /** v0, with vm = 0, is a carry or borrow. `needsCarry`: vm = 1 does not exist. */
  val carry      = Bool()
  val needsCarry = Bool()

  /** The operands are mask registers, too; the bits of vs1 or of the result may be inverted. */
  val bitwise   = Bool()
  val invertB   = Bool()
  val invertOut = Bool()

  /** vzext, vsext; vs1 says which. */
  val extend = Bool()

  /** The elements of vd have 2 * SEW bits; with `wideA` those of vs2 too. Narrow operands are extended. */
  val widen   = Bool()
  val wideA   = Bool()
  val signedA = Bool()
  val signedB = Bool()

  /** The elements of vs2 have 2 * SEW bits. */
  val narrow = Bool()

  /** vd is the third operand; with `swapA` it is a factor and vs2 the summand. */
  val third = Bool()
  val swapA = Bool()

  /** The immediate is unsigned. */
  val unsignedImmediate = Bool()

  /** The elements of vs2 are reduced to one, with element 0 of vs1, in element 0 of vd. */
  val reduce = Bool()

  /** vmsbf, vmsof, vmsif, viota, vid as OPMVV with vs1 = 1, 2, 3, 16, 17. */
  val maskUnary = Bool()

  /** Slides, gathers and vcompress. What is a slide upwards by scalar is vrgatherei16 by vector. */
  val permute = Bool()

  /** vmv<n>r.v by immediate, with n - 1 in it. */
  val wholeMove = Bool()

  /** vmv.x.s, vcpop.m, vfirst.m as OPMVV with vs1 = 0, 16, 17, vmv.s.x as OPMVX with vs2 = 0. */
  val scalarMove = Bool()
}
