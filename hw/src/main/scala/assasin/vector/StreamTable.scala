// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Decoupled, OHToUInt, PopCount, PriorityEncoderOH, UIntToOH, Valid, log2Ceil}

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

  /** Of meaning according to `output`. */
  val common  = Input(new StreamDescriptor(p))
  val left    = Input(UInt(p.xLen.W))
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

  /** Bits of these elements, if they have no common width. */
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
  */
class StreamTable(p: VectorParams) extends Module {
  val io = IO(new StreamTableIO(p))

  private val inputs  = RegInit(VecInit(Seq.fill(p.inputs)(0.U.asTypeOf(new InputDescriptor(p)))))
  private val outputs = RegInit(VecInit(Seq.fill(p.outputs)(0.U.asTypeOf(new OutputDescriptor(p)))))
  private val reach   = Reg(Vec(p.outputs, UInt((p.xLen + 3).W)))

  // The same of widths.
  private val auxReach = Reg(Vec(p.outputs, UInt(p.xLen.W)))

  // Instructions past the commit point, by stream. A memory stream's are those of a stream that was one when they entered.
  private val inputUses  = RegInit(VecInit(Seq.fill(p.inputs)(0.U(p.tagBits.W))))
  private val outputUses = RegInit(VecInit(Seq.fill(p.outputs)(0.U(p.tagBits.W))))
  private val inMemory   = Reg(Vec(p.inputs, Bool()))
  private val outMemory  = Reg(Vec(p.outputs, Bool()))

  private def named(stream: UInt, i: Int)    = stream === i.U
  private def position(of: StreamDescriptor) = Cat(of.bytepos, of.bitpos)

  // Of the input streams there may be no power of two: all 0 for an id that there is not.
  private def byInput[T <: Data](of: Vec[T]): T =
    Mux(io.look.stream < of.size.U, MuxTree(io.look.stream, of).asUInt, 0.U).asTypeOf(of.head)
  private val in  = byInput(inputs)
  private val out = MuxTree(io.look.stream(2, 0), outputs)
  private def common(of: StreamDescriptor) = {
    val fields = Wire(new StreamDescriptor(p))
    fields.open    := of.open
    fields.kind    := of.kind
    fields.format  := of.format
    fields.bytepos := of.bytepos
    fields.bitpos  := of.bitpos
    fields.auxpos  := of.auxpos
    fields.done    := of.done
    fields.pending := of.pending
    fields.table   := of.table
    fields
  }
  io.look.common      := Mux(io.look.output, common(out), common(in))
  io.look.left        := in.left
  io.look.partial     := out.partial
  io.look.position    := Mux(io.look.output, MuxTree(io.look.stream(2, 0), reach), position(in))
  io.look.auxPosition := Mux(io.look.output, MuxTree(io.look.stream(2, 0), auxReach), in.auxpos)
  io.look.busy := Mux(
    io.look.output,
    MuxTree(io.look.stream(2, 0), outputUses) =/= 0.U,
    byInput(inputUses) =/= 0.U
  )

  private val written = MuxTree(io.write, outputs)
  io.at.bytepos := written.bytepos
  io.at.bitpos  := written.bitpos
  io.at.partial := written.partial
  io.at.auxpos  := written.auxpos

  private val declared = io.declare.bits
  private def begin(of: StreamDescriptor): Unit = {
    of.open    := true.B
    of.kind    := declared.kind
    of.format  := declared.format
    of.bytepos := declared.bytepos
    of.bitpos  := declared.bitpos
    of.auxpos  := declared.auxpos
    of.done    := 0.U
    of.pending := 0.U
    of.table   := declared.table
  }
  private def chosen(event: Valid[StreamName], output: Boolean, i: Int) =
    event.valid && event.bits.output === output.B && named(event.bits.stream, i)

  // Elements that VRCNUM takes of each stream, where it takes any.
  private val recounts = Seq.fill(p.inputs)(WireDefault(0.U.asTypeOf(Valid(UInt(log2Ceil(p.elements + 1).W)))))
  for (((input, recount), i) <- inputs.zip(recounts).zipWithIndex) {
    when(io.declare.valid && !declared.output && named(declared.stream, i)) {
      begin(input)
      input.left := declared.left
    }
    val advances = io.advance.valid && named(io.advance.bits.stream, i)
    when(advances) {
      input.bytepos                                           := io.advance.bits.position >> 3
      input.bitpos                                            := io.advance.bits.position(2, 0)
      when(input.kind === StreamKind.Variable.U)(input.auxpos := input.auxpos + io.advance.bits.count)
    }
    // Numbers of elements are counted by the same sums for both.
    val consumed = Mux(recount.valid, recount.bits.pad(p.vlBits), io.advance.bits.count)
    when(advances || recount.valid) {
      input.done                        := input.done + consumed
      when(!input.left.andR)(input.left := input.left - consumed)
    }
    when(chosen(io.close, false, i))(input         := 0.U.asTypeOf(input))
    when(chosen(io.raise, false, i))(input.pending := 0.U)
    val enters = chosen(io.enter, false, i)
    inputUses(i) := inputUses(i) + enters - PopCount(io.inputDone.map(done => done.valid && named(done.bits, i)))
    when(enters)(inMemory(i) := !input.format.buffer)
  }
  for ((output, i) <- outputs.zipWithIndex) {
    val reserves = io.reserve.valid && named(io.reserve.bits.stream, i)
    val settles  = io.settle.valid && named(io.settle.bits.stream, i)
    reach(i) := reach(i) + Mux(reserves, io.reserve.bits.bits, 0.U) - Mux(settles, io.settle.bits.surplus, 0.U)
    auxReach(i) := auxReach(i) + Mux(reserves, io.reserve.bits.count, 0.U) - Mux(
      settles,
      io.settle.bits.auxSurplus,
      0.U
    )
    when(io.move.valid && io.write === i.U) {
      output.bytepos := io.move.bits.bytepos
      output.bitpos  := io.move.bits.bitpos
      output.partial := io.move.bits.partial
      output.auxpos  := io.move.bits.auxpos
    }
    when(settles)(output.done := output.done + io.settle.bits.count)
    when(settles && io.settle.bits.missing && output.pending === 0.U)(output.pending := 6.U)
    when(io.declare.valid && declared.output && named(declared.stream, i)) {
      begin(output)
      output.partial := 0.U
      reach(i)       := Cat(declared.bytepos, declared.bitpos)
      auxReach(i)    := declared.auxpos
    }
    when(chosen(io.close, true, i))(output         := 0.U.asTypeOf(output))
    when(chosen(io.raise, true, i))(output.pending := 0.U)
    val enters = chosen(io.enter, true, i)
    outputUses(i)             := outputUses(i) + enters - (io.outputDone.valid && named(io.outputDone.bits, i))
    when(enters)(outMemory(i) := !output.format.buffer)
  }
  private val inputOpen = Cat(inputs.map(_.open).reverse).pad(12)
  private val moving    = WireDefault(false.B)
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
    for ((input, i) <- inputs.zipWithIndex) {
      when(moves && strip.recount.bits.set(i)) {
        // Where NumE is 0 the gate has looked at none.
        val own   = input.kind =/= StreamKind.Fixed.U
        val asked = !strip.recount.bits.early && (own || !unpacked(i)) && strip.recount.bits.count =/= 0.U
        val count = Mux(asked, staged(i).count, strip.recount.bits.count)
        val bits  = Mux(own, Mux(asked, staged(i).bits, 0.U), count * input.format.valueBits)
        val next  = position(input) + bits
        recounts(i).valid                                       := true.B
        recounts(i).bits                                        := count
        input.bytepos                                           := next >> 3
        input.bitpos                                            := next(2, 0)
        when(asked && input.pending === 0.U)(input.pending      := staged(i).reason)
        when(input.kind === StreamKind.Variable.U)(input.auxpos := input.auxpos + count)
      }
      when(strip.stage.valid && named(strip.stage.bits.stream, i))(staged(i) := strip.stage.bits)
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
    val widths  = Cat(inputs.take(8).map(_.kind === StreamKind.Variable.U).reverse)
    val either  = heads | auxHeads
    val first   = PriorityEncoderOH(either)
    val ofAux   = (heads & first) === 0.U
    val consume = io.consume.get
    val mover   = MuxTree(OHToUInt(first), inputs.take(8))
    moving              := either.orR
    consume.valid       := either.orR
    consume.bits.stream := Mux(ofAux, mover.format.aux, OHToUInt(first))
    consume.bits.head   := Mux(ofAux, mover.auxpos, mover.bytepos)(31, 0)
    val begins = Mux(moves, strip.recount.bits.set(7, 0) & buffers, 0.U)
    heads    := Mux(io.clear, 0.U, (heads & ~Mux(consume.ready && !ofAux, first, 0.U)) | begins)
    auxHeads := Mux(io.clear, 0.U, (auxHeads & ~Mux(consume.ready && ofAux, first, 0.U)) | (begins & widths))
    when(!io.look.output && (either & (1.U(16.W) << io.look.stream)(7, 0)).orR)(io.look.busy := true.B)
    strip.open                                                                               := inputOpen
    strip.counted  := Cat(inputs.map(_.kind =/= StreamKind.Fixed.U).reverse).pad(12)
    strip.unpacked := unpacked
    strip.moving   := moving
  }

  private def owns(of: StreamDescriptor) = of.open && of.format.buffer
  private def auxes(of: Seq[StreamDescriptor]): UInt =
    of.map(s => Mux(owns(s) && s.kind === StreamKind.Variable.U, UIntToOH(s.format.aux, 8), 0.U)).reduce(_ | _)
  private val inputAuxes  = auxes(inputs)
  private val outputAuxes = auxes(outputs)
  io.look.open  := Mux(io.look.output, Cat(outputs.map(_.open).reverse).pad(12), inputOpen)
  io.look.auxes := Mux(io.look.output, outputAuxes, inputAuxes)
  io.look.tables := Cat((0 until HuffmanCode.sets).reverse.map { set =>
    (inputs ++ outputs).map(s => s.open && s.kind === StreamKind.Huffman.U && s.table === set.U).reduce(_ || _)
  })
  io.ownInputs  := Cat(inputs.take(8).map(owns).reverse) | inputAuxes
  io.ownOutputs := Cat(outputs.map(owns).reverse) | outputAuxes

  // ---- Window ---------------------------------------------------------------------------------------------------------------
  private val object8  = io.select(7, 0)
  private val index    = io.select(19, 8)
  private val isStream = io.select(31, 28) === 0.U

  /** Words of a stream: word number, how it reads, what a write does. */
  private def half(value: UInt, upper: Boolean): UInt =
    if (upper) (if (p.xLen == 64) value(63, 32) else 0.U(32.W)) else value(31, 0)
  private def word(of: StreamDescriptor, left: UInt, partial: UInt): UInt = {
    val words = Seq(
      Cat(of.pending.pad(4), 0.U(3.W), of.table, 0.U(2.W), of.format.asUInt, 0.U(1.W), of.kind, of.open).pad(32),
      half(of.bytepos, upper = false),
      half(of.bytepos, upper = true),
      Cat(partial, 0.U(5.W), of.bitpos).pad(32),
      half(of.auxpos, upper = false),
      half(of.auxpos, upper = true),
      half(left, upper = false),
      half(left, upper = true),
      half(of.done, upper = false),
      half(of.done, upper = true)
    )
    words.zipWithIndex.map { case (w, i) => Mux(index === i.U, w, 0.U) }.reduce(_ | _)
  }
  private def here(output: Boolean, i: Int) =
    isStream && object8 === (i + (if (output) 16 else 0)).U
  // The stream first, then its word.
  private val isInput  = isStream && object8 < p.inputs.U
  private val isOutput = isStream && object8(7, 3) === 2.U
  private val shown    = MuxTree(object8(3, 0), inputs)
  private val shownOut = MuxTree(object8(2, 0), outputs)
  io.word := Mux(isInput, word(shown, shown.left, 0.U(8.W)), 0.U) |
    Mux(isOutput, word(shownOut, 0.U(p.xLen.W), shownOut.partial), 0.U)

  private val value = io.windowWrite.bits
  private def put(field: UInt, upper: Boolean): Unit =
    if (p.xLen == 64) field := (if (upper) Cat(value, field(31, 0)) else Cat(field(63, 32), value))
    else if (!upper) field := value
  private def restore(of: StreamDescriptor): Unit = {
    when(index === 0.U) {
      of.open    := value(0)
      of.kind    := value(2, 1)
      of.format  := value(17, 4).asTypeOf(new StreamFormat)
      of.pending := value(26, 24)
      of.table   := value(20)
    }
    when(index === 1.U)(put(of.bytepos, upper = false))
    when(index === 2.U)(put(of.bytepos, upper = true))
    when(index === 3.U)(of.bitpos := value(2, 0))
    when(index === 4.U)(put(of.auxpos, upper = false))
    when(index === 5.U)(put(of.auxpos, upper = true))
    when(index === 8.U)(put(of.done, upper = false))
    when(index === 9.U)(put(of.done, upper = true))
  }
  for ((input, i) <- inputs.zipWithIndex) when(io.windowWrite.valid && here(false, i)) {
    restore(input)
    when(index === 6.U)(put(input.left, upper = false))
    when(index === 7.U)(put(input.left, upper = true))
  }
  // Nothing is under way, so an output stream can only be where it is.
  for ((output, i) <- outputs.zipWithIndex) {
    val restores = io.windowWrite.valid && here(true, i)
    when(restores) {
      restore(output)
      when(index === 3.U)(output.partial := value(15, 8))
    }
    when(RegNext(restores, false.B)) {
      reach(i)    := position(output)
      auxReach(i) := output.auxpos
    }
  }

  when(io.clear) {
    inputs.foreach(input => input := 0.U.asTypeOf(input))
    outputs.foreach(output => output := 0.U.asTypeOf(output))
    inputUses.foreach(_ := 0.U)
    outputUses.foreach(_ := 0.U)
  }
}
