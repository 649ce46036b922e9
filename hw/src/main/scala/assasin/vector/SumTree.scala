// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** Sums of many signed numbers by a tree of carry chains. yosys joins sums that have one user to one of many numbers,
  * and adds these bit by bit in LUTs before a last chain, which takes more LUTs. Complements between the levels, which
  * cost nothing, keep the chains apart.
  */
object SumTree {

  /** `raw` is the sum, or the sum's negative, and `more`. */
  private case class Part(raw: UInt, negative: Boolean, more: Int)

  /** The sum and a constant, modulo 2^`width`; the constant. `width` holds both. */
  def apply(terms: Seq[UInt], width: Int): (UInt, Int) = {
    require(terms.nonEmpty, "no terms")
    def sized(value: UInt, bits: Int): UInt = value.asSInt.pad(bits)(bits - 1, 0)
    def level(parts: Seq[Part]): Part =
      if (parts.size == 1) parts.head
      else
        level(
          parts
            .grouped(2)
            .map {
              case Seq(x, y) =>
                val bits = width min ((x.raw.getWidth max y.raw.getWidth) + 2)
                Part(~sized(x.raw, bits) + ~sized(y.raw, bits), !x.negative, -(x.more + y.more) - 2)
              case Seq(x) => Part(~x.raw, !x.negative, -x.more - 1)
            }
            .toSeq
        )
    val all = level(terms.map(Part(_, negative = false, 0)))
    if (all.negative) (sized(~all.raw, width), -all.more - 1) else (sized(all.raw, width), all.more)
  }
}
