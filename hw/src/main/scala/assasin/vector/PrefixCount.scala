// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, log2Ceil}

/** Counts of ones, of all prefixes at once. */
object PrefixCount {

  /** Element i: how many of the bits 0 to i - 1 are 1; as many elements as there are bits, and one for all of them. A
    * parallel prefix of log2 steps.
    */
  def apply(bits: UInt): Seq[UInt] = {
    val n = bits.getWidth
    require(n >= 1, "no bits")
    val width = log2Ceil(n + 1)

    // After a step each sum covers twice as many bits, those that end at its place.
    def sums(values: Seq[UInt], distance: Int): Seq[UInt] =
      if (distance >= n) values
      else
        sums(
          values.zipWithIndex.map { case (value, i) =>
            // The half of each block that is above takes the sum of the half below.
            if ((i / distance) % 2 == 1) (value + values(i / distance * distance - 1))(width - 1, 0) else value
          },
          2 * distance
        )
    0.U(width.W) +: sums(bits.asBools.map(Cat(0.U((width - 1).W), _)), 1)
  }
}
