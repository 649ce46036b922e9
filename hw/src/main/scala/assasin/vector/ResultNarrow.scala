// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, log2Ceil}

/** The lower halves of the elements of an element group. */
object ResultNarrow {

  /** They stand together, in both halves of the result.
    *
    * @param eew
    *   log2 of the bytes of an element, at least 1
    * @param unit
    *   bits of `data` that belong to a byte
    */
  def apply(p: VectorParams, eew: UInt, data: UInt, unit: Int = 8): UInt = {
    def halves(log: Int): UInt = {
      val wide = unit << log
      Cat((0 until (p.dBytes >> log)).map(i => data(i * wide + wide / 2 - 1, i * wide)).reverse)
    }
    Fill(2, MuxLookup(eew, halves(1))((2 to log2Ceil(p.eLen / 8)).map(log => log.U -> halves(log))))
  }
}
