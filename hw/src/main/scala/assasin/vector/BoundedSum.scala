// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** A sum of which only small values count: its lowest bits, the carry out of these, and whether a part of it had one
  * before. The last two are apart so that no logic follows the last carry.
  */
case class BoundedSum(low: UInt, carry: Bool, over: Bool) {

  /** The sum is not in `low`. */
  def isOver: Bool = carry || over

  private def +(other: BoundedSum): BoundedSum = {
    val sum = low +& other.low
    BoundedSum(sum(low.getWidth - 1, 0), sum(low.getWidth), isOver || other.isOver)
  }
}

object BoundedSum {

  /** Sums of the values up to each one by a parallel prefix network; `bits`: those of `low`, enough for each value. */
  def upToEach(values: Seq[UInt], bits: Int): Seq[BoundedSum] = {
    // After a step each sum covers twice as many values, those that end at its place.
    def sums(of: Seq[BoundedSum], distance: Int): Seq[BoundedSum] =
      if (distance >= of.size) of
      else
        sums(
          of.zipWithIndex.map { case (value, i) =>
            if ((i / distance) % 2 == 1) value + of(i / distance * distance - 1) else value
          },
          2 * distance
        )
    sums(values.map(value => BoundedSum(value.pad(bits)(bits - 1, 0), false.B, false.B)), 1)
  }
}
