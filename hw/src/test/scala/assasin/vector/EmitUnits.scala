// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import java.nio.file.{Files, Path}
import java.util.Comparator

import _root_.circt.stage.ChiselStage

import assasin.Emission

/** Emits the vector unit with VarVE-full as a board has it, a file each module, for hw/synth/vector: arguments FOLDER
  * VLEN/G/XLEN... Each goes into the sub-folder `unitVLENxGxXLEN`; VLEN/G/XLEN/waits is without unpacking on a guess,
  * in `unitVLENxGxXLENxwaits`.
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
      val (numbers, waits)         = set.split('/').splitAt(3)
      val Array(vLen, align, xLen) = numbers.map(_.toInt)
      require(waits.isEmpty || waits.sameElements(Seq("waits")), s"$set: choose VLEN/G/XLEN or VLEN/G/XLEN/waits")
      val params = VectorParams(
        xLen = xLen,
        vLen = vLen,
        dLen = vLen,
        pup = true,
        full = true,
        align = align,
        tentative = waits.isEmpty
      )
      val folder = Path.of(args.head, s"unit${set.replace('/', 'x')}")
      // A folder can be deleted when what is in it has been.
      if (Files.exists(folder)) Files.walk(folder).sorted(Comparator.reverseOrder[Path]()).forEach(Files.delete(_))
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
