// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxCase, MuxLookup, PopCount, RegEnable, Valid, log2Ceil}

class VariableUnitIO(p: VectorParams) extends Bundle {
  val in = Flipped(Valid(new VariableRequest(p)))

  /** Of its scalar. */
  val scalar = Input(new VariableScalar)

  /** Of its function. */
  val rule = Input(new SizeRule)

  /** An operation may come in the next cycle. */
  val room = Output(Bool())

  /** The operation in E1, E2, E3, X1 leaves its stage. */
  val moves = Output(Vec(4, Bool()))

  /** Two cycles behind `in`, or later: how many elements the result has. */
  val counted = Valid(UInt(log2Ceil(p.elements + 1).W))

  /** [[VariableUnit.latency]] cycles behind `in`, or later, in the order of the operations: a register; of a compare
    * its metadata's count counts and the mask.
    */
  val out  = Valid(new VariableOperand(p))
  val mask = Output(UInt(p.elements.W))

  /** Two cycles before `out`: of a compare the mask. */
  val early = Output(new UnpackMask(p))

  /** Operations under way are forgotten. */
  val clear = Input(Bool())
}

/** Arithmetic on elements of any width (docs/varve/unit.md 6.2): E1 to E3 bring the elements of two registers to common
  * boundaries, as many pairs as fit; X1 computes; X2 finds the widths of the results, X3 brings them to the elements.
  *
  * An operation a cycle. A product stays in X1 for a cycle, and one more for each byte of the shorter operand's longest
  * element; a quotient for three cycles and one for each bit of the slots of its largest element. What is behind waits.
  */
class VariableUnit(p: VectorParams) extends Module {
  require(p.full, "vectors of any width are of VarVE-full")
  val io = IO(new VariableUnitIO(p))

  private val slots    = p.slots
  private val elements = p.elements
  private val slotBits = log2Ceil(slots)

  // Slots of `align` bits hold elements; a multiplier and a divider work on whole bytes.
  private val align      = p.align
  private val perByte    = p.slotsOfByte
  private val logPerByte = log2Ceil(perByte)
  private val most       = p.slotsOfElement
  private val bytes      = p.dBytes

  /** Slot k of a byte, or of more bits. */
  private def slotOf(value: UInt, k: Int): UInt = value(align * (k + 1) - 1, align * k)

  /** Each byte's slots together; of each byte the value of its lowest slot, of its highest one. */
  private def byBytes(of: Seq[UInt]): Seq[UInt]        = of.grouped(perByte).map(s => Cat(s.reverse)).toSeq
  private def lowestOf[T <: Data](of: Seq[T]): Seq[T]  = of.grouped(perByte).map(_.head).toSeq
  private def highestOf[T <: Data](of: Seq[T]): Seq[T] = of.grouped(perByte).map(_.last).toSeq
  private def numberOfBytes(of: Seq[UInt]): Seq[UInt]  = of.map(id => (id >> logPerByte).asUInt)

  private val long = Seq(VariableFunction.Multiply, VariableFunction.Divide)

  // ---- R: how many slots each pair takes --------------------------------------------------------------------------------------------
  private val sizes = Module(new ElementSizes(p))
  sizes.io.in     := io.in.bits
  sizes.io.scalar := io.scalar
  sizes.io.rule   := io.rule

  // ---- E1 to E3: both operands on common boundaries ---------------------------------------------------------------------------------
  private val List(v1, v2, v3, v4, v5, v6)             = List.fill(6)(RegInit(false.B))
  private val List(leaves1, leaves2, leaves3, leaves4) = List.fill(4)(Wire(Bool()))
  v1 := (io.in.valid || (v1 && !leaves1)) && !io.clear
  v2 := (leaves1 || (v2 && !leaves2)) && !io.clear
  v3 := (leaves2 || (v3 && !leaves3)) && !io.clear
  private val aligner = Module(new AlignUnit(p))
  aligner.io.loads  := VecInit(io.in.valid, leaves1, leaves2)
  aligner.io.a      := io.in.bits.a
  aligner.io.b      := io.in.bits.b
  aligner.io.kind   := sizes.io.kind
  aligner.io.count  := sizes.io.count
  aligner.io.slotsA := sizes.io.slotsA
  aligner.io.slotsB := sizes.io.slotsB
  aligner.io.sizes  := sizes.io.sizes
  private val Seq(k1, k2, k3) = aligner.io.kinds.toSeq
  io.counted.valid := RegNext(leaves1, false.B) && v2
  io.counted.bits  := aligner.io.counted
  private def along[T <: Data](values: Seq[T], stages: Seq[Bool]): Seq[T] =
    values.map(value => stages.foldLeft(value)((v, stage) => RegEnable(v, stage)))

  // ---- X1: compute ------------------------------------------------------------------------------------------------------------------
  v4 := (leaves3 || (v4 && !leaves4)) && !io.clear
  private val k4      = RegEnable(k3, leaves3)
  private val a4      = Reg(Vec(slots, UInt(align.W)))
  private val b4      = Reg(Vec(slots, UInt(align.W)))
  private val slotId4 = RegEnable(aligner.io.slotId, leaves3)
  private val above4  = RegEnable(aligner.io.above, leaves3)
  private val first4  = RegEnable(aligner.io.first, leaves3)
  private val last4   = RegEnable(aligner.io.last, leaves3)
  private val inside4 = RegEnable(aligner.io.inside, leaves3)

  // Products take the longer operand as factor a.
  private val swaps    = k3.is(VariableFunction.Multiply) && aligner.io.swaps
  private val swapped4 = RegEnable(swaps, leaves3)
  private val largest4 = RegEnable(aligner.io.largest, leaves3)

  // Of products and quotients: cycles before the last one, and a value a byte: sums, or the remainder.
  private val left4 = Reg(UInt(7.W))
  private val part4 = Reg(Vec(bytes, UInt(SlotMultiplier.sumBits.W)))
  when(leaves3) {
    left4 := MuxCase(
      0.U,
      Seq(
        k3.is(VariableFunction.Multiply)                               -> aligner.io.passes,
        (k3.is(VariableFunction.Divide) && aligner.io.largest =/= 0.U) -> ((aligner.io.largest ## 0.U(3.W)) + 2.U)
      )
    )
    part4.foreach(_ := 0.U)
    for (s <- 0 until slots) {
      a4(s) := Mux(swaps, aligner.io.alignedB(s), aligner.io.alignedA(s))
      b4(s) := Mux(swaps, aligner.io.alignedA(s), aligner.io.alignedB(s))
    }
  }

  // The operation in a stage leaves it when the next one is empty or leaves too.
  leaves4  := v4 && left4 === 0.U
  leaves3  := v3 && (!v4 || leaves4)
  leaves2  := v2 && (!v3 || leaves3)
  leaves1  := v1 && (!v2 || leaves2)
  io.moves := VecInit(leaves1, leaves2, leaves3, leaves4)

  // Behind a product or quotient E1 to E3 may have to keep what comes: three operations at most, with the one in R.
  private val waits = Seq(v1 -> k1, v2 -> k2, v3 -> k3, v4 -> k4).map { case (v, k) =>
    v && k.is(long: _*)
  } :+
    (io.in.valid && sizes.io.kind.is(long: _*))
  io.room := !waits.reduce(_ || _) || PopCount(Seq(io.in.valid, v1, v2, v3)) <= 2.U
  assert(!(io.in.valid && v1 && !leaves1 && !io.clear), "an operation comes while E1 is not free")

  private val isProduct = k4.is(VariableFunction.Multiply)
  private val reverses  = k4.is(VariableFunction.SubtractFrom)
  private val isAdd     = k4.is(VariableFunction.Add, VariableFunction.Index) || isProduct
  // a - b, b - a, a + b, the sums of a product. Compares and the choice of the smaller are by a - b.
  private val adder = Module(new SlotAdder(slots, align))
  adder.io.first   := first4
  adder.io.carryIn := !isAdd
  for (s <- 0 until slots) {
    val (x, y) = (a4(s), b4(s))
    // Of a product the byte's lower part, and the upper one of the byte below.
    val (byte, k) = (s / perByte, s % perByte)
    val under     = if (byte == 0) 0.U(8.W) else part4(byte - 1)(SlotMultiplier.sumBits - 1, 8).pad(8)
    val upper     = if (byte == 0) 0.U else Mux(first4(byte * perByte), 0.U, slotOf(under, k))
    adder.io.left(s)  := Mux(isProduct, slotOf(part4(byte), k), Mux(reverses, y, x))
    adder.io.right(s) := Mux(isProduct, upper, Mux(isAdd, y, ~Mux(reverses, x, y)))
  }
  private val sum      = adder.io.sum
  private val carryOut = adder.io.carryOut

  /** Of a bit a slot: all of them from the element's first slot up to this one. */
  private def allUpTo(bits: Seq[Bool]): Seq[Bool] =
    ElementSlots
      .distances(most)
      .foldLeft(bits.zip(first4)) { (now, distance) =>
        Seq.tabulate(slots) { s =>
          val (all, complete) = now(s)
          if (s < distance) (all, complete)
          else (all && (complete || now(s - distance)._1), complete || now(s - distance)._2)
        }
      }
      .map(_._1)
  private val same  = allUpTo(a4.zip(b4).map { case (x, y) => x === y })
  private val signs = Seq.tabulate(slots)(s => (!k4.aUnsigned && a4(s)(align - 1), !k4.bUnsigned && b4(s)(align - 1)))
  // Numbers of different signs are never equal, and ordered by their signs: an unsigned element may have all bits of the
  // slots, so that its slots say nothing against those of a negative number. Right at an element's last slot.
  private val equal = same.zip(signs).map { case (bits, (x, y)) => bits && x === y }
  private val less  = signs.zip(carryOut).map { case ((x, y), carry) => Mux(x === y, !carry, x) }

  private val smaller = ElementSlots.fromLast(less, last4, most)
  private val minusA  = ElementSlots.fromLast(signs.map(_._1), last4, most)
  private val minusB  = ElementSlots.fromLast(signs.map(_._2), last4, most)

  // Shifts: counts are modulo mb.
  private val shifter   = Module(new SlotShifter(slots, align))
  private val countMask = ((8.U(8.W) << k4.mb)(7, 0) - 1.U)(5, 0)

  /** The lowest six bits of b at an element's first slot. An element may have fewer, then the sign is above. */
  private def countAt(s: Int): UInt =
    if (align == 8) b4(s)(5, 0)
    else {
      val fill = Fill(align, minusB(s))
      val bits = Cat((0 until (5 + align) / align).map { d =>
        if (d == 0) b4(s) else if (s + d >= slots) fill else Mux(above4(s) >= d.U, b4(s + d), fill)
      }.reverse)(5, 0)
      Mux(k4.byScalar, k4.scalar(5, 0), bits)
    }
  private val counts =
    ElementSlots.fromFirst(VecInit(Seq.tabulate(slots)(s => countAt(s) & countMask)), slotId4, most)
  shifter.io.data  := a4
  shifter.io.below := slotId4
  shifter.io.above := above4
  shifter.io.count := VecInit(counts)
  shifter.io.sign  := VecInit(minusA)
  shifter.io.left  := k4.is(VariableFunction.ShiftLeft)

  // Products: a byte of b a cycle.
  private val firstBytes = VecInit(lowestOf(first4))
  private val byteId4    = numberOfBytes(lowestOf(slotId4))
  private val multiplier = Module(new SlotMultiplier(bytes))
  multiplier.io.a      := byBytes(a4)
  multiplier.io.b      := byBytes(b4)
  multiplier.io.sum    := part4
  multiplier.io.first  := firstBytes
  multiplier.io.byteId := byteId4
  multiplier.io.signed := left4 === 1.U && !Mux(swapped4, k4.aUnsigned, k4.bUnsigned)

  // Quotients: both operands without signs, a bit a cycle, then the sign. An element takes part in the last of the steps.
  private val divider    = Module(new SlotDivider(bytes))
  private val negative4  = Reg(Vec(bytes, Bool()))
  private val zero4      = Reg(Vec(bytes, Bool()))
  private val minusBytes = Seq(minusA, minusB).map(lowestOf(_))
  private val stepsLeft  = left4 - 1.U
  private val phase = MuxCase(
    DividePhase.Step.U,
    Seq(
      (left4 === 0.U)                          -> DividePhase.NegateQuotient.U,
      (left4 === (largest4 ## 0.U(3.W)) + 2.U) -> DividePhase.NegateDividend.U,
      (left4 === (largest4 ## 0.U(3.W)) + 1.U) -> DividePhase.NegateDivisor.U
    )
  )
  divider.io.phase     := phase
  divider.io.a         := byBytes(a4)
  divider.io.b         := byBytes(b4)
  divider.io.remainder := VecInit(part4.map(_(7, 0)))
  divider.io.first     := firstBytes
  divider.io.last      := VecInit(highestOf(last4))
  divider.io.negates := VecInit(Seq.tabulate(bytes) { s =>
    MuxLookup(phase, negative4(s))(
      Seq(DividePhase.NegateDividend.U -> minusBytes(0)(s), DividePhase.NegateDivisor.U -> minusBytes(1)(s))
    )
  })
  private val aboveBytes = numberOfBytes(highestOf(above4))
  divider.io.runs := VecInit(Seq.tabulate(bytes)(s => stepsLeft(5, 3) <= byteId4(s) +& aboveBytes(s)))
  private def inSlotsOf(values: Seq[UInt]): Vec[UInt] =
    VecInit(values.flatMap(value => Seq.tabulate(perByte)(slotOf(value, _))))
  when(v4 && left4 =/= 0.U) {
    left4 := left4 - 1.U
    when(isProduct) {
      a4    := inSlotsOf(multiplier.io.nextA)
      b4    := inSlotsOf(multiplier.io.nextB)
      part4 := multiplier.io.nextSum
    }.otherwise {
      a4 := inSlotsOf(divider.io.nextA)
      b4 := inSlotsOf(divider.io.nextB)
      for (s <- 0 until bytes) part4(s) := divider.io.nextRemainder(s)
      when(phase === DividePhase.NegateDividend.U) {
        negative4 := minusBytes(0)
        zero4     := lowestOf(ElementSlots.fromLast(allUpTo(b4.map(_ === 0.U)), last4, most))
      }
      when(phase === DividePhase.NegateDivisor.U) {
        for (s <- 0 until bytes) negative4(s) := negative4(s) =/= minusBytes(1)(s)
      }
    }
  }

  // What needs no sums: two bits of a slot make one, by a code of the operation, or for minimum and maximum of the element.
  private val Seq(takeX, takeY, and, or, xor, clear) = Seq.tabulate(6)(_.U(3.W))
  private val ofBits = MuxLookup(k4.function, takeX)(
    Seq(
      VariableFunction.Duplicate.U -> takeY,
      VariableFunction.And.U       -> and,
      VariableFunction.Or.U        -> or,
      VariableFunction.Xor.U       -> xor,
      VariableFunction.BitClear.U  -> clear
    )
  )
  private val chooses = k4.is(VariableFunction.Min, VariableFunction.Max)
  private val shifts  = k4.is(VariableFunction.ShiftLeft, VariableFunction.ShiftRight)
  private val divides = k4.is(VariableFunction.Divide)
  private val logic = chooses || k4.is(
    VariableFunction.BitClear,
    VariableFunction.And,
    VariableFunction.Or,
    VariableFunction.Xor,
    VariableFunction.Duplicate,
    VariableFunction.FromSigned,
    VariableFunction.FromUnsigned
  )
  private val result = Seq.tabulate(slots) { s =>
    val (x, y)   = (a4(s), b4(s))
    val choice   = Mux(smaller(s) === k4.is(VariableFunction.Min), takeX, takeY)
    val code     = Mux(chooses, choice, ofBits)
    val bits     = MuxTree(code, Seq(x, y, x & y, x | y, x ^ y, x & ~y))
    val quotient = Mux(zero4(s / perByte), 0.U, slotOf(divider.io.nextA(s / perByte), s % perByte))
    MuxTree(Cat(shifts || divides, logic || divides), Seq(sum(s), bits, shifter.io.out(s), quotient))
  }
  private def holds(less: Bool, equal: Bool, kind: VariableKind): Bool = MuxLookup(kind.function, equal)(
    Seq(
      VariableFunction.NotEqual.U     -> !equal,
      VariableFunction.Less.U         -> less,
      VariableFunction.LessEqual.U    -> (less || equal),
      VariableFunction.GreaterEqual.U -> !less,
      VariableFunction.Greater.U      -> !(less || equal)
    )
  )
  private val flag = less.zip(equal).map { case (l, e) => holds(l, e, k4) }

  // Wrapped at mb: slots above repeat the sign of the highest below, or are 0.
  private val mbSlots = (perByte.U(p.sizeBits.W) << k4.mb)(p.sizeBits - 1, 0)
  private val wrapped = {
    val above     = slotId4.map(_ >= mbSlots)
    val distances = slotId4.map(_ - (mbSlots - 1.U))
    val tops      = result.map(_(align - 1))
    val signs =
      if (most <= 8)
        Seq.tabulate(slots)(s =>
          MuxTree(distances(s)(p.slotIdBits - 1, 0), (0 to ((most - 1) min s)).map(d => tops(s - d)))
        )
      else ElementSlots.fromFirst(tops, above.zip(distances).map { case (a, d) => Mux(a, d, 0.U) }, most)
    Seq.tabulate(slots)(s => Mux(above(s), Fill(align, signs(s) && !k4.unsigned), result(s)))
  }

  // ---- X2: widths -------------------------------------------------------------------------------------------------------------------
  v5 := leaves4 && !io.clear
  private val k5      = RegEnable(k4, leaves4)
  private val values5 = wrapped.map(RegEnable(_, leaves4))
  private val flag5   = flag.map(RegEnable(_, leaves4))
  private val slotId5 = RegEnable(slotId4, leaves4)
  private val first5  = RegEnable(first4, leaves4)
  private val last5   = RegEnable(last4, leaves4)
  private val inside5 = RegEnable(inside4, leaves4)
  private val widths  = Module(new WidthUnit(slots, align, most))
  widths.io.values   := VecInit(values5)
  widths.io.unsigned := k5.unsigned
  widths.io.slotId   := slotId5
  widths.io.first    := first5
  widths.io.last     := last5
  widths.io.inside   := inside5

  // ---- X3: to the elements ------------------------------------------------------------------------------------------------------------
  v6 := v5 && !io.clear
  private val k6      = RegEnable(k5, v5)
  private val data6   = RegEnable(Cat(values5.reverse), v5)
  private val width6  = RegEnable(widths.io.widths, v5)
  private val live6   = RegEnable(widths.io.live, v5)
  private val stages  = Seq(leaves2, leaves3, leaves4)
  private val fits5   = along(aligner.io.fits, stages)
  private val some5   = along(aligner.io.some, stages)
  private val lastOf5 = along(aligner.io.lastOf, stages)
  private val count5  = along(Seq(aligner.io.counted), stages).head
  private val active5 = along(RegEnable(RegEnable(io.in.bits.active, io.in.valid), leaves1).asBools, stages)
  private val fits6   = fits5.map(RegEnable(_, v5))
  private val some6   = some5.map(RegEnable(_, v5))
  private val lastOf6 = lastOf5.map(RegEnable(_, v5))
  private val count6  = RegEnable(count5, v5)

  // Flags of elements are known a stage before their widths.
  private val zero5 = holds(false.B, true.B, k5)
  private val mask5 = Cat(
    Seq.tabulate(elements)(i => fits5(i) && active5(i) && Mux(some5(i), MuxTree(lastOf5(i), flag5), zero5)).reverse
  )
  io.early.bits   := mask5
  io.early.length := count5

  io.out.valid                  := RegNext(v6 && !io.clear, false.B)
  io.out.bits.data              := RegEnable(data6, v6)
  io.out.bits.metadata.live     := RegEnable(live6, v6)
  io.out.bits.metadata.count    := RegEnable(count6, v6)
  io.out.bits.metadata.unsigned := RegEnable(k6.unsigned, v6)
  io.out.bits.metadata.mb       := RegEnable(k6.mb, v6)
  for (i <- 0 until elements) {
    io.out.bits.metadata.widths(i) := RegEnable(Mux(fits6(i) && some6(i), MuxTree(lastOf6(i), width6), 0.U), v6)
  }
  io.mask := RegEnable(RegEnable(mask5, v5), v6)
}

object VariableUnit {

  /** Cycles from `in` to `out`. */
  val latency = 7
}
