// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.log2Ceil

/** Elements of a register of VarVE-full, one at a time, for the commit stage while nothing is under way. */
class ElementLookIO(p: VectorParams) extends Bundle {

  /** The register is read in this cycle, and stays known behind it. */
  val take = Input(Bool())

  /** Number of an element; in the same cycle the element, extended to 64 bits. */
  val index = Input(UInt(log2Ceil(p.elements).W))
  val value = Output(UInt(64.W))
}
