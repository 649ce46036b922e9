// SPDX-License-Identifier: BSD-3-Clause
package assasin.cache

import chisel3._
import chisel3.util.{Decoupled, Queue, Valid}

/** Ports of [[UnsharedLines]]. */
class UnsharedLinesIO(lineBits: Int) extends Bundle {
  val l1 = Flipped(new LinePortIO(lineBits))

  /** See [[LineDramIO]]. */
  val read    = Decoupled(UInt(lineBits.W))
  val beat    = Flipped(Valid(UInt(64.W)))
  val write   = Decoupled(new LineWrite(lineBits))
  val data    = Decoupled(UInt(64.W))
  val probe   = Output(UInt(lineBits.W))
  val writing = Input(Bool())
}

/** Joins an L1 cache to DRAM where nobody else touches the lines. */
class UnsharedLines(lineBits: Int) extends Module {
  val io = IO(new UnsharedLinesIO(lineBits))

  // One victim at a time, so that its beats always have a place.
  private val victim = Module(new Queue(UInt(64.W), 8))
  private val left   = RegInit(0.U(4.W))
  private val req    = io.l1.req
  private val clear  = left === 0.U
  io.probe                := req.bits.line
  io.read.valid           := req.valid && !req.bits.write && !io.writing
  io.read.bits            := req.bits.line
  io.write.valid          := req.valid && req.bits.write && clear
  io.write.bits.line      := req.bits.line
  io.write.bits.first     := 0.U
  io.write.bits.len       := 7.U
  io.write.bits.lastBytes := 8.U
  io.write.bits.source    := 0.U
  io.write.bits.mark      := false.B
  io.write.bits.slot      := 0.U
  req.ready               := Mux(req.bits.write, io.write.ready && clear, io.read.ready && !io.writing)
  when(io.write.fire) { left := 8.U }.elsewhen(io.data.fire) { left := left - 1.U }

  victim.io.enq.valid := io.l1.wdata.valid
  victim.io.enq.bits  := io.l1.wdata.bits
  io.data <> victim.io.deq

  io.l1.fill.valid     := io.beat.valid
  io.l1.fill.bits.data := io.beat.bits
  io.l1.fill.bits.keep := true.B
}
