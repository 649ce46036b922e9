// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.Cat

/** Sums of elements of an element group. */
object LaneSum {

  /** `a` + `b` + carry of each element, modulo its bits.
    *
    * One adder a lane of ELEN bits with a bit above each byte: inside an element that bit is 1 + 0, so the carry
    * passes; above an element's highest byte it is twice the carry into the next element.
    *
    * @param tops
    *   the highest byte of each element
    * @param carries
    *   at the lowest byte of each element: 1 is added. Those of other bytes do not count
    */
  def apply(p: VectorParams, a: UInt, b: UInt, tops: UInt, carries: UInt): UInt = {
    val laneBytes = p.eLen / 8
    Cat((0 until p.dLen / p.eLen).reverse.map { lane =>
      val from = lane * laneBytes
      val bytes = (from until from + laneBytes).map { i =>
        // Above the lane there is nothing to carry into.
        val next = if (i + 1 < from + laneBytes) carries(i + 1) else false.B
        (Cat(!tops(i) || next, a(8 * i + 7, 8 * i)), Cat(tops(i) && next, b(8 * i + 7, 8 * i)))
      }
      val sum = Cat(bytes.reverse.map(_._1)) + Cat(bytes.reverse.map(_._2)) + carries(from)
      Cat((0 until laneBytes).reverse.map(i => sum(9 * i + 7, 9 * i)))
    })
  }
}
