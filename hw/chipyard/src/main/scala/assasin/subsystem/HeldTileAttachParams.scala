// SPDX-License-Identifier: BSD-3-Clause
package assasin.subsystem

import freechips.rocketchip.subsystem.{Attachable, CanAttachTile, RocketCrossingParams}
import freechips.rocketchip.tile.{RocketTile, RocketTileParams, TilePRCIDomain}
import org.chipsalliance.cde.config.Parameters
import org.chipsalliance.diplomacy.lazymodule.LazyModule

/** A Rocket tile that is in reset while the drive's CTRL.RESET.FW is set: its way to the bus and its clock lead through
  * a [[TileHold]].
  */
case class HeldTileAttachParams(tileParams: RocketTileParams, crossingParams: RocketCrossingParams)
    extends CanAttachTile {
  type TileType = RocketTile

  private def holdOf(context: Attachable): TileHold = context.anyLocationMap.required[TileHold](TileHold.Place)

  override def connect(domain: TilePRCIDomain[RocketTile], context: TileContextType): Unit = {
    implicit val p: Parameters = context.p
    val hold                   = domain { LazyModule(new TileHold) }
    context.anyLocationMap += (TileHold.Place -> hold)
    super.connect(domain, context)
  }

  override def connectMasterPorts(domain: TilePRCIDomain[RocketTile], context: Attachable): Unit = {
    implicit val p: Parameters = context.p
    val bus                    = context.locateTLBusWrapper(crossingParams.master.where)
    bus.coupleFrom(tileParams.baseName) {
      _ :=* crossingParams.master.injectNode(context) :=* holdOf(context).node :=* domain.crossMasterPort(
        crossingParams.crossingType
      )
    }
  }

  override def connectPRC(domain: TilePRCIDomain[RocketTile], context: TileContextType): Unit = {
    implicit val p: Parameters = context.p
    domain.clockNode := context.locateTLBusWrapper(crossingParams.master.where).fixedClockNode
    domain {
      domain.element_reset_domain.clockNode := holdOf(context).clock := domain.clockNode
    }
  }
}
