// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxCase, log2Ceil}

class ElementSizesIO(p: VectorParams) extends Bundle {
  val in     = Input(new VariableRequest(p))
  val scalar = Input(new VariableScalar)
  val rule   = Input(new SizeRule)

  val kind = Output(new VariableKind)

  /** How many elements the operands have in common. */
  val count = Output(UInt(log2Ceil(p.elements + 1).W))

  /** Slots of each element: in the registers, and together with its partner, 0 of one that does not take part. */
  val slotsA = Output(Vec(p.elements, UInt(p.sizeBits.W)))
  val slotsB = Output(Vec(p.elements, UInt(p.sizeBits.W)))
  val sizes  = Output(Vec(p.elements, UInt(p.sizeBits.W)))
}

/** How many slots each pair of elements takes, so that its result fits in (docs/varve/unit.md 6.2): R of
  * [[VariableUnit]]. Combinational.
  */
class ElementSizes(p: VectorParams) extends Module {
  val io = IO(new ElementSizesIO(p))

  private val elements = p.elements

  private val in          = io.in
  private val a           = in.a.metadata
  private val b           = in.b.metadata
  private val wideScalar  = VariableScalar.wide(p, in.scalar)
  private val negative    = wideScalar(63)
  private val scalarWidth = io.scalar.bits
  private val kind        = io.kind
  private val rule        = io.rule
  private val duplicates  = rule.duplicates
  private val indexes     = rule.indexes
  private val shiftsLeft  = rule.shiftsLeft
  private val shifts      = rule.shiftsLeft || rule.shiftsRight
  private val copies      = rule.copies
  private val isSub       = rule.subtracts
  kind.function  := in.function
  kind.aUnsigned := a.unsigned
  kind.bUnsigned := Mux(in.byScalar, !negative, b.unsigned)
  kind.unsigned := MuxCase(
    kind.aUnsigned && kind.bUnsigned && !isSub,
    Seq(
      duplicates         -> !negative,
      indexes            -> VariableScalar.indexUnsigned(wideScalar, in.step),
      (shifts || copies) -> a.unsigned
    )
  )
  kind.mb := MuxCase(
    b.mb,
    Seq(
      duplicates                                                         -> io.scalar.holding,
      indexes                                                            -> 2.U,
      (in.byScalar || shifts || copies || ShortNumbers.less(b.mb, a.mb)) -> a.mb
    )
  )
  kind.byScalar := in.byScalar
  kind.scalar   := wideScalar
  kind.step     := in.step

  private val yields =
    Mux(duplicates || indexes, elements.U, Mux(in.byScalar || a.count < b.count, a.count, b.count))
  private val widthsA = a.widths
  private val widthsB = Seq.tabulate(elements)(i => Mux(in.byScalar, scalarWidth, b.widths(i)))
  private val signed  = !kind.unsigned

  // Sizes are found in slots: rounding up to slots keeps the order of numbers, so the larger of two widths, and the smaller
  // of a width and of MB, which is whole slots, may be chosen behind it.
  private val logPerByte = log2Ceil(p.slotsOfByte)
  private val largest    = log2Ceil(p.maxWidth / p.align)
  private val mbs        = (0 to log2Ceil(p.maxWidth / 8)).map(mb => (mb + logPerByte, kind.mb === mb.U))

  private def slotsOf(width: UInt, more: Bool*): UInt = ShortNumbers.dividedUp(width, p.align, more: _*)
  private def aboveMb(size: UInt): Bool =
    mbs.map { case (log, is) => is && ShortNumbers.abovePower(size, log) }.reduce(_ || _)
  private val mbSlots = Cat(
    (0 to largest).reverse.map(i => mbs.collect { case (`i`, is) => is }.foldLeft(false.B)(_ || _))
  )

  /** No more slots than the largest element has; of a size that is less than twice that. */
  private def bounded(size: UInt): UInt = {
    val bits = size.pad(largest + 1)(largest, 0)
    if (largest == 0) bits else Cat(bits(largest), bits(largest - 1, 0) & Fill(largest, !bits(largest)))
  }
  private def inBytes(size: UInt): UInt = ShortNumbers.dividedUp(size, p.slotsOfByte) << logPerByte

  // What is added to the scalar changes the bits above `offsetBits` by one at most.
  private val offsetBits = IndexOffset.width(p)
  private val highSlots  = io.scalar.highs.map(high => slotsOf(high +& offsetBits.U, signed))
  private val isHigh     = io.scalar.highs.map(_ =/= 0.U)
  private val indexSizes = Seq.tabulate(elements) { i =>
    val added = IndexOffset(p, in.step, i)
    val low   = wideScalar(offsetBits - 1, 0) +& added
    val fewer = added(offsetBits - 1) && !low(offsetBits)
    val more  = !added(offsetBits - 1) && low(offsetBits)

    def of[T <: Data](values: Seq[T]): T = Mux(fewer, values(0), Mux(more, values(2), values(1)))
    val sign                             = of(io.scalar.negatives)
    val differs                          = low(offsetBits - 1, 0) ^ Fill(offsetBits, sign)
    // With a sign there is one bit more, but for the number 0.
    val bits   = Mux(signed, Cat(differs, sign), differs)
    val groups = bits.asBools.grouped(p.align).map(_.reduce(_ || _)).toSeq
    val below  = MuxCase(0.U(p.sizeBits.W), groups.indices.reverse.map(k => groups(k) -> (k + 1).U(p.sizeBits.W)))
    Mux(of(isHigh), of(highSlots), below)
  }

  // Each operand takes a size, with bits added for carries and signs; the pair takes the larger one.
  private val multiplies   = rule.multiplies
  private val divides      = rule.divides
  private val adds         = rule.adds
  private val bothUnsigned = kind.aUnsigned && kind.bUnsigned
  private val shiftCount   = wideScalar(5, 0) & Cat(kind.mb === 3.U, kind.mb(1), kind.mb =/= 0.U, 7.U(3.W))
  private val signsA       = signed && kind.aUnsigned
  private val signsB       = signed && kind.bUnsigned && !shifts && !duplicates
  private val bIsOther     = multiplies || copies || shifts && in.byScalar
  private val isFrom       = rule.subtractFrom
  private val mbOnly       = shiftsLeft && !in.byScalar && !b.unsigned
  private val sizes = Seq.tabulate(elements) { i =>
    val (wa, wb)       = (widthsA(i), widthsB(i))
    val (someA, someB) = (wa =/= 0.U, wb =/= 0.U)
    val both           = someA && someB
    val capsB          = adds && both || isSub
    val capsA          = capsB || multiplies || shiftsLeft || divides && someB
    // 2^n - 1 for a shift by up to n < 6, else 63.
    val count  = b.widths(i)
    val power  = Cat((0 until 6).map(n => count(6, 3).orR || count(2, 0) > n.U).reverse)
    val addend = Mux(multiplies, wb, Mux(in.byScalar, shiftCount, power).pad(7))
    val wide   = slotsOf(wa +& addend)
    // The number 0 takes no slots; what a carry or sign out of it needs, its partner has.
    val carriesA = (adds || divides && signed) && someB || isSub && !bothUnsigned && (isFrom || someB)
    val carriesB = adds && someA || isSub && !bothUnsigned && (!isFrom || someA)
    val few      = slotsOf(wa, signsA, carriesA)
    val noA      = duplicates || !someA || multiplies && !someB
    val sizeA    = Mux(noA, 0.U, Mux(multiplies || shiftsLeft, wide, few.pad(wide.getWidth)))
    val sizeB    = Mux(bIsOther || !someB, 0.U, slotsOf(wb, signsB, carriesB))
    // Which is the larger, and which are above MB, is found beside one another.
    val isMb           = mbOnly && someA
    val less           = ShortNumbers.less(sizeA, sizeB) && !isMb
    val (overA, overB) = (aboveMb(sizeA) || isMb, aboveMb(sizeB))
    val takesMb        = Mux(capsB, overA || overB, capsA && !less && overA && !overB)
    val takesB         = less || capsA && overA && overB
    val larger         = Mux(takesMb, mbSlots, bounded(Mux(takesB, sizeB.pad(sizeA.getWidth), sizeA)))
    val inSlots        = Mux(indexes, bounded(indexSizes(i)), larger).pad(p.sizeBits)(p.sizeBits - 1, 0)
    // Products and quotients take whole bytes.
    val size = Mux(multiplies || divides, inBytes(inSlots)(p.sizeBits - 1, 0), inSlots)
    Mux(in.active(i) && i.U < yields, size, 0.U)
  }

  io.count  := yields
  io.slotsA := VecInit(widthsA.map(LaneWidths.slots(_, p.align)))
  io.slotsB := VecInit(widthsB.map(LaneWidths.slots(_, p.align)))
  io.sizes  := VecInit(sizes)
}
