// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxCase}

/** What [[ElementSizes]] has to know of the scalar of a [[VariableRequest]], found a stage before: the way through the
  * scalar's width to the sizes would be the unit's longest.
  */
class VariableScalar extends Bundle {

  /** Bits that it needs. */
  val bits = UInt(7.W)

  /** The smallest MB that it fits in: 8 << `holding` bits. */
  val holding = UInt(2.W)

  /** Of vv.index, for an element whose bits above [[IndexOffset.width]] are those of the scalar and -1, 0, 1: the bits
    * that these need, and whether the element is negative.
    */
  val highs     = Vec(3, UInt(7.W))
  val negatives = Vec(3, Bool())
}

object VariableScalar {

  /** The number: `scalar` cut to MBMAX bits, sign-extended to 64. */
  def wide(p: VectorParams, scalar: UInt): UInt = {
    val number = if (p.maxWidth < p.xLen) scalar(p.maxWidth - 1, 0) else scalar
    if (number.getWidth == 64) number else Cat(Fill(64 - number.getWidth, number(number.getWidth - 1)), number)
  }

  /** How many bits are left of a value if those above the highest 1 are cut. */
  def bitsOf(value: UInt): UInt =
    MuxCase(0.U(7.W), (value.getWidth - 1 to 0 by -1).map(i => value(i) -> (i + 1).U(7.W)))

  /** Whether the elements of vv.index are unsigned. */
  def indexUnsigned(number: UInt, step: UInt): Bool = !number(63) && !step(4)

  def apply(p: VectorParams, scalar: UInt, step: UInt): VariableScalar = {
    val number     = wide(p, scalar)
    val negative   = number(63)
    val offsetBits = IndexOffset.width(p)
    val known      = Wire(new VariableScalar)
    known.bits := bitsOf(number ^ Fill(64, negative)) + negative
    val Seq(above8, above16, above32) = Seq(3, 4, 5).map(ShortNumbers.abovePower(known.bits, _))
    known.holding := Cat(above16, Mux(above16, above32, above8))
    for ((change, i) <- Seq(-1, 0, 1).zipWithIndex) {
      val high = (number(31, offsetBits) + ((1 << (32 - offsetBits)) + change).U)(31 - offsetBits, 0)
      val sign = high(31 - offsetBits) && !indexUnsigned(number, step)
      known.negatives(i) := sign
      known.highs(i)     := bitsOf(high ^ Fill(32 - offsetBits, sign))
    }
    known
  }
}
