// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import java.nio.file.{Files, Path}

import _root_.circt.stage.ChiselStage

import assasin.Emission

/** Emits the vector unit alone, with its trace port, for hw/cosim/vector_cosim: arguments FOLDER VLEN/DLEN..., each
  * perhaps with /pup or /full behind it. Each goes into the sub-folder `vectorVLENxDLEN`, with `pup` or `full` at its
  * end.
  */
object EmitVector {
  private val firtoolOptions =
    Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")

  def main(args: Array[String]): Unit = {
    require(args.length >= 2, "usage: EmitVector FOLDER VLEN/DLEN...")
    for (set <- args.tail) {
      val parts = set.split('/')
      val form  = parts.lift(2).getOrElse("")
      require(Seq("", "pup", "full").contains(form), s"$set: choose VLEN/DLEN, VLEN/DLEN/pup or VLEN/DLEN/full")
      val (vLen, dLen) = (parts(0).toInt, parts(1).toInt)
      val full         = form == "full"
      val params =
        VectorParams(vLen = vLen, dLen = dLen, pup = form != "", full = full, inputs = if (full) 9 else 8, trace = true)
      val text = Emission.strict(ChiselStage.emitSystemVerilog(new VectorUnit(params), _, firtoolOptions))
      val file = Path.of(args.head, s"vector${vLen}x$dLen$form", "VectorUnit.sv")
      Files.createDirectories(file.getParent)
      Files.writeString(file, text)
    }
  }
}
