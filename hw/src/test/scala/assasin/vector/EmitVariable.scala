// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import java.nio.file.{Files, Path}

import _root_.circt.stage.ChiselStage

import assasin.Emission

/** Emits VariableUnit for hw/cosim/variable_cosim: arguments FOLDER VLEN/MBMAX/G... Each goes into the sub-folder
  * `variableVLENxMBMAXxG`.
  */
object EmitVariable {
  private val firtoolOptions =
    Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")

  def main(args: Array[String]): Unit = {
    require(args.length >= 2, "usage: EmitVariable FOLDER VLEN/MBMAX/G...")
    for (set <- args.tail) {
      val Array(vLen, maxWidth, align) = set.split('/').map(_.toInt)
      val params =
        VectorParams(
          vLen = vLen,
          dLen = vLen,
          pup = true,
          full = true,
          align = align,
          maxWidth = maxWidth,
          inputs = 9
        )
      val text = Emission.strict(ChiselStage.emitSystemVerilog(new VariableHarness(params), _, firtoolOptions))
      val file = Path.of(args.head, s"variable${vLen}x${maxWidth}x$align", "VariableHarness.sv")
      Files.createDirectories(file.getParent)
      Files.writeString(file, text)
    }
  }
}
