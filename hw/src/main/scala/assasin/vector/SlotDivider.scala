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

class SlotDividerIO(slots: Int) extends Bundle {

  /** [[DividePhase]]. */
  val phase = Input(UInt(2.W))

  /** Dividend, of which the quotient takes the place bit by bit; divisor; remainder, at first 0. */
  val a         = Input(Vec(slots, UInt(8.W)))
  val b         = Input(Vec(slots, UInt(8.W)))
  val remainder = Input(Vec(slots, UInt(8.W)))

  /** Slots that begin an element, that end one. */
  val first = Input(Vec(slots, Bool()))
  val last  = Input(Vec(slots, Bool()))

  /** At all slots of an element: it is negated; it takes part in the step. */
  val negates = Input(Vec(slots, Bool()))
  val runs    = Input(Vec(slots, Bool()))

  /** The same behind this cycle. */
  val nextA         = Output(Vec(slots, UInt(8.W)))
  val nextB         = Output(Vec(slots, UInt(8.W)))
  val nextRemainder = Output(Vec(slots, UInt(8.W)))
}

/** A bit of the quotients of elements of up to 8 slots of 8 bits, without sign; or the negation of one of them.
  * Combinational.
  */
class SlotDivider(slots: Int) extends Module {
  val io = IO(new SlotDividerIO(slots))

  private val steps     = io.phase === DividePhase.Step.U
  private val ofDivisor = io.phase === DividePhase.NegateDivisor.U

  /** Elements moved up by a bit; `lowest` comes in at the first slot. */
  private def upwards(of: Seq[UInt], lowest: Seq[Bool]): Seq[UInt] = Seq.tabulate(slots) { s =>
    Cat(of(s)(6, 0), if (s == 0) lowest(s) else Mux(io.first(s), lowest(s), of(s - 1)(7)))
  }

  private val highest = ElementSlots.fromLast(io.a.map(_(7)), io.last)
  private val shifted = upwards(io.remainder, highest)
  private val adder   = Module(new SlotAdder(slots))
  adder.io.first   := io.first
  adder.io.carryIn := true.B
  for (s <- 0 until slots) {
    adder.io.left(s)  := Mux(steps, shifted(s), 0.U)
    adder.io.right(s) := ~Mux(steps || ofDivisor, io.b(s), io.a(s))
  }

  // The bit that leaves the remainder's slots counts too.
  private val fits = ElementSlots.fromLast(
    io.remainder.zip(adder.io.carryOut).map { case (byte, carry) => byte(7) || carry },
    io.last
  )
  private val moved = upwards(io.a, fits)
  for (s <- 0 until slots) {
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
