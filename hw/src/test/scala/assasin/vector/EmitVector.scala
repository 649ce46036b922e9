// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import java.nio.file.{Files, Path}

import _root_.circt.stage.ChiselStage

import assasin.Emission

/** Emits the vector unit alone, with its trace port, for hw/cosim/vector_cosim: arguments FOLDER VLEN/DLEN...; each
  * goes into the sub-folder `vectorVLENxDLEN`.
  */
object EmitVector {
  private val firtoolOptions =
    Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")

  def main(args: Array[String]): Unit = {
    require(args.length >= 2, "usage: EmitVector FOLDER VLEN/DLEN...")
    for (set <- args.tail) {
      val Array(vLen, dLen) = set.split('/').map(_.toInt)
      val params            = VectorParams(vLen = vLen, dLen = dLen, trace = true)
      val text              = Emission.strict(ChiselStage.emitSystemVerilog(new VectorUnit(params), _, firtoolOptions))
      val file              = Path.of(args.head, s"vector${vLen}x$dLen", "VectorUnit.sv")
      Files.createDirectories(file.getParent)
      Files.writeString(file, text)
    }
  }
}
