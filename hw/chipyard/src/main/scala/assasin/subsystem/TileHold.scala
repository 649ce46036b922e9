// SPDX-License-Identifier: BSD-3-Clause
package assasin.subsystem

import chisel3._
import freechips.rocketchip.prci.ClockAdapterNode
import freechips.rocketchip.tilelink.TLAdapterNode
import freechips.rocketchip.util.Location
import org.chipsalliance.cde.config.Parameters
import org.chipsalliance.diplomacy.bundlebridge.{BundleBridgeSink, BundleBridgeSource}
import org.chipsalliance.diplomacy.lazymodule.LazyModule

/** Lets a [[Drive]] hold a tile in reset while the bus goes on: it sits in the tile's clock and in the tile's way to
  * the bus. Before the tile is reset everything that it has begun on the bus has ended, so nobody waits for a tile that
  * has forgotten; a tile in reset owns no line of memory.
  */
class TileHold(implicit p: Parameters) extends LazyModule {

  /** The tile's clock and reset. */
  val clock = ClockAdapterNode()

  /** The tile's port to the bus. */
  val node = TLAdapterNode()

  /** The tile is to be in reset. */
  val hold = BundleBridgeSink[Bool]()

  val status = BundleBridgeSource(() => new TileHoldStatus)

  lazy val module = new TileHoldImp(this)
}

object TileHold {

  /** Where a subsystem keeps its own. */
  val Place: Location[TileHold] = Location("assasin_tile_hold")
}
