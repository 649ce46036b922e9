// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.{Cat, Decoupled, Valid}

import assasin.core.DualBankRam

/** StreamStore and ReadOStream as the pipeline asks for them, see [[assasin.core.StreamPortIO]]. */
class OutputStreamOpIO extends Bundle {
  val store  = Output(Bool())
  val read   = Output(Bool())
  val stream = Output(UInt(3.W))
  val size   = Output(UInt(2.W))

  /** Data of a StreamStore, distance of ReadOStream. */
  val operand    = Output(UInt(32.W))
  val stall      = Input(Bool())
  val rangeError = Input(Bool())
  val rdata      = Input(UInt(32.W))
}

/** Read port for the drain: eight bytes, in the cycle after `req.fire`. */
class DrainReadIO extends Bundle {
  val req  = Decoupled(new DrainReadReq)
  val data = Input(UInt(64.W))
}

/** Position, 8-byte aligned, to read. */
class DrainReadReq extends Bundle {
  val stream = UInt(3.W)
  val pos    = UInt(32.W)
}

/** Ports of [[OutputStreamBuffer]]. */
class OutputStreamBufferIO(bytes: Int) extends Bundle {
  val partition = Input(new StreamPartition(bytes))
  val clear     = Input(Bool())
  val op        = Flipped(new OutputStreamOpIO)
  val drain     = Flipped(new DrainReadIO)

  /** A drain was queued / has finished: its bytes are covered / free. */
  val cover = Flipped(Valid(new StreamSpan))
  val free  = Flipped(Decoupled(new StreamSpan))

  /** OTAIL set by the firmware: everything up to a ring before it counts as drained. Not together with `cover`. */
  val writeTail = Flipped(Valid(new PointerWrite))
  val peek      = Vec(2, Flipped(new OutputPeekIO))

  /** Bit s: stream s holds a page of bytes not covered by a drain; follows the Head within nine cycles. */
  val ready = Output(UInt(8.W))
}

/** Output stream buffer of one core: ring memory, Heads and Tails, and which streams hold a page that no drain covers
  * yet.
  *
  * StreamStore completes in its cycle unless the ring is full. ReadOStream takes three cycles.
  */
class OutputStreamBuffer(bytes: Int) extends Module {
  val io = IO(new OutputStreamBufferIO(bytes))

  private val part     = io.partition
  private val ram      = Module(new DualBankRam(bytes, granuleBits = 8))
  private val pointers = Module(new OutputPointers(bytes))
  private val access   = new OutputStreamAccess(io, pointers)
  private val pos      = access.pos
  private val readPos  = access.readPos
  pointers.io.peek <> io.peek

  private val stored = io.op.store && access.fits
  pointers.io.move.valid       := stored
  pointers.io.move.bits.stream := io.op.stream
  pointers.io.move.bits.value  := access.past
  access.drive(stored)

  // ---- Memory write ---------------------------------------------------------------------------------------------------------
  // Eight lanes from the word that holds `pos`; if that is an odd word the halves change places and the even one is a row on.
  private val lanes    = (io.op.operand << Cat(pos(1, 0), 0.U(3.W))).pad(64)
  private val laneMask = (Cat(0.U(4.W), io.op.size(1), io.op.size(1), io.op.size.orR, 1.U(1.W)) << pos(1, 0))(7, 0)
  ram.io.writeEn       := stored
  ram.io.write.evenRow := part.offset(io.op.stream, pos + 4.U)(part.offsetBits - 1, 3)
  ram.io.write.oddRow  := part.offset(io.op.stream, pos)(part.offsetBits - 1, 3)
  ram.io.write.data    := Mux(pos(2), Cat(lanes(31, 0), lanes(63, 32)), lanes)
  ram.io.write.mask    := Mux(pos(2), Cat(laneMask(3, 0), laneMask(7, 4)), laneMask)

  // ---- Memory read: ReadOStream goes first ------------------------------------------------------------------------------------
  private val coreReads  = access.reads
  private val nextStream = Mux(coreReads, io.op.stream, io.drain.req.bits.stream)
  private val nextPos    = Mux(coreReads, readPos, io.drain.req.bits.pos)
  ram.io.read.evenRow := part.offset(nextStream, nextPos + 4.U)(part.offsetBits - 1, 3)
  ram.io.read.oddRow  := part.offset(nextStream, nextPos)(part.offsetBits - 1, 3)
  io.drain.req.ready  := !coreReads
  io.drain.data       := Cat(ram.io.read.odd, ram.io.read.even)
  private val words = Mux(readPos(2), Cat(ram.io.read.even, ram.io.read.odd), io.drain.data)
  io.op.rdata := (words >> Cat(readPos(1, 0), 0.U(3.W)))(31, 0)
}
