// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxCase, MuxLookup, PopCount, RegEnable, Valid, log2Ceil}

/** An operation on elements of any width. */
class VariableRequest(p: VectorParams) extends Bundle {

  /** [[VariableFunction]], but for those to a scalar. */
  val function = UInt(VariableFunction.bits.W)

  /** vs2 and vs1, or with `byScalar` the number in `scalar`. Of a register of fixed width `a` has its lanes as
    * elements.
    */
  val a        = new VariableOperand(p)
  val b        = new VariableOperand(p)
  val byScalar = Bool()
  val scalar   = UInt(p.xLen.W)

  /** Of vv.index: what is added from element to element, 5 bits signed. */
  val step = UInt(5.W)

  /** Elements that the mask lets through. */
  val active = UInt(p.elements.W)
}

class VariableUnitIO(p: VectorParams) extends Bundle {
  val in = Flipped(Valid(new VariableRequest(p)))

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

  private val slots     = p.slots
  private val elements  = p.elements
  private val slotBits  = log2Ceil(slots)
  private val sumBits   = log2Ceil(p.slotsOfElement * elements + 1)
  private val countBits = log2Ceil(elements + 1)

  // Slots of `align` bits hold elements; a multiplier and a divider work on whole bytes.
  private val align      = p.align
  private val logAlign   = log2Ceil(align)
  private val perByte    = p.slotsOfByte
  private val logPerByte = log2Ceil(perByte)
  private val most       = p.slotsOfElement
  private val bytes      = p.dBytes

  /** Slot k of a byte, or of more bits. */
  private def slotOf(value: UInt, k: Int): UInt = value(align * (k + 1) - 1, align * k)

  /** Each byte's slots together; of each byte the value of its lowest slot. */
  private def byBytes(of: Seq[UInt]): Seq[UInt]          = of.grouped(perByte).map(s => Cat(s.reverse)).toSeq
  private def lowestOf[T <: Data](of: Seq[T]): Seq[T]    = of.grouped(perByte).map(_.head).toSeq
  private def highestOf[T <: Data](of: Seq[T]): Seq[T]   = of.grouped(perByte).map(_.last).toSeq
  private def numberOfBytes(of: Seq[UInt]): Seq[UInt]    = of.map(id => (id >> logPerByte).asUInt)

  /** What an operation is, along the pipeline. */
  private class Kind extends Bundle {
    val function  = UInt(VariableFunction.bits.W)
    val aUnsigned = Bool()
    val bUnsigned = Bool()
    val unsigned  = Bool()
    val mb        = UInt(2.W)
    val byScalar  = Bool()
    val scalar    = UInt(64.W)
    val step      = UInt(5.W)
  }
  private val long                                  = Seq(VariableFunction.Multiply, VariableFunction.Divide)
  private def is(kind: Kind, functions: Int*): Bool = functions.map(f => kind.function === f.U).reduce(_ || _)

  // ---- R: how many bits each pair takes -----------------------------------------------------------------------------------------
  private val in         = io.in.bits
  private val a          = in.a.metadata
  private val b          = in.b.metadata
  private val number     = if (p.maxWidth < p.xLen) in.scalar(p.maxWidth - 1, 0) else in.scalar
  private val negative   = number(number.getWidth - 1)
  private val wideScalar = Cat(Fill(64 - number.getWidth, negative), number)
  private val scalarWidth = {
    val bits    = wideScalar ^ Fill(64, negative)
    val highest = MuxCase(0.U(7.W), (63 to 0 by -1).map(i => bits(i) -> (i + 1).U(7.W)))
    Mux(negative, highest + 1.U, highest)
  }
  private val kind       = Wire(new Kind)
  private val subtracts  = Seq(VariableFunction.Subtract, VariableFunction.SubtractFrom)
  private val duplicates = in.function === VariableFunction.Duplicate.U
  private val indexes    = in.function === VariableFunction.Index.U
  private val shiftsLeft = in.function === VariableFunction.ShiftLeft.U
  private val shifts     = shiftsLeft || in.function === VariableFunction.ShiftRight.U
  private val copies     = in.function >= VariableFunction.FromSigned.U
  kind.function  := in.function
  kind.aUnsigned := a.unsigned
  kind.bUnsigned := Mux(in.byScalar, !negative, b.unsigned)
  private val isSub = subtracts.map(f => in.function === f.U).reduce(_ || _)
  kind.unsigned := MuxCase(
    kind.aUnsigned && kind.bUnsigned && !isSub,
    Seq(duplicates -> !negative, indexes -> (!negative && !in.step(4)), (shifts || copies) -> a.unsigned)
  )
  private val holding =
    Mux(scalarWidth <= 8.U, 0.U(2.W), Mux(scalarWidth <= 16.U, 1.U, Mux(scalarWidth <= 32.U, 2.U, 3.U)))
  kind.mb := MuxCase(
    b.mb,
    Seq(duplicates -> holding, indexes -> 2.U, (in.byScalar || shifts || copies || a.mb > b.mb) -> a.mb)
  )
  kind.byScalar := in.byScalar
  kind.scalar   := wideScalar
  kind.step     := in.step

  private val mbBits = (8.U(8.W) << kind.mb)(7, 0)
  private val yields =
    Mux(duplicates || indexes, elements.U, Mux(in.byScalar || a.count < b.count, a.count, b.count))
  private def least(x: UInt, y: UInt): UInt   = Mux(x < y, x, y)
  private def greater(x: UInt, y: UInt): UInt = Mux(x > y, x, y)
  private val widthsA                       = a.widths
  private val widthsB                       = Seq.tabulate(elements)(i => Mux(in.byScalar, scalarWidth, b.widths(i)))

  // Element i of vv.index is a multiple of the step more than the scalar. That changes the bits above `offsetBits` by one.
  private val offsetBits = log2Ceil(elements) + 5
  private def offset(step: UInt, element: Int): UInt = VecInit(Seq.tabulate(32) { bits =>
    val multiple = (if (bits < 16) bits else bits - 32) * element
    BigInt(multiple & ((1 << offsetBits) - 1)).U(offsetBits.W)
  })(step)
  private def bitsOf(value: UInt): UInt =
    MuxCase(0.U(7.W), (value.getWidth - 1 to 0 by -1).map(i => value(i) -> (i + 1).U(7.W)))
  private val indexHigh = Seq(-1, 0, 1).map { change =>
    val high = (wideScalar(31, offsetBits) + ((1 << (32 - offsetBits)) + change).U)(31 - offsetBits, 0)
    val sign = high(31 - offsetBits) && !kind.unsigned
    (high, sign, bitsOf(high ^ Fill(32 - offsetBits, sign)))
  }
  private val indexWidths = Seq.tabulate(elements) { i =>
    val added                            = offset(in.step, i)
    val low                              = wideScalar(offsetBits - 1, 0) +& added
    val fewer                            = added(offsetBits - 1) && !low(offsetBits)
    val more                             = !added(offsetBits - 1) && low(offsetBits)
    def of[T <: Data](values: Seq[T]): T = Mux(fewer, values(0), Mux(more, values(2), values(1)))
    val sign                             = of(indexHigh.map(_._2))
    val high                             = of(indexHigh.map(_._3))
    val below                            = bitsOf(low(offsetBits - 1, 0) ^ Fill(offsetBits, sign))
    val plain                            = Mux(high =/= 0.U, high + offsetBits.U, below)
    Mux(kind.unsigned || (plain === 0.U && !sign), plain, plain + 1.U)
  }

  private val shiftCount = wideScalar(5, 0) & (mbBits - 1.U)(5, 0)
  private val sizes = Seq.tabulate(elements) { i =>
    val (wa, wb)     = (widthsA(i), widthsB(i))
    val signed       = !kind.unsigned
    val pa           = Mux(signed && kind.aUnsigned && wa =/= 0.U, wa +& 1.U, wa.pad(8))
    val pb           = Mux(signed && kind.bUnsigned && wb =/= 0.U, wb +& 1.U, wb.pad(8))
    val larger       = greater(pa, pb)
    val one          = least(larger + 1.U, mbBits)
    val taken        = Mux(in.function === VariableFunction.Subtract.U, wb, wa)
    val bothUnsigned = kind.aUnsigned && kind.bUnsigned
    val difference = Mux(
      bothUnsigned,
      Mux(wa === 0.U && wb === 0.U, 0.U, least(greater(wa.pad(8), wb.pad(8)) + 1.U, mbBits)),
      Mux(wa =/= 0.U && wb =/= 0.U, one, least(larger + (taken =/= 0.U), mbBits))
    )
    val lengthened = Mux(
      in.byScalar,
      Mux(wa === 0.U, 0.U, least(wa +& shiftCount, mbBits)),
      Mux(
        wa === 0.U,
        wb.pad(8),
        greater(
          wb.pad(8),
          Mux(b.unsigned, least(wa +& Cat((0 until 6).map(n => wb > n.U).reverse), mbBits), mbBits)
        )
      )
    )
    val quotient = Mux(wb === 0.U, pa, greater(least(pa + signed, mbBits), pb))
    val aligned = MuxCase(
      larger,
      Seq(
        shiftsLeft -> lengthened,
        shifts     -> Mux(in.byScalar, wa, greater(wa, wb)).pad(8),
        (in.function === VariableFunction.Multiply.U) ->
          Mux(wa === 0.U || wb === 0.U, 0.U, least(wa +& wb, mbBits)),
        (in.function === VariableFunction.Divide.U)                          -> quotient,
        indexes                                                              -> indexWidths(i).pad(8),
        copies                                                               -> wa.pad(8),
        (in.function === VariableFunction.Add.U && wa =/= 0.U && wb =/= 0.U) -> one,
        isSub                                                                -> difference,
        duplicates                                                           -> wb.pad(8)
      )
    )
    val bits = least(aligned, p.maxWidth.U)
    // Products and quotients take whole bytes.
    val inSlots = LaneWidths.slots(bits(6, 0), align)
    val size =
      if (align == 8) inSlots
      else
        Mux(
          long.map(f => in.function === f.U).reduce(_ || _),
          LaneWidths.slots(bits(6, 0), 8) << logPerByte,
          inSlots
        )
    Mux(in.active(i) && i.U < yields, size, 0.U)
  }

  // ---- E1: where each pair begins; dead slots out ---------------------------------------------------------------------------------
  private val List(v1, v2, v3, v4, v5, v6)             = List.fill(6)(RegInit(false.B))
  private val List(leaves1, leaves2, leaves3, leaves4) = List.fill(4)(Wire(Bool()))

  v1 := (io.in.valid || (v1 && !leaves1)) && !io.clear
  private val k1      = RegEnable(kind, io.in.valid)
  private val size1   = sizes.map(RegEnable(_, io.in.valid))
  private val count1  = RegEnable(yields, io.in.valid)
  private val slotsA1 = widthsA.map(w => RegEnable(LaneWidths.slots(w, align), io.in.valid))
  private val slotsB1 = widthsB.map(w => RegEnable(LaneWidths.slots(w, align), io.in.valid))
  private def squeezed(of: VariableOperand): UInt = {
    val unit = Module(new Squeeze(align, slots))
    unit.io.data := RegEnable(of.data, io.in.valid)
    unit.io.live := RegEnable(of.metadata.live, io.in.valid)
    unit.io.out
  }
  private val dataA1  = squeezed(in.a)
  private val dataB1  = squeezed(in.b)
  private val starts1 = PrefixSum(size1, sumBits)
  private val fits1   = Seq.tabulate(elements)(i => starts1(i + 1) <= slots.U && i.U < count1)
  private val fromA1  = PrefixSum(slotsA1, slotBits + 1)
  private val fromB1  = PrefixSum(slotsB1, slotBits + 1)

  // ---- E2: what each slot that begins an element has to know ------------------------------------------------------------------------
  v2 := (leaves1 || (v2 && !leaves2)) && !io.clear
  private val k2      = RegEnable(k1, leaves1)
  private val dataA2  = RegEnable(dataA1, leaves1)
  private val dataB2  = RegEnable(dataB1, leaves1)
  private val fits2   = fits1.map(RegEnable(_, leaves1))
  private val size2   = size1.map(RegEnable(_, leaves1))
  private val start2  = starts1.map(s => RegEnable(s(slotBits, 0), leaves1))
  private val fromA2  = fromA1.map(RegEnable(_, leaves1))
  private val fromB2  = fromB1.map(RegEnable(_, leaves1))
  private val slotsA2 = slotsA1.map(RegEnable(_, leaves1))
  private val slotsB2 = slotsB1.map(RegEnable(_, leaves1))
  private val count2  = PopCount(fits2)
  private val begins2 = Seq.tabulate(elements)(i =>
    Mux(fits2(i) && size2(i) =/= 0.U, (1.U << start2(i)(slotBits - 1, 0))(slots - 1, 0), 0.U)
  )
  private val end2 = fits2.zip(start2.tail).map { case (fit, to) => Mux(fit, to, 0.U) }.reduce(_ max _)
  private def or(words: Seq[UInt]): UInt = words.reduce(_ | _)

  /** Values of elements at their first slots. */
  private def scatter(values: Seq[UInt]): Vec[UInt] = {
    val bits = Seq.tabulate(values.head.getWidth)(bit =>
      or(values.zip(begins2).map { case (value, begin) => Mux(value(bit), begin, 0.U) })
    )
    VecInit(Seq.tabulate(slots)(s => Cat(bits.map(_(s)).reverse)))
  }
  private val first2 = or(begins2)

  /** Whether any element has more than 0, 1, .. 7 bytes of so many slots. */
  private def longest(slotsOf: Seq[UInt]): Seq[Bool] = Seq.tabulate(8) { n =>
    val below = (n * perByte).U
    fits2.lazyZip(size2).lazyZip(slotsOf).map((fit, size, own) => fit && size > below && own > below).toSeq.reduce(_ || _)
  }
  private val longestA2 = PopCount(longest(slotsA2))
  private val longestB2 = PopCount(longest(slotsB2))

  // ---- E3: the slots of both operands on common boundaries --------------------------------------------------------------------------
  v3 := (leaves2 || (v3 && !leaves3)) && !io.clear
  private val k3       = RegEnable(k2, leaves2)
  private val dataA3   = RegEnable(dataA2, leaves2)
  private val dataB3   = RegEnable(dataB2, leaves2)
  private val first3   = RegEnable(first2, leaves2)
  private val end3     = RegEnable(end2, leaves2)
  private val fromA3   = RegEnable(scatter(fromA2.init.map(_(slotBits - 1, 0))), leaves2)
  private val fromB3   = RegEnable(scatter(fromB2.init.map(_(slotBits - 1, 0))), leaves2)
  private val manyA3   = RegEnable(scatter(slotsA2), leaves2)
  private val manyB3   = RegEnable(scatter(slotsB2), leaves2)
  private val offset3  = RegEnable(scatter(Seq.tabulate(elements)(i => offset(k2.step, i))), leaves2)
  private val swaps3   = RegEnable(longestA2 < longestB2, leaves2)
  private val passes3  = RegEnable(Mux(longestA2 < longestB2, longestA2, longestB2), leaves2)
  private val largest3 = RegEnable(PopCount(longest(size2)), leaves2)
  private val lastOf2  = Seq.tabulate(elements)(i => (start2(i) + size2(i) - 1.U)(slotBits - 1, 0))
  private def along[T <: Data](values: Seq[T], stages: Seq[Bool]): Seq[T] =
    values.map(value => stages.foldLeft(value)((v, stage) => RegEnable(v, stage)))
  io.counted.valid := RegNext(leaves1, false.B) && v2
  io.counted.bits  := count2

  // How far a slot is behind the first of its element.
  private val slotId3 = VecInit(ElementSlots.below(first3.asBools, most))

  private def aligned(data: UInt, from: Vec[UInt], many: Vec[UInt], unsigned: Bool): Seq[UInt] = {
    val values = VecInit(Seq.tabulate(slots)(slotOf(data, _)))
    val base   = ElementSlots.fromFirst(from, slotId3, most)
    val own    = ElementSlots.fromFirst(many, slotId3, most)
    Seq.tabulate(slots) { s =>
      val top = values((base(s) + own(s) - 1.U)(slotBits - 1, 0))(align - 1) && !unsigned && own(s) =/= 0.U
      Mux(slotId3(s) < own(s), values((base(s) + slotId3(s))(slotBits - 1, 0)), Fill(align, top))
    }
  }
  private val inside3 = VecInit(Seq.tabulate(slots)(s => s.U < end3))
  private val last3   = Seq.tabulate(slots)(s => s.U +& 1.U === end3 || (if (s + 1 < slots) first3(s + 1) else false.B))
  private val above3      = ElementSlots.above(last3, most)
  private val scalarSlots = VecInit(Seq.tabulate(most)(slotOf(k3.scalar, _)))
  private val offsetSlots = ElementSlots.fromFirst(offset3, slotId3, most).zipWithIndex.map { case (value, s) =>
    val sign = value(offsetBits - 1)
    val wide = Cat(Fill(16 - offsetBits, sign), value)
    MuxLookup(slotId3(s), Fill(align, sign))((0 until 2 * perByte).map(k => k.U -> slotOf(wide, k)))
  }
  private val indexes3 = is(k3, VariableFunction.Index)
  private val alignedA = aligned(dataA3, fromA3, manyA3, k3.aUnsigned).zipWithIndex.map { case (slot, s) =>
    Mux(indexes3, scalarSlots(slotId3(s)), slot)
  }
  private val alignedB = aligned(dataB3, fromB3, manyB3, k3.bUnsigned).zipWithIndex.map { case (slot, s) =>
    MuxCase(slot, Seq(indexes3 -> offsetSlots(s), k3.byScalar -> scalarSlots(slotId3(s))))
  }

  // ---- X1: compute ------------------------------------------------------------------------------------------------------------------
  v4 := (leaves3 || (v4 && !leaves4)) && !io.clear
  private val k4      = RegEnable(k3, leaves3)
  private val a4      = Reg(Vec(slots, UInt(align.W)))
  private val b4      = Reg(Vec(slots, UInt(align.W)))
  private val slotId4 = RegEnable(slotId3, leaves3)
  private val above4  = VecInit(above3.map(RegEnable(_, leaves3)))
  private val first4  = RegEnable(first3, leaves3)
  private val last4   = VecInit(last3.map(RegEnable(_, leaves3)))
  private val inside4 = RegEnable(inside3, leaves3)

  // Products take the longer operand as factor a.
  private val swaps    = is(k3, VariableFunction.Multiply) && swaps3
  private val swapped4 = RegEnable(swaps, leaves3)
  private val largest4 = RegEnable(largest3, leaves3)

  // Of products and quotients: cycles before the last one, and a value a byte: sums, or the remainder.
  private val left4 = Reg(UInt(7.W))
  private val part4 = Reg(Vec(bytes, UInt(SlotMultiplier.sumBits.W)))
  when(leaves3) {
    left4 := MuxCase(
      0.U,
      Seq(
        is(k3, VariableFunction.Multiply)                     -> passes3,
        (is(k3, VariableFunction.Divide) && largest3 =/= 0.U) -> ((largest3 ## 0.U(3.W)) + 2.U)
      )
    )
    part4.foreach(_ := 0.U)
    for (s <- 0 until slots) {
      a4(s) := Mux(swaps, alignedB(s), alignedA(s))
      b4(s) := Mux(swaps, alignedA(s), alignedB(s))
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
    v && is(k, long: _*)
  } :+
    (io.in.valid && is(kind, long: _*))
  io.room := !waits.reduce(_ || _) || PopCount(Seq(io.in.valid, v1, v2, v3)) <= 2.U
  assert(!(io.in.valid && v1 && !leaves1 && !io.clear), "an operation comes while E1 is not free")

  private val firsts    = VecInit(first4.asBools)
  private val isProduct = is(k4, VariableFunction.Multiply)
  private val reverses  = is(k4, VariableFunction.SubtractFrom)
  private val isAdd     = is(k4, VariableFunction.Add, VariableFunction.Index) || isProduct
  // a - b, b - a, a + b, the sums of a product. Compares and the choice of the smaller are by a - b.
  private val adder = Module(new SlotAdder(slots, align))
  adder.io.first   := firsts
  adder.io.carryIn := !isAdd
  for (s <- 0 until slots) {
    val (x, y) = (a4(s), b4(s))
    // Of a product the byte's lower part, and the upper one of the byte below.
    val (byte, k) = (s / perByte, s % perByte)
    val under     = if (byte == 0) 0.U(8.W) else part4(byte - 1)(SlotMultiplier.sumBits - 1, 8).pad(8)
    val upper     = if (byte == 0) 0.U else Mux(firsts(byte * perByte), 0.U, slotOf(under, k))
    adder.io.left(s)  := Mux(isProduct, slotOf(part4(byte), k), Mux(reverses, y, x))
    adder.io.right(s) := Mux(isProduct, upper, Mux(isAdd, y, ~Mux(reverses, x, y)))
  }
  private val sum      = adder.io.sum
  private val carryOut = adder.io.carryOut

  /** Of a bit a slot: all of them from the element's first slot up to this one. */
  private def allUpTo(bits: Seq[Bool]): Seq[Bool] =
    ElementSlots
      .distances(most)
      .foldLeft(bits.zip(first4.asBools)) { (now, distance) =>
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
  private val shifter = Module(new SlotShifter(slots, align))
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
  shifter.io.left  := is(k4, VariableFunction.ShiftLeft)

  // Products: a byte of b a cycle.
  private val firstBytes = VecInit(lowestOf(firsts))
  private val byteId4    = numberOfBytes(lowestOf(slotId4))
  private val multiplier = Module(new SlotMultiplier(bytes))
  multiplier.io.a      := byBytes(a4)
  multiplier.io.b      := byBytes(b4)
  multiplier.io.sum    := part4
  multiplier.io.first  := firstBytes
  multiplier.io.byteId := byteId4
  multiplier.io.signed := left4 === 1.U && !Mux(swapped4, k4.aUnsigned, k4.bUnsigned)

  // Quotients: both operands without signs, a bit a cycle, then the sign. An element takes part in the last of the steps.
  private val divider   = Module(new SlotDivider(bytes))
  private val negative4 = Reg(Vec(bytes, Bool()))
  private val zero4     = Reg(Vec(bytes, Bool()))
  private val minusBytes = Seq(minusA, minusB).map(lowestOf(_))
  private val stepsLeft = left4 - 1.U
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

  private val result = Seq.tabulate(slots) { s =>
    val (x, y) = (a4(s), b4(s))
    val takesA = smaller(s) === is(k4, VariableFunction.Min)
    MuxLookup(k4.function, sum(s))(
      Seq(
        VariableFunction.Min.U          -> Mux(takesA, x, y),
        VariableFunction.Max.U          -> Mux(takesA, x, y),
        VariableFunction.BitClear.U     -> (x & ~y),
        VariableFunction.And.U          -> (x & y),
        VariableFunction.Or.U           -> (x | y),
        VariableFunction.Xor.U          -> (x ^ y),
        VariableFunction.Duplicate.U    -> y,
        VariableFunction.FromSigned.U   -> x,
        VariableFunction.FromUnsigned.U -> x,
        VariableFunction.ShiftLeft.U    -> shifter.io.out(s),
        VariableFunction.ShiftRight.U   -> shifter.io.out(s),
        VariableFunction.Divide.U       -> Mux(zero4(s / perByte), 0.U, slotOf(divider.io.nextA(s / perByte), s % perByte))
      )
    )
  }
  private def holds(less: Bool, equal: Bool, kind: Kind): Bool = MuxLookup(kind.function, equal)(
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
          MuxLookup(distances(s), false.B)((1 to ((most - 1) min s)).map(d => d.U -> tops(s - d)))
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
  private val sign5   = ElementSlots.fromLast(values5.map(slot => slot(align - 1) && !k5.unsigned), last5, most)
  private val own5 = Seq.tabulate(slots) { s =>
    val bits = values5(s) ^ Fill(align, sign5(s))
    val high = MuxCase(0.U(4.W), (align - 1 to 0 by -1).map(i => bits(i) -> (i + 1).U(4.W)))
    (bits.orR, (slotId5(s) << logAlign) +& high)
  }
  // The highest slot that differs from the sign, from the element's first slot up to this one.
  private val upTo5 = ElementSlots
    .distances(most)
    .foldLeft(Seq.tabulate(slots)(s => (own5(s)._1, own5(s)._2.pad(7), first5(s)))) { (now, distance) =>
      Seq.tabulate(slots) { s =>
        val (some, width, complete) = now(s)
        if (s < distance) (some, width, complete)
        else {
          val (otherSome, otherWidth, otherComplete) = now(s - distance)
          (
            some || (!complete && otherSome),
            Mux(some || complete, width, otherWidth),
            complete || otherComplete
          )
        }
      }
    }
  private val width5 = Seq.tabulate(slots) { s =>
    val (some, width, _) = upTo5(s)
    val plain            = Mux(some, width, 0.U(7.W))
    Mux(k5.unsigned || (!some && !sign5(s)), plain, plain + 1.U)
  }
  private val slots5 = ElementSlots.fromLast(width5.map(LaneWidths.slots(_, align)), last5, most)
  private val live5  = Cat(Seq.tabulate(slots)(s => inside5(s) && slotId5(s) < slots5(s)).reverse)

  // ---- X3: to the elements ------------------------------------------------------------------------------------------------------------
  v6 := v5 && !io.clear
  private val k6      = RegEnable(k5, v5)
  private val data6   = RegEnable(Cat(values5.reverse), v5)
  private val width6  = VecInit(width5.map(RegEnable(_, v5)))
  private val live6   = RegEnable(live5, v5)
  private val stages  = Seq(leaves2, leaves3, leaves4)
  private val fits5   = along(fits2, stages)
  private val some5   = along(size2.map(_ =/= 0.U), stages)
  private val lastOf5 = along(lastOf2, stages)
  private val count5  = along(Seq(count2), stages).head
  private val active5 = along(RegEnable(RegEnable(in.active, io.in.valid), leaves1).asBools, stages)
  private val fits6   = fits5.map(RegEnable(_, v5))
  private val some6   = some5.map(RegEnable(_, v5))
  private val lastOf6 = lastOf5.map(RegEnable(_, v5))
  private val count6  = RegEnable(count5, v5)

  // Flags of elements are known a stage before their widths.
  private val zero5     = holds(false.B, true.B, k5)
  private val flagsLast = VecInit(flag5)
  private val mask5 = Cat(
    Seq.tabulate(elements)(i => fits5(i) && active5(i) && Mux(some5(i), flagsLast(lastOf5(i)), zero5)).reverse
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
    io.out.bits.metadata.widths(i) := RegEnable(Mux(fits6(i) && some6(i), width6(lastOf6(i)), 0.U), v6)
  }
  io.mask := RegEnable(RegEnable(mask5, v5), v6)
}

object VariableUnit {

  /** Cycles from `in` to `out`. */
  val latency = 7
}
