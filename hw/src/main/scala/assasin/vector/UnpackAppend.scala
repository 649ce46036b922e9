// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Decoupled, FillInterleaved, MuxLookup, PopCount, Queue, RegEnable, Valid, log2Ceil}

/** Values in lanes, a beat of an instruction that unpacks them. */
class LaneBeat(p: VectorParams) extends Bundle {
  val first = Bool()
  val last  = Bool()

  /** The instruction, its stream, and the element group that it writes. */
  val tag    = UInt(p.tagBits.W)
  val stream = UInt(4.W)
  val eg     = UInt(p.egBits.W)

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
  val tag    = UInt(p.tagBits.W)
  val stream = UInt(4.W)
  val eg     = UInt(p.egBits.W)
  val value  = new VariableOperand(p)
}

/** An element group that an instruction writes. */
class RegisterName(p: VectorParams) extends Bundle {
  val tag = UInt(p.tagBits.W)
  val eg  = UInt(p.egBits.W)
}

class UnpackAppendIO(p: VectorParams) extends Bundle {
  val in = Flipped(Decoupled(new LaneBeat(p)))

  /** `in` is of an instruction that is unpacked on a guess; that has no mask. What becomes of the guesses here;
    * `holds`: they will be confirmed in the next cycle.
    */
  val guess = Input(Bool())
  val fate  = Input(new GuessFate)
  val holds = Input(Bool())

  /** Masks of the instructions that have one, in their order. */
  val mask = Flipped(Decoupled(new UnpackMask(p)))

  /** Numbers of elements as they become known: of an instruction without a mask, in the cycle before `out` or, behind a
    * guess, with it; of one with a mask, perhaps before its elements are appended.
    */
  val counted = Vec(2, Valid(UInt(log2Ceil(p.elements + 1).W)))

  /** The register that `out` has in the next cycle, if it has one; it may be written then. */
  val next = Output(new RegisterName(p))
  val free = Input(Bool())

  /** Two cycles behind an instruction's last beat, or later; never a guess. */
  val out = Decoupled(new UnpackedRegister(p))

  /** `out` will have `next`. */
  val soon = Output(Bool())

  /** Something is under way. */
  val busy = Output(Bool())

  val clear = Input(Bool())
}

/** Puts values of lanes into a register as elements of their own widths, one behind the other, as many as fit
  * (docs/varve/unit.md 5.1, U3 and U4): the width of each lane's value in one stage, its slots behind those of the
  * elements before it in the next. A beat a cycle; behind an element that does not fit there is none. Beats of an
  * instruction with a mask wait between the stages until the mask is known. Registers wait to be written, up to three
  * of them, which lets beats of the next instruction follow while they are guesses.
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
  private val waiting = Module(new GuessQueue(new Widths, 4))
  private val count   = Module(new MaskedCount(p))
  private val enters  = io.in.valid && waiting.io.enq.ready && (!in.masked || !in.first || count.io.room)
  io.in.ready                := waiting.io.enq.ready && (!in.masked || !in.first || count.io.room)
  waiting.io.clear           := io.clear
  waiting.io.enters          := io.guess
  waiting.io.fate            := io.fate
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

  // The register that is being made, once it is complete, and those that wait to be written before it.
  private class Complete extends Bundle {
    val register = new UnpackedRegister(p)
    val guess    = Bool()

    /** Its number of elements is told, or is not told here. */
    val told = Bool()
  }
  private val made      = Wire(new Complete)
  private val madeValid = RegInit(false.B)
  private val madeGuess = Reg(Bool())
  private val madeTold  = Reg(Bool())
  private val held      = Reg(Vec(2, new Complete))
  private val heldValid = RegInit(0.U(2.W))
  private val headHeld  = heldValid(0)
  private val head      = Mux(headHeld, held(0), made)
  private val leaves    = io.out.valid && io.out.ready
  private val moves     = madeValid && !(leaves && !headHeld) && (!heldValid(1) || leaves)
  private val madeLeft  = moves || (leaves && !headHeld)

  private val u    = waiting.io.deq.bits.beat
  private val mask = masks.io.deq.bits
  private val appends =
    waiting.io.deq.valid && (!u.masked || masks.io.deq.valid) && (!madeValid || madeLeft) && !io.clear
  private val completes = appends && u.last
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
  private val room     = (p.slots.U - fillNow)(fillBits - 1, 0)
  private val within   = VecInit(PrefixSum(sizes, fillBits + 4).tail.map(!ShortNumbers.isAbove(_, room))).asUInt
  private val fits     = within & present & ~Mux(!u.first && full, present, 0.U)
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
  // ---- Complete registers ---------------------------------------------------------------------------------------------------
  private def stands(guess: Bool): Bool = guess && !io.fate.confirm
  private val first                     = waiting.io.first
  // Numbers are told in the order of the instructions.
  private val untold =
    (madeValid && !madeTold) || held.zip(heldValid.asBools).map { case (h, v) => v && !h.told }.reduce(_ || _)
  private val tells = completes && !u.masked && !first && !untold
  when(completes) {
    madeGuess := first
    madeTold  := u.masked || tells
  }.elsewhen(io.fate.confirm)(madeGuess := false.B)
  madeValid := !io.clear && (completes || (madeValid && !madeLeft && !(made.guess && io.fate.redo)))

  private val stays    = Mux(leaves && headHeld, heldValid >> 1, heldValid)
  private val behind   = Mux(leaves && headHeld, held(1), held(0))
  private val pushed   = Cat(stays(0) && moves, !stays(0) && moves)
  private val heldNext = Seq(Mux(stays(0), behind, made), Mux(stays(1), held(1), made))
  for (i <- 0 until 2) {
    when(stays(i) || pushed(i)) {
      held(i)       := heldNext(i)
      held(i).guess := stands(heldNext(i).guess)
    }
  }
  heldValid := Mux(io.clear, 0.U, (stays | pushed) & Cat(heldNext.reverse.map(n => !(n.guess && io.fate.redo))))

  made.register.tag                     := RegEnable(u.tag, appends)
  made.register.stream                  := RegEnable(u.stream, appends)
  made.register.eg                      := RegEnable(u.eg, appends)
  made.register.value.data              := data
  made.register.value.metadata.widths   := known
  made.register.value.metadata.live     := LaneWidths.ones(fill, p.slots)
  made.register.value.metadata.count    := total
  made.register.value.metadata.unsigned := RegEnable(u.unsigned, appends)
  made.register.value.metadata.mb       := RegEnable(u.mb, appends)
  made.guess                            := madeGuess
  made.told                             := madeTold

  private val open = RegNext(io.free, false.B)
  io.out.valid := (headHeld || madeValid) && !stands(head.guess) && open
  io.out.bits  := head.register

  private val headTells = leaves && !head.told
  io.counted(0).valid := tells || headTells
  io.counted(0).bits  := Mux(headTells, head.register.value.metadata.count, totalNow)
  io.counted(1)       := count.io.counted

  // What comes first in the next cycle.
  private val second  = Mux(heldValid(1), held(1), made)
  private val follows = heldValid(1) || (headHeld && madeValid)
  private val clears  = leaves || !(headHeld || madeValid)
  private val unsure  = Mux(clears, Mux(follows, stands(second.guess), first), stands(head.guess))
  io.next.tag := Mux(clears, Mux(follows, second.register.tag, u.tag), head.register.tag)
  io.next.eg  := Mux(clears, Mux(follows, second.register.eg, u.eg), head.register.eg)
  io.soon     := (!clears || follows || completes) && (!unsure || io.holds) && io.free

  io.busy := waiting.io.deq.valid || madeValid || headHeld
}
