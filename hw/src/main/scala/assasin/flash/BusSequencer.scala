// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.contract.{FlashConfirm, FlashEnd, FlashGuard, FlashOp, FlashRegs, FlashStep, FlashWhen}
import chisel3._
import chisel3.util.{Decoupled, Mux1H, MuxLookup, UIntToOH, Valid}

class BusSequencerIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)
  val write  = Input(new StepWrite)
  val phase  = Flipped(Decoupled(new BusPhase))

  /** The pins, all registered. */
  val ceN        = Output(UInt(p.ways.W))
  val cle        = Output(Bool())
  val ale        = Output(Bool())
  val we         = Output(Bool())
  val dqOutValid = Output(Bool())
  val dqOut      = Output(UInt((8 * p.phyBytes).W))
  val re         = Output(Bool())

  /** The beat that makes the way busy goes to the pins in the next cycle. */
  val confirmed = Valid(UInt(Die.Bits.W))

  /** A phase ends that neither made the way busy nor asked for data: its descriptor is done. */
  val finished = Valid(UInt(Die.Bits.W))

  /** Data in of a sector, see SectorPathIO. */
  val send    = Valid(UInt(4.W))
  val sending = Input(Bool())
  val beat    = Input(UInt((8 * p.phyBytes).W))
  val take    = Output(Bool())
  val sent    = Output(Bool())

  /** Data out: where the beats that are being asked for go, given at the start of the phase. */
  val transfer      = Valid(new Transfer)
  val transferReady = Input(Bool())

  /** One more beat of main data may be asked for. */
  val room = Input(Bool())

  /** The beats of all earlier data-out phases are here: the first of this one may be asked for. */
  val settled = Input(Bool())

  /** Bytes of main data being asked for in this cycle. */
  val asked = Output(UInt(3.W))

  /** The bus works in this cycle (not: idle or held up by back-pressure). */
  val working    = Output(Bool())
  val readSector = Output(Bool())
  val quiet      = Output(Bool())
}

/** Drives the pins: chip enable and tCS, then the phase's steps from the step memory: latch cycles with their guard
  * times, data in or out with tPST. The next phase starts in the cycle after the last one ends.
  *
  * `step` is read ahead while the step before it takes its time, and steps that are left out are passed over meanwhile.
  */
class BusSequencer(p: SocParams) extends Module {
  val io = IO(new BusSequencerIO(p))

  private val cfg      = io.config
  private val beatBits = 8 * p.phyBytes

  // One bit a state, none when idle: tests of single bits simulate faster than comparisons.
  private object State {
    val select   = "b000001".U(6.W)
    val latch    = "b000010".U(6.W)
    val preamble = "b000100".U(6.W)
    val in       = "b001000".U(6.W)
    val out      = "b010000".U(6.W)
    val post     = "b100000".U(6.W)
  }
  private val state                 = RegInit(0.U(6.W))
  private def in(other: UInt): Bool = state(other.litValue.bitLength - 1)
  private def idle: Bool            = state === 0.U

  /** Cycles left in the current state, less one. */
  private val count = RegInit(0.U(13.W))
  private val over  = count === 0.U

  // The phase under way.
  private val die       = Reg(UInt(Die.Bits.W))
  private val argument  = Reg(UInt(8.W))
  private val column    = Reg(UInt(16.W))
  private val row       = Reg(UInt(24.W))
  private val confirm   = Reg(UInt(2.W))
  private val parameter = Reg(UInt(32.W))
  private val beats     = RegInit(0.U(15.W))
  private val main      = Reg(Bool())
  private val narrow    = Reg(Bool())

  /** In NV-DDR2 the part moves each byte of identifiers and features twice: from one to the next there is twice the
    * time, in SDR likewise.
    */
  private val twice  = Reg(Bool())
  private val hasOut = Reg(Bool())

  /** The last step has begun; it makes the way busy. */
  private val closing = RegInit(false.B)
  private val busy    = RegInit(false.B)

  // Steps
  private val memory = Mem(FlashRegs.Steps.count, new Step)
  private val step   = Reg(new Step)
  private val place  = Reg(UInt(Step.PlaceBits.W))

  /** `step` is the next one; number of its cycles that are over. */
  private val ready = RegInit(false.B)
  private val cycle = Reg(UInt(2.W))
  when(io.write.step.valid) { memory.write(io.write.place, io.write.step.bits) }

  private val holds = MuxLookup(step.when, true.B)(
    Seq(
      FlashWhen.Page.U   -> (confirm === FlashConfirm.Page.U),
      FlashWhen.Plane.U  -> (confirm === FlashConfirm.Plane.U),
      FlashWhen.Cache.U  -> (confirm === FlashConfirm.Cache.U),
      FlashWhen.OneLun.U -> !cfg.multiLun,
      FlashWhen.Luns.U   -> cfg.multiLun
    )
  )

  // Pins
  private val ceN        = RegInit(((BigInt(1) << p.ways) - 1).U(p.ways.W))
  private val cle        = RegInit(false.B)
  private val ale        = RegInit(false.B)
  private val we         = RegInit(false.B)
  private val dqOutValid = RegInit(false.B)
  private val dqOut      = RegInit(0.U(beatBits.W))
  private val re         = RegInit(false.B)
  io.ceN        := ceN
  io.cle        := cle
  io.ale        := ale
  io.we         := we
  io.dqOutValid := dqOutValid
  io.dqOut      := dqOut
  io.re         := re
  we            := false.B
  dqOutValid    := false.B
  re            := false.B

  /** Time of a beat, of which others follow. */
  private val beatTime = Mux(twice && beats =/= 1.U, cfg.rate ## 0.U(1.W), cfg.rate) - 1.U

  private val ends   = WireDefault(false.B)
  private val paused = WireDefault(false.B)

  /** The step's last cycle begins. */
  private val used = WireDefault(false.B)
  io.confirmed.valid := used && step.end === FlashEnd.Busy.U
  io.confirmed.bits  := die
  io.take            := false.B
  io.sent            := false.B
  io.asked           := 0.U

  private def latch(): Unit = {
    val wide = step.is(FlashStep.Row) || step.is(FlashStep.Column)
    val last = !wide || cycle === Mux(step.is(FlashStep.Row), 2.U, 1.U)
    state := State.latch
    we    := true.B
    cle   := step.is(FlashStep.Command)
    ale   := !step.is(FlashStep.Command)
    cycle := cycle + 1.U
    count := cfg.tWC - 1.U
    dqOut := step.byte
    when(step.is(FlashStep.Argument)) { dqOut := argument }
    when(step.is(FlashStep.Column)) {
      dqOut  := column(7, 0)
      column := column(7, 0) ## column(15, 8)
    }
    when(step.is(FlashStep.Row)) {
      dqOut := row(7, 0)
      row   := row(7, 0) ## row(23, 8)
    }
    when(last) {
      val guard = Mux1H(
        Seq(
          (step.guard === FlashGuard.Twc.U)  -> 0.U(12.W),
          (step.guard === FlashGuard.Tadl.U) -> cfg.tADL,
          (step.guard === FlashGuard.Twhr.U) -> cfg.tWHR,
          (step.guard === FlashGuard.Tccs.U) -> cfg.tCCS
        )
      )
      count := Mux(guard > cfg.tWC, guard, cfg.tWC) - 1.U
      used  := true.B
    }
  }
  private def dataIn(): Unit = {
    state      := State.in
    dqOutValid := true.B
    cle        := false.B
    ale        := false.B
    dqOut      := Mux(narrow, parameter(7, 0), io.beat)
    parameter  := parameter >> 8
    io.take    := !narrow
    beats      := beats - 1.U
    count      := beatTime
    when(beats === 1.U) {
      used    := true.B
      io.sent := !narrow
    }
  }
  private def dataOut(): Unit = {
    state := State.out
    when(!main || io.room) {
      re       := true.B
      beats    := beats - 1.U
      count    := beatTime
      io.asked := Mux(main, Mux(narrow, 1.U, p.phyBytes.U), 0.U)
    }.otherwise {
      paused := true.B
    }
  }

  when(!over) {
    count := count - 1.U
  }.elsewhen(in(State.select) || in(State.latch) || in(State.post)) {
    when(closing) {
      ends := true.B
    }.elsewhen(!ready || !holds) {
      // The step is still being read.
    }.elsewhen(step.is(FlashStep.None)) {
      used := true.B
      ends := step.end =/= FlashEnd.Next.U
    }.elsewhen(step.is(FlashStep.Out)) {
      state := State.preamble
      count := cfg.tRPRE - 1.U
      used  := true.B
    }.elsewhen(step.is(FlashStep.In)) {
      when(narrow || io.sending) { dataIn() }.otherwise { paused := true.B }
    }.otherwise {
      latch()
    }
  }.elsewhen(!idle) {
    when(!in(State.preamble) && beats === 0.U) {
      state := State.post
      count := cfg.tPST - 1.U
    }.elsewhen(in(State.in)) {
      dataIn()
    }.elsewhen(in(State.preamble) && !io.settled) {
      paused := true.B
    }.otherwise {
      dataOut()
    }
  }

  // The next phase
  private val next  = io.phase.bits
  private val desc  = next.desc
  private val out   = next.data || next.status
  private val free  = idle || ends
  private val begin = free && io.phase.valid && (!out || io.transferReady)
  io.phase.ready := free && (!out || io.transferReady)

  private val fetch = begin || (ready && !holds) || (used && step.end === FlashEnd.Next.U)
  when(used) {
    ready   := false.B
    closing := step.end =/= FlashEnd.Next.U
    busy    := step.end === FlashEnd.Busy.U
  }
  when(fetch) {
    val from = Mux(begin, next.start, place)
    step  := memory.read(from)
    place := from + 1.U
    ready := true.B
    cycle := 0.U
  }

  private val shift       = p.phyBytes match { case 1 => 0; case 2 => 1; case 4 => 2 }
  private val isRead      = desc.is(FlashOp.Read)
  private val isRaw       = desc.is(FlashOp.ReadRaw)
  private val isParam     = desc.is(FlashOp.ParamPage)
  private val rawBytes    = (desc.bytes +& 7.U)(14, 3) ## 0.U(3.W)
  private val sector      = desc.address(1, 0) & ((1.U << cfg.sectorLog2)(2, 0) - 1.U)(1, 0)
  private val mainPhase   = next.data && (isRead || isRaw || isParam)
  private val sectorBeats = (cfg.sectorBytes >> shift).pad(15)(14, 0)
  private val outBeats    = WireDefault(1.U(15.W))
  when(desc.is(FlashOp.ReadId)) { outBeats := 8.U }
  when(desc.is(FlashOp.GetFeature)) { outBeats := 4.U }
  when(next.data && isParam) { outBeats := rawBytes }
  when(next.data && isRaw) { outBeats := (rawBytes >> shift).asUInt }
  when(isRead && next.data) { outBeats := sectorBeats }

  io.finished.valid := ends && !hasOut && !Mux(used, step.end === FlashEnd.Busy.U, busy)
  io.finished.bits  := die

  when(ends) {
    state := 0.U
    ceN   := ~0.U(p.ways.W)
    cle   := false.B
    ale   := false.B
  }
  when(begin) {
    state     := State.select
    count     := cfg.tCS - 1.U
    ceN       := ~UIntToOH(Die.way(next.die), p.ways)
    die       := next.die
    argument  := desc.address(7, 0)
    column    := Mux(sector(0), cfg.sectorBytes, 0.U) + (Mux(sector(1), cfg.sectorBytes, 0.U)(14, 0) ## 0.U(1.W))
    row       := desc.row(cfg)
    confirm   := desc.confirm
    parameter := desc.arg
    hasOut    := out
    main      := mainPhase
    twice     := desc.is(FlashOp.ReadId) || desc.is(FlashOp.GetFeature) || desc.is(FlashOp.SetFeature)
    narrow    := !(isRead || isRaw || desc.is(FlashOp.Program)) || next.status
    beats     := Mux(desc.is(FlashOp.SetFeature), 4.U, sectorBeats)
    when(out) { beats := outBeats }
    when(isRaw) { column := desc.oob(15, 0) }
    closing := false.B
  }
  io.send.valid := begin && desc.is(FlashOp.Program) && !out
  io.send.bits  := Die.way(next.die)

  io.transfer.valid         := begin && out
  io.transfer.bits.way      := Die.way(next.die)
  io.transfer.bits.lun      := Die.lun(next.die)
  io.transfer.bits.poll     := next.poll
  io.transfer.bits.tag      := desc.tag
  io.transfer.bits.main     := mainPhase
  io.transfer.bits.sector   := next.data && isRead
  io.transfer.bits.address  := desc.address
  io.transfer.bits.narrow   := !(next.data && (isRead || isRaw))
  io.transfer.bits.check    := next.status && (desc.is(FlashOp.Program) || desc.is(FlashOp.Erase))
  io.transfer.bits.failMask := next.failMask
  io.transfer.bits.beats    := outBeats
  io.transfer.bits.words    := rawBytes >> 3
  io.transfer.bits.bytes    := desc.bytes
  io.transfer.bits.stream   := desc.stream
  io.transfer.bits.tail     := desc.tail
  io.transfer.bits.core     := desc.core
  io.transfer.bits.toStream := isRead && desc.toStream
  io.transfer.bits.drop     := isRead && desc.toStream && cfg.discard(desc.core)
  io.transfer.bits.addr     := desc.arg
  io.transfer.bits.verify   := isRead && desc.check
  io.transfer.bits.expected := desc.oob(31, 0)

  io.working    := !idle && !paused
  io.readSector := begin && next.data && isRead
  io.quiet      := idle && !io.phase.valid
}
