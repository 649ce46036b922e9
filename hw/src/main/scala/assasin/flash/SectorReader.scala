// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.bus.ClockGate
import assasin.codec.{CodeParams, DecoderIO}
import assasin.xbar.XbarBeat
import chisel3._
import chisel3.util.{Decoupled, Queue, UIntToOH, Valid}

/** What reading needs of the code: the errors' remainder, see [[assasin.codec.RemainderIO]], and the decoder. */
class ReaderCodeIO(p: CodeParams) extends Bundle {
  val error   = Input(UInt(p.beatBits.W))
  val clean   = Input(Bool())
  val decoder = Flipped(new DecoderIO(p))
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

  /** The beat is none: it has not come. */
  val dqInLost = Input(Bool())

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
  private val sends    = WireDefault(false.B)
  private val sender   = withClock(ClockGate(sends))(Module(new SectorSender(p)))
  private val buffered = Module(new Queue(new BufferedTransfer, SectorBuffers.Count))
  private val answers  = Module(new Queue(new ShortAnswer, SectorReceiver.Transfers))

  receiver.io.config         := io.config
  receiver.io.transfer.valid := io.transfer.valid
  receiver.io.transfer.bits  := io.transfer.bits
  receiver.io.dqInValid      := io.dqInValid
  receiver.io.dqIn           := io.dqIn
  receiver.io.dqInLost       := io.dqInLost
  sends                      := buffered.io.deq.valid || !sender.io.idle
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
  // So does a clock of their own: what the planner makes of them is evaluated when they change.
  private val ends                  = io.completion.fire
  private val counted               = ClockGate(starts || ends)
  private val ofWay                 = withClock(counted)(RegInit(0.U((4 * p.ways).W)))
  private val unfinished            = withClock(counted)(RegInit(0.U(p.ways.W)))
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
  private val failed    = RegInit(0.U((SectorBuffers.Count * SectorFormat.Codewords).W))
  private val most      = RegInit(VecInit.fill(SectorBuffers.Count)(0.U(7.W)))
  private val bits      = RegInit(VecInit.fill(SectorBuffers.Count)(0.U(10.W)))
  private val nextPlace = RegInit(0.U(2.W))
  sender.io.resolved        := (resolved >> (sender.io.buffer ## 0.U(2.W)))(3, 0).andR
  sender.io.findings.failed := (failed >> (sender.io.buffer ## 0.U(2.W)))(3, 0)
  sender.io.findings.most   := most(sender.io.buffer)
  sender.io.findings.bits   := bits(sender.io.buffer)
  when(takesPlace) { nextPlace := nextPlace + 1.U }
  private val forgotten = Mux(takesPlace, 15.U(16.W) << (nextPlace ## 0.U(2.W)), 0.U)(15, 0)
  when(takesPlace) {
    most(nextPlace) := 0.U
    bits(nextPlace) := 0.U
  }

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
      gate.io.clean         := code.clean
      gate.io.blank         := receiver.io.blank
      gate.io.beat.valid    := receiver.io.code.parity
      gate.io.beat.bits     := code.error
      io.room               := gate.io.room
      code.decoder.strength := io.config.strength
      code.decoder.in <> gate.io.decode

      buffers.io.error.valid      := code.decoder.error.valid
      buffers.io.error.bits.index := code.decoder.error.bits.id(3, 0)
      buffers.io.error.bits.bit   := code.decoder.error.bits.bit
      code.decoder.error.ready    := buffers.io.error.ready

      val settled = gate.io.settled
      val result  = code.decoder.result
      val settles = Mux(settled.valid, UIntToOH(settled.bits.index, 16), 0.U)
      val decoded = Mux(result.valid, UIntToOH(result.bits.id(3, 0), 16), 0.U)
      when(takesPlace || settled.valid || result.valid) {
        resolved := (resolved & ~forgotten) | settles | decoded
        failed := (failed & ~forgotten) | Mux(settled.bits.failed, settles, 0.U) | Mux(result.bits.failed, decoded, 0.U)
      }
      when(result.valid && !result.bits.failed) {
        val place = result.bits.id(3, 2)
        bits(place) := bits(place) + result.bits.count
        when(result.bits.count > most(place)) { most(place) := result.bits.count }
      }
  }
}
