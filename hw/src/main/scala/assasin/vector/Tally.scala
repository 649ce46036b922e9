// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.{Cat, Fill}

/** A counter's next value, when one may come and up to two may go in a cycle: by one addition. A sum of many numbers
  * takes several times as many LUTs.
  */
object Tally {
  def apply(count: UInt, comes: Bool, go: Seq[Bool]): UInt = {
    val bits = count.getWidth
    require(bits >= 2, s"$bits bits: choose 2 at least")
    require(go.size == 1 || go.size == 2, s"${go.size} that may go: choose 1 or 2")
    val less  = go.reduce(_ && _) && (go.size == 2).B || go.reduce(_ || _) && !comes
    val delta = Cat(Fill(bits - 1, less), go.foldLeft(comes)(_ ^ _))
    count + delta
  }
}
