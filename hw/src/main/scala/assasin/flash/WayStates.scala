// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import chisel3._
import chisel3.util.Valid

/** What a descriptor does next, decided when it is loaded. */
class WayLoad extends Bundle {
  val slot = UInt(Slot.Bits.W)

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
  val rbN    = Input(UInt(p.ways.W))
  val load   = Flipped(Valid(new WayLoad))

  /** The program data of a slot is in the buffer. */
  val programReady = Flipped(Valid(UInt(Slot.Bits.W)))

  /** The program engine takes this slot. */
  val programTaken = Flipped(Valid(UInt(Slot.Bits.W)))

  /** A bus phase starts: it serves the slot's request for a command, status or data. */
  val taken = Flipped(Valid(UInt(Slot.Bits.W)))

  /** That phase is the descriptor's last: the slot may load the next one. */
  val takenLast = Input(Bool())

  /** The beat that starts an array operation goes to the pins in the next cycle. */
  val confirmed = Flipped(Valid(UInt(Slot.Bits.W)))

  /** A phase ended that did not make the way busy and asked for no data. */
  val finished = Flipped(Valid(UInt(Slot.Bits.W)))

  /** A slot in `done` has been completed. */
  val completed = Flipped(Valid(UInt(Slot.Bits.W)))
  val roomFound = Flipped(Valid(UInt(Slot.Bits.W)))

  /** A look whether a slot is ready is going to happen; what it has found. `answer` is held until `answered`. */
  val looking  = Flipped(Valid(UInt(Slot.Bits.W)))
  val answer   = Flipped(Valid(UInt(Slot.Bits.W)))
  val isReady  = Input(Bool())
  val answered = Output(Bool())

  /** What these slots in `data` have read is lost: their command comes again. */
  val again = Input(UInt(Slot.count(p).W))

  /** Slots that stay busy after they timed out. */
  val dead = Input(UInt(Slot.count(p).W))

  // One bit a slot; a slot with a loaded descriptor is in exactly one of the other masks, in a phase, in a guard time, or busy.
  val idle     = Output(UInt(Slot.count(p).W))
  val command  = Output(UInt(Slot.count(p).W))
  val status   = Output(UInt(Slot.count(p).W))
  val data     = Output(UInt(Slot.count(p).W))
  val program  = Output(UInt(Slot.count(p).W))
  val done     = Output(UInt(Slot.count(p).W))
  val hasRoom  = Output(UInt(Slot.count(p).W))
  val timedOut = Output(UInt(Slot.count(p).W))

  /** Busy slots that are worth a look, and that one of them has waited for it. */
  val due  = Output(UInt(Slot.count(p).W))
  val late = Output(Bool())

  /** Slots whose data has waited for room for a while. */
  val stuck = Output(UInt(Slot.count(p).W))

  /** No guard time runs, no ready edge is on its way, no slot requests anything. */
  val quiet = Output(Bool())
}

/** State of every slot, one bit a slot: the steps of its descriptor, tWB and tRR guard times, R/B and the busy timeout,
  * and when to look whether a LUN is ready while R/B does not tell.
  */
class WayStates(p: SocParams) extends Module {
  val io = IO(new WayStatesIO(p))

  private val slots                     = Slot.count(p)
  private def mask: UInt                = RegInit(0.U(slots.W))
  private def bit(v: Valid[UInt]): UInt = Mux(v.valid, Slot.bit(p, v.bits), 0.U)

  private val idle     = RegInit(((BigInt(1) << slots) - 1).U(slots.W))
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
  private val plans = Mem(slots, new Plan)

  private val now = RegInit(0.U(16.W))
  now := now + 1.U

  // R/B comes from outside the clock domain.
  private val rb1 = RegInit(0.U(p.ways.W))
  private val rb2 = RegInit(0.U(p.ways.W))
  rb1 := io.rbN
  rb2 := rb1
  private val high = Slot.both(p, rb2)

  private val wb = Module(new GuardQueue(p))
  wb.io.now   := now
  wb.io.start := io.confirmed
  // The pin is on the bus one cycle later and R/B takes two to come through the synchroniser; the first look is one after `done`.
  wb.io.cycles := io.config.tWB +& 2.U

  // A way still busy when the tick comes a second time has been busy for more than 2^24 cycles.
  private val ticks = RegInit(0.U(24.W))
  ticks := ticks + 1.U

  // Two LUNs of the way are busy: R/B is low until both are ready. The times of the first looks are worked through once in 256
  // cycles, a slot a cycle.
  private val looking = mask
  private val shared  = busy & Slot.others(p, busy | io.dead)
  private val waiting = shared & ~looking
  private val erasing = mask
  private val due     = mask
  private val late    = RegInit(false.B)
  private val times   = Mem(slots, UInt(16.W))
  private val unit    = ticks(23, 8)
  private val began   = plans.read(Slot.index(p, wb.io.done.bits))
  private val first = Mux(
    began.thenData,
    io.config.waitRead,
    Mux(began.erase, io.config.waitErase, Mux(began.whole, io.config.waitProgram, 0.U))
  )
  io.answered := !wb.io.done.valid
  private val again = io.answer.valid && io.answered && !io.isReady
  // R/B may have told between the choice of the slot and the look.
  private val found = io.answer.valid && io.answered && io.isReady && (busy & Slot.bit(p, io.answer.bits)).orR
  when(wb.io.done.valid || again) {
    times.write(
      Slot.index(p, Mux(wb.io.done.valid, wb.io.done.bits, io.answer.bits)),
      unit + Mux(wb.io.done.valid, first, io.config.waitAgain)
    )
  }
  when(waiting.orR) {
    val looked  = ticks(4, 0)
    val lookBit = Slot.bit(p, looked)
    val since   = unit - times.read(Slot.index(p, looked))
    when(ticks(7, 5) === 0.U && Slot.way(looked) < p.ways.U && (waiting & lookBit).orR && !since(15)) {
      due := due | lookBit
      when(since >= io.config.waitAgain) { late := true.B }
    }
  }
  when(io.looking.valid || due === 0.U) { late := false.B }
  when(io.looking.valid || (due & ~waiting).orR) { due := due & waiting & ~bit(io.looking) }
  when(io.looking.valid || (io.answer.valid && io.answered)) {
    looking := (looking | bit(io.looking)) & ~Mux(io.answer.valid && io.answered, Slot.bit(p, io.answer.bits), 0.U)
  }

  private val ready    = OneHot.lowest(busy & high & ~looking)
  private val rr       = Module(new GuardQueue(p))
  private val readyAny = ready.orR && rr.io.ready && !found
  private val readyBit = Mux(readyAny, ready, 0.U)
  rr.io.now         := now
  rr.io.start.valid := readyAny || found
  rr.io.start.bits  := Mux(found, io.answer.bits, Slot.of(p, ready))
  rr.io.cycles      := io.config.tRR

  private val stuck = mask
  if (p.luns > 1) when(ticks(10, 0) === 0.U) { stuck := data & ~hasRoom }
  io.stuck := stuck & data & ~hasRoom

  private val tick    = ticks.andR
  private val aged    = mask
  private val expired = Mux(tick, busy & aged & ~high & ~looking, 0.U)
  aged := Mux(tick, busy, aged & busy)

  private val loadBit                       = Mux(io.load.valid, Slot.bit(p, io.load.bits.slot), 0.U)
  private val taken                         = bit(io.taken)
  private val rrBit                         = bit(rr.io.done)
  private val doneBit                       = bit(io.completed)
  private val foundBit                      = Mux(found, Slot.bit(p, io.answer.bits), 0.U)
  private val ended                         = plans.read(Slot.index(p, rr.io.done.bits))
  private def when1(c: Bool, m: UInt): UInt = Mux(c, m, 0.U)

  when(io.load.valid) {
    val l    = io.load.bits
    val plan = Wire(new Plan)
    plan.thenData   := l.thenData
    plan.thenStatus := l.thenStatus
    plan.erase      := l.erase
    plan.whole      := l.whole
    plans.write(Slot.index(p, l.slot), plan)
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
  private val together = erasing & Slot.others(p, erasing & busy)
  io.quiet := wb.io.empty && rr.io.empty && (busy & Slot.both(
    p,
    io.rbN | rb1 | rb2
  )) === 0.U && (shared & ~together) === 0.U &&
    looking === 0.U && (command | status | data | program | done) === 0.U
}
