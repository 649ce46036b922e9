// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** Sums of all values before each one, and of all, modulo 2^`width`: by a parallel prefix network. */
object PrefixSum {
  def apply(values: Seq[UInt], width: Int): Seq[UInt] = {
    require(values.nonEmpty, "no values")

    // After a step each sum covers twice as many values, those that end at its place.
    def sums(of: Seq[UInt], distance: Int): Seq[UInt] =
      if (distance >= of.size) of
      else
        sums(
          of.zipWithIndex.map { case (value, i) =>
            // The half of each block that is above takes the sum of the half below.
            if ((i / distance) % 2 == 1) (value + of(i / distance * distance - 1))(width - 1, 0) else value
          },
          2 * distance
        )
    0.U(width.W) +: sums(values.map(_.pad(width)(width - 1, 0)), 1)
  }
}
