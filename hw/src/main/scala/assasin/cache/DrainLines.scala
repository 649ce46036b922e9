// SPDX-License-Identifier: BSD-3-Clause
package assasin.cache

import chisel3._
import chisel3.util.{Decoupled, Valid, log2Ceil}

import assasin.stream.{DrainReadIO, StreamPartition}

/** Ports of [[DrainLines]]. */
class DrainLinesIO(bytes: Int) extends Bundle {
  val partition = Input(new StreamPartition(bytes))
  val read      = Flipped(new DrainReadIO)

  /** Between two drains: a line read for one, or still on its way, is old for the next. */
  val forget = Input(Bool())

  /** A line of the output rings, from their start, and its eight beats. */
  val line = Decoupled(UInt((log2Ceil(bytes) - 6).W))
  val beat = Flipped(Valid(UInt(64.W)))
}

/** Gives the drain its eight bytes a cycle from lines that are read through the caches, one at a time. */
class DrainLines(bytes: Int) extends Module {
  val io = IO(new DrainLinesIO(bytes))

  private val offset = io.partition.offset(io.read.req.bits.stream, io.read.req.bits.pos)
  private val wanted = offset(log2Ceil(bytes) - 1, 6)
  private val word   = offset(5, 3)

  private val buffer = Mem(8, UInt(64.W))
  private val have   = RegInit(false.B)
  private val asked  = RegInit(false.B)
  private val old    = RegInit(false.B)
  private val line   = Reg(UInt((log2Ceil(bytes) - 6).W))
  private val fill   = RegInit(0.U(3.W))

  // Held until it is taken, even when the drain hesitates.
  private val asking = RegInit(false.B)
  io.line.valid := asking
  io.line.bits  := line
  when(io.read.req.valid && !asked && !(have && line === wanted)) {
    asked  := true.B
    asking := true.B
    have   := false.B
    line   := wanted
  }
  when(io.line.fire) { asking := false.B }
  when(io.beat.valid) {
    buffer(fill) := io.beat.bits
    fill         := fill + 1.U
    when(fill === 7.U) {
      asked := false.B
      old   := false.B
      have  := !old
    }
  }

  // A line is used up with its last word; the ring may come round before it is read again.
  io.read.req.ready := have && line === wanted
  io.read.data      := RegNext(buffer(word))
  when(io.read.req.fire && word === 7.U || io.forget) { have := false.B }
  when(io.forget && asked && !(io.beat.valid && fill === 7.U)) { old := true.B }
}
