// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Valid, log2Ceil}

/** What is known of a stream instruction, as things stood in the cycle before. */
class StreamFound(p: VectorParams) extends Bundle {
  val word  = new StreamWord
  val legal = Bool()

  /** Its stream, if it has one. */
  val common  = new StreamDescriptor(p)
  val left    = UInt(p.xLen.W)
  val partial = UInt(8.W)

  /** IHEAD or OHEAD of the stream buffer that has the stream's number. */
  val head = UInt(32.W)

  /** Position of its next width, as `start`. */
  val aux = UInt(p.xLen.W)

  /** Instructions past the commit point still use the stream. */
  val busy = Bool()

  /** Elements that it may touch, how many bits these are, and where they begin and end. */
  val count = UInt(p.vlBits.W)
  val bits  = UInt((p.vlBits + 6).W)
  val start = UInt((p.xLen + 3).W)
  val end   = UInt((p.xLen + 3).W)

  /** The stream buffer has all of them, or room for them; the declaration has as many; the stream's end is known, and
    * lies before theirs.
    */
  val fits   = Bool()
  val enough = Bool()
  val toEnd  = Bool()

  /** The Huffman table that a declaration would get. */
  val table = Bool()

  /** vs.cr: more than it may consume. */
  val tooMany = Bool()

  /** As [[VariableUse]] has it. */
  val moves = UInt(StripPending.depth.W)
}

class StreamCheckIO(p: VectorParams) extends Bundle {

  /** As [[StreamCommitIO]] has them. */
  val offer  = Input(new VectorOffer(p))
  val at     = Input(new VectorOffer(p))
  val held   = Input(Bool())
  val done   = Input(Bool())
  val enters = Input(Bool())

  /** The instruction in the commit stage is to be looked at again. With `turn` not its own stream is looked up, but
    * this input stream.
    */
  val renew = Input(Bool())
  val turn  = Flipped(Valid(UInt(4.W)))

  /** The pointers looked up are those of this stream buffer's stream; so is whether it is busy. */
  val pointers = Flipped(Valid(UInt(3.W)))

  /** Of VarVE-full, as the offered instruction has to see them: registers that hold its vectors, PACKED; and which
    * input streams are open. 0 without it.
    */
  val variable = Input(UInt(32.W))
  val packed   = Input(Bool())
  val open     = Input(UInt(12.W))

  /** Elements by which VRCNUMs may still move streams; which of these move the stream looked up. */
  val ahead = Input(UInt((log2Ceil(p.elements + 1) + 1).W))
  val moves = Input(UInt(StripPending.depth.W))

  val table  = new StreamTableLookIO(p)
  val input  = new StreamInputLookIO
  val output = new StreamOutputLookIO
  val sLog2  = Input(UInt(2.W))

  /** What `found` says is of the instruction in the commit stage. */
  val known = Output(Bool())
  val found = Output(new StreamFound(p))

  /** Position of the stream that is looked up in this cycle. */
  val position = Output(UInt((p.xLen + 3).W))

  val clear = Input(Bool())
}

/** Looks up a stream instruction's stream, and finds whether the instruction is legal (docs/varve/isa.md 3.3) and how
  * far its elements reach: as it leaves the execute stage, or anew from the commit stage.
  */
class StreamCheck(p: VectorParams) extends Module {
  val io = IO(new StreamCheckIO(p))

  private val mostCount = if (p.full) p.elements else p.vLen

  // An instruction in the commit stage that is not done stays, or is cancelled.
  private val stays  = io.held && !io.done
  private val from   = Mux(stays, io.at, io.offer)
  private val word   = StreamWord(p, from.insn)
  private val format = from.varve.get.format(13, 0).asTypeOf(new StreamFormat)
  private val look   = io.table
  private val stream = Mux(io.pointers.valid, io.pointers.bits, Mux(io.turn.valid, io.turn.bits, word.stream))
  io.table.output  := word.output && !io.turn.valid
  io.table.stream  := stream
  io.input.stream  := stream(2, 0)
  io.output.stream := Mux(io.pointers.valid, io.pointers.bits, word.stream(2, 0))
  io.position      := look.position

  private val streams     = (1.U(4.W) << io.sLog2)(3, 0)
  private val allElements = from.rs2.andR
  private val variable    = look.common.kind === StreamKind.Variable.U
  private val huffman     = look.common.kind === StreamKind.Huffman.U

  // The most that a pack may write of a value.
  private val logMost = StreamOp.logMost(word.full, look.common.format.mb, from.config.vsew)
  private val width = Mux(
    variable,
    (8.U << logMost)(6, 0),
    Mux(huffman, HuffmanCode.longest.U, look.common.format.valueBits)
  )
  private val count =
    Mux(word.consume, from.rs1(p.vlBits - 1, 0), Mux(word.full, p.elements.U, from.config.vl))

  // ---- Legality -------------------------------------------------------------------------------------------------------------
  private val inputBits  = from.rs2 * format.valueBits
  private val inputEnd   = from.rs1 +& ((inputBits +& 7.U) >> 3)
  private val widths     = word.kind === StreamKind.Variable.U
  private val fixedWidth = format.valueBits =/= 0.U && format.valueBits <= 64.U
  private val space      = (BigInt(1) << p.xLen).U

  // Symbols are no wider than this, a table is free, and it is where it may be.
  private val codes = word.kind === StreamKind.Huffman.U
  private val codesLegal = format.valueBits =/= 0.U && format.valueBits <= HuffmanCode.widestValue.U &&
    !look.tables.andR && from.varve.get.aux(2, 0) === 0.U

  // The stream buffer of the widths is free.
  private val auxFree = (1.U(4.W) << format.aux)(7, 0) & (look.open(7, 0) | look.auxes)
  private val auxLegal =
    format.aux < streams && format.aux =/= word.stream && auxFree === 0.U
  private val taken = look.common.open || (!word.stream(3) && look.auxes(word.stream(2, 0)))
  private val declareLegal = word.declare && !taken &&
    (word.kind === StreamKind.Fixed.U && fixedWidth || widths && format.valueBits === 0.U || codes && codesLegal) &&
    from.varve.get.format(31, 14) === 0.U && (if (p.maxWidth == 64) true.B else format.mb =/= 3.U) &&
    (word.output || format.valueBits <= (8.U << format.mb)) &&
    Mux(
      format.buffer,
      p.buffers.B && word.stream < streams && from.rs1 <= 7.U && (!widths || auxLegal),
      word.output || (!allElements && (codes || inputEnd <= space) && (!widths || (from.varve.get.aux +& from.rs2) <= space))
    )

  private val lmul    = Mux(from.config.vlmul(2), 0.U(2.W), from.config.vlmul(1, 0))
  private val aligned = (word.register(2, 0) & VecInit(0.U(3.W), 1.U(3.W), 3.U(3.W), 7.U(3.W))(lmul)) === 0.U
  private val fixedLegal =
    !from.config.vill && aligned && (huffman || look.common.format.valueBits <= (8.U << from.config.vsew(1, 0)))
  private val grouped   = !from.config.vill && !from.config.vlmul(2) && from.config.vlmul =/= 0.U
  private val maskLegal = !word.masked || !io.variable(word.mask)
  private val vectorLegal = maskLegal && Mux(
    word.full,
    !grouped && Mux(word.unpack, !io.packed, io.variable(word.register)),
    fixedLegal
  )
  private val recountLegal = word.count && (word.set & ~io.open) === 0.U

  private val legal = from.enabled && from.varve.get.enabled && from.config.vstart === 0.U &&
    Mux(
      word.declare,
      declareLegal,
      recountLegal || (look.common.open && (word.stream(3) || !look.auxes(word.stream(2, 0))) && Mux(
        word.unpack || word.pack,
        vectorLegal,
        word.consume || word.endInput || word.endOutput
      ))
    )

  // ---- Reach ----------------------------------------------------------------------------------------------------------------
  // Where an unpack of VarVE-full will begin, may not be known yet: then what it may reach is asked for.
  // Two strips before it may have numbers that are not known.
  private val reachBits = p.vlBits max log2Ceil(3 * p.elements + 1)
  private val reach = Mux(word.full && word.unpack, p.elements.U +& io.ahead, count).pad(reachBits)(reachBits - 1, 0)
  // A stream's last byte has room if one bit more has.
  private val bits  = Mux(word.endOutput, 1.U, (reach * width)(reachBits + 5, 0))
  private val end   = look.position +& bits
  private val start = look.position(34, 3)
  private val need  = bits +& look.position(2, 0)
  private def within(limit: UInt): Bool = {
    val bytes = limit - start
    !bytes(31) && !ShortNumbers.isBelow(Cat(bytes, 0.U(3.W)), need)
  }
  private val pastEnd   = ShortNumbers.isPositive((io.input.tail - io.input.end).asSInt) && io.input.known
  private val withinEnd = within(io.input.end)
  private val delivered = within(Mux(word.output, io.output.tail, io.input.tail))

  // ---- What was found -------------------------------------------------------------------------------------------------------
  private val known = RegInit(false.B)
  private val found = Reg(new StreamFound(p))

  // The instruction before may change what was found, if it leaves in the cycle in which this one enters.
  private val before  = found.word
  private val changes = before.declare || before.endInput || before.endOutput || before.count
  private val sameOne = before.output === word.output && before.stream === word.stream
  private val isOurs  = StreamWord.is(io.at.insn)
  private val stale =
    word.declare || word.count || stays || (io.held && isOurs && (!known || changes || sameOne))
  when(io.enters || (io.held && io.renew && !io.done)) {
    found.word    := word
    found.legal   := legal
    found.common  := look.common
    found.left    := look.left
    found.partial := look.partial
    found.head    := Mux(word.output, io.output.head, io.input.head)
    found.aux     := look.auxPosition
    found.busy    := look.busy
    found.count   := count
    found.bits    := bits(found.bits.getWidth - 1, 0)
    found.start   := look.position
    found.end     := end(p.xLen + 2, 0)
    found.fits    := Mux(!word.output && pastEnd, withinEnd, delivered)
    found.enough  := look.left.andR || !ShortNumbers.isBelow(look.left, reach)
    found.toEnd   := io.input.known && !withinEnd
    found.table   := look.tables(0)
    found.moves   := io.moves
    found.tooMany := from.rs1 > mostCount.U
  }
  known    := !io.clear && Mux(io.enters, StreamWord.is(io.offer.insn) && !stale, io.held && isOurs)
  io.known := known
  io.found := found
}
