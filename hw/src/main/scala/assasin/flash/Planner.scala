// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.contract.{FlashConfirm, FlashOp, FlashStatus}
import chisel3._
import chisel3.util.{Decoupled, Valid}

class PlannerIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)

  // Masks of WayStates and WayQueues.
  val nonEmpty = Input(UInt(Slot.count(p).W))
  val idle     = Input(UInt(Slot.count(p).W))
  val command  = Input(UInt(Slot.count(p).W))
  val status   = Input(UInt(Slot.count(p).W))
  val data     = Input(UInt(Slot.count(p).W))
  val program  = Input(UInt(Slot.count(p).W))
  val done     = Input(UInt(Slot.count(p).W))
  val timedOut = Input(UInt(Slot.count(p).W))
  val due      = Input(UInt(Slot.count(p).W))
  val late     = Input(Bool())
  val stuck    = Input(UInt(Slot.count(p).W))

  /** Ways with data out that has not been completed yet. */
  val unfinished  = Input(UInt(p.ways.W))
  val programFree = Input(Bool())

  /** What the firmware writes. */
  val write      = Input(new StepWrite)
  val canReserve = Input(Bool())

  /** Descriptor memory: shown one cycle after `read`. */
  val read     = Output(Bool())
  val readSlot = Output(UInt(Slot.Bits.W))
  val head     = Input(new FlashDescriptor)

  val load         = Valid(new WayLoad)
  val learn        = Valid(new RoomKey)
  val reserve      = Output(Bool())
  val programStart = Valid(new FlashDescriptor)

  /** Slot of `programStart`, and all slots whose page is being filled: one LUN of a way at most. */
  val started = Output(UInt(Slot.Bits.W))
  val filling = Output(UInt(Slot.count(p).W))

  /** It is going to be looked whether this slot is ready. */
  val looking = Valid(UInt(Slot.Bits.W))

  /** What these slots have read is lost: the array is to read it again. */
  val again = Output(UInt(Slot.count(p).W))

  /** Slots that stay busy: they timed out. */
  val dead = Output(UInt(Slot.count(p).W))

  /** Completion without data; always accepted. `completed` also frees the slot (it had been loaded). */
  val completion = Valid(new FlashCompletion)
  val completed  = Valid(UInt(Slot.Bits.W))
  val pop        = Valid(UInt(Slot.Bits.W))

  /** The next phase for the bus. It may change while it waits: a command displaces a data phase. */
  val phase = Decoupled(new BusPhase)
  val quiet = Output(Bool())
}

/** Serves the slots' requests one at a time, two cycles each: reads the oldest descriptor of a slot, then plans its
  * next bus phase, loads it, starts its data fetch or completes it. Planning runs while the bus is busy, so phases
  * follow each other without a gap.
  *
  * What two LUNs of a way may not do to each other (ONFI, restrictions of multiple LUN operations) is kept here: see
  * `holders`, `reads` and `astray`.
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

  private val slots                                = Slot.count(p)
  private def mask: UInt                           = RegInit(0.U(slots.W))
  private def put(m: UInt, b: UInt, v: Bool): Unit = m := Mux(v, m | b, m & ~b)
  private def other(m: UInt): UInt                 = Slot.others(p, m)

  /** Slots that timed out: only RESET reaches them until then. */
  private val dead        = mask
  private val lastCommand = RegInit(1.U(slots.W))
  private val lastData    = RegInit(1.U(slots.W))

  /** Slots whose loaded descriptor is a READ: its data goes the way of the sector before it, and never overtakes it. */
  private val ordered = mask

  /** Slots with data out that the way has not completed. */
  private val behind     = mask
  private val unfinished = behind & Slot.both(p, io.unfinished)

  /** Slots whose page is being programmed, from the fetch of its first sector until it is confirmed; those of them that
    * have had 80h, so that the way may select no other LUN.
    */
  private val holders = mask
  private val lockers = mask

  /** Slots that are reading: from the command, or from loading what the page register holds, to data out. */
  private val reads = mask

  /** Slots whose LUN has to be selected for data out: the way's last command was another one's, or a look, or the other
    * LUN was busy and may have kept its outputs.
    */
  private val astray = mask

  /** Ways of which LUN 0's next descriptor is for the whole way and waits for LUN 1, or runs. */
  private val alone = RegInit(0.U(p.ways.W))

  private val locked = other(lockers)
  private val data   = io.data & (ordered | ~unfinished) & ~locked
  private val spare  = !nextValid && data === 0.U

  // A program goes before commands of the other LUN, which would keep it waiting for ever, but after that one's data out: 80h
  // clears the page register. Data that is stuck it does not wait for: what comes before it in its stream may be behind this very
  // program. A second LUN reads when the bus would else be idle: it costs the selection of LUNs.
  private val commands =
    ((io.command & ~other(holders & io.command) &
      ~(other(reads & ~io.stuck) & Mux(spare, holders & ~lockers, ~lockers))) |
      (io.status & ~unfinished)) & ~locked
  private val kept =
    if (p.luns == 1) 0.U(slots.W) else (alone & ~Slot.luns1(p, holders)) ## (alone & ~Slot.luns1(p, io.idle))
  private val loadable = io.idle & io.nonEmpty & ~kept
  private val looks =
    if (p.luns == 1) 0.U(slots.W) else Mux(!nextValid && (io.late || spare && io.phase.ready), io.due & ~locked, 0.U)
  private val requests = Seq(
    Request.command -> Mux(!nextValid || next.data, commands, 0.U),
    Request.look    -> looks,
    Request.data    -> Mux(nextValid, 0.U, data),
    Request.done    -> (io.done & ~unfinished),
    Request.program -> Mux(io.programFree, io.program & ~other(holders), 0.U),
    Request.load    -> Mux(io.canReserve, loadable, 0.U)
  )

  // First cycle: choose a request and read its descriptor. Not right after a phase was taken: the masks still show it.
  private val busy    = RegInit(false.B)
  private val request = Reg(UInt(3.W))
  private val slot    = Reg(UInt(Slot.Bits.W))
  private val slotBit = Reg(UInt(slots.W))
  private val chosen = requests.foldRight((0.U(3.W), 0.U(slots.W))) { case ((code, wants), (otherCode, others)) =>
    (Mux(wants.orR, code.U(3.W), otherCode), Mux(wants.orR, wants, others))
  }
  private val start = chosen._2.orR && !busy && !io.phase.fire
  private val last  = Mux(chosen._1 === Request.command.U, lastCommand, lastData)
  private val pick  = OneHot.after(chosen._2, last)
  busy := start
  when(start) {
    request := chosen._1
    slot    := Slot.of(p, pick)
    slotBit := pick
    when(chosen._1 === Request.command.U) { lastCommand := pick }
    when(chosen._1 === Request.data.U) { lastData := pick }
  }
  io.read     := start
  io.readSlot := Slot.of(p, pick)

  // Second cycle: the descriptor is here.
  private def now(code: Int): Bool = busy && request === code.U
  private val look                 = if (p.luns == 1) false.B else now(Request.look)
  private val desc                 = io.head
  private val wayBit               = Slot.luns0(p, slotBit) | Slot.luns1(p, slotBit)
  private val bothBits             = Slot.both(p, wayBit)
  private val isReset              = desc.is(FlashOp.Reset)
  private val wholeWay             = (p.luns > 1).B && io.config.multiLun && !desc.hasRow
  private val isDead               = (dead & Mux(wholeWay, bothBits, slotBit)).orR
  private val registers            = Module(new PageRegisters(p))
  private val view                 = registers.io.view
  private val rejected             = desc.bad || view.refused || (isDead && !isReset)
  // A descriptor leaves its queue in these, and only one can in a cycle: after a last phase the request comes again.
  private val doneNow   = now(Request.done) && !io.phase.fire
  private val rejectNow = now(Request.load) && rejected && (unfinished & slotBit) === 0.U && !io.phase.fire
  // LUN 1 is waited for; a page that it is being given only RESET ends.
  private val waits =
    wholeWay && (!(Slot.luns1(p, io.idle) & wayBit).orR || !isReset && (Slot.luns1(p, holders) & wayBit).orR)
  private val loadNow = now(Request.load) && !rejected && !waits
  when(now(Request.load) && waits) { lastData := slotBit } // other slots come first
  private val timedOut = (io.timedOut & slotBit).orR
  registers.io.config := io.config
  registers.io.slot   := slot
  registers.io.desc   := desc
  registers.io.load   := loadNow

  /** By operation, where its phases begin. */
  private val phases = Mem(16, new Phases)
  when(io.write.phases.valid) { phases.write(io.write.place(3, 0), io.write.phases.bits) }
  private val starts = phases.read(Mux(look, FlashOp.Program.U, desc.op))

  /** Slots whose loaded descriptor takes the phase OTHER, or SELECT in any case. */
  private val others = mask
  private val turns  = mask
  private val goesOn = (others & slotBit).orR

  private val outAfterCommand = desc.is(FlashOp.ReadId) || desc.is(FlashOp.ReadStatus)
  private val isStatus        = (io.status & slotBit).orR
  private val second          = now(Request.data) || look || (isStatus && !outAfterCommand)
  private val isRead          = desc.is(FlashOp.Read)
  private val reading         = isRead || desc.is(FlashOp.ReadRaw)
  when(io.phase.fire) { nextValid := false.B }
  when(now(Request.command) || now(Request.data) || look) {
    nextValid     := true.B
    next.slot     := slot
    next.data     := request === Request.data.U
    next.status   := request =/= Request.data.U && isStatus || look
    next.poll     := look
    next.desc     := desc
    next.failMask := view.failMask
    // The status of READ_ID and READ_STATUS comes in their first phase.
    next.start := Mux(second, starts.second, starts.first)
    when(goesOn && !look && !(desc.is(FlashOp.Program) && second)) { next.start := starts.other }
    when(now(Request.data) && reading && ((astray | turns) & slotBit).orR) { next.start := starts.select }
  }
  io.phase.valid := nextValid
  io.phase.bits  := next

  // The program's first phase is planned: the way is this LUN's from here on, as planned commands stay.
  private val begins = now(Request.command) && !second && desc.is(FlashOp.Program) && !goesOn
  registers.io.clear.valid := begins || (loadNow && wholeWay)
  registers.io.clear.bits  := other(slotBit)
  registers.io.forget      := loadNow && isReset

  /** Slots whose stuck data goes with it; no more than they have been planned for. */
  private val again = Mux(begins, other(slotBit & other(reads)), 0.U)
  io.again := again

  // What a phase that is taken does to the masks, and what a request in its second cycle does: both may be in one cycle.
  private val taken     = Mux(io.phase.fire, Slot.bit(p, next.slot), 0.U(slots.W))
  private val takesOut  = next.data || next.status
  private val takesRead = !takesOut && (next.desc.is(FlashOp.Read) || next.desc.is(FlashOp.ReadRaw))
  private val takesPage = !takesOut && next.desc.is(FlashOp.Program)
  private val confirms  = next.desc.confirm === FlashConfirm.Page.U || next.desc.confirm === FlashConfirm.Cache.U
  private val ends      = Mux(doneNow, slotBit, 0.U)
  private val gone      = Mux(loadNow && isReset, bothBits, 0.U) | Mux(timedOut, ends, 0.U)
  private def of(when: Bool, m: UInt): UInt = Mux(when, m, 0.U)
  when(io.phase.fire) {
    val exposed = next.poll || takesRead && ((reads | dead) & other(taken)).orR
    astray := (astray & ~taken) | other(taken) | of(exposed, taken)
    behind := unfinished | of(takesOut && !next.poll, taken)
  }
  when(io.phase.fire || busy) {
    reads := (reads & ~(of(next.data, taken) | ends | again)) | of(takesRead, taken) | of(loadNow && view.held, slotBit)
    holders := (holders & ~(of(takesPage && confirms, taken) | gone)) | of(now(Request.program), slotBit)
    lockers := (lockers & ~(of(takesPage && confirms, taken) | gone)) | of(takesPage && !confirms, taken)
    val over = of(takesOut && !next.poll, taken) | of(io.pop.valid, slotBit)
    alone := (alone & ~Slot.luns0(p, over)) | of(now(Request.load) && wholeWay && !rejected, wayBit)
  }

  private val plain = desc.confirm === FlashConfirm.Page.U || desc.confirm === FlashConfirm.Cache.U
  private val pair  = isRead && desc.confirm === FlashConfirm.Plane.U
  io.load.valid           := loadNow
  io.load.bits.slot       := slot
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
    put(ordered, slotBit, isRead)
    put(others, slotBit, view.continues || (view.held && !view.next))
    put(turns, slotBit, view.held && view.turns)
  }
  io.learn.valid       := loadNow
  io.learn.bits.core   := desc.core
  io.learn.bits.stream := desc.stream
  io.learn.bits.page   := (desc.arg >> FlashDescriptor.SectorLog2)(7, 0)
  io.reserve           := loadNow || rejectNow

  io.programStart.valid    := now(Request.program)
  io.programStart.bits     := desc
  io.programStart.bits.way := Slot.way(slot)
  io.started               := slot
  io.filling               := holders
  io.looking.valid         := look
  io.looking.bits          := slot
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
  io.completed.bits  := slot
  io.pop.valid       := doneNow || rejectNow
  io.pop.bits        := slot
  when(doneNow && timedOut) {
    dead := dead | Mux(wholeWay, bothBits, slotBit)
  }.elsewhen(loadNow) {
    dead := dead & ~Mux(wholeWay, bothBits, slotBit)
  }

  io.quiet := !busy && !nextValid && (io.idle & io.nonEmpty) === 0.U
}
