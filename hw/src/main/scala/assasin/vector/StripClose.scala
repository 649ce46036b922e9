// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.log2Ceil

/** An instruction that packs or adds up goes by the NumE of its strip, and has read its register. */
class StripClose(p: VectorParams) extends Bundle {

  /** Elements at which the strip ends at the latest. */
  val count = UInt(log2Ceil(p.elements + 1).W)

  /** As [[VariableUse]] has it. */
  val place = new StripPlace
}
