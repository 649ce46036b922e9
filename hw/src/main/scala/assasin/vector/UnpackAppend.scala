// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{FillInterleaved, MuxLookup, PopCount, RegEnable, Valid, log2Ceil}

/** Values in lanes, a beat of an instruction that unpacks them. */
class LaneBeat(p: VectorParams) extends Bundle {
  val first = Bool()
  val last  = Bool()

  /** Number of the beat. */
  val beat = UInt(log2Ceil(p.elements).W)

  /** log2 of the bytes of a lane, 0 to 3, and the lanes. */
  val eew  = UInt(2.W)
  val data = UInt(p.dLen.W)

  /** Lanes that hold an element; those whose element is active. Others' elements are 0. */
  val present = UInt(p.dBytes.W)
  val active  = UInt(p.dBytes.W)

  val unsigned = Bool()
  val mb       = UInt(2.W)
}

class UnpackAppendIO(p: VectorParams) extends Bundle {
  val in = Flipped(Valid(new LaneBeat(p)))

  /** In the cycle behind an instruction's last beat: its number of elements. */
  val counted = Valid(UInt(log2Ceil(p.elements + 1).W))

  /** Two cycles behind an instruction's last beat, and as it is until the next beat comes. */
  val out = Valid(new VariableOperand(p))
}

/** Puts values of lanes into a register as elements of their own widths, one behind the other, as many as fit
  * (docs/varve/unit.md 5.1, U3 and U4): the width of each lane's value in one stage, its slots behind those of the
  * elements before it in the next. A beat a cycle; behind an element that does not fit there is none.
  */
class UnpackAppend(p: VectorParams) extends Module {
  require(p.full && p.align == 8, s"align = ${p.align}: elements are appended in slots of 8 bits")
  val io = IO(new UnpackAppendIO(p))

  private val logs     = 0 to 3
  private val fillBits = log2Ceil(p.slots + 1)

  // ---- Widths ---------------------------------------------------------------------------------------------------------------
  private val in                                = io.in.bits
  private def byLog[T <: Data](of: Int => T): T = MuxLookup(in.eew, of(0))(logs.tail.map(log => log.U -> of(log)))
  private val widths = Seq.tabulate(p.dBytes) { lane =>
    val width =
      byLog(log => if (lane < (p.dBytes >> log)) LaneWidths(in.data, log, in.unsigned)(lane) else 0.U(7.W))
    Mux(in.active(lane), width, 0.U)
  }
  private val valid   = RegNext(io.in.valid, false.B)
  private val u       = RegEnable(in, io.in.valid)
  private val uWidths = widths.map(width => RegEnable(width, io.in.valid))

  // ---- Slots ----------------------------------------------------------------------------------------------------------------
  private val data  = Reg(UInt(p.dLen.W))
  private val known = Reg(Vec(p.elements, UInt(7.W)))
  private val fill  = Reg(UInt(fillBits.W))
  private val count = Reg(UInt(log2Ceil(p.elements + 1).W))
  private val full  = Reg(Bool())

  private val fillNow  = Mux(u.first, 0.U, fill)
  private val sizes    = uWidths.zipWithIndex.map { case (width, l) => Mux(u.present(l), LaneWidths.slots(width), 0.U) }
  private val ends     = sizes.scanLeft(fillNow.pad(fillBits + 4))((sum, size) => (sum + size)(fillBits + 3, 0)).tail
  private val fits     = VecInit(ends.map(_ <= p.slots.U)).asUInt & u.present & ~Mux(!u.first && full, u.present, 0.U)
  private val overflow = (u.present & ~fits) =/= 0.U

  // Bytes of lanes that belong to elements which fit.
  private def byEew[T <: Data](of: Int => T): T = MuxLookup(u.eew, of(0))(logs.tail.map(log => log.U -> of(log)))
  private val sizeOf = VecInit(sizes.zipWithIndex.map { case (size, l) => Mux(fits(l), size, 0.U) })
  private val live = VecInit(Seq.tabulate(p.dBytes) { b =>
    byEew(log => sizeOf(b >> log) > (b & ((1 << log) - 1)).U)
  }).asUInt
  private val squeeze = Module(new Squeeze(p))
  squeeze.io.data := u.data
  squeeze.io.live := live
  private val kept     = squeeze.io.out & FillInterleaved(8, LaneWidths.ones(squeeze.io.count, p.dBytes))
  private val appended = (kept << (fillNow ## 0.U(3.W)))(p.dLen - 1, 0)
  private val countNow = (Mux(u.first, 0.U, count) + PopCount(fits))(log2Ceil(p.elements + 1) - 1, 0)
  io.counted.valid := valid && u.last
  io.counted.bits  := countNow
  when(valid) {
    data  := Mux(u.first, 0.U, data) | appended
    fill  := fillNow + squeeze.io.count
    count := countNow
    full  := (!u.first && full) || overflow
    for (element <- 0 until p.elements) {
      val (mine, lane) = (
        byEew(log => u.beat === (element / (p.dBytes >> log)).U),
        (log: Int) => element % (p.dBytes >> log)
      )
      val width = byEew(log => Mux(fits(lane(log)), uWidths(lane(log)), 0.U))
      when(mine)(known(element) := width).elsewhen(u.first)(known(element) := 0.U)
    }
  }

  io.out.valid                  := RegNext(valid && u.last, false.B)
  io.out.bits.data              := data
  io.out.bits.metadata.widths   := known
  io.out.bits.metadata.live     := LaneWidths.ones(fill, p.slots)
  io.out.bits.metadata.count    := count
  io.out.bits.metadata.unsigned := RegNext(u.unsigned)
  io.out.bits.metadata.mb       := RegNext(u.mb)
}
