// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, log2Ceil}

/** The bytes of an element group that belong to certain elements of a register group. */
object ElementBytes {

  /** Bytes of element group number `beat` of a register group in elements `vstart` to `evl` - 1.
    *
    * @param eew
    *   log2 of the bytes of an element
    */
  def body(p: VectorParams, eew: UInt, beat: UInt, vstart: UInt, evl: UInt): UInt = {
    def part(elements: UInt): UInt = {
      val bytes = (elements.pad(p.vlBits + 1) << eew)(p.vlBits, 0)
      val whole = bytes >> log2Ceil(p.dBytes)
      Mux(
        whole > beat,
        Fill(p.dBytes, 1.U(1.W)),
        Mux(whole === beat, LaneWidths.ones(bytes(log2Ceil(p.dBytes) - 1, 0), p.dBytes), 0.U)
      )
    }
    part(evl) & ~part(vstart)
  }

  /** The bits of `mask` that belong to the elements of element group number `beat` of a register group, the first in
    * bit 0. There are as many as the element group has elements; those above are 0.
    */
  def flags(p: VectorParams, eew: UInt, beat: UInt, mask: UInt): UInt = {
    def part(log: Int): UInt = {
      val elements = p.dBytes >> log
      (mask >> (beat * elements.U))(elements - 1, 0).pad(p.dBytes)
    }
    MuxLookup(eew, part(0))((1 to log2Ceil(p.eLen / 8)).map(log => log.U -> part(log)))
  }

  /** Bytes of element group number `beat` of a register group in elements whose bit of `mask` is 1. */
  def chosen(p: VectorParams, eew: UInt, beat: UInt, mask: UInt): UInt = {
    def spread(log: Int): UInt = {
      val elements = p.dBytes >> log
      val bits     = (mask >> (beat * elements.U))(elements - 1, 0)
      Cat(bits.asBools.map(Fill(1 << log, _)).reverse)
    }
    MuxLookup(eew, spread(0))((1 to log2Ceil(p.eLen / 8)).map(log => log.U -> spread(log)))
  }
}
