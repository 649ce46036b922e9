package assasin.flash

import assasin.SocParams
import assasin.contract.FlashStatus
import assasin.xbar.{XbarBeat, XbarPort}
import chisel3._
import chisel3.util.{Cat, Decoupled, Queue, UIntToOH, Valid}

class ReadPackerIO(p: SocParams) extends Bundle {
  val transfer      = Flipped(Valid(new Transfer))
  val transferReady = Output(Bool())

  /** One more main-area beat may be asked for. */
  val room = Output(Bool())

  /** Main-area bytes being asked for in this cycle. */
  val asked      = Input(UInt(3.W))
  val dqInValid  = Input(Bool())
  val dqIn       = Input(UInt((8 * p.phyBytes).W))
  val out        = Decoupled(new XbarBeat)
  val completion = Decoupled(new FlashCompletion)

  /** Ways with a transfer whose completion has not been handed over. */
  val unfinished = Output(UInt(p.ways.W))
  val quiet      = Output(Bool())
}

/** Packs data-out beats into 64-byte packets. Four packets are buffered; `room` counts the beats that are still on
  * their way, so nothing is lost when the crossbar holds packets back. A page completes when its last packet has gone
  * and its OOB words are here.
  */
class ReadPacker(p: SocParams) extends Module {
  val io = IO(new ReadPackerIO(p))

  private val ringWords    = 32
  private val maxTransfers = 4
  private val beatBits     = 8 * p.phyBytes
  private val dram         = XbarPort.dram(p.tiles, p.channels).U(6.W)

  // Transfers from the start of their bus phase until their completion is handed over.
  private val transfers   = Module(new Queue(new Transfer, maxTransfers))
  private val outstanding = RegInit(0.U(3.W))
  private val unfinished  = RegInit(0.U(p.ways.W))
  transfers.io.enq.valid := io.transfer.valid
  transfers.io.enq.bits  := io.transfer.bits
  io.transferReady       := outstanding =/= maxTransfers.U
  private val now = transfers.io.deq.bits

  // Beats to words
  private val beatValid = RegNext(io.dqInValid, false.B)
  private val beat      = RegNext(io.dqIn)
  private val beats     = RegInit(0.U(15.W))
  private val sub       = RegInit(0.U(3.W))
  private val words     = RegInit(0.U(13.W))
  private val shift     = Reg(UInt(64.W))
  private val oob       = Reg(UInt(64.W))
  private val ended     = RegInit(false.B)
  private val shifted   = Mux(now.narrow, Cat(beat(7, 0), shift(63, 8)), Cat(beat, shift(63, beatBits)))
  private val wordDone  = beatValid && sub === Mux(now.narrow, 7.U, (8 / p.phyBytes - 1).U)
  ended := false.B
  when(beatValid) {
    shift := shifted
    beats := beats + 1.U
    sub   := Mux(wordDone, 0.U, sub + 1.U)
    when(beats === now.beats - 1.U) {
      ended := true.B
      beats := 0.U
      sub   := 0.U
    }
  }

  // Words to packets
  private val ring      = SyncReadMem(ringWords, UInt(64.W))
  private val tail      = RegInit(0.U(5.W))
  private val formed    = RegInit(0.U(6.W))
  private val sent      = RegInit(0.U(6.W))
  private val inMain    = now.main && words < now.words
  private val wanted    = !now.drop && (words ## 0.U(3.W)) < now.bytes
  private val lastWord  = words === (now.bytes - 1.U)(15, 3)
  private val store     = wordDone && inMain && wanted
  private val packetEnd = store && (words(2, 0) === 7.U || lastWord)
  when(wordDone) {
    words := words + 1.U
    when(now.main && words === now.words) { oob := shifted }
  }
  when(store) {
    ring.write(tail, shifted)
    tail := tail + 1.U
  }
  // The packet is announced one cycle after its last word was written, so that the word can be read.
  private val packets   = Module(new Queue(new XbarBeat, 8))
  private val announce  = RegNext(packetEnd, false.B)
  private val announced = Reg(new XbarBeat)
  when(packetEnd) {
    formed             := formed + 1.U
    announced.data     := 0.U
    announced.last     := false.B
    announced.dst      := Mux(now.toStream, now.core, dram)
    announced.addr     := now.addr + (words(12, 3) ## 0.U(6.W))
    announced.bytes    := Mux(lastWord, (now.bytes - 1.U)(5, 0) +& 1.U, 64.U)
    announced.toStream := now.toStream
    announced.stream   := now.stream
    announced.mark     := now.toStream && now.tail && lastWord
  }
  packets.io.enq.valid := announce
  packets.io.enq.bits  := announced
  assert(!announce || packets.io.enq.ready, "packet queue overflow")

  // Packets to the crossbar
  private val head     = RegInit(0.U(5.W))
  private val outBeat  = RegInit(0.U(3.W))
  private val packet   = packets.io.deq.bits
  private val headNext = Mux(io.out.fire, head + 1.U, head)
  head                 := headNext
  io.out.valid         := packets.io.deq.valid
  io.out.bits          := packet
  io.out.bits.data     := ring.read(headNext)
  io.out.bits.last     := outBeat === (packet.bytes - 1.U)(5, 3)
  packets.io.deq.ready := io.out.ready && io.out.bits.last
  when(io.out.fire) {
    outBeat := Mux(io.out.bits.last, 0.U, outBeat + 1.U)
    when(io.out.bits.last) { sent := sent + 1.U }
  }

  // Bytes asked for and not yet passed on or dropped.
  private val held    = RegInit(0.U(9.W))
  private val dropped = wordDone && inMain && !wanted
  held    := held + io.asked - (io.out.fire ## 0.U(3.W)) - (dropped ## 0.U(3.W))
  io.room := held <= (8 * (ringWords - 1)).U

  // Completions wait for the packets formed before them.
  private class Ending extends Bundle {
    val completion = new FlashCompletion
    val formed     = UInt(6.W)
  }
  private val endings = Module(new Queue(new Ending, maxTransfers))
  private val ending  = endings.io.enq.bits
  private val status  = shift(63, 56)
  endings.io.enq.valid     := ended
  ending.formed            := formed
  ending.completion.way    := now.way
  ending.completion.tag    := now.tag
  ending.completion.status := FlashStatus.Ok.U
  ending.completion.sector := false.B
  ending.completion.errors := 0.U
  ending.completion.bits   := 0.U
  ending.completion.failed := 0.U
  private val differs     = oob(31, 0) ^ now.expected
  private val misdirected = now.verify && Cat(differs(31, Transfer.MarkBit + 1), differs(Transfer.MarkBit - 1, 0)).orR
  when(now.drop) {
    ending.completion.status := FlashStatus.Dropped.U
  }.elsewhen(misdirected) {
    ending.completion.status := FlashStatus.Misdirected.U
  }.elsewhen(now.check && !status(7)) {
    ending.completion.status := FlashStatus.Protected.U
  }.elsewhen(now.check && status(0)) {
    ending.completion.status := FlashStatus.Fail.U
  }
  when(now.main) {
    ending.completion.data := Mux(
      now.narrow,
      0.U,
      Mux(now.drop || misdirected, now.expected, oob(63, 32)) ## Mux(now.drop, now.addr, oob(31, 0))
    )
  }.elsewhen(now.beats === 1.U) {
    ending.completion.data := shift >> 56
  }.elsewhen(now.beats === 4.U) {
    ending.completion.data := shift >> 32
  }.otherwise {
    ending.completion.data := shift
  }
  transfers.io.deq.ready := ended
  when(ended) {
    words := 0.U
    oob   := 0.U
  }
  private val over = !(sent - endings.io.deq.bits.formed)(5)
  io.completion.valid  := endings.io.deq.valid && over
  io.completion.bits   := endings.io.deq.bits.completion
  endings.io.deq.ready := io.completion.ready && over

  private val starts   = Mux(io.transfer.valid, UIntToOH(io.transfer.bits.way, p.ways), 0.U)
  private val finishes = Mux(io.completion.fire, UIntToOH(io.completion.bits.way, p.ways), 0.U)
  unfinished := (unfinished & ~finishes) | starts
  when(io.transfer.valid =/= io.completion.fire) {
    outstanding := Mux(io.transfer.valid, outstanding + 1.U, outstanding - 1.U)
  }
  io.unfinished := unfinished
  io.quiet      := outstanding === 0.U && !packets.io.deq.valid && !announce
}
