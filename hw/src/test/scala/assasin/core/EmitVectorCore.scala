// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import java.nio.file.{Files, Path}

import _root_.circt.stage.ChiselStage

import assasin.vector.VectorParams
import assasin.{CoreExtensions, Emission}

/** Emits the pipeline with a vector unit and instructions anywhere, for hw/cosim/run-elf: arguments FOLDER VLEN/DLEN...
  * Each goes into the sub-folder `elfvVLENxDLEN`.
  */
object EmitVectorCore {
  private val firtoolOptions =
    Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")

  def main(args: Array[String]): Unit = {
    require(args.length >= 2, "usage: EmitVectorCore FOLDER VLEN/DLEN...")
    val core = CoreParams(imemBytes = BigInt(1) << 32, imemBase = 0, extensions = CoreExtensions.all, trace = true)
    for (set <- args.tail) {
      val (vLen, dLen) = set.split('/').map(_.toInt) match {
        case Array(v, d) => (v, d)
        case _           => throw new IllegalArgumentException(s"$set: choose VLEN/DLEN")
      }
      val unit = VectorParams(vLen = vLen, dLen = dLen)
      val text =
        Emission.strict(ChiselStage.emitSystemVerilog(new VectorCore(core, unit), _, firtoolOptions))
      val file = Path.of(args.head, s"elfv${vLen}x$dLen", "VectorCore.sv")
      Files.createDirectories(file.getParent)
      Files.writeString(file, Emission.withCells(text))
    }
  }
}
