// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import java.nio.file.{Files, Path}

import _root_.circt.stage.ChiselStage

import assasin.vector.VectorParams
import assasin.{Architecture, Emission, SocParams}

/** Emits tiles of AssasinVf whose vector unit has another size, for hw/cosim/kernel-tile: arguments FOLDER NAME... with
  * AssasinVf-d128 and AssasinVf-d512 for VLEN and DLEN of so many bits, AssasinVf-a4, AssasinVf-a2 and AssasinVf-a1 for
  * slots of so many bits; AssasinVf-d64 and AssasinVf-d64-free for VLEN and DLEN of 64 bits, the latter without clock
  * gates. Each goes into the sub-folder of its name.
  */
object EmitVectorTile {
  private val firtoolOptions =
    Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")

  private val units =
    Seq(64, 128, 512).map(bits => s"AssasinVf-d$bits" -> VectorParams(vLen = bits, dLen = bits)).toMap ++
      Seq(4, 2, 1).map(bits => s"AssasinVf-a$bits" -> VectorParams(align = bits)) +
      ("AssasinVf-d64-free" -> VectorParams(vLen = 64, dLen = 64, clockGate = false))

  def main(args: Array[String]): Unit = {
    require(args.length >= 2, "usage: EmitVectorTile FOLDER NAME...")
    for (name <- args.tail) {
      require(units.contains(name), s"$name: choose one of ${units.keys.toSeq.sorted.mkString(", ")}")
      val tile = StreamCoreParams(
        SocParams(arch = Architecture.AssasinVf, vector = units(name), trace = true),
        dramDst = 16
      )
      val text = Emission.strict(ChiselStage.emitSystemVerilog(new StreamCore(tile), _, firtoolOptions))
      val file = Path.of(args.head, name, "StreamCore.sv")
      Files.createDirectories(file.getParent)
      Files.writeString(file, Emission.withCells(text))
    }
  }
}
