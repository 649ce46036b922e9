// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.log2Ceil

/** Element i of vv.index is a multiple of the step more than the scalar. That changes the bits above `width` by one at
  * most.
  */
object IndexOffset {
  def width(p: VectorParams): Int = log2Ceil(p.elements) + 5

  /** What is added for this element, modulo 2^`width`. */
  def apply(p: VectorParams, step: UInt, element: Int): UInt = VecInit(Seq.tabulate(32) { bits =>
    val multiple = (if (bits < 16) bits else bits - 32) * element
    BigInt(multiple & ((1 << width(p)) - 1)).U(width(p).W)
  })(step)
}
