// SPDX-License-Identifier: BSD-3-Clause
package assasin.stream

import chisel3._
import chisel3.util.Valid

import assasin.vector.StreamInputLookIO

/** IHEAD, ITAIL and IEND of one stream, same cycle. */
class InputPeekIO extends Bundle {
  val stream = Output(UInt(3.W))
  val head   = Input(UInt(32.W))

  /** Never past a known end. */
  val tail = Input(UInt(32.W))
  val end  = Input(UInt(32.W))
}

/** ITAIL (not clipped), IEND and what is known of them, same cycle. */
class InputLookupIO extends Bundle {
  val stream = Output(UInt(3.W))
  val tail   = Input(UInt(32.W))
  val end    = Input(UInt(32.W))

  /** `end` is the end. */
  val known = Input(Bool())

  /** The stream has delivered 2^31 bytes or more. */
  val far = Input(Bool())
}

/** Ports of [[InputPointers]]. */
class InputPointersIO(bytes: Int, looks: Boolean) extends Bundle {
  val partition = Input(new StreamPartition(bytes))
  val clear     = Input(Bool())

  /** IHEAD of a stream, same cycle, and its new value. */
  val headStream = Input(UInt(3.W))
  val head       = Output(UInt(32.W))
  val move       = Flipped(Valid(new PointerWrite))
  val at         = Flipped(new InputLookupIO)

  /** Slot number, in the buffer, of a page that is complete. */
  val mark = Flipped(Valid(UInt(7.W)))

  /** Number (modulo 256) of the first page that may not be sent yet. */
  val room = Output(Vec(8, UInt(8.W)))

  val peek      = Vec(2, Flipped(new InputPeekIO))
  val writeTail = Flipped(Valid(new PointerWrite))
  val writeEnd  = Flipped(Valid(new PointerWrite))

  /** IEND_VALID: written and read. */
  val writeEndValid = Flipped(Valid(UInt(8.W)))
  val endValid      = Output(UInt(8.W))

  /** For a vector unit. */
  val look = if (looks) Some(Flipped(new StreamInputLookIO)) else None
}

/** Heads, Tails, ends and room of the input streams of one core.
  *
  * @param bytes
  *   size of the buffer
  * @param looks
  *   adds the port `look`
  */
class InputPointers(bytes: Int, looks: Boolean = false) extends Module {
  val io = IO(new InputPointersIO(bytes, looks))

  private val part  = io.partition
  private val reads = if (looks) 4 else 3
  private val heads = Module(new PointerFile(reads))
  private val ends  = Module(new PointerFile(reads))
  private val tails = Module(new InputTails(bytes, reads))

  private val endValid = RegInit(0.U(8.W))
  when(io.writeEndValid.valid) { endValid := io.writeEndValid.bits }
  when(io.clear) { endValid := 0.U }
  io.endValid := endValid

  heads.io.clear     := io.clear
  heads.io.initial   := 0.U
  heads.io.write     := io.move
  heads.io.stream(0) := io.headStream
  io.head            := heads.io.value(0)
  ends.io.clear      := io.clear
  ends.io.initial    := 0.U
  ends.io.write      := io.writeEnd
  ends.io.stream(0)  := io.at.stream
  tails.io.partition := part
  tails.io.clear     := io.clear
  tails.io.write     := io.writeTail
  tails.io.mark      := io.mark
  tails.io.stream(0) := io.at.stream
  io.at.tail         := tails.io.value(0)
  io.at.end          := ends.io.value(0)
  io.at.known        := endValid(io.at.stream)
  io.at.far          := tails.io.far(io.at.stream)

  // Room, one cycle after the Head.
  private val room       = Reg(Vec(8, UInt(8.W)))
  private val moved      = RegNext(io.move.valid, false.B)
  private val movedTo    = RegNext(io.move.bits)
  private val wasCleared = RegNext(io.clear, true.B)
  when(moved) { room(movedTo.stream) := (movedTo.value >> part.pageLog2)(7, 0) + part.pages }
  when(wasCleared) { room.foreach(_ := part.pages) }
  io.room := room

  for (i <- 0 until 2) {
    heads.io.stream(1 + i) := io.peek(i).stream
    tails.io.stream(1 + i) := io.peek(i).stream
    ends.io.stream(1 + i)  := io.peek(i).stream
    io.peek(i).head        := heads.io.value(1 + i)
    io.peek(i).end         := ends.io.value(1 + i)
    io.peek(i).tail := InputPointers.clip(tails.io.value(1 + i), ends.io.value(1 + i), endValid(io.peek(i).stream))
  }

  for (look <- io.look) {
    heads.io.stream(3) := look.stream
    tails.io.stream(3) := look.stream
    ends.io.stream(3)  := look.stream
    look.head          := heads.io.value(3)
    look.tail          := tails.io.value(3)
    look.end           := ends.io.value(3)
    look.known         := endValid(look.stream)
  }
}

/** Arithmetic of input positions. */
object InputPointers {

  /** `tail`, but never past a known end. */
  def clip(tail: UInt, end: UInt, known: Bool): UInt = Mux(known && (tail - end).asSInt > 0.S, end, tail)
}
