// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.Cat

/** What [[SlotDivider]] does. */
object DividePhase {
  val NegateDividend = 0
  val NegateDivisor  = 1
  val Step           = 2
  val NegateQuotient = 3
}

class SlotDividerIO(bytes: Int) extends Bundle {

  /** [[DividePhase]]. */
  val phase = Input(UInt(2.W))

  /** Dividend, of which the quotient takes the place bit by bit; divisor; remainder, at first 0. */
  val a         = Input(Vec(bytes, UInt(8.W)))
  val b         = Input(Vec(bytes, UInt(8.W)))
  val remainder = Input(Vec(bytes, UInt(8.W)))

  /** Bytes that begin an element, that end one. */
  val first = Input(Vec(bytes, Bool()))
  val last  = Input(Vec(bytes, Bool()))

  /** At all bytes of an element: it is negated; it takes part in the step. */
  val negates = Input(Vec(bytes, Bool()))
  val runs    = Input(Vec(bytes, Bool()))

  /** The same behind this cycle. */
  val nextA         = Output(Vec(bytes, UInt(8.W)))
  val nextB         = Output(Vec(bytes, UInt(8.W)))
  val nextRemainder = Output(Vec(bytes, UInt(8.W)))
}

/** A bit of the quotients of elements of up to 8 whole bytes, without sign; or the negation of one of them.
  * Combinational.
  */
class SlotDivider(bytes: Int) extends Module {
  val io = IO(new SlotDividerIO(bytes))

  private val steps     = io.phase === DividePhase.Step.U
  private val ofDivisor = io.phase === DividePhase.NegateDivisor.U

  /** Elements moved up by a bit; `lowest` comes in at the first byte. */
  private def upwards(of: Seq[UInt], lowest: Seq[Bool]): Seq[UInt] = Seq.tabulate(bytes) { s =>
    Cat(of(s)(6, 0), if (s == 0) lowest(s) else Mux(io.first(s), lowest(s), of(s - 1)(7)))
  }

  private val highest = ElementSlots.fromLast(io.a.map(_(7)), io.last, 8)
  private val shifted = upwards(io.remainder, highest)
  private val adder   = Module(new SlotAdder(bytes, 8))
  adder.io.first   := io.first
  adder.io.carryIn := true.B
  for (s <- 0 until bytes) {
    adder.io.left(s)  := Mux(steps, shifted(s), 0.U)
    adder.io.right(s) := ~Mux(steps || ofDivisor, io.b(s), io.a(s))
  }

  // The bit that leaves the remainder's bytes counts too.
  private val fits = ElementSlots.fromLast(
    io.remainder.zip(adder.io.carryOut).map { case (byte, carry) => byte(7) || carry },
    io.last,
    8
  )
  private val moved = upwards(io.a, fits)
  for (s <- 0 until bytes) {
    val negated = Mux(io.negates(s), adder.io.sum(s), Mux(ofDivisor, io.b(s), io.a(s)))
    io.nextA(s) := Mux(steps, Mux(io.runs(s), moved(s), io.a(s)), Mux(ofDivisor, io.a(s), negated))
    io.nextB(s) := Mux(ofDivisor, negated, io.b(s))
    io.nextRemainder(s) := Mux(
      steps && io.runs(s),
      Mux(fits(s), adder.io.sum(s), shifted(s)),
      io.remainder(s)
    )
  }
}
