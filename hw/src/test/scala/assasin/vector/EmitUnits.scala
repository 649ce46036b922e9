// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import java.nio.file.{Files, Path}

import _root_.circt.stage.ChiselStage

import assasin.Emission

/** Emits the vector unit with VarVE-full as a board has it, a file each module, for hw/synth/vector: arguments FOLDER
  * VLEN/G/XLEN... Each goes into the sub-folder `unitVLENxGxXLEN`.
  */
object EmitUnits {
  private val firtoolOptions = Array(
    "-disable-all-randomization",
    "-strip-debug-info",
    "--split-verilog",
    "--lowering-options=disallowLocalVariables,disallowPackedArrays"
  )

  def main(args: Array[String]): Unit = {
    require(args.length >= 2, "usage: EmitUnits FOLDER VLEN/G/XLEN...")
    for (set <- args.tail) {
      val Array(vLen, align, xLen) = set.split('/').map(_.toInt)
      val params = VectorParams(xLen = xLen, vLen = vLen, dLen = vLen, pup = true, full = true, align = align)
      val folder = Path.of(args.head, s"unit${vLen}x${align}x$xLen")
      if (Files.exists(folder)) Files.list(folder).forEach(Files.delete(_))
      Files.createDirectories(folder)
      Emission.strict { strictly =>
        ChiselStage.emitSystemVerilogFile(
          new VectorUnit(params),
          Array("--target-dir", folder.toString) ++ strictly,
          firtoolOptions ++ Array("-o", folder.toString)
        )
      }
      Emission.addCells(folder)
    }
  }
}
