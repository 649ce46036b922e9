// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._
import chisel3.util.MuxLookup

/** Fixed-point rounding of a value whose low bits are dropped (V specification 3.8). */
object Rounding {

  /** Whether 1 is added to the bits that remain.
    *
    * @param vxrm
    *   0 to nearest up, 1 to nearest even, 2 down, 3 to odd
    * @param low
    *   the lowest bit that remains
    * @param guard
    *   the highest bit that is dropped
    * @param sticky
    *   a lower one is 1
    */
  def increment(vxrm: UInt, low: Bool, guard: Bool, sticky: Bool): Bool = MuxLookup(vxrm, guard)(
    Seq(1.U -> (guard && (sticky || low)), 2.U -> false.B, 3.U -> (!low && (guard || sticky)))
  )
}
