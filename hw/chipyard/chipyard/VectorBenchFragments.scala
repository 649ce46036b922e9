// SPDX-License-Identifier: BSD-3-Clause
package chipyard.assasindrive

import freechips.rocketchip.devices.tilelink.BootROMLocated
import freechips.rocketchip.subsystem.PBUS
import freechips.rocketchip.tilelink.TLFragmenter
import freechips.rocketchip.util.SystemFileName
import org.chipsalliance.cde.config.{Config, Parameters}
import org.chipsalliance.diplomacy.lazymodule.LazyModule
import testchipip.soc.{SubsystemInjector, SubsystemInjectorKey}

/** Attaches a [[SimReport]]. */
case object ReportInjector
    extends SubsystemInjector((p, subsystem) => {
      implicit val q: Parameters = p
      val pbus                   = subsystem.locateTLBusWrapper(PBUS)
      val report                 = pbus { LazyModule(new SimReport(pbus.beatBytes)).suggestName("report") }
      pbus.coupleTo("report") { report.node := TLFragmenter(pbus.beatBytes, pbus.blockBytes) := _ }
    })

class WithReport
    extends Config((_, _, up) => { case SubsystemInjectorKey => up(SubsystemInjectorKey) + ReportInjector })

/** The boot ROM is the program that ASSASIN_PROGRAM names, a binary that begins at its first byte. */
class WithProgramRom
    extends Config((_, _, up) => { case BootROMLocated(where) =>
      val program = sys.env.getOrElse("ASSASIN_PROGRAM", throw new IllegalArgumentException("set ASSASIN_PROGRAM"))
      up(BootROMLocated(where)).map(
        _.copy(hang = 0x10000, appendDTB = false, contentFileName = SystemFileName(program))
      )
    })
