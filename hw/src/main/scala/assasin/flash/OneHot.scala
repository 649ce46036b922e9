// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import chisel3._

/** Picks among request bits. */
object OneHot {

  /** The lowest set bit of `req`, one-hot; 0 when there is none. */
  def lowest(req: UInt): UInt = req & (~req + 1.U)

  /** The next set bit of `req` above the one-hot `last`, wrapping round; one-hot, 0 when there is none. */
  def after(req: UInt, last: UInt): UInt = {
    val above = req & ~(last | (last - 1.U))
    lowest(Mux(above.orR, above, req))
  }
}
