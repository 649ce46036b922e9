// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill, MuxLookup, log2Ceil}

class DivideUnitIO(p: VectorParams) extends Bundle {

  /** Begins with these operands, which stay until `done`. */
  val start = Input(Bool())

  /** The quotient, else the remainder. */
  val quotient = Input(Bool())
  val signed   = Input(Bool())

  /** log2 of the bytes of an element. */
  val eew = Input(UInt(2.W))

  /** Dividends and divisors. */
  val a = Input(UInt(p.dLen.W))
  val b = Input(UInt(p.dLen.W))

  /** For one cycle: `out` is the result. */
  val done = Output(Bool())
  val out  = Output(UInt(p.dLen.W))

  val clear = Input(Bool())
}

/** Quotients and remainders of the elements of an element group, a bit a cycle. A divider for every 64 bits works on
  * their elements one after the other: 64 / SEW * (SEW + 2) + 1 cycles. A divisor of 0 and the quotient that does not
  * fit give what the V specification says.
  */
class DivideUnit(p: VectorParams) extends Module {
  val io = IO(new DivideUnitIO(p))

  private val maxLog     = log2Ceil(p.eLen / 8)
  private val sliceBytes = 8

  // One element: load, a step for every bit, store.
  private val running = RegInit(false.B)
  private val loading = Reg(Bool())
  private val element = Reg(UInt(log2Ceil(sliceBytes).W))
  private val left    = Reg(UInt(log2Ceil(p.eLen + 1).W))
  private val storing = running && !loading && left === 0.U
  private val isLast  = element === ((sliceBytes.U >> io.eew).asUInt - 1.U)
  private val done    = RegInit(false.B)
  private val bits    = (8.U << io.eew)(log2Ceil(p.eLen + 1) - 1, 0)

  running := !io.clear && (io.start || (running && !(storing && isLast)))
  done    := !io.clear && storing && isLast
  io.done := done
  when(io.start) {
    element := 0.U
    loading := true.B
  }.elsewhen(running) {
    loading               := storing
    left                  := Mux(loading, bits, left - 1.U)
    when(storing)(element := element + 1.U)
  }

  /** The element's place: a one at each of its bytes. */
  private val place =
    MuxLookup(io.eew, 0.U(sliceBytes.W))((0 to maxLog).map { log =>
      log.U -> (((BigInt(1) << (1 << log)) - 1).U << (element << log)(2, 0))(sliceBytes - 1, 0)
    })

  private val slices = for (slice <- 0 until p.dLen / 64) yield {
    val a = io.a(64 * slice + 63, 64 * slice)
    val b = io.b(64 * slice + 63, 64 * slice)

    // The element with its sign or zeros in front.
    def pick(data: UInt): (UInt, Bool) = {
      val at = MuxLookup(io.eew, 0.U(p.eLen.W))((0 to maxLog).map { log =>
        val width  = 8 << log
        val chosen = VecInit(Seq.tabulate(64 / width)(i => data((i + 1) * width - 1, i * width)))
        val value  = if (width == 64) chosen(0) else chosen(element(2 - log, 0))
        log.U -> Cat(io.signed && value(width - 1), value).asSInt.pad(p.eLen + 1).asUInt(p.eLen - 1, 0)
      })
      (at, io.signed && at(p.eLen - 1))
    }
    val (dividend, dividendMinus)                = pick(a)
    val (divisor, divisorMinus)                  = pick(b)
    def negative(value: UInt, minus: Bool): UInt = ((value ^ Fill(p.eLen, minus)) + minus)(p.eLen - 1, 0)

    // The dividend leaves `low` at the top of an element's bits, the quotient enters below.
    val by        = Reg(UInt(p.eLen.W))
    val low       = Reg(UInt(p.eLen.W))
    val remainder = Reg(UInt(p.eLen.W))
    val minus     = Reg(Bool())
    val top       = MuxLookup(io.eew, low(7))((1 to maxLog).map(log => log.U -> low((8 << log) - 1)))
    val next      = Cat(remainder, top)
    val taken     = next >= by
    when(running) {
      when(loading) {
        by        := negative(divisor, divisorMinus)
        low       := negative(dividend, dividendMinus)
        remainder := 0.U
        // A divisor of 0 gives a quotient of ones.
        minus := Mux(io.quotient, (dividendMinus ^ divisorMinus) && divisor =/= 0.U, dividendMinus)
      }.elsewhen(!storing) {
        low       := Cat(low(p.eLen - 2, 0), taken)
        remainder := Mux(taken, next - by, next)(p.eLen - 1, 0)
      }
    }
    val value  = negative(Mux(io.quotient, low, remainder), minus)
    val result = Reg(Vec(sliceBytes, UInt(8.W)))
    for (i <- 0 until sliceBytes) when(storing && place(i)) {
      result(i) := MuxLookup(io.eew, value(7, 0))((1 to maxLog).map { log =>
        val at = 8 * (i % (1 << log))
        log.U -> value(at + 7, at)
      })
    }
    result.asUInt
  }
  io.out := Cat(slices.reverse)
}
