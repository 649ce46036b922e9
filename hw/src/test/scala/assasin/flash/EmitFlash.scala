package assasin.flash

import assasin.SocParams
import circt.stage.ChiselStage

/** Emits FlashChannels for hw/bench/flash. Arguments: output directory, then configurations WAYS-PHYBYTES-CORES. */
object EmitFlash extends App {
  require(args.length >= 2, "usage: EmitFlash OUTDIR WAYS-PHYBYTES-CORES...")
  for (config <- args.tail) {
    val Array(ways, phyBytes, cores) = config.split('-').map(_.toInt)
    ChiselStage.emitSystemVerilogFile(
      new FlashChannel(SocParams(cores = cores, channels = 1, ways = ways, phyBytes = phyBytes)),
      args = Array("--target-dir", s"${args.head}/$config"),
      firtoolOpts = Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")
    )
  }
}
