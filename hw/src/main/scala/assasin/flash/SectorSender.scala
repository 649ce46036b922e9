// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.contract.FlashStatus
import assasin.xbar.{XbarBeat, XbarPort}
import chisel3._
import chisel3.util.{Cat, Decoupled, Enum}

/** What the code found in a sector. */
class SectorFindings extends Bundle {

  /** Most bits corrected in one codeword; bits corrected; codewords that cannot be corrected. */
  val most   = UInt(7.W)
  val bits   = UInt(10.W)
  val failed = UInt(4.W)
}

class SectorSenderIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)

  /** Transfers in buffers, in order; taken when the buffer is no longer needed. */
  val buffered = Flipped(Decoupled(new BufferedTransfer))

  /** The oldest one's buffer, whether all its codewords are right or given up, and what was found. */
  val buffer   = Output(UInt(2.W))
  val resolved = Input(Bool())
  val findings = Input(new SectorFindings)

  /** The buffers, see [[SectorBuffers]]. */
  val read     = Output(Bool())
  val index    = Output(UInt(11.W))
  val data     = Input(UInt(64.W))
  val metadata = Input(Vec(SectorFormat.Codewords, UInt(32.W)))

  val out        = Decoupled(new XbarBeat)
  val completion = Decoupled(new FlashCompletion)
}

/** Judges the sectors in the buffers one by one, delivers those that are right, and completes them all. Judging takes a
  * pass over the buffer for the CRC. Raw data is delivered as it is.
  */
class SectorSender(p: SocParams) extends Module {
  val io = IO(new SectorSenderIO(p))

  private val dram = XbarPort.dram(p.tiles, p.channels).U(6.W)
  private val now  = io.buffered.bits.transfer

  private val waits :: starts :: sums :: sumsOob :: sumsLayout :: judges :: delivers :: completes :: Nil = Enum(8)

  private val state   = RegInit(waits)
  private val buffer  = RegInit(0.U(2.W))
  private val index   = RegInit(0.U(9.W))
  private val summed  = RegInit(false.B)
  private val crc     = Reg(UInt(32.W))
  private val status  = Reg(UInt(4.W))
  private val advance = state === sums || io.out.fire

  // The word `index` is shown while the CRC is summed and while it is sent.
  private val indexNext = Mux(advance, index + 1.U, index)
  index     := indexNext
  io.buffer := buffer
  io.index  := buffer ## indexNext
  io.read   := state === starts || state === sums || state === delivers

  private val differs  = io.metadata(0) ^ now.expected
  private val wrongOob = now.verify && Cat(differs(31, Transfer.MarkBit + 1), differs(Transfer.MarkBit - 1, 0)).orR
  private val lastWord = index === (now.bytes - 1.U)(11, 3)
  private val address  = Reg(UInt(32.W))
  private val last     = lastWord || index(2, 0) === 7.U

  when(state === waits) {
    index   := 0.U
    summed  := false.B
    crc     := Crc32c.Initial
    status  := FlashStatus.Ok.U
    address := now.addr
    when(io.buffered.valid && (io.resolved || !now.sector)) {
      state := starts
      when(now.drop) {
        status := FlashStatus.Dropped.U
        state  := completes
      }.elsewhen(io.buffered.bits.erased) {
        status := FlashStatus.Erased.U
        state  := completes
      }.elsewhen(now.sector && io.findings.failed =/= 0.U) {
        status := FlashStatus.Uncorrectable.U
        state  := completes
      }
    }
  }
  when(state === starts) { state := Mux(now.sector && !summed, sums, delivers) }
  when(state === sums) {
    crc := Crc32c.doubleWord(crc, io.data)
    when(index === (SectorFormat.Words - 1).U) { state := sumsOob }
  }
  when(state === sumsOob) {
    crc   := Crc32c.doubleWord(crc, io.metadata(1) ## io.metadata(0))
    state := sumsLayout
  }
  when(state === sumsLayout) {
    crc    := Crc32c.word(crc, io.metadata(3))
    summed := true.B
    state  := judges
  }
  when(state === judges) {
    state := completes
    when(~crc =/= io.metadata(2)) {
      status := FlashStatus.Mismatch.U
    }.elsewhen(io.metadata(3)(7, 0) =/= io.config.layout(7, 0)) {
      status := FlashStatus.Foreign.U
    }.elsewhen(wrongOob) {
      status := FlashStatus.Misdirected.U
    }.otherwise {
      state := starts
    }
  }
  when(io.out.fire) {
    when(last) { address := address + 64.U }
    when(lastWord) { state := completes }
  }
  when(io.completion.fire) {
    state  := waits
    buffer := buffer + 1.U
  }

  io.out.valid         := state === delivers
  io.out.bits.data     := io.data
  io.out.bits.last     := last
  io.out.bits.dst      := Mux(now.toStream, now.core, dram)
  io.out.bits.addr     := address
  io.out.bits.bytes    := Mux(index(8, 3) === (now.bytes - 1.U)(11, 6), (now.bytes - 1.U)(5, 0) +& 1.U, 64.U)
  io.out.bits.toStream := now.toStream
  io.out.bits.stream   := now.stream
  io.out.bits.mark     := now.toStream && now.tail && index(8, 3) === (now.bytes - 1.U)(11, 6)

  private val ok      = status === FlashStatus.Ok.U
  private val dropped = status === FlashStatus.Dropped.U
  private val erased  = status === FlashStatus.Erased.U
  private val found   = now.sector && !dropped && !erased
  io.completion.valid       := state === completes
  io.completion.bits.way    := now.way
  io.completion.bits.tag    := now.tag
  io.completion.bits.status := status
  io.completion.bits.sector := now.sector
  io.completion.bits.errors := Mux(found, io.findings.most, 0.U)
  io.completion.bits.bits   := Mux(found, io.findings.bits, 0.U)
  io.completion.bits.failed := Mux(found, io.findings.failed, 0.U)
  when(!now.sector) {
    io.completion.bits.data := 0.U
  }.otherwise {
    io.completion.bits.data := Mux(ok, io.metadata(1), now.expected) ##
      Mux(dropped, now.addr, Mux(erased, "hFFFFFFFF".U, io.metadata(0)))
  }
  io.buffered.ready := io.completion.fire
}
