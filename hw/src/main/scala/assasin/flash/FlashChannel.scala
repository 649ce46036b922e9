package assasin.flash

import assasin.SocParams
import chisel3._

/** One flash channel: up to 16 ways behind one ONFI bus. See docs/architecture.md "Flash channel" and
  * hw/regs/flash.toml.
  *
  * Descriptors wait in [[WayQueues]]; [[WayStates]] knows what each way waits for; [[Planner]] chooses the next use of
  * the bus; [[BusSequencer]] drives it; [[ReadPacker]] and [[ProgramBuffer]] carry page data; [[CompletionQueue]]
  * answers the firmware.
  */
class FlashChannel(p: SocParams) extends Module {
  val io = IO(new FlashChannelIO(p))

  private val registers   = Module(new FlashRegisters(p))
  private val queues      = Module(new WayQueues(p))
  private val ways        = Module(new WayStates(p))
  private val rooms       = Module(new RoomScan(p))
  private val planner     = Module(new Planner(p))
  private val sequencer   = Module(new BusSequencer(p))
  private val packer      = Module(new ReadPacker(p))
  private val program     = Module(new ProgramBuffer(p))
  private val completions = Module(new CompletionQueue(p))
  private val config      = registers.io.config

  registers.io.number := io.number
  registers.io.regs <> io.regs
  registers.io.space      := queues.io.space
  registers.io.completion := completions.io.head
  registers.io.margin     := io.phy.margin
  registers.io.busBusy    := sequencer.io.working
  registers.io.readPage   := sequencer.io.readPage
  registers.io.building   := false.B
  registers.io.completed  := completions.io.push

  queues.io.push     := registers.io.push
  queues.io.spaceWay := registers.io.spaceWay
  queues.io.read     := planner.io.read
  queues.io.readWay  := planner.io.readWay

  // A descriptor leaves its queue when its last bus phase starts, or when the planner completes it; never both in one cycle, as
  // the planner pauses when a phase is taken.
  private val phase     = sequencer.io.phase
  private val lastPhase = phase.fire && (phase.bits.data || phase.bits.status)
  queues.io.pop.valid := lastPhase || planner.io.pop.valid
  queues.io.pop.bits  := Mux(planner.io.pop.valid, planner.io.pop.bits, phase.bits.way)

  ways.io.config             := config
  ways.io.rbN                := io.phy.rbN
  ways.io.load               := planner.io.load
  ways.io.programReady       := program.io.ready
  ways.io.programTaken.valid := planner.io.programStart.valid
  ways.io.programTaken.bits  := planner.io.programStart.bits.way
  ways.io.taken.valid        := phase.fire
  ways.io.taken.bits         := phase.bits.way
  ways.io.takenLast          := lastPhase
  ways.io.confirmed          := sequencer.io.confirmed
  ways.io.completed          := planner.io.completed
  ways.io.roomFound          := rooms.io.found

  rooms.io.room     := io.room
  rooms.io.discard  := config.discard
  rooms.io.learn    := planner.io.learn
  rooms.io.learnWay := planner.io.load.bits.way
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
  planner.io.unfinished  := packer.io.unfinished
  planner.io.programFree := program.io.free
  planner.io.canReserve  := completions.io.canReserve
  planner.io.head        := queues.io.head

  sequencer.io.config := config
  sequencer.io.phase <> planner.io.phase
  sequencer.io.word          := program.io.word
  sequencer.io.transferReady := packer.io.transferReady
  sequencer.io.room          := packer.io.room

  packer.io.transfer  := sequencer.io.transfer
  packer.io.asked     := sequencer.io.asked
  packer.io.dqInValid := io.phy.dqInValid
  packer.io.dqIn      := io.phy.dqIn

  program.io.pageLog2 := config.pageLog2
  program.io.start    := planner.io.programStart
  program.io.index    := sequencer.io.wordIndex
  program.io.release  := sequencer.io.release
  program.io.in <> io.in

  completions.io.reserve     := planner.io.reserve
  completions.io.pop         := registers.io.pop
  completions.io.push.valid  := planner.io.completion.valid || packer.io.completion.valid
  completions.io.push.bits   := Mux(planner.io.completion.valid, planner.io.completion.bits, packer.io.completion.bits)
  packer.io.completion.ready := !planner.io.completion.valid

  io.phy.ceN        := sequencer.io.ceN
  io.phy.cle        := sequencer.io.cle
  io.phy.ale        := sequencer.io.ale
  io.phy.we         := sequencer.io.we
  io.phy.dqOutValid := sequencer.io.dqOutValid
  io.phy.dqOut      := sequencer.io.dqOut
  io.phy.re         := sequencer.io.re
  io.phy.wpN        := true.B

  io.out <> packer.io.out
  io.fetch <> program.io.fetch

  io.pending := completions.io.head.valid
  io.asleep := sequencer.io.quiet && planner.io.quiet && ways.io.quiet && packer.io.quiet && program.io.free &&
    completions.io.quiet && !registers.io.push.valid
}
