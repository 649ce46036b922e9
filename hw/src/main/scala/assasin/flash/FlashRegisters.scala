package assasin.flash

import assasin.SocParams
import assasin.bus.RegBusIO
import assasin.contract.FlashRegs
import chisel3._
import chisel3.util.{Cat, Valid}

/** Geometry and timing as the rest of the channel uses them; every time is at least 1 cycle. */
class FlashConfig extends Bundle {
  val pageLog2 = UInt(5.W)
  val spare    = UInt(16.W)

  /** More than one LUN behind a chip enable: status is asked with 78h and the row. */
  val multiLun = Bool()
  val tWC      = UInt(8.W)
  val tCS      = UInt(8.W)
  val tRPRE    = UInt(8.W)
  val tPST     = UInt(8.W)
  val tWB      = UInt(12.W)
  val tRR      = UInt(8.W)
  val tWHR     = UInt(12.W)
  val tADL     = UInt(12.W)
  val rate     = UInt(8.W)
  val discard  = UInt(16.W)
}

/** A completion as the firmware reads it. */
class FlashCompletion extends Bundle {
  val tag    = UInt(12.W)
  val status = UInt(4.W)
  val way    = UInt(4.W)
  val data   = UInt(64.W)
}

class FlashRegistersIO(p: SocParams) extends Bundle {

  /** Number of this channel. */
  val number = Input(UInt(4.W))
  val regs   = Flipped(new RegBusIO(12))
  val config = Output(new FlashConfig)

  /** A descriptor is pushed; dropped when its way's queue is full. */
  val push = Valid(new FlashDescriptor)

  /** Way whose free places `space` shows. */
  val spaceWay = Output(UInt(4.W))
  val space    = Input(UInt(4.W))

  /** Oldest completion. */
  val completion = Flipped(Valid(new FlashCompletion))
  val pop        = Output(Bool())

  /** What the PHY needs beyond the part's figures, see FlashPhyIO. */
  val margin = Input(UInt(FlashPhyIO.MarginBits.W))

  /** The bus works in this cycle. */
  val busBusy = Input(Bool())

  /** A READ's data phase begins. */
  val readPage = Input(Bool())
}

/** The channel's registers (hw/regs/flash.toml) and its counters. Always ready, answers in the next cycle. */
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
  private val busy     = RegInit(0.U(64.W))
  private val data     = RegInit(0.U(64.W))
  private val high     = RegInit(0.U(32.W))

  private val fire                  = io.regs.req.valid
  private val addr                  = io.regs.req.bits.addr
  private val write                 = fire && io.regs.req.bits.write
  private val read                  = fire && !io.regs.req.bits.write
  private val value                 = io.regs.req.bits.wdata
  private def at(offset: Int): Bool = addr === offset.U

  private val storage = Seq(
    FlashRegs.W0.offset       -> w0,
    FlashRegs.W1.offset       -> w1,
    FlashRegs.W2.offset       -> w2,
    FlashRegs.Oob0.offset     -> oob0,
    FlashRegs.Oob1.offset     -> oob1,
    FlashRegs.Geometry.offset -> geometry,
    FlashRegs.Timing0.offset  -> timing0,
    FlashRegs.Timing1.offset  -> timing1,
    FlashRegs.Timing2.offset  -> timing2,
    FlashRegs.DataRate.offset -> rate,
    FlashRegs.Discard.offset  -> discard
  )
  when(write) {
    for ((offset, reg) <- storage) when(at(offset)) { reg := value(reg.getWidth - 1, 0) }
  }

  when(io.busBusy) { busy := busy + 1.U }
  when(io.readPage) { data := data + (1.U << io.config.pageLog2)(p.pageLog2Max, 0) }

  private val cpl = io.completion.bits
  private val view = storage ++ Seq(
    FlashRegs.Space.offset       -> io.space,
    FlashRegs.Cpl.offset         -> Cat(io.completion.valid, 0.U(11.W), cpl.way, cpl.status, cpl.tag),
    FlashRegs.CplData.offset     -> cpl.data(31, 0),
    FlashRegs.CplData1.offset    -> cpl.data(63, 32),
    FlashRegs.BusBusyLo.offset   -> busy(31, 0),
    FlashRegs.BusBusyHi.offset   -> high,
    FlashRegs.DataBytesLo.offset -> data(31, 0),
    FlashRegs.DataBytesHi.offset -> high,
    FlashRegs.PhyMargin.offset   -> io.margin
  )
  private val answer = RegInit(0.U(32.W))
  when(read) {
    answer := 0.U
    for ((offset, reg) <- view) when(at(offset)) { answer := reg }
    when(at(FlashRegs.BusBusyLo.offset)) { high := busy(63, 32) }
    when(at(FlashRegs.DataBytesLo.offset)) { high := data(63, 32) }
  }
  io.regs.req.ready  := true.B
  io.regs.resp.valid := RegNext(fire, false.B)
  io.regs.resp.bits  := answer

  private def atLeast1(x: UInt): UInt = Mux(x === 0.U, 1.U, x)
  io.config.pageLog2 := geometry(4, 0)
  io.config.spare    := geometry(23, 8)
  io.config.multiLun := geometry(30, 29) =/= 0.U
  io.config.tWC      := atLeast1(timing0(7, 0))
  io.config.tCS      := atLeast1(timing0(15, 8))
  io.config.tRPRE    := atLeast1(timing0(23, 16))
  io.config.tPST     := atLeast1(timing0(31, 24))
  io.config.tWB      := timing1(11, 0)
  io.config.tRR      := timing1(19, 12)
  io.config.tWHR     := timing1(31, 20)
  io.config.tADL     := timing2(11, 0)
  io.config.rate     := atLeast1(rate)
  io.config.discard  := discard

  // The push is registered: the checks are the longest path here and nobody waits for them.
  private val pushing = RegNext(write && at(FlashRegs.W3.offset), false.B)
  private val w3      = RegNext(value)
  io.push.valid         := pushing
  io.push.bits.op       := w0(3, 0)
  io.push.bits.way      := w0(7, 4)
  io.push.bits.toStream := w0(8)
  io.push.bits.check    := w0(9)
  io.push.bits.core     := w0(15, 12)
  io.push.bits.stream   := w0(18, 16)
  io.push.bits.tail     := w0(19)
  io.push.bits.tag      := w0(31, 20)
  io.push.bits.row      := w1(23, 0)
  io.push.bits.arg      := w2
  io.push.bits.bytes    := w3(15, 0)
  io.push.bits.oob      := Cat(oob1, oob0)
  io.push.bits.bad      := FlashDescriptor.isBad(p, io.number, w0, w1, w2, w3, geometry(4, 0))

  io.spaceWay := w0(7, 4)
  io.pop      := write && at(FlashRegs.CplPop.offset)
}
