// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import java.nio.file.{Files, Path}

import _root_.circt.stage.ChiselStage

import assasin.{CoreExtensions, Emission}

/** Writes the pipeline alone, as the firmware processor has it, for synthesis estimates; `corex` is the one with all
  * extensions.
  *
  * Usage: EmitCore core|corex FILE
  */
object EmitCore {
  private val firtoolOptions = Array(
    "-disable-all-randomization",
    "-strip-debug-info",
    "-default-layer-specialization=disable",
    "--lowering-options=disallowLocalVariables,disallowPackedArrays"
  )

  def main(args: Array[String]): Unit = {
    require(args.length == 2 && Set("core", "corex").contains(args(0)), "usage: EmitCore core|corex FILE")
    val extensions = if (args(0) == "corex") CoreExtensions.all else CoreExtensions.none
    val p          = CoreParams(imemBytes = 256 * 1024, extensions = extensions)
    val text       = Emission.strict(ChiselStage.emitSystemVerilog(new Core(p), _, firtoolOptions))
    Files.writeString(Path.of(args(1)), text)
  }
}
