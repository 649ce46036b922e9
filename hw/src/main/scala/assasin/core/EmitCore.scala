package assasin.core

import java.nio.file.{Files, Path}

import _root_.circt.stage.ChiselStage

/** Writes the pipeline alone, as the firmware processor has it, for synthesis estimates.
  *
  * Usage: EmitCore FILE
  */
object EmitCore {
  private val firtoolOptions = Array(
    "-disable-all-randomization",
    "-strip-debug-info",
    "-default-layer-specialization=disable",
    "--lowering-options=disallowLocalVariables,disallowPackedArrays"
  )

  def main(args: Array[String]): Unit = {
    require(args.length == 1, "usage: EmitCore FILE")
    val p    = CoreParams(imemBytes = 256 * 1024)
    val text = ChiselStage.emitSystemVerilog(new Core(p), firtoolOpts = firtoolOptions)
    Files.writeString(Path.of(args(0)), text)
  }
}
