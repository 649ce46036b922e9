// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** What a path's sequencer does in a cycle, for counters: at most one of these, the first of them that holds. */
class PathActivity extends Bundle {

  /** It moves an element group on, or an element where these go one by one. */
  val beat = Bool()

  /** It waits for registers of older instructions; for the number of elements of a strip; for memory. */
  val hazard = Bool()
  val strip  = Bool()
  val memory = Bool()
}
