package assasin.flash

import assasin.SocParams
import assasin.xbar.XbarBeat
import chisel3._
import chisel3.util.{Cat, Decoupled, Fill, Valid}

class ProgramBufferIO(p: SocParams) extends Bundle {
  val pageLog2 = Input(UInt(5.W))

  /** Start for a way with this descriptor; only while `free`. */
  val start = Flipped(Valid(new FlashDescriptor))
  val free  = Output(Bool())
  val fetch = Decoupled(new FlashFetch)
  val in    = Flipped(Decoupled(new XbarBeat))

  /** All data is here: the way may have the bus. */
  val ready = Valid(UInt(4.W))

  /** Word `index` of the page and its spare area, in the next cycle. */
  val index = Input(UInt(12.W))
  val word  = Output(UInt(64.W))

  /** The last beat has gone to the chip. */
  val release = Input(Bool())
}

/** Holds the page that is being programmed. Bytes past the descriptor's count read FFh; the spare area is the two OOB
  * words, then FFh.
  */
class ProgramBuffer(p: SocParams) extends Module {
  val io = IO(new ProgramBufferIO(p))

  private val wordBits = FlashDescriptor.SectorLog2 - 3
  private val memory   = SyncReadMem(1 << wordBits, UInt(64.W))

  private val taken     = RegInit(false.B)
  private val asking    = RegInit(false.B)
  private val filling   = RegInit(false.B)
  private val way       = Reg(UInt(4.W))
  private val addr      = Reg(UInt(32.W))
  private val bytes     = Reg(UInt(16.W))
  private val oob       = Reg(UInt(64.W))
  private val wordsLeft = Reg(UInt(14.W))
  private val beat      = RegInit(0.U(3.W))

  io.free             := !taken
  io.fetch.valid      := asking
  io.fetch.bits.addr  := addr
  io.fetch.bits.bytes := bytes
  when(io.fetch.fire) { asking := false.B }

  io.in.ready := true.B
  when(io.in.fire) {
    memory.write((io.in.bits.addr >> 3)(wordBits - 1, 0) + beat, io.in.bits.data)
    beat      := Mux(io.in.bits.last, 0.U, beat + 1.U)
    wordsLeft := wordsLeft - 1.U
  }
  io.ready.valid := filling && wordsLeft === 0.U
  io.ready.bits  := way
  when(io.ready.valid) { filling := false.B }

  when(io.start.valid) {
    taken     := true.B
    asking    := true.B
    filling   := true.B
    way       := io.start.bits.way
    addr      := io.start.bits.arg
    bytes     := io.start.bits.bytes
    oob       := io.start.bits.oob
    wordsLeft := (io.start.bits.bytes +& 7.U) >> 3
  }.elsewhen(io.release) {
    taken := false.B
  }

  private val index    = RegNext(io.index)
  private val data     = memory.read(io.index(wordBits - 1, 0))
  private val valid    = bytes.zext - (index ## 0.U(3.W)).zext
  private val pageWord = (1.U << io.pageLog2)(FlashDescriptor.SectorLog2, 0) >> 3
  private val filler   = Fill(64, 1.U(1.W))
  when(index === pageWord) {
    io.word := oob
  }.elsewhen(index > pageWord || valid <= 0.S) {
    io.word := filler
  }.elsewhen(valid < 8.S) {
    io.word := data | (filler << Cat(valid(2, 0), 0.U(3.W)))(63, 0)
  }.otherwise {
    io.word := data
  }
}
