// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.log2Ceil

/** What a VarVE-full register holds besides its data (docs/varve/unit.md 6.1). */
class VariableMetadata(p: VectorParams) extends Bundle {

  /** Bits of each element's value: 0 for those from `count` on. */
  val widths = Vec(p.elements, UInt(7.W))

  /** Slots that hold bits of a value. An element has the next ceil(width / G) of them, element 0 the lowest. */
  val live = UInt(p.slots.W)

  /** Number of elements. */
  val count = UInt(log2Ceil(p.elements + 1).W)

  /** The elements are unsigned; log2 of the largest width, less 3. */
  val unsigned = Bool()
  val mb       = UInt(2.W)
}

/** A VarVE-full register. */
class VariableOperand(p: VectorParams) extends Bundle {
  val data     = UInt(p.vLen.W)
  val metadata = new VariableMetadata(p)
}
