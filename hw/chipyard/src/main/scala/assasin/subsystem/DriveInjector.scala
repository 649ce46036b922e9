// SPDX-License-Identifier: BSD-3-Clause
package assasin.subsystem

import assasin.soc.BoardIO
import freechips.rocketchip.amba.axi4.{AXI4Fragmenter, AXI4IdIndexer, AXI4ToTL, AXI4UserYanker}
import freechips.rocketchip.subsystem.{FBUS, HasTileNotificationSinks, PBUS}
import freechips.rocketchip.tilelink.{TLBuffer, TLFIFOFixer, TLFragmenter, TLWidthWidget}
import org.chipsalliance.cde.config.Parameters
import org.chipsalliance.diplomacy.lazymodule.LazyModule
import testchipip.soc.SubsystemInjector

/** Attaches the [[Drive]] that [[DriveKey]] asks for: registers to the periphery bus, memory to the front bus, so that
  * the tiles' caches are coherent with it, and the interrupt.
  */
case object DriveInjector
    extends SubsystemInjector((p, subsystem) => {
      implicit val q: Parameters = p
      p(DriveKey).foreach { params =>
        val fbus  = subsystem.locateTLBusWrapper(FBUS)
        val pbus  = subsystem.locateTLBusWrapper(PBUS)
        val hold  = subsystem.anyLocationMap.optional[TileHold](TileHold.Place)
        val drive = fbus { LazyModule(new Drive(params, hold.isDefined)).suggestName("drive") }
        pbus.coupleTo("drive") {
          drive.registers := TLFragmenter(4, pbus.blockBytes, holdFirstDeny = true) := TLWidthWidget(
            pbus.beatBytes
          ) := _
        }
        fbus.coupleFrom("drive") {
          (_
            := TLBuffer()
            := TLFIFOFixer(TLFIFOFixer.all)
            := TLWidthWidget(8)
            := AXI4ToTL()
            := AXI4UserYanker(Some(2))
            := AXI4Fragmenter()
            := AXI4IdIndexer(BoardIO.dramParams(params.soc).idBits)
            := drive.memory)
        }
        subsystem.ibus.fromSync := drive.interrupt
        subsystem match {
          case tiles: HasTileNotificationSinks => drive.waiting := tiles.tileWFIXbarNode
          case other =>
            throw new IllegalArgumentException(s"${other.name} has no tiles that the drive's firmware runs on")
        }
        hold.foreach { tile =>
          tile.hold      := drive.hold.get
          drive.held.get := tile.status
        }
      }
    })
