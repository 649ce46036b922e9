// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import java.nio.file.{Files, Path}

import _root_.circt.stage.ChiselStage
import chisel3.RawModule

import assasin.Emission

/** Emits parts of VarVE-full of VLEN 256 for estimates of area and period, a module a file: argument FOLDER. Into the
  * sub-folders `a8`, `a4`, `a2` and `a1` go [[SlotPrefix]] and [[Squeeze]] for slots of so many bits, into `a8` also
  * [[SlotAdder]], [[ElementSizes]], [[AlignUnit]], [[WidthUnit]] and, of the unit without VarVE-full, [[IntegerUnit]].
  */
object EmitSlots {
  private val firtoolOptions = Array(
    "-disable-all-randomization",
    "-strip-debug-info",
    "--split-verilog",
    "--lowering-options=disallowLocalVariables,disallowPackedArrays"
  )

  def main(args: Array[String]): Unit = {
    require(args.length == 1, "usage: EmitSlots FOLDER")
    for (align <- Seq(8, 4, 2, 1)) {
      val p      = VectorParams(pup = true, full = true, align = align, inputs = 9)
      val folder = Path.of(args(0), s"a$align").toString
      write(folder, new SlotPrefix(p))
      write(folder, new Squeeze(p.align, p.slots))
      if (align == 8) {
        write(folder, new ElementSizes(p))
        write(folder, new AlignUnit(p))
        write(folder, new WidthUnit(p.slots, p.align, p.slotsOfElement))
        write(folder, new SlotAdder(p.slots, p.align))
        write(folder, new IntegerUnit(VectorParams()))
      }
    }
  }

  private def write(folder: String, module: => RawModule): Unit = {
    Files.createDirectories(Path.of(folder))
    Emission.strict(arguments =>
      ChiselStage.emitSystemVerilogFile(
        module,
        Array("--target-dir", folder) ++ arguments,
        firtoolOptions ++ Array("-o", folder)
      )
    )
  }
}
