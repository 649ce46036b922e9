// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.{Cat, Valid}

import assasin.core.DualBankRam

/** Eight bytes for the input buffer. */
class InputBeat extends Bundle {

  /** 8-byte aligned position of `stream`, or with `raw` the offset in the buffer. */
  val pos    = UInt(32.W)
  val stream = UInt(3.W)
  val raw    = Bool()
  val data   = UInt(64.W)

  /** Last beat of a page that advances the Tail. */
  val mark = Bool()
}

/** StreamLoad and ReadIStream as the pipeline asks for them, see [[assasin.core.StreamPortIO]]. */
class InputStreamOpIO extends Bundle {
  val exStream   = Output(UInt(3.W))
  val advance    = Output(Bool())
  val load       = Output(Bool())
  val read       = Output(Bool())
  val stream     = Output(UInt(3.W))
  val size       = Output(UInt(2.W))
  val distance   = Output(UInt(32.W))
  val stall      = Input(Bool())
  val end        = Input(Bool())
  val rangeError = Input(Bool())
  val rdata      = Input(UInt(32.W))
}

/** Ports of [[InputStreamBuffer]]. */
class InputStreamBufferIO(bytes: Int) extends Bundle {
  val partition = Input(new StreamPartition(bytes))
  val clear     = Input(Bool())
  val op        = Flipped(new InputStreamOpIO)
  val deliver   = Flipped(Valid(new InputBeat))

  /** Number (modulo 256) of the first page that may not be sent yet. */
  val room = Output(Vec(8, UInt(8.W)))

  val peek      = Vec(2, Flipped(new InputPeekIO))
  val writeTail = Flipped(Valid(new PointerWrite))
  val writeEnd  = Flipped(Valid(new PointerWrite))

  /** IEND_VALID: written and read. */
  val writeEndValid = Flipped(Valid(UInt(8.W)))
  val endValid      = Output(UInt(8.W))
}

/** Input stream buffer of one core: ring memory, Heads, Tails and ends.
  *
  * The memory is read one cycle ahead at the position that the next StreamLoad will have, so a StreamLoad never waits
  * for the memory. ReadIStream takes three cycles.
  */
class InputStreamBuffer(bytes: Int) extends Module {
  val io = IO(new InputStreamBufferIO(bytes))

  private val part     = io.partition
  private val ram      = Module(new DualBankRam(bytes, granuleBits = 32))
  private val pointers = Module(new InputPointers(bytes))
  private val access   = new InputStreamAccess(io, pointers)
  private val pos      = access.pos

  private val loaded = io.op.load && !access.atEnd && access.present
  pointers.io.move.valid       := loaded
  pointers.io.move.bits.stream := io.op.stream
  pointers.io.move.bits.value  := access.past
  access.drive(loaded, busy = false.B)

  // ---- Memory ---------------------------------------------------------------------------------------------------------------
  private val nextPos    = Mux(io.op.advance, access.exPos, pos)
  private val nextStream = Mux(io.op.advance, io.op.exStream, io.op.stream)
  // The even word of an access that starts in an odd word is in the next row, which may be the ring's first.
  ram.io.read.evenRow := part.offset(nextStream, nextPos + 4.U)(part.offsetBits - 1, 3)
  ram.io.read.oddRow  := part.offset(nextStream, nextPos)(part.offsetBits - 1, 3)
  private val words = Mux(pos(2), Cat(ram.io.read.even, ram.io.read.odd), Cat(ram.io.read.odd, ram.io.read.even))
  io.op.rdata := (words >> Cat(pos(1, 0), 0.U(3.W)))(31, 0)

  ram.io.writeEn       := io.deliver.valid
  ram.io.write.evenRow := access.beatOffset(part.offsetBits - 1, 3)
  ram.io.write.oddRow  := access.beatOffset(part.offsetBits - 1, 3)
  ram.io.write.data    := io.deliver.bits.data
  ram.io.write.mask    := "hff".U
}
