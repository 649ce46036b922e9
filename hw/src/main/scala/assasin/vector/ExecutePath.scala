// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Decoupled, Fill, FillInterleaved, MuxLookup, Queue, RegEnable, UIntToOH, Valid, log2Ceil}

class ExecutePathIO(p: VectorParams) extends MaskingPathIO(p) {

  /** vs1, vs2, vd. */
  val operands = Vec(3, new RegisterReadIO(p))

  /** Not to be held up. */
  val write    = Output(Valid(new RegisterWrite(p)))
  val writeTag = Output(UInt(p.tagBits.W))

  /** It writes in the next cycle, perhaps. */
  val writesNext = Output(Bool())

  /** Element groups that are written in a later cycle than the next, and from this cycle on. */
  val late    = Output(UInt(p.egs.W))
  val landing = Output(UInt(p.egs.W))

  val result = Decoupled(new VectorResult(p))

  /** An element that is written has been saturated. */
  val vxsat = Output(Bool())

  val strip = if (p.full) Some(new StripExecuteIO(p)) else None
}

/** What VarVE-full needs besides. */
class StripExecuteIO(p: VectorParams) extends Bundle {

  /** Metadata of vs2, vs1. */
  val reads = Vec(2, new MetadataReadIO(p))

  /** With `write`: the register's metadata; or it is of fixed width, and a mask of this length. */
  val metadata = Valid(new MetadataWrite(p))
  val length   = Valid(new MaskLengthWrite(p))

  /** Masks that will be written; [[ExecutePathIO.landing]] without their element groups. */
  val forwards    = Output(Vec(2, Valid(new MaskForward(p))))
  val unforwarded = Output(UInt(p.egs.W))

  /** A register's number of elements is known. */
  val counted = Valid(UInt(log2Ceil(p.elements + 1).W))

  /** By [[StripPlace.strip]]: NumE; the instruction in the sequencer, if it is a sum, may go by it. */
  val numEs = Input(Vec(StripPlace.strips, UInt(log2Ceil(p.elements + 1).W)))
  val known = Input(Vec(StripPlace.strips, Bool()))

  /** There is a sum in the sequencer. */
  val sums = Output(Bool())

  /** Of a sum. */
  val closed = Valid(new StripClose(p))
}

/** Sequencer and pipeline of arithmetic: S (one element group, hazards), R (registers), X (compute), W (write). A write
  * is seen by a read in the same cycle, so a dependent element group follows two cycles later. Long functions take the
  * stages X, X2 and X3. Beats come to W in the order in which they were issued.
  */
class ExecutePath(p: VectorParams) extends Module {
  val io = IO(new ExecutePathIO(p))

  private class Beat extends Bundle {
    val op   = new VectorOp(p)
    val beat = UInt(p.beatBits.W)
    val eg   = UInt(p.egBits.W)
    val last = Bool()

    /** It writes; of a mask result that several beats compute only the beats behind those, of a reduction the last. */
    val writes = Bool()
    val finish = Bool()

    /** Computes the last bits of a mask result, and writes all of it. */
    val whole = Bool()
  }
  // Sums come to their results later.
  private val results = if (p.full) 6 else 2

  private def least(a: UInt, b: UInt): UInt    = Mux(a < b, a, b)
  private def egOf(register: UInt, beat: UInt) = (register * p.egsPerRegister.U + beat)(p.egBits - 1, 0)

  /** The highest bit of each element. */
  private def signs(eew: UInt) = MuxLookup(eew, 0.U(p.dLen.W))((0 to log2Ceil(p.eLen / 8)).map { log =>
    log.U -> Fill(p.dLen >> (3 + log), (BigInt(1) << ((8 << log) - 1)).U((8 << log).W))
  })
  private def expand(registers: UInt) = VecInit(Seq.tabulate(p.egs)(eg => registers(eg / p.egsPerRegister))).asUInt

  // An element group of a mask register has the bits of several of elements.
  private def isIota(of: VectorOp)            = of.function === IntegerFunction.Iota.U
  private def vs1Of(of: VectorOp, beat: UInt) = egOf(of.vs1, Mux(of.reduces, 0.U, beat >> of.extendB))
  private def vs2Of(of: VectorOp, beat: UInt) =
    egOf(of.vs2, Mux(isIota(of), beat >> (3.U +& of.eew), beat >> of.extend))

  private val permute = Module(new PermuteUnit(p))

  // S.
  private val valid    = RegInit(false.B)
  private val op       = Reg(new VectorOp(p))
  private val beat     = Reg(UInt(p.beatBits.W))
  private val reads    = Reg(UInt(p.egs.W))
  private val writes   = Reg(UInt(p.egs.W))
  private val vs1      = vs1Of(op, beat)
  private val vs2      = vs2Of(op, beat)
  private val v0Groups = ((BigInt(1) << p.egsPerRegister) - 1).U(p.egs.W)

  // A mask result is collected, a bit an element. The last beat that computes writes it if that is one element group, else
  // as many beats as there are element groups do so behind it.
  // A reduction first makes one element group of all, then halves it until one element is left, which then meets vs1's.
  private val finish  = Reg(Bool())
  private val folds   = log2Ceil(p.dBytes).U - op.eew
  private val lastBit = Mux(op.evl === 0.U, 0.U, (op.evl - 1.U) >> log2Ceil(p.dLen))
  // Of VarVE-full's there is one beat.
  private def flies(of: VectorOp) = of.isVariable && !of.toScalar
  private def isFromLanes(of: VectorOp) = flies(of) && of.variable.fold(false.B) { use =>
    use.function === VariableFunction.FromSigned.U || use.function === VariableFunction.FromUnsigned.U
  }
  private def owes(of: VectorOp) = of.toScalar && !(of.isSum && of.vd === 0.U)
  private val computed = op.isVariable ||
    beat === Mux(op.bitwise, lastBit, ((op.evl << op.eew)(p.vlBits, 0) - 1.U) >> log2Ceil(p.dBytes))
  private val finishes  = op.maskResult || op.reduces
  private val whole     = op.maskResult && !finish && computed && lastBit === 0.U
  private val vd        = egOf(op.vd, Mux(op.reduces || whole, 0.U, beat >> op.narrow))
  private val isLast    = Mux(finishes, (finish && beat === Mux(op.reduces, folds, lastBit)) || whole, computed)
  private val writesNow = op.writes && (!finishes || (finish && op.maskResult) || isLast)

  // Registers for stages R and X.
  private val rValid  = RegInit(false.B)
  private val r       = Reg(new Beat)
  private val rMark   = Reg(UInt(p.egs.W)) // bit `eg`
  private val xValid  = RegInit(false.B)
  private val x2Valid = RegInit(false.B)
  private val x3Valid = RegInit(false.B)
  private val wValid  = RegInit(false.B)

  // Behind a long function a short one waits, so that it does not overtake it.
  private def isLong(of: VectorOp) = IntegerFunction.isLong(of.function)
  private val gap                  = RegInit(0.U(2.W))

  // While a beat is divided, which it is in X, no other is issued.
  private def isDivide(of: VectorOp) = IntegerFunction.isDivide(of.function)
  private val dividing               = RegInit(false.B)

  private val blocked = io.olderWrites | io.late
  private val hazard = (op.readsVs1 && (!finish || op.reduces) && blocked(vs1)) ||
    (op.readsVs2 && !finish && blocked(vs2)) || (op.readsVd && blocked(vd)) ||
    (op.readsMask && (blocked & v0Groups) =/= 0.U) ||
    (writesNow && (io.olderWrites(vd) || io.olderReads(vd) || (op.maskResult && blocked(vd))))
  private val owed = RegInit(0.U(log2Ceil(results + 1).W))
  // Operations on elements of any width take longer: others wait, so that they do not overtake them. A result of a
  // register of fixed width is in R for a cycle more; a scalar that is no sum waits for the sums before it.
  private val flying  = WireDefault(false.B)
  private val room    = WireDefault(true.B)
  private val summing = WireDefault(false.B)
  private val known   = io.strip.fold(true.B)(_.known(op.variable.get.place.strip))
  private val inTurn = !dividing && (flies(op) && room || !flies(op) && (isLong(op) || gap === 0.U) && !flying) &&
    (!op.isSum || known) && !(op.toScalar && !op.isSum && summing)
  private val permutes = IntegerFunction.isPermute(op.function)
  private val issue    = valid && !permutes && !hazard && inTurn && !(owes(op) && owed === results.U)
  private val ends     = (issue && isLast) || permute.io.done
  gap := Mux(io.clear, 0.U, Mux(issue && isLong(op), 2.U, gap - gap.orR))

  io.op.ready := !valid || ends
  when(io.op.fire) {
    op     := io.op.bits
    beat   := 0.U
    finish := false.B
    reads  := expand(io.registers.reads)
    writes := expand(io.registers.writes)
  }.elsewhen(issue) {
    beat   := Mux(finishes && computed && !finish, 0.U, beat + 1.U)
    finish := finishes && (finish || computed)
    // Two beats write an element group of narrow results.
    when(writesNow && (!op.narrow || beat(0)))(writes := writes & ~UIntToOH(vd, p.egs))
    // v0 is read to the end, and so are all sources if several beats read an element group of one, and vs1 of a
    // reduction, which may lie in vs2.
    when(!finish) {
      val sources = Mux(op.readsVs1, UIntToOH(vs1, p.egs), 0.U) | Mux(op.readsVs2, UIntToOH(vs2, p.egs), 0.U)
      val read    = Mux(op.extendB || op.extend =/= 0.U || op.reduces || isIota(op), 0.U, sources)
      reads := (reads & ~read) | Mux(op.readsMask, v0Groups, 0.U)
    }
  }
  valid := !io.clear && (io.op.fire || (valid && !ends))

  // PermuteUnit has the registers to itself: it begins when nothing else of this path is under way, and keeps all
  // element groups that it touches to its end.
  private val permuting = RegInit(false.B)
  private val airborne  = WireDefault(false.B)
  private val drained   = !rValid && !xValid && !x2Valid && !x3Valid && !dividing && !airborne
  private val allClear  = (reads & blocked) === 0.U && (writes & (io.olderReads | io.olderWrites)) === 0.U
  permute.io.start := valid && permutes && !permuting && drained && allClear && !io.clear
  permute.io.op    := op
  permute.io.v0    := io.v0
  permute.io.clear := io.clear
  permuting        := !io.clear && (permute.io.start || (permuting && !permute.io.done))
  for ((read, port) <- permute.io.reads.zip(io.operands)) read.data := port.data

  io.activity.beat   := issue || permuting
  io.activity.hazard := valid && Mux(permutes, !allClear, hazard)
  io.activity.strip  := valid && op.isSum && !known
  io.activity.memory := false.B

  io.use.valid       := valid
  io.use.bits.tag    := op.tag
  io.use.bits.reads  := reads
  io.use.bits.writes := writes
  io.operands(0).eg  := Mux(permuting, permute.io.reads(0).eg, vs1Of(r.op, r.beat))
  io.operands(1).eg  := Mux(permuting, permute.io.reads(1).eg, vs2Of(r.op, r.beat))
  io.operands(2).eg  := r.eg

  // R: operands and masks.
  rValid := issue && !io.clear
  when(issue) {
    r.op     := op
    r.beat   := beat
    r.eg     := vd
    rMark    := UIntToOH(vd, p.egs)
    r.last   := isLast
    r.writes := writesNow
    r.finish := finish
    r.whole  := whole
  }
  private val operands = Module(new OperandUnit(p))
  operands.io.op   := r.op
  operands.io.part := r.beat.pad(3)(2, 0)
  operands.io.vs1  := io.operands(0).data
  operands.io.vs2  := io.operands(1).data
  operands.io.vd   := io.operands(2).data

  // The bytes that are written. Of narrow results these are in one half of the element group.
  private val writtenEew = r.op.eew - r.op.narrow
  private val written    = r.beat >> r.op.narrow
  private val half = Mux(
    r.op.narrow,
    Cat(Fill(p.dBytes / 2, r.beat(0)), Fill(p.dBytes / 2, !r.beat(0))),
    Fill(p.dBytes, 1.U(1.W))
  )
  private val body   = ElementBytes.body(p, writtenEew, written, r.op.vstart, r.op.evl) & half
  private val active = ElementBytes.chosen(p, writtenEew, written, io.v0)

  // The bits of a mask register that belong to active elements.
  private val v0IfMasked = Mux(r.op.masked, io.v0, ((BigInt(1) << p.vLen) - 1).U)
  private val bits = (LaneWidths.ones(r.op.evl, p.vLen) & v0IfMasked) >>
    (Mux(r.whole, 0.U, r.beat) * p.dLen.U)

  // Of a source of viota the bits of the beat's active elements.
  private val iotaBeat = r.beat & ((8.U << r.op.eew) - 1.U)
  private val flagsOf = ElementBytes.flags(p, r.op.eew, iotaBeat, io.operands(1).data) &
    ElementBytes.flags(p, r.op.eew, r.beat, v0IfMasked)

  private val finishMask = Mux(r.op.reduces, ElementBytes.body(p, r.op.eew, 0.U, 0.U, 1.U), Fill(p.dBytes, 1.U(1.W)))
  private val xMask = RegEnable(Mux(r.finish || r.whole, finishMask, Mux(r.op.masked, body & active, body)), rValid)

  // X: compute.
  xValid := rValid && !flies(r.op) && !io.clear
  private val x       = RegEnable(r, rValid)
  private val xMark   = RegEnable(rMark, rValid)
  private val xIsLong = isLong(x.op)
  private val units   = Module(new ElementUnits(p))
  private val mask    = Module(new MaskUnit(p))
  units.io.valid    := xValid
  units.io.function := x.op.function
  units.io.vxrm     := x.op.vxrm
  units.io.eew      := x.op.eew
  units.io.narrow   := x.op.narrow
  private val xA = RegEnable(operands.io.a, rValid)
  private val xB = RegEnable(operands.io.b, rValid)
  private val xC = RegEnable(operands.io.c, rValid && (isLong(r.op) || r.op.maskResult))
  units.io.c      := xC
  units.io.choose := RegEnable(Mux(r.op.readsMask, active, 0.U), rValid)
  units.io.clear  := io.clear
  dividing        := !io.clear && ((issue && isDivide(op)) || (dividing && !units.io.done))

  // Reductions: the lanes of inactive elements keep what they have, which is first the function's neutral element.
  private val reduced = Reg(UInt(p.dLen.W))
  private val neutral = MuxLookup(x.op.function, 0.U(p.dLen.W))(
    Seq(
      IntegerFunction.And.U         -> Fill(p.dLen, 1.U(1.W)),
      IntegerFunction.MinUnsigned.U -> Fill(p.dLen, 1.U(1.W)),
      IntegerFunction.Min.U         -> ~signs(x.op.eew),
      IntegerFunction.Max.U         -> signs(x.op.eew)
    )
  )
  private val soFar = Mux(!x.finish && x.beat === 0.U, neutral, reduced)
  private val upper =
    MuxLookup(x.beat, reduced)((0 until log2Ceil(p.dBytes)).map(fold => fold.U -> (reduced >> (p.dLen >> (fold + 1)))))
  private val withVs1 = x.beat === log2Ceil(p.dBytes).U - x.op.eew
  private val xBytes  = FillInterleaved(8, xMask)
  units.io.a := Mux(x.op.reduces && x.finish, Mux(withVs1, xB, upper), xA)
  units.io.b := Mux(x.op.reduces, soFar, xB)
  when(xValid && x.op.reduces) {
    reduced := Mux(x.finish, units.io.out, (units.io.out & xBytes) | (soFar & ~xBytes))
  }

  private val collected = Reg(UInt(p.vLen.W))
  private val isMask    = IntegerFunction.isMask(x.op.function)
  private val logic     = Mux(isMask, mask.io.bits, units.io.out ^ Fill(p.dLen, x.op.invertOut))

  // A beat gives a flag for each element, so what a place in the mask may be given depends on the elements' size alone.
  private val maxLog                        = log2Ceil(p.eLen / 8)
  private val flagBits                      = p.dBytes >> maxLog
  private def bySize(of: Int => UInt): UInt = MuxLookup(x.op.eew, of(0))((1 to maxLog).map(log => log.U -> of(log)))
  private val flagsOfPlace = Seq.tabulate(1 << maxLog) { place =>
    bySize { log =>
      val at = place % (1 << (maxLog - log)) * flagBits
      units.io.flags(at + flagBits - 1, at)
    }
  }
  private val flagsFound = Cat((0 until p.vLen / flagBits).reverse.map { place =>
    val lies = bySize(log => x.beat === (place >> (maxLog - log)).U)
    Fill(flagBits, lies) & flagsOfPlace(place % (1 << maxLog))
  })
  private val logicFound =
    Cat((0 until p.egsPerRegister).reverse.map(eg => Fill(p.dLen, x.beat === eg.U) & logic))
  private val collects = Mux(x.beat === 0.U, 0.U, collected) | Mux(x.op.bitwise, logicFound, flagsFound)
  when(xValid && x.op.maskResult && !x.finish)(collected := collects)
  private val xBits  = RegEnable(bits(p.dLen - 1, 0), rValid)
  private val flags  = Mux(x.whole, collects, collected >> (x.beat * p.dLen.U))(p.dLen - 1, 0)
  private val merged = (xC & ~xBits) | (flags & xBits)
  private val out =
    Mux((x.finish || x.whole) && x.op.maskResult, merged, Mux(isMask, mask.io.vector, units.io.out))

  mask.io.valid    := xValid && isMask
  mask.io.beat     := x.beat
  mask.io.function := x.op.function
  mask.io.eew      := x.op.eew
  mask.io.zeros    := ~Mux(isIota(x.op), RegEnable(flagsOf, rValid), xA & xBits)

  // X2, X3.
  x2Valid := xValid && xIsLong && !io.clear
  x3Valid := x2Valid && !io.clear
  private val x2     = RegEnable(x, xValid && xIsLong)
  private val x2Mask = RegEnable(xMask, xValid && xIsLong)
  private val x3     = RegEnable(x2, x2Valid)
  private val x3Mask = RegEnable(x2Mask, x2Valid)

  // W: write.
  private val shortEnds = units.io.done || (xValid && !xIsLong && !isDivide(x.op))
  private val toWrite   = shortEnds || x3Valid
  private val last      = Mux(x3Valid, x3, x)
  wValid        := toWrite && !io.clear
  io.writesNext := toWrite || permuting
  private val w = RegEnable(last, toWrite)
  io.write.valid                := (wValid && w.writes) || permute.io.write.valid
  io.write.bits.eg              := w.eg
  io.write.bits.data            := RegEnable(Mux(x3Valid, units.io.longOut, out), toWrite)
  io.write.bits.mask            := RegEnable(Mux(x3Valid, x3Mask, xMask), toWrite)
  when(permuting)(io.write.bits := permute.io.write.bits)
  io.writeTag                   := Mux(permuting, op.tag, w.op.tag)
  io.end.valid                  := (wValid && w.last) || permute.io.done
  io.end.bits                   := Mux(permuting, op.tag, w.op.tag)
  io.vxsat                      := wValid && RegEnable(x3Valid && (units.io.saturated & x3Mask).orR, toWrite)

  // What each stage writes, a bit an element group: a register of its own takes no LUTs.
  private def gated(on: Bool, mark: UInt) = Mux(on, mark, 0.U(p.egs.W))
  private val rLands                      = RegNext(gated(issue && writesNow && !io.clear, UIntToOH(vd, p.egs)), 0.U)
  private val x2Lands                     = RegNext(gated(xValid && xIsLong && !io.clear && x.writes, xMark), 0.U)
  private val x3Lands                     = RegNext(gated(!io.clear, x2Lands), 0.U)
  private val xEnds                       = shortEnds && !x3Valid && x.writes
  private val endLands                    = x3Lands | gated(xEnds, xMark)
  private val wLands                      = RegNext(gated(!io.clear, endLands), 0.U)
  private val shortLate = rLands | x2Lands |
    gated((xValid && xIsLong || dividing && !units.io.done) && x.writes, xMark)
  private val shortLanding = shortLate | endLands | wLands
  io.late    := shortLate
  io.landing := shortLanding

  // Elements of any width: their units, and what goes along with an operation in them.
  private val summed = WireDefault(0.U.asTypeOf(Valid(new VectorResult(p))))
  for (strip <- io.strip) {
    val unit = Module(new VariableUnit(p))
    strip.reads(0).register := r.op.vs2 + Mux(r.op.isVariable, 0.U, r.beat.pad(5))(4, 0)
    strip.reads(1).register := r.op.vs1
    val read   = strip.reads.map(_.metadata)
    val active = Mux(r.op.masked, io.v0(p.elements - 1, 0), Fill(p.elements, 1.U(1.W)))
    unit.io.in.valid           := rValid && flies(r.op) && !isFromLanes(r.op)
    unit.io.in.bits.function   := r.op.variable.get.function
    unit.io.in.bits.a.data     := io.operands(1).data
    unit.io.in.bits.a.metadata := read(0)
    unit.io.in.bits.b.data     := io.operands(0).data
    unit.io.in.bits.b.metadata := read(1)
    unit.io.in.bits.byScalar   := r.op.variable.get.byScalar
    unit.io.in.bits.scalar     := r.op.scalar
    unit.io.in.bits.step       := r.op.variable.get.step
    // Loaded with `r`.
    unit.io.scalar := RegEnable(VariableScalar(p, op.scalar, op.variable.get.step), issue)
    val rule = RegEnable(SizeRule(op.variable.get.function), issue)
    unit.io.rule           := rule
    unit.io.in.bits.active := active
    unit.io.clear          := io.clear

    // A register of fixed width: widths of its lanes first. No other operation is in R in the cycle behind it.
    val converts = rValid && isFromLanes(r.op)
    val lanes    = Module(new LaneOperand(p))
    lanes.io.data     := io.operands(1).data
    lanes.io.eew      := r.op.eew
    lanes.io.count    := r.op.evl
    lanes.io.unsigned := r.op.variable.get.function === VariableFunction.FromUnsigned.U
    val converted = RegNext(converts && !io.clear, false.B)
    val fromLanes = RegEnable(lanes.io.out, converts)
    val ofLanes   = RegEnable(r, converts)
    when(converted) {
      unit.io.in.valid         := true.B
      unit.io.in.bits.function := ofLanes.op.variable.get.function
      unit.io.rule             := RegEnable(rule, converts)
      unit.io.in.bits.a        := fromLanes
      unit.io.in.bits.byScalar := true.B
      unit.io.in.bits.active   := Fill(p.elements, 1.U(1.W))
    }
    room := unit.io.room && !converts

    // The beats of the operations in E1 to X3, and of the one that is written.
    val valids = RegInit(VecInit(Seq.fill(VariableUnit.latency)(false.B)))
    val beats  = Reg(Vec(VariableUnit.latency, new Beat))
    val leave  = unit.io.moves ++ Seq.fill(VariableUnit.latency - 4)(true.B)
    // What they write, as above: none where there is no beat.
    val marks        = RegInit(VecInit(Seq.fill(VariableUnit.latency)(0.U(p.egs.W))))
    val landsOfLanes = RegNext(gated(converts && !io.clear, rMark), 0.U)
    for (i <- 0 until VariableUnit.latency) {
      val comes = if (i == 0) unit.io.in.valid else valids(i - 1) && leave(i - 1)
      valids(i) := (comes || (valids(i) && !leave(i))) && !io.clear
      when(comes) {
        beats(i) := (if (i == 0) Mux(converted, ofLanes, r) else beats(i - 1))
        marks(i) := (if (i == 0) Mux(converted, landsOfLanes, rMark) else marks(i - 1))
      }
      when(io.clear || (!comes && leave(i)))(marks(i) := 0.U)
    }
    io.writesNext := toWrite || permuting || valids(VariableUnit.latency - 2)
    val lands   = valids.last
    val landed  = beats.last
    val compare = landed.op.variable.get.compare
    airborne := valids.asUInt.orR || converted
    flying   := (rValid && flies(r.op)) || converted || valids.take(4).reduce(_ || _)
    when(lands) {
      io.write.valid     := true.B
      io.write.bits.eg   := landed.eg
      io.write.bits.data := Mux(compare, unit.io.mask.pad(p.dLen), unit.io.out.bits.data)
      io.write.bits.mask := Fill(p.dBytes, 1.U(1.W))
      io.writeTag        := landed.op.tag
      io.end.valid       := true.B
      io.end.bits        := landed.op.tag
    }
    val underWay = landsOfLanes +: marks
    io.late    := shortLate | underWay.dropRight(2).reduce(_ | _)
    io.landing := shortLanding | underWay.reduce(_ | _)

    // Masks: of elements of any width, in X2; of fixed width, in X.
    val early    = beats(4)
    val computes = valids(4) && early.op.variable.get.compare
    val logical  = x.op.bitwise && !IntegerFunction.isMask(x.op.function)
    val inX      = shortEnds && !x3Valid && x.op.maskResult && x.writes && !dividing
    strip.forwards(0).valid          := computes && !io.clear
    strip.forwards(0).bits.eg        := early.eg
    strip.forwards(0).bits.mask      := unit.io.early
    strip.forwards(1).valid          := inX && !io.clear
    strip.forwards(1).bits.eg        := x.eg
    strip.forwards(1).bits.mask.bits := out(p.elements - 1, 0)
    strip.forwards(1).bits.mask.length := Mux(
      logical,
      RegEnable(least(read(0).count, read(1).count), rValid),
      p.elements.U
    )
    strip.unforwarded := shortLate | x3Lands | gated(xEnds && !inX, xMark) | wLands | gated(!computes, marks(4)) |
      underWay.zipWithIndex.filter(_._2 != 5).map(_._1).reduce(_ | _)
    strip.counted.valid := unit.io.counted.valid && !io.clear
    strip.counted.bits  := unit.io.counted.bits

    // Sums: of the elements below NumE, which from then on is not above the register's number of elements.
    val sum    = Module(new VariableSum(p))
    val sums   = rValid && r.op.isSum
    val place  = r.op.variable.get.place
    val numE   = strip.numEs(place.strip)
    val length = Mux(read(0).count < numE, read(0).count, numE)
    strip.sums                      := valid && op.isSum
    strip.closed.valid              := sums && !io.clear
    strip.closed.bits.count         := length
    strip.closed.bits.place         := place
    sum.io.clear                    := io.clear
    sum.io.in.valid                 := sums
    sum.io.in.bits.operand.data     := io.operands(1).data
    sum.io.in.bits.operand.metadata := read(0)
    sum.io.in.bits.active           := active & LaneWidths.ones(length, p.elements)
    val adding = RegInit(VecInit(Seq.fill(VariableSum.latency)(false.B)))
    val addsTo = Reg(Vec(VariableSum.latency, UInt(5.W)))
    val high   = Reg(Vec(VariableSum.latency, Bool()))
    for (i <- 0 until VariableSum.latency) {
      adding(i) := (if (i == 0) sums else adding(i - 1)) && !io.clear
      addsTo(i) := (if (i == 0) r.op.vd else addsTo(i - 1))
      high(i)   := (if (i == 0) r.op.variable.get.function === VariableFunction.SumHigh.U else high(i - 1))
    }
    summing          := sums || adding.asUInt.orR
    summed.valid     := adding.last && addsTo.last =/= 0.U
    summed.bits.rd   := addsTo.last
    summed.bits.data := Mux(high.last, sum.io.out.bits >> (64 - p.xLen), sum.io.out.bits)(p.xLen - 1, 0)

    // Registers that other instructions write: vmv<n>r.v takes metadata along, mask logic the smaller length of its masks.
    val moves                         = w.op.function === IntegerFunction.MoveA.U
    val isLogic                       = w.op.bitwise && w.op.maskResult && !IntegerFunction.isMask(w.op.function)
    def later[T <: Data](value: T): T = RegEnable(RegEnable(value, rValid), toWrite)
    val shorter                       = later(least(read(0).count, read(1).count))
    val fixed                         = (wValid && w.writes) || permute.io.write.valid
    val flown                         = lands && !compare
    strip.metadata.valid         := flown || (wValid && w.writes && moves)
    strip.metadata.bits.register := Mux(flown, landed.eg, w.eg)
    strip.metadata.bits.metadata := Mux(flown, unit.io.out.bits.metadata, later(read(0)))
    strip.length.valid           := (lands && compare) || (fixed && !(wValid && moves))
    strip.length.bits.register   := Mux(lands, landed.eg, io.write.bits.eg)
    strip.length.bits.count := Mux(
      lands,
      unit.io.out.bits.metadata.count,
      Mux(wValid && isLogic, shorter, p.elements.U)
    )
  }

  // Results wait here as long as the core likes; no more are begun than there is room for.
  private val queue = Module(new Queue(new VectorResult(p), results, flow = true))
  queue.reset          := reset.asBool || io.clear
  queue.io.enq.valid   := (xValid && x.op.toScalar && x.last && !x.op.isSum) || summed.valid
  queue.io.enq.bits.rd := x.op.vd
  private val element = MuxLookup(x.op.eew, 0.U)((0 to log2Ceil(p.eLen / 8)).map { log =>
    log.U -> units.io.out((8 << log) - 1, 0).asSInt.pad(p.xLen).asUInt
  })
  queue.io.enq.bits.data := Mux(x.op.bitwise, mask.io.scalar, element)
  for (strip <- io.strip) when(x.op.isVariable) {
    queue.io.enq.bits.data := RegEnable(strip.reads(0).metadata.count, rValid)
  }
  when(summed.valid)(queue.io.enq.bits := summed.bits)
  io.result <> queue.io.deq
  owed := Mux(io.clear, 0.U, owed + (ends && owes(op)) - io.result.fire)

  io.busy := valid || rValid || xValid || x2Valid || x3Valid || dividing || wValid || airborne || owed =/= 0.U
}
