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

  /** Product of an element of 2^`log` bytes, number `element` of lane `lane`, of the products of its halves. */
  private def whole(cells: IndexedSeq[SInt], log: Int, element: Int): UInt = {
    val bits = 16 << log
    if (log == 0) cells(element)(bits - 1, 0)
    else {
      val n     = 1 << (log - 1)
      val first = element * n
      val terms = for (i <- 0 until n; j <- 0 until n) yield {
        val cell = cells((first + i) * halves + first + j)
        (cell.pad(bits) << (16 * (i + j)))(bits - 1, 0)
      }
      terms.reduce((x, y) => (x + y)(bits - 1, 0))
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
    RegEnable(
      MuxLookup(late2.eew, 0.U((2 * p.eLen).W))((0 to maxLog).map { log =>
        log.U -> Cat((0 until (p.eLen / 8 >> log)).map(whole(cells, log, _)).reverse)
      }),
      valid2
    )
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
  io.out := MuxLookup(late3.eew, 0.U)((0 to maxLog).map { log =>
    val bits = 8 << log
    log.U -> Cat((0 until p.dLen / bits).map { i =>
      val both = product((2 * i + 2) * bits - 1, 2 * i * bits)
      val part = Mux(fraction, both(2 * bits - 2, bits - 1), Mux(isHigh, both(2 * bits - 1, bits), both(bits - 1, 0)))
      val up   = Rounding.increment(late3.vxrm, both(bits - 1), both(bits - 2), both(bits - 3, 0).orR)
      val c    = late3.c((i + 1) * bits - 1, i * bits)
      val sum  = Mux(adds || minus, c, 0.U) + (part ^ Fill(bits, minus)) + (minus || (fraction && up))
      Mux(overflows(bits, i), Fill(bits - 1, 1.U(1.W)).pad(bits), sum(bits - 1, 0))
    }.reverse)
  })
  io.saturated := MuxLookup(late3.eew, 0.U)((0 to maxLog).map { log =>
    log.U -> Cat((0 until (p.dBytes >> log)).map(i => Fill(1 << log, overflows(8 << log, i))).reverse)
  })
}
