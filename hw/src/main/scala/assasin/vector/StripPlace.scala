// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import chisel3._

/** Where an instruction of VarVE-full stands. */
class StripPlace extends Bundle {

  /** Of which strip it is: the strip's number modulo [[StripPlace.strips]]. */
  val strip = UInt(StripPlace.stripBits.W)

  /** Of one that packs or adds up: its register was made in the strip, by an instruction that tells its number of
    * elements: it does not end the strip any earlier.
    */
  val sure = Bool()
}

object StripPlace {

  /** Strips are told apart as long as NumE of one is still asked for. */
  val stripBits = 3
  val strips    = 1 << stripBits
}
