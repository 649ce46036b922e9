package assasin.flash

import assasin.SocParams
import circt.stage.ChiselStage

/** Emits one FlashChannel for its bench. Arguments: output directory, ways, phyBytes, cores. */
object EmitFlash extends App {
  require(args.length == 4, "usage: EmitFlash OUTDIR WAYS PHY_BYTES CORES")
  private val params = SocParams(cores = args(3).toInt, channels = 1, ways = args(1).toInt, phyBytes = args(2).toInt)
  ChiselStage.emitSystemVerilogFile(
    new FlashChannel(params),
    args = Array("--target-dir", args(0)),
    firtoolOpts = Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")
  )
}
