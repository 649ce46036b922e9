// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import chisel3._
import chisel3.util.{OHToUInt, UIntToOH, Valid}

/** What a descriptor does next, decided when it is loaded. */
class WayLoad(p: SocParams) extends Bundle {
  val way = UInt(4.W)

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
}

class WayStatesIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)
  val rbN    = Input(UInt(p.ways.W))
  val load   = Flipped(Valid(new WayLoad(p)))

  /** The program data of a way is in the buffer. */
  val programReady = Flipped(Valid(UInt(4.W)))

  /** The program engine takes this way. */
  val programTaken = Flipped(Valid(UInt(4.W)))

  /** A bus phase starts: it serves the way's request for a command, status or data. */
  val taken = Flipped(Valid(UInt(4.W)))

  /** That phase is the descriptor's last: the way may load the next one. */
  val takenLast = Input(Bool())

  /** The beat that starts an array operation goes to the pins in the next cycle. */
  val confirmed = Flipped(Valid(UInt(4.W)))

  /** A phase ended that did not make the way busy and asked for no data. */
  val finished = Flipped(Valid(UInt(4.W)))

  /** A way in `done` has been completed. */
  val completed = Flipped(Valid(UInt(4.W)))
  val roomFound = Flipped(Valid(UInt(4.W)))

  // One bit a way; a way with a loaded descriptor is in exactly one of the other masks, in a phase, or in a guard time.
  val idle     = Output(UInt(p.ways.W))
  val command  = Output(UInt(p.ways.W))
  val status   = Output(UInt(p.ways.W))
  val data     = Output(UInt(p.ways.W))
  val program  = Output(UInt(p.ways.W))
  val done     = Output(UInt(p.ways.W))
  val hasRoom  = Output(UInt(p.ways.W))
  val timedOut = Output(UInt(p.ways.W))

  /** No guard time runs, no ready edge is on its way, no way requests anything. */
  val quiet = Output(Bool())
}

/** State of every way, one bit a way: the steps of its descriptor, tWB and tRR guard times, R/B and the busy timeout.
  */
class WayStates(p: SocParams) extends Module {
  val io = IO(new WayStatesIO(p))

  private def mask: UInt                = RegInit(0.U(p.ways.W))
  private def bit(v: Valid[UInt]): UInt = Mux(v.valid, UIntToOH(v.bits, p.ways), 0.U)

  private val idle     = RegInit(((BigInt(1) << p.ways) - 1).U(p.ways.W))
  private val command  = mask
  private val status   = mask
  private val data     = mask
  private val program  = mask
  private val busy     = mask
  private val done     = mask
  private val hasRoom  = mask
  private val timedOut = mask
  // The plan of the loaded descriptor.
  private val thenData   = mask
  private val thenStatus = mask

  private val now = RegInit(0.U(16.W))
  now := now + 1.U

  // R/B comes from outside the clock domain.
  private val rb1 = mask
  private val rb2 = mask
  rb1 := io.rbN
  rb2 := rb1

  private val wb = Module(new GuardQueue(p))
  wb.io.now   := now
  wb.io.start := io.confirmed
  // The pin is on the bus one cycle later and R/B takes two to come through the synchroniser; the first look is one after `done`.
  wb.io.cycles := io.config.tWB +& 2.U

  private val ready    = OneHot.lowest(busy & rb2)
  private val rr       = Module(new GuardQueue(p))
  private val readyAny = ready.orR
  rr.io.now         := now
  rr.io.start.valid := readyAny
  rr.io.start.bits  := OHToUInt(ready)
  rr.io.cycles      := io.config.tRR

  // A way still busy when the tick comes a second time has been busy for more than 2^24 cycles.
  private val ticks = RegInit(0.U(24.W))
  ticks := ticks + 1.U
  private val tick    = ticks.andR
  private val aged    = mask
  private val expired = Mux(tick, busy & aged & ~rb2, 0.U)
  aged := Mux(tick, busy, aged & busy)

  private val loadBit                       = Mux(io.load.valid, UIntToOH(io.load.bits.way, p.ways), 0.U)
  private val taken                         = bit(io.taken)
  private val rrBit                         = bit(rr.io.done)
  private val doneBit                       = bit(io.completed)
  private def when1(c: Bool, m: UInt): UInt = Mux(c, m, 0.U)

  when(io.load.valid) {
    val l = io.load.bits
    thenData   := (thenData & ~loadBit) | when1(l.thenData, loadBit)
    thenStatus := (thenStatus & ~loadBit) | when1(l.thenStatus, loadBit)
    timedOut   := timedOut & ~loadBit
  }
  hasRoom := (hasRoom & ~loadBit) | when1(!io.load.bits.needsRoom, loadBit) | bit(io.roomFound)
  idle    := (idle & ~loadBit) | when1(io.takenLast, taken) | doneBit
  command := (command & ~taken) | when1(io.load.bits.command, loadBit) | bit(io.programReady)
  program := (program & ~bit(io.programTaken)) | when1(io.load.bits.program, loadBit)
  status  := (status & ~taken) | when1(io.load.bits.status, loadBit) | (rrBit & thenStatus)
  data    := (data & ~taken) | when1(io.load.bits.data, loadBit) | (rrBit & thenData)
  busy    := (busy & ~ready & ~expired) | bit(wb.io.done)
  done    := (done & ~doneBit) | (rrBit & ~thenStatus & ~thenData) | expired | bit(io.finished)
  when(expired.orR) { timedOut := timedOut | expired }

  io.idle     := idle
  io.command  := command
  io.status   := status
  io.data     := data
  io.program  := program
  io.done     := done
  io.hasRoom  := hasRoom
  io.timedOut := timedOut
  io.quiet := wb.io.empty && rr.io.empty && (busy & (io.rbN | rb1 | rb2)) === 0.U &&
    (command | status | data | program | done) === 0.U
}
