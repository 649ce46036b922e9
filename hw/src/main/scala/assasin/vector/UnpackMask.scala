// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.log2Ceil

/** A mask register, as an unpack of VarVE-full has it. */
class UnpackMask(p: VectorParams) extends Bundle {
  val bits = UInt(p.elements.W)

  /** Its number of elements; bits from there on mean nothing. */
  val length = UInt(log2Ceil(p.elements + 1).W)

  /** Bits of elements below `length`. */
  def active: UInt = bits & LaneWidths.ones(length, p.elements)
}
