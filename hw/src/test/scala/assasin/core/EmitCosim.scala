// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import java.nio.file.{Files, Path}

import _root_.circt.stage.ChiselStage
import chisel3.RawModule

import assasin.vector.VectorParams
import assasin.{Architecture, CoreExtensions, Emission, SocParams}

/** Emits the designs under co-simulation into sub-folders of the folder given as argument: `native`, a StreamCore with
  * its trace port; `spike`, one with extensions and its memories where the reference simulator can have memory too;
  * `firmware`, the pipeline alone as the firmware processor has it; `vector`, the same with the port of a vector unit,
  * `vectorpup` and `vectorfull` with that of one which has VarVE, and with the port of streams; `decode`, `decodepup`
  * and `decodefull`, the decoders with all extensions and these units; `elf` and, with extensions, `elfx`, the same
  * with instructions anywhere; for each other memory architecture a StreamCore in a folder of its name, and for those
  * without scratchpad the data memory alone, CachedMemory, with [[RandomCollisions]]; `streams64` and so on, the data
  * memories alone, StreamMemory, beside a vector unit with VarVE and DLEN 64 and so on.
  */
object EmitCosim {
  private val firtoolOptions =
    Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")
  private val imemBase = BigInt("80000000", 16)
  private val spadBase = BigInt("90000000", 16)

  def main(args: Array[String]): Unit = {
    require(args.length == 1, "usage: EmitCosim FOLDER")
    val native   = StreamCoreParams(SocParams(trace = true), dramDst = 16)
    val extended = native.copy(soc = native.soc.copy(arch = Architecture.AssasinSbX))
    val spike    = extended.copy(imemBase = imemBase, spadBase = spadBase)
    val firmware = CoreParams(imemBytes = 32 * 1024, imemBase = imemBase, trace = true)
    val elf      = firmware.copy(imemBytes = BigInt(1) << 32, imemBase = 0)
    write(args(0), "native", "StreamCore", new StreamCore(native))
    write(args(0), "spike", "StreamCore", new StreamCore(spike))
    for (arch <- Architecture.all if arch.code != Architecture.AssasinSb.code) {
      val tile = native.copy(soc = native.soc.copy(arch = arch))
      write(args(0), arch.name, "StreamCore", new StreamCore(tile))
      if (!arch.scratchpad) write(args(0), arch.name, "CachedMemory", new CachedMemory(tile), RandomCollisions(_))
    }
    for (dLen <- Seq(64, 256, 512)) {
      val unit = VectorParams(vLen = dLen.max(256), dLen = dLen)
      val tile = native.copy(soc = native.soc.copy(arch = Architecture.AssasinVp, vector = unit))
      write(args(0), s"streams$dLen", "StreamMemory", new StreamMemory(tile))
    }
    write(args(0), "firmware", "Core", new Core(firmware))
    val units = Seq(
      ""     -> VectorParams(),
      "pup"  -> VectorParams(pup = true),
      "full" -> VectorParams(pup = true, full = true, inputs = 9)
    )
    for ((name, unit) <- units) {
      write(args(0), s"decode$name", "Decode", new Decode(extended.core.copy(vector = Some(unit))))
      val core = firmware.copy(streams = unit.pup, vector = Some(unit))
      write(args(0), s"vector$name", "Core", new Core(core))
    }
    write(args(0), "elf", "Core", new Core(elf))
    write(args(0), "elfx", "Core", new Core(elf.copy(extensions = CoreExtensions.all)))
  }

  private def write(
      folder: String,
      variant: String,
      top: String,
      module: => RawModule,
      change: String => String = identity
  ): Unit = {
    val text = Emission.strict(ChiselStage.emitSystemVerilog(module, _, firtoolOptions))
    val file = Path.of(folder, variant, s"$top.sv")
    Files.createDirectories(file.getParent)
    Files.writeString(file, Emission.withCells(change(text)))
  }
}
