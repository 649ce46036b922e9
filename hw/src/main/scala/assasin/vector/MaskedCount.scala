// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Decoupled, MuxLookup, PopCount, RegEnable, Valid, log2Ceil}

class MaskedCountIO(p: VectorParams) extends Bundle {

  /** A beat of an instruction with a mask, and the slots that the value of each lane takes. */
  val in    = Flipped(Valid(new LaneBeat(p)))
  val slots = Input(Vec(p.dBytes, UInt(p.sizeBits.W)))

  /** An instruction's first beat may come. */
  val room = Output(Bool())

  /** Masks of the instructions in their order. */
  val mask = Flipped(Decoupled(new UnpackMask(p)))

  /** Two cycles behind an instruction's last beat, or one behind its mask: its number of elements. */
  val counted = Valid(UInt(log2Ceil(p.elements + 1).W))

  val clear = Input(Bool())
}

/** How many elements an unpack with a mask yields, found before they are appended: NumE waits for no beat then
  * (docs/varve/unit.md 6.3). What each element would take is collected while the mask is not known; then all are added
  * up at once.
  */
class MaskedCount(p: VectorParams) extends Module {
  val io = IO(new MaskedCountIO(p))

  private val sumBits  = log2Ceil(p.slotsOfElement * p.elements + 1)
  private val takes    = Reg(Vec(p.elements, UInt(p.sizeBits.W)))
  private val bound    = Reg(UInt(log2Ceil(p.elements + 1).W))
  private val complete = RegInit(false.B)
  private val adds     = complete && io.mask.valid && !io.clear

  private val beat                              = io.in.bits
  private def byEew[T <: Data](of: Int => T): T = MuxLookup(beat.eew, of(0))((1 to 3).map(log => log.U -> of(log)))
  when(io.in.valid) {
    bound := beat.bound
    for (element <- 0 until p.elements) {
      val mine = byEew(log => beat.beat === (element / (p.dBytes >> log)).U)
      when(mine)(takes(element) := byEew(log => io.slots(element % (p.dBytes >> log))))
        .elsewhen(beat.first)(takes(element) := 0.U)
    }
  }
  complete      := !io.clear && ((io.in.valid && beat.last) || (complete && !adds))
  io.room       := !complete || adds
  io.mask.ready := complete

  private val active = io.mask.bits.active
  private val sums   = PrefixSum(takes.zip(active.asBools).map { case (t, a) => Mux(a, t, 0.U) }, sumBits)
  private val within = Seq.tabulate(p.elements) { i =>
    sums(i + 1) <= p.slots.U && i.U < bound && i.U < io.mask.bits.length
  }
  io.counted.valid := RegNext(adds, false.B) && !io.clear
  io.counted.bits  := PopCount(within.map(RegEnable(_, adds)))
}
