// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Decoupled, FillInterleaved, MuxLookup, PopCount, Queue, RegEnable, Valid, log2Ceil}

/** Values in lanes, a beat of an instruction that unpacks them. */
class LaneBeat(p: VectorParams) extends Bundle {
  val first = Bool()
  val last  = Bool()

  /** The instruction, and the element group that it writes. */
  val tag = UInt(p.tagBits.W)
  val eg  = UInt(p.egBits.W)

  /** Number of the beat. Without a beat's values all elements of its lanes are inactive. */
  val beat = UInt(log2Ceil(p.elements).W)

  /** log2 of the bytes of a lane, 0 to 3, and the lanes. */
  val eew  = UInt(2.W)
  val data = UInt(p.dLen.W)

  /** Lanes that hold an element; elements of all beats. */
  val present = UInt(p.dBytes.W)
  val bound   = UInt(log2Ceil(p.elements + 1).W)

  /** It has a mask: inactive elements are 0, and there are no more than the mask's. */
  val masked = Bool()

  val unsigned = Bool()
  val mb       = UInt(2.W)
}

/** A register that has been unpacked. */
class UnpackedRegister(p: VectorParams) extends Bundle {
  val tag   = UInt(p.tagBits.W)
  val eg    = UInt(p.egBits.W)
  val value = new VariableOperand(p)
}

class UnpackAppendIO(p: VectorParams) extends Bundle {
  val in = Flipped(Decoupled(new LaneBeat(p)))

  /** Masks of the instructions that have one, in their order. */
  val mask = Flipped(Decoupled(new UnpackMask(p)))

  /** Numbers of elements as they become known: of an instruction without a mask, in the cycle before `out`; of one with
    * a mask, perhaps before its elements are appended.
    */
  val counted = Vec(2, Valid(UInt(log2Ceil(p.elements + 1).W)))

  /** Two cycles behind an instruction's last beat, or later. */
  val out = Decoupled(new UnpackedRegister(p))

  /** The element group that `out` has in the next cycle for the first time. */
  val soon = Output(Valid(UInt(p.egBits.W)))

  /** Something is under way. */
  val busy = Output(Bool())

  val clear = Input(Bool())
}

/** Puts values of lanes into a register as elements of their own widths, one behind the other, as many as fit
  * (docs/varve/unit.md 5.1, U3 and U4): the width of each lane's value in one stage, its slots behind those of the
  * elements before it in the next. A beat a cycle; behind an element that does not fit there is none. Beats of an
  * instruction with a mask wait between the stages until the mask is known.
  */
class UnpackAppend(p: VectorParams) extends Module {
  require(p.full, "elements are appended with VarVE-full")
  val io = IO(new UnpackAppendIO(p))

  private val logs      = 0 to 3
  private val logD      = log2Ceil(p.dBytes)
  private val fillBits  = log2Ceil(p.slots + 1)
  private val countBits = log2Ceil(p.elements + 1)

  // ---- Widths ---------------------------------------------------------------------------------------------------------------
  private class Widths extends Bundle {
    val beat   = new LaneBeat(p)
    val widths = Vec(p.dBytes, UInt(7.W))
  }
  private val in      = io.in.bits
  private val widths  = LaneWidths.bySize(in.data, in.eew, logs, in.unsigned)
  private val waiting = Module(new Queue(new Widths, 4))
  private val count   = Module(new MaskedCount(p))
  private val enters  = io.in.valid && waiting.io.enq.ready && (!in.masked || !in.first || count.io.room)
  io.in.ready                := waiting.io.enq.ready && (!in.masked || !in.first || count.io.room)
  waiting.reset              := reset.asBool || io.clear
  waiting.io.enq.valid       := enters
  waiting.io.enq.bits.beat   := in
  waiting.io.enq.bits.widths := VecInit(widths)
  count.io.in.valid          := enters && in.masked
  count.io.in.bits           := in
  count.io.slots             := VecInit(widths.map(LaneWidths.slots(_, p.align)))
  count.io.clear             := io.clear

  // A mask is used twice: to count, and to append.
  private val masks     = Module(new Queue(new UnpackMask(p), 2))
  private val forCounts = Module(new Queue(new UnpackMask(p), 2))
  for ((queue, other) <- Seq(masks -> forCounts, forCounts -> masks)) {
    queue.reset        := reset.asBool || io.clear
    queue.io.enq.valid := io.mask.valid && other.io.enq.ready
    queue.io.enq.bits  := io.mask.bits
  }
  io.mask.ready := masks.io.enq.ready && forCounts.io.enq.ready
  count.io.mask <> forCounts.io.deq

  // ---- Slots ----------------------------------------------------------------------------------------------------------------
  private val data  = Reg(UInt(p.dLen.W))
  private val known = Reg(Vec(p.elements, UInt(7.W)))
  private val fill  = Reg(UInt(fillBits.W))
  private val total = Reg(UInt(countBits.W))
  private val full  = Reg(Bool())

  private val outValid = RegInit(false.B)
  private val u        = waiting.io.deq.bits.beat
  private val mask     = masks.io.deq.bits
  private val appends =
    waiting.io.deq.valid && (!u.masked || masks.io.deq.valid) && (!outValid || io.out.ready) && !io.clear
  waiting.io.deq.ready := appends
  masks.io.deq.ready   := appends && u.masked && u.last

  private def byEew[T <: Data](of: Int => T): T = MuxLookup(u.eew, of(0))(logs.tail.map(log => log.U -> of(log)))
  private val base                              = (u.beat << (logD.U - u.eew))(countBits - 1, 0)
  private val bound                             = Mux(u.masked && mask.length < u.bound, mask.length, u.bound)
  private val chosen                            = (mask.active >> base).pad(p.dBytes)(p.dBytes - 1, 0)
  private val inMask  = (LaneWidths.ones(mask.length, p.elements) >> base).pad(p.dBytes)(p.dBytes - 1, 0)
  private val present = Mux(u.masked, u.present & inMask, u.present)
  private val active  = Mux(u.masked, u.present & chosen, u.present)
  private val uWidths = waiting.io.deq.bits.widths.zipWithIndex.map { case (width, l) => Mux(active(l), width, 0.U) }

  private val fillNow  = Mux(u.first, 0.U, fill)
  private val sizes    = uWidths.map(LaneWidths.slots(_, p.align))
  private val ends     = PrefixSum(sizes, fillBits + 4).tail.map(sum => (sum + fillNow)(fillBits + 3, 0))
  private val fits     = VecInit(ends.map(_ <= p.slots.U)).asUInt & present & ~Mux(!u.first && full, present, 0.U)
  private val overflow = (present & ~fits) =/= 0.U

  // Slots of lanes that belong to elements which fit.
  private val sizeOf = VecInit(sizes.zipWithIndex.map { case (size, l) => Mux(fits(l), size, 0.U) })
  private val live = VecInit(Seq.tabulate(p.slots) { s =>
    byEew { log =>
      val slotsOfLane = p.slotsOfByte << log
      sizeOf(s / slotsOfLane) > (s % slotsOfLane).U
    }
  }).asUInt
  private val squeeze = Module(new Squeeze(p.align, p.slots))
  squeeze.io.data := u.data
  squeeze.io.live := live
  private val kept = squeeze.io.out & FillInterleaved(p.align, LaneWidths.ones(squeeze.io.count, p.slots))
  private val appended = {
    val slots = Seq.tabulate(p.align)(bit => VecInit(Seq.tabulate(p.slots)(s => kept(p.align * s + bit))).asUInt)
    val moved = slots.map(BarrelShift.left(_, fillNow(log2Ceil(p.slots) - 1, 0), p.slots))
    Mux(fillNow(log2Ceil(p.slots)), 0.U, Cat(Seq.tabulate(p.slots)(s => Cat(moved.map(_(s)).reverse)).reverse))
  }

  // The first element that does not fit ends them. Beats that are left out have none.
  private val wasFull  = !u.first && full
  private val totalNow = Mux(wasFull, total, Mux(overflow, base + PopCount(fits), bound))
  when(appends) {
    data  := Mux(u.first, 0.U, data) | appended
    fill  := fillNow + squeeze.io.count
    total := totalNow
    full  := wasFull || overflow
    for (element <- 0 until p.elements) {
      val (mine, lane) = (
        byEew(log => u.beat === (element / (p.dBytes >> log)).U),
        (log: Int) => element % (p.dBytes >> log)
      )
      val width = byEew(log => Mux(fits(lane(log)), uWidths(lane(log)), 0.U))
      when(mine)(known(element) := width).elsewhen(u.first)(known(element) := 0.U)
    }
  }
  outValid := !io.clear && ((appends && u.last) || (outValid && !io.out.ready))

  io.counted(0).valid := appends && u.last && !u.masked
  io.counted(0).bits  := totalNow
  io.counted(1)       := count.io.counted

  io.out.valid                        := outValid
  io.out.bits.tag                     := RegEnable(u.tag, appends)
  io.out.bits.eg                      := RegEnable(u.eg, appends)
  io.out.bits.value.data              := data
  io.out.bits.value.metadata.widths   := known
  io.out.bits.value.metadata.live     := LaneWidths.ones(fill, p.slots)
  io.out.bits.value.metadata.count    := total
  io.out.bits.value.metadata.unsigned := RegEnable(u.unsigned, appends)
  io.out.bits.value.metadata.mb       := RegEnable(u.mb, appends)

  io.soon.valid := appends && u.last
  io.soon.bits  := u.eg

  io.busy := waiting.io.deq.valid || outValid
}
