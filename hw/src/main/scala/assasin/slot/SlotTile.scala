// SPDX-License-Identifier: BSD-3-Clause
package assasin.slot

import assasin.SocParams
import assasin.bus.RegBusIO
import assasin.contract.{CoreState, SlotTrap}
import assasin.core.StreamCoreRegs
import assasin.stream.OutputDrain
import assasin.xbar.XbarBeat
import chisel3._
import chisel3.util.{Cat, Decoupled, MuxLookup, PriorityEncoder}

/** Ports of [[SlotTile]]. */
class SlotTileIO(p: SocParams) extends Bundle {

  /** Register block CORE, and the kernel's own. */
  val regs = Flipped(new RegBusIO)
  val ctrl = Flipped(new RegBusIO)

  /** Packets to the input streams; always ready. */
  val in = Flipped(Decoupled(new XbarBeat))

  /** Drain packets to DRAM, cores and slots. */
  val out = Decoupled(new XbarBeat)

  /** Input stream s: number (modulo 256) of the first page that may not be sent yet. */
  val room  = Output(Vec(p.maxStreams, UInt(8.W)))
  val event = Output(Bool())

  /** The kernel runs, or a drain: the clock must not stop. */
  val running = Output(Bool())
  val kernel  = new KernelSlotIO
}

/** A slot: what a core is to crossbar, channels and firmware, with a kernel outside the chip's own logic in place of
  * the pipeline. RUN releases the kernel from reset and opens its streams; it has EXITED when it has ended its result
  * and says that it is done. Either is waited for [[KernelSlot.Patience]] cycles when the other is there: a kernel
  * without an interrupt exits without it, one that is done without an end of its result is TRAPPED.
  *
  * @param dramDst
  *   crossbar destination number of the DRAM writer
  */
class SlotTile(p: SocParams, dramDst: Int) extends Module {
  val io = IO(new SlotTileIO(p))

  private val regs    = Module(new StreamCoreRegs(p.streamBytes))
  private val input   = Module(new SlotInput(p.streamBytes))
  private val output  = Module(new SlotOutput(p.streamBytes))
  private val drain   = Module(new OutputDrain(dramDst, p.tiles))
  private val control = Module(new SlotControl)
  private val run     = regs.io.run

  // ---- Life of the kernel -----------------------------------------------------------------------------------------------------
  private val state    = RegInit(CoreState.Idle.U(3.W))
  private val cause    = RegInit(0.U(8.W))
  private val held     = RegInit(true.B)
  private val holding  = RegInit(0.U(5.W))
  private val running  = state === CoreState.Running.U
  private val open     = running && !held && run
  private val finished = RegNext(io.kernel.interrupt && !held, false.B)
  private val patience = RegInit(0.U(10.W))
  holding := Mux(run, holding - holding.orR, KernelSlot.ResetCycles.U)
  held    := !run || holding.orR

  private val stalled = io.kernel.out.tvalid && !io.kernel.out.tready && !output.io.ended
  when(!open || finished === output.io.ended || stalled) {
    patience := 0.U
  }.otherwise {
    patience := patience + 1.U
  }
  private def trap(why: Int): Unit = {
    state := CoreState.Trapped.U
    cause := why.U
  }
  when(!run) {
    state := CoreState.Idle.U
    cause := 0.U
  }.elsewhen(state === CoreState.Idle.U) {
    state := CoreState.Running.U
  }.elsewhen(running) {
    val late = patience === KernelSlot.Patience.U
    when(output.io.ended && (finished || late)) {
      state := CoreState.Exited.U
    }.elsewhen(late) {
      trap(SlotTrap.NoEnd)
    }.elsewhen(control.io.dead) {
      trap(SlotTrap.NoAnswer)
    }
  }
  io.kernel.reset := held

  // ---- Registers --------------------------------------------------------------------------------------------------------------
  private val moves    = io.kernel.in.map(s => s.tvalid && s.tready).reduce(_ || _) || output.io.stream.fire
  private val starving = VecInit(io.kernel.in.map(s => s.tready && !s.tvalid)).asUInt
  private val status   = regs.io.status
  regs.io.bus <> io.regs
  status.state      := state
  status.cause      := cause
  status.tval       := 0.U
  status.pc         := 0.U
  status.exitCode   := 0.U
  status.waitOut    := open && stalled && !moves
  status.waitIn     := open && starving.orR && !stalled && !moves
  status.waitStream := Mux(status.waitIn, PriorityEncoder(starving), 0.U)
  status.retire     := open && moves
  regs.io.halted    := false.B
  regs.io.counts    := 0.U.asTypeOf(regs.io.counts)
  io.event          := regs.io.event
  io.running        := running || drain.io.busy

  regs.io.endValid      := input.io.endValid
  regs.io.outReady      := output.io.ready
  input.io.peek.stream  := regs.io.peek.stream
  output.io.peek.stream := regs.io.peek.stream
  regs.io.peek.data := MuxLookup(regs.io.peek.group, input.io.peek.end)(
    Seq(
      0.U -> input.io.peek.head,
      1.U -> input.io.peek.tail,
      2.U -> output.io.peek.head,
      3.U -> output.io.peek.tail
    )
  )

  control.io.regs <> io.ctrl
  control.io.run  := run
  control.io.held := held
  io.kernel.ctrl <> control.io.axi

  // ---- Packets from the crossbar ----------------------------------------------------------------------------------------------
  private val beatIndex = RegInit(0.U(3.W))
  private val beat      = input.io.deliver
  io.in.ready := true.B
  when(io.in.fire) { beatIndex := Mux(io.in.bits.last, 0.U, beatIndex + 1.U) }
  // A slot has nothing but streams: packets for a core's memories go nowhere.
  beat.valid       := RegNext(io.in.fire && io.in.bits.toStream, false.B)
  beat.bits.pos    := RegNext(io.in.bits.addr + Cat(beatIndex, 0.U(3.W)))
  beat.bits.stream := RegNext(io.in.bits.stream)
  beat.bits.raw    := false.B
  beat.bits.data   := RegNext(io.in.bits.data)
  beat.bits.mark   := RegNext(io.in.bits.mark && io.in.bits.last)

  // ---- Streams ----------------------------------------------------------------------------------------------------------------
  input.io.partition     := regs.io.partition
  input.io.clear         := regs.io.clear
  input.io.open          := open
  input.io.writeTail     := regs.io.writeTail
  input.io.writeEnd      := regs.io.writeEnd
  input.io.writeEndValid := regs.io.writeEndValid
  io.room                := input.io.room
  for ((pins, stream) <- io.kernel.in.zip(input.io.streams)) {
    pins.tvalid  := stream.valid && open
    pins.tdata   := stream.bits.data
    pins.tkeep   := stream.bits.keep
    pins.tlast   := stream.bits.last
    stream.ready := pins.tready && open
  }

  output.io.partition        := regs.io.partition
  output.io.clear            := regs.io.clear
  output.io.open             := open
  output.io.writeTail        := regs.io.writeOutTail
  output.io.cover            := regs.io.cover
  output.io.stream.valid     := io.kernel.out.tvalid && open
  output.io.stream.bits.data := io.kernel.out.tdata
  output.io.stream.bits.keep := io.kernel.out.tkeep
  output.io.stream.bits.last := io.kernel.out.tlast
  io.kernel.out.tready       := output.io.stream.ready && open

  // ---- Drain ------------------------------------------------------------------------------------------------------------------
  drain.io.job <> regs.io.drain
  drain.io.cancel := regs.io.clear
  drain.io.read <> output.io.drain
  output.io.free <> drain.io.done
  io.out <> drain.io.out
  regs.io.drainDone  := drain.io.done.fire
  regs.io.drainSpace := drain.io.space
}
