// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.SocParams
import assasin.bus.ClockGate
import assasin.codec.{BchDecoder, BchRemainder, CodeParams}
import assasin.xbar.XbarBeat
import chisel3._
import chisel3.util.{Decoupled, Valid}

class SectorPathIO(p: SocParams) extends Bundle {
  val config = Input(new FlashConfig)

  /** A data-out phase begins; its beats follow in order of transfers, the first at least four cycles later. */
  val transfer = Flipped(Valid(new Transfer))

  /** A buffer is free: such a phase may begin. */
  val transferReady = Output(Bool())

  /** One more beat of sector or raw data may be asked for. */
  val room = Output(Bool())

  /** Bytes of such data being asked for in this cycle. */
  val asked     = Input(UInt(3.W))
  val dqInValid = Input(Bool())
  val dqIn      = Input(UInt((8 * p.phyBytes).W))

  /** The beat is none: it has not come. */
  val dqInLost = Input(Bool())

  val out        = Decoupled(new XbarBeat)
  val completion = Decoupled(new FlashCompletion)

  /** It is none, but the status of this LUN of the completion's way. */
  val poll    = Output(Bool())
  val pollLun = Output(Bool())

  /** Ways with a transfer whose completion has not been handed over. */
  val unfinished = Output(UInt(p.ways.W))

  /** Fetch the sector of this PROGRAM; only while `free`. */
  val start = Flipped(Valid(new FlashDescriptor))
  val free  = Output(Bool())
  val fetch = Decoupled(new FlashFetch)

  /** Its data; always ready. */
  val in = Flipped(Decoupled(new XbarBeat))

  /** The sector of this way is here: its way may have the bus. */
  val ready = Valid(UInt(4.W))

  /** A data-in phase of the sector of this way begins; the first beat comes several cycles later. */
  val send = Flipped(Valid(UInt(4.W)))

  /** The first beat is shown: beats may be taken. */
  val sending = Output(Bool())

  /** The beat to send; `take`: it goes to the pins, the next one is shown in the next cycle. */
  val beat = Output(UInt((8 * p.phyBytes).W))
  val take = Input(Bool())

  /** The last beat of the sector has gone: its buffer is free again. */
  val sent = Input(Bool())

  /** CODE was written: the code's table is built, which takes a while. */
  val code     = Input(Bool())
  val building = Output(Bool())
  val quiet    = Output(Bool())
}

/** The way of data between the bus and the crossbar, see docs/medium.md: [[SectorReader]] and [[SectorWriter]], and the
  * code unit that they share.
  */
class SectorPath(p: SocParams) extends Module {
  val io = IO(new SectorPathIO(p))

  private val reader = Module(new SectorReader(p))
  private val writes = WireDefault(false.B)
  private val writer = withClock(ClockGate(writes))(Module(new SectorWriter(p)))
  writes := io.start.valid || !writer.io.quiet

  reader.io.config    := io.config
  reader.io.transfer  := io.transfer
  reader.io.asked     := io.asked
  reader.io.dqInValid := io.dqInValid
  reader.io.dqIn      := io.dqIn
  reader.io.dqInLost  := io.dqInLost
  io.transferReady    := reader.io.transferReady
  io.room             := reader.io.room
  io.unfinished       := reader.io.unfinished
  io.out <> reader.io.out
  io.completion <> reader.io.completion
  io.poll    := reader.io.poll
  io.pollLun := reader.io.pollLun

  writer.io.config := io.config
  writer.io.start  := io.start
  writer.io.send   := io.send
  writer.io.take   := io.take
  writer.io.sent   := io.sent
  writer.io.in <> io.in
  io.fetch <> writer.io.fetch
  io.free    := writer.io.free
  io.ready   := writer.io.ready
  io.sending := writer.io.primed && !reader.io.receiving
  io.beat    := writer.io.beat

  reader.io.code match {
    case None =>
      writer.io.parity := 0.U
      io.building      := false.B
      io.quiet         := reader.io.quiet && writer.io.quiet
    case Some(code) =>
      val params    = CodeParams(p.ecc, p.phyBytes)
      val remainder = Module(new BchRemainder(params))
      val decodes   = WireDefault(false.B)
      val decoder   = withClock(ClockGate(decodes))(Module(new BchDecoder(params)))
      decodes := code.decoder.in.valid || !decoder.io.quiet
      val read  = reader.io.step
      val write = writer.io.step
      remainder.io.strength := io.config.strength
      remainder.io.build    := io.code
      remainder.io.message  := read.message || write.message
      remainder.io.parity   := read.parity || write.parity
      // Clearing goes with the first message beat: the last codeword's remainder is looked at up to then.
      remainder.io.clear := read.message && read.clear || write.message && write.clear
      remainder.io.data  := Mux(reader.io.receiving, read.data, write.data)
      writer.io.parity   := remainder.io.top
      code.error         := remainder.io.error
      code.clean         := remainder.io.clean
      code.decoder <> decoder.io
      io.building := remainder.io.building
      io.quiet    := reader.io.quiet && writer.io.quiet && !remainder.io.building && decoder.io.quiet
  }
}
