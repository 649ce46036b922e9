// SPDX-License-Identifier: BSD-3-Clause
package assasin.slot

import assasin.core.DualBankRam
import assasin.stream.{DrainReadIO, OutputPeekIO, OutputPointers, PointerWrite, StreamPartition, StreamSpan}
import chisel3._
import chisel3.util.{Cat, Decoupled, Valid}

/** Ports of [[SlotOutput]]. */
class SlotOutputIO(bytes: Int) extends Bundle {
  val partition = Input(new StreamPartition(bytes))
  val clear     = Input(Bool())

  /** The kernel's result is taken. While it is low, nothing is, and a new result may begin. */
  val open   = Input(Bool())
  val stream = Flipped(Decoupled(new AxisBeat))

  /** The last byte of the result is in the buffer. */
  val ended = Output(Bool())

  val drain     = Flipped(new DrainReadIO)
  val cover     = Flipped(Valid(new StreamSpan))
  val free      = Flipped(Decoupled(new StreamSpan))
  val writeTail = Flipped(Valid(new PointerWrite))
  val peek      = Flipped(new OutputPeekIO)

  /** See [[assasin.stream.OutputPointersIO]]. */
  val ready = Output(UInt(8.W))
}

/** Output stream buffer of a slot: output stream 0, written from an AXI4-Stream, eight bytes a cycle. */
class SlotOutput(bytes: Int) extends Module {
  val io = IO(new SlotOutputIO(bytes))

  private val part     = io.partition
  private val ram      = Module(new DualBankRam(bytes, granuleBits = 32))
  private val pointers = Module(new OutputPointers(bytes))
  private val packer   = Module(new AxisPacker)
  pointers.io.partition := part
  pointers.io.clear     := io.clear
  pointers.io.cover     := io.cover
  pointers.io.writeTail := io.writeTail
  pointers.io.stream    := 0.U
  pointers.io.free <> io.free
  pointers.io.peek(1) <> io.peek
  pointers.io.peek(0).stream := 0.U
  io.ready                   := pointers.io.ready

  // ---- Store ------------------------------------------------------------------------------------------------------------------
  private val ended = RegInit(false.B)
  private val word  = packer.io.out
  private val fits  = (pointers.io.tail - pointers.io.head).asSInt >= 8.S
  packer.io.clear := !io.open
  packer.io.in <> io.stream
  word.ready := io.open && !ended && fits
  when(!io.open) { ended := false.B }.elsewhen(word.fire && word.bits.last) { ended := true.B }
  io.ended := ended

  private val stores = word.fire && word.bits.bytes =/= 0.U
  pointers.io.move.valid       := stores
  pointers.io.move.bits.stream := 0.U
  pointers.io.move.bits.value  := pointers.io.head + word.bits.bytes
  private val row = part.offset(0.U(3.W), pointers.io.head)(part.offsetBits - 1, 3)
  ram.io.writeEn       := stores
  ram.io.write.evenRow := row
  ram.io.write.oddRow  := row
  ram.io.write.data    := word.bits.data
  ram.io.write.mask    := 0xff.U

  // ---- Drain ------------------------------------------------------------------------------------------------------------------
  private val drainRow =
    part.offset(io.drain.req.bits.stream, io.drain.req.bits.pos)(part.offsetBits - 1, 3)
  ram.io.read.evenRow := drainRow
  ram.io.read.oddRow  := drainRow
  io.drain.req.ready  := true.B
  io.drain.data       := Cat(ram.io.read.odd, ram.io.read.even)
}
