// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxCase, log2Ceil}

class ElementSizesIO(p: VectorParams) extends Bundle {
  val in     = Input(new VariableRequest(p))
  val scalar = Input(new VariableScalar)

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
  private val subtracts   = Seq(VariableFunction.Subtract, VariableFunction.SubtractFrom)
  private val duplicates  = in.function === VariableFunction.Duplicate.U
  private val indexes     = in.function === VariableFunction.Index.U
  private val shiftsLeft  = in.function === VariableFunction.ShiftLeft.U
  private val shifts      = shiftsLeft || in.function === VariableFunction.ShiftRight.U
  private val copies      = in.function >= VariableFunction.FromSigned.U
  kind.function  := in.function
  kind.aUnsigned := a.unsigned
  kind.bUnsigned := Mux(in.byScalar, !negative, b.unsigned)
  private val isSub = subtracts.map(f => in.function === f.U).reduce(_ || _)
  kind.unsigned := MuxCase(
    kind.aUnsigned && kind.bUnsigned && !isSub,
    Seq(
      duplicates         -> !negative,
      indexes            -> VariableScalar.indexUnsigned(wideScalar, in.step),
      (shifts || copies) -> a.unsigned
    )
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
  private def least(x: UInt, y: UInt): UInt = Mux(x < y, x, y)
  private def most(x: UInt, y: UInt): UInt  = Mux(x > y, x, y)
  private val widthsA                       = a.widths
  private val widthsB                       = Seq.tabulate(elements)(i => Mux(in.byScalar, scalarWidth, b.widths(i)))

  // What is added to the scalar changes the bits above `offsetBits` by one at most.
  private val offsetBits = IndexOffset.width(p)
  private val indexWidths = Seq.tabulate(elements) { i =>
    val added                            = IndexOffset(p, in.step, i)
    val low                              = wideScalar(offsetBits - 1, 0) +& added
    val fewer                            = added(offsetBits - 1) && !low(offsetBits)
    val more                             = !added(offsetBits - 1) && low(offsetBits)
    def of[T <: Data](values: Seq[T]): T = Mux(fewer, values(0), Mux(more, values(2), values(1)))
    val sign                             = of(io.scalar.negatives)
    val high                             = of(io.scalar.highs)
    val below                            = VariableScalar.bitsOf(low(offsetBits - 1, 0) ^ Fill(offsetBits, sign))
    val plain                            = Mux(high =/= 0.U, high + offsetBits.U, below)
    Mux(kind.unsigned || (plain === 0.U && !sign), plain, plain + 1.U)
  }

  private val shiftCount = wideScalar(5, 0) & (mbBits - 1.U)(5, 0)
  private val sizes = Seq.tabulate(elements) { i =>
    val (wa, wb)     = (widthsA(i), widthsB(i))
    val signed       = !kind.unsigned
    val pa           = Mux(signed && kind.aUnsigned && wa =/= 0.U, wa +& 1.U, wa.pad(8))
    val pb           = Mux(signed && kind.bUnsigned && wb =/= 0.U, wb +& 1.U, wb.pad(8))
    val larger       = most(pa, pb)
    val one          = least(larger + 1.U, mbBits)
    val taken        = Mux(in.function === VariableFunction.Subtract.U, wb, wa)
    val bothUnsigned = kind.aUnsigned && kind.bUnsigned
    val difference = Mux(
      bothUnsigned,
      Mux(wa === 0.U && wb === 0.U, 0.U, least(most(wa.pad(8), wb.pad(8)) + 1.U, mbBits)),
      Mux(wa =/= 0.U && wb =/= 0.U, one, least(larger + (taken =/= 0.U), mbBits))
    )
    val lengthened = Mux(
      in.byScalar,
      Mux(wa === 0.U, 0.U, least(wa +& shiftCount, mbBits)),
      Mux(
        wa === 0.U,
        wb.pad(8),
        most(
          wb.pad(8),
          Mux(b.unsigned, least(wa +& Cat((0 until 6).map(n => wb > n.U).reverse), mbBits), mbBits)
        )
      )
    )
    val quotient = Mux(wb === 0.U, pa, most(least(pa + signed, mbBits), pb))
    val aligned = MuxCase(
      larger,
      Seq(
        shiftsLeft -> lengthened,
        shifts     -> Mux(in.byScalar, wa, most(wa, wb)).pad(8),
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
    val bits    = least(aligned, p.maxWidth.U)
    val inSlots = LaneWidths.slots(bits(6, 0), p.align)
    // Products and quotients take whole bytes.
    val size =
      if (p.align == 8) inSlots
      else
        Mux(
          kind.is(VariableFunction.Multiply, VariableFunction.Divide),
          LaneWidths.slots(bits(6, 0), 8) << log2Ceil(p.slotsOfByte),
          inSlots
        )
    Mux(in.active(i) && i.U < yields, size, 0.U)
  }

  io.count  := yields
  io.slotsA := VecInit(widthsA.map(LaneWidths.slots(_, p.align)))
  io.slotsB := VecInit(widthsB.map(LaneWidths.slots(_, p.align)))
  io.sizes  := VecInit(sizes)
}
