package assasin.flash

import assasin.SocParams
import assasin.contract.FlashOp
import chisel3._
import chisel3.util.{Cat, Decoupled, UIntToOH, Valid, is, switch}

class BusSequencerIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)
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
  val confirmed = Valid(UInt(4.W))

  /** Program buffer: word wanted in the next cycle; the buffer is no longer needed. */
  val wordIndex = Output(UInt(12.W))
  val word      = Input(UInt(64.W))
  val release   = Output(Bool())

  /** Data out: where the beats that are being asked for go, given at the start of the phase. */
  val transfer      = Valid(new Transfer)
  val transferReady = Input(Bool())

  /** The packer can take one more main-area beat. */
  val room = Input(Bool())

  /** Main-area bytes being asked for in this cycle. */
  val asked = Output(UInt(3.W))

  /** The bus works in this cycle (not: idle or held up by back-pressure). */
  val working  = Output(Bool())
  val readPage = Output(Bool())
  val quiet    = Output(Bool())
}

/** Drives the pins: chip enable and tCS, latch cycles, guard time, data in or out, tPST. The next phase starts in the
  * cycle after the last one ends.
  */
class BusSequencer(p: SocParams) extends Module {
  val io = IO(new BusSequencerIO(p))

  private val cfg      = io.config
  private val maxLatch = 7
  private val beatBits = 8 * p.phyBytes

  // One bit a step, none when idle: tests of single bits simulate faster than comparisons.
  private object Step {
    val select   = "b000001".U(6.W)
    val latch    = "b000010".U(6.W)
    val preamble = "b000100".U(6.W)
    val in       = "b001000".U(6.W)
    val out      = "b010000".U(6.W)
    val post     = "b100000".U(6.W)
  }
  private val state                = RegInit(0.U(6.W))
  private def in(step: UInt): Bool = state(step.litValue.bitLength - 1)
  private def idle: Bool           = state === 0.U

  /** Cycles left in the current step, less one. */
  private val count = RegInit(0.U(13.W))
  private val over  = count === 0.U

  // The phase under way.
  private val bytes   = Reg(UInt((8 * maxLatch).W))
  private val command = Reg(UInt(maxLatch.W))
  private val left    = RegInit(0.U(3.W))

  /** Length of the last latch cycle: longer when a guard time follows. */
  private val lastLatch = Reg(UInt(13.W))
  private val hasOut    = RegInit(false.B)
  private val hasIn     = RegInit(false.B)

  /** The last latch, or the last data-in beat, starts an array operation. */
  private val confirms = Reg(Bool())

  /** 10h follows the data. */
  private val closes    = Reg(Bool())
  private val way       = Reg(UInt(4.W))
  private val beats     = RegInit(0.U(15.W))
  private val mainBeats = RegInit(0.U(15.W))

  // Data in: the word being sent and the number of its beats left, less one.
  private val word     = Reg(UInt(64.W))
  private val wordLeft = Reg(UInt(3.W))
  private val narrowIn = Reg(Bool())

  /** Data out of one byte a beat. */
  private val narrowOut = Reg(Bool())
  private val index     = RegInit(0.U(12.W))
  private val indexNow  = WireDefault(index)
  index        := indexNow
  io.wordIndex := indexNow

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

  private val ends   = WireDefault(false.B)
  private val paused = WireDefault(false.B)
  io.confirmed.valid := false.B
  io.confirmed.bits  := way
  io.release         := false.B
  io.asked           := 0.U

  private def latch(): Unit = {
    state   := Step.latch
    we      := true.B
    cle     := command(0)
    ale     := !command(0)
    dqOut   := bytes(7, 0)
    bytes   := bytes >> 8
    command := command >> 1
    left    := left - 1.U
    count   := Mux(left === 1.U, lastLatch, cfg.tWC) - 1.U
    when(left === 1.U && !hasIn) { io.confirmed.valid := confirms }
  }
  private def dataIn(): Unit = {
    state      := Step.in
    dqOutValid := true.B
    cle        := false.B
    ale        := false.B
    dqOut      := Mux(narrowIn, word(7, 0), word(beatBits - 1, 0))
    beats      := beats - 1.U
    count      := cfg.rate - 1.U
    when(wordLeft === 0.U) {
      word     := io.word
      wordLeft := (8 / p.phyBytes - 1).U
      indexNow := index + 1.U
    }.otherwise {
      word     := Mux(narrowIn, word >> 8, word >> beatBits)
      wordLeft := wordLeft - 1.U
    }
    when(beats === 1.U && !closes) { io.confirmed.valid := confirms }
  }
  private def dataOut(): Unit = {
    state := Step.out
    when(mainBeats === 0.U || io.room) {
      re    := true.B
      beats := beats - 1.U
      count := cfg.rate - 1.U
      when(mainBeats =/= 0.U) {
        mainBeats := mainBeats - 1.U
        io.asked  := Mux(narrowOut, 1.U, p.phyBytes.U)
      }
    }.otherwise {
      paused := true.B
    }
  }
  private def post(): Unit = {
    state := Step.post
    count := cfg.tPST - 1.U
  }

  when(!over) {
    count := count - 1.U
  }.elsewhen(in(Step.select) || in(Step.latch)) {
    when(left =/= 0.U) {
      latch()
    }.elsewhen(in(Step.latch) && hasIn) {
      indexNow := 1.U
      dataIn()
    }.elsewhen(in(Step.select) || hasOut) {
      state := Step.preamble
      count := cfg.tRPRE - 1.U
    }.otherwise {
      ends := true.B
    }
  }.elsewhen(in(Step.preamble) || in(Step.out)) {
    when(in(Step.out) && beats === 0.U) { post() }.otherwise { dataOut() }
  }.elsewhen(in(Step.in)) {
    when(beats =/= 0.U) { dataIn() }.otherwise {
      hasIn      := false.B
      io.release := closes
      post()
      when(closes) {
        // After the data of a program one more latch cycle: 10h, which is what the shift registers hold then.
        left      := 1.U
        lastLatch := cfg.tWC
      }
    }
  }.elsewhen(in(Step.post)) {
    when(left =/= 0.U) { latch() }.otherwise { ends := true.B }
  }
  // The program buffer shows word 0 while the address is latched.
  when(in(Step.latch) && hasIn && !narrowIn && !(over && left === 0.U)) { word := io.word }

  // The next phase
  private val next  = io.phase.bits
  private val desc  = next.desc
  private val out   = next.data || next.status
  private val free  = idle || ends
  private val begin = free && io.phase.valid && (!out || io.transferReady)
  io.phase.ready := free && (!out || io.transferReady)

  private val pageBytes = (1.U << cfg.pageLog2)(14, 0)
  private val shift     = p.phyBytes match { case 1 => 0; case 2 => 1; case 4 => 2 }
  private val isRead    = desc.is(FlashOp.Read)
  private val isParam   = desc.is(FlashOp.ParamPage)
  // 15 bits hold every beat count: a parameter page, too, is no longer than the largest page, 16 KiB (FlashDescriptor).
  private val mainNow = Mux(isParam, (desc.bytes +& 7.U)(14, 3) ## 0.U(3.W), pageBytes >> shift)
  private val allNow  = ((pageBytes +& cfg.spare) >> shift)(14, 0)
  private val fewNow  = WireDefault(1.U(4.W))
  when(desc.is(FlashOp.ReadId)) { fewNow := 8.U }
  when(desc.is(FlashOp.GetFeature)) { fewNow := 4.U }
  private val outBeats = Mux(next.data && isRead, allNow, Mux(next.data && isParam, mainNow, fewNow))

  when(ends) {
    state := 0.U
    ceN   := ~0.U(p.ways.W)
    cle   := false.B
    ale   := false.B
  }
  when(begin) {
    state     := Step.select
    count     := cfg.tCS - 1.U
    ceN       := ~UIntToOH(next.way, p.ways)
    way       := next.way
    hasOut    := out
    hasIn     := false.B
    confirms  := !out
    closes    := false.B
    lastLatch := cfg.tWC
    index     := 0.U
    wordLeft  := (8 / p.phyBytes - 1).U
    narrowIn  := false.B
    narrowOut := !isRead
    beats     := outBeats
    mainBeats := Mux(next.data && (isRead || isParam), mainNow, 0.U)
    word      := desc.arg
    // Latch cycles, first byte lowest. Rows go low byte first; columns are always 0.
    bytes   := 0.U
    command := 1.U
    left    := 0.U
    when(next.status) {
      lastLatch := Mux(cfg.tWHR > cfg.tWC, cfg.tWHR, cfg.tWC)
      when(desc.is(FlashOp.ReadId)) {
        bytes := Cat(desc.address(7, 0), 0x90.U(8.W))
        left  := 2.U
      }.elsewhen(cfg.multiLun && !desc.is(FlashOp.ReadStatus)) {
        bytes := Cat(desc.row(cfg), 0x78.U(8.W))
        left  := 4.U
      }.otherwise {
        bytes := 0x70.U
        left  := 1.U
      }
    }.elsewhen(!next.data) {
      switch(desc.op) {
        is(FlashOp.Reset.U) {
          bytes := 0xff.U
          left  := 1.U
        }
        is(FlashOp.ParamPage.U) {
          bytes := 0xec.U
          left  := 2.U
        }
        is(FlashOp.GetFeature.U) {
          bytes := Cat(desc.address(7, 0), 0xee.U(8.W))
          left  := 2.U
        }
        is(FlashOp.SetFeature.U) {
          bytes     := Cat(desc.address(7, 0), 0xef.U(8.W))
          left      := 2.U
          hasIn     := true.B
          narrowIn  := true.B
          wordLeft  := 7.U
          beats     := 4.U
          lastLatch := Mux(cfg.tADL > cfg.tWC, cfg.tADL, cfg.tWC)
        }
        is(FlashOp.Read.U) {
          bytes   := Cat(0x30.U(8.W), desc.row(cfg), 0.U(24.W))
          command := "b1000001".U
          left    := 7.U
        }
        is(FlashOp.Program.U) {
          bytes     := Cat(0x10.U(8.W), desc.row(cfg), 0x000080.U(24.W))
          command   := "b1000001".U
          left      := 6.U
          hasIn     := true.B
          closes    := true.B
          beats     := allNow
          lastLatch := Mux(cfg.tADL > cfg.tWC, cfg.tADL, cfg.tWC)
        }
        is(FlashOp.Erase.U) {
          bytes   := Cat(0xd0.U(8.W), desc.row(cfg), 0x60.U(8.W))
          command := "b10001".U
          left    := 5.U
        }
      }
    }
  }
  io.transfer.valid         := begin && out
  io.transfer.bits.way      := next.way
  io.transfer.bits.tag      := desc.tag
  io.transfer.bits.main     := next.data && (isRead || isParam)
  io.transfer.bits.narrow   := !(next.data && isRead)
  io.transfer.bits.check    := next.status && (desc.is(FlashOp.Program) || desc.is(FlashOp.Erase))
  io.transfer.bits.beats    := outBeats
  io.transfer.bits.sector   := false.B
  io.transfer.bits.address  := desc.address
  io.transfer.bits.words    := Mux(isParam, (desc.bytes +& 7.U)(15, 3), pageBytes >> 3)
  io.transfer.bits.bytes    := desc.bytes
  io.transfer.bits.stream   := desc.stream
  io.transfer.bits.tail     := desc.tail
  io.transfer.bits.core     := desc.core
  io.transfer.bits.toStream := isRead && desc.toStream
  io.transfer.bits.drop     := isRead && desc.toStream && cfg.discard(desc.core)
  io.transfer.bits.addr     := desc.arg
  io.transfer.bits.verify   := isRead && desc.check
  io.transfer.bits.expected := desc.oob(31, 0)

  io.working  := !idle && !paused
  io.readPage := begin && next.data && isRead
  io.quiet    := idle && !io.phase.valid
}
