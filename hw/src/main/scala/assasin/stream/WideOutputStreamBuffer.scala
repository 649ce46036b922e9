// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.{Cat, Valid}

import assasin.core.GatedRowBanks
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

  private val part = io.partition
  private val ram  = Module(new GatedRowBanks(bytes, v.dBytes, readBytes = 8, v.memoryBytes, v.clockGate, rings = true))
  private val unit = io.unitWrite
  private val pointers = Module(new OutputPointers(bytes, peeks = 3))
  private val access   = new OutputStreamAccess(io, pointers)
  for (i <- 0 until 2) pointers.io.peek(i) <> io.peek(i)
  pointers.io.peek(2).stream := io.look.stream
  io.look.head               := pointers.io.peek(2).head
  io.look.tail               := pointers.io.peek(2).tail

  // ---- StreamStore, and the unit's writes ---------------------------------------------------------------------------------------
  private val stored = io.op.store && access.fits && !unit.valid
  private val move   = pointers.io.move
  move.valid       := stored || unit.valid
  move.bits.stream := Mux(unit.valid, unit.bits.stream, io.op.stream)
  move.bits.value  := Mux(unit.valid, unit.bits.head, access.past)
  access.drive(stored)

  private val mask = Cat(io.op.size(1), io.op.size(1), io.op.size.orR, 1.U(1.W))
  ram.io.ringMask.get := part.ringMask
  ram.io.writeEn      := stored || unit.valid
  ram.io.write.addr   := part.offset(move.bits.stream, Mux(unit.valid, unit.bits.pos, access.pos))
  ram.io.write.data   := Mux(unit.valid, unit.bits.data, io.op.operand)
  ram.io.write.mask   := Mux(unit.valid, unit.bits.mask, mask)

  // ---- Memory read: ReadOStream goes first ------------------------------------------------------------------------------------
  private val coreReads = access.reads
  private val request   = io.drain.req.bits
  ram.io.read.enable := coreReads || io.drain.req.valid
  ram.io.read.addr := part.offset(
    Mux(coreReads, io.op.stream, request.stream),
    Mux(coreReads, access.readPos, request.pos)
  )
  io.drain.req.ready := !coreReads
  io.drain.data      := ram.io.read.data
  io.op.rdata        := ram.io.read.data(31, 0)
}
