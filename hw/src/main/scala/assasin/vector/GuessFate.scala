// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** What becomes of all that was done on a guess, from this cycle on: it holds, or it is dropped and done again. Never
  * both at once.
  */
class GuessFate extends Bundle {
  val confirm = Bool()
  val redo    = Bool()
}
