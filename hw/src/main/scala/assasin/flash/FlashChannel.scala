// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.bus.ClockGate
import chisel3._
import chisel3.util.UIntToOH

/** One flash channel: up to 16 ways behind one ONFI bus. See docs/architecture.md "Flash channel" and
  * hw/regs/flash.toml.
  *
  * Descriptors wait in [[WayQueues]]; [[WayStates]] knows what each way waits for; [[Planner]] chooses the next use of
  * the bus; [[BusSequencer]] drives it; [[SectorPath]] carries sectors, codes and corrects them; [[CompletionQueue]]
  * answers the firmware; [[FlashCounters]] counts. At the pins [[ChipEnableMap]] gives each way its own, and
  * [[BeatWatch]] ends data out that does not come.
  */
class FlashChannel(p: SocParams) extends Module {
  val io = IO(new FlashChannelIO(p))

  private val accessed    = RegNext(io.regs.req.valid, false.B)
  private val registers   = withClock(ClockGate(io.regs.req.valid || accessed))(Module(new FlashRegisters(p)))
  private val counters    = Module(new FlashCounters)
  private val plans       = WireDefault(false.B)
  private val planning    = ClockGate(plans)
  private val queues      = withClock(planning)(Module(new WayQueues(p)))
  private val ways        = withClock(planning)(Module(new WayStates(p)))
  private val rooms       = Module(new RoomScan(p))
  private val planner     = withClock(planning)(Module(new Planner(p)))
  private val sequencer   = Module(new BusSequencer(p))
  private val path        = Module(new SectorPath(p))
  private val completions = withClock(planning)(Module(new CompletionQueue(p)))
  private val enables     = Module(new ChipEnableMap(p))
  private val watch       = Module(new BeatWatch(p))
  private val config      = registers.io.config

  // While a sector is on the bus nothing happens to descriptors, for thousands of cycles. What knows of them has a clock of its
  // own, so that neither they nor what is made of them costs anything then. Every change of them is named in an `active`,
  // which no pin reaches directly.
  plans := planner.io.active || ways.io.active || completions.io.active || registers.io.push.valid

  private val now = RegInit(0.U(24.W))
  now         := now + 1.U
  ways.io.now := now

  registers.io.number := io.number
  registers.io.regs <> io.regs
  registers.io.space      := queues.io.space
  registers.io.completion := completions.io.head
  registers.io.margin     := io.phy.margin
  registers.io.building   := path.io.building
  registers.io.counts     := counters.io.counts

  counters.io.busBusy    := sequencer.io.working
  counters.io.readSector := sequencer.io.readSector
  counters.io.completed  := completions.io.push

  queues.io.push     := registers.io.push
  queues.io.pushLun  := registers.io.pushLun
  queues.io.spaceWay := registers.io.spaceWay
  queues.io.read     := planner.io.read
  queues.io.readDie  := planner.io.readDie

  // A descriptor leaves its queue when its last bus phase starts, or when the planner completes it; never both in one cycle, as
  // the planner completes none while a phase is taken.
  private val phase     = sequencer.io.phase
  private val lastPhase = phase.fire && (phase.bits.data || phase.bits.status) && !phase.bits.poll
  queues.io.pop.valid := lastPhase || planner.io.pop.valid
  queues.io.pop.bits  := Mux(planner.io.pop.valid, planner.io.pop.bits, phase.bits.die)

  ways.io.config             := config
  ways.io.rbN                := enables.io.wayRbN
  ways.io.rb1                := RegNext(enables.io.wayRbN, 0.U)
  ways.io.load               := planner.io.load
  ways.io.programReady.valid := path.io.ready.valid
  ways.io.programTaken.valid := planner.io.programStart.valid
  ways.io.programTaken.bits  := planner.io.started
  // A look serves no request: the LUN may have become ready, and request its next phase, while it was planned.
  ways.io.taken.valid := phase.fire && !phase.bits.poll
  ways.io.taken.bits  := phase.bits.die
  ways.io.takenLast   := lastPhase
  ways.io.confirmed   := sequencer.io.confirmed
  ways.io.finished    := sequencer.io.finished
  ways.io.completed   := planner.io.completed
  ways.io.roomFound   := rooms.io.found
  ways.io.looking     := planner.io.looking
  ways.io.dead        := planner.io.dead
  ways.io.again       := planner.io.again

  // The way's page that is being filled tells the LUN.
  private val readyWay = path.io.ready.bits
  ways.io.programReady.bits :=
    Die((Die.luns1(p, planner.io.filling) & UIntToOH(readyWay, p.ways)).orR, readyWay)

  rooms.io.room     := io.room
  rooms.io.discard  := config.discard
  rooms.io.learn    := planner.io.learn
  rooms.io.learnDie := planner.io.load.bits.die
  rooms.io.waiting  := ways.io.data & ~ways.io.hasRoom

  planner.io.config      := config
  planner.io.nonEmpty    := queues.io.nonEmpty
  planner.io.idle        := ways.io.idle
  planner.io.command     := ways.io.command
  planner.io.status      := ways.io.status
  planner.io.data        := ways.io.data & ways.io.hasRoom
  planner.io.program     := ways.io.program
  planner.io.done        := ways.io.done
  planner.io.timedOut    := ways.io.timedOut
  planner.io.due         := ways.io.due
  planner.io.late        := ways.io.late
  planner.io.stuck       := ways.io.stuck
  planner.io.unfinished  := path.io.unfinished
  planner.io.programFree := path.io.free
  planner.io.write       := registers.io.steps
  planner.io.canReserve  := completions.io.canReserve
  planner.io.head        := queues.io.head

  sequencer.io.config := config
  sequencer.io.phase <> planner.io.phase
  sequencer.io.write         := registers.io.steps
  sequencer.io.transferReady := path.io.transferReady
  sequencer.io.room          := path.io.room
  sequencer.io.sending       := path.io.sending
  sequencer.io.beat          := path.io.beat

  path.io.config    := config
  path.io.code      := registers.io.code
  path.io.transfer  := sequencer.io.transfer
  path.io.asked     := sequencer.io.asked
  path.io.dqInValid := watch.io.valid
  path.io.dqIn      := watch.io.bits
  path.io.dqInLost  := watch.io.lost
  path.io.start     := planner.io.programStart
  path.io.send      := sequencer.io.send
  path.io.take      := sequencer.io.take
  path.io.sent      := sequencer.io.sent
  path.io.in <> io.in

  private val poll = (p.luns > 1).B && path.io.poll
  completions.io.reserve    := planner.io.reserve
  completions.io.pop        := registers.io.pop
  completions.io.push.valid := planner.io.completion.valid || path.io.completion.valid && !poll
  completions.io.push.bits  := Mux(planner.io.completion.valid, planner.io.completion.bits, path.io.completion.bits)
  path.io.completion.ready  := !planner.io.completion.valid && (!poll || ways.io.answered)
  ways.io.answer.valid      := path.io.completion.valid && poll && !planner.io.completion.valid
  ways.io.answer.bits       := Die(path.io.pollLun, path.io.completion.bits.way)
  ways.io.isReady           := path.io.completion.bits.data(6)

  enables.io.map    := registers.io.wayMap
  enables.io.wayCeN := sequencer.io.ceN
  enables.io.rbN    := io.phy.rbN
  io.phy.ceN        := enables.io.ceN
  io.phy.cle        := sequencer.io.cle
  io.phy.ale        := sequencer.io.ale
  io.phy.we         := sequencer.io.we
  io.phy.dqOutValid := sequencer.io.dqOutValid
  io.phy.dqOut      := sequencer.io.dqOut
  io.phy.re         := sequencer.io.re
  io.phy.wpN        := true.B

  watch.io.re          := sequencer.io.re
  watch.io.dqInValid   := io.phy.dqInValid
  watch.io.dqIn        := io.phy.dqIn
  sequencer.io.settled := watch.io.settled

  io.out <> path.io.out
  io.fetch <> path.io.fetch

  io.pending := completions.io.head.valid
  io.asleep := sequencer.io.quiet && planner.io.quiet && ways.io.quiet && path.io.quiet && completions.io.quiet &&
    !registers.io.push.valid
}
