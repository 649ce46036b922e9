// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import chisel3._
import chisel3.util.Valid

/** What a descriptor does next, decided when it is loaded. */
class WayLoad extends Bundle {
  val die = UInt(Die.Bits.W)

  /** What comes first, exactly one: command without data out, command with data out, data from DRAM, data out. */
  val command = Bool()
  val status  = Bool()
  val program = Bool()
  val data    = Bool()

  /** After busy: data out, a status command, or (neither) completion. */
  val thenData   = Bool()
  val thenStatus = Bool()

  /** The data must wait for room in a stream. */
  val needsRoom = Bool()

  /** It is an ERASE, or a PROGRAM that ends with the page in the array. */
  val erase = Bool()
  val whole = Bool()
}

class WayStatesIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)

  /** Current cycle, modulo 2^24. */
  val now = Input(UInt(24.W))

  /** R/B: the pins, and what the channel's clock has taken from them. The pins may change at any time. */
  val rbN  = Input(UInt(p.ways.W))
  val rb1  = Input(UInt(p.ways.W))
  val load = Flipped(Valid(new WayLoad))

  /** The program data of a die is in the buffer. */
  val programReady = Flipped(Valid(UInt(Die.Bits.W)))

  /** The program engine takes this die. */
  val programTaken = Flipped(Valid(UInt(Die.Bits.W)))

  /** A bus phase starts: it serves the die's request for a command, status or data. */
  val taken = Flipped(Valid(UInt(Die.Bits.W)))

  /** That phase is the descriptor's last: the die may load the next one. */
  val takenLast = Input(Bool())

  /** The beat that starts an array operation goes to the pins in the next cycle. */
  val confirmed = Flipped(Valid(UInt(Die.Bits.W)))

  /** A phase ended that did not make the way busy and asked for no data. */
  val finished = Flipped(Valid(UInt(Die.Bits.W)))

  /** A die in `done` has been completed. */
  val completed = Flipped(Valid(UInt(Die.Bits.W)))
  val roomFound = Flipped(Valid(UInt(Die.Bits.W)))

  /** A look whether a die is ready is going to happen; what it has found. `answer` is held until `answered`. */
  val looking  = Flipped(Valid(UInt(Die.Bits.W)))
  val answer   = Flipped(Valid(UInt(Die.Bits.W)))
  val isReady  = Input(Bool())
  val answered = Output(Bool())

  /** What these dies in `data` have read is lost: their command comes again. */
  val again = Input(UInt(Die.count(p).W))

  /** Dies that stay busy after they timed out. */
  val dead = Input(UInt(Die.count(p).W))

  // One bit a die; a die with a loaded descriptor is in exactly one of the other masks, in a phase, in a guard time, or busy.
  val idle     = Output(UInt(Die.count(p).W))
  val command  = Output(UInt(Die.count(p).W))
  val status   = Output(UInt(Die.count(p).W))
  val data     = Output(UInt(Die.count(p).W))
  val program  = Output(UInt(Die.count(p).W))
  val done     = Output(UInt(Die.count(p).W))
  val hasRoom  = Output(UInt(Die.count(p).W))
  val timedOut = Output(UInt(Die.count(p).W))

  /** Busy dies that are worth a look, and that one of them has waited for it. */
  val due  = Output(UInt(Die.count(p).W))
  val late = Output(Bool())

  /** Dies whose data has waited for room for a while. */
  val stuck = Output(UInt(Die.count(p).W))

  /** No guard time runs, no ready edge is on its way, no die requests anything. */
  val quiet = Output(Bool())

  /** Its clock is needed, beside the cycles in which the planner works. */
  val active = Output(Bool())
}

/** State of every die, one bit a die: the steps of its descriptor, tWB and tRR guard times, R/B and the busy timeout,
  * and when to look whether a LUN is ready while R/B does not tell.
  */
class WayStates(p: SocParams) extends Module {
  val io = IO(new WayStatesIO(p))

  private val dies                      = Die.count(p)
  private def mask: UInt                = RegInit(0.U(dies.W))
  private def bit(v: Valid[UInt]): UInt = Mux(v.valid, Die.bit(p, v.bits), 0.U)

  private val idle     = RegInit(((BigInt(1) << dies) - 1).U(dies.W))
  private val command  = mask
  private val status   = mask
  private val data     = mask
  private val program  = mask
  private val busy     = mask
  private val done     = mask
  private val hasRoom  = mask
  private val timedOut = mask

  /** What the loaded descriptor does after its busy time, and how long that takes. */
  private class Plan extends Bundle {
    val thenData   = Bool()
    val thenStatus = Bool()
    val erase      = Bool()
    val whole      = Bool()
  }
  private val plans = Mem(dies, new Plan)

  // R/B comes from outside the clock domain: the second step of the synchroniser.
  private val rb2 = RegInit(0.U(p.ways.W))
  rb2 := io.rb1
  private val high = Die.both(p, rb2)

  private val wb = Module(new GuardQueue(p))
  wb.io.now   := io.now(15, 0)
  wb.io.start := io.confirmed
  // The pin is on the bus one cycle later and R/B takes two to come through the synchroniser; the first look is one after `done`.
  wb.io.cycles := io.config.tWB +& 2.U

  // A way still busy when the tick comes a second time has been busy for more than 2^24 cycles.
  private val ticks = io.now

  // Two LUNs of the way are busy: R/B is low until both are ready. The times of the first looks are worked through once in 256
  // cycles, a die a cycle.
  private val looking = mask
  private val shared  = busy & Die.others(p, busy | io.dead)
  private val waiting = shared & ~looking
  private val erasing = mask
  private val due     = mask
  private val late    = RegInit(false.B)
  private val times   = Mem(dies, UInt(16.W))
  private val unit    = ticks(23, 8)
  private val began   = plans.read(Die.index(p, wb.io.done.bits))
  private val first = Mux(
    began.thenData,
    io.config.waitRead,
    Mux(began.erase, io.config.waitErase, Mux(began.whole, io.config.waitProgram, 0.U))
  )
  io.answered := !wb.io.done.valid
  private val again = io.answer.valid && io.answered && !io.isReady
  // R/B may have told between the choice of the die and the look.
  private val found = io.answer.valid && io.answered && io.isReady && (busy & Die.bit(p, io.answer.bits)).orR
  when(wb.io.done.valid || again) {
    times.write(
      Die.index(p, Mux(wb.io.done.valid, wb.io.done.bits, io.answer.bits)),
      unit + Mux(wb.io.done.valid, first, io.config.waitAgain)
    )
  }
  private val looked  = ticks(4, 0)
  private val lookBit = Die.bit(p, looked)
  private val since   = unit - times.read(Die.index(p, looked))
  private val elapsed =
    ticks(7, 5) === 0.U && Die.way(looked) < p.ways.U && (waiting & lookBit).orR && !since(15)
  when(elapsed) {
    due := due | lookBit
    when(since >= io.config.waitAgain) { late := true.B }
  }
  when(io.looking.valid || due === 0.U) { late := false.B }
  when(io.looking.valid || (due & ~waiting).orR) { due := due & waiting & ~bit(io.looking) }
  when(io.looking.valid || (io.answer.valid && io.answered)) {
    looking := (looking | bit(io.looking)) & ~Mux(io.answer.valid && io.answered, Die.bit(p, io.answer.bits), 0.U)
  }

  private val ready    = OneHot.lowest(busy & high & ~looking)
  private val rr       = Module(new GuardQueue(p))
  private val readyAny = ready.orR && rr.io.ready && !found
  private val readyBit = Mux(readyAny, ready, 0.U)
  rr.io.now         := io.now(15, 0)
  rr.io.start.valid := readyAny || found
  rr.io.start.bits  := Mux(found, io.answer.bits, Die.of(p, ready))
  rr.io.cycles      := io.config.tRR

  private val stuck = mask
  if (p.luns > 1) when(ticks(10, 0) === 0.U) { stuck := data & ~hasRoom }
  io.stuck := stuck & data & ~hasRoom

  private val tick    = ticks.andR
  private val aged    = mask
  private val expired = Mux(tick, busy & aged & ~high & ~looking, 0.U)
  aged := Mux(tick, busy, aged & busy)

  private val loadBit                       = Mux(io.load.valid, Die.bit(p, io.load.bits.die), 0.U)
  private val taken                         = bit(io.taken)
  private val rrBit                         = bit(rr.io.done)
  private val doneBit                       = bit(io.completed)
  private val foundBit                      = Mux(found, Die.bit(p, io.answer.bits), 0.U)
  private val ended                         = plans.read(Die.index(p, rr.io.done.bits))
  private def when1(c: Bool, m: UInt): UInt = Mux(c, m, 0.U)

  when(io.load.valid) {
    val l    = io.load.bits
    val plan = Wire(new Plan)
    plan.thenData   := l.thenData
    plan.thenStatus := l.thenStatus
    plan.erase      := l.erase
    plan.whole      := l.whole
    plans.write(Die.index(p, l.die), plan)
    erasing  := (erasing & ~loadBit) | when1(l.erase, loadBit)
    timedOut := timedOut & ~loadBit
  }
  hasRoom := (hasRoom & ~loadBit) | when1(!io.load.bits.needsRoom, loadBit) | bit(io.roomFound)
  idle    := (idle & ~loadBit) | when1(io.takenLast, taken) | doneBit
  command := (command & ~taken) | io.again | when1(io.load.bits.command, loadBit) | bit(io.programReady)
  program := (program & ~bit(io.programTaken)) | when1(io.load.bits.program, loadBit)
  status  := (status & ~taken) | when1(io.load.bits.status, loadBit) | when1(ended.thenStatus, rrBit)
  data    := (data & ~taken & ~io.again) | when1(io.load.bits.data, loadBit) | when1(ended.thenData, rrBit)
  busy    := (busy & ~readyBit & ~foundBit & ~expired) | bit(wb.io.done)
  done    := (done & ~doneBit) | when1(!ended.thenStatus && !ended.thenData, rrBit) | expired | bit(io.finished)
  when(expired.orR) { timedOut := timedOut | expired }

  io.idle     := idle
  io.command  := command
  io.status   := status
  io.data     := data
  io.program  := program
  io.done     := done
  io.hasRoom  := hasRoom
  io.timedOut := timedOut
  io.due      := due & waiting
  io.late     := late
  // Erases of both LUNs end together in most cases: for these alone the clock need not run.
  private val together = erasing & Die.others(p, erasing & busy)
  io.quiet := wb.io.empty && rr.io.empty && (busy & Die.both(
    p,
    io.rbN | io.rb1 | rb2
  )) === 0.U && (shared & ~together) === 0.U &&
    looking === 0.U && (command | status | data | program | done) === 0.U

  // Nothing changes in all other cycles, see the registers above.
  private val arrives =
    io.programReady.valid || io.confirmed.valid || io.finished.valid || io.roomFound.valid || io.answer.valid
  private val passes = wb.io.done.valid || rr.io.done.valid || elapsed || tick || (p.luns > 1).B && ticks(10, 0) === 0.U
  private val settles = io.rb1 =/= rb2 || ready.orR || (aged & ~busy).orR || (due & ~waiting).orR ||
    late && due === 0.U
  io.active := arrives || passes || settles
}
