// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import java.nio.file.{Files, Path}

import _root_.circt.stage.ChiselStage

import assasin.Emission

/** Emits the vector unit alone, with its trace port, for hw/cosim/vector_cosim: arguments FOLDER VLEN/DLEN..., each
  * perhaps with /pup, /full, /full-a4, /full-a2, /full-a1 (slots of 4, 2 and 1 bits), /full-late (nothing is unpacked
  * on a guess), /rv64 (64-bit scalars and addresses) or /zve64x (elements of 64 bits, too) behind it; or with /pup-both
  * or /full-both, which is two of them, [[VectorBoth]]. Each goes into the sub-folder `vectorVLENxDLEN`, with what
  * stands behind the last stroke at its end.
  */
object EmitVector {
  private val firtoolOptions =
    Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")

  private val forms =
    Seq("", "pup", "full", "full-a4", "full-a2", "full-a1", "full-late", "rv64", "zve64x", "pup-both", "full-both")

  def main(args: Array[String]): Unit = {
    require(args.length >= 2, "usage: EmitVector FOLDER VLEN/DLEN...")
    for (set <- args.tail) {
      val parts = set.split('/')
      val form  = parts.lift(2).getOrElse("")
      require(forms.contains(form), s"$set: choose VLEN/DLEN, or that with one of /${forms.tail.mkString(", /")}")
      val (vLen, dLen) = (parts(0).toInt, parts(1).toInt)
      val full         = form.startsWith("full")
      val params = VectorParams(
        xLen = if (form == "rv64" || form == "zve64x") 64 else 32,
        vLen = vLen,
        dLen = dLen,
        eLen = if (form == "zve64x") 64 else 32,
        pup = full || form.startsWith("pup"),
        full = full,
        align = if (form.startsWith("full-a")) form.last.asDigit else 8,
        inputs = if (full) 9 else 8,
        tentative = form != "full-late",
        trace = true
      )
      val both = form.endsWith("-both")
      val text = Emission.strict(
        ChiselStage.emitSystemVerilog(if (both) new VectorBoth(params) else new VectorUnit(params), _, firtoolOptions)
      )
      val file = Path.of(args.head, s"vector${vLen}x$dLen$form", if (both) "VectorBoth.sv" else "VectorUnit.sv")
      Files.createDirectories(file.getParent)
      Files.writeString(file, Emission.withCells(text))
    }
  }
}
