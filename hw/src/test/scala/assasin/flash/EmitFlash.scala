// SPDX-License-Identifier: BSD-3-Clause
package assasin.flash

import assasin.{Architecture, Emission, SocParams}
import circt.stage.ChiselStage
import java.nio.file.Paths

/** Emits FlashChannels for hw/bench/flash. Arguments: output directory, then configurations
  * WAYS-PHYBYTES-CORES-KIND-STRENGTHS[-LUNS]. KIND: `shared`, or `local` for a channel-local chip with as many channels
  * as cores. STRENGTHS: of the code, such as 24+40, or `none`. LUNS that work at the same time: 2 if not given.
  */
object EmitFlash extends App {
  require(args.length >= 2, "usage: EmitFlash OUTDIR WAYS-PHYBYTES-CORES-KIND-STRENGTHS[-LUNS]...")
  for (config <- args.tail) {
    val numbers                    = config.split('-').toSeq
    val Seq(ways, phyBytes, cores) = numbers.take(3).map(_.toInt)
    val local                      = numbers(3) == "local"
    val ecc                        = if (numbers(4) == "none") Seq() else numbers(4).split('+').map(_.toInt).toSeq
    val luns                       = numbers.lift(5).fold(2)(_.toInt)
    val channels                   = if (local) cores else 1
    val arch                       = if (local) Architecture.ChannelLocal else Architecture.AssasinSb
    Emission.strict { strictly =>
      ChiselStage.emitSystemVerilogFile(
        new FlashChannel(
          SocParams(
            cores = cores,
            channels = channels,
            ways = ways,
            luns = luns,
            phyBytes = phyBytes,
            ecc = ecc,
            arch = arch
          )
        ),
        Array("--target-dir", s"${args.head}/$config") ++ strictly,
        Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")
      )
    }
    Emission.addCells(Paths.get(args.head, config))
  }
}
