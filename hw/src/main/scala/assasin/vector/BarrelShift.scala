// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** Shifts by an amount that is not known before, two bits of the amount at a time: a LUT chooses among four bits. Bits
  * from outside are 0.
  */
object BarrelShift {

  /** To the right; the lowest `keep` bits. */
  def right(data: UInt, amount: UInt, keep: Int): UInt = {
    val zero = false.B
    def steps(bits: Seq[Bool], left: Int): Seq[Bool] =
      if (left == 0) bits.take(keep)
      else {
        val low                    = 0 max (left - 2)
        def from(place: Int): Bool = if (place < bits.size) bits(place) else zero
        // What the lower bits of the amount still need.
        val needed = keep + (1 << low) - 1
        val moved = Seq.tabulate(needed) { i =>
          MuxTree(amount(left - 1, low), Seq.tabulate(1 << (left - low))(k => from(i + (k << low))))
        }
        steps(moved, low)
      }
    VecInit(steps(data.asBools.padTo(keep, zero), amount.getWidth)).asUInt
  }

  /** To the left; `keep` bits. */
  def left(data: UInt, amount: UInt, keep: Int): UInt = {
    val zero = false.B
    def steps(bits: Seq[Bool], low: Int): Seq[Bool] =
      if (low >= amount.getWidth) bits.padTo(keep, zero)
      else {
        val high                   = amount.getWidth min (low + 2)
        def from(place: Int): Bool = if (bits.indices.contains(place)) bits(place) else zero
        val most                   = keep min (bits.size + (((1 << (high - low)) - 1) << low))
        val moved = Seq.tabulate(most) { i =>
          MuxTree(amount(high - 1, low), Seq.tabulate(1 << (high - low))(k => from(i - (k << low))))
        }
        steps(moved, high)
      }
    VecInit(steps(data.asBools, 0).take(keep)).asUInt
  }
}
