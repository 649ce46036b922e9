package assasin.core

import java.nio.file.{Files, Path}

import _root_.circt.stage.ChiselStage

import assasin.SocParams

/** Emits the design under co-simulation: a StreamCore with its trace port, its memories where the reference simulator can have
  * memory too. Arguments: output file, module name prefix.
  */
object EmitCosim {
  private val firtoolOptions = Array("-disable-all-randomization", "-strip-debug-info", "-default-layer-specialization=enable")

  def main(args: Array[String]): Unit = {
    val Array(directory) = args
    val variants = Seq("native" -> None, "spike" -> Some((BigInt("80000000", 16), BigInt("90000000", 16))))
    for ((name, bases) <- variants) {
      val plain = StreamCoreParams(SocParams(trace = true), dramDst = 16)
      val params = bases.fold(plain) { case (imem, spad) => plain.copy(imemBase = imem, spadBase = spad) }
      val text   = ChiselStage.emitSystemVerilog(new StreamCore(params), firtoolOpts = firtoolOptions)
      val file   = Path.of(directory, name, "StreamCore.sv")
      Files.createDirectories(file.getParent)
      Files.writeString(file, text)
    }
  }
}
