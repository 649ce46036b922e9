// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, log2Ceil}

/** Compares and sums of numbers of a few bits as plain logic. Synthesis would put each on a carry chain, whose two ends
  * take longer than the two or three LUTs that these numbers need.
  */
object ShortNumbers {

  /** Whether x is below y. */
  def less(x: UInt, y: UInt): Bool = {
    val bits = x.getWidth max y.getWidth
    // Of each part of the numbers, from the lowest bits up: x is below y there; both are the same.
    def joined(parts: Seq[(Bool, Bool)]): Bool =
      if (parts.size == 1) parts.head._1
      else
        joined(parts.grouped(2).toSeq.map {
          case Seq((low, lowSame), (high, highSame)) => (high || highSame && low, highSame && lowSame)
          case single                                => single.head
        })
    joined(Seq.tabulate(bits) { i =>
      val (a, b) = (x.pad(bits)(i), y.pad(bits)(i))
      (!a && b, a === b)
    })
  }

  /** Of numbers modulo a power of two, of which fewer than half lie between two: whether x is before y. */
  def before(x: UInt, y: UInt): Bool = {
    val top = x.getWidth - 1
    require(y.getWidth == top + 1, s"${top + 1} and ${y.getWidth} bits: choose the same")
    x(top) ^ y(top) ^ less(x(top - 1, 0), y(top - 1, 0))
  }

  /** From so many bits on a carry chain is as good. */
  private val most                           = 8
  private def lessOf(x: UInt, y: UInt): Bool = if ((x.getWidth max y.getWidth) > most) x < y else less(x, y)

  /** Whether a number of many bits is below one of fewer, or above it: the bits that only it has are 0, or not. A
    * comparison of all bits would have an inverter for each of these.
    */
  def isBelow(wide: UInt, narrow: UInt): Bool = {
    val bits = narrow.getWidth
    if (wide.getWidth <= bits) lessOf(wide, narrow)
    else !wide(wide.getWidth - 1, bits).orR && lessOf(wide(bits - 1, 0), narrow)
  }
  def isBelow(wide: SInt, narrow: UInt): Bool = {
    val top = wide.getWidth - 1
    wide(top) || isBelow(wide(top - 1, 0), narrow)
  }
  def isAbove(wide: UInt, narrow: UInt): Bool = {
    val bits = narrow.getWidth
    if (wide.getWidth <= bits) lessOf(narrow, wide)
    else wide(wide.getWidth - 1, bits).orR || lessOf(narrow, wide(bits - 1, 0))
  }
  def isAbove(wide: SInt, narrow: UInt): Bool = {
    val top = wide.getWidth - 1
    !wide(top) && isAbove(wide(top - 1, 0), narrow)
  }

  /** Whether x is above 0. */
  def isPositive(x: SInt): Bool = !x(x.getWidth - 1) && x(x.getWidth - 2, 0).orR

  /** Whether x is above 2^`log`. */
  def abovePower(x: UInt, log: Int): Bool = {
    val bits                     = x.getWidth
    def any(high: Int, low: Int) = if (high >= low) x(high, low).orR else false.B
    if (log >= bits) false.B else any(bits - 1, log + 1) || x(log) && any(log - 1, 0)
  }

  /** x + `one`, one bit longer. */
  def increment(x: UInt, one: Bool): UInt = {
    val carries = one +: (0 until x.getWidth).map(i => one && x(i, 0).andR)
    Cat(carries.last +: (0 until x.getWidth).reverse.map(i => x(i) ^ carries(i)))
  }

  /** x and one for each of `more`, of which there are two at most, divided by `by`, a power of two, and rounded up. */
  def dividedUp(x: UInt, by: Int, more: Bool*): UInt = {
    val log = log2Ceil(by)
    require(by == 1 << log, s"by = $by: choose a power of two")
    require(more.size <= 2, s"${more.size} of more: choose 2 at most")
    val high = (x >> log).asUInt
    // What the bits that are cut and `more` add to the quotient.
    val rest = more ++ (if (log == 0) Nil else x(log - 1, 0).asBools)
    def adds(quotient: Int): Bool =
      (0 until (1 << rest.size))
        .filter(bits => ((bits >> more.size) + Integer.bitCount(bits % (1 << more.size)) + by - 1) / by == quotient)
        .map(bits => rest.zipWithIndex.map { case (bit, i) => bit === ((bits >> i) % 2 == 1).B }.reduce(_ && _))
        .foldLeft(false.B)(_ || _)
    if (rest.isEmpty) x
    else Mux(adds(2), increment(high >> 1, true.B) ## high(0), increment(high, adds(1)))
  }
}
