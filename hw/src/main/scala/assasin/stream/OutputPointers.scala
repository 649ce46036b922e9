// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.{Decoupled, UIntToOH, Valid}

/** OHEAD and OTAIL of one stream, same cycle. */
class OutputPeekIO extends Bundle {
  val stream = Output(UInt(3.W))
  val head   = Input(UInt(32.W))
  val tail   = Input(UInt(32.W))
}

/** `bytes` of an output stream. */
class StreamSpan extends Bundle {
  val stream = UInt(3.W)
  val bytes  = UInt(17.W)
}

/** Ports of [[OutputPointers]]. */
class OutputPointersIO(bytes: Int, peeks: Int) extends Bundle {
  val partition = Input(new StreamPartition(bytes))
  val clear     = Input(Bool())

  /** OHEAD and OTAIL of a stream, same cycle. */
  val stream = Input(UInt(3.W))
  val head   = Output(UInt(32.W))
  val tail   = Output(UInt(32.W))

  /** OHEAD's new value. */
  val move = Flipped(Valid(new PointerWrite))

  /** A drain was queued / has finished: its bytes are covered / free. */
  val cover = Flipped(Valid(new StreamSpan))
  val free  = Flipped(Decoupled(new StreamSpan))

  /** OTAIL set by the firmware: everything up to a ring before it counts as drained. Not together with `cover`. */
  val writeTail = Flipped(Valid(new PointerWrite))
  val peek      = Vec(peeks, Flipped(new OutputPeekIO))

  /** Bit s: stream s holds a page of bytes not covered by a drain; follows the Head within nine cycles. */
  val ready = Output(UInt(8.W))
}

/** Heads and Tails of the output streams of one core, and which of them hold a page that no drain covers yet.
  *
  * @param bytes
  *   size of the buffer
  * @param peeks
  *   number of ports `peek`
  */
class OutputPointers(bytes: Int, peeks: Int = 2) extends Module {
  val io = IO(new OutputPointersIO(bytes, peeks))

  private val part  = io.partition
  private val last  = peeks + 1
  private val heads = Module(new PointerFile(peeks + 2))
  private val tails = Module(new PointerFile(peeks + 2))
  // Position up to which drains are queued.
  private val covered = Module(new PointerFile(2))

  heads.io.clear     := io.clear
  heads.io.initial   := 0.U
  heads.io.write     := io.move
  heads.io.stream(0) := io.stream
  io.head            := heads.io.value(0)
  tails.io.clear     := io.clear
  tails.io.initial   := part.ring
  tails.io.stream(0) := io.stream
  io.tail            := tails.io.value(0)
  covered.io.clear   := io.clear
  covered.io.initial := 0.U

  tails.io.stream(last)      := io.free.bits.stream
  io.free.ready              := !io.writeTail.valid
  tails.io.write.valid       := io.writeTail.valid || io.free.valid
  tails.io.write.bits.stream := Mux(io.writeTail.valid, io.writeTail.bits.stream, io.free.bits.stream)
  tails.io.write.bits.value := Mux(
    io.writeTail.valid,
    io.writeTail.bits.value,
    tails.io.value(last) + io.free.bits.bytes
  )

  private val ready = RegInit(0.U(8.W))
  private val scan  = RegInit(0.U(3.W))
  heads.io.stream(last) := scan
  covered.io.stream(0)  := scan
  covered.io.stream(1)  := io.cover.bits.stream
  private val behind = heads.io.value(last) - covered.io.value(0)
  private val holds  = behind.asSInt > part.pageMask.zext
  scan  := scan + 1.U
  ready := Mux(holds, ready | UIntToOH(scan, 8), ready & ~UIntToOH(scan, 8))

  covered.io.write.valid       := io.cover.valid || io.writeTail.valid
  covered.io.write.bits.stream := Mux(io.cover.valid, io.cover.bits.stream, io.writeTail.bits.stream)
  covered.io.write.bits.value := Mux(
    io.cover.valid,
    covered.io.value(1) + io.cover.bits.bytes,
    io.writeTail.bits.value - part.ring
  )
  // The firmware must not see a page that its drain has just covered: not ready until looked at again.
  when(covered.io.write.valid) { ready := ready & ~UIntToOH(covered.io.write.bits.stream, 8) }
  when(io.clear) { ready := 0.U }
  io.ready := ready

  for (i <- 0 until peeks) {
    heads.io.stream(1 + i) := io.peek(i).stream
    tails.io.stream(1 + i) := io.peek(i).stream
    io.peek(i).head        := heads.io.value(1 + i)
    io.peek(i).tail        := tails.io.value(1 + i)
  }
}
