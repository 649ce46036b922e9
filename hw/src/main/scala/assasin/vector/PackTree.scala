// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** A string of up to 8 * 2^`level` bits; those from `length` on are 0. */
class PackString(level: Int) extends Bundle {
  val data   = UInt((8 << level).W)
  val length = UInt((level + 4).W)
}

/** Joins neighbouring strings (docs/varve/unit.md 5.2): one level of a tree whose leaves are bytes. */
object PackTree {

  /** Half as many strings, each twice as long: the odd ones follow the last bits of the even ones. */
  def join(strings: Seq[PackString], level: Int): Seq[PackString] =
    strings.grouped(2).toSeq.map { case Seq(low, high) =>
      val both = Wire(new PackString(level + 1))
      both.data   := low.data | BarrelShift.left(high.data, low.length, 16 << level)
      both.length := low.length +& high.length
      both
    }

  /** Levels `from` to `until` - 1. */
  def levels(strings: Seq[PackString], from: Int, until: Int): Seq[PackString] =
    (from until until).foldLeft(strings)((joined, level) => join(joined, level))
}
