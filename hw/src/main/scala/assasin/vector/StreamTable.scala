// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Decoupled, Fill, OHToUInt, PriorityEncoderOH, UIntToOH, Valid, log2Ceil}

/** A declaration takes effect. */
class StreamDeclare(p: VectorParams) extends Bundle {
  val output = Bool()
  val stream = UInt(4.W)
  val kind   = UInt(2.W)
  val format = new StreamFormat

  /** Where it begins, and of an input how many elements there are. */
  val bytepos = UInt(p.xLen.W)
  val bitpos  = UInt(3.W)
  val left    = UInt(p.xLen.W)

  /** Where its widths begin; its Huffman table. */
  val auxpos = UInt(p.xLen.W)
  val table  = Bool()
}

/** Elements of an input stream are consumed. */
class StreamAdvance(p: VectorParams) extends Bundle {
  val stream = UInt(4.W)
  val count  = UInt(p.vlBits.W)

  /** Bits behind the last of them. */
  val position = UInt((p.xLen + 3).W)
}

/** Bits of an output stream that an instruction past the commit point may write. */
class StreamReserve(p: VectorParams) extends Bundle {
  val stream = UInt(4.W)
  val bits   = UInt((p.vlBits + 6).W)

  /** Widths. */
  val count = UInt(p.vlBits.W)
}

/** An instruction has appended all that it appends to an output stream. */
class StreamSettle(p: VectorParams) extends Bundle {
  val stream = UInt(4.W)
  val count  = UInt(p.vlBits.W)

  /** Bits that it had reserved and has not written; widths. */
  val surplus    = UInt((p.vlBits + 6).W)
  val auxSurplus = UInt(p.vlBits.W)

  /** Some elements had no Huffman code. */
  val missing = Bool()
}

/** Where an output stream is written next. */
class OutputPosition(p: VectorParams) extends Bundle {
  val bytepos = UInt(p.xLen.W)
  val bitpos  = UInt(3.W)
  val partial = UInt(8.W)

  /** Its next width. */
  val auxpos = UInt(p.xLen.W)
}

/** A stream as the commit stage sees it, in the same cycle. */
class StreamTableLookIO(p: VectorParams) extends Bundle {
  val output = Output(Bool())
  val stream = Output(UInt(4.W))

  val common = Input(new StreamDescriptor(p))

  /** Of an input: elements left; all ones: until the stream buffer's stream ends. */
  val left = Input(UInt(p.xLen.W))

  /** Of an output: the last bits, `bitpos` of them, which are not in memory or the stream buffer yet; those above are
    * 0.
    */
  val partial = Input(UInt(8.W))

  /** Bit position of the next element of an input; of an output the highest that it can have once all that is under way
    * has been written.
    */
  val position = Input(UInt((p.xLen + 3).W))

  /** Of its widths the same, a byte. */
  val auxPosition = Input(UInt(p.xLen.W))

  /** Streams of the same direction that are open; stream buffers that hold the widths of others. */
  val open  = Input(UInt(12.W))
  val auxes = Input(UInt(8.W))

  /** Huffman tables that open streams of both directions have. */
  val tables = Input(UInt(HuffmanCode.sets.W))

  /** Instructions past the commit point still use it. */
  val busy = Input(Bool())
}

class StreamTableIO(p: VectorParams) extends Bundle {
  val look    = Flipped(new StreamTableLookIO(p))
  val declare = Flipped(Valid(new StreamDeclare(p)))
  val advance = Flipped(Valid(new StreamAdvance(p)))
  val reserve = Flipped(Valid(new StreamReserve(p)))

  /** An instruction that uses a stream leaves the commit stage for a path; a stream ends; a pending error is raised. */
  val enter = Flipped(Valid(new StreamName))
  val close = Flipped(Valid(new StreamName))
  val raise = Flipped(Valid(new StreamName))

  /** It has read all that it reads, or written all that it writes, in its path. */
  val inputDone  = Flipped(Vec(2, Valid(UInt(4.W))))
  val outputDone = Flipped(Valid(UInt(4.W)))

  /** The pack path: an output's position, and what becomes of it. */
  val write  = Input(UInt(3.W))
  val at     = Output(new OutputPosition(p))
  val move   = Flipped(Valid(new OutputPosition(p)))
  val settle = Flipped(Valid(new StreamSettle(p)))

  val strip = if (p.full) Some(new StripTableIO(p)) else None

  /** IHEAD of a stream that VRCNUM has moved; when it is taken. */
  val consume = if (p.full) Some(Decoupled(new StreamConsume)) else None

  /** Stream buffers that open streams have. */
  val ownInputs  = Output(UInt(8.W))
  val ownOutputs = Output(UInt(8.W))

  /** Instructions past the commit point use a stream, or IHEAD of one is still to be moved. */
  val busy = Output(Bool())

  /** Memory streams are under way: read by unpacks, written by packs. */
  val reads  = Output(Bool())
  val writes = Output(Bool())

  /** VSDAT's class 0 (docs/varve/isa.md 2.2): the word that `select` names, 0 for all others; a write of it. */
  val select      = Input(UInt(32.W))
  val word        = Output(UInt(32.W))
  val windowWrite = Flipped(Valid(UInt(32.W)))

  val clear = Input(Bool())
}

/** VRCNUM: NumE elements of each stream of a set are consumed. */
class StreamRecount(p: VectorParams) extends Bundle {
  val set   = UInt(12.W)
  val count = UInt(log2Ceil(p.elements + 1).W)

  /** It left the commit stage before: then its strip had unpacked all streams of the set. */
  val early = Bool()
}

/** How many elements of a stream that VRCNUM names are there, at most NumE, and why there are no more; 0: there are. */
class StreamStage(p: VectorParams) extends Bundle {
  val stream = UInt(4.W)
  val count  = UInt(log2Ceil(p.elements + 1).W)
  val reason = UInt(3.W)

  /** Bits of these elements. */
  val bits = UInt(log2Ceil(64 * p.elements + 1).W)
}

/** What VarVE-full needs besides. */
class StripTableIO(p: VectorParams) extends Bundle {
  val recount = Flipped(Valid(new StreamRecount(p)))

  /** A VRCNUM leaves the commit stage: the next strip begins. */
  val renew = Input(Bool())

  /** Before it, for each stream of its set that is not in `unpacked`, or is in `counted`. */
  val stage = Flipped(Valid(new StreamStage(p)))

  /** An unpack of the stream that `enter` names: all elements that the strip may have are there. */
  val unpack = Input(Bool())

  /** Streams that are open; that the strip has unpacked; whose elements have no common width. */
  val open     = Output(UInt(12.W))
  val unpacked = Output(UInt(12.W))
  val counted  = Output(UInt(12.W))

  /** IHEAD of a stream is still to be moved by a VRCNUM. */
  val moving = Output(Bool())

  /** NumE is written by the window: what was unpacked says no more how far streams move. */
  val renumber = Input(Bool())
}

/** Which stream. */
class StreamName extends Bundle {
  val output = Bool()
  val stream = UInt(4.W)
}

/** The descriptors of VarVE's streams (docs/varve/isa.md 2.1, docs/varve/unit.md 5.3).
  *
  * An input stream is where the commit stage sees it: an unpack brings its position along. How far an output stream has
  * come, the pack path knows, as a masked pack's elements are counted there; the commit stage works with the highest
  * position that is possible.
  *
  * A VRCNUM moves several input streams in a cycle. So each has registers for its position and for one number, that of
  * elements left; elements consumed, and the position of widths, are found from it. What else changes for one stream at
  * a time lies in memories ([[StreamField]]).
  */
class StreamTable(p: VectorParams) extends Module {
  val io = IO(new StreamTableIO(p))

  private val posBits = p.xLen + 3
  private def flags() = 0.U.asTypeOf(new StreamFlags)
  private val inputs  = RegInit(VecInit(Seq.fill(p.inputs)(flags())))
  private val outputs = RegInit(VecInit(Seq.fill(p.outputs)(flags())))

  // Of input streams: where the next element begins; elements left of those there were, modulo 2^XLEN also where these
  // are without end. The complement of these is kept, to which elements that are consumed are added: bits of a number
  // that nothing is added to take no LUTs of a carry chain, those that nothing is taken off take inverters.
  private val places   = RegInit(VecInit(Seq.fill(p.inputs)(0.U(posBits.W))))
  private val noRest   = ((BigInt(1) << p.xLen) - 1).U(p.xLen.W)
  private val notRests = RegInit(VecInit(Seq.fill(p.inputs)(noRest)))
  private val endless  = RegInit(VecInit(Seq.fill(p.inputs)(false.B)))

  // Instructions past the commit point, by stream. A memory stream's are those of a stream that was one when they entered.
  private val inputUses  = RegInit(VecInit(Seq.fill(p.inputs)(0.U(p.tagBits.W))))
  private val outputUses = RegInit(VecInit(Seq.fill(p.outputs)(0.U(p.tagBits.W))))
  private val inMemory   = Reg(Vec(p.inputs, Bool()))
  private val outMemory  = Reg(Vec(p.outputs, Bool()))

  private def named(stream: UInt, i: Int)   = stream === i.U
  private def isVariable(of: StreamFlags)   = of.kind === StreamKind.Variable.U
  private def perInput(which: Int => Bool)  = Cat((0 until p.inputs).map(which).reverse)
  private def perOutput(which: Int => Bool) = Cat((0 until p.outputs).map(which).reverse)
  private val declared                      = io.declare.bits
  private def declares(output: Boolean, i: Int) =
    io.declare.valid && declared.output === output.B && named(declared.stream, i)
  private def chosen(event: Valid[StreamName], output: Boolean, i: Int) =
    event.valid && event.bits.output === output.B && named(event.bits.stream, i)
  private val moving = WireDefault(false.B)

  // ---- Window: the stream that it names, and its word -------------------------------------------------------------------------
  // It is used while nothing is under way, and no instruction is in the commit stage then.
  private val object8             = io.select(7, 0)
  private val index               = io.select(19, 8)
  private val isStream            = io.select(31, 28) === 0.U
  private val isInput             = isStream && object8 < p.inputs.U
  private val isOutput            = isStream && object8(7, 3) === 2.U
  private val value               = io.windowWrite.bits
  private val restores            = io.windowWrite.valid && (isInput || isOutput)
  private def restoresIn(i: Int)  = io.windowWrite.valid && isInput && named(object8(3, 0), i)
  private def restoresOut(i: Int) = io.windowWrite.valid && isOutput && named(object8(2, 0), i)

  /** A word of a field of XLEN bits, and the field as a write of word `first` or of the one behind makes it. */
  private def half(value: UInt, upper: Boolean): UInt =
    if (upper) (if (p.xLen == 64) value(63, 32) else 0.U(32.W)) else value(31, 0)
  private def put(field: UInt, first: Int): UInt =
    if (p.xLen == 64)
      Cat(Mux(index === (first + 1).U, value, field(63, 32)), Mux(index === first.U, value, field(31, 0)))
    else Mux(index === first.U, value, field)
  private def puts(first: Int): Bool = restores && (index === first.U || index === (first + 1).U)

  // ---- Fields in memories -----------------------------------------------------------------------------------------------------
  private def field(width: Int, streams: Int, writers: Int, readers: Int) =
    Module(new StreamField(width, streams, writers, readers)).io
  private def write(to: Valid[StreamFieldWrite], valid: Bool, stream: UInt, value: UInt): Unit = {
    to.valid       := valid
    to.bits.stream := stream
    to.bits.value  := value
  }

  // Of input streams: elements consumed and left; below it the position of widths, and elements left with it where the
  // stream has any.
  private val sums = field(2 * p.xLen, p.inputs, 1, 2)

  /** An input stream. */
  private class InputView extends Bundle {
    val flags   = new StreamFlags
    val place   = UInt(posBits.W)
    val rest    = UInt(p.xLen.W)
    val endless = Bool()
    val total   = UInt(p.xLen.W)
    val auxSum  = UInt(p.xLen.W)

    def bytepos: UInt = place(posBits - 1, 3)
    def bitpos: UInt  = place(2, 0)
    def left: UInt    = rest | Fill(p.xLen, endless)
    def done: UInt    = total - rest
    def auxpos: UInt  = auxSum - Mux(isVariable(flags), rest, 0.U)
  }
  private def input(stream: UInt, reader: Int): InputView = {
    val view = Wire(new InputView)
    view.flags          := MuxTree(stream, inputs)
    view.place          := MuxTree(stream, places)
    view.rest           := ~MuxTree(stream, notRests)
    view.endless        := MuxTree(stream, endless)
    sums.stream(reader) := stream
    view.total          := sums.value(reader)(2 * p.xLen - 1, p.xLen)
    view.auxSum         := sums.value(reader)(p.xLen - 1, 0)
    view
  }

  // Of output streams, which the commit stage, or the window, and the pack path write: where the next bit goes, and the
  // bits before it in its byte; where the next width goes; the highest that both can be. And elements written.
  private val positions = field((new OutputPosition(p)).getWidth, p.outputs, 2, 3)
  private val written   = field(p.xLen, p.outputs, 1, 3)
  private val reaches   = field(posBits + p.xLen, p.outputs, 2, 3)

  /** An output stream. */
  private class OutputView extends Bundle {
    val flags = new StreamFlags
    val at    = new OutputPosition(p)
  }
  private def output(stream: UInt, reader: Int): OutputView = {
    val view = Wire(new OutputView)
    positions.stream(reader) := stream
    view.flags               := MuxTree(stream, outputs)
    view.at                  := positions.value(reader).asTypeOf(view.at)
    view
  }

  // ---- The commit stage looks --------------------------------------------------------------------------------------------------
  // Of the input streams there may be no power of two: all 0 for an id that there is not.
  private val exists = io.look.stream < p.inputs.U
  private val in     = (Mux(exists, input(io.look.stream, 0).asUInt, 0.U)).asTypeOf(new InputView)
  private val out    = output(io.look.stream(2, 0), 0)
  written.stream(0) := io.look.stream(2, 0)
  reaches.stream(0) := io.look.stream(2, 0)
  private val flagsSeen = Mux(io.look.output, out.flags, in.flags)
  io.look.common.open    := flagsSeen.open
  io.look.common.kind    := flagsSeen.kind
  io.look.common.format  := flagsSeen.format
  io.look.common.table   := flagsSeen.table
  io.look.common.pending := flagsSeen.pending
  io.look.common.bytepos := Mux(io.look.output, out.at.bytepos, in.bytepos)
  io.look.common.bitpos  := Mux(io.look.output, out.at.bitpos, in.bitpos)
  io.look.common.auxpos  := Mux(io.look.output, out.at.auxpos, in.auxpos)
  io.look.common.done    := Mux(io.look.output, written.value(0), in.done)
  io.look.left           := in.left
  io.look.partial        := out.at.partial
  io.look.position       := Mux(io.look.output, reaches.value(0)(posBits + p.xLen - 1, p.xLen), in.place)
  io.look.auxPosition    := Mux(io.look.output, reaches.value(0)(p.xLen - 1, 0), in.auxpos)
  io.look.busy := Mux(
    io.look.output,
    MuxTree(io.look.stream(2, 0), outputUses) =/= 0.U,
    exists && MuxTree(io.look.stream, inputUses) =/= 0.U
  )

  // ---- Input streams -----------------------------------------------------------------------------------------------------------
  // The window shows one; while VRCNUMs still move Heads it is not used, and one of theirs is looked up.
  private val moved   = WireDefault(0.U(3.W))
  private val shownIn = input(Mux(moving, moved, object8(3, 0)), 1)

  // What a declaration, the window or an advance makes of the one that it names.
  private val newFlags = Wire(new StreamFlags)
  newFlags.open    := value(0)
  newFlags.kind    := value(2, 1)
  newFlags.format  := value(17, 4).asTypeOf(new StreamFormat)
  newFlags.pending := value(26, 24)
  newFlags.table   := value(20)
  when(io.declare.valid) {
    newFlags.open    := true.B
    newFlags.kind    := declared.kind
    newFlags.format  := declared.format
    newFlags.pending := 0.U
    newFlags.table   := declared.table
  }
  private val newPlace = Mux(
    io.declare.valid,
    Cat(declared.bytepos, declared.bitpos),
    Mux(
      io.windowWrite.valid,
      Cat(put(shownIn.bytepos, 1), Mux(index === 3.U, value(2, 0), shownIn.bitpos)),
      io.advance.bits.position
    )
  )
  private val newLeft    = Mux(io.declare.valid, declared.left, put(shownIn.left, 6))
  private val newRest    = Mux(io.declare.valid || puts(6), newLeft, shownIn.rest)
  private val newDone    = Mux(io.declare.valid, 0.U, put(shownIn.done, 8))
  private val newAux     = Mux(io.declare.valid, declared.auxpos, put(shownIn.auxpos, 4))
  private val kindNow    = Mux(index === 0.U, newFlags.kind, shownIn.flags.kind)
  private val newKind    = Mux(io.declare.valid, declared.kind, kindNow)
  private val changesIn  = io.declare.valid && !declared.output || io.windowWrite.valid && isInput
  private val changed    = Mux(io.declare.valid, declared.stream, object8(3, 0))
  private val closesIn   = perInput(chosen(io.close, false, _))
  private val zeroInputs = Fill(p.inputs, io.clear) | closesIn
  private val newAuxSum  = newAux + Mux(newKind === StreamKind.Variable.U, newRest, 0.U)
  write(sums.write(0), changesIn, changed, Cat(newDone + newRest, newAuxSum))
  sums.zero := zeroInputs

  // Elements that VRCNUM takes of each stream, where it takes any, and bits.
  private val recounts = Seq.fill(p.inputs)(WireDefault(0.U.asTypeOf(Valid(UInt(log2Ceil(p.elements + 1).W)))))
  private val bitsOf   = Seq.fill(p.inputs)(WireDefault(0.U(posBits.W)))
  for (i <- 0 until p.inputs) {
    val (flags, recount) = (inputs(i), recounts(i))
    val begins           = declares(false, i)
    val advances         = io.advance.valid && named(io.advance.bits.stream, i)
    val restored         = restoresIn(i)
    when(begins || restored && index === 0.U)(flags := newFlags)
    when(begins || advances || restored)(places(i)  := newPlace)
    when(recount.valid)(places(i)                   := places(i) + bitsOf(i))
    when(advances || recount.valid) {
      notRests(i) := notRests(i) + Mux(recount.valid, recount.bits.pad(p.vlBits), io.advance.bits.count)
    }
    when(begins || restored) {
      notRests(i) := ~newRest
      endless(i)  := newLeft.andR
    }
    when(chosen(io.raise, false, i))(flags.pending := 0.U)
    when(closesIn(i)) {
      flags       := 0.U.asTypeOf(flags)
      places(i)   := 0.U
      notRests(i) := noRest
      endless(i)  := false.B
    }
    val enters = chosen(io.enter, false, i)
    inputUses(i)             := Tally(inputUses(i), enters, io.inputDone.map(done => done.valid && named(done.bits, i)))
    when(enters)(inMemory(i) := !flags.format.buffer)
  }

  // ---- Output streams ----------------------------------------------------------------------------------------------------------
  // Nothing is under way as the window writes, so a stream can only be where it is: so far it reaches from the cycle
  // behind on, in which its place is read again.
  private val restoresReach = RegNext(io.windowWrite.valid && isOutput, false.B)
  private val restoredAt    = Reg(UInt(3.W))
  restoredAt := object8(2, 0)
  private val shownOut = output(object8(2, 0), 1)
  private val here     = output(Mux(restoresReach, restoredAt, io.write), 2)
  written.stream(1) := object8(2, 0)
  private val shownDone = written.value(1)
  io.at := here.at

  private val begins      = io.declare.valid && declared.output
  private val restored    = io.windowWrite.valid && isOutput
  private val changedOut  = Mux(begins, declared.stream, object8(2, 0))
  private val zeroOutputs = Fill(p.outputs, io.clear) | perOutput(chosen(io.close, true, _))
  // The pack path, then the commit stage or the window, which count where both write one stream.
  private val newAt = WireDefault(shownOut.at)
  newAt.bytepos := put(shownOut.at.bytepos, 1)
  newAt.auxpos  := put(shownOut.at.auxpos, 4)
  when(index === 3.U) {
    newAt.bitpos  := value(2, 0)
    newAt.partial := value(15, 8)
  }
  when(begins) {
    newAt.bytepos := declared.bytepos
    newAt.bitpos  := declared.bitpos
    newAt.partial := 0.U
    newAt.auxpos  := declared.auxpos
  }
  write(positions.write(0), io.move.valid, io.write, io.move.bits.asUInt)
  write(positions.write(1), begins || restored, changedOut, newAt.asUInt)
  positions.zero := zeroOutputs

  // Elements written: 0 from a declaration on.
  private val settle = io.settle.bits
  written.stream(2) := settle.stream
  write(
    written.write(0),
    io.settle.valid || restored,
    Mux(io.settle.valid, settle.stream, object8(2, 0)),
    Mux(io.settle.valid, written.value(2) + settle.count, put(shownDone, 8))
  )
  written.zero := zeroOutputs | perOutput(declares(true, _))

  // How far it may come: an instruction that leaves the commit stage reserves, one that has packed settles.
  private val reserve   = io.reserve.bits
  private val both      = io.reserve.valid && io.settle.valid && reserve.stream === settle.stream
  private val reserveAt = Mux(restoresReach, restoredAt, Mux(begins, declared.stream, reserve.stream))
  private val reserves  = io.reserve.valid || begins || restoresReach
  private def reach(at: UInt => UInt, more: UInt, less: UInt, begin: UInt, restored: UInt): (UInt, UInt) = {
    val reserved = at(reaches.value(1)) + more - Mux(both, less, 0.U)
    (at(reaches.value(2)) - less, Mux(restoresReach, restored, Mux(begins, begin, reserved)))
  }
  private val bitReach = reach(
    _(posBits + p.xLen - 1, p.xLen),
    reserve.bits,
    settle.surplus,
    Cat(declared.bytepos, declared.bitpos),
    Cat(here.at.bytepos, here.at.bitpos)
  )
  private val auxReach =
    reach(_(p.xLen - 1, 0), reserve.count, settle.auxSurplus, declared.auxpos, here.at.auxpos)
  reaches.stream(1) := reserve.stream
  reaches.stream(2) := settle.stream
  reaches.zero      := 0.U
  write(reaches.write(0), io.settle.valid, settle.stream, Cat(bitReach._1, auxReach._1))
  write(reaches.write(1), reserves, reserveAt, Cat(bitReach._2, auxReach._2))

  for ((flags, i) <- outputs.zipWithIndex) {
    val missing = io.settle.valid && named(settle.stream, i) && settle.missing
    when(missing && flags.pending === 0.U)(flags.pending             := 6.U)
    when(declares(true, i) || restoresOut(i) && index === 0.U)(flags := newFlags)
    when(chosen(io.raise, true, i))(flags.pending                    := 0.U)
    when(zeroOutputs(i))(flags                                       := 0.U.asTypeOf(flags))
    val enters = chosen(io.enter, true, i)
    outputUses(i)             := Tally(outputUses(i), enters, Seq(io.outputDone.valid && named(io.outputDone.bits, i)))
    when(enters)(outMemory(i) := !flags.format.buffer)
  }
  private val inputOpen = perInput(inputs(_).open).pad(12)
  io.busy   := (inputUses ++ outputUses).map(_ =/= 0.U).reduce(_ || _) || moving
  io.reads  := inputUses.zip(inMemory).map { case (uses, memory) => uses =/= 0.U && memory }.reduce(_ || _)
  io.writes := outputUses.zip(outMemory).map { case (uses, memory) => uses =/= 0.U && memory }.reduce(_ || _)

  // VRCNUM. A strip unpacks its streams and does not move them; those that it has not unpacked are looked at by the gate.
  for (strip <- io.strip) {
    val unpacked = RegInit(0.U(12.W))
    val heads    = RegInit(0.U(8.W))
    val auxHeads = RegInit(0.U(8.W))
    val staged   = Reg(Vec(p.inputs, new StreamStage(p)))
    val moves    = strip.recount.valid
    for ((flags, i) <- inputs.zipWithIndex) {
      // Where NumE is 0 the gate has looked at none. It has added up the bits of what it has looked at.
      val own   = flags.kind =/= StreamKind.Fixed.U
      val asked = !strip.recount.bits.early && (own || !unpacked(i)) && strip.recount.bits.count =/= 0.U
      val bits  = Mux(own, 0.U, strip.recount.bits.count * flags.format.valueBits)
      recounts(i).valid := moves && strip.recount.bits.set(i)
      recounts(i).bits  := Mux(asked, staged(i).count, strip.recount.bits.count)
      bitsOf(i)         := Mux(asked, staged(i).bits, bits)
      when(recounts(i).valid && asked && flags.pending === 0.U)(flags.pending := staged(i).reason)
      when(strip.stage.valid && named(strip.stage.bits.stream, i))(staged(i)  := strip.stage.bits)
    }
    val looks = Mux(strip.unpack && io.enter.valid, (1.U(16.W) << io.enter.bits.stream)(11, 0), 0.U)
    unpacked := Mux(strip.renew || io.clear, 0.U, unpacked | looks)
    // A stream that moves in the midst of a strip has fewer elements left than the strip has seen.
    def without(stream: UInt): UInt = unpacked & ~(1.U(16.W) << stream)(11, 0)
    when(io.advance.valid)(unpacked                                   := without(io.advance.bits.stream))
    when(io.close.valid && !io.close.bits.output)(unpacked            := without(io.close.bits.stream))
    when(io.windowWrite.valid || strip.renumber || io.clear)(unpacked := 0.U)
    // IHEAD of the stream, then that of its widths.
    val buffers = Cat(inputs.take(8).map(_.format.buffer).reverse)
    val widths  = Cat(inputs.take(8).map(isVariable).reverse)
    val either  = heads | auxHeads
    val first   = PriorityEncoderOH(either)
    val ofAux   = (heads & first) === 0.U
    val consume = io.consume.get
    moved               := OHToUInt(first)
    moving              := either.orR
    consume.valid       := either.orR
    consume.bits.stream := Mux(ofAux, shownIn.flags.format.aux, moved)
    consume.bits.head   := Mux(ofAux, shownIn.auxpos, shownIn.bytepos)(31, 0)
    val begins = Mux(moves, strip.recount.bits.set(7, 0) & buffers, 0.U)
    heads    := Mux(io.clear, 0.U, (heads & ~Mux(consume.ready && !ofAux, first, 0.U)) | begins)
    auxHeads := Mux(io.clear, 0.U, (auxHeads & ~Mux(consume.ready && ofAux, first, 0.U)) | (begins & widths))
    when(!io.look.output && (either & (1.U(16.W) << io.look.stream)(7, 0)).orR)(io.look.busy := true.B)
    strip.open                                                                               := inputOpen
    strip.counted  := perInput(inputs(_).kind =/= StreamKind.Fixed.U).pad(12)
    strip.unpacked := unpacked
    strip.moving   := moving
  }

  private def owns(of: StreamFlags) = of.open && of.format.buffer
  private def auxesOf(of: Seq[StreamFlags]): UInt =
    of.map(s => Mux(owns(s) && isVariable(s), UIntToOH(s.format.aux, 8), 0.U)).reduce(_ | _)
  private val inputAuxes  = auxesOf(inputs)
  private val outputAuxes = auxesOf(outputs)
  io.look.open  := Mux(io.look.output, perOutput(outputs(_).open).pad(12), inputOpen)
  io.look.auxes := Mux(io.look.output, outputAuxes, inputAuxes)
  io.look.tables := Cat((0 until HuffmanCode.sets).reverse.map { set =>
    (inputs ++ outputs).map(s => s.open && s.kind === StreamKind.Huffman.U && s.table === set.U).reduce(_ || _)
  })
  io.ownInputs  := Cat(inputs.take(8).map(owns).reverse) | inputAuxes
  io.ownOutputs := perOutput(i => owns(outputs(i))) | outputAuxes

  // ---- Window: what it reads ---------------------------------------------------------------------------------------------------
  private val flagsShown = Mux(isInput, shownIn.flags, shownOut.flags)
  private val words = {
    def either(in: UInt, out: UInt) = Mux(isInput, in, out)
    val bytepos                     = either(shownIn.bytepos, shownOut.at.bytepos)
    val auxpos                      = either(shownIn.auxpos, shownOut.at.auxpos)
    val left                        = either(shownIn.left, 0.U(p.xLen.W))
    val done                        = either(shownIn.done, shownDone)
    Seq(
      Cat(
        flagsShown.pending.pad(4),
        0.U(3.W),
        flagsShown.table,
        0.U(2.W),
        flagsShown.format.asUInt,
        0.U(1.W),
        flagsShown.kind,
        flagsShown.open
      ).pad(32),
      half(bytepos, upper = false),
      half(bytepos, upper = true),
      Cat(either(0.U(8.W), shownOut.at.partial), 0.U(5.W), either(shownIn.bitpos, shownOut.at.bitpos)).pad(32),
      half(auxpos, upper = false),
      half(auxpos, upper = true),
      half(left, upper = false),
      half(left, upper = true),
      half(done, upper = false),
      half(done, upper = true)
    )
  }
  io.word := words.zipWithIndex
    .map { case (w, i) =>
      Mux((isInput || isOutput) && index === i.U, w, 0.U)
    }
    .reduce(_ | _)

  when(io.clear) {
    (inputs ++ outputs).foreach(_ := flags())
    places.foreach(_ := 0.U)
    notRests.foreach(_ := noRest)
    endless.foreach(_ := false.B)
    inputUses.foreach(_ := 0.U)
    outputUses.foreach(_ := 0.U)
  }
}
