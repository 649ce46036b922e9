// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.log2Ceil

class SlotPrefixIO(p: VectorParams) extends Bundle {
  private val sumBits = log2Ceil(p.slotsOfElement * p.elements + 1)

  val sizes = Input(Vec(p.elements, UInt(p.sizeBits.W)))
  val sums  = Output(Vec(p.elements + 1, UInt(sumBits.W)))
}

/** The network of [[AlignUnit]] that finds where each element begins, by itself, so that its area can be told. */
class SlotPrefix(p: VectorParams) extends Module {
  val io = IO(new SlotPrefixIO(p))

  io.sums := VecInit(PrefixSum(io.sizes, io.sums.head.getWidth))
}
