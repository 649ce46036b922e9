// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{PopCount, Valid, log2Ceil}

class StripStateIO(p: VectorParams) extends Bundle {
  private val countBits = log2Ceil(p.elements + 1)

  /** An instruction past the commit point will tell a number of elements; one that packs or adds up will not go beyond
    * the strip.
    */
  val counts = Input(Bool())
  val closes = Input(Bool())

  /** Numbers of elements as they become known: of those that count, of those that close. */
  val counted = Flipped(Vec(2, Valid(UInt(countBits.W))))
  val closed  = Flipped(Vec(2, Valid(UInt(countBits.W))))

  /** VRCNUM: NumE is EMAX again. */
  val renew = Input(Bool())

  /** NUME is written. */
  val write = Flipped(Valid(UInt(32.W)))

  /** NumE and PACKED. */
  val numE   = Output(UInt(countBits.W))
  val packed = Output(Bool())

  /** PACKED for the instruction behind the one that leaves the commit stage. */
  val next = Output(Bool())

  /** NumE has its value for those that pack or add up; for VRCNUM. */
  val known   = Output(Bool())
  val settled = Output(Bool())

  val clear = Input(Bool())
}

/** NumE and PACKED (docs/varve/isa.md 0 and 1.6): the least number of elements that an instruction of the strip has
  * yielded, and whether its elements are being stored.
  */
class StripState(p: VectorParams) extends Module {
  val io = IO(new StripStateIO(p))

  private val most    = p.elements.U(log2Ceil(p.elements + 1).W)
  private val numE    = RegInit(most)
  private val packed  = RegInit(false.B)
  private val open    = RegInit(0.U(p.tagBits.W))
  private val closing = RegInit(0.U(p.tagBits.W))

  private def least(a: UInt, b: UInt): UInt = Mux(a < b, a, b)
  private val all = (io.counted ++ io.closed).map(n => Mux(n.valid, n.bits, most)).foldLeft(numE)(least)
  numE                   := all
  open                   := open + io.counts - PopCount(io.counted.map(_.valid))
  closing                := closing + io.closes - PopCount(io.closed.map(_.valid))
  when(io.closes)(packed := true.B)
  when(io.renew) {
    numE   := most
    packed := false.B
  }
  when(io.write.valid) {
    numE   := least(most, Mux(io.write.bits(15, 0) > most, most, io.write.bits(15, 0))(most.getWidth - 1, 0))
    packed := io.write.bits(31)
  }
  when(io.clear) {
    numE    := most
    packed  := false.B
    open    := 0.U
    closing := 0.U
  }
  io.numE    := numE
  io.packed  := packed
  io.next    := !io.renew && (packed || io.closes)
  io.known   := open === 0.U
  io.settled := open === 0.U && closing === 0.U
}
