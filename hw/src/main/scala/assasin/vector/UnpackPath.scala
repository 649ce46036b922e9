// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Decoupled, Fill, MuxLookup, PopCount, PriorityEncoder, UIntToOH, Valid, log2Ceil}

class UnpackPathIO(p: VectorParams) extends MaskingPathIO(p) {

  /** Streams in memory. */
  val load       = Decoupled(new VectorLoadRequest(p))
  val loadAnswer = Input(Valid(UInt(p.memoryBits.W)))

  /** Elements of Huffman streams. */
  val rows = Output(Valid(new SymbolRead(p)))
  val row  = Input(UInt(p.dLen.W))

  /** All of an instruction's have been read. */
  val rowsDone = Output(Bool())

  /** Streams in stream buffers. */
  val read       = Output(Valid(new StreamReadRequest))
  val readAnswer = Input(UInt(p.memoryBits.W))
  val consume    = Output(Valid(new StreamConsume))

  val write    = Decoupled(new RegisterWrite(p))
  val writeTag = Output(UInt(p.tagBits.W))

  /** A write of the next cycle is taken if it is claimed; the write of this cycle was. */
  val claimable = Input(Bool())
  val claimed   = Output(Bool())

  /** Element groups that VarVE-pup's have asked for and not written. */
  val landing = Output(UInt(p.egs.W))

  /** The same without what is written in this cycle, as one that reads with write-through in the next has to see it. */
  val lasting = Output(UInt(p.egs.W))

  /** An instruction of VarVE-pup has read all of its bytes of this stream. */
  val done = Output(Valid(UInt(4.W)))

  /** An instruction of VarVE-pup has given back what it has read of a stream buffer. */
  val gave = Output(Bool())

  val strip = if (p.full) Some(new StripUnpackIO(p)) else None
}

/** What VarVE-full needs besides. */
class StripUnpackIO(p: VectorParams) extends Bundle {

  /** Vector registers, when it is this path's turn; the number of elements of the same register. */
  val read    = new RegisterReadIO(p)
  val reading = Output(Bool())
  val granted = Input(Bool())
  val length  = Input(UInt(log2Ceil(p.elements + 1).W))

  /** Masks that the execute path will write; and what else it, and others, have yet to write before this path's
    * instruction.
    */
  val forwards = Vec(2, Flipped(Valid(new MaskForward(p))))
  val blocked  = Input(UInt(p.egs.W))

  /** With `write`: the register's metadata, if it is one of VarVE-full. */
  val metadata = Valid(new VariableMetadata(p))

  /** The oldest strip whose number is not known, as in [[StripPlace]]; its number is known, and it is the oldest no
    * more from the next cycle on. NumE by strips.
    */
  val oldest   = Input(UInt(StripPlace.stripBits.W))
  val resolves = Input(Bool())
  val numEs    = Input(Vec(StripPlace.strips, UInt(log2Ceil(p.elements + 1).W)))

  /** The queue keeps an instruction until its register is written. */
  val kept = Flipped(new IssueKeepIO)

  /** What will be written next; no older instruction has yet to read or to write it. */
  val next = Output(new RegisterName(p))
  val free = Input(Bool())

  /** Element groups that are written in this cycle, or surely in the next. */
  val fresh = Output(UInt(p.egs.W))

  /** An instruction of VarVE-full has ended, which reads this stream. */
  val done = Valid(UInt(4.W))

  /** Registers' numbers of elements as they become known. */
  val counted = Vec(2, Valid(UInt(log2Ceil(p.elements + 1).W)))
}

/** Unpacks elements of input streams into registers, an element group a cycle (docs/varve/unit.md 5.1): S asks for the
  * bytes, the answer waits in a queue, and is spread over the lanes and written in the two cycles behind it. An
  * instruction without elements only gives bytes back.
  *
  * Of VarVE-full's the lanes of all beats are appended to one register, and no bytes are given back: VRCNUM does that.
  * Once an instruction's mask is known, beats without an active element are left out.
  *
  * Where VarVE-full's begin depends on the NumE of the strips before. With `tentative` those of one strip are unpacked
  * before that of the strip before is known, on a guess ([[StripGuess]]), up to registers that are not written yet
  * (docs/varve/unit.md 6.3). When it fails all that is dropped, and the instructions are taken again.
  */
class UnpackPath(p: VectorParams) extends Module {
  val io = IO(new UnpackPathIO(p))

  private val depth    = 4
  private val posBits  = p.xLen + 3
  private val logD     = log2Ceil(p.dBytes)
  private val sizeBits = log2Ceil(p.dBytes) + 1
  private val sumBits  = log2Ceil(64 * p.dBytes + 1)

  /** What becomes of an answer; `silent`: there is none. */
  private class Ticket extends Bundle {
    val tag    = UInt(p.tagBits.W)
    val eg     = UInt(p.egBits.W)
    val mask   = UInt(p.dBytes.W)
    val silent = Bool()
    val last   = Bool()

    /** How the values lie in the answer, and in lanes of how many bytes they go. */
    val bitpos    = UInt(3.W)
    val valueBits = UInt(7.W)
    val unsigned  = Bool()
    val eew       = UInt(2.W)

    /** The stream, and its IHEAD behind the instruction. */
    val stream = UInt(4.W)
    val buffer = Bool()
    val head   = UInt(32.W)
    val rows   = Bool()

    /** The answer is widths. Of values that have their own: none has a bit, so there is no answer; the first one's
      * number, and what is to be added to where each begins.
      */
    val widths = Bool()
    val own    = Bool()
    val empty  = Bool()
    val number = UInt(logD.W)
    val shift  = UInt(sumBits.W)

    /** Where the widths are, and IHEAD of these behind the instruction. */
    val aux     = UInt(3.W)
    val auxHead = UInt(32.W)

    /** Of VarVE-full: the number of the beat, its lanes that hold an element, and the number of the first element. */
    val variable = Bool()
    val first    = Bool()
    val beat     = UInt(log2Ceil(p.elements).W)
    val present  = UInt(p.dBytes.W)
    val bound    = UInt(log2Ceil(p.elements + 1).W)
    val masked   = Bool()
    val mb       = UInt(2.W)
  }

  // ---- Guesses --------------------------------------------------------------------------------------------------------------
  // Instructions of the strip behind the oldest have been taken, as if that had this NumE.
  private val expected                  = if (p.full) Some(Module(new StripGuess(p))) else None
  private val fate                      = expected.fold(0.U.asTypeOf(new GuessFate))(_.io.fate)
  private def stands(guess: Bool): Bool = guess && !fate.confirm

  // ---- S --------------------------------------------------------------------------------------------------------------------
  private val valid    = RegInit(false.B)
  private val op       = Reg(new VectorOp(p))
  private val beat     = Reg(UInt(p.beatBits.W))
  private val position = Reg(UInt(posBits.W))
  private val writes   = Reg(UInt(p.egs.W))
  private val landing  = RegInit(0.U(p.egs.W))
  private val use      = op.use.get

  private val guess = RegInit(false.B)

  private val tickets = Module(new GuessQueue(new Ticket, depth))
  private val answers = Module(new GuessQueue(UInt(p.memoryBits.W), depth))
  tickets.io.fate  := fate
  answers.io.fate  := fate
  tickets.io.clear := io.clear
  answers.io.clear := io.clear

  // What memory has been asked for, and has not answered, oldest first: whether the answer is dropped, because the guess
  // was or because of a clear, and whether it is a guess.
  private val mostAsked = 2 * depth
  private val asked     = RegInit(0.U(log2Ceil(mostAsked + 1).W))
  private val dropped   = RegInit(0.U(mostAsked.W))
  private val guessed   = RegInit(0.U(mostAsked.W))

  // Memory answers later than stream buffers: what is under way is of one kind, so that answers come in order.
  private val kind    = Reg(Bool())
  private val huffman = use.huffman
  private val quick   = use.buffer || huffman
  private val oneKind = !tickets.io.deq.valid || kind === quick

  // A mask is read beside: the instruction stays in S until it has been, and its elements wait for it before they are
  // appended. Then those of its elements that are active are known.
  private val variable = op.variable.fold(false.B)(_.active)
  private val masking  = RegInit(false.B)
  private val begun    = RegInit(false.B)
  private val issued   = RegInit(false.B)
  private val unmasked = RegInit(false.B)
  private val active   = Reg(UInt(p.elements.W))
  private val eew      = Mux(variable, use.laneLog, op.eew)
  private val lanes    = (p.dBytes.U >> eew).asUInt

  // Beats from the next one on that have an active element; the first of these, how far it is, and whether it is the last.
  // If there is none a beat without values ends the instruction.
  private val step1     = use.valueBits << (logD.U - eew)
  private val mostBeats = 8 * p.slotsOfByte
  private val chosen = MuxLookup(eew, 0.U(mostBeats.W))((0 to 3).map { log =>
    val each = p.dBytes >> log
    log.U -> Cat(
      (0 until mostBeats)
        .map(j => if (each * j < p.elements) active(each * (j + 1) - 1, each * j).orR else false.B)
        .reverse
    )
  })
  private val ahead     = (chosen >> beat(log2Ceil(mostBeats) - 1, 0))(mostBeats - 1, 0)
  private val leavesOut = variable && unmasked && !use.variable
  private val skipped   = Mux(leavesOut && ahead =/= 0.U, PriorityEncoder(ahead), 0.U)
  private val exhausted = leavesOut && ahead === 0.U
  private val beatNow   = beat + skipped
  private val positionNow =
    position + (0 until log2Ceil(mostBeats)).map(k => Mux(skipped(k), step1 << k, 0.U)).reduce(_ +& _)
  private val base = beatNow * lanes

  // Values with widths of their own: these are read first, as many as an element group has bytes. Where each of these
  // values begins, counted from the first one, is known from the cycle in which `summed` rises.
  private val own     = use.variable
  private val asking  = RegInit(false.B)
  private val summed  = RegInit(false.B)
  private val element = Reg(UInt(p.vlBits.W))
  private val starts  = Reg(Vec(p.dBytes, UInt(sumBits.W)))
  private val total   = Reg(UInt(sumBits.W))
  private val bits    = Reg(Vec(p.dBytes, UInt(7.W)))
  private val number  = element(logD - 1, 0)
  private val left    = op.evl - element
  private val group   = (number >> (logD.U - eew)).asUInt
  private val start   = starts(number)
  private val ownAt   = position +& start
  // Those of one element group that end inside the window, from the next one on.
  private val stops   = starts.tail :+ total
  private val ownRoom = (p.memoryBits.U - ownAt(2, 0))(log2Ceil(p.memoryBits + 1) - 1, 0)
  private val lastOwn = left +& number
  private val ownFits = VecInit(Seq.tabulate(p.dBytes) { i =>
    val same = (i.U(logD.W) >> (logD.U - eew)).asUInt === group
    number <= i.U && i.U < lastOwn && same && !ShortNumbers.isAbove(stops(i) - start, ownRoom)
  })
  private val ownCount = PopCount(ownFits)
  private val ownEnd   = element + ownCount
  private val ownBits  = VecInit(stops)((number + ownCount - 1.U)(logD - 1, 0)) - start
  private val ownEmpty = ownBits === 0.U
  private val asks     = own && op.evl =/= 0.U && !summed
  private val leftMost = Mux(left < p.dBytes.U, left, p.dBytes.U)(sizeBits - 1, 0)

  private val silent = op.evl === 0.U
  private val eg     = (op.vd * p.egsPerRegister.U + Mux(variable, 0.U, beat))(p.egBits - 1, 0)
  private val last = silent || exhausted || Mux(
    own,
    !asks && ownEnd === op.evl,
    Mux(
      leavesOut,
      (ahead & (ahead - 1.U)) === 0.U,
      beat === ((op.evl << eew)(p.laneBytesBits - 1, 0) - 1.U) >> logD
    )
  )
  // It reads; it changes a register.
  private val reads   = !silent && !exhausted && (asks || !(own && ownEmpty))
  private val changes = !silent && !asks && !variable
  private val hazard  = changes && (io.olderWrites(eg) || io.olderReads(eg) || landing(eg))
  private val goes =
    valid && !issued && !hazard && !(asks && asking) && tickets.io.enq.ready &&
      (!reads || (oneKind && asked =/= mostAsked.U)) && !(guess && fate.redo) && !io.clear
  private val addr =
    Mux(asks, op.stride + element, (Mux(own, ownAt(posBits - 1, 0), positionNow) >> 3)(p.xLen - 1, 0))
  // The last bytes of a full request may lie behind the range that was checked.
  private val rest = op.last - addr
  io.load.valid     := goes && reads && !quick
  io.load.bits.addr := addr
  io.load.bits.bytes := Mux(
    asks,
    leftMost,
    Mux(rest >= (p.memoryBytes - 1).U, p.memoryBytes.U, rest(sizeBits - 1, 0) + 1.U)
  )
  io.rows.valid       := goes && reads && huffman
  io.rows.bits.bank   := use.bank
  io.rows.bits.row    := beatNow(log2Ceil(SymbolRows.rows(p)) - 1, 0)
  io.read.valid       := goes && reads && use.buffer && !huffman
  io.read.bits.stream := Mux(asks, use.aux, use.stream(2, 0))
  io.read.bits.pos    := addr(31, 0)
  private val step = goes && (!reads || quick || io.load.ready)

  private val entered = tickets.io.enq.bits
  tickets.io.enq.valid := step
  tickets.io.enters    := guess
  entered.tag          := op.tag
  entered.eg           := eg
  entered.mask := Mux(
    silent,
    0.U,
    ElementBytes.body(p, op.eew, beat, Mux(own, element, 0.U), Mux(own, ownEnd, op.evl))
  )
  entered.silent    := silent
  entered.last      := last
  entered.widths    := asks
  entered.own       := own
  entered.empty     := (own && !asks && ownEmpty) || exhausted
  entered.number    := number
  entered.shift     := ownAt(2, 0) - start
  entered.aux       := use.aux
  entered.auxHead   := use.auxHead
  entered.bitpos    := positionNow(2, 0)
  entered.valueBits := use.valueBits
  entered.unsigned  := use.unsigned
  entered.eew       := eew
  entered.stream    := use.stream
  entered.buffer    := use.buffer
  entered.rows      := huffman
  entered.head      := op.first(31, 0)
  entered.variable  := variable
  entered.first     := !begun
  entered.beat      := beatNow.pad(log2Ceil(p.elements))(log2Ceil(p.elements) - 1, 0)
  entered.present   := Cat((0 until p.dBytes).map(l => l.U < lanes && base +& l.U < op.evl && !exhausted).reverse)
  entered.bound     := op.evl.pad(log2Ceil(p.elements + 1))(log2Ceil(p.elements + 1) - 1, 0)
  entered.masked    := op.readsVs1
  entered.mb        := op.variable.fold(0.U)(_.mb)

  private val unmasks = WireDefault(false.B)
  private val ends    = valid && (issued || (step && last)) && (!masking || unmasks)
  // Where an unpack begins is known when the strips before its own have their numbers. Of the next strip a guess may be
  // taken; one with a mask has no use for it, as its mask comes later.
  private val placed = io.strip.fold(true.B) { strip =>
    val use = io.op.bits.variable.get
    !use.active || use.place.strip === strip.oldest
  }
  private val guesses = io.strip.fold(false.B) { strip =>
    val use = io.op.bits.variable.get
    p.tentative.B && use.active && use.place.strip === strip.oldest + 1.U && !io.op.bits.readsVs1
  }
  private val moved = io.strip.fold(0.U(posBits.W)) { strip =>
    val use    = io.op.bits.variable.get
    val number = Mux(placed, strip.numEs(use.place.strip - 1.U), expected.get.io.number)
    val elements =
      Mux(use.moves(0), number, 0.U) +& Mux(use.moves(1), strip.numEs(use.place.strip - 2.U), 0.U)
    Mux(use.active, elements * io.op.bits.use.get.valueBits, 0.U).pad(posBits)
  }
  io.op.ready := (!valid || ends) && (placed || guesses) && !fate.confirm && !fate.redo
  for ((strip, expects) <- io.strip.zip(expected)) {
    expects.io.oldest      := strip.oldest
    expects.io.resolves    := strip.resolves
    expects.io.numEs       := strip.numEs
    expects.io.taken.valid := io.op.fire && !placed
    expects.io.taken.bits  := io.op.bits.variable.get.place.strip
    expects.io.clear       := io.clear
    strip.kept.fate        := fate
    val keeps = io.op.bits.isVariable
    strip.kept.keep                             := keeps
    strip.kept.guess                            := !placed
    when(!keeps && strip.kept.some)(io.op.ready := false.B)
  }
  guess := Mux(io.op.fire, !placed, stands(guess))
  when(io.op.fire) {
    op       := io.op.bits
    beat     := 0.U
    position := (io.op.bits.scalar ## io.op.bits.use.get.bitpos) + moved
    writes   := VecInit(Seq.tabulate(p.egs)(eg => io.registers.writes(eg / p.egsPerRegister))).asUInt
    masking  := io.op.bits.readsVs1
    begun    := false.B
    issued   := false.B
    unmasked := false.B
    asking   := false.B
    summed   := false.B
    element  := 0.U
  }.elsewhen(step && asks) {
    asking := true.B
  }.elsewhen(step && own) {
    element := ownEnd
    // The last one of its element group; of those whose widths were read.
    when((ownEnd << eew)(logD - 1, 0) === 0.U) {
      beat   := beat + 1.U
      writes := writes & ~UIntToOH(eg, p.egs)
    }
    when(ownEnd(logD - 1, 0) === 0.U) {
      asking   := false.B
      summed   := false.B
      position := position + total
    }
  }.elsewhen(step) {
    beat     := beatNow + 1.U
    position := positionNow + step1
    writes   := writes & ~UIntToOH(eg, p.egs)
  }
  when(step && !asks && !io.op.fire)(begun := true.B)
  private val append = if (p.full) Some(Module(new UnpackAppend(p))) else None
  private val maskEg = op.vs1
  for ((unit, strip) <- append.zip(io.strip)) {
    strip.read.eg := maskEg
    val wants = valid && masking && unit.io.mask.ready && !landing(maskEg) && !io.clear
    val hits  = strip.forwards.map(f => f.valid && f.bits.eg === maskEg)
    val taken = wants && hits.reduce(_ || _) && !strip.blocked(maskEg)
    strip.reading := wants && !io.olderWrites(maskEg)
    unmasks       := taken || (strip.reading && strip.granted)
    val read = Wire(new UnpackMask(p))
    read.bits          := strip.read.data(p.elements - 1, 0)
    read.length        := strip.length
    unit.io.mask.valid := unmasks
    unit.io.mask.bits  := Mux(taken, Mux(hits(0), strip.forwards(0).bits.mask, strip.forwards(1).bits.mask), read)
    when(unmasks) {
      // The next instruction, if it enters, says itself whether it has a mask.
      when(!ends) {
        masking  := false.B
        unmasked := true.B
      }
      active := unit.io.mask.bits.active & LaneWidths.ones(op.evl, p.elements)
    }
  }
  when(step && last && !ends)(issued := true.B)
  when(step && reads)(kind           := quick)
  valid                              := !io.clear && (io.op.fire || (valid && !ends && !(guess && fate.redo)))

  io.use.valid       := valid
  io.use.bits.tag    := op.tag
  io.use.bits.reads  := Mux(masking, UIntToOH(maskEg, p.egs), 0.U)
  io.use.bits.writes := Mux(variable, 0.U, writes)

  // ---- Answers --------------------------------------------------------------------------------------------------------------
  private val fromMemory = io.loadAnswer.valid && !dropped(0)
  private val fromBuffer = RegNext(io.read.valid, false.B)
  private val fromRows   = RegNext(io.rows.valid, false.B)
  private val lookGuess  = RegNext(stands(guess), false.B)
  answers.io.enq.valid := fromMemory || fromBuffer || fromRows
  answers.io.enq.bits  := Mux(fromMemory, io.loadAnswer.bits, Mux(fromRows, io.row, io.readAnswer))
  // One that comes as its guess fails is dropped there.
  answers.io.enters := Mux(fromMemory, guessed(0), lookGuess)

  private val answered                = asked - io.loadAnswer.valid
  private val asksNow                 = Mux(io.load.fire, UIntToOH(answered, mostAsked), 0.U)
  private def shifted(of: UInt): UInt = Mux(io.loadAnswer.valid, of >> 1, of)
  asked := asked + io.load.fire - io.loadAnswer.valid
  dropped := Mux(
    io.clear,
    Fill(mostAsked, 1.U(1.W)),
    shifted(dropped | Mux(fate.redo, guessed, 0.U)) & ~asksNow
  )
  guessed := Mux(
    io.clear || fate.redo || fate.confirm,
    0.U,
    shifted(guessed) | Mux(guess, asksNow, 0.U)
  )

  // ---- Lanes, then W --------------------------------------------------------------------------------------------------------
  private val outValid = RegInit(false.B)
  private val outGuess = Reg(Bool())
  private val out      = Reg(new Ticket)
  private val outData  = Reg(UInt(p.dLen.W))
  private val ticket   = tickets.io.deq
  private val extract  = Module(new ByteExtract(p))
  extract.io.window    := answers.io.deq.bits
  extract.io.bitpos    := ticket.bits.bitpos
  extract.io.valueBits := ticket.bits.valueBits
  extract.io.unsigned  := ticket.bits.unsigned
  extract.io.eew       := ticket.bits.eew
  extract.io.variable  := ticket.bits.own
  for (lane <- 0 until p.dBytes) {
    // The lane's value is one of those whose widths are known.
    val at = MuxLookup(ticket.bits.eew, lane.U(logD.W))((1 to 3).map { log =>
      val lanes = log2Ceil(p.dBytes >> log)
      log.U -> (if (lane < (p.dBytes >> log) && lanes > 0) Cat(ticket.bits.number >> lanes, lane.U(lanes.W))
                else ticket.bits.number)
    })
    extract.io.starts(lane) := (starts(at) + ticket.bits.shift)(ByteExtract.offsetBits(p) - 1, 0)
    extract.io.bits(lane)   := bits(at)
  }

  // A register that has been appended stands until it is written.
  private val writesNow = append.fold(false.B)(_.io.out.valid)
  private val free      = append.fold(false.B)(_.io.in.ready)
  // What writes no register only ends.
  private val plain     = outValid && !out.variable && !writesNow
  private val plainEnds = plain && (out.silent || io.write.ready)
  private val leaves    = Mux(out.variable, free, plainEnds)
  private val noAnswer  = ticket.bits.silent || ticket.bits.empty
  // Bytes of widths are given back in the cycle before.
  private val auxGiven = RegInit(false.B)
  private val givesAux =
    ticket.bits.own && ticket.bits.buffer && ticket.bits.last && !ticket.bits.variable && !auxGiven
  private val canLeave = (!outValid || leaves) && (noAnswer || answers.io.deq.valid)
  ticket.ready         := canLeave && !givesAux
  auxGiven             := !io.clear && ticket.valid && canLeave && givesAux
  answers.io.deq.ready := ticket.fire && !noAnswer
  private val outDrops = outGuess && fate.redo
  outGuess := Mux(ticket.fire, tickets.io.first, stands(outGuess))
  when(ticket.fire) {
    out     := ticket.bits
    outData := Mux(ticket.bits.empty, 0.U, extract.io.out)
  }
  outValid := !io.clear && (ticket.fire && !ticket.bits.widths || (outValid && !leaves && !outDrops))
  when(ticket.fire && ticket.bits.widths) {
    val widths = Seq.tabulate(p.dBytes)(i => answers.io.deq.bits(8 * i + 6, 8 * i))
    bits := VecInit(widths)
    val sums = PrefixSum(widths, sumBits)
    starts := VecInit(sums.init)
    total  := sums.last
    summed := true.B
  }

  // All bytes have been read: they are given back.
  io.done.valid          := ticket.fire && ticket.bits.last && !ticket.bits.variable && !io.clear
  io.done.bits           := ticket.bits.stream
  io.rowsDone            := ticket.fire && ticket.bits.last && ticket.bits.rows && !io.clear
  io.gave                := io.done.valid && ticket.bits.buffer
  io.consume.valid       := io.gave
  io.consume.bits.stream := ticket.bits.stream(2, 0)
  io.consume.bits.head   := ticket.bits.head
  when(ticket.valid && canLeave && givesAux && !io.clear) {
    io.consume.valid       := true.B
    io.consume.bits.stream := ticket.bits.aux
    io.consume.bits.head   := ticket.bits.auxHead
  }

  io.write.valid     := writesNow || (plain && !out.silent)
  io.write.bits.eg   := out.eg
  io.write.bits.mask := out.mask
  io.write.bits.data := outData
  io.writeTag        := out.tag
  io.end.valid       := Mux(writesNow, io.write.fire, plainEnds && out.last)
  io.end.bits        := io.writeTag
  for ((unit, strip) <- append.zip(io.strip)) {
    unit.io.in.valid         := outValid && out.variable && !outDrops
    unit.io.guess            := stands(outGuess)
    unit.io.fate             := fate
    unit.io.holds            := expected.get.io.holds
    unit.io.in.bits.stream   := out.stream
    unit.io.in.bits.first    := out.first
    unit.io.in.bits.last     := out.last
    unit.io.in.bits.tag      := out.tag
    unit.io.in.bits.eg       := out.eg
    unit.io.in.bits.beat     := out.beat
    unit.io.in.bits.eew      := out.eew
    unit.io.in.bits.data     := outData
    unit.io.in.bits.present  := out.present
    unit.io.in.bits.bound    := out.bound
    unit.io.in.bits.masked   := out.masked
    unit.io.in.bits.unsigned := out.unsigned
    unit.io.in.bits.mb       := out.mb
    unit.io.out.ready        := io.write.ready
    unit.io.clear            := io.clear
    when(writesNow) {
      io.write.bits.eg   := unit.io.out.bits.eg
      io.write.bits.mask := Fill(p.dBytes, 1.U(1.W))
      io.write.bits.data := unit.io.out.bits.value.data
      io.writeTag        := unit.io.out.bits.tag
    }
    strip.metadata.valid := writesNow
    strip.metadata.bits  := unit.io.out.bits.value.metadata
    strip.counted        := unit.io.counted
    strip.done.valid     := writesNow && io.write.fire && !io.clear
    strip.done.bits      := unit.io.out.bits.stream
    strip.next           := unit.io.next
    unit.io.free         := strip.free
  }

  // VarVE-full's are seen in the queue.
  private val departs = Mux(step && changes, UIntToOH(eg, p.egs), 0.U)
  private val arrives = Mux(
    io.write.fire,
    UIntToOH(io.write.bits.eg, p.egs),
    0.U
  )
  landing    := Mux(io.clear, 0.U, (landing & ~arrives) | departs)
  io.claimed := false.B
  io.landing := landing
  io.lasting := landing & ~arrives
  for ((unit, strip) <- append.zip(io.strip)) {
    val claims = unit.io.soon && io.claimable
    io.claimed      := RegNext(claims && !io.clear, false.B)
    strip.kept.ends := writesNow && io.write.fire
    strip.kept.soon := claims
    strip.fresh     := Mux(writesNow, arrives, 0.U) | Mux(claims, UIntToOH(unit.io.next.eg, p.egs), 0.U)
  }

  io.activity.beat   := step && reads
  io.activity.hazard := valid && Mux(issued, masking && !unmasks, hazard)
  io.activity.strip  := !valid && io.op.valid && !placed
  io.activity.memory := valid && !issued && (io.load.valid || ticket.valid && !noAnswer && !answers.io.deq.valid)

  io.busy := valid || ticket.valid || outValid || append.fold(false.B)(_.io.busy)
}
