// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.UIntToOH

/** StreamStore and ReadOStream of an output stream buffer but for its memory: positions, room, ranges. The buffer makes
  * one and drives it with what its memory does.
  *
  * @param io
  *   the buffer's ports. This class drives all but `drain`, `peek` and the data that is read
  * @param pointers
  *   the buffer's; this class drives all but `peek` and `move`
  */
class OutputStreamAccess(io: OutputStreamBufferIO, pointers: OutputPointers) {
  pointers.io.partition := io.partition
  pointers.io.clear     := io.clear
  pointers.io.cover     := io.cover
  pointers.io.writeTail := io.writeTail
  pointers.io.free <> io.free
  io.ready := pointers.io.ready

  // ---- StreamStore ----------------------------------------------------------------------------------------------------------
  private val width = (1.U(3.W) << io.op.size)(2, 0)
  pointers.io.stream := io.op.stream

  /** Position of the StreamStore; behind its bytes; there is room for them. */
  val pos: UInt  = pointers.io.head
  val past: UInt = pos + width
  val fits: Bool = (pointers.io.tail - pos).asSInt >= width.zext

  // ---- ReadOStream: position and range, memory, data --------------------------------------------------------------------------
  private val far      = RegInit(0.U(8.W))
  private val phase    = RegInit(0.U(2.W))
  private val badRange = Reg(Bool())
  private val readDone = phase === 2.U || phase === 1.U && badRange
  private val move     = pointers.io.move
  when(move.valid && move.bits.value(31)) { far := far | UIntToOH(move.bits.stream, 8) }
  when(io.clear) { far := 0.U }
  phase := Mux(!io.op.read || readDone, 0.U, phase + 1.U)

  /** Position of the bytes that ReadOStream wants; it reads the memory. */
  val readPos: UInt = Reg(UInt(32.W))
  val reads: Bool   = io.op.read && phase === 1.U
  when(io.op.read && phase === 0.U) {
    readPos := pos - io.op.operand
    badRange := io.op.operand < width || io.op.operand > io.partition.ring ||
      !far(io.op.stream) && io.op.operand > pos
  }
  io.op.rangeError := badRange

  /** The StreamStore in MEM is made in this cycle. */
  def drive(stored: Bool): Unit =
    io.op.stall := io.op.store && !stored || io.op.read && !readDone
}
