// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._

/** StreamLoad and ReadIStream of an input stream buffer but for its memory: positions, ends, ranges. The buffer makes
  * one and drives it with what its memory does.
  *
  * @param io
  *   the buffer's ports. This class drives all but the data that is read
  * @param pointers
  *   the buffer's; this class drives all but `move`
  */
class InputStreamAccess(io: InputStreamBufferIO, pointers: InputPointers) {
  private val part = io.partition
  pointers.io.partition     := part
  pointers.io.clear         := io.clear
  pointers.io.writeTail     := io.writeTail
  pointers.io.writeEnd      := io.writeEnd
  pointers.io.writeEndValid := io.writeEndValid
  pointers.io.peek <> io.peek
  io.endValid := pointers.io.endValid
  io.room     := pointers.io.room

  // ---- StreamLoad -----------------------------------------------------------------------------------------------------------
  private val width = (1.U(3.W) << io.op.size)(2, 0)

  /** Position of the StreamLoad in MEM, or of the bytes ReadIStream wants; behind a StreamLoad's bytes. */
  val pos: UInt  = Reg(UInt(32.W))
  val past: UInt = pos + width

  private val at    = pointers.io.at
  private val known = at.known
  at.stream := io.op.stream

  /** The stream ends before the StreamLoad's last byte; its bytes have been delivered. */
  val atEnd: Bool   = known && (at.end - pos).asSInt < width.zext
  val present: Bool = (at.tail - pos).asSInt >= width.zext

  pointers.io.headStream := io.op.exStream

  /** Position of a StreamLoad in EX. */
  val exPos: UInt = Mux(io.op.load && io.op.stream === io.op.exStream, past, pointers.io.head)

  // ---- ReadIStream: position and range, memory, data --------------------------------------------------------------------------
  private val phase    = RegInit(0.U(2.W))
  private val badRange = Reg(Bool())
  private val readDone = phase === 2.U || phase === 1.U && badRange
  private val limit    = InputPointers.clip(at.tail, at.end, known)
  when(io.op.read && phase === 0.U) {
    badRange := io.op.distance < width || io.op.distance > part.ring ||
      !at.far && io.op.distance > limit
  }

  /** A ReadIStream reads the memory. */
  val reads: Bool = io.op.read && phase === 1.U && !badRange

  when(io.op.advance) {
    pos := exPos
  }.elsewhen(io.op.read && phase === 0.U) {
    pos := limit - io.op.distance
  }

  // ---- Delivery -------------------------------------------------------------------------------------------------------------
  /** Where the beat goes. */
  val beatOffset: UInt =
    Mux(
      io.deliver.bits.raw,
      io.deliver.bits.pos(part.offsetBits - 1, 0),
      part.offset(io.deliver.bits.stream, io.deliver.bits.pos)
    )
  pointers.io.mark.valid := io.deliver.valid && io.deliver.bits.mark && !io.deliver.bits.raw
  pointers.io.mark.bits  := (beatOffset >> part.pageLog2)(6, 0)

  /** What happens in this cycle: the StreamLoad in MEM has its data; the memory does not serve a ReadIStream. */
  def drive(loaded: Bool, busy: Bool): Unit = {
    when(!io.op.read || readDone) {
      phase := 0.U
    }.elsewhen(phase === 0.U || !busy) {
      phase := phase + 1.U
    }
    io.op.stall      := io.op.load && !atEnd && !loaded || io.op.read && !readDone
    io.op.end        := atEnd
    io.op.rangeError := badRange
  }
}
