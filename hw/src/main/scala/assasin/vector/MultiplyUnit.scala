// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, RegEnable, log2Ceil}

class MultiplyUnitIO(p: VectorParams) extends Bundle {

  /** Operands are there. */
  val valid = Input(Bool())

  /** [[IntegerFunction]]. */
  val function = Input(UInt(IntegerFunction.bits.W))

  /** Rounding mode. */
  val vxrm = Input(UInt(2.W))

  /** log2 of the bytes of an element. */
  val eew = Input(UInt(2.W))

  /** Factors, and what a product is added to or subtracted from. */
  val a = Input(UInt(p.dLen.W))
  val b = Input(UInt(p.dLen.W))
  val c = Input(UInt(p.dLen.W))

  /** Two cycles after the operands. */
  val out = Output(UInt(p.dLen.W))

  /** At each byte: its element did not fit. */
  val saturated = Output(UInt(p.dBytes.W))
}

/** Products of the elements of an element group, with a sum. Three stages: products of halves, whole products, the
  * result; an element group a cycle.
  *
  * A lane of ELEN bits has a cell of 17 by 17 bits for every pair of its 16-bit halves. Elements of 16 bits use those
  * of equal halves, elements of 8 bits one each.
  */
class MultiplyUnit(p: VectorParams) extends Module {
  val io = IO(new MultiplyUnitIO(p))

  import IntegerFunction._
  private val maxLog = log2Ceil(p.eLen / 8)
  private val halves = p.eLen / 16
  private val lanes  = p.dLen / p.eLen

  /** Two stages behind the operands. */
  private class Late extends Bundle {
    val function = UInt(IntegerFunction.bits.W)
    val vxrm     = UInt(2.W)
    val eew      = UInt(2.W)
    val c        = UInt(p.dLen.W)
  }
  private val late = Wire(new Late)
  late.function := io.function
  late.vxrm     := io.vxrm
  late.eew      := io.eew
  late.c        := io.c

  private def high(function: UInt): Bool =
    Seq(MultiplyHighUnsigned, MultiplyHigh, MultiplyHighSignedUnsigned).map(function === _.U).reduce(_ || _)
  private val valid2 = RegNext(io.valid, false.B)
  private val late2  = RegEnable(late, io.valid)
  private val late3  = RegEnable(late2, valid2)

  // The low half of a product has the same bits for signed and unsigned factors.
  private val signedB = io.function === MultiplyHigh.U || io.function === MultiplyFraction.U
  private val signedA = signedB || io.function === MultiplyHighSignedUnsigned.U

  private def signed17(bits: UInt, sign: Bool): SInt = Cat(sign && bits(bits.getWidth - 1), bits).asSInt.pad(17)

  /** The cells side by side whose halves lie `distance` apart, those of `of`(0) lowest. Halves below an element's
    * highest are not negative, so only the last cell may be.
    */
  private def row(count: Int)(of: Int => SInt): UInt =
    Cat((0 until count).reverse.map(k => if (k == count - 1) of(k).asUInt else of(k)(31, 0)))

  /** What the cells of unequal halves add to the product of an element of 2^`log` bytes, number `element`. */
  private def cross(cells: IndexedSeq[SInt], log: Int, element: Int): UInt = {
    val n                    = 1 << (log - 1)
    def cell(i: Int, j: Int) = cells((element * n + i) * halves + element * n + j)
    val rows = (1 until n).map { distance =>
      val sum =
        row(n - distance)(k => cell(k + distance, k)).asSInt +& row(n - distance)(k => cell(k, k + distance)).asSInt
      (sum << (16 * distance)).pad(16 << log)((16 << log) - 1, 0)
    }
    rows.reduce((x, y) => (x + y)((16 << log) - 1, 0))
  }

  /** The products of a lane's elements of 2^`eew` bytes. */
  private def whole(cells: IndexedSeq[SInt], eew: UInt): UInt = {
    val bytes = Cat((0 until p.eLen / 8).reverse.map(k => cells(k)(15, 0)))
    val equal = Cat((0 until halves).reverse.map(i => cells(i * halves + i)(31, 0)))
    val base  = Mux(eew === 0.U, bytes, equal)
    // Elements of 32 bits, then of 64: the product of equal halves and the rest.
    (2 to maxLog).foldLeft(base) { (smaller, log) =>
      val bits = 16 << log
      Cat((0 until (p.eLen / 8 >> log)).reverse.map { element =>
        val rest = Mux(eew === log.U, cross(cells, log, element), 0.U(bits.W))
        val low  = if (log == 2) smaller else Mux(eew === log.U, equal, smaller)
        (low((element + 1) * bits - 1, element * bits) + rest)(bits - 1, 0)
      })
    }
  }

  private val products = for (lane <- 0 until lanes) yield {
    def byteOf(data: UInt, i: Int) = data(lane * p.eLen + 8 * i + 7, lane * p.eLen + 8 * i)
    def halfOf(data: UInt, i: Int) = data(lane * p.eLen + 16 * i + 15, lane * p.eLen + 16 * i)

    /** Whether half `i` is the highest of its element. */
    def isTop(i: Int): Bool =
      MuxLookup(io.eew, true.B)((1 to maxLog).map(log => log.U -> ((i + 1) % (1 << (log - 1)) == 0).B))
    val cells = for (i <- 0 until halves; j <- 0 until halves) yield {
      val k = i * halves + j
      val a = signed17(halfOf(io.a, i), signedA && isTop(i))
      val b = signed17(halfOf(io.b, j), signedB && isTop(j))
      val (x, y) =
        if (k >= p.eLen / 8) (a, b)
        else {
          val bytes = io.eew === 0.U
          (
            Mux(bytes, signed17(byteOf(io.a, k), signedA), a),
            Mux(bytes, signed17(byteOf(io.b, k), signedB), b)
          )
        }
      RegEnable(x * y, io.valid)
    }
    RegEnable(whole(cells, late2.eew), valid2)
  }

  // The result of each element size.
  private val product = Cat(products.reverse)
  private val isHigh  = high(late3.function)
  private val adds    = late3.function === MultiplyAdd.U
  private val minus   = late3.function === MultiplySubtract.U

  // Only the square of the most negative fraction does not fit.
  private val fraction = late3.function === MultiplyFraction.U
  private def overflows(bits: Int, i: Int): Bool =
    fraction && product((2 * i + 2) * bits - 1) =/= product((2 * i + 2) * bits - 2)
  private def bySize(of: (Int, Int) => UInt): UInt = MuxLookup(late3.eew, 0.U)((0 to maxLog).map { log =>
    log.U -> Cat((0 until (p.dBytes >> log)).reverse.map(of(log, _)))
  })
  private def both(log: Int, i: Int): UInt = product((i + 1) * (16 << log) - 1, i * (16 << log))
  private val part = bySize { (log, i) =>
    val bits  = 8 << log
    val whole = both(log, i)
    Mux(fraction, whole(2 * bits - 2, bits - 1), Mux(isHigh, whole(2 * bits - 1, bits), whole(bits - 1, 0)))
  }

  // At each byte, of its element: 1 is added; its highest byte; it did not fit.
  private val ups = bySize { (log, i) =>
    val bits  = 8 << log
    val whole = both(log, i)
    val up    = Rounding.increment(late3.vxrm, whole(bits - 1), whole(bits - 2), whole(bits - 3, 0).orR)
    Fill(1 << log, minus || (fraction && up))
  }
  private val tops     = bySize((log, _) => (BigInt(1) << ((1 << log) - 1)).U((1 << log).W))
  private val overflow = bySize((log, i) => Fill(1 << log, overflows(8 << log, i)))

  private val third = Mux(adds || minus, late3.c, 0.U)
  private val sum   = LaneSum(p, third, part ^ Fill(p.dLen, minus), tops, ups)
  io.out := Cat((0 until p.dBytes).reverse.map { i =>
    Mux(overflow(i), Cat(!tops(i), Fill(7, 1.U(1.W))), sum(8 * i + 7, 8 * i))
  })
  io.saturated := overflow
}
