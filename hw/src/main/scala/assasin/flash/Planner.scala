package assasin.flash

import assasin.SocParams
import assasin.contract.{FlashOp, FlashStatus}
import chisel3._
import chisel3.util.{Decoupled, OHToUInt, Valid}

/** One use of the bus: a command phase (`data` false) or a data phase of the way's oldest descriptor. */
class BusPhase extends Bundle {
  val way = UInt(4.W)

  /** Data out without a command before it. */
  val data = Bool()

  /** A command that the chip answers with data out (status, id). */
  val status = Bool()
  val desc   = new FlashDescriptor
}

class PlannerIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)

  // Masks of WayStates and WayQueues.
  val nonEmpty = Input(UInt(p.ways.W))
  val idle     = Input(UInt(p.ways.W))
  val command  = Input(UInt(p.ways.W))
  val status   = Input(UInt(p.ways.W))
  val data     = Input(UInt(p.ways.W))
  val program  = Input(UInt(p.ways.W))
  val done     = Input(UInt(p.ways.W))
  val timedOut = Input(UInt(p.ways.W))

  /** Ways whose last data out has not been completed yet. */
  val unfinished  = Input(UInt(p.ways.W))
  val programFree = Input(Bool())
  val canReserve  = Input(Bool())

  /** Descriptor memory: shown one cycle after `read`. */
  val read    = Output(Bool())
  val readWay = Output(UInt(4.W))
  val head    = Input(new FlashDescriptor)

  val load         = Valid(new WayLoad(p))
  val learn        = Valid(new RoomKey)
  val reserve      = Output(Bool())
  val programStart = Valid(new FlashDescriptor)

  /** Completion without data; always accepted. `completed` also frees the way (it had been loaded). */
  val completion = Valid(new FlashCompletion)
  val completed  = Valid(UInt(4.W))
  val pop        = Valid(UInt(4.W))

  /** The next phase for the bus. It may change while it waits: a command displaces a data phase. */
  val phase = Decoupled(new BusPhase)
  val quiet = Output(Bool())
}

/** Does the ways' errands one at a time, two cycles each: reads the oldest descriptor of a way, then plans its next bus
  * phase, loads it, starts its data fetch or completes it. Planning runs while the bus is busy, so phases follow each
  * other without a gap.
  */
class Planner(p: SocParams) extends Module {
  val io = IO(new PlannerIO(p))

  private object Errand {
    val command = 0
    val data    = 1
    val done    = 2
    val program = 3
    val load    = 4
  }

  private val next      = Reg(new BusPhase)
  private val nextValid = RegInit(false.B)

  /** Ways that timed out: only RESET reaches the chip until then. */
  private val stuck       = RegInit(0.U(p.ways.W))
  private val lastCommand = RegInit(1.U(p.ways.W))
  private val lastData    = RegInit(1.U(p.ways.W))

  private val commandWish = io.command | (io.status & ~io.unfinished)
  private val dataWish    = io.data & ~io.unfinished
  private val wishes = Seq(
    Errand.command -> Mux(!nextValid || next.data, commandWish, 0.U),
    Errand.data    -> Mux(nextValid, 0.U, dataWish),
    Errand.done    -> (io.done & ~io.unfinished),
    Errand.program -> Mux(io.programFree, io.program, 0.U),
    Errand.load    -> Mux(io.canReserve, io.idle & io.nonEmpty, 0.U)
  )

  // First cycle: choose an errand and read its descriptor. Not right after a phase was taken: the masks still show it.
  private val busy   = RegInit(false.B)
  private val errand = Reg(UInt(3.W))
  private val way    = Reg(UInt(4.W))
  private val wayBit = Reg(UInt(p.ways.W))
  private val chosen = wishes.foldRight((0.U(3.W), 0.U(p.ways.W))) { case ((code, mask), (otherCode, otherMask)) =>
    (Mux(mask.orR, code.U(3.W), otherCode), Mux(mask.orR, mask, otherMask))
  }
  private val start = chosen._2.orR && !busy && !io.phase.fire
  private val last  = Mux(chosen._1 === Errand.command.U, lastCommand, lastData)
  private val pick  = OneHot.after(chosen._2, last)
  busy := start
  when(start) {
    errand := chosen._1
    way    := OHToUInt(pick)
    wayBit := pick
    when(chosen._1 === Errand.command.U) { lastCommand := pick }
    when(chosen._1 === Errand.data.U) { lastData := pick }
  }
  io.read    := start
  io.readWay := OHToUInt(pick)

  // Second cycle: the descriptor is here.
  private def now(code: Int): Bool = busy && errand === code.U
  private val desc                 = io.head
  private val isStuck              = (stuck & wayBit).orR
  private val rejected             = desc.bad || (isStuck && !desc.is(FlashOp.Reset))
  private val rejectNow            = now(Errand.load) && rejected && (io.unfinished & wayBit) === 0.U
  private val loadNow              = now(Errand.load) && !rejected
  private val timedOut             = (io.timedOut & wayBit).orR

  when(io.phase.fire) { nextValid := false.B }
  when(now(Errand.command) || now(Errand.data)) {
    nextValid   := true.B
    next.way    := way
    next.data   := errand === Errand.data.U
    next.status := (io.status & wayBit).orR
    next.desc   := desc
  }
  io.phase.valid := nextValid
  io.phase.bits  := next

  private val outAfterCommand = desc.is(FlashOp.ReadId) || desc.is(FlashOp.ReadStatus)
  io.load.valid           := loadNow
  io.load.bits.way        := way
  io.load.bits.status     := outAfterCommand
  io.load.bits.program    := desc.is(FlashOp.Program)
  io.load.bits.command    := !outAfterCommand && !desc.is(FlashOp.Program)
  io.load.bits.thenData   := desc.is(FlashOp.Read) || desc.is(FlashOp.ParamPage) || desc.is(FlashOp.GetFeature)
  io.load.bits.thenStatus := desc.is(FlashOp.Program) || desc.is(FlashOp.Erase)
  io.load.bits.needsRoom  := desc.is(FlashOp.Read) && desc.toStream
  io.learn.valid          := loadNow
  io.learn.bits.core      := desc.core
  io.learn.bits.stream    := desc.stream
  io.learn.bits.page      := (desc.arg >> io.config.pageLog2)(7, 0)
  io.reserve              := loadNow || rejectNow

  io.programStart.valid    := now(Errand.program)
  io.programStart.bits     := desc
  io.programStart.bits.way := way

  io.completion.valid       := now(Errand.done) || rejectNow
  io.completion.bits.tag    := desc.tag
  io.completion.bits.way    := desc.way
  io.completion.bits.data   := 0.U
  io.completion.bits.sector := false.B
  io.completion.bits.errors := 0.U
  io.completion.bits.bits   := 0.U
  io.completion.bits.failed := 0.U
  io.completion.bits.status := FlashStatus.Ok.U
  when(errand === Errand.load.U || timedOut) { io.completion.bits.data := desc.oob(31, 0) ## 0.U(32.W) }
  when(errand === Errand.load.U) {
    io.completion.bits.status := Mux(desc.bad, FlashStatus.BadDesc.U, FlashStatus.Timeout.U)
  }.elsewhen(timedOut) {
    io.completion.bits.status := FlashStatus.Timeout.U
  }
  io.completed.valid := now(Errand.done)
  io.completed.bits  := way
  io.pop.valid       := now(Errand.done) || rejectNow
  io.pop.bits        := way
  when(now(Errand.done) && timedOut) {
    stuck := stuck | wayBit
  }.elsewhen(loadNow) {
    stuck := stuck & ~wayBit
  }

  io.quiet := !busy && !nextValid && (io.idle & io.nonEmpty) === 0.U
}
