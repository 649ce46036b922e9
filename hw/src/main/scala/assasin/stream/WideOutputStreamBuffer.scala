// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.{Cat, UIntToOH, Valid}

import assasin.core.RowBanks
import assasin.vector.{StreamOutputLookIO, StreamWriteRequest, VectorParams}

/** Ports of [[WideOutputStreamBuffer]]. */
class WideOutputStreamBufferIO(bytes: Int, v: VectorParams) extends OutputStreamBufferIO(bytes) {

  /** The vector unit's accesses as in [[assasin.vector.VectorStreamIO]]. */
  val look      = Flipped(new StreamOutputLookIO)
  val unitWrite = Flipped(Valid(new StreamWriteRequest(v)))
}

/** [[OutputStreamBuffer]] in rows of DLEN bits for a core whose vector unit has VarVE (docs/varve/unit.md 4.1): the
  * unit writes it at any byte address, and goes before a StreamStore, which waits.
  *
  * The unit does not read, and ReadOStream takes the read port for one of its three cycles, so two cycles of three are
  * the drain's whatever runs.
  */
class WideOutputStreamBuffer(bytes: Int, v: VectorParams) extends Module {
  val io = IO(new WideOutputStreamBufferIO(bytes, v))

  private val part     = io.partition
  private val ram      = Module(new RowBanks(bytes, v.dBytes, readBytes = 8, writeBytes = v.memoryBytes, rings = true))
  private val unit     = io.unitWrite
  private val pointers = Module(new OutputPointers(bytes, peeks = 3))
  pointers.io.partition := part
  pointers.io.clear     := io.clear
  pointers.io.cover     := io.cover
  pointers.io.writeTail := io.writeTail
  pointers.io.free <> io.free
  for (i <- 0 until 2) pointers.io.peek(i) <> io.peek(i)
  pointers.io.peek(2).stream := io.look.stream
  io.look.head               := pointers.io.peek(2).head
  io.look.tail               := pointers.io.peek(2).tail
  io.ready                   := pointers.io.ready

  // ---- StreamStore, and the unit's writes ---------------------------------------------------------------------------------------
  private val width = (1.U(3.W) << io.op.size)(2, 0)
  private val pos   = pointers.io.head
  pointers.io.stream := io.op.stream
  private val fits   = (pointers.io.tail - pos).asSInt >= width.zext
  private val stored = io.op.store && fits && !unit.valid
  private val move   = pointers.io.move
  move.valid       := stored || unit.valid
  move.bits.stream := Mux(unit.valid, unit.bits.stream, io.op.stream)
  move.bits.value  := Mux(unit.valid, unit.bits.head, pos + width)

  private val mask = Cat(io.op.size(1), io.op.size(1), io.op.size.orR, 1.U(1.W))
  ram.io.ringMask.get := part.ringMask
  ram.io.writeEn      := stored || unit.valid
  ram.io.write.addr   := part.offset(move.bits.stream, Mux(unit.valid, unit.bits.pos, pos))
  ram.io.write.data   := Mux(unit.valid, unit.bits.data, io.op.operand)
  ram.io.write.mask   := Mux(unit.valid, unit.bits.mask, mask)

  // ---- ReadOStream: position and range, memory, data --------------------------------------------------------------------------
  private val far      = RegInit(0.U(8.W))
  private val phase    = RegInit(0.U(2.W))
  private val badRange = Reg(Bool())
  private val readPos  = Reg(UInt(32.W))
  private val readDone = phase === 2.U || phase === 1.U && badRange
  when(move.valid && move.bits.value(31)) { far := far | UIntToOH(move.bits.stream, 8) }
  when(io.clear) { far := 0.U }
  phase := Mux(!io.op.read || readDone, 0.U, phase + 1.U)
  when(io.op.read && phase === 0.U) {
    readPos := pos - io.op.operand
    badRange := io.op.operand < width || io.op.operand > part.ring ||
      !far(io.op.stream) && io.op.operand > pos
  }
  io.op.stall      := io.op.store && !stored || io.op.read && !readDone
  io.op.rangeError := badRange

  // ---- Memory read: ReadOStream goes first ------------------------------------------------------------------------------------
  private val coreReads = io.op.read && phase === 1.U
  private val request   = io.drain.req.bits
  ram.io.read.enable := coreReads || io.drain.req.valid
  ram.io.read.addr := part.offset(
    Mux(coreReads, io.op.stream, request.stream),
    Mux(coreReads, readPos, request.pos)
  )
  io.drain.req.ready := !coreReads
  io.drain.data      := ram.io.read.data
  io.op.rdata        := ram.io.read.data(31, 0)
}
