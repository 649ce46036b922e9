// SPDX-License-Identifier: BSD-3-Clause
package assasin.subsystem

import chisel3._

/** What a [[TileHold]] tells of its tile. */
class TileHoldStatus extends Bundle {

  /** The tile is in reset or on the way to it. */
  val stopped = Bool()

  /** The tile has nothing under way on the bus. */
  val idle = Bool()
}
