// SPDX-License-Identifier: BSD-3-Clause
package assasin.subsystem

import chisel3._
import freechips.rocketchip.diplomacy.InModuleBody
import freechips.rocketchip.subsystem.HasTileInputConstants
import org.chipsalliance.cde.config.{Field, Parameters}
import org.chipsalliance.diplomacy.bundlebridge.BundleBridgeSource
import testchipip.soc.SubsystemInjector

/** Where the tiles begin when no boot ROM says it. */
case object EntryKey extends Field[Option[BigInt]](None)

/** Gives the tiles the reset vector of [[EntryKey]]. */
case object EntryInjector
    extends SubsystemInjector((p, subsystem) => {
      implicit val q: Parameters = p
      (p(EntryKey), subsystem) match {
        case (Some(entry), tiles: HasTileInputConstants) =>
          val vector = BundleBridgeSource[UInt]()
          tiles.tileResetVectorNexusNode := vector
          InModuleBody { vector.bundle := entry.U }
        case _ =>
      }
    })
