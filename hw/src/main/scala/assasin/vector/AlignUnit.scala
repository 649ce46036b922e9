// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxCase, MuxLookup, PopCount, RegEnable, log2Ceil}

class AlignUnitIO(p: VectorParams) extends Bundle {

  /** An operation comes into E1, E2, E3. */
  val loads = Input(Vec(3, Bool()))

  /** With it into E1: both registers, and what [[ElementSizes]] says of them. */
  val a      = Input(new VariableOperand(p))
  val b      = Input(new VariableOperand(p))
  val kind   = Input(new VariableKind)
  val count  = Input(UInt(log2Ceil(p.elements + 1).W))
  val slotsA = Input(Vec(p.elements, UInt(p.sizeBits.W)))
  val slotsB = Input(Vec(p.elements, UInt(p.sizeBits.W)))
  val sizes  = Input(Vec(p.elements, UInt(p.sizeBits.W)))

  /** Of the operations in E1, E2, E3. */
  val kinds = Output(Vec(3, new VariableKind))

  /** In E2: how many pairs fit, which these are, which have any slot, and their last slots. */
  val counted = Output(UInt(log2Ceil(p.elements + 1).W))
  val fits    = Output(Vec(p.elements, Bool()))
  val some    = Output(Vec(p.elements, Bool()))
  val lastOf  = Output(Vec(p.elements, UInt(log2Ceil(p.slots).W)))

  /** In E3: bytes of the longest element of the operand whose longest is the shorter; that one is a; bytes of the
    * largest pair.
    */
  val passes  = Output(UInt(4.W))
  val swaps   = Output(Bool())
  val largest = Output(UInt(4.W))

  /** In E3: the slots of both operands. */
  val alignedA = Output(Vec(p.slots, UInt(p.align.W)))
  val alignedB = Output(Vec(p.slots, UInt(p.align.W)))

  /** In E3, of each slot: how far it is from the first and from the last of its element; whether it is the first, the
    * last; whether it belongs to any.
    */
  val slotId = Output(Vec(p.slots, UInt(p.slotIdBits.W)))
  val above  = Output(Vec(p.slots, UInt(p.slotIdBits.W)))
  val first  = Output(Vec(p.slots, Bool()))
  val last   = Output(Vec(p.slots, Bool()))
  val inside = Output(Vec(p.slots, Bool()))
}

/** Brings the elements of two registers to common boundaries, as many pairs as fit (docs/varve/unit.md 6.2): E1 to E3
  * of [[VariableUnit]].
  */
class AlignUnit(p: VectorParams) extends Module {
  val io = IO(new AlignUnitIO(p))

  private val slots      = p.slots
  private val elements   = p.elements
  private val slotBits   = log2Ceil(slots)
  private val align      = p.align
  private val most       = p.slotsOfElement
  private val offsetBits = IndexOffset.width(p)

  // ---- E1: where each pair begins; dead slots out ---------------------------------------------------------------------------------
  private val k1      = RegEnable(io.kind, io.loads(0))
  private val size1   = io.sizes.map(RegEnable(_, io.loads(0)))
  private val count1  = RegEnable(io.count, io.loads(0))
  private val slotsA1 = io.slotsA.map(RegEnable(_, io.loads(0)))
  private val slotsB1 = io.slotsB.map(RegEnable(_, io.loads(0)))
  private def squeezed(of: VariableOperand): UInt = {
    val unit = Module(new Squeeze(align, slots))
    unit.io.data := RegEnable(of.data, io.loads(0))
    unit.io.live := RegEnable(of.metadata.live, io.loads(0))
    unit.io.out
  }
  private val dataA1 = squeezed(io.a)
  private val dataB1 = squeezed(io.b)
  private val ends1  = BoundedSum.upToEach(size1, slotBits + 1)
  private val fromA1 = PrefixSum(slotsA1, slotBits + 1)
  private val fromB1 = PrefixSum(slotsB1, slotBits + 1)

  // ---- E2: what each slot that begins an element has to know ------------------------------------------------------------------------
  private val k2     = RegEnable(k1, io.loads(1))
  private val dataA2 = RegEnable(dataA1, io.loads(1))
  private val dataB2 = RegEnable(dataB1, io.loads(1))
  // Where each pair ends. Whether there is room for it is found here: behind the sums it would be the longest way of the unit.
  private val ends2 = ends1.map(end => RegEnable(end.low, io.loads(1)))
  private val room2 = ends1.zip(ends2).map { case (end, low) =>
    !(RegEnable(end.over, io.loads(1)) || RegEnable(end.carry, io.loads(1)) || ShortNumbers.abovePower(low, slotBits))
  }
  private val there2  = Seq.tabulate(elements)(i => RegEnable(i.U < count1, io.loads(1)))
  private val size2   = size1.map(RegEnable(_, io.loads(1)))
  private val some2   = size1.map(size => RegEnable(size =/= 0.U, io.loads(1)))
  private val slotsA2 = slotsA1.map(RegEnable(_, io.loads(1)))
  private val slotsB2 = slotsB1.map(RegEnable(_, io.loads(1)))

  // What a slot has to know of its element: where it begins in each register, and how many slots it has there. vv.index,
  // which has no registers, has what it adds in the same bits, so that they are brought to the slots once.
  private class Source extends Bundle {
    val manyA = UInt(p.sizeBits.W)
    val manyB = UInt(p.sizeBits.W)
    val fromA = UInt(slotBits.W)
    val fromB = UInt(slotBits.W)
  }
  private val sources2 = Seq.tabulate(elements) { i =>
    val source = Wire(new Source)
    source.manyA := slotsA1(i)
    source.manyB := slotsB1(i)
    source.fromA := fromA1(i)(slotBits - 1, 0)
    source.fromB := fromB1(i)(slotBits - 1, 0)
    val bits   = source.asUInt
    val offset = IndexOffset(p, k1.step, i)
    val low    = Mux(k1.is(VariableFunction.Index), offset, bits(offsetBits - 1, 0))
    RegEnable(Cat(bits(bits.getWidth - 1, offsetBits), low), io.loads(1))
  }
  private val fits2  = room2.zip(there2).map { case (room, there) => room && there }
  private val taken2 = room2.zip(some2).map { case (room, some) => room && some }
  private val begins2 = Seq.tabulate(elements) { i =>
    val begin = if (i == 0) 0.U(slotBits.W) else ends2(i - 1)(slotBits - 1, 0)
    Mux(taken2(i), (1.U << begin)(slots - 1, 0), 0.U)
  }
  private def or(words: Seq[UInt]): UInt = words.reduce(_ | _)
  // Those that there is room for come first, so there is one last of them; behind the last element all sizes are 0.
  private def ofLast(of: Seq[Bool], values: Seq[UInt]): UInt = or(Seq.tabulate(elements) { i =>
    Mux(of(i) && (if (i + 1 < elements) !of(i + 1) else true.B), values(i), 0.U)
  })
  private val end2 = ofLast(room2, ends2)

  // The number of the element that begins at a slot chooses among the elements' values.
  private val numbers2 = Seq.tabulate(log2Ceil(elements)) { bit =>
    or(begins2.zipWithIndex.collect { case (begin, i) if (i >> bit) % 2 == 1 => begin })
  }
  private def scatter(values: Seq[UInt]): Vec[UInt] =
    VecInit(Seq.tabulate(slots)(s => MuxTree(Cat(numbers2.map(_(s)).reverse), values)))
  private val first2 = or(begins2)

  /** Whether any pair with slots has more than 0, 1, .. 7 bytes of so many slots. */
  private def longest(slotsOf: Seq[UInt]): UInt = VecInit(Seq.tabulate(8) { n =>
    taken2.zip(slotsOf).map { case (taken, own) => taken && own > (n * p.slotsOfByte).U }.reduce(_ || _)
  }).asUInt

  // ---- E3: the slots of both operands on common boundaries --------------------------------------------------------------------------
  private val k3       = RegEnable(k2, io.loads(2))
  private val dataA3   = RegEnable(dataA2, io.loads(2))
  private val dataB3   = RegEnable(dataB2, io.loads(2))
  private val first3   = RegEnable(first2, io.loads(2))
  private val end3     = RegEnable(end2, io.loads(2))
  private val sources3 = RegEnable(scatter(sources2), io.loads(2))
  private val longA3   = RegEnable(longest(slotsA2), io.loads(2))
  private val longB3   = RegEnable(longest(slotsB2), io.loads(2))
  private val long3    = RegEnable(longest(size2), io.loads(2))

  private val lastOf2 =
    ends2.map(end => MuxTree(end(slotBits - 1, 0), Seq.tabulate(slots)(s => ((s + slots - 1) % slots).U(slotBits.W))))

  // How far a slot is behind the first of its element.
  private val slotId3 = VecInit(ElementSlots.below(first3.asBools, most))

  private def slotOf(value: UInt, k: Int): UInt = value(align * (k + 1) - 1, align * k)
  private val bits3                             = ElementSlots.fromFirst(sources3, slotId3, most)
  private val sourceOf                          = bits3.map(_.asTypeOf(new Source))
  private def aligned(data: UInt, from: Seq[UInt], many: Seq[UInt], unsigned: Bool): Seq[UInt] = {
    val values = Seq.tabulate(slots)(slotOf(data, _))
    val own    = Seq.tabulate(slots)(s => MuxTree((from(s) + slotId3(s))(slotBits - 1, 0), values))
    // A slot above those that the register has of its element takes the sign of the highest of these.
    val above = Seq.tabulate(slots)(s => slotId3(s) >= many(s))
    val distances = Seq.tabulate(slots) { s =>
      Mux(above(s), slotId3(s) - many(s)(p.slotIdBits - 1, 0) + 1.U, 0.U)
    }
    val signs = ElementSlots.fromFirst(own.map(_(align - 1)), distances, most)
    Seq.tabulate(slots)(s => Mux(above(s), Fill(align, signs(s) && !unsigned && many(s) =/= 0.U), own(s)))
  }
  private val inside3 = VecInit(Seq.tabulate(slots)(s => s.U < end3))
  private val last3 =
    Seq.tabulate(slots)(s => s.U +& 1.U === end3 || (if (s + 1 < slots) first3(s + 1) else false.B))
  private val above3      = ElementSlots.above(last3, most)
  private val scalarSlots = slotId3.map(MuxTree(_, Seq.tabulate(most)(slotOf(k3.scalar, _))))
  private val offsetSlots = bits3.zipWithIndex.map { case (value, s) =>
    val sign = value(offsetBits - 1)
    val wide = Cat(Fill(16 - offsetBits, sign), value(offsetBits - 1, 0))
    MuxLookup(slotId3(s), Fill(align, sign))((0 until 2 * p.slotsOfByte).map(k => k.U -> slotOf(wide, k)))
  }
  private val indexes3 = k3.is(VariableFunction.Index)
  private val alignedA = aligned(dataA3, sourceOf.map(_.fromA), sourceOf.map(_.manyA), k3.aUnsigned).zipWithIndex.map {
    case (slot, s) =>
      Mux(indexes3, scalarSlots(s), slot)
  }
  private val alignedB = aligned(dataB3, sourceOf.map(_.fromB), sourceOf.map(_.manyB), k3.bUnsigned).zipWithIndex.map {
    case (slot, s) =>
      MuxCase(slot, Seq(indexes3 -> offsetSlots(s), k3.byScalar -> scalarSlots(s)))
  }

  io.kinds   := VecInit(k1, k2, k3)
  io.counted := ofLast(fits2, Seq.tabulate(elements)(i => (i + 1).U(io.counted.getWidth.W)))
  io.fits    := VecInit(fits2)
  io.some    := VecInit(some2)
  io.lastOf  := VecInit(lastOf2)

  io.passes   := PopCount(longA3 & longB3)
  io.swaps    := (~longA3 & longB3).orR
  io.largest  := PopCount(long3)
  io.alignedA := VecInit(alignedA)
  io.alignedB := VecInit(alignedB)
  io.slotId   := slotId3
  io.above    := VecInit(above3)
  io.first    := VecInit(first3.asBools)
  io.last     := VecInit(last3)
  io.inside   := inside3
}
