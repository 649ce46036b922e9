// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.log2Ceil

/** One of several values by its number, as a tree of multiplexers of two. Synthesis puts four values on a LUT then; of
  * an indexed Vec, which is emitted as a case statement, it decodes the number and gates each value, which takes more
  * LUTs. A number without a value gives any of them.
  */
object MuxTree {
  def apply[T <: Data](index: UInt, values: Seq[T]): T = {
    require(values.nonEmpty, "no values")
    val bits = log2Ceil(values.size)
    require(index.getWidth >= bits, s"${index.getWidth} bits for ${values.size} values: choose $bits at least")
    choose(index, bits, values)
  }

  private def choose[T <: Data](index: UInt, bits: Int, values: Seq[T]): T =
    if (values.size == 1) values.head
    else {
      val half = 1 << (bits - 1)
      if (values.size <= half) choose(index, bits - 1, values)
      else Mux(index(bits - 1), choose(index, bits - 1, values.drop(half)), choose(index, bits - 1, values.take(half)))
    }
}
