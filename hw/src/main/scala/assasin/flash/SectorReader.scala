// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.codec.{CodeParams, DecoderIO}
import assasin.xbar.XbarBeat
import chisel3._
import chisel3.util.{Decoupled, Queue, UIntToOH, Valid}

/** What reading needs of the code: the remainder, and the decoder. */
class ReaderCodeIO(p: CodeParams) extends Bundle {
  val remainder = Input(UInt(p.width.W))
  val clean     = Input(Bool())
  val decoder   = Flipped(new DecoderIO(p))
}

class SectorReaderIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)

  /** A data-out phase begins; its beats follow in order of transfers. */
  val transfer = Flipped(Valid(new Transfer))

  /** Such a phase may begin. */
  val transferReady = Output(Bool())

  /** One more beat of sector or raw data may be asked for; bytes of them that are being asked for in this cycle. */
  val room      = Output(Bool())
  val asked     = Input(UInt(3.W))
  val dqInValid = Input(Bool())
  val dqIn      = Input(UInt((8 * p.phyBytes).W))

  /** The code unit's work; none while not `receiving`. */
  val step      = Output(new CodeStep(p))
  val receiving = Output(Bool())
  val code      = Option.when(p.ecc.nonEmpty)(new ReaderCodeIO(CodeParams(p.ecc, p.phyBytes)))

  val out        = Decoupled(new XbarBeat)
  val completion = Decoupled(new FlashCompletion)

  /** It is none, but the status of this LUN of the completion's way. */
  val poll    = Output(Bool())
  val pollLun = Output(Bool())

  /** Ways with a transfer whose completion has not been handed over. */
  val unfinished = Output(UInt(p.ways.W))
  val quiet      = Output(Bool())
}

/** Reads sectors: [[SectorReceiver]] takes the beats apart, [[SectorBuffers]] holds four sectors until the decoder has
  * found their wrong bits, [[SectorSender]] judges and delivers them in order of their transfers. Short answers go past
  * the buffers.
  */
class SectorReader(p: SocParams) extends Module {
  val io = IO(new SectorReaderIO(p))

  private val receiver = Module(new SectorReceiver(p))
  private val buffers  = Module(new SectorBuffers(p))
  private val sender   = Module(new SectorSender(p))
  private val buffered = Module(new Queue(new BufferedTransfer, SectorBuffers.Count))
  private val answers  = Module(new Queue(new ShortAnswer, SectorReceiver.Transfers))

  receiver.io.config         := io.config
  receiver.io.transfer.valid := io.transfer.valid
  receiver.io.transfer.bits  := io.transfer.bits
  receiver.io.dqInValid      := io.dqInValid
  receiver.io.dqIn           := io.dqIn
  io.step                    := receiver.io.code
  io.receiving               := receiver.io.receiving

  buffers.io.word          := receiver.io.word
  buffers.io.metadata      := receiver.io.metadata
  buffers.io.read          := sender.io.read
  buffers.io.index         := sender.io.index
  buffers.io.metadataIndex := sender.io.metadataIndex

  buffered.io.enq.valid := receiver.io.buffered.valid
  buffered.io.enq.bits  := receiver.io.buffered.bits
  answers.io.enq.valid  := receiver.io.answer.valid
  answers.io.enq.bits   := receiver.io.answer.bits

  sender.io.config       := io.config
  sender.io.data         := buffers.io.data
  sender.io.metadataWord := buffers.io.metadataWord
  sender.io.buffered <> buffered.io.deq
  io.out <> sender.io.out

  // Answers first: nothing that fills a buffer holds them up.
  private val done      = Reg(new FlashCompletion)
  private val doneValid = RegInit(false.B)
  private val donePoll  = RegInit(false.B)
  private val doneLun   = Reg(Bool())
  private val doneFree  = !doneValid || io.completion.ready
  private val answer    = answers.io.deq.bits
  answers.io.deq.ready       := doneFree
  sender.io.completion.ready := doneFree && !answers.io.deq.valid
  when(doneFree) { doneValid := answers.io.deq.valid || sender.io.completion.valid }
  when(answers.io.deq.fire) {
    done        := 0.U.asTypeOf(done)
    done.tag    := answer.tag
    done.way    := answer.way
    done.status := answer.status
    done.data   := answer.data
    doneLun     := answer.lun
  }
  when(doneFree) { donePoll := answers.io.deq.valid && answer.poll }
  when(sender.io.completion.fire) { done := sender.io.completion.bits }
  io.completion.valid := doneValid
  io.completion.bits  := done
  io.poll             := donePoll
  io.pollLun          := doneLun

  // Places: a buffer for each transfer with data, and one in `answers` for each without.
  private val starts     = io.transfer.valid
  private val inBuffers  = RegInit(0.U(3.W))
  private val inAnswers  = RegInit(0.U(3.W))
  private val takesPlace = starts && io.transfer.bits.main
  private val takesEntry = starts && !io.transfer.bits.main
  when(takesPlace =/= sender.io.completion.fire) {
    inBuffers := Mux(takesPlace, inBuffers + 1.U, inBuffers - 1.U)
  }
  when(takesEntry =/= answers.io.deq.fire) {
    inAnswers := Mux(takesEntry, inAnswers + 1.U, inAnswers - 1.U)
  }
  io.transferReady := receiver.io.transfer.ready && !inBuffers(2) && !inAnswers(2)
  assert(!starts || io.transferReady, "a data-out phase begins without a place for it")

  // Transfers of each way, four bits a way in one register: it costs less in simulation than many.
  private val ofWay                 = RegInit(0.U((4 * p.ways).W))
  private val unfinished            = RegInit(0.U(p.ways.W))
  private val ends                  = io.completion.fire
  private def unit(way: UInt): UInt = (1.U << (way ## 0.U(2.W)))(4 * p.ways - 1, 0)
  when(starts || ends) {
    ofWay := ofWay + Mux(starts, unit(io.transfer.bits.way), 0.U) - Mux(ends, unit(io.completion.bits.way), 0.U)
    val only = (ofWay >> (io.completion.bits.way ## 0.U(2.W)))(3, 0) === 1.U
    unfinished := (unfinished & ~Mux(ends && only, UIntToOH(io.completion.bits.way, p.ways), 0.U)) |
      Mux(starts, UIntToOH(io.transfer.bits.way, p.ways), 0.U)
  }
  io.unfinished := unfinished
  io.quiet      := inBuffers === 0.U && inAnswers === 0.U && !doneValid

  // What is known of the sectors in the buffers: codewords that are right or given up, and what was found.
  private val resolved  = RegInit(0.U((SectorBuffers.Count * SectorFormat.Codewords).W))
  private val findings  = RegInit(VecInit.fill(SectorBuffers.Count)(0.U.asTypeOf(new SectorFindings)))
  private val nextPlace = RegInit(0.U(2.W))
  sender.io.resolved := (resolved >> (sender.io.buffer ## 0.U(2.W)))(3, 0).andR
  sender.io.findings := findings(sender.io.buffer)
  when(takesPlace) { nextPlace := nextPlace + 1.U }
  private val forgotten = Mux(takesPlace, 15.U(16.W) << (nextPlace ## 0.U(2.W)), 0.U)(15, 0)
  when(takesPlace) { findings(nextPlace) := 0.U.asTypeOf(new SectorFindings) }

  io.code match {
    case None =>
      val right = receiver.io.codeword
      when(takesPlace || right.valid) {
        resolved := (resolved & ~forgotten) | Mux(right.valid, UIntToOH(right.bits, 16), 0.U)
      }
      buffers.io.error.valid := false.B
      buffers.io.error.bits  := 0.U.asTypeOf(new BufferError)
      io.room                := true.B
    case Some(code) =>
      val gate = Module(new CodewordGate(p))
      gate.io.config        := io.config
      gate.io.begins        := starts
      gate.io.sector        := io.transfer.bits.sector
      gate.io.asked         := io.asked =/= 0.U
      gate.io.codeword      := receiver.io.codeword
      gate.io.remainder     := code.remainder
      gate.io.clean         := code.clean
      io.room               := gate.io.room
      code.decoder.strength := io.config.strength
      code.decoder.in <> gate.io.decode

      buffers.io.error.valid      := code.decoder.error.valid
      buffers.io.error.bits.index := code.decoder.error.bits.id(3, 0)
      buffers.io.error.bits.bit   := code.decoder.error.bits.bit
      code.decoder.error.ready    := buffers.io.error.ready

      val right  = gate.io.right
      val result = code.decoder.result
      when(takesPlace || right.valid || result.valid) {
        resolved := (resolved & ~forgotten) | Mux(right.valid, UIntToOH(right.bits, 16), 0.U) |
          Mux(result.valid, UIntToOH(result.bits.id(3, 0), 16), 0.U)
      }
      when(result.valid) {
        val found = findings(result.bits.id(3, 2))
        when(result.bits.failed) {
          found.failed := found.failed | UIntToOH(result.bits.id(1, 0), 4)
        }.otherwise {
          found.bits := found.bits + result.bits.count
          when(result.bits.count > found.most) { found.most := result.bits.count }
        }
      }
  }
}
