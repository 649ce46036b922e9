// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** Where an instruction that packs or adds up stands. */
class StripPlace extends Bundle {

  /** Of which strip it is: bit 0 of the strip's number. */
  val strip = Bool()

  /** Its register was made in the strip, by an instruction that tells its number of elements: it does not end the strip
    * any earlier.
    */
  val sure = Bool()
}
