package assasin.stream

import chisel3._
import chisel3.util.{Cat, Valid}

import assasin.core.{DualBankReadIO, DualBankRam}

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

/** IHEAD, ITAIL and IEND of one stream, same cycle. */
class InputPeekIO extends Bundle {
  val stream = Output(UInt(3.W))
  val head   = Input(UInt(32.W))

  /** Never past a known end. */
  val tail = Input(UInt(32.W))
  val end  = Input(UInt(32.W))
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

  private val part    = io.partition
  private val rowBits = part.offsetBits - 3
  private val ram     = Module(new DualBankRam(bytes, granuleBits = 32))
  private val heads   = Module(new PointerFile(3))
  private val ends    = Module(new PointerFile(3))
  private val tails   = Module(new InputTails(bytes, 3))

  private val endValid = RegInit(0.U(8.W))
  when(io.writeEndValid.valid) { endValid := io.writeEndValid.bits }
  when(io.clear) { endValid := 0.U }
  io.endValid := endValid

  heads.io.clear     := io.clear
  heads.io.initial   := 0.U
  ends.io.clear      := io.clear
  ends.io.initial    := 0.U
  ends.io.write      := io.writeEnd
  tails.io.partition := part
  tails.io.clear     := io.clear
  tails.io.write     := io.writeTail

  private def clip(tail: UInt, end: UInt, known: Bool): UInt = Mux(known && (tail - end).asSInt > 0.S, end, tail)

  // ---- StreamLoad -----------------------------------------------------------------------------------------------------------
  private val width = (1.U(3.W) << io.op.size)(2, 0)
  // Position of the StreamLoad in MEM, or of the bytes ReadIStream wants.
  private val pos   = Reg(UInt(32.W))
  private val past  = pos + width
  private val ends0 = ends.io.value(0)
  private val known = endValid(io.op.stream)
  private val tail  = tails.io.value(0)
  ends.io.stream(0)  := io.op.stream
  tails.io.stream(0) := io.op.stream

  private val atEnd   = known && (ends0 - pos).asSInt < width.zext
  private val present = (tail - pos).asSInt >= width.zext
  private val loaded  = io.op.load && !atEnd && present

  heads.io.write.valid       := loaded
  heads.io.write.bits.stream := io.op.stream
  heads.io.write.bits.value  := past

  heads.io.stream(0) := io.op.exStream
  private val exPos = Mux(io.op.load && io.op.stream === io.op.exStream, past, heads.io.value(0))

  // ---- ReadIStream: position and range, memory, data --------------------------------------------------------------------------
  private val phase    = RegInit(0.U(2.W))
  private val badRange = Reg(Bool())
  private val readDone = phase === 2.U || phase === 1.U && badRange
  private val limit    = clip(tail, ends0, known)
  phase := Mux(!io.op.read || readDone, 0.U, phase + 1.U)
  when(io.op.read && phase === 0.U) {
    badRange := io.op.distance < width || io.op.distance > part.ring ||
      !tails.io.far(io.op.stream) && io.op.distance > limit
  }

  when(io.op.advance) {
    pos := exPos
  }.elsewhen(io.op.read && phase === 0.U) {
    pos := limit - io.op.distance
  }

  io.op.stall      := io.op.load && !atEnd && !present || io.op.read && !readDone
  io.op.end        := atEnd
  io.op.rangeError := badRange

  // ---- Memory ---------------------------------------------------------------------------------------------------------------
  private val nextPos    = Mux(io.op.advance, exPos, pos)
  private val nextStream = Mux(io.op.advance, io.op.exStream, io.op.stream)
  // The even word of an access that starts in an odd word is in the next row, which may be the ring's first.
  ram.io.read.evenRow := part.offset(nextStream, nextPos + 4.U)(part.offsetBits - 1, 3)
  ram.io.read.oddRow  := part.offset(nextStream, nextPos)(part.offsetBits - 1, 3)
  private val words = Mux(pos(2), Cat(ram.io.read.even, ram.io.read.odd), Cat(ram.io.read.odd, ram.io.read.even))
  io.op.rdata := (words >> Cat(pos(1, 0), 0.U(3.W)))(31, 0)

  private val beat       = io.deliver.bits
  private val beatOffset = Mux(beat.raw, beat.pos(part.offsetBits - 1, 0), part.offset(beat.stream, beat.pos))
  ram.io.writeEn       := io.deliver.valid
  ram.io.write.evenRow := beatOffset(part.offsetBits - 1, 3)
  ram.io.write.oddRow  := beatOffset(part.offsetBits - 1, 3)
  ram.io.write.data    := beat.data
  ram.io.write.mask    := "hff".U

  tails.io.mark.valid := io.deliver.valid && beat.mark && !beat.raw
  tails.io.mark.bits  := (beatOffset >> part.pageLog2)(6, 0)

  // ---- Room, one cycle after the Head -----------------------------------------------------------------------------------------
  private val room       = Reg(Vec(8, UInt(8.W)))
  private val moved      = RegNext(loaded, false.B)
  private val movedTo    = RegNext(past)
  private val movedIn    = RegNext(io.op.stream)
  private val wasCleared = RegNext(io.clear, true.B)
  when(moved) { room(movedIn) := (movedTo >> part.pageLog2)(7, 0) + part.pages }
  when(wasCleared) { room.foreach(_ := part.pages) }
  io.room := room

  // ---- Peek -----------------------------------------------------------------------------------------------------------------
  for (i <- 0 until 2) {
    heads.io.stream(1 + i) := io.peek(i).stream
    tails.io.stream(1 + i) := io.peek(i).stream
    ends.io.stream(1 + i)  := io.peek(i).stream
    io.peek(i).head        := heads.io.value(1 + i)
    io.peek(i).tail        := clip(tails.io.value(1 + i), ends.io.value(1 + i), endValid(io.peek(i).stream))
    io.peek(i).end         := ends.io.value(1 + i)
  }
}
