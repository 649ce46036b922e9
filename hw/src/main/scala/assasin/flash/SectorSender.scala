// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.contract.FlashStatus
import assasin.xbar.{XbarBeat, XbarPort}
import chisel3._
import chisel3.util.{Cat, Decoupled}

/** What the code found in a sector. */
class SectorFindings extends Bundle {

  /** Most bits corrected in one codeword; bits corrected; codewords that cannot be corrected. */
  val most   = UInt(7.W)
  val bits   = UInt(10.W)
  val failed = UInt(4.W)
}

class SectorSenderIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)

  /** Transfers in buffers, in order. Their buffers are no longer needed when they complete. */
  val buffered = Flipped(Decoupled(new BufferedTransfer))

  /** The buffer being looked at, whether all its codewords are right or given up, and what was found. */
  val buffer   = Output(UInt(2.W))
  val resolved = Input(Bool())
  val findings = Input(new SectorFindings)

  /** The buffers, see [[SectorBuffers]]. */
  val read          = Output(Bool())
  val index         = Output(UInt(11.W))
  val data          = Input(UInt(64.W))
  val metadataIndex = Output(UInt(4.W))
  val metadataWord  = Input(UInt(32.W))

  val out        = Decoupled(new XbarBeat)
  val completion = Decoupled(new FlashCompletion)
  val idle       = Output(Bool())
}

/** Judges the sectors in the buffers one by one, delivers those that are right, and completes them all. Judging takes a
  * pass over the buffer for the CRC. Raw data is delivered as it is.
  */
class SectorSender(p: SocParams) extends Module {
  val io = IO(new SectorSenderIO(p))

  private val dram = XbarPort.dram(p.tiles, p.channels).U(6.W)

  private object State {
    val idle      = 1.U(8.W)
    val waits     = 2.U(8.W)
    val starts    = 4.U(8.W)
    val sums      = 8.U(8.W)
    val sumsWords = 16.U(8.W)
    val judges    = 32.U(8.W)
    val delivers  = 64.U(8.W)
    val completes = 128.U(8.W)
  }
  private val state                 = RegInit(State.idle)
  private def in(other: UInt): Bool = state(other.litValue.bitLength - 1)

  private val now      = Reg(new Transfer)
  private val erased   = Reg(Bool())
  private val lost     = Reg(Bool())
  private val findings = Reg(new SectorFindings)
  private val buffer   = RegInit(0.U(2.W))
  private val index    = RegInit(0.U(9.W))
  private val summed   = Reg(Bool())
  private val crc      = Reg(UInt(32.W))
  private val status   = Reg(UInt(4.W))

  // The metadata words, of LAYOUT the version.
  private val oob0    = Reg(UInt(32.W))
  private val oob1    = Reg(UInt(32.W))
  private val stored  = Reg(UInt(32.W))
  private val version = Reg(UInt(8.W))

  // Last word to deliver; packets.
  private val end       = Reg(UInt(9.W))
  private val endBytes  = Reg(UInt(7.W))
  private val address   = Reg(UInt(32.W))
  private val endPacket = index(8, 3) === end(8, 3)
  private val lastWord  = index === end
  private val last      = lastWord || index(2, 0) === 7.U

  // The word `index` is shown while the CRC is summed and while it is sent.
  private val indexNext = Mux(in(State.sums) || io.out.fire, index + 1.U, index)
  io.buffer        := buffer
  io.index         := buffer ## indexNext
  io.read          := in(State.starts) || in(State.sums) || in(State.delivers)
  io.metadataIndex := buffer ## index(1, 0)

  io.idle           := in(State.idle)
  io.buffered.ready := io.idle
  when(io.buffered.fire) {
    now      := io.buffered.bits.transfer
    erased   := io.buffered.bits.erased
    lost     := io.buffered.bits.lost
    index    := 0.U
    summed   := !io.buffered.bits.transfer.sector
    crc      := Crc32c.Initial
    status   := FlashStatus.Ok.U
    end      := (io.buffered.bits.transfer.bytes - 1.U)(11, 3)
    endBytes := (io.buffered.bits.transfer.bytes - 1.U)(5, 0) +& 1.U
    address  := io.buffered.bits.transfer.addr
    state    := State.waits
  }
  when(in(State.waits) && (io.resolved || !now.sector)) {
    findings := io.findings
    state    := State.starts
    when(now.drop) {
      status := FlashStatus.Dropped.U
      state  := State.completes
    }.elsewhen(lost) {
      status := FlashStatus.Timeout.U
      state  := State.completes
    }.elsewhen(erased) {
      status := FlashStatus.Erased.U
      state  := State.completes
    }
  }
  when(in(State.starts)) { state := Mux(summed, State.delivers, State.sums) }
  when(in(State.sums)) {
    crc   := Crc32c.doubleWord(crc, io.data)
    index := indexNext
    when(index === (SectorFormat.Words - 1).U) { state := State.sumsWords }
  }
  when(in(State.sumsWords)) {
    when(index === 2.U) { stored := io.metadataWord }.otherwise { crc := Crc32c.word(crc, io.metadataWord) }
    when(index === 0.U) { oob0 := io.metadataWord }
    when(index === 1.U) { oob1 := io.metadataWord }
    when(index === 3.U) {
      version := io.metadataWord(7, 0)
      state   := State.judges
    }
    index := index + 1.U
  }
  when(in(State.judges)) {
    val differs = oob0 ^ now.expected
    index  := 0.U
    summed := true.B
    state  := State.completes
    when(findings.failed =/= 0.U) {
      status := FlashStatus.Uncorrectable.U
    }.elsewhen(~crc =/= stored) {
      status := FlashStatus.Mismatch.U
    }.elsewhen(version =/= io.config.layout(7, 0)) {
      status := FlashStatus.Foreign.U
    }.elsewhen(now.verify && Cat(differs(31, Transfer.MarkBit + 1), differs(Transfer.MarkBit - 1, 0)).orR) {
      status := FlashStatus.Misdirected.U
    }.otherwise {
      state := State.starts
    }
  }
  when(io.out.fire) {
    index := indexNext
    when(last) { address := address + 64.U }
    when(lastWord) { state := State.completes }
  }
  when(io.completion.fire) {
    state  := State.idle
    buffer := buffer + 1.U
  }

  io.out.valid         := in(State.delivers)
  io.out.bits.data     := io.data
  io.out.bits.last     := last
  io.out.bits.dst      := Mux(now.toStream, now.core, dram)
  io.out.bits.addr     := address
  io.out.bits.bytes    := Mux(endPacket, endBytes, 64.U)
  io.out.bits.toStream := now.toStream
  io.out.bits.stream   := now.stream
  io.out.bits.mark     := now.toStream && now.tail && endPacket

  private val ok      = status === FlashStatus.Ok.U
  private val dropped = status === FlashStatus.Dropped.U
  private val found   = now.sector && !dropped && !erased && !lost
  io.completion.valid       := in(State.completes)
  io.completion.bits.way    := now.way
  io.completion.bits.tag    := now.tag
  io.completion.bits.status := status
  io.completion.bits.sector := now.sector
  io.completion.bits.errors := Mux(found, findings.most, 0.U)
  io.completion.bits.bits   := Mux(found, findings.bits, 0.U)
  io.completion.bits.failed := Mux(found, findings.failed, 0.U)
  io.completion.bits.data := Mux(
    now.sector,
    Mux(ok, oob1, now.expected) ## Mux(dropped, now.addr, Mux(erased, "hFFFFFFFF".U, oob0)),
    0.U
  )
}
