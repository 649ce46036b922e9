// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.{Emission, SocParams}
import circt.stage.ChiselStage
import java.nio.file.Paths

/** Emits SectorPaths for hw/bench/sector. Arguments: output directory, then configurations PHYBYTES-T,T,... with the
  * strengths of the code, or PHYBYTES-none for a path without one.
  */
object EmitSector extends App {
  require(args.length >= 2, "usage: EmitSector OUTDIR PHYBYTES-T,T,...|PHYBYTES-none ...")
  for (config <- args.tail) {
    val Array(phyBytes, strengths) = config.split('-')
    val ecc                        = if (strengths == "none") Nil else strengths.split(',').map(_.toInt).toSeq
    Emission.strict { strictly =>
      ChiselStage.emitSystemVerilogFile(
        new SectorPath(SocParams(cores = 2, channels = 1, ways = 4, phyBytes = phyBytes.toInt, ecc = ecc)),
        Array("--throw-on-first-error", "--target-dir", s"${args.head}/$config") ++ strictly,
        Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")
      )
    }
    Emission.addCells(Paths.get(args.head, config))
  }
}
