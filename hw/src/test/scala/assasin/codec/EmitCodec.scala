// SPDX-License-Identifier: BSD-3-Clause
package assasin.codec

import assasin.Emission
import chisel3.RawModule
import circt.stage.ChiselStage

/** Emits a unit of the page codec, with its assertions only in CodecBench. Arguments: output directory, unit
  * (CodecBench, BchRemainder or BchDecoder), then configurations BEATBYTES-MESSAGEBYTES-T-T..., each of which gets a
  * folder of its name.
  */
object EmitCodec extends App {
  require(args.length >= 3, "usage: EmitCodec OUTDIR UNIT BEATBYTES-MESSAGEBYTES-T[-T...]...")
  for (config <- args.drop(2)) {
    val beatBytes +: messageBytes +: strengths = config.split('-').map(_.toInt).toSeq
    val p                                      = CodeParams(strengths, beatBytes, messageBytes = messageBytes)
    def unit: RawModule = args(1) match {
      case "CodecBench"   => new CodecBench(p)
      case "BchRemainder" => new BchRemainder(p)
      case "BchDecoder"   => new BchDecoder(p)
      case other => throw new IllegalArgumentException(s"$other: choose CodecBench, BchRemainder or BchDecoder")
    }
    Emission.strict { strictly =>
      ChiselStage.emitSystemVerilogFile(
        unit,
        Array("--target-dir", s"${args.head}/$config") ++ strictly,
        Array(
          "-disable-all-randomization",
          "-strip-debug-info",
          s"-default-layer-specialization=${if (args(1) == "CodecBench") "enable" else "disable"}",
          "--lowering-options=disallowLocalVariables,disallowPackedArrays"
        )
      )
    }
  }
}
