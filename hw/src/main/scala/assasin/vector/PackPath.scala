// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Decoupled, Fill, FillInterleaved, MuxLookup, PopCount, Queue, UIntToOH, Valid, log2Ceil}

/** Bytes for an output stream in memory or in a stream buffer. */
class PackWrite(p: VectorParams) extends Bundle {
  val buffer  = Bool()
  val stream  = UInt(3.W)
  val bytepos = UInt(p.xLen.W)
  val count   = UInt((log2Ceil(p.dBytes) + 1).W)
  val data    = UInt(p.memoryBits.W)
}

class PackPathIO(p: VectorParams) extends LookingPathIO(p) {

  /** Vector registers, when it is this path's turn. */
  val read    = new RegisterReadIO(p)
  val reading = Output(Bool())
  val granted = Input(Bool())

  /** Streams in memory; streams in stream buffers. */
  val store     = Decoupled(new VectorStoreRequest(p))
  val storeDone = Input(Bool())
  val write     = Output(Valid(new StreamWriteRequest(p)))

  /** The output stream's position in [[StreamTable]]. */
  val stream = Output(UInt(3.W))
  val at     = Input(new OutputPosition(p))
  val move   = Output(Valid(new OutputPosition(p)))
  val settle = Output(Valid(new StreamSettle(p)))

  /** An instruction has written all of its bits to this stream but those of a part of a byte. */
  val done = Output(Valid(UInt(4.W)))

  /** Bytes for memory are under way. */
  val storing = Output(Bool())

  val result = Decoupled(new VectorResult(p))

  val strip = if (p.full) Some(new StripPackIO(p)) else None

  /** Huffman codes. */
  val look = new HuffmanLookIO

  /** The source register of the instruction in S. */
  val register = Output(UInt(5.W))
}

/** What VarVE-full needs besides. */
class StripPackIO(p: VectorParams) extends Bundle {
  private val countBits = log2Ceil(p.elements + 1)

  /** Metadata of [[PackPathIO.register]]; by [[StripPlace.strip]] NumE, once all instructions before have told their
    * numbers.
    */
  val metadata = Input(new VariableMetadata(p))
  val numEs    = Input(Vec(StripPlace.strips, UInt(countBits.W)))
  val known    = Input(Vec(StripPlace.strips, Bool()))

  val closed = Valid(new StripClose(p))

  /** Of [[PackPathIO.register]], or of the register that the commit stage packs. */
  val values = new ElementLookIO(p)
}

/** Packs the active elements of registers behind one another into output streams, an element group a cycle
  * (docs/varve/unit.md 5.2): S reads the mask, then element groups; P1 and P2 join the elements' bits, P3 puts them
  * behind what the stream has, and whole bytes are written in the cycle behind it.
  */
class PackPath(p: VectorParams) extends Module {
  val io = IO(new PackPathIO(p))

  private val inFlight = 15
  private val logD     = log2Ceil(p.dBytes)
  private val first    = (logD + 1) / 2

  /** What goes along with the bits. */
  private class Beat extends Bundle {
    val use  = new StreamUse(p)
    val tag  = UInt(p.tagBits.W)
    val last = Bool()

    /** Values have their own widths; these are the widths. */
    val own    = Bool()
    val widths = Bool()

    /** Of a flush: where the byte goes. */
    val bytepos = UInt(p.xLen.W)

    /** Elements that the instruction packs; bits that it could have packed more, or at all if it is `own`; elements
      * that it could have packed more.
      */
    val count      = UInt(p.vlBits.W)
    val surplus    = UInt((p.vlBits + 6).W)
    val auxSurplus = UInt(p.vlBits.W)

    /** An element that has no code. */
    val missing = Bool()
  }

  // Everything behind S moves at once, unless a byte for memory cannot.
  private val move = Wire(Bool())

  // ---- S --------------------------------------------------------------------------------------------------------------------
  private val valid    = RegInit(false.B)
  private val op       = Reg(new VectorOp(p))
  private val use      = op.use.get
  private val beat     = Reg(UInt(p.beatBits.W))
  private val masking  = RegInit(false.B)
  private val maskBeat = Reg(UInt(log2Ceil(p.egsPerRegister + 1).W))
  private val mask     = Reg(Vec(p.egsPerRegister, UInt(p.dLen.W)))
  private val told     = Reg(Bool())

  // Of VarVE-full's all elements are taken at once, and leave in lanes that hold the stream's values.
  private val variable = op.variable.fold(false.B)(_.active)
  private val place    = op.variable.fold(0.U.asTypeOf(new StripPlace))(_.place)
  private val taking   = RegInit(false.B)
  private val most     = Reg(UInt(p.vlBits.W))
  private val eew      = Mux(variable, use.laneLog, op.eew)
  private val bound    = Mux(variable, most, op.evl)

  private val below   = LaneWidths.ones(bound, p.vLen)
  private val chosen  = Mux(op.readsVs1, mask.asUInt, ((BigInt(1) << p.vLen) - 1).U) & below
  private val count   = Mux(op.readsVs1, PopCount(chosen), bound)
  private val results = Module(new Queue(new VectorResult(p), 2))
  results.reset := reset.asBool || io.clear
  io.result <> results.io.deq

  private val maskEg  = (op.vs1 * p.egsPerRegister.U + maskBeat)(p.egBits - 1, 0)
  private val dataEg  = (op.vd * p.egsPerRegister.U + Mux(variable, 0.U, beat))(p.egBits - 1, 0)
  private val eg      = Mux(masking, maskEg, dataEg)
  private val empty   = bound === 0.U
  private val last    = empty || beat === ((bound << eew)(p.laneBytesBits - 1, 0) - 1.U) >> logD
  private val owes    = op.vs2 =/= 0.U
  private val telling = valid && !masking && !taking && owes && !told
  results.io.enq.valid           := telling && !io.clear
  results.io.enq.bits.rd         := op.vs2
  results.io.enq.bits.data       := count
  when(results.io.enq.fire)(told := true.B)

  // Elements of a Huffman stream leave one a cycle, from a copy of their element group.
  private val serial = use.huffman && !empty
  // Values have widths of their own.
  private val own      = use.variable
  private val split    = RegInit(false.B)
  private val group    = Reg(UInt(p.dLen.W))
  private val element  = Reg(UInt(p.vlBits.W))
  private val inLookup = RegInit(false.B)
  private val reads    = valid && (masking || taking || (!empty && !variable && !(serial && split)))
  io.read.eg  := eg
  io.register := op.vd
  // Whoever waits for another instruction leaves the port to it.
  io.older.eg := eg
  private val ready    = !io.older.writes && (!taking || masking || io.strip.fold(true.B)(_.known(place.strip)))
  private val readable = !reads || (io.granted && ready)
  io.reading := reads && ready
  private val masks = valid && masking && readable
  private val takes = valid && !masking && taking && readable
  // R keeps values that have their own widths for one move more, as these follow.
  private val again = Wire(Bool())
  private val tells = !owes || told || results.io.enq.ready
  private val issues = valid && !masking && !taking && readable && move && !again && !io.clear && tells && !serial &&
    !inLookup
  private val codeMoves   = inLookup && move && !again
  private val splits      = valid && serial && !masking && !taking && !split && readable
  private val looks       = valid && serial && split && (!inLookup || codeMoves) && tells && !io.clear
  private val nextElement = element + 1.U
  private val lastElement = nextElement === bound
  private val lastInGroup = (nextElement << eew)(logD - 1, 0) === 0.U
  private val ends        = issues && last || looks && lastElement
  io.op.ready := !valid || ends
  private val dataReads = Reg(UInt(p.egs.W))
  private val maskReads = Reg(UInt(p.egs.W))
  private def groupsOf(registers: UInt) =
    VecInit(Seq.tabulate(p.egs)(eg => registers(eg / p.egsPerRegister))).asUInt
  when(io.op.fire) {
    op        := io.op.bits
    beat      := 0.U
    masking   := io.op.bits.readsVs1
    taking    := io.op.bits.variable.fold(false.B)(_.active)
    maskBeat  := 0.U
    told      := false.B
    split     := false.B
    element   := 0.U
    dataReads := Mux(io.op.bits.use.get.flush, 0.U, groupsOf(io.op.bits.storedRegisters))
    maskReads := Mux(io.op.bits.readsVs1, groupsOf(UIntToOH(io.op.bits.vs1, 32)), 0.U)
  }.elsewhen(masks) {
    for (i <- 0 until p.egsPerRegister) when(maskBeat === i.U)(mask(i) := io.read.data)
    maskBeat := maskBeat + 1.U
    when(maskBeat === (p.egsPerRegister - 1).U) {
      masking   := false.B
      maskReads := 0.U
    }
  }.elsewhen(takes) {
    taking    := false.B
    dataReads := 0.U
  }.elsewhen(issues || splits) {
    beat               := beat + 1.U
    dataReads          := dataReads & ~UIntToOH(dataEg, p.egs)
    when(splits)(split := true.B)
  }.elsewhen(looks) {
    element                 := nextElement
    when(lastInGroup)(split := false.B)
  }
  valid              := !io.clear && (io.op.fire || (valid && !ends))
  io.activity.beat   := issues && !empty || splits || looks
  io.activity.hazard := reads && io.older.writes
  io.activity.strip  := reads && !ready
  io.activity.memory := valid && !move
  io.use.valid       := valid
  io.use.bits.tag    := op.tag
  io.use.bits.reads  := dataReads | maskReads
  io.use.bits.writes := 0.U

  private val spread = if (p.full) Some(Module(new ElementLanes(p))) else None
  for ((lanes, strip) <- spread.zip(io.strip)) {
    lanes.io.take             := takes || strip.values.take
    lanes.io.operand.data     := io.read.data
    lanes.io.operand.metadata := strip.metadata
    // Lanes of 64 bits for the commit stage.
    val perBeat = p.dBytes / 8
    val index   = strip.values.index
    lanes.io.beat := Mux(valid, beat.pad(log2Ceil(p.elements)), index / perBeat.U)(log2Ceil(p.elements) - 1, 0)
    lanes.io.eew  := Mux(valid, eew, 3.U)
    val wide = Seq.tabulate(perBeat)(i => lanes.io.lanes(64 * i + 63, 64 * i))
    strip.values.value := (if (perBeat == 1) wide.head else MuxTree(index(log2Ceil(perBeat) - 1, 0), wide))
    val numE  = strip.numEs(place.strip)
    val least = Mux(strip.metadata.count < numE, strip.metadata.count, numE)
    strip.closed.valid      := takes && !io.clear
    strip.closed.bits.count := least
    strip.closed.bits.place := place
    when(takes)(most        := least)
  }
  private val data = spread.fold(io.read.data)(lanes => Mux(variable, lanes.io.lanes, io.read.data))
  when(splits)(group := data)
    .elsewhen(looks)(group := group >> (8.U << eew))
  private val chosenLanes = (0 to (if (p.full) 3 else log2Ceil(p.eLen / 8))).map { log =>
    val bits = (chosen >> (beat * (p.dBytes >> log).U))((p.dBytes >> log) - 1, 0)
    log.U -> FillInterleaved(1 << log, bits)
  }

  // ---- Codes: of one element of a Huffman stream ---------------------------------------------------------------------------
  private val c       = Reg(new Beat)
  private val cSymbol = Reg(UInt(HuffmanCode.widestValue.W))
  private val cActive = Reg(Bool())
  private val symbol = {
    val low   = group(HuffmanCode.widestValue - 1, 0)
    val byte  = Cat(Fill(8, group(7) && !use.unsigned), group(7, 0))
    val width = ((1.U << use.valueBits(4, 0)) - 1.U)(HuffmanCode.widestValue - 1, 0)
    Mux(eew === 0.U, byte, low) & width
  }
  private val cLength = io.look.length
  io.look.set    := Mux(looks, use.table, c.use.table)
  io.look.symbol := Mux(looks, symbol, cSymbol)
  inLookup       := !io.clear && (looks || (inLookup && !codeMoves))
  when(looks) {
    cSymbol      := symbol
    cActive      := chosen(element(log2Ceil(p.vLen) - 1, 0))
    c.use        := use
    c.tag        := op.tag
    c.last       := lastElement
    c.own        := false.B
    c.widths     := false.B
    c.bytepos    := op.scalar
    c.count      := count
    c.surplus    := Mux(use.exact, 0.U, (op.evl * HuffmanCode.longest.U).pad(p.vlBits + 6))
    c.auxSurplus := 0.U
    c.missing    := false.B
  }

  // ---- R: bits of each byte ---------------------------------------------------------------------------------------------------
  private val rValid  = RegInit(false.B)
  private val r       = Reg(new Beat)
  private val rData   = Reg(UInt(p.dLen.W))
  private val rActive = Reg(UInt(p.dBytes.W))
  private val rEew    = Reg(UInt(2.W))
  private val advance = move || io.clear
  when(advance) {
    rValid               := (issues || again || inLookup) && !io.clear
    when(again)(r.widths := true.B)
    when(issues) {
      r.own     := own
      r.widths  := false.B
      r.use     := use
      r.tag     := op.tag
      r.last    := last
      r.bytepos := op.scalar
      r.count   := count
      r.surplus := Mux(
        use.exact,
        0.U,
        Mux(
          use.huffman,
          (op.evl * HuffmanCode.longest.U).pad(p.vlBits + 6),
          (Mux(own, op.evl, op.evl - count) * use.valueBits)(p.vlBits + 5, 0)
        )
      )
      r.missing    := false.B
      r.auxSurplus := Mux(use.exact || !own, 0.U, op.evl - count)
      rData        := data
      rActive      := Mux(empty, 0.U, MuxLookup(eew, chosenLanes.head._2)(chosenLanes.tail))
      rEew         := eew
    }
  }
  when(advance && inLookup && !again) {
    r               := c
    r.use.valueBits := cLength
    r.missing       := cActive && cLength === 0.U
    rData           := io.look.code
    rActive         := Fill(2, cActive)
    rEew            := 1.U
  }
  // Of the beat in R.
  private val rOwn    = r.own
  private val rWidths = r.widths
  again := rValid && rOwn && !rWidths

  // A value that has its own width is at first cut to the most bits that it may have.
  private val rLogs                             = 0 to (if (p.full) 3 else log2Ceil(p.eLen / 8))
  private def byEew[T <: Data](of: Int => T): T = MuxLookup(rEew, of(0))(rLogs.tail.map(log => log.U -> of(log)))
  private def byMost[T <: Data](of: Int => T): T =
    MuxLookup(r.use.mb, of(rLogs.last))(rLogs.init.map(log => log.U -> of(log)))
  private def rByte(b: Int) = rData(8 * b + 7, 8 * b)
  private val cut = Cat(
    Seq
      .tabulate(p.dBytes) { b =>
        byEew { log =>
          val part = b & ((1 << log) - 1)
          byMost { most =>
            if (part < (1 << most)) rByte(b) else Fill(8, rByte(b - part + (1 << most) - 1)(7) && !r.use.unsigned)
          }
        }
      }
      .reverse
  )
  private val ownWidths = LaneWidths.ofBytes(cut, rEew, rLogs, r.use.unsigned)
  // Bits of a value that its byte of this number takes.
  private def bitsOf(width: UInt, part: Int): UInt = {
    val rest = width -& (8 * part).U
    Mux(rest(7), 0.U, Mux(rest(6, 0) > 8.U, 8.U, rest(3, 0)))
  }
  private val bitsOfPart = Seq.tabulate(8)(bitsOf(r.use.valueBits, _))
  private val rStrings = Seq.tabulate(p.dBytes) { b =>
    val string                        = Wire(new PackString(0))
    def byPart(of: Int => UInt): UInt = MuxTree(rEew, Seq.tabulate(4)(log => of(b & ((1 << log) - 1))))
    val bits                          = Mux(rOwn, byPart(bitsOf(ownWidths(b), _)), byPart(bitsOfPart(_)))
    val width                         = byPart(part => if (part == 0) 8.U(4.W) else 0.U(4.W))
    val length                        = Mux(rActive(b), Mux(rWidths, width, bits), 0.U)
    string.length := length
    string.data   := Mux(rWidths, ownWidths(b), rByte(b)) & ((1.U << length) - 1.U)(7, 0)
    string
  }
  private val qValid = RegInit(false.B)
  private val q      = Reg(new Beat)
  private val leaves = rStrings.map { string =>
    val held = Reg(new PackString(0))
    when(advance && rValid)(held := string)
    held
  }
  when(advance) {
    qValid := rValid && !io.clear
    when(rValid) {
      q      := r
      q.last := r.last && !again
    }
  }

  // ---- P1, P2 -----------------------------------------------------------------------------------------------------------------
  private def stage[T <: Data](strings: Seq[PackString], level: Int, valid: Bool) =
    strings.map { string =>
      val held = Reg(new PackString(level))
      when(advance && valid)(held := string)
      held
    }
  private val p1Valid = RegInit(false.B)
  private val p1      = Reg(new Beat)
  private val p1Bits  = stage(PackTree.levels(leaves, 0, first), first, qValid)
  private val p2Valid = RegInit(false.B)
  private val p2      = Reg(new Beat)
  private val p2Bits  = stage(PackTree.levels(p1Bits, first, logD), logD, p1Valid).head
  when(advance) {
    p1Valid          := qValid && !io.clear
    when(qValid)(p1  := q)
    p2Valid          := p1Valid && !io.clear
    when(p1Valid)(p2 := p1)
  }

  // ---- P3 ---------------------------------------------------------------------------------------------------------------------
  io.stream := p2.use.stream(2, 0)
  private val lands  = p2Valid && move && !io.clear
  private val flush  = p2.use.flush
  private val widths = p2.widths
  private val joined =
    Mux(widths, p2Bits.data, BarrelShift.left(p2Bits.data, io.at.bitpos, p.memoryBits) | io.at.partial)
  private val length = p2Bits.length +& Mux(widths, 0.U, io.at.bitpos)
  private val bytes  = (length >> 3)(logD, 0)
  io.move.valid        := lands && !flush
  io.move.bits.bytepos := io.at.bytepos + bytes
  io.move.bits.bitpos  := length(2, 0)
  io.move.bits.partial := (joined >> Mux(bytes === 0.U, 0.U, bytes ## 0.U(3.W)))(7, 0)
  io.move.bits.auxpos  := io.at.auxpos
  when(widths) {
    io.move.bits        := io.at
    io.move.bits.auxpos := io.at.auxpos + bytes
  }
  // Bits of values with their own widths that the instruction has appended.
  private val appended = RegInit(0.U((p.vlBits + 6).W))
  when(lands)(appended    := Mux(p2.last, 0.U, appended + Mux(widths, 0.U, p2Bits.length)))
  when(io.clear)(appended := 0.U)

  // Of elements that have Huffman codes: those that had one, and whether some had none, before the last one.
  private val huffman = p2.use.huffman
  private val coded   = RegInit(0.U(p.vlBits.W))
  private val missing = RegInit(false.B)
  private val codeEnd = coded + (p2Bits.length =/= 0.U)
  when(lands) {
    coded   := Mux(p2.last, 0.U, codeEnd)
    missing := !p2.last && (missing || p2.missing)
  }
  when(io.clear) {
    coded   := 0.U
    missing := false.B
  }

  io.settle.valid        := lands && p2.last && !flush
  io.settle.bits.missing := huffman && (missing || p2.missing)
  io.settle.bits.stream  := p2.use.stream
  io.settle.bits.count   := Mux(huffman, codeEnd, p2.count)
  io.settle.bits.surplus := p2.surplus - Mux(
    p2.use.exact,
    0.U,
    Mux(huffman, appended + p2Bits.length, Mux(p2.own, appended, 0.U))
  )
  io.settle.bits.auxSurplus := p2.auxSurplus
  // The cycle in which the last byte goes to a stream buffer.
  io.done.valid := RegNext(lands && p2.last, false.B)
  io.done.bits  := RegNext(p2.use.stream)

  private val outValid = RegInit(false.B)
  private val out      = Reg(new PackWrite(p))
  private val outBytes = Mux(flush, 1.U, bytes)
  when(lands) {
    out.buffer  := p2.use.buffer
    out.stream  := Mux(widths, p2.use.aux, p2.use.stream(2, 0))
    out.bytepos := Mux(flush, p2.bytepos, Mux(widths, io.at.auxpos, io.at.bytepos))
    out.count   := outBytes
    out.data    := Mux(flush, p2.use.partial, joined)
  }
  // Bytes for memory are counted from here to their end, so that nothing overtakes them.
  private val sent      = RegInit(0.U(log2Ceil(inFlight + 1).W))
  private val room      = sent < (inFlight - 1).U
  private val mask2     = ((1.U << out.count) - 1.U)(p.memoryBytes - 1, 0)
  private val leavesNow = !outValid || out.buffer || (io.store.ready && room)
  move     := leavesNow
  outValid := !io.clear && ((lands && outBytes =/= 0.U) || (outValid && !leavesNow))

  io.store.valid       := outValid && !out.buffer && room && !io.clear
  io.store.bits.addr   := out.bytepos
  io.store.bits.data   := out.data
  io.store.bits.mask   := mask2
  io.write.valid       := outValid && out.buffer && !io.clear
  io.write.bits.stream := out.stream
  io.write.bits.pos    := out.bytepos(31, 0)
  io.write.bits.head   := (out.bytepos + out.count)(31, 0)
  io.write.bits.data   := out.data
  io.write.bits.mask   := mask2
  sent                 := sent + io.store.fire - io.storeDone

  io.end.valid := lands && p2.last
  io.end.bits  := p2.tag
  io.storing   := sent =/= 0.U || (outValid && !out.buffer)
  io.busy := valid || rValid || qValid || p1Valid || p2Valid || inLookup || outValid || sent =/= 0.U || results.io.deq.valid
}
