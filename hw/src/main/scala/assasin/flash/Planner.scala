// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.contract.{FlashConfirm, FlashOp, FlashStatus}
import chisel3._
import chisel3.util.{Decoupled, Valid}

class PlannerIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)

  // Masks of WayStates and WayQueues.
  val nonEmpty = Input(UInt(Die.count(p).W))
  val idle     = Input(UInt(Die.count(p).W))
  val command  = Input(UInt(Die.count(p).W))
  val status   = Input(UInt(Die.count(p).W))
  val data     = Input(UInt(Die.count(p).W))
  val program  = Input(UInt(Die.count(p).W))
  val done     = Input(UInt(Die.count(p).W))
  val timedOut = Input(UInt(Die.count(p).W))
  val due      = Input(UInt(Die.count(p).W))
  val late     = Input(Bool())
  val stuck    = Input(UInt(Die.count(p).W))

  /** Ways with data out that has not been completed yet. */
  val unfinished  = Input(UInt(p.ways.W))
  val programFree = Input(Bool())

  /** What the firmware writes. */
  val write      = Input(new StepWrite)
  val canReserve = Input(Bool())

  /** Descriptor memory: shown one cycle after `read`. */
  val read    = Output(Bool())
  val readDie = Output(UInt(Die.Bits.W))
  val head    = Input(new FlashDescriptor)

  val load         = Valid(new WayLoad)
  val learn        = Valid(new RoomKey)
  val reserve      = Output(Bool())
  val programStart = Valid(new FlashDescriptor)

  /** Die of `programStart`, and all dies whose page is being filled: one LUN of a way at most. */
  val started = Output(UInt(Die.Bits.W))
  val filling = Output(UInt(Die.count(p).W))

  /** It is going to be looked whether this die is ready. */
  val looking = Valid(UInt(Die.Bits.W))

  /** What these dies have read is lost: the array is to read it again. */
  val again = Output(UInt(Die.count(p).W))

  /** Dies that stay busy: they timed out. */
  val dead = Output(UInt(Die.count(p).W))

  /** Completion without data; always accepted. `completed` also frees the die (it had been loaded). */
  val completion = Valid(new FlashCompletion)
  val completed  = Valid(UInt(Die.Bits.W))
  val pop        = Valid(UInt(Die.Bits.W))

  /** The next phase for the bus. It may change while it waits: a command displaces a data phase. */
  val phase = Decoupled(new BusPhase)
  val quiet = Output(Bool())

  /** Its clock is needed, and that of what it writes. */
  val active = Output(Bool())
}

/** Serves the dies' requests one at a time, two cycles each: reads the oldest descriptor of a die, then plans its next
  * bus phase, loads it, starts its data fetch or completes it. Planning runs while the bus is busy, so phases follow
  * each other without a gap.
  *
  * What two LUNs of a way may not do to each other, [[MultiLun]] knows.
  */
class Planner(p: SocParams) extends Module {
  val io = IO(new PlannerIO(p))

  private object Request {
    val command = 0
    val data    = 1
    val done    = 2
    val program = 3
    val load    = 4
    val look    = 5
  }

  private val next      = Reg(new BusPhase)
  private val nextValid = RegInit(false.B)

  private val dies                                 = Die.count(p)
  private def mask: UInt                           = RegInit(0.U(dies.W))
  private def put(m: UInt, b: UInt, v: Bool): Unit = m := Mux(v, m | b, m & ~b)

  /** Dies that timed out: only RESET reaches them until then. */
  private val dead        = mask
  private val lastCommand = RegInit(1.U(dies.W))
  private val lastData    = RegInit(1.U(dies.W))

  /** Dies whose loaded descriptor is a READ: its data goes the way of the sector before it, and never overtakes it. */
  private val ordered = mask

  /** Dies with data out that the way has not completed. */
  private val behind     = mask
  private val unfinished = behind & Die.both(p, io.unfinished)

  private val multiLun                                   = Option.when(p.luns > 1)(Module(new MultiLun(p)))
  private def lunMask(rule: MultiLunIO => UInt): UInt    = multiLun.fold(0.U(dies.W))(m => rule(m.io))
  private def allowed(m: UInt, rule: MultiLunIO => UInt) = multiLun.fold(m)(l => m & rule(l.io))

  private val locked = lunMask(_.locked)
  private val data   = io.data & (ordered | ~unfinished) & ~locked
  private val spare  = !nextValid && data === 0.U

  private val commands = allowed(io.command, _.mayCommand) | allowed(io.status & ~unfinished, _.free)
  private val loadable = io.idle & io.nonEmpty & ~lunMask(_.kept)
  private val looks    = if (p.luns == 1) 0.U(dies.W) else Mux(!nextValid && (io.late || spare), io.due & ~locked, 0.U)
  private val looked   = io.late || io.phase.ready
  private val requests = Seq(
    Request.command -> Mux(!nextValid || next.data, commands, 0.U),
    Request.data    -> Mux(nextValid, 0.U, data),
    Request.done    -> (io.done & ~unfinished),
    Request.program -> Mux(io.programFree, allowed(io.program, _.mayFill), 0.U),
    Request.load    -> Mux(io.canReserve, loadable, 0.U)
  )

  // First cycle: choose a request and read its descriptor. Not right after a phase was taken: the masks still show it.
  private val busy    = RegInit(false.B)
  private val request = Reg(UInt(3.W))
  private val die     = Reg(UInt(Die.Bits.W))
  private val dieBit  = Reg(UInt(dies.W))
  private val (code, wants) = requests.foldRight((0.U(3.W), 0.U(dies.W))) { case ((code, wants), (otherCode, others)) =>
    (Mux(wants.orR, code.U(3.W), otherCode), Mux(wants.orR, wants, others))
  }

  // A look comes after commands and before everything else. Whether the bus is free for it is known late, and changes in most
  // cycles: both choices are made beforehand.
  private val turn    = OneHot.after(wants, Mux(code === Request.command.U, lastCommand, lastData))
  private val turnDie = Die.of(p, turn)
  private val lookAt  = OneHot.after(looks, lastData)
  private val lookDie = Die.of(p, lookAt)
  private val mayLook = looks.orR && !(code === Request.command.U && wants.orR)
  private val isLook  = mayLook && looked
  private val start   = (wants.orR || isLook) && !busy && !io.phase.fire
  busy := start
  when(start) {
    request := Mux(isLook, Request.look.U, code)
    die     := io.readDie
    dieBit  := Mux(isLook, lookAt, turn)
    when(!isLook && code === Request.command.U) { lastCommand := turn }
    when(!isLook && code === Request.data.U) { lastData := turn }
  }
  io.read    := start
  io.readDie := Mux(isLook, lookDie, turnDie)

  // Second cycle: the descriptor is here.
  private def now(code: Int): Bool = busy && request === code.U
  private val look                 = if (p.luns == 1) false.B else now(Request.look)
  private val desc                 = io.head
  private val wayBit               = Die.luns0(p, dieBit) | Die.luns1(p, dieBit)
  private val bothBits             = Die.both(p, wayBit)
  private val isReset              = desc.is(FlashOp.Reset)
  private val wholeWay             = (p.luns > 1).B && io.config.multiLun && !desc.hasRow
  private val isDead               = (dead & Mux(wholeWay, bothBits, dieBit)).orR
  private val registers            = Module(new PageRegisters(p))
  private val view                 = registers.io.view
  private val rejected             = desc.bad || view.refused || (isDead && !isReset)
  // A descriptor leaves its queue in these, and only one can in a cycle: after a last phase the request comes again.
  private val doneNow   = now(Request.done) && !io.phase.fire
  private val rejectNow = now(Request.load) && rejected && (unfinished & dieBit) === 0.U && !io.phase.fire
  private val waits     = multiLun.fold(false.B)(m => wholeWay && m.io.waits)
  private val loadNow   = now(Request.load) && !rejected && !waits
  when(now(Request.load) && waits) { lastData := dieBit } // other dies come first
  private val timedOut = (io.timedOut & dieBit).orR
  registers.io.config := io.config
  registers.io.die    := die
  registers.io.desc   := desc
  registers.io.load   := loadNow

  /** By operation, where its phases begin. */
  private val phases = Mem(16, new Phases)
  when(io.write.phases.valid) { phases.write(io.write.place(3, 0), io.write.phases.bits) }
  private val starts = phases.read(Mux(look, FlashOp.Program.U, desc.op))

  /** Dies whose loaded descriptor takes the phase OTHER, or SELECT in any case. */
  private val others = mask
  private val turns  = mask
  private val goesOn = (others & dieBit).orR

  private val outAfterCommand = desc.is(FlashOp.ReadId) || desc.is(FlashOp.ReadStatus)
  private val isStatus        = (io.status & dieBit).orR
  private val second          = now(Request.data) || look || (isStatus && !outAfterCommand)
  private val isRead          = desc.is(FlashOp.Read)
  private val reading         = isRead || desc.is(FlashOp.ReadRaw)
  when(io.phase.fire) { nextValid := false.B }
  when(now(Request.command) || now(Request.data) || look) {
    nextValid     := true.B
    next.die      := die
    next.data     := request === Request.data.U
    next.status   := request =/= Request.data.U && isStatus || look
    next.poll     := look
    next.desc     := desc
    next.failMask := view.failMask
    // The status of READ_ID and READ_STATUS comes in their first phase.
    next.start := Mux(second, starts.second, starts.first)
    when(goesOn && !look && !(desc.is(FlashOp.Program) && second)) { next.start := starts.other }
    when(now(Request.data) && reading && ((lunMask(_.astray) | turns) & dieBit).orR) { next.start := starts.select }
  }
  io.phase.valid := nextValid
  io.phase.bits  := next

  // The program's first phase is planned: the way is this LUN's from here on, as planned commands stay.
  private val begins = now(Request.command) && !second && desc.is(FlashOp.Program) && !goesOn
  registers.io.clear.valid := begins || (loadNow && wholeWay)
  registers.io.clear.bits  := Die.others(p, dieBit)
  registers.io.forget      := loadNow && isReset

  private val again = lunMask(_.again)
  io.again := again

  // What a phase that is taken does to the masks, and what a request in its second cycle does: both may be in one cycle.
  private val takesOut                      = next.data || next.status
  private def of(when: Bool, m: UInt): UInt = Mux(when, m, 0.U)
  when(io.phase.fire) { behind := unfinished | of(takesOut && !next.poll, Die.bit(p, next.die)) }
  private val ends = of(doneNow, dieBit)
  for (m <- multiLun.map(_.io)) {
    m.idle        := io.idle
    m.command     := io.command
    m.stuck       := io.stuck
    m.dead        := dead
    m.spare       := spare
    m.phase.valid := io.phase.fire
    m.phase.bits  := next
    m.serves      := busy
    m.die         := dieBit
    m.fills       := now(Request.program)
    m.begins      := begins
    m.whole       := now(Request.load) && wholeWay && !rejected
    m.isReset     := isReset
    m.loadsWhole  := loadNow && wholeWay
    m.loadsHeld   := loadNow && view.held
    m.pops        := io.pop.valid
    m.ends        := ends
    m.gone        := of(loadNow && isReset, bothBits) | of(timedOut, ends)
  }

  private val plain = desc.confirm === FlashConfirm.Page.U || desc.confirm === FlashConfirm.Cache.U
  private val pair  = isRead && desc.confirm === FlashConfirm.Plane.U
  io.load.valid           := loadNow
  io.load.bits.die        := die
  io.load.bits.status     := outAfterCommand
  io.load.bits.program    := desc.is(FlashOp.Program)
  io.load.bits.data       := view.held
  io.load.bits.command    := !outAfterCommand && !desc.is(FlashOp.Program) && !view.held
  io.load.bits.thenData   := reading && !pair || desc.is(FlashOp.ParamPage) || desc.is(FlashOp.GetFeature)
  io.load.bits.thenStatus := (desc.is(FlashOp.Program) && plain) || desc.is(FlashOp.Erase)
  io.load.bits.needsRoom  := isRead && desc.toStream && !pair
  io.load.bits.erase      := desc.is(FlashOp.Erase)
  io.load.bits.whole      := desc.is(FlashOp.Program) && desc.confirm === FlashConfirm.Page.U
  if (p.luns > 1) when(begins) {
    others := others & ~again
    turns  := turns & ~again
  }
  when(loadNow) {
    put(ordered, dieBit, isRead)
    others := (others & ~dieBit & ~again) | of(view.continues || (view.held && !view.next), dieBit)
    turns  := (turns & ~dieBit & ~again) | of(view.held && view.turns, dieBit)
  }
  io.learn.valid       := loadNow
  io.learn.bits.core   := desc.core
  io.learn.bits.stream := desc.stream
  io.learn.bits.page   := (desc.arg >> FlashDescriptor.SectorLog2)(7, 0)
  io.reserve           := loadNow || rejectNow

  io.programStart.valid    := now(Request.program)
  io.programStart.bits     := desc
  io.programStart.bits.way := Die.way(die)
  io.started               := die
  io.filling               := lunMask(_.filling)
  io.looking.valid         := look
  io.looking.bits          := die
  io.dead                  := dead

  io.completion.valid       := doneNow || rejectNow
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
  io.completed.valid := doneNow
  io.completed.bits  := die
  io.pop.valid       := doneNow || rejectNow
  io.pop.bits        := die
  when(doneNow && timedOut) {
    dead := dead | Mux(wholeWay, bothBits, dieBit)
  }.elsewhen(loadNow) {
    dead := dead & ~Mux(wholeWay, bothBits, dieBit)
  }

  io.active := start || busy || io.phase.fire || io.write.phases.valid
  io.quiet  := !busy && !nextValid && (io.idle & io.nonEmpty) === 0.U
}
