// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.bus.RegBusIO
import assasin.codec.CodeParams
import assasin.contract.FlashRegs
import chisel3._
import chisel3.util.{Cat, Valid}

/** Geometry and timing as the rest of the channel uses them; every time is at least 1 cycle. */
class FlashConfig extends Bundle {
  val pageLog2 = UInt(5.W)
  val spare    = UInt(16.W)

  /** More than one LUN behind a chip enable: status is asked with 78h and the row. */
  val multiLun = Bool()

  /** Place of the lowest LUN bit and of the lowest plane bit of a sector address, which count with more than one LUN or
    * plane.
    */
  val lunAt      = UInt(6.W)
  val planeAt    = UInt(6.W)
  val multiPlane = Bool()

  /** Units of 256 cycles up to the first look whether an operation is over, and between looks. */
  val waitRead    = UInt(15.W)
  val waitProgram = UInt(15.W)
  val waitErase   = UInt(15.W)
  val waitAgain   = UInt(15.W)

  /** log2 of the sectors of a page. */
  val sectorLog2 = UInt(2.W)

  /** Which strength of CODE_INFO protects a sector, its parity bytes a codeword, and the bytes of a sector on the bus.
    */
  val strength    = UInt(3.W)
  val parityBytes = UInt(8.W)
  val sectorBytes = UInt(16.W)

  /** Fourth metadata word, what the scrambler depends on besides the address, most zero bits of an erased sector. */
  val layout      = UInt(32.W)
  val seed        = UInt(32.W)
  val erasedLimit = UInt(16.W)
  val tWC         = UInt(8.W)
  val tCS         = UInt(8.W)
  val tRPRE       = UInt(8.W)
  val tPST        = UInt(8.W)
  val tWB         = UInt(12.W)
  val tRR         = UInt(8.W)
  val tWHR        = UInt(12.W)
  val tADL        = UInt(12.W)
  val tCCS        = UInt(12.W)
  val rate        = UInt(8.W)
  val discard     = UInt(16.W)
}

/** A completion as the firmware reads it. */
class FlashCompletion extends Bundle {
  val tag    = UInt(12.W)
  val status = UInt(4.W)
  val way    = UInt(4.W)
  val data   = UInt(64.W)

  /** Of a READ, whatever its status. */
  val sector = Bool()

  /** What the code found in the sector: most bits corrected in one codeword, bits corrected, mask of the codewords that
    * cannot be corrected.
    */
  val errors = UInt(7.W)
  val bits   = UInt(10.W)
  val failed = UInt(4.W)
}

class FlashRegistersIO(p: SocParams) extends Bundle {

  /** Number of this channel. */
  val number = Input(UInt(4.W))
  val regs   = Flipped(new RegBusIO(12))
  val config = Output(new FlashConfig)

  /** A descriptor is pushed, for this LUN; dropped when its queue is full. */
  val push    = Valid(new FlashDescriptor)
  val pushLun = Output(Bool())

  /** Way whose free places `space` shows, of LUN 0 and of LUN 1. */
  val spaceWay = Output(UInt(4.W))
  val space    = Input(Vec(p.luns, UInt(4.W)))

  /** Oldest completion. */
  val completion = Flipped(Valid(new FlashCompletion))
  val pop        = Output(Bool())

  /** What the PHY needs beyond the part's figures, see FlashPhyIO. */
  val margin = Input(UInt(FlashPhyIO.MarginBits.W))

  /** What is counted, see [[FlashCounters]]. */
  val counts = Input(new FlashCounts)

  /** The firmware writes command steps. */
  val steps = Output(new StepWrite)

  /** Chip enable of every way, four bits each. */
  val wayMap = Output(UInt((4 * p.ways).W))

  /** CODE was written: the table is to be built; it is being built. */
  val code     = Output(Bool())
  val building = Input(Bool())
}

/** The channel's registers (hw/regs/flash.toml). Always ready, answers in the next cycle. Nothing changes but in the
  * cycle of an access and in the one after it.
  */
class FlashRegisters(p: SocParams) extends Module {
  val io = IO(new FlashRegistersIO(p))

  private val w0       = RegInit(0.U(32.W))
  private val w1       = RegInit(0.U(32.W))
  private val w2       = RegInit(0.U(32.W))
  private val oob0     = RegInit(0.U(32.W))
  private val oob1     = RegInit(0.U(32.W))
  private val geometry = RegInit(FlashRegs.Geometry.reset.U(32.W))
  private val timing0  = RegInit(FlashRegs.Timing0.reset.U(32.W))
  private val timing1  = RegInit(FlashRegs.Timing1.reset.U(32.W))
  private val timing2  = RegInit(FlashRegs.Timing2.reset.U(32.W))
  private val rate     = RegInit(FlashRegs.DataRate.reset.U(8.W))
  private val discard  = RegInit(0.U(16.W))
  private val strength = RegInit(0.U(3.W))
  private val layout   = RegInit(0.U(32.W))
  private val seed     = RegInit(0.U(32.W))
  private val limit    = RegInit(FlashRegs.ErasedLimit.reset.U(16.W))
  private val planes   = RegInit(0.U(8.W))
  private val wait0    = RegInit(0.U(31.W))
  private val wait1    = RegInit(0.U(31.W))
  private val high     = RegInit(0.U(32.W))
  private val mapReset = FlashRegs.WayMap1.reset << 32 | FlashRegs.WayMap0.reset
  private val wayMap   = RegInit((mapReset & ((BigInt(1) << (4 * p.ways)) - 1)).U((4 * p.ways).W))

  private val fire                  = io.regs.req.valid
  private val addr                  = io.regs.req.bits.addr
  private val write                 = fire && io.regs.req.bits.write
  private val read                  = fire && !io.regs.req.bits.write
  private val value                 = io.regs.req.bits.wdata
  private def at(offset: Int): Bool = addr === offset.U

  private val storage = Seq(
    FlashRegs.W0.offset          -> w0,
    FlashRegs.W1.offset          -> w1,
    FlashRegs.W2.offset          -> w2,
    FlashRegs.Oob0.offset        -> oob0,
    FlashRegs.Oob1.offset        -> oob1,
    FlashRegs.Geometry.offset    -> geometry,
    FlashRegs.Timing0.offset     -> timing0,
    FlashRegs.Timing1.offset     -> timing1,
    FlashRegs.Timing2.offset     -> timing2,
    FlashRegs.DataRate.offset    -> rate,
    FlashRegs.Discard.offset     -> discard,
    FlashRegs.Layout.offset      -> layout,
    FlashRegs.Seed.offset        -> seed,
    FlashRegs.ErasedLimit.offset -> limit
  )
  private val unseen =
    Seq(FlashRegs.Planes.offset -> planes, FlashRegs.Wait0.offset -> wait0, FlashRegs.Wait1.offset -> wait1)
  when(write) {
    for ((offset, reg) <- storage ++ unseen) when(at(offset)) { reg := value(reg.getWidth - 1, 0) }
  }

  when(write && at(FlashRegs.WayMap0.offset)) {
    wayMap := (if (p.ways > 8) Cat(wayMap(4 * p.ways - 1, 32), value) else value(4 * p.ways - 1, 0))
  }
  if (p.ways > 8) when(write && at(FlashRegs.WayMap1.offset)) {
    wayMap := Cat(value(4 * p.ways - 33, 0), wayMap(31, 0))
  }
  io.wayMap := wayMap

  // Strengths of the code; 0 is none. A strength that does not exist acts as none.
  private val codes       = CodeParams(p.ecc, p.phyBytes).info
  private val parityBytes = RegInit(0.U(8.W))
  private val code        = write && at(FlashRegs.Code.offset)
  when(code) {
    strength    := 0.U
    parityBytes := 0.U
    for (((_, parity), i) <- codes.zipWithIndex) when(value(2, 0) === i.U) {
      strength    := i.U
      parityBytes := parity.U
    }
  }
  io.code := RegNext(code, false.B)

  private val word  = RegNext(value(29, 0))
  private val place = RegNext(addr(Step.PlaceBits + 1, 2))
  private val toStep =
    write && addr >= FlashRegs.Steps.offset.U && addr < (FlashRegs.Steps.offset + 4 * FlashRegs.Steps.count).U
  private val toPhases =
    write && addr >= FlashRegs.Phases.offset.U && addr < (FlashRegs.Phases.offset + 4 * FlashRegs.Phases.count).U
  io.steps.place              := place
  io.steps.step.valid         := RegNext(toStep, false.B)
  io.steps.step.bits          := Step.from(word)
  io.steps.phases.valid       := RegNext(toPhases, false.B)
  io.steps.phases.bits.first  := word(5, 0)
  io.steps.phases.bits.second := word(13, 8)
  io.steps.phases.bits.other  := word(21, 16)
  io.steps.phases.bits.select := word(29, 24)

  private val multiLun = geometry(30, 29) =/= 0.U

  private val cpl = io.completion.bits
  private val view = storage ++ Seq(
    FlashRegs.Space.offset         -> Cat(Mux(multiLun, io.space(p.luns - 1), 0.U), 0.U(4.W), io.space(0)),
    FlashRegs.Cpl.offset           -> Cat(io.completion.valid, 0.U(4.W), cpl.errors, cpl.way, cpl.status, cpl.tag),
    FlashRegs.CplData.offset       -> cpl.data(31, 0),
    FlashRegs.CplData1.offset      -> cpl.data(63, 32),
    FlashRegs.BusBusyLo.offset     -> io.counts.busBusy(31, 0),
    FlashRegs.BusBusyHi.offset     -> high,
    FlashRegs.DataBytesLo.offset   -> io.counts.dataBytes(31, 0),
    FlashRegs.DataBytesHi.offset   -> high,
    FlashRegs.PhyMargin.offset     -> io.margin,
    FlashRegs.WayMap0.offset       -> wayMap.pad(64)(31, 0),
    FlashRegs.WayMap1.offset       -> wayMap.pad(64)(63, 32),
    FlashRegs.Code.offset          -> Cat(io.building || io.code, 0.U(28.W), strength),
    FlashRegs.CplCode.offset       -> Cat(cpl.failed, 0.U(6.W), cpl.bits),
    FlashRegs.SectorsRead.offset   -> io.counts.sectorsRead,
    FlashRegs.BitsCorrected.offset -> io.counts.bitsCorrected,
    FlashRegs.SectorsFailed.offset -> io.counts.sectorsFailed
  ) ++ codes.zipWithIndex.map { case ((t, parity), i) =>
    FlashRegs.CodeInfo.offset + 4 * i -> Cat(parity.U(8.W), t.U(8.W))
  }
  private val answer = RegInit(0.U(32.W))
  when(read) {
    answer := 0.U
    for ((offset, reg) <- view) when(at(offset)) { answer := reg }
    when(at(FlashRegs.BusBusyLo.offset)) { high := io.counts.busBusy(63, 32) }
    when(at(FlashRegs.DataBytesLo.offset)) { high := io.counts.dataBytes(63, 32) }
  }
  io.regs.req.ready  := true.B
  io.regs.resp.valid := RegNext(fire, false.B)
  io.regs.resp.bits  := answer

  private def atLeast1(x: UInt): UInt = Mux(x === 0.U, 1.U, x)
  io.config.pageLog2    := geometry(4, 0)
  io.config.spare       := geometry(23, 8)
  io.config.multiLun    := multiLun
  io.config.lunAt       := geometry(28, 24) +& geometry(6, 5)
  io.config.planeAt     := planes(4, 0) +& geometry(6, 5)
  io.config.multiPlane  := planes(7, 5) =/= 0.U
  io.config.waitRead    := wait0(14, 0)
  io.config.waitProgram := wait0(30, 16)
  io.config.waitErase   := wait1(14, 0)
  io.config.waitAgain   := wait1(30, 16)
  io.config.sectorLog2  := geometry(6, 5)
  io.config.strength    := strength
  io.config.parityBytes := parityBytes
  io.config.sectorBytes := (SectorFormat.MessageBytes.U + parityBytes) << 2
  io.config.layout      := layout
  io.config.seed        := seed
  io.config.erasedLimit := limit
  io.config.tWC         := atLeast1(timing0(7, 0))
  io.config.tCS         := atLeast1(timing0(15, 8))
  io.config.tRPRE       := atLeast1(timing0(23, 16))
  io.config.tPST        := atLeast1(timing0(31, 24))
  io.config.tWB         := timing1(11, 0)
  io.config.tRR         := timing1(19, 12)
  io.config.tWHR        := timing1(31, 20)
  io.config.tADL        := timing2(11, 0)
  io.config.tCCS        := timing2(23, 12)
  io.config.rate        := atLeast1(rate)
  io.config.discard     := discard

  // The push is registered: the checks are the longest path here and nobody waits for them.
  private val pushing = RegNext(write && at(FlashRegs.W3.offset), false.B)
  private val w3      = RegNext(value)
  io.push.valid         := pushing
  io.push.bits.op       := w0(3, 0)
  io.push.bits.way      := w0(7, 4)
  io.push.bits.toStream := w0(8)
  io.push.bits.check    := w0(9)
  io.push.bits.fresh    := w0(10)
  io.push.bits.core     := w0(15, 12)
  io.push.bits.stream   := w0(18, 16)
  io.push.bits.tail     := w0(19)
  io.push.bits.tag      := w0(31, 20)
  io.push.bits.address  := w1(23, 0)
  io.push.bits.arg      := w2
  io.push.bits.bytes    := w3(15, 0)
  io.push.bits.confirm  := w3(17, 16)
  io.push.bits.oob      := Cat(oob1, oob0)
  io.push.bits.bad      := FlashDescriptor.isBad(p, io.number, w0, w1, w2, w3, io.config)

  io.pushLun := (p.luns > 1).B && multiLun && io.push.bits.hasRow && (w1(23, 0) >> io.config.lunAt)(0)

  io.spaceWay := w0(7, 4)
  io.pop      := write && at(FlashRegs.CplPop.offset)
}
