// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import chisel3._

class CodecBenchIO(p: CodeParams) extends Bundle {
  val strength = Input(UInt(3.W))

  // BchRemainder
  val build    = Input(Bool())
  val building = Output(Bool())
  val clear    = Input(Bool())
  val message  = Input(Bool())
  val parity   = Input(Bool())
  val data     = Input(UInt(p.beatBits.W))
  val top      = Output(UInt(p.beatBits.W))
  val error    = Output(UInt(p.beatBits.W))
  val clean    = Output(Bool())

  // RemainderQueue, which takes what BchRemainder has while `decoding`, and BchDecoder behind it
  val decoding = Input(Bool())
  val keep     = Input(Bool())
  val forget   = Input(Bool())
  val id       = Input(UInt(8.W))
  val room     = Output(Bool())

  val errorReady   = Input(Bool())
  val errorValid   = Output(Bool())
  val errorId      = Output(UInt(8.W))
  val errorBit     = Output(UInt(14.W))
  val resultValid  = Output(Bool())
  val resultId     = Output(UInt(8.W))
  val resultCount  = Output(UInt(7.W))
  val resultFailed = Output(Bool())
  val quiet        = Output(Bool())
}

/** The units of the page codec, joined as a channel joins them, for hw/bench/codec. */
class CodecBench(p: CodeParams) extends Module {
  val io = IO(new CodecBenchIO(p))

  private val remainder = Module(new BchRemainder(p))
  remainder.io.strength := io.strength
  remainder.io.build    := io.build
  remainder.io.clear    := io.clear
  remainder.io.message  := io.message
  remainder.io.parity   := io.parity
  remainder.io.data     := io.data
  io.building           := remainder.io.building
  io.top                := remainder.io.top
  io.clean              := remainder.io.clean
  io.error              := remainder.io.error

  private val queue   = Module(new RemainderQueue(p))
  private val decoder = Module(new BchDecoder(p))
  queue.io.strength   := io.strength
  queue.io.beat.valid := io.parity && io.decoding
  queue.io.beat.bits  := remainder.io.error
  queue.io.keep       := io.keep
  queue.io.forget     := io.forget
  queue.io.id         := io.id
  io.room             := queue.io.room
  decoder.io.strength := io.strength
  decoder.io.in <> queue.io.out
  decoder.io.error.ready := io.errorReady
  io.errorValid          := decoder.io.error.valid
  io.errorId             := decoder.io.error.bits.id
  io.errorBit            := decoder.io.error.bits.bit
  io.resultValid         := decoder.io.result.valid
  io.resultId            := decoder.io.result.bits.id
  io.resultCount         := decoder.io.result.bits.count
  io.resultFailed        := decoder.io.result.bits.failed
  io.quiet               := decoder.io.quiet && !queue.io.out.valid
}
