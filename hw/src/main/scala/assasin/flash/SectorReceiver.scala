// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.contract.FlashStatus
import chisel3._
import chisel3.util.{Cat, Decoupled, Queue, Valid, log2Ceil}

/** What the code unit does in this cycle, see [[assasin.codec.RemainderIO]]. */
class CodeStep(p: SocParams) extends Bundle {
  val clear   = Bool()
  val message = Bool()
  val parity  = Bool()
  val data    = UInt((8 * p.phyBytes).W)
}

/** What a status, id or feature phase brought. */
class ShortAnswer extends Bundle {
  val tag    = UInt(12.W)
  val way    = UInt(4.W)
  val lun    = Bool()
  val poll   = Bool()
  val status = UInt(4.W)
  val data   = UInt(64.W)
}

/** A transfer whose data is in a buffer. */
class BufferedTransfer extends Bundle {
  val transfer = new Transfer

  /** The sector has not been programmed since its block's erase. */
  val erased = Bool()

  /** Beats of it have not come. */
  val lost = Bool()
}

class SectorReceiverIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)

  /** A data-out phase begins; its beats follow in order of transfers. */
  val transfer  = Flipped(Decoupled(new Transfer))
  val dqInValid = Input(Bool())
  val dqIn      = Input(UInt((8 * p.phyBytes).W))

  /** The beat is none: it has not come. */
  val dqInLost = Input(Bool())

  /** Descrambled words for the buffers. */
  val word     = Valid(new BufferWord)
  val metadata = Valid(new BufferMetadata)
  val code     = Output(new CodeStep(p))

  /** The remainder of this codeword is there: buffer, codeword; it has too few zero bits to have been programmed, as
    * all codewords of the sector before it.
    */
  val codeword = Valid(UInt(4.W))
  val blank    = Output(Bool())

  /** All beats of the transfer are here; one with data is in the next buffer, in order. */
  val buffered = Valid(new BufferedTransfer)
  val answer   = Valid(new ShortAnswer)

  /** Beats may be on their way. */
  val receiving = Output(Bool())
}

/** Takes the beats of data-out phases apart: data and metadata words of a sector go descrambled into a buffer and, as
  * they are, with the parity through the code unit; raw data goes into a buffer; a short answer becomes a completion.
  */
class SectorReceiver(p: SocParams) extends Module {
  val io = IO(new SectorReceiverIO(p))

  private val beatBits  = 8 * p.phyBytes
  private val shiftBits = log2Ceil(p.phyBytes)

  private val beatValid = RegNext(io.dqInValid, false.B)
  private val beat      = RegNext(io.dqIn)
  private val ended     = RegInit(false.B)
  private val lostBeat  = RegNext(io.dqInLost, false.B)
  private val lost      = RegInit(false.B)
  lost := lost && !ended || beatValid && lostBeat

  // The transfer whose beats come, and those behind it. The scrambler starts when a transfer's turn comes.
  private val transfers = Module(new Queue(new Transfer, SectorReceiver.Transfers))
  private val now       = Reg(new Transfer)
  private val busy      = RegInit(false.B)
  private val scrambler = Module(new Scrambler)
  transfers.io.enq <> io.transfer
  transfers.io.deq.ready   := ended || !busy
  scrambler.io.seed        := io.config.seed
  scrambler.io.start.valid := transfers.io.deq.fire
  scrambler.io.start.bits  := transfers.io.deq.bits.address
  when(transfers.io.deq.fire) {
    now  := transfers.io.deq.bits
    busy := true.B
  }.elsewhen(ended) {
    busy := false.B
  }

  // Where the beat stands: in the transfer, in its word, and in which part of the codeword.
  private val beats      = RegInit(0.U(15.W))
  private val sub        = RegInit(0.U(3.W))
  private val shift      = Reg(UInt(64.W))
  private val shifted    = Mux(now.narrow, Cat(beat(7, 0), shift(63, 8)), Cat(beat, shift >> beatBits))
  private val inMetadata = RegInit(false.B)
  private val inParity   = RegInit(false.B)
  private val left       = RegInit((SectorFormat.DataBytes / p.phyBytes - 1).U(log2Ceil(SectorFormat.DataBytes).W))
  private val first      = RegInit(true.B)
  private val codeword   = RegInit(0.U(2.W))
  private val buffer     = RegInit(0.U(2.W))
  private val index      = RegInit(0.U(9.W))

  private val partEnd  = left === 0.U
  private val wordEnd  = sub === Mux(now.narrow, 7.U, (8 / p.phyBytes - 1).U)
  private val hasCode  = io.config.parityBytes =/= 0.U
  private val dataWord = beatValid && wordEnd && now.main && !inMetadata && !inParity
  private val metaWord = beatValid && partEnd && inMetadata
  private val codeEnd  = beatValid && partEnd && Mux(hasCode, inParity, inMetadata)

  ended := false.B
  when(beatValid) {
    shift := shifted
    sub   := Mux(wordEnd || inMetadata && partEnd || inParity, 0.U, sub + 1.U)
    beats := beats + 1.U
    when(now.sector) {
      first := codeEnd
      left  := left - 1.U
      when(partEnd) {
        when(codeEnd) {
          inMetadata := false.B
          inParity   := false.B
          left       := (SectorFormat.DataBytes / p.phyBytes - 1).U
          codeword   := codeword + 1.U
        }.elsewhen(inMetadata) {
          inMetadata := false.B
          inParity   := true.B
          left       := (io.config.parityBytes >> shiftBits) - 1.U
        }.otherwise {
          inMetadata := true.B
          left       := (SectorFormat.MetadataBytes / p.phyBytes - 1).U
        }
      }
    }
    when(beats === now.beats - 1.U) {
      ended := true.B
      beats := 0.U
      sub   := 0.U
    }
  }
  when(dataWord) { index := index + 1.U }
  io.word.valid          := dataWord
  io.word.bits.index     := buffer ## index
  io.word.bits.data      := Mux(now.sector, shifted ^ scrambler.io.word, shifted)
  io.metadata.valid      := metaWord
  io.metadata.bits.index := buffer ## codeword
  io.metadata.bits.data  := shifted(63, 32) ^ scrambler.io.word(31, 0)
  scrambler.io.step      := dataWord && now.sector || metaWord
  io.codeword.valid      := RegNext(codeEnd, false.B)
  io.codeword.bits       := RegNext(buffer ## codeword)
  io.code.clear          := first
  io.code.message        := beatValid && now.sector && !inParity
  io.code.parity         := beatValid && inParity
  io.code.data           := beat
  io.receiving           := busy || transfers.io.deq.valid

  // Zero bits are counted until there are more than an erased sector has.
  private val zeros  = RegInit(0.U(16.W))
  private val erased = zeros <= io.config.erasedLimit
  when(beatValid && now.sector && erased) { zeros := zeros + SectorReceiver.zeros(beat, beatBits) }
  io.blank := erased && zeros < SectorReceiver.BlankZeros.U

  when(ended) {
    index := 0.U
    zeros := 0.U
    when(now.main) { buffer := buffer + 1.U }
  }
  io.buffered.valid         := ended && now.main
  io.buffered.bits.transfer := now
  io.buffered.bits.erased   := erased && now.sector
  io.buffered.bits.lost     := lost

  private val status = shift(63, 56)
  io.answer.valid       := ended && !now.main
  io.answer.bits.way    := now.way
  io.answer.bits.lun    := now.lun
  io.answer.bits.poll   := now.poll
  io.answer.bits.tag    := now.tag
  io.answer.bits.status := FlashStatus.Ok.U
  when(lost) {
    io.answer.bits.status := FlashStatus.Timeout.U
  }.elsewhen(now.check && !status(7)) {
    io.answer.bits.status := FlashStatus.Protected.U
  }.elsewhen(now.check && (status(1, 0) & now.failMask).orR) {
    io.answer.bits.status := FlashStatus.Fail.U
  }
  io.answer.bits.data := Mux(now.beats === 1.U, shift >> 56, Mux(now.beats === 4.U, shift >> 32, shift))
}

object SectorReceiver {

  /** Transfers whose beats may be on their way. */
  val Transfers: Int = 4

  /** No codeword that was programmed has so few zero bits: it is scrambled, so that half of its 8,224 bits or more are.
    */
  val BlankZeros: Int = 1024

  /** Number of zero bits, as a sum of fields that grow: it costs less in simulation than a sum of single bits. */
  def zeros(x: UInt, bits: Int): UInt = {
    def field(ones: Int, of: Int): UInt          = Cat(Seq.fill(bits / of)(((1 << ones) - 1).U(of.W)))
    def sum(v: UInt, ones: Int, wide: Int): UInt = (v & field(ones, wide)) + ((v >> ones).asUInt & field(ones, wide))
    val bytes = Seq(1 -> 2, 2 -> 4, 4 -> 8).foldLeft(~x) { case (v, (n, w)) => sum(v, n, w) }
    (0 until bits by 8).map(i => bytes(i + 3, i)).reduce(_ +& _)
  }
}
