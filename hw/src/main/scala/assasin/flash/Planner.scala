// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.contract.{FlashConfirm, FlashOp, FlashStatus}
import chisel3._
import chisel3.util.{Decoupled, OHToUInt, Valid}

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

  /** Ways with data out that has not been completed yet. */
  val unfinished  = Input(UInt(p.ways.W))
  val programFree = Input(Bool())

  /** What the firmware writes. */
  val write      = Input(new StepWrite)
  val canReserve = Input(Bool())

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

/** Serves the ways' requests one at a time, two cycles each: reads the oldest descriptor of a way, then plans its next
  * bus phase, loads it, starts its data fetch or completes it. Planning runs while the bus is busy, so phases follow
  * each other without a gap.
  */
class Planner(p: SocParams) extends Module {
  val io = IO(new PlannerIO(p))

  private object Request {
    val command = 0
    val data    = 1
    val done    = 2
    val program = 3
    val load    = 4
  }

  private val next      = Reg(new BusPhase)
  private val nextValid = RegInit(false.B)

  /** Ways that timed out: only RESET reaches the chip until then. */
  private val dead        = RegInit(0.U(p.ways.W))
  private val lastCommand = RegInit(1.U(p.ways.W))
  private val lastData    = RegInit(1.U(p.ways.W))

  /** Ways whose loaded descriptor is a READ: its data goes the way of the sector before it, and never overtakes it. */
  private val ordered  = RegInit(0.U(p.ways.W))
  private val commands = io.command | (io.status & ~io.unfinished)
  private val data     = io.data & (ordered | ~io.unfinished)
  private val requests = Seq(
    Request.command -> Mux(!nextValid || next.data, commands, 0.U),
    Request.data    -> Mux(nextValid, 0.U, data),
    Request.done    -> (io.done & ~io.unfinished),
    Request.program -> Mux(io.programFree, io.program, 0.U),
    Request.load    -> Mux(io.canReserve, io.idle & io.nonEmpty, 0.U)
  )

  // First cycle: choose a request and read its descriptor. Not right after a phase was taken: the masks still show it.
  private val busy    = RegInit(false.B)
  private val request = Reg(UInt(3.W))
  private val way     = Reg(UInt(4.W))
  private val wayBit  = Reg(UInt(p.ways.W))
  private val chosen = requests.foldRight((0.U(3.W), 0.U(p.ways.W))) { case ((code, mask), (otherCode, otherMask)) =>
    (Mux(mask.orR, code.U(3.W), otherCode), Mux(mask.orR, mask, otherMask))
  }
  private val start = chosen._2.orR && !busy && !io.phase.fire
  private val last  = Mux(chosen._1 === Request.command.U, lastCommand, lastData)
  private val pick  = OneHot.after(chosen._2, last)
  busy := start
  when(start) {
    request := chosen._1
    way     := OHToUInt(pick)
    wayBit  := pick
    when(chosen._1 === Request.command.U) { lastCommand := pick }
    when(chosen._1 === Request.data.U) { lastData := pick }
  }
  io.read    := start
  io.readWay := OHToUInt(pick)

  // Second cycle: the descriptor is here.
  private def now(code: Int): Bool = busy && request === code.U
  private val desc                 = io.head
  private val isDead               = (dead & wayBit).orR
  private val registers            = Module(new PageRegisters(p))
  private val rejected             = desc.bad || registers.io.view.refused || (isDead && !desc.is(FlashOp.Reset))
  private val rejectNow            = now(Request.load) && rejected && (io.unfinished & wayBit) === 0.U
  private val loadNow              = now(Request.load) && !rejected
  private val timedOut             = (io.timedOut & wayBit).orR
  private val view                 = registers.io.view
  registers.io.config := io.config
  registers.io.way    := way
  registers.io.desc   := desc
  registers.io.load   := loadNow

  /** By operation, where its phases begin. */
  private val phases = Mem(16, new Phases)
  when(io.write.phases.valid) { phases.write(io.write.place(3, 0), io.write.phases.bits) }
  private val starts = phases.read(desc.op)

  /** Ways whose loaded descriptor takes the phase OTHER. */
  private val others = RegInit(0.U(p.ways.W))
  private val other  = (others & wayBit).orR

  private val outAfterCommand = desc.is(FlashOp.ReadId) || desc.is(FlashOp.ReadStatus)
  private val second          = now(Request.data) || ((io.status & wayBit).orR && !outAfterCommand)
  when(io.phase.fire) { nextValid := false.B }
  when(now(Request.command) || now(Request.data)) {
    nextValid     := true.B
    next.way      := way
    next.data     := request === Request.data.U
    next.status   := (io.status & wayBit).orR
    next.desc     := desc
    next.failMask := view.failMask
    // The status of READ_ID and READ_STATUS comes in their first phase.
    next.start := Mux(second, starts.second, starts.first)
    when(other && !(desc.is(FlashOp.Program) && second)) { next.start := starts.other }
  }
  io.phase.valid := nextValid
  io.phase.bits  := next

  private val plain  = desc.confirm === FlashConfirm.Page.U || desc.confirm === FlashConfirm.Cache.U
  private val isRead = desc.is(FlashOp.Read)
  io.load.valid        := loadNow
  io.load.bits.way     := way
  io.load.bits.status  := outAfterCommand
  io.load.bits.program := desc.is(FlashOp.Program)
  io.load.bits.data    := view.held
  io.load.bits.command := !outAfterCommand && !desc.is(FlashOp.Program) && !view.held
  io.load.bits.thenData := isRead || desc.is(FlashOp.ReadRaw) || desc.is(FlashOp.ParamPage) || desc.is(
    FlashOp.GetFeature
  )
  io.load.bits.thenStatus := (desc.is(FlashOp.Program) && plain) || desc.is(FlashOp.Erase)
  io.load.bits.needsRoom  := isRead && desc.toStream
  when(loadNow) {
    ordered := Mux(isRead, ordered | wayBit, ordered & ~wayBit)
    others  := Mux(view.continues || (view.held && !view.next), others | wayBit, others & ~wayBit)
  }
  io.learn.valid       := loadNow
  io.learn.bits.core   := desc.core
  io.learn.bits.stream := desc.stream
  io.learn.bits.page   := (desc.arg >> FlashDescriptor.SectorLog2)(7, 0)
  io.reserve           := loadNow || rejectNow

  io.programStart.valid    := now(Request.program)
  io.programStart.bits     := desc
  io.programStart.bits.way := way

  io.completion.valid       := now(Request.done) || rejectNow
  io.completion.bits.tag    := desc.tag
  io.completion.bits.way    := desc.way
  io.completion.bits.data   := 0.U
  io.completion.bits.sector := false.B
  io.completion.bits.errors := 0.U
  io.completion.bits.bits   := 0.U
  io.completion.bits.failed := 0.U
  io.completion.bits.status := FlashStatus.Ok.U
  when(request === Request.load.U || timedOut) { io.completion.bits.data := desc.oob(31, 0) ## 0.U(32.W) }
  when(request === Request.load.U) {
    io.completion.bits.status := Mux(isDead && !desc.bad, FlashStatus.Timeout.U, FlashStatus.BadDesc.U)
  }.elsewhen(timedOut) {
    io.completion.bits.status := FlashStatus.Timeout.U
  }
  io.completed.valid := now(Request.done)
  io.completed.bits  := way
  io.pop.valid       := now(Request.done) || rejectNow
  io.pop.bits        := way
  when(now(Request.done) && timedOut) {
    dead := dead | wayBit
  }.elsewhen(loadNow) {
    dead := dead & ~wayBit
  }

  io.quiet := !busy && !nextValid && (io.idle & io.nonEmpty) === 0.U
}
