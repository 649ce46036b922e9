package assasin.flash

import assasin.{Architecture, Emission, SocParams}
import circt.stage.ChiselStage

/** Emits FlashChannels for hw/bench/flash. Arguments: output directory, then configurations WAYS-PHYBYTES-CORES, or
  * WAYS-PHYBYTES-CORES-local for a channel-local chip with as many channels as cores.
  */
object EmitFlash extends App {
  require(args.length >= 2, "usage: EmitFlash OUTDIR WAYS-PHYBYTES-CORES[-local]...")
  for (config <- args.tail) {
    val local                        = config.endsWith("-local")
    val Array(ways, phyBytes, cores) = config.stripSuffix("-local").split('-').map(_.toInt)
    val channels                     = if (local) cores else 1
    val arch                         = if (local) Architecture.ChannelLocal else Architecture.AssasinSb
    Emission.strict { strictly =>
      ChiselStage.emitSystemVerilogFile(
        new FlashChannel(
          SocParams(cores = cores, channels = channels, ways = ways, phyBytes = phyBytes, arch = arch)
        ),
        Array("--target-dir", s"${args.head}/$config") ++ strictly,
        Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")
      )
    }
  }
}
