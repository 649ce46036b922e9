// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.log2Ceil

/** A read of an element group in the same cycle, and of an element that begins at a byte of it. */
class ElementReadIO(p: VectorParams) extends RegisterReadIO(p) {
  val byte = Output(UInt(log2Ceil(p.dBytes).W))

  /** From `byte` on, at least to the end of an element that is aligned to its size. */
  val element = Input(UInt(p.eLen.W))
}
