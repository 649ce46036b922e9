// SPDX-License-Identifier: BSD-3-Clause
package assasin.vector

import java.nio.file.{Files, Path}

import _root_.circt.stage.ChiselStage

import assasin.Emission

/** Emits HuffmanTables for hw/cosim/huffman_cosim: argument FOLDER. It goes into the sub-folder `huffman`. */
object EmitHuffman {
  private val firtoolOptions =
    Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")

  def main(args: Array[String]): Unit = {
    require(args.length == 1, "usage: EmitHuffman FOLDER")
    val text = Emission.strict(ChiselStage.emitSystemVerilog(new HuffmanTables, _, firtoolOptions))
    val file = Path.of(args.head, "huffman", "HuffmanTables.sv")
    Files.createDirectories(file.getParent)
    Files.writeString(file, text)
  }
}
